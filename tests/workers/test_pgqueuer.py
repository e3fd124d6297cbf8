"""The engine pgqueuer, with its own schema and its own worker."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from queries.records.action import Outcome
from queries.workspace import Workspace
from tests.proof import proof
from tests.queries.builders import do, opened, outcomes_of, reader, undone
from tests.servers import PostgresServer
from tests.workers.catalog import structure
from tests.workers.harness import PATIENCE, Gate, GenuineEngine, Worker, Workers, fixture_passes, heard, python

pgqueuer = pytest.importorskip("pgqueuer")
qb = pytest.importorskip("pgqueuer.adapters.persistence.qb")
DBSettings = pytest.importorskip("pgqueuer.domain.settings").DBSettings

LABEL = "pgqueuer"
SILENT = 1.0  # seconds; the workers beat twice a day
YEAR = 3e7


class Genuine(GenuineEngine):
    label = LABEL

    def __init__(self, dsn: str, workers: Workers, connection: asyncpg.Connection[Any], folder: Path) -> None:
        super().__init__(dsn, workers)
        self.connection = connection
        self.queries = pgqueuer.Queries(pgqueuer.AsyncpgDriver(connection))
        self.gate = Gate(folder)
        self.value = connection.fetchval

    async def worker(self, *entrypoints: str) -> Worker:
        """Start a worker. It listens before it looks for jobs, so it misses none."""
        started = self.workers.start(python("-m", "tests.workers.pgqueuer_app", *entrypoints), WORKER_DSN=self.dsn)
        await self.workers.connected(self.dsn, started)
        return started

    async def job(self, entrypoint: str = "hold", *, later: float = 0.0, **options: Any) -> int:
        """Enqueue a job as an application does."""
        given = {"execute_after": timedelta(seconds=later), **options}
        return int((await self.queries.enqueue(entrypoint, str(self.gate).encode(), **given))[0])

    async def until(self, job: int, status: str) -> None:
        """Wait until a job has a status; without a row, its newest log entry."""
        query = (
            f"SELECT coalesce((SELECT status FROM pgqueuer WHERE id = {job}),"
            f" (SELECT status FROM pgqueuer_log WHERE job_id = {job} ORDER BY id DESC LIMIT 1))::text"
        )
        await self.workers.until(self.dsn, query, status)

    async def log(self, job: int) -> list[str]:
        query = "SELECT array_agg(status::text ORDER BY id) FROM pgqueuer_log WHERE job_id = $1"
        return list(await self.value(query, job))

    async def consistent(self) -> None:
        """Compare each job with the engine's log, and look for capacity that no job uses."""
        rows = await self.connection.fetch("SELECT id, status::text FROM pgqueuer")
        logged = dict(await self.queries.job_status([row["id"] for row in rows]))
        assert {row["id"]: row["status"] for row in rows} == logged
        counted = "queue_manager_id IS NOT NULL OR slot IS NOT NULL"
        assert await self.value(f"SELECT count(*) FROM pgqueuer WHERE status <> 'picked' AND ({counted})") == 0


@pytest.fixture
async def genuine(workers: Workers, database: str, tmp_path: Path) -> AsyncIterator[Genuine]:
    connection = await asyncpg.connect(database)
    made = Genuine(database, workers, connection, tmp_path)
    await made.queries.install()
    yield made
    await connection.close()


@pytest.fixture
async def impatient(genuine: Genuine, tmp_path: Path) -> AsyncIterator[Workspace]:
    """The console, for which a worker is silent and a job is late after seconds."""
    limits = {"heartbeat_timeout": SILENT, "not_retaken": SILENT, "not_served": SILENT, "late": SILENT}
    async with genuine.console(tmp_path, **limits) as workspace:
        yield workspace


@pytest.fixture
async def patient(genuine: Genuine, tmp_path: Path) -> AsyncIterator[Workspace]:
    """The console, for which no worker is ever silent."""
    limits = {"heartbeat_timeout": YEAR, "not_retaken": YEAR, "not_served": SILENT}
    async with genuine.console(tmp_path, **limits) as workspace:
        yield workspace


async def test_no_other_engine_claims_its_tables(genuine: Genuine, patient: Workspace) -> None:
    assert list(patient.engines) == [LABEL]
    assert patient.declined == ()
    missing = {need.columns for need in reader(patient, LABEL).detected.missing()}
    assert missing == {("entrypoint", "id"), ("updated", "id")}, "the engine's own indexes are recognised"


async def test_the_folder_describes_its_tables(genuine: Genuine, server: PostgresServer) -> None:
    described = server.fresh(LABEL)
    assert await structure(described) == await structure(genuine.dsn)
    server.drop(described)


async def test_a_job_of_a_killed_worker_is_released_and_taken(genuine: Genuine, impatient: Workspace) -> None:
    """The dead worker holds the only slot of the entrypoint."""
    killed = await genuine.worker("one_by_one")
    job, behind = await genuine.job("one_by_one"), await genuine.job("one_by_one")
    await genuine.until(job, "picked")
    await genuine.workers.kill(genuine.dsn, killed)
    found = await genuine.until_found(impatient, "owner_dead", f"job:{job}")
    assert found.action == "release"
    await genuine.worker("one_by_one")
    assert await genuine.value("SELECT status::text FROM pgqueuer WHERE id = $1", behind) == "queued"
    worker = await genuine.value("SELECT queue_manager_id FROM pgqueuer WHERE id = $1", job)
    await genuine.act(impatient, "release", f"job:{job}")
    taken = f"SELECT queue_manager_id <> '{worker}' AND status = 'picked' FROM pgqueuer WHERE id = {job}"
    await genuine.workers.until(genuine.dsn, taken)
    genuine.gate.open()
    for each in (job, behind):
        await genuine.until(each, "successful")
    assert await genuine.log(job) == ["queued", "picked", "queued", "picked", "successful"]
    await genuine.consistent()


async def test_a_job_of_a_killed_worker_is_marked_failed_and_retried(genuine: Genuine, impatient: Workspace) -> None:
    killed = await genuine.worker("hold")
    job = await genuine.job()
    await genuine.until(job, "picked")
    await genuine.workers.kill(genuine.dsn, killed)
    await genuine.until_found(impatient, "owner_dead", f"job:{job}")
    await genuine.act(impatient, "mark_failed", f"job:{job}")
    assert [held.id for held in await genuine.queries.list_failed_jobs()] == [job]
    (dead,) = (await reader(impatient, LABEL).pages.dead()).dead_letters
    assert dead.node.id == f"{LABEL}/job:{job}"
    genuine.gate.open()
    await genuine.worker("hold")
    await genuine.act(impatient, "retry", f"job:{job}")
    await genuine.until(job, "successful")
    assert await genuine.log(job) == ["queued", "picked", "failed", "queued", "picked", "successful"]
    await genuine.consistent()


async def test_a_living_worker_keeps_its_job_until_it_is_cancelled(
    genuine: Genuine, patient: Workspace, server: PostgresServer, tmp_path: Path
) -> None:
    await genuine.worker("hold")
    job = await genuine.job()
    await genuine.until(job, "picked")
    await genuine.healthy(server, tmp_path)
    for action in ("release", "mark_failed", "retry", "wake", "delete"):
        done = await do(patient, action, [f"{LABEL}/job:{job}"], label=LABEL)
        assert set(outcomes_of(done).values()) == {Outcome.REFUSED}, action
    await genuine.act(patient, "cancel", f"job:{job}")
    assert await genuine.log(job) == ["queued", "picked", "canceled"]
    genuine.gate.open()
    following = await genuine.job()
    await genuine.until(following, "successful")
    assert await genuine.log(job) == ["queued", "picked", "canceled"], "its task has ended without another entry"
    await genuine.consistent()


async def test_a_job_is_woken_and_one_is_cancelled_before_it_runs(genuine: Genuine, patient: Workspace) -> None:
    genuine.gate.open()
    await genuine.worker("hold")
    early, never = await genuine.job(later=3600), await genuine.job(later=3600)
    done = await do(patient, "cancel", [f"{LABEL}/job:{never}"], label=LABEL)
    assert set(outcomes_of(done).values()) == {Outcome.CHANGED}
    assert await genuine.log(never) == ["queued", "canceled"]
    await genuine.act(patient, "wake", f"job:{early}")
    await genuine.until(early, "successful")
    assert set(outcomes_of(await undone(patient, done)).values()) == {Outcome.CHANGED}
    assert await genuine.log(never) == ["queued"]
    await genuine.act(patient, "wake", f"job:{never}")
    await genuine.until(never, "successful")
    await genuine.consistent()


async def test_held_failures_are_retried_and_deleted(genuine: Genuine, patient: Workspace) -> None:
    await genuine.worker("fail_held", "fail")
    job, other, lost = [await genuine.job(name) for name in ("fail_held", "fail_held", "fail")]
    for each in (job, other):
        await genuine.until(each, "failed")
    await genuine.until(lost, "exception")
    found = await genuine.until_found(patient, "failing", f"job:{job}")
    assert found.evidence["error"] == "ValueError: no such mailbox"
    found = await genuine.until_found(patient, "failed_and_deleted", "entrypoint:fail")
    assert (found.evidence["jobs"], found.action) == ("1 job", None)
    genuine.gate.open()
    await genuine.act(patient, "retry", f"job:{job}")
    await genuine.until(job, "successful")
    await genuine.act(patient, "delete", f"job:{other}")
    assert (await genuine.log(other))[-1] == "deleted"
    assert await genuine.value("SELECT count(*) FROM pgqueuer") == 0
    await genuine.consistent()


async def test_only_one_job_may_wait_with_a_dedupe_key(genuine: Genuine, patient: Workspace) -> None:
    worker = await genuine.worker("fail_held")
    jobs = []
    for _ in range(2):
        jobs.append(await genuine.job("fail_held", dedupe_key="nightly"))
        await genuine.until(jobs[-1], "failed")
    await genuine.workers.kill(genuine.dsn, worker)
    ids = [f"{LABEL}/job:{job}" for job in jobs]
    done = await do(patient, "retry", ids, label=LABEL)
    assert outcomes_of(done) == dict(zip(ids, (Outcome.CHANGED, Outcome.REFUSED), strict=True))


async def test_an_entrypoint_that_no_worker_serves_is_found(genuine: Genuine, patient: Workspace) -> None:
    lonely, served = await genuine.job("lonely"), await genuine.job()
    await genuine.worker("hold")
    await genuine.until(served, "picked")
    found = await genuine.until_found(patient, "not_served", "entrypoint:lonely")
    assert found.evidence["workers"] == "One worker runs other jobs"
    codes = {f.node_id for f in (await reader(patient, LABEL).findings.read()).findings if f.code == "not_served"}
    assert codes == {f"{LABEL}/entrypoint:lonely"}
    genuine.gate.open()
    await genuine.worker("lonely")
    await genuine.until(lonely, "successful")
    assert (await reader(patient, LABEL).findings.read()).findings == ()


async def test_a_slot_that_a_manual_change_has_kept_is_given_back(genuine: Genuine, patient: Workspace) -> None:
    job = await genuine.job("one_by_one", later=3600)
    await genuine.connection.execute("UPDATE pgqueuer SET queue_manager_id = gen_random_uuid(), slot = 0")
    genuine.gate.open()
    await genuine.worker("one_by_one")
    behind = await genuine.job("one_by_one")
    found = await genuine.until_found(patient, "slot_not_freed", f"job:{job}")
    assert found.action == "release"
    assert await genuine.value("SELECT status::text FROM pgqueuer WHERE id = $1", behind) == "queued"
    await genuine.act(patient, "release", f"job:{job}")
    await genuine.until(behind, "successful")
    assert await genuine.value("SELECT status::text FROM pgqueuer WHERE id = $1", job) == "queued"
    assert await genuine.log(job) == ["queued"]
    await genuine.consistent()


async def test_workers_are_notified_of_what_the_engine_does_not_send(genuine: Genuine, patient: Workspace) -> None:
    waiting, later = await genuine.job(later=3600), await genuine.job(later=3600)
    async with heard(genuine.dsn, "ch_pgqueuer") as messages:

        async def events() -> list[tuple[str, Any]]:
            given = [json.loads(payload) for _, payload in messages]
            return [(each["type"], each.get("operation", each.get("ids"))) for each in given]

        await genuine.act(patient, "wake", f"job:{waiting}")
        sent = [("table_changed_event", "update")]
        await genuine.workers.until(genuine.dsn, events, sent)
        await genuine.act(patient, "cancel", f"job:{later}")
        sent += [("cancellation_event", [later]), ("table_changed_event", "delete")]
        await genuine.workers.until(genuine.dsn, events, lambda seen: sorted(seen, key=str) == sorted(sent, key=str))


async def test_an_installation_with_a_prefix_is_an_engine_of_its_own(
    genuine: Genuine, patient: Workspace, tmp_path: Path
) -> None:
    """Its tables, type, channel and trigger have the prefix."""
    settings = DBSettings(prefix="app_")
    queries = pgqueuer.Queries(
        pgqueuer.AsyncpgDriver(genuine.connection),
        qbe=qb.QueryBuilderEnvironment(settings),
        qbq=qb.QueryQueueBuilder(settings),
        qbs=qb.QuerySchedulerBuilder(settings),
    )
    await queries.install()
    (job,) = await queries.enqueue("hold", str(genuine.gate).encode(), execute_after=timedelta(hours=1))
    worker = genuine.workers.start(
        python("-m", "tests.workers.pgqueuer_app", "hold"), WORKER_DSN=genuine.dsn, PGQUEUER_PREFIX="app_"
    )
    await genuine.workers.connected(genuine.dsn, worker)
    label = "pgqueuer.app_"
    (tmp_path / "prefix").mkdir()
    workspace = await opened(genuine.dsn, tmp_path / "prefix", patience=PATIENCE)
    try:
        assert sorted(workspace.engines) == [LABEL, label]
        missing = {need.ddl for need in reader(workspace, label).detected.missing()}
        assert len(missing) == len(reader(patient, LABEL).detected.missing())
        genuine.gate.open()
        done = await do(workspace, "wake", [f"{label}/job:{job}"], label=label)
        assert set(outcomes_of(done).values()) == {Outcome.CHANGED}
        status = f"SELECT status::text FROM app_pgqueuer_log WHERE job_id = {job} ORDER BY id DESC LIMIT 1"
        await genuine.workers.until(genuine.dsn, status, "successful")
    finally:
        await workspace.close()


@proof
async def test_its_folder_passes_on_its_own_schema(genuine: Genuine, server: PostgresServer, tmp_path: Path) -> None:
    """Rows that the engine's own triggers write are shown and undone."""
    await genuine.connection.close()
    await fixture_passes(LABEL, genuine.dsn, server, tmp_path)
