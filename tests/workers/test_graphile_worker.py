"""The engine graphile-worker, with its own schema and its own worker.

Without Node.js, or without the registry of its packages, the tests are skipped.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from queries.records.action import Outcome
from queries.workspace import Workspace
from tests.proof import proof
from tests.queries.builders import do, outcomes_of, reader, undone, why
from tests.servers import PostgresServer
from tests.workers.catalog import structure
from tests.workers.harness import Gate, GenuineEngine, Worker, Workers, ended_or_released, fixture_passes
from tests.workers.node import application

LABEL = "graphile_worker"
PACKAGE = "graphile-worker@0.18.0"
SOON = 1.0  # seconds
YEAR = 3e7

Opener = Callable[..., Awaitable[Workspace]]


class Genuine(GenuineEngine):
    label = LABEL

    def __init__(
        self, dsn: str, command: list[str], workers: Workers, connection: asyncpg.Connection[Any], folder: Path
    ) -> None:
        super().__init__(dsn, workers)
        self.command, self.connection = command, connection
        self.gate = Gate(folder)
        self.value = connection.fetchval

    async def tool(self, *arguments: str) -> None:
        await self.workers.run([*self.command, *arguments], WORKER_DSN=self.dsn)

    async def worker(self, *tasks: str) -> Worker:
        """Start a worker and wait until it listens."""
        started = self.workers.start([*self.command, "worker", *tasks], WORKER_DSN=self.dsn)
        await self.workers.connected(self.dsn, started, "LISTEN")
        return started

    async def job(self, task: str = "hold", *, later: str = "0", queue: str | None = None, most: int = 25) -> int:
        """Add a job as an application does."""
        query = "SELECT id FROM graphile_worker.add_job($1, $2, $3, now() + $4::text::interval, $5)"
        return int(await self.value(query, task, json.dumps({"gate": str(self.gate)}), queue, later, most))

    async def until(self, job: int, status: str) -> None:
        """Wait until a job is locked, failed, available or gone."""
        query = (
            "SELECT coalesce((SELECT CASE WHEN is_available THEN 'available' WHEN locked_at IS NULL THEN 'failed'"
            f" ELSE 'locked' END FROM graphile_worker._private_jobs WHERE id = {job}), 'gone')"
        )
        await self.workers.until(self.dsn, query, status)

    async def of(self, job: int) -> dict[str, Any]:
        row = await self.connection.fetchrow("SELECT * FROM graphile_worker._private_jobs WHERE id = $1", job)
        return dict(row or {})

    async def consistent(self) -> None:
        """Compare jobs with their queues, and with the engine's own view of them."""
        held = (
            "SELECT count(*) FROM graphile_worker._private_job_queues q"
            " FULL JOIN (SELECT * FROM graphile_worker._private_jobs"
            "             WHERE locked_at IS NOT NULL AND job_queue_id IS NOT NULL) AS j"
            " ON j.job_queue_id = q.id AND j.locked_by = q.locked_by"
            " WHERE (q.locked_at IS NOT NULL AND j.id IS NULL) OR q.id IS NULL"
        )
        assert await self.value(held) == 0
        seen = (
            "SELECT (SELECT count(*) FROM graphile_worker.jobs) = (SELECT count(*) FROM graphile_worker._private_jobs)"
        )
        assert await self.value(seen)
        half = "SELECT count(*) FROM graphile_worker._private_jobs WHERE (locked_at IS NULL) <> (locked_by IS NULL)"
        assert await self.value(half) == 0
        assert await self.value("SELECT count(*) FROM graphile_worker._private_jobs WHERE attempts > max_attempts") == 0


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that runs the application."""
    return application(Path(__file__).with_name("graphile_worker_app.mjs"), tmp_path_factory.mktemp("node"), PACKAGE)


@pytest.fixture
async def genuine(command: list[str], workers: Workers, database: str, tmp_path: Path) -> AsyncIterator[Genuine]:
    connection = await asyncpg.connect(database)
    made = Genuine(database, command, workers, connection, tmp_path)
    await made.tool("install")
    yield made
    await connection.close()


@pytest.fixture
async def console(genuine: Genuine, tmp_path: Path) -> AsyncIterator[Opener]:
    """Open the console with thresholds.

    By default, no job is late and no worker is lost within a test.
    """
    late = dict.fromkeys(("worker_lost", "locked_too_long", "not_served", "late"), YEAR)
    async with contextlib.AsyncExitStack() as stack:

        async def open_(**limits: float) -> Workspace:
            return await stack.enter_async_context(genuine.console(tmp_path, **{**late, **limits}))

        yield open_


async def test_no_other_engine_claims_its_tables(genuine: Genuine, console: Opener) -> None:
    workspace = await console()
    assert list(workspace.engines) == [LABEL]
    assert workspace.declined == ()
    missing = {need.ddl for need in reader(workspace, LABEL).detected.missing()}
    assert all("__" in ddl for ddl in missing), "the engine's own indexes are recognised"


async def test_the_folder_describes_its_tables(genuine: Genuine, server: PostgresServer) -> None:
    described = server.fresh(LABEL)
    assert await structure(described) == await structure(genuine.dsn, "graphile_worker")
    server.drop(described)


async def test_a_job_of_a_killed_worker_is_released_and_taken(genuine: Genuine, console: Opener) -> None:
    """The dead worker holds the job's queue, too."""
    workspace = await console(worker_lost=SOON, late=SOON)
    killed = await genuine.worker("hold")
    job, behind = await genuine.job(queue="mail"), await genuine.job(queue="mail")
    await genuine.until(job, "locked")
    pool = (await genuine.of(job))["locked_by"]
    await genuine.workers.kill(genuine.dsn, killed)
    found = await genuine.until_found(workspace, "owner_dead", f"job:{job}")
    assert (found.action, found.evidence["resource"][:6], found.evidence["owner"]) == ("release", "queue:", pool)
    found = await genuine.until_found(workspace, "late", f"job:{behind}")
    assert pool in found.sentence
    await genuine.worker("hold")
    await genuine.until_found(workspace, "owner_dead", f"job:{job}")
    await genuine.act(workspace, "release", f"job:{job}")
    await genuine.until(job, "locked")
    assert (await genuine.of(job))["locked_by"] != pool
    assert (await genuine.of(job))["attempts"] == 2
    await genuine.consistent()
    await genuine.until(behind, "available")
    genuine.gate.open()
    for each in (job, behind):
        await genuine.until(each, "gone")
    await genuine.consistent()
    await genuine.tool("cleanup")
    assert await genuine.value("SELECT count(*) FROM graphile_worker._private_job_queues") == 0


async def test_a_job_keeps_an_attempt_when_its_worker_is_killed_in_the_last_one(
    genuine: Genuine, console: Opener
) -> None:
    workspace = await console(worker_lost=SOON)
    killed = await genuine.worker("hold")
    job = await genuine.job(most=1)
    await genuine.until(job, "locked")
    await genuine.workers.kill(genuine.dsn, killed)
    await genuine.until_found(workspace, "owner_dead", f"job:{job}")
    done = await do(workspace, "release", [f"{LABEL}/job:{job}"], {"again": True}, label=LABEL)
    assert set(outcomes_of(done).values()) == {Outcome.CHANGED}
    assert (await genuine.of(job))["attempts"] == 0
    assert set(outcomes_of(await undone(workspace, done)).values()) == {Outcome.CHANGED}
    await genuine.until(job, "locked")
    await do(workspace, "release", [f"{LABEL}/job:{job}"], {"again": True}, label=LABEL)
    genuine.gate.open()
    await genuine.worker("hold")
    await genuine.until(job, "gone")
    await genuine.consistent()


async def test_a_job_that_ends_its_worker_is_ended_or_released_once(genuine: Genuine, console: Opener) -> None:
    """The job runs again only if it was released, and its queue goes on."""
    operators = [await console(worker_lost=SOON) for _ in range(2)]
    killed = await genuine.worker("hold")
    job, behind = await genuine.job(queue="mail"), await genuine.job(queue="mail")
    await genuine.until(job, "locked")
    await genuine.workers.kill(genuine.dsn, killed)
    await genuine.until_found(operators[0], "owner_dead", f"job:{job}")
    await genuine.worker("hold")
    won = await ended_or_released(*operators, LABEL, f"{LABEL}/job:{job}", "mark_failed")
    genuine.gate.open()
    await genuine.until(behind, "gone")
    await genuine.until(job, "failed" if won == "mark_failed" else "gone")
    if won == "mark_failed":
        assert (await genuine.of(job))["attempts"] == 25, "no worker has taken it"
    await genuine.consistent()


async def test_a_living_worker_keeps_its_job(
    genuine: Genuine, console: Opener, server: PostgresServer, tmp_path: Path
) -> None:
    workspace = await console(worker_lost=0.0)
    await genuine.worker("hold")
    job = await genuine.job(queue="mail")
    await genuine.until(job, "locked")
    await genuine.healthy(server, tmp_path)
    for action in ("release", "retry", "wake", "cancel", "delete", "mark_failed"):
        done = await do(workspace, action, [f"{LABEL}/job:{job}"], label=LABEL)
        assert set(outcomes_of(done).values()) == {Outcome.REFUSED}, action
    queue = await genuine.value("SELECT id FROM graphile_worker._private_job_queues")
    done = await do(workspace, "release", [f"{LABEL}/queue:{queue}"], label=LABEL)
    assert outcomes_of(done) == {f"{LABEL}/queue:{queue}": Outcome.REFUSED}
    assert f"job {job}" in why(done, f"{LABEL}/queue:{queue}")
    impatient = await console(locked_too_long=SOON)
    found = await genuine.until_found(impatient, "locked_too_long", f"job:{job}")
    assert found.evidence["sessions"].startswith("One worker is connected")
    genuine.gate.open()
    await genuine.until(job, "gone")
    await genuine.consistent()


async def test_a_job_is_woken_and_one_is_cancelled_before_it_runs(genuine: Genuine, console: Opener) -> None:
    workspace = await console()
    genuine.gate.open()
    await genuine.worker("hold")
    early, never = [await genuine.job(later="1 hour", queue="mail") for _ in range(2)]
    row = await genuine.of(never)
    done = await do(workspace, "cancel", [f"{LABEL}/job:{never}"], label=LABEL)
    assert set(outcomes_of(done).values()) == {Outcome.CHANGED}
    assert await genuine.of(never) == {}
    await genuine.act(workspace, "wake", f"job:{early}")
    await genuine.until(early, "gone")
    assert set(outcomes_of(await undone(workspace, done)).values()) == {Outcome.CHANGED}
    assert await genuine.of(never) == row
    await genuine.act(workspace, "wake", f"job:{never}")
    await genuine.until(never, "gone")
    await genuine.consistent()


async def test_used_up_retries_are_found_and_retried_and_deleted(genuine: Genuine, console: Opener) -> None:
    workspace = await console()
    await genuine.worker("fail")
    job, other = [await genuine.job("fail", most=1, queue="mail") for _ in range(2)]
    for each in (job, other):
        await genuine.until(each, "failed")
    found = await genuine.until_found(workspace, "failing", f"job:{job}")
    assert (found.evidence["error"], found.evidence["task"]) == ("no such mailbox", "fail")
    dead = (await reader(workspace, LABEL).pages.dead()).dead_letters
    assert [each.node.id for each in dead] == [f"{LABEL}/job:{each}" for each in (other, job)], "the newest first"
    genuine.gate.open()
    await genuine.act(workspace, "retry", f"job:{job}")
    await genuine.until(job, "gone")
    await genuine.act(workspace, "delete", f"job:{other}")
    assert await genuine.of(other) == {}
    await genuine.consistent()


async def test_a_job_with_attempts_left_is_woken(genuine: Genuine, console: Opener) -> None:
    workspace = await console()
    job = await genuine.job("fail")
    # After a failure, the engine waits for exp(attempts) seconds, which is hours from the tenth attempt on.
    await genuine.connection.execute("UPDATE graphile_worker._private_jobs SET attempts = 12")
    await genuine.worker("fail")
    failed = f"SELECT last_error FROM graphile_worker._private_jobs WHERE id = {job} AND locked_at IS NULL"
    await genuine.workers.until(genuine.dsn, failed, "no such mailbox")
    genuine.gate.open()
    await genuine.act(workspace, "wake", f"job:{job}")
    await genuine.until(job, "gone")


async def test_what_is_marked_failed_is_as_the_engine_marks_it(genuine: Genuine, console: Opener) -> None:
    workspace = await console()
    ours, theirs = [await genuine.job(later="1 hour") for _ in range(2)]
    await genuine.act(workspace, "mark_failed", f"job:{ours}")
    reason = (await genuine.of(ours))["last_error"]
    await genuine.connection.execute(
        "SELECT graphile_worker.permanently_fail_jobs(ARRAY[$1::int8], $2)", theirs, reason
    )
    alike = ("attempts", "max_attempts", "last_error", "locked_at", "is_available", "key", "revision")
    one, two = await genuine.of(ours), await genuine.of(theirs)
    assert {name: one[name] for name in alike} == {name: two[name] for name in alike}
    await genuine.consistent()


async def test_a_task_that_no_worker_serves_is_found(genuine: Genuine, console: Opener) -> None:
    workspace = await console(not_served=SOON, late=SOON)
    lonely = await genuine.job("hold_lonely")
    found = await genuine.until_found(workspace, "late", f"job:{lonely}")
    assert found.evidence["why"] == "No worker lives"
    await genuine.worker("hold")
    served = await genuine.job()
    await genuine.until(served, "locked")
    task = await genuine.value("SELECT id FROM graphile_worker._private_tasks WHERE identifier = $1", "hold_lonely")
    found = await genuine.until_found(workspace, "not_served", f"task:{task}")
    assert found.evidence["taken"] == served
    genuine.gate.open()
    await genuine.worker("hold_lonely")
    for each in (lonely, served):
        await genuine.until(each, "gone")
    assert (await reader(workspace, LABEL).findings.read()).findings == ()


async def test_a_queue_whose_job_was_deleted_while_it_ran_is_released(genuine: Genuine, console: Opener) -> None:
    """The worker unlocks the queue of the row that it deletes: without a row, of none."""
    workspace = await console(worker_lost=SOON)
    await genuine.worker("hold")
    job = await genuine.job(queue="mail")
    await genuine.until(job, "locked")
    await genuine.connection.execute("DELETE FROM graphile_worker._private_jobs")
    genuine.gate.open()
    behind = await genuine.job(queue="mail")
    queue = await genuine.value("SELECT id FROM graphile_worker._private_job_queues")
    found = await genuine.until_found(workspace, "queue_lock_left", f"queue:{queue}")
    assert found.action == "release"
    await genuine.until(behind, "available")
    await genuine.act(workspace, "release", f"queue:{queue}")
    await genuine.until(behind, "gone")
    await genuine.consistent()


@proof
async def test_its_folder_passes_on_its_own_schema(genuine: Genuine, server: PostgresServer, tmp_path: Path) -> None:
    await genuine.connection.close()
    await fixture_passes(LABEL, genuine.dsn, server, tmp_path, "SET search_path = graphile_worker;\n")
