"""Phases of jobs of dead workers, and of the workers, are the same in all engines."""

from __future__ import annotations

import re
from pathlib import Path

import asyncpg
import pytest

from queries.check.nodes import known_nodes
from queries.records.node import Phase
from tests.queries.builders import opened, reader
from tests.queries.incident_groups import incidents_of
from tests.servers import PostgresServer

ENGINES = ("graphile_worker", "oban", "pgqueuer", "procrastinate", "solid_queue")


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


OWN, OTHER = ("6f1c1a3e-0000-4000-8000-00000000000" + n for n in "12")
LIVES = "INSERT INTO oban_producers (uuid, node, queue, started_at, updated_at) VALUES "
# Producers (uuid, node, minutes since the start, since the last heartbeat), who took the job an hour ago, the finding.
SIGNS = [
    ([(OWN, "a", 90, 0)], f"ARRAY['a', '{OWN}']", None),
    ([(OWN, "a", 90, 9)], f"ARRAY['a', '{OWN}']", "silent since"),
    ([(OWN, "a", 90, 9), (OTHER, "a", 90, 0)], f"ARRAY['a', '{OWN}']", None),
    ([(OWN, "a", 90, 9), (OTHER, "a", 30, 0)], f"ARRAY['a', '{OWN}']", "silent since"),
    ([(OWN, "a", 90, 9), (OTHER, "b", 90, 0)], f"ARRAY['a', '{OWN}']", "silent since"),
    ([(OTHER, "a", 90, 0)], f"ARRAY['a', '{OWN}']", None),
    ([(OTHER, "a", 60, 0)], f"ARRAY['a', '{OWN}']", None),
    ([(OTHER, "a", 90, 9)], f"ARRAY['a', '{OWN}']", "silent since"),
    ([(OWN, "b", 30, 0)], f"ARRAY['a', '{OWN}']", None),
    ([(OTHER, "a", 90, 0)], "ARRAY['a']", None),
]


@pytest.mark.parametrize(("producers", "taken", "sign"), SIGNS)
async def test_a_worker_of_oban_lives_if_its_node_does(
    server: PostgresServer, tmp_path: Path, producers: list[tuple[str, str, int, int]], taken: str, sign: str | None
) -> None:
    dsn = server.fresh("oban")
    connection = await asyncpg.connect(dsn)
    async with connection.transaction():
        for uuid, node, started, beat in producers:
            times = ", ".join(f"timezone('UTC', now()) - interval '{n} minutes'" for n in (started, beat))
            await connection.execute(f"{LIVES} ('{uuid}', '{node}', 'mail', {times})")
        await connection.execute(
            "INSERT INTO oban_jobs (state, queue, worker, attempted_by, attempted_at)"
            f" VALUES ('executing', 'mail', 'W', {taken}, timezone('UTC', now()) - interval '60 minutes')"
        )
    await connection.close()
    workspace = await opened(dsn, tmp_path)
    engine = reader(workspace, "oban")
    found = [finding for finding in (await engine.findings.read()).findings if finding.code == "owner_dead"]
    assert [str(finding.evidence["sign"]).startswith(sign or "") for finding in found] == ([True] if sign else [])
    await workspace.close()
    server.drop(dsn)


@pytest.mark.parametrize(("alive", "judged"), [(1e6, False), (1e-6, True)])
async def test_after_a_crash_of_the_server_producers_have_time_to_register_again(
    server: PostgresServer, tmp_path: Path, alive: float, judged: bool
) -> None:
    dsn = server.fresh("oban")
    ago = "timezone('UTC', now()) - interval '40 minutes'"
    server.sql(
        "INSERT INTO oban_jobs (state, queue, worker, attempted_by, attempted_at, scheduled_at) SELECT s, 'mail', 'W',"
        f" ARRAY['a', '{OWN}'], {ago}, {ago} FROM unnest('{{executing,available}}'::oban_job_state[]) AS s",
        dsn,
    )
    workspace = await opened(dsn, tmp_path, overrides={"oban": {"alive": alive}})
    answer = await reader(workspace, "oban").findings.read()
    await workspace.close()
    skipped = {each.code for each in answer.skipped_findings if re.match(r"the server started \d+ s ago", each.why)}
    found = {each.code for each in answer.findings} & {"owner_dead", "not_served"}
    assert (len(found), len(skipped), answer.capped) == ((2, 0, ()) if judged else (0, 3, ()))
    server.drop(dsn)


@pytest.mark.parametrize("name", MORE)
async def test_many_dead_workers_are_one_incident(server: PostgresServer, tmp_path: Path, name: str) -> None:
    """One of their jobs may have ended each of them."""
    dsn = server.fresh(name, filled=True)
    connection = await asyncpg.connect(dsn)
    await connection.execute(MORE[name])
    await connection.close()
    workspace = await opened(dsn, tmp_path)
    (incident,) = (await incidents_of(workspace, name))["owner_dead"]
    assert incident.action == "release"
    assert len(incident.findings) >= 4
    assert "may have ended for one reason" in incident.sentence
    await workspace.close()
    server.drop(dsn)


@pytest.mark.parametrize("name", ENGINES)
async def test_a_job_of_a_dead_worker_is_running(server: PostgresServer, tmp_path: Path, name: str) -> None:
    dsn = server.fresh(name, filled=True)
    workspace = await opened(dsn, tmp_path)
    engine = reader(workspace, name)
    ids = [finding.node_id for finding in (await engine.findings.read()).findings if finding.code == "owner_dead"]
    assert {node.phase for node in (await engine.nodes.read(ids)).nodes} == {Phase.RUNNING}
    silent = [node for node in (await known_nodes(engine)).values() if node.status == "silent"]
    assert {node.phase for node in silent} <= {Phase.UNKNOWN}
    release = next(each for each in engine.engine.actions_here if each.name == "release")
    assert all(engine.availability(release, node).ok for node in (await engine.nodes.read(ids)).nodes)
    await workspace.close()
    server.drop(dsn)
