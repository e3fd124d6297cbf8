"""The engine procrastinate, with its own schema and its own worker."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from queries.records.action import Outcome
from queries.workspace import Workspace
from tests.proof import proof
from tests.queries.builders import do, outcomes_of, reader
from tests.servers import PostgresServer
from tests.workers.catalog import structure
from tests.workers.harness import Gate, GenuineEngine, Worker, Workers, fixture_passes, heard, python

application = pytest.importorskip("tests.workers.procrastinate_app", exc_type=ImportError)

LABEL = "procrastinate"
SILENT = 2.0  # seconds; a living worker beats twice a second
YEAR = 3e7


class Genuine(GenuineEngine):
    label = LABEL

    def __init__(self, dsn: str, workers: Workers, app: Any, folder: Path) -> None:
        super().__init__(dsn, workers)
        self.app = app
        self.gate = Gate(folder)

    async def listening(self, *queues: str) -> Worker:
        """Start a worker and wait until it hears of jobs."""
        command = python("-m", "tests.workers.procrastinate_app", *queues)
        started = self.workers.start(command, WORKER_DSN=self.dsn)
        await self.workers.connected(self.dsn, started, "LISTEN")
        return started

    async def job(self, task: str = "hold", *, gate: bool = True, queue: str = "mail", **options: Any) -> int:
        """Defer a job as an application does."""
        given = {"gate": str(self.gate)} if gate else {}
        return await self.app.configure_task(task, queue=queue, **options).defer_async(**given)

    async def value(self, query: str, *values: Any) -> Any:
        connection = await asyncpg.connect(self.dsn)
        try:
            return await connection.fetchval(query, *values)
        finally:
            await connection.close()

    async def until(self, job: int, status: str) -> None:
        await self.workers.until(self.dsn, f"SELECT status::text FROM procrastinate_jobs WHERE id = {job}", status)

    async def events(self, job: int) -> list[str]:
        texts = await self.value(
            "SELECT array_agg(type::text ORDER BY id) FROM procrastinate_events WHERE job_id = $1", job
        )
        return list(texts)

    async def consistent(self) -> None:
        """Ask the engine's own tools."""
        assert await self.app.check_connection_async()
        assert list(await self.app.job_manager.get_stalled_jobs(seconds_since_heartbeat=YEAR)) == []
        doubled = "SELECT count(*) FROM procrastinate_jobs WHERE status = 'doing' AND worker_id IS NULL"
        assert await self.value(doubled) == 0


@pytest.fixture
async def genuine(workers: Workers, database: str, tmp_path: Path) -> AsyncIterator[Genuine]:
    async with application.connected(database).open_async() as app:
        await app.schema_manager.apply_schema_async()
        yield Genuine(database, workers, app, tmp_path)


@pytest.fixture
async def impatient(genuine: Genuine, tmp_path: Path) -> AsyncIterator[Workspace]:
    """The console, for which a worker is silent and a job is late after seconds."""
    limits = {"worker_silent": SILENT, "not_served": SILENT, "late": SILENT}
    async with genuine.console(tmp_path, **limits) as workspace:
        yield workspace


@pytest.fixture
async def patient(genuine: Genuine, tmp_path: Path) -> AsyncIterator[Workspace]:
    """The console, for which no worker is ever silent."""
    limits = {"worker_silent": YEAR, "not_served": SILENT}
    async with genuine.console(tmp_path, **limits) as workspace:
        yield workspace


async def test_no_other_engine_claims_its_tables(genuine: Genuine, patient: Workspace) -> None:
    assert list(patient.engines) == [LABEL]
    assert patient.declined == ()
    missing = {need.ddl for need in reader(patient, LABEL).detected.missing()}
    assert all("__" in ddl for ddl in missing), "the engine's own indexes are recognised"


async def test_the_folder_describes_its_tables(genuine: Genuine, server: PostgresServer) -> None:
    described = server.fresh(LABEL)
    assert await structure(described) == await structure(genuine.dsn)
    server.drop(described)


async def test_a_job_of_a_killed_worker_is_released_and_taken(genuine: Genuine, impatient: Workspace) -> None:
    job, behind = await genuine.job(lock="customer-1"), await genuine.job(lock="customer-1")
    killed = await genuine.listening()
    await genuine.until(job, "doing")
    await genuine.workers.kill(genuine.dsn, killed)
    await genuine.listening()
    found = await genuine.until_found(impatient, "owner_dead", f"job:{job}")
    assert (found.action, found.evidence["waiting"]) == ("release", "1 job")
    await genuine.act(impatient, "release", f"job:{job}")
    taken = f"SELECT worker_id = (SELECT max(id) FROM procrastinate_workers) FROM procrastinate_jobs WHERE id = {job}"
    await genuine.workers.until(genuine.dsn, taken)
    genuine.gate.open()
    await genuine.until(job, "succeeded")
    await genuine.until(behind, "succeeded")
    assert await genuine.events(job) == [
        "deferred", "started", "scheduled", "deferred_for_retry", "started", "succeeded",
    ]  # fmt: skip
    await genuine.consistent()


async def test_a_job_of_a_removed_worker_is_marked_failed_and_retried(genuine: Genuine, impatient: Workspace) -> None:
    job = await genuine.job()
    killed = await genuine.listening()
    await genuine.until(job, "doing")
    await genuine.workers.kill(genuine.dsn, killed)
    assert await genuine.app.job_manager.prune_stalled_workers(0) == [1]
    found = await genuine.until_found(impatient, "owner_dead", f"job:{job}")
    assert "removed" in found.evidence["owner"]
    await genuine.act(impatient, "mark_failed", f"job:{job}")
    (dead,) = (await reader(impatient, LABEL).pages.dead()).dead_letters
    assert dead.node.id == f"{LABEL}/job:{job}"
    genuine.gate.open()
    await genuine.listening()
    await genuine.act(impatient, "retry", f"job:{job}")
    await genuine.until(job, "succeeded")
    assert (await genuine.events(job))[2:] == ["failed", "scheduled", "retried", "started", "succeeded"]
    await genuine.consistent()


async def test_a_living_worker_keeps_its_job_until_it_aborts_it(
    genuine: Genuine, patient: Workspace, server: PostgresServer, tmp_path: Path
) -> None:
    job = await genuine.job()
    await genuine.listening()
    await genuine.until(job, "doing")
    await genuine.healthy(server, tmp_path)
    for action in ("release", "mark_failed", "cancel", "retry", "wake", "restart", "delete"):
        done = await do(patient, action, [f"{LABEL}/job:{job}"], label=LABEL)
        assert set(outcomes_of(done).values()) == {Outcome.REFUSED}, action
    await genuine.act(patient, "abort", f"job:{job}")
    await genuine.until(job, "aborted")
    assert await genuine.events(job) == ["deferred", "started", "abort_requested", "aborted"]
    await genuine.consistent()


async def test_retries_are_exhausted_until_a_restart(genuine: Genuine, patient: Workspace) -> None:
    job = await genuine.job("fail_thrice")
    await genuine.listening()
    await genuine.until(job, "failed")
    found = await genuine.until_found(patient, "failing", f"job:{job}")
    assert found.evidence["attempts"] == "3 attempts"
    await genuine.act(patient, "retry", f"job:{job}")
    await genuine.workers.until(genuine.dsn, f"SELECT attempts FROM procrastinate_jobs WHERE id = {job}", 5)
    await genuine.until(job, "failed")
    genuine.gate.open()
    await genuine.act(patient, "restart", f"job:{job}")
    await genuine.until(job, "succeeded")
    assert await genuine.value("SELECT attempts FROM procrastinate_jobs WHERE id = $1", job) == 1
    await genuine.act(patient, "delete", f"job:{job}")
    assert await genuine.value("SELECT count(*) FROM procrastinate_events") == 0
    await genuine.consistent()


async def test_a_job_that_blocks_its_lock_is_woken_or_cancelled(genuine: Genuine, patient: Workspace) -> None:
    head = await genuine.job(lock="a", schedule_in={"hours": 1})
    behind = await genuine.job(lock="a")
    other = await genuine.job(lock="b", schedule_in={"hours": 1})
    waiting = await genuine.job(lock="b")
    genuine.gate.open()
    await genuine.listening()
    for job in (head, other):
        found = await genuine.until_found(patient, "blocked_by_a_scheduled_job", f"job:{job}")
        assert found.action == "wake"
    nodes = (await reader(patient, LABEL).nodes.read([f"{LABEL}/job:{job}" for job in (head, behind)])).nodes
    assert [str(node.phase) for node in nodes] == ["scheduled", "blocked"]
    await genuine.act(patient, "wake", f"job:{head}")
    await genuine.until(head, "succeeded")
    await genuine.until(behind, "succeeded")
    await genuine.act(patient, "cancel", f"job:{other}")
    await genuine.until(waiting, "succeeded")
    assert await genuine.value("SELECT status::text FROM procrastinate_jobs WHERE id = $1", other) == "cancelled"
    await genuine.consistent()


async def test_a_queue_that_no_worker_serves_is_found(genuine: Genuine, patient: Workspace) -> None:
    lonely = await genuine.job(queue="lonely")
    served = await genuine.job(queue="mail")
    await genuine.listening("mail")
    await genuine.until(served, "doing")
    found = await genuine.until_found(patient, "not_served", "queue:lonely")
    assert "alive" in found.evidence["workers"]
    codes = {f.node_id for f in (await reader(patient, LABEL).findings.read()).findings if f.code == "not_served"}
    assert codes == {f"{LABEL}/queue:lonely"}
    genuine.gate.open()
    await genuine.listening("lonely")
    await genuine.until(lonely, "succeeded")
    assert (await reader(patient, LABEL).findings.read()).findings == ()


async def test_only_one_job_may_wait_with_a_queueing_lock(genuine: Genuine, patient: Workspace) -> None:
    jobs = []
    worker = await genuine.listening()
    for _ in range(2):
        jobs.append(await genuine.job("fail", gate=False, queueing_lock="nightly"))
        await genuine.until(jobs[-1], "failed")
    worker.stop()
    ids = [f"{LABEL}/job:{job}" for job in jobs]
    done = await do(patient, "retry", ids, label=LABEL)
    assert outcomes_of(done) == dict(zip(ids, (Outcome.CHANGED, Outcome.REFUSED), strict=True))
    done = await do(patient, "restart", ids[1:], label=LABEL)
    assert set(outcomes_of(done).values()) == {Outcome.REFUSED}


async def test_workers_are_notified_of_jobs_that_are_queued_again(genuine: Genuine, patient: Workspace) -> None:
    """The engine itself notifies of new jobs only."""
    job = await genuine.job(schedule_in={"hours": 1})
    channels = {"procrastinate_queue_v1#mail", "procrastinate_any_queue_v1"}
    async with heard(genuine.dsn, *channels) as messages:

        async def events() -> set[tuple[str, str, int]]:
            given = [(channel, json.loads(payload)) for channel, payload in messages]
            return {(channel, each["type"], each["job_id"]) for channel, each in given}

        await genuine.act(patient, "wake", f"job:{job}")
        await genuine.workers.until(genuine.dsn, events, {(channel, "job_inserted", job) for channel in channels})


@proof
async def test_its_folder_passes_on_its_own_schema(genuine: Genuine, server: PostgresServer, tmp_path: Path) -> None:
    """Rows that the engine's own triggers write are shown and undone."""
    await genuine.app.connector.close_async()
    await fixture_passes(LABEL, genuine.dsn, server, tmp_path)
