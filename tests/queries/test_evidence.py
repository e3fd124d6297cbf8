"""Findings, weighed by all that was read."""

from __future__ import annotations

from pathlib import Path

import asyncpg
import pytest

from queries.evidence import repeated
from queries.records.action import Outcome
from queries.snapshot import snapshot
from tests.queries.builders import do, opened, outcomes_of
from tests.servers import PostgresServer


@pytest.mark.parametrize("table", [True, False], ids=["table", "file"])
async def test_advice_that_has_not_helped_is_said(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, table: bool
) -> None:
    """A message that is sent again is lost again."""
    dsn = server.fresh("tasker", filled=True)
    workspace = await opened(dsn, tmp_path)
    if table:
        await workspace.audit_log.create()
        await workspace.detect()
    readers = list(workspace.engines.values())
    lost = next(i for i in (await snapshot(workspace, readers)).incidents if i.code == "message_lost")
    assert "has not helped" not in lost.sentence
    for _ in range(2):
        outcomes = outcomes_of(await do(workspace, "resend", list(lost.node_ids), label="tasker"))
        assert set(outcomes.values()) == {Outcome.CHANGED}
        connection = await asyncpg.connect(dsn)
        await connection.execute("TRUNCATE pgmq.q_worker_shop_queue")
        await connection.close()
    again = next(i for i in (await snapshot(workspace, readers)).incidents if i.key == lost.key)
    assert "Resend message " in again.sentence
    assert again.sentence.endswith("(anna) has not helped so far.")
    monkeypatch.setattr(repeated, "LATELY_SECONDS", 0)
    later = next(i for i in (await snapshot(workspace, readers)).incidents if i.key == lost.key)
    assert later.sentence == lost.sentence
    await workspace.close()
