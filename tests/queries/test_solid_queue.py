"""Solid Queue: failed executions, and the arguments of jobs that are retried."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, TypeAlias

import asyncpg
import pytest

from queries.records.action import Outcome
from queries.workspace import Workspace
from tests.queries.builders import do, opened, outcomes_of, reader, undone
from tests.servers import PostgresServer

LABEL = "solid_queue"
SPELLED = (
    r'"a\u0000b\\u0001\u0001\"\\\"\ud800\/":[1.0e+20,{"zz":1,"a":2, "a":3.10}],"a":"\\","a":1E400,"b":"'
    "\\\\\\u0003"
    '"'
)
Connection: TypeAlias = "asyncpg.Connection[Any]"


@pytest.fixture
async def solid_queue(server: PostgresServer) -> AsyncIterator[Connection]:
    dsn = server.fresh(LABEL)
    connection = await asyncpg.connect(dsn, server_settings={"TimeZone": "UTC"})
    yield connection
    await connection.close()
    server.drop(dsn)


@pytest.fixture
async def workspace(solid_queue: Connection, server: PostgresServer, tmp_path: Path) -> AsyncIterator[Workspace]:
    database = await solid_queue.fetchval("SELECT current_database()")
    workspace = await opened(server.dsn(database), tmp_path)
    yield workspace
    await workspace.close()


async def failed_job(connection: Connection, arguments: str = "{}", finished: str = "NULL") -> str:
    number = await connection.fetchval(
        "INSERT INTO solid_queue_jobs (queue_name, class_name, arguments, finished_at, created_at, updated_at)"
        f" VALUES ('default', 'PayJob', $1, {finished}, now() - interval '1 hour', now()) RETURNING id",
        arguments,
    )
    await connection.execute(
        "INSERT INTO solid_queue_failed_executions (job_id, error, created_at) VALUES ($1, $2, now())",
        number,
        '{"exception_class":"SolidQueue::Processes::ProcessPrunedError","message":"pruned"}',
    )
    return f"{LABEL}/job:{number}"


async def test_a_finished_job_with_a_failed_execution_is_not_called_failed(
    solid_queue: Connection, workspace: Workspace
) -> None:
    both = await failed_job(solid_queue, finished="now()")
    failed = await failed_job(solid_queue)
    engine = reader(workspace, LABEL)
    found = (await engine.findings.read()).findings
    assert {each.node_id: (each.code, each.action) for each in found} == {
        both: ("finished_and_failed", None),
        failed: ("failing", "retry"),
    }
    assert [each.node.id for each in (await engine.pages.dead()).dead_letters] == [failed]
    assert {node.id: node.phase for node in (await engine.nodes.read([both, failed])).nodes} == {
        both: "done",
        failed: "failed",
    }
    assert outcomes_of(await do(workspace, "retry", [both], label=LABEL)) == {both: Outcome.REFUSED}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            f'{{{SPELLED},"executions":5,"exception_executions":{{"[KeyError]":5}},"locale":"en"}}',
            f'{{{SPELLED},"executions":0,"exception_executions":{{}},"locale":"en"}}',
        ),
        (
            '{"arguments":[{"executions":7}]}',
            '{"arguments":[{"executions":7}],"executions":0,"exception_executions":{}}',
        ),
        ("{}", '{"executions":0,"exception_executions":{}}'),
        ("[1.0e+20]", "[1.0e+20]"),
    ],
    ids=["all spellings", "of an argument", "empty", "no object"],
)
async def test_a_retry_keeps_the_text_of_the_arguments(
    solid_queue: Connection, workspace: Workspace, before: str, after: str
) -> None:
    job = await failed_job(solid_queue, before)
    done = await do(workspace, "retry", [job], label=LABEL)
    assert outcomes_of(done) == {job: Outcome.CHANGED}
    assert await solid_queue.fetchval("SELECT arguments FROM solid_queue_jobs") == after
    await undone(workspace, done)
    assert await solid_queue.fetchval("SELECT arguments FROM solid_queue_jobs") == before


async def test_a_job_whose_semaphore_is_locked_is_skipped(solid_queue: Connection, workspace: Workspace) -> None:
    ids = []
    for key in ("held", "free"):
        number = await solid_queue.fetchval(
            "INSERT INTO solid_queue_jobs (queue_name, class_name, arguments, concurrency_key, created_at, updated_at)"
            " VALUES ('default', 'PayJob', '{}', $1, now(), now()) RETURNING id",
            key,
        )
        await solid_queue.execute(
            "INSERT INTO solid_queue_blocked_executions (job_id, queue_name, priority, concurrency_key, expires_at,"
            " created_at) VALUES ($1, 'default', 0, $2, now(), now())",
            number,
            key,
        )
        await solid_queue.execute(
            "INSERT INTO solid_queue_semaphores (key, value, expires_at, created_at, updated_at)"
            " VALUES ($1, 0, now(), now(), now())",
            key,
        )
        ids.append(f"{LABEL}/job:{number}")
    async with solid_queue.transaction():
        await solid_queue.execute("SELECT FROM solid_queue_semaphores WHERE key = 'held' FOR UPDATE")
        outcomes = outcomes_of(await do(workspace, "wake", ids, label=LABEL))
    assert outcomes == dict(zip(ids, (Outcome.LOCKED, Outcome.CHANGED), strict=True))
