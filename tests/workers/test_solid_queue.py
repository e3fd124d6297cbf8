"""The engine Solid Queue, with the tables and the workers of its port to Python."""

from __future__ import annotations

import importlib.util
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from queries.records.action import Outcome
from tests.queries.builders import do, opened, outcomes_of, undone, why
from tests.servers import PostgresServer
from tests.workers.harness import PATIENCE, Gate, OperatedEngine, Worker, Workers, ended_or_released, python

# A compiled engine keeps threads, so only processes of workers import it.
pytestmark = pytest.mark.skipif(importlib.util.find_spec("quebec") is None, reason="quebec is not installed")

APP = ("-m", "tests.workers.solid_queue_app")
TABLES = ("ready", "claimed", "failed", "blocked", "scheduled")
UNION = " UNION ALL ".join(f"SELECT job_id, '{name}' AS state FROM solid_queue_{name}_executions" for name in TABLES)
ENGINE = "solid_queue"


class SolidQueue(OperatedEngine):
    label = ENGINE

    def start(self, *components: str) -> Worker:
        return self.workers.start(python(*APP, *(components or ("worker", "dispatcher"))), WORKER_DSN=self.dsn)

    async def enqueue(self, job: str, gate: Gate, *options: str) -> str:
        """Enqueue a job as an application does; return its node."""
        await self.workers.run(python(*APP, "enqueue", job, str(gate), *options), WORKER_DSN=self.dsn)
        return f"{ENGINE}/job:{await self.connection.fetchval('SELECT max(id) FROM solid_queue_jobs')}"

    async def becomes(self, node: str, state: str) -> None:
        """Wait until a job is in a state; ``finished`` and ``gone`` are states too."""
        number = int(node.rpartition(":")[2])
        of_job = (
            "SELECT CASE WHEN j.id IS NULL THEN 'gone' WHEN j.finished_at IS NOT NULL THEN 'finished' ELSE e.state END"
            f" FROM (SELECT {number} AS id) AS k LEFT JOIN solid_queue_jobs j USING (id)"
            f" LEFT JOIN ({UNION}) AS e ON e.job_id = j.id"
        )
        await self.workers.until(self.dsn, of_job, state)

    async def kill(self, worker: Worker) -> None:
        """Kill a worker, and let its last heartbeat be an hour ago."""
        await self.workers.kill(self.dsn, worker)
        past = (
            "UPDATE solid_queue_processes SET last_heartbeat_at = last_heartbeat_at - interval '1 hour' WHERE pid = $1"
        )
        await self.connection.execute(past, worker.pid)

    async def assert_consistent(self) -> None:
        """Assert what the engine's own tools rely on."""
        states = (
            f"SELECT j.id, j.finished_at, array_agg(e.state)"
            f" FROM solid_queue_jobs j LEFT JOIN ({UNION}) AS e ON e.job_id = j.id GROUP BY j.id"
        )
        for number, finished_at, found in await self.connection.fetch(states):
            assert len([state for state in found if state]) == (finished_at is None), (number, finished_at, found)
        held = (
            f"SELECT m.key, m.value, (SELECT count(*) FROM solid_queue_jobs j JOIN ({UNION}) AS e ON e.job_id = j.id"
            " WHERE j.concurrency_key = m.key AND e.state IN ('ready', 'claimed')) FROM solid_queue_semaphores m"
        )
        for key, value, holders in await self.connection.fetch(held):
            assert value + holders == 1, (key, value, holders)


@pytest.fixture
async def queue(workers: Workers, database: str, tmp_path: Path) -> AsyncIterator[SolidQueue]:
    await workers.run(python(*APP, "install"), WORKER_DSN=database)
    connection = await asyncpg.connect(database)
    workspace = await opened(database, tmp_path, patience=PATIENCE)
    yield SolidQueue(database, workers, connection, workspace)
    await workspace.close()
    await connection.close()


async def test_a_job_of_a_killed_worker_is_released_and_taken_by_another(
    queue: SolidQueue, gate: Gate, server: PostgresServer, tmp_path: Path
) -> None:
    assert list(queue.workspace.engines) == [ENGINE]
    job = await queue.enqueue("Hold", gate)
    one = queue.start()
    await queue.becomes(job, "claimed")
    await queue.healthy(server, tmp_path)
    assert await queue.do("release", job) == Outcome.REFUSED  # its worker lives
    assert "owner_dead" not in (await queue.codes()).get(job, set())
    await queue.kill(one)
    codes = await queue.codes()
    assert "owner_dead" in codes[job]
    assert {"silent_process"} in codes.values()
    two = queue.start()
    released = await do(queue.workspace, "release", [job], label=ENGINE)
    assert outcomes_of(released) == {job: Outcome.CHANGED}
    await queue.workers.until(
        queue.dsn,
        "SELECT p.pid FROM solid_queue_claimed_executions c JOIN solid_queue_processes p ON p.id = c.process_id",
        two.pid,
    )
    gate.open()
    await queue.becomes(job, "finished")
    await queue.assert_consistent()


async def test_a_job_that_ends_its_worker_is_ended_or_released_once(
    queue: SolidQueue, gate: Gate, database: str, tmp_path: Path
) -> None:
    """The next job of its concurrency key runs in either case."""
    job, behind = [await queue.enqueue("Alone", gate) for _ in range(2)]
    one = queue.start()
    await queue.becomes(job, "claimed")
    await queue.becomes(behind, "blocked")
    await queue.kill(one)
    (tmp_path / "other").mkdir()
    other = await opened(database, tmp_path / "other", patience=PATIENCE)
    queue.start()
    won = await ended_or_released(queue.workspace, other, ENGINE, job, "mark_failed")
    await other.close()
    gate.open()
    if won == "mark_failed":
        assert await queue.do("wake", behind) == Outcome.CHANGED, "until then it waits for its expiry"
    await queue.becomes(behind, "finished")
    await queue.becomes(job, "failed" if won == "mark_failed" else "finished")
    await queue.assert_consistent()


async def test_a_released_job_keeps_its_concurrency_slot(queue: SolidQueue, gate: Gate) -> None:
    first, second = [await queue.enqueue("Alone", gate) for _ in range(2)]
    one = queue.start()
    await queue.becomes(first, "claimed")
    await queue.becomes(second, "blocked")
    await queue.connection.execute(
        "UPDATE solid_queue_blocked_executions SET created_at = created_at - interval '1 hour'"
    )
    await queue.kill(one)
    codes = await queue.codes()
    assert "owner_dead" in codes[first]
    assert codes[second] == {"key_held"}
    assert await queue.do("wake", second) == Outcome.REFUSED
    assert await queue.do("release", first) == Outcome.CHANGED
    await queue.assert_consistent()
    queue.start()
    await queue.becomes(first, "claimed")
    await queue.assert_consistent()
    await queue.becomes(second, "blocked")
    gate.open()
    await queue.becomes(first, "finished")
    await queue.becomes(second, "finished")
    await queue.assert_consistent()


async def test_jobs_that_share_a_lost_slot_are_woken_and_taken_back(queue: SolidQueue, gate: Gate) -> None:
    _, *both = [await queue.enqueue("Alone", gate) for _ in range(3)]
    await queue.connection.execute("DELETE FROM solid_queue_jobs WHERE id = (SELECT min(id) FROM solid_queue_jobs)")
    tables = ("semaphores", "blocked_executions", "scheduled_executions")
    before = [await queue.connection.fetch(f"SELECT * FROM solid_queue_{table} ORDER BY id") for table in tables]
    woken = await do(queue.workspace, "wake", both, label=ENGINE)
    assert outcomes_of(woken) == dict.fromkeys(both, Outcome.CHANGED)
    assert outcomes_of(await undone(queue.workspace, woken)) == dict.fromkeys(both, Outcome.CHANGED)
    after = [await queue.connection.fetch(f"SELECT * FROM solid_queue_{table} ORDER BY id") for table in tables]
    assert after == before


async def test_a_lost_concurrency_slot_is_found_and_given_back(queue: SolidQueue, gate: Gate) -> None:
    first, second, third = [await queue.enqueue("Alone", gate) for _ in range(3)]
    await queue.connection.execute("DELETE FROM solid_queue_jobs WHERE id = (SELECT min(id) FROM solid_queue_jobs)")
    await queue.connection.execute(
        "UPDATE solid_queue_blocked_executions SET created_at = created_at - interval '1 hour'"
    )
    await queue.becomes(first, "gone")
    assert await queue.codes() == {second: {"slot_lost"}}
    woken = await do(queue.workspace, "wake", [second], label=ENGINE)
    assert outcomes_of(woken) == {second: Outcome.CHANGED}
    assert outcomes_of(await undone(queue.workspace, woken)) == {second: Outcome.CHANGED}
    await queue.becomes(second, "blocked")
    assert await queue.do("wake", second) == Outcome.CHANGED
    queue.start()
    await queue.becomes(second, "claimed")
    await queue.becomes(third, "blocked")
    await queue.assert_consistent()
    gate.open()
    await queue.becomes(third, "finished")
    await queue.assert_consistent()


@pytest.mark.parametrize("job", ["Fail", "Alone"])
async def test_a_failed_job_is_retried(queue: SolidQueue, gate: Gate, job: str) -> None:
    node = await queue.enqueue(job, gate)
    worker = queue.start("worker")
    if job == "Alone":  # fail as the supervisor of a killed worker makes it fail, and give the slot back
        await queue.becomes(node, "claimed")
        await queue.workers.kill(queue.dsn, worker)
        await queue.connection.execute("UPDATE solid_queue_semaphores SET value = value + 1")
        await queue.connection.execute(
            "WITH c AS (DELETE FROM solid_queue_claimed_executions RETURNING job_id)"
            " INSERT INTO solid_queue_failed_executions (job_id, error, created_at) SELECT job_id, '{}', now() FROM c"
        )
    await queue.becomes(node, "failed")
    assert [dead.node.id for dead in (await queue.workspace.engines[ENGINE].pages.dead()).dead_letters] == [node]
    assert "failing" in (await queue.codes())[node]
    gate.open()
    assert await queue.do("retry", node) == Outcome.CHANGED
    assert await queue.do("retry", node) != Outcome.CHANGED
    queue.start()
    await queue.becomes(node, "finished")
    await queue.assert_consistent()


async def test_a_scheduled_job_is_woken_and_another_cancelled(queue: SolidQueue, gate: Gate) -> None:
    woken, cancelled = [await queue.enqueue("Alone", gate, "wait=86400") for _ in range(2)]
    queue.start()
    assert await queue.do("wake", woken) == Outcome.CHANGED
    await queue.becomes(woken, "claimed")
    assert await queue.do("cancel", woken) == Outcome.REFUSED  # claimed
    assert await queue.do("cancel", cancelled) == Outcome.CHANGED
    await queue.becomes(cancelled, "gone")
    gate.open()
    await queue.becomes(woken, "finished")
    await queue.assert_consistent()


async def test_the_slot_of_a_ready_job_is_left_to_the_application(queue: SolidQueue, gate: Gate) -> None:
    job = await queue.enqueue("Alone", gate)
    refused = await do(queue.workspace, "cancel", [job], label=ENGINE)
    assert outcomes_of(refused) == {job: Outcome.REFUSED}
    assert f"SolidQueue::Job.find({job.rpartition(':')[2]}).discard" in why(refused, job)


async def test_a_paused_queue_is_found_and_resumed(queue: SolidQueue, gate: Gate) -> None:
    gate.open()
    mail = f"{ENGINE}/queue:mail"
    first = await queue.enqueue("Hold", gate, "queue=mail")
    await queue.connection.execute(
        "UPDATE solid_queue_ready_executions SET created_at = created_at - interval '1 hour'"
    )
    assert await queue.codes() == {mail: {"not_served"}}
    assert await queue.do("pause", mail) == Outcome.CHANGED
    await queue.connection.execute("UPDATE solid_queue_pauses SET created_at = created_at - interval '1 hour'")
    assert await queue.codes() == {mail: {"queue_paused"}}
    queue.start()
    other = await queue.enqueue("Hold", gate)
    await queue.becomes(other, "finished")  # the worker takes jobs, and none of the paused queue
    await queue.becomes(first, "ready")
    assert await queue.do("resume", mail) == Outcome.CHANGED
    await queue.becomes(first, "finished")
    await queue.assert_consistent()


async def test_an_overdue_job_says_that_no_dispatcher_lives(queue: SolidQueue, gate: Gate) -> None:
    gate.open()
    job = await queue.enqueue("Hold", gate, "wait=86400")
    await queue.connection.execute(
        "UPDATE solid_queue_scheduled_executions SET scheduled_at = created_at - interval '1 hour'"
    )
    (finding,) = (await queue.workspace.engines[ENGINE].findings.read()).findings
    assert (finding.node_id, finding.code) == (job, "late")
    assert finding.evidence["dispatchers"].startswith("No dispatcher")
    queue.start()
    await queue.becomes(job, "finished")


async def test_a_job_without_an_execution_is_found_and_run(queue: SolidQueue, gate: Gate) -> None:
    gate.open()
    job = await queue.enqueue("Hold", gate)
    await queue.connection.execute("DELETE FROM solid_queue_ready_executions")
    assert await queue.codes() == {job: {"execution_lost"}}
    assert await queue.do("retry", job) == Outcome.CHANGED
    queue.start()
    await queue.becomes(job, "finished")
    await queue.assert_consistent()
