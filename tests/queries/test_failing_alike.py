"""Jobs that still have attempts, of which many fail with the same error."""

from __future__ import annotations

from pathlib import Path

import pytest

from queries import snapshot
from tests.queries.builders import opened
from tests.servers import PostgresServer

OBAN = """
INSERT INTO oban_jobs (state, queue, worker, attempt, max_attempts, args, errors, scheduled_at, attempted_at)
SELECT 'retryable', 'default', 'App.' || n % 5, 2, 20, '{{}}', jsonb_build_array(jsonb_build_object('error', {error})),
       timezone('UTC', now()) + interval '1 hour', timezone('UTC', now()) - interval '20 minutes'
  FROM generate_series(1, {many}) AS n
"""
GRAPHILE = """
INSERT INTO _private_jobs (task_id, run_at, attempts, last_error)
SELECT 1, now() + interval '1 hour', 2, {error} FROM generate_series(1, {many}) AS n
"""
TASK = "INSERT INTO _private_tasks (identifier) VALUES ('mail')"
GATEWAY = "'connection to 10.0.0.' || n || ' refused'"


@pytest.mark.parametrize(("name", "insert", "first"), [("oban", OBAN, ""), ("graphile_worker", GRAPHILE, TASK)])
async def test_one_error_of_many_jobs_that_try_again_is_an_incident(
    server: PostgresServer, tmp_path: Path, name: str, insert: str, first: str
) -> None:
    dsn = server.fresh(name)
    if first:
        server.sql(first, dsn)
    workspace = await opened(dsn, tmp_path)
    reader = workspace.engines[name]

    async def alike() -> list[str]:
        return [f.node_id for f in (await reader.findings.read()).findings if f.code == "failing_alike"]

    server.sql(insert.format(error=GATEWAY, many=9), dsn)
    assert await alike() == []
    server.sql(insert.format(error=GATEWAY, many=171), dsn)
    found = await alike()
    assert len(found) == 180
    incidents = snapshot.incidents(workspace, (await reader.findings.read()).findings)
    (incident,) = [i for i in incidents if i.code == "failing_alike"]
    assert (incident.n, incident.action) == (180, None)
    assert incident.sentence.startswith("180 jobs wait for another attempt. They failed with the same error")
    (asked,) = [f for f in (await reader.findings.read([found[-1]])).findings if f.code == "failing_alike"]
    assert asked.node_id == found[-1]
    server.sql(insert.format(error="repeat('error of its own: ' || chr(97 + n % 26), n)", many=200), dsn)
    assert await alike() == [], "fewer than half"
    await workspace.close()
    server.drop(dsn)
