"""procrastinate: jobs that run for days."""

from __future__ import annotations

from pathlib import Path

import asyncpg
import pytest

from tests.queries.builders import opened, reader
from tests.servers import PostgresServer

LABEL = "procrastinate"


@pytest.mark.parametrize(
    ("lock", "waits", "beats", "expected"),
    [
        (None, False, True, {"running_long"}),
        ("one", False, True, {"running_long"}),
        ("one", True, True, {"lock_held_long"}),
        (None, False, False, {"owner_dead"}),
    ],
)
async def test_a_job_that_runs_for_days_is_found_once(
    server: PostgresServer, tmp_path: Path, lock: str | None, waits: bool, beats: bool, expected: set[str]
) -> None:
    dsn = server.fresh(LABEL)
    connection = await asyncpg.connect(dsn)
    await connection.execute(
        f"INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '{0 if beats else 9} hours')"
    )
    insert = "INSERT INTO procrastinate_jobs (queue_name, task_name, lock, args) VALUES ('a', 'mirror', $1, '{}')"
    await connection.execute(insert, lock)
    await connection.execute("UPDATE procrastinate_jobs SET status = 'doing', worker_id = 1")
    if waits:
        await connection.execute(insert, lock)
    await connection.execute("UPDATE procrastinate_events SET at = at - interval '3 days' WHERE job_id = 1")
    workspace = await opened(dsn, tmp_path)
    findings = (await reader(workspace, LABEL).findings.read()).findings
    assert {each.code for each in findings if each.node_id == f"{LABEL}/job:1"} == expected
    for each in findings:
        assert (each.action is None) == (each.code in ("running_long", "late"))
    await workspace.close()
    await connection.close()
    server.drop(dsn)


@pytest.mark.parametrize(("running", "said"), [(4_999, False), (5_000, True)])
async def test_running_jobs_that_were_not_read_are_said(
    server: PostgresServer, tmp_path: Path, running: int, said: bool
) -> None:
    dsn = server.fresh(LABEL)
    jobs = "INSERT INTO procrastinate_jobs (queue_name, task_name, args, status) SELECT"
    server.sql(
        f"{jobs} 'busy', 't', '{{}}', 'doing' FROM generate_series(1, {running}); {jobs} 'quiet', 't', '{{}}', 'todo';"
        "UPDATE procrastinate_events SET at = at - interval '3 days'",
        dsn,
    )
    workspace = await opened(dsn, tmp_path)
    findings = (await reader(workspace, LABEL).findings.read()).findings
    (sentence,) = [each.sentence for each in findings if each.code == "not_served"]
    assert ("Only 5,000 of the running jobs were read" in sentence) == said
    await workspace.close()
    server.drop(dsn)
