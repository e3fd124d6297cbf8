"""Many jobs that fail at once come before what has been stuck for long."""

from __future__ import annotations

from pathlib import Path

import pytest

from queries.read.incidents import is_new
from queries.snapshot import snapshot
from tests.queries.builders import opened
from tests.servers import PostgresServer

FRESH = {
    "agent_jobs": """
        INSERT INTO jobs (job_id, agent_id, user_id, status, error, created_at, completed_at, updated_at)
        SELECT 'fresh ' || n, a.id, a.user_id, 'failed', 'gateway timeout after ' || n || ' ms',
               now() - interval '2 minutes', now() - n * interval '0.01 s', now() - n * interval '0.01 s'
          FROM generate_series(1, 10000) AS n, (SELECT id, user_id FROM agents LIMIT 1) AS a""",
    "oban": """
        INSERT INTO oban_jobs (state, queue, worker, attempt, max_attempts, errors, scheduled_at, attempted_at)
        SELECT 'retryable', 'default', 'App.Charge', 2, 20,
               jsonb_build_array(jsonb_build_object('attempt', 1, 'error', 'gateway timeout after ' || n || ' ms')),
               timezone('UTC', now()) + interval '1 hour', timezone('UTC', now()) - n * interval '0.01 s'
          FROM generate_series(1, 10000) AS n""",
}


@pytest.mark.parametrize("name", FRESH)
async def test_ten_thousand_fresh_failures_are_in_front(server: PostgresServer, tmp_path: Path, name: str) -> None:
    dsn = server.fresh(name, filled=True)
    workspace = await opened(dsn, tmp_path)
    engines = list(workspace.engines.values())
    before = (await snapshot(workspace, engines)).incidents
    server.sql(FRESH[name], dsn)
    now = await snapshot(workspace, engines)
    first = [each for each in now.incidents[:2] if "gateway timeout" in each.about]
    assert len(first) == 1, [(each.severity, each.code) for each in now.incidents]
    assert first[0].capped
    assert first[0].sentence.startswith("At least ")
    assert is_new(first[0], now.at)
    assert len(before) > 3
    await workspace.close()
    server.drop(dsn)
