"""Phases of jobs of dead workers, and of the workers, are the same in all engines."""

from __future__ import annotations

from pathlib import Path

import asyncpg
import pytest

from queries.check.nodes import known_nodes
from queries.records.node import Phase
from tests.queries.builders import opened, reader
from tests.queries.incident_groups import incidents_of
from tests.servers import PostgresServer

DEAD = {  # findings of jobs with a dead worker
    "graphile_worker": "locked_by_a_dead_worker",
    "oban": "dead_worker",
    "pgqueuer": "locked_by_a_dead_worker",
    "procrastinate": "locked_by_a_dead_worker",
    "solid_queue": "dead_worker",
}


MORE = {  # jobs of four dead workers
    "graphile_worker": """INSERT INTO _private_jobs (task_id, run_at, attempts, locked_at, locked_by)
        SELECT 1, now() - interval '5 hours', 1, now() - n * interval '50 minutes', 'pool-dead' || n
          FROM generate_series(1, 4) n""",
    "oban": """WITH dead AS (
          INSERT INTO oban_producers (uuid, node, queue, meta, started_at, updated_at)
          SELECT gen_random_uuid(), 'dead.' || n, 'default', '{}', timezone('UTC', now()) - interval '1 day',
                 timezone('UTC', now()) - n * interval '50 minutes' FROM generate_series(1, 4) n
          RETURNING node, uuid)
        INSERT INTO oban_jobs (state, queue, worker, attempt, max_attempts, attempted_by, attempted_at)
        SELECT 'executing', 'default', 'App.Load', 1, 5, ARRAY[node, uuid::text],
               timezone('UTC', now()) - interval '5 hours' FROM dead""",
}


@pytest.mark.parametrize("name", MORE)
async def test_many_dead_workers_are_one_incident(server: PostgresServer, tmp_path: Path, name: str) -> None:
    """One of their jobs may have ended each of them."""
    dsn = server.fresh(name, filled=True)
    connection = await asyncpg.connect(dsn)
    await connection.execute(MORE[name])
    await connection.close()
    workspace = await opened(dsn, tmp_path)
    (incident,) = (await incidents_of(workspace, name))[DEAD[name]]
    assert incident.action == "release"
    assert len(incident.findings) >= 4
    assert "may have ended for one reason" in incident.sentence
    await workspace.close()
    server.drop(dsn)


@pytest.mark.parametrize(("name", "code"), DEAD.items())
async def test_a_job_of_a_dead_worker_is_running(server: PostgresServer, tmp_path: Path, name: str, code: str) -> None:
    dsn = server.fresh(name, filled=True)
    workspace = await opened(dsn, tmp_path)
    engine = reader(workspace, name)
    ids = [finding.node_id for finding in (await engine.findings()).found if finding.code == code]
    assert {node.phase for node in (await engine.nodes(ids)).nodes} == {Phase.RUNNING}
    silent = [node for node in (await known_nodes(engine)).values() if node.status == "silent"]
    assert {node.phase for node in silent} <= {Phase.UNKNOWN}
    release = next(each for each in engine.engine.actions_here if each.name == "release")
    assert all(engine.availability(release, node).ok for node in (await engine.nodes(ids)).nodes)
    await workspace.close()
    server.drop(dsn)
