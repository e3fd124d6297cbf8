"""Suggested actions: reads say what each leads to, as its dry run does."""

from __future__ import annotations

from pathlib import Path

from queries.records.action import Outcome
from tests.queries.builders import dry_run_of, opened
from tests.servers import PostgresServer


async def test_a_dry_run_takes_what_is_due_now_for_due(server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh("pgqueuer", filled=True)
    server.sql("UPDATE pgqueuer SET execute_after = now() + interval '1 h' WHERE status = 'queued'", dsn)
    workspace = await opened(dsn, tmp_path)
    dry = await dry_run_of(workspace, "wake", ["pgqueuer/job:4"], {}, "pgqueuer")
    assert [each.outcome for each in dry.results] == [Outcome.CHANGED]
    assert dry.unmet == {}
    await workspace.close()
    server.drop(dsn)
