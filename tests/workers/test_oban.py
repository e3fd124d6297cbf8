"""The engine Oban, with the tables and the worker of its Python edition."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from queries.records.action import Outcome
from tests.proof import proof
from tests.queries.builders import do, opened, outcomes_of, undone, why
from tests.servers import PostgresServer
from tests.workers.harness import PATIENCE, Gate, OperatedEngine, Worker, Workers, ended_or_released
from tests.workers.newer_python import environment

APP = str(Path(__file__).with_name("oban_app.py"))
ENGINE = "oban"
DEFAULT = f"{ENGINE}/queue:default"
AGO = "scheduled_at = scheduled_at - interval '1 hour'"


class Oban(OperatedEngine):
    label = ENGINE

    def __init__(self, python: str, *operated: Any) -> None:
        super().__init__(*operated)
        self.python = python

    def start(self, *queues: str) -> Worker:
        return self.workers.start([self.python, APP, "start", *(queues or ("default",))], WORKER_DSN=self.dsn)

    async def enqueue(self, worker: str, gate: Gate, *seconds: str) -> str:
        """Enqueue a job as an application does; return its node."""
        command = [self.python, APP, "enqueue", worker, "default", str(gate), *seconds]
        return f"{ENGINE}/job:{(await self.workers.run(command, WORKER_DSN=self.dsn)).split()[-1]}"

    async def becomes(self, node: str, state: str, attempt: int | None = None) -> None:
        number = int(node.rpartition(":")[2])
        found = f"SELECT state::text FROM oban_jobs WHERE id = {number}"
        await self.workers.until(self.dsn, found if attempt is None else f"{found} AND attempt = {attempt}", state)

    async def change(self, what: str) -> None:
        """Change rows by hand, or let time pass for them."""
        await self.connection.execute(what)


@pytest.fixture
async def oban(workers: Workers, database: str, tmp_path: Path) -> AsyncIterator[Oban]:
    python = environment((3, 12), "oban", "oban==0.7.0")
    await workers.run([python, APP, "install"], WORKER_DSN=database)
    connection = await asyncpg.connect(database)
    workspace = await opened(database, tmp_path, patience=PATIENCE)
    assert list(workspace.engines) == [ENGINE]
    yield Oban(python, database, workers, connection, workspace)
    await workspace.close()
    await connection.close()


@proof
async def test_a_job_of_a_killed_worker_is_released_and_taken_by_another(
    oban: Oban, gate: Gate, server: PostgresServer, tmp_path: Path
) -> None:
    job = await oban.enqueue("Hold", gate)
    one = oban.start()
    await oban.becomes(job, "executing")
    await oban.healthy(server, tmp_path)
    assert await oban.do("release", job) == Outcome.REFUSED  # its producer lives
    refused = await do(oban.workspace, "cancel", [job], label=ENGINE)
    assert outcomes_of(refused) == {job: Outcome.REFUSED}
    assert f"Oban.cancel_job({job.rpartition(':')[2]})" in why(refused, job)
    assert job not in await oban.codes()
    await oban.workers.kill(oban.dsn, one)
    await oban.change("UPDATE oban_producers SET updated_at = updated_at - interval '1 hour'")
    assert "owner_dead" in (await oban.codes())[job]
    assert await oban.do("release", job) == Outcome.CHANGED
    await oban.becomes(job, "available")
    oban.start()
    await oban.becomes(job, "executing", attempt=2)
    gate.open()
    await oban.becomes(job, "completed")


@proof
async def test_a_job_that_ends_its_worker_is_ended_or_released_once(
    oban: Oban, gate: Gate, database: str, tmp_path: Path
) -> None:
    job = await oban.enqueue("Hold", gate)
    one = oban.start()
    await oban.becomes(job, "executing")
    await oban.workers.kill(oban.dsn, one)
    await oban.change("UPDATE oban_producers SET updated_at = updated_at - interval '1 hour'")
    (tmp_path / "other").mkdir()
    other = await opened(database, tmp_path / "other", patience=PATIENCE)
    oban.start()
    won = await ended_or_released(oban.workspace, other, ENGINE, job, "cancel")
    await other.close()
    gate.open()
    await oban.becomes(job, "cancelled" if won == "cancel" else "completed", attempt=1 if won == "cancel" else 2)


@proof
async def test_a_producer_that_is_not_registered_is_dead(oban: Oban, gate: Gate, database: str, tmp_path: Path) -> None:
    job = await oban.enqueue("Fail", gate)
    await oban.change(
        "UPDATE oban_jobs SET state = 'executing', attempt = 1, attempted_at = timezone('UTC', now()),"
        " attempted_by = ARRAY['gone.1', '6f1c9d70-0000-4000-8000-000000000009']"
    )
    (tmp_path / "other").mkdir()
    workspace = await opened(database, tmp_path / "other", overrides={ENGINE: {"alive": 1.0}}, patience=PATIENCE)
    try:
        oban.workspace, workspace = workspace, oban.workspace

        async def found() -> bool:  # once the server has run for a second
            return "owner_dead" in (await oban.codes()).get(job, set())

        await oban.workers.until(oban.dsn, found)
        released = await do(oban.workspace, "release", [job], again := {"again": True}, label=ENGINE)
        assert outcomes_of(released) == {job: Outcome.CHANGED}  # its only attempt is used up, so it gets one more
        assert outcomes_of(await undone(oban.workspace, released)) == {job: Outcome.CHANGED}
        assert outcomes_of(await do(oban.workspace, "release", [job], again, label=ENGINE)) == {job: Outcome.CHANGED}
    finally:
        oban.workspace, workspace = workspace, oban.workspace
        await workspace.close()
    gate.open()
    oban.start()
    await oban.becomes(job, "completed", attempt=2)


@proof
async def test_a_discarded_job_is_retried(oban: Oban, gate: Gate) -> None:
    job = await oban.enqueue("Fail", gate)
    oban.start()
    await oban.becomes(job, "discarded")
    assert [dead.node.id for dead in (await oban.workspace.engines[ENGINE].pages.dead()).dead_letters] == [job]
    (dead,) = (await oban.workspace.engines[ENGINE].pages.dead()).dead_letters
    assert "no such mailbox" in dead.error
    assert (await oban.codes())[job] == {"failing"}
    gate.open()
    assert await oban.do("retry", job) == Outcome.CHANGED
    await oban.becomes(job, "completed", attempt=2)
    assert await oban.do("delete", job) == Outcome.CHANGED


@proof
async def test_a_scheduled_job_is_woken_and_another_cancelled(oban: Oban, gate: Gate) -> None:
    gate.open()
    woken, cancelled = [await oban.enqueue("Hold", gate, "86400") for _ in range(2)]
    oban.start()
    assert await oban.do("wake", woken) == Outcome.CHANGED
    await oban.becomes(woken, "completed")
    assert await oban.do("cancel", cancelled) == Outcome.CHANGED
    await oban.becomes(cancelled, "cancelled")
    assert await oban.do("retry", cancelled) == Outcome.CHANGED
    await oban.becomes(cancelled, "completed")


@proof
async def test_a_released_job_is_taken_by_notification(oban: Oban, gate: Gate) -> None:
    """The engine's own channel tells a producer of the job."""
    gate.open()
    woken = await oban.enqueue("Hold", gate, "86400")
    heard: list[tuple[str, str]] = []
    await oban.connection.execute('LISTEN "public.oban_insert"')
    await oban.connection.add_listener("public.oban_insert", lambda _, __, channel, text: heard.append((channel, text)))
    assert await oban.do("wake", woken) == Outcome.CHANGED
    await oban.workers.until(oban.dsn, lambda: _count(heard), 1)
    assert heard == [("public.oban_insert", '{"queue" : "default"}')]


async def _count(heard: list[tuple[str, str]]) -> int:
    return len(heard)


@proof
async def test_waiting_queues_are_unserved_or_paused_or_starved(oban: Oban, gate: Gate) -> None:
    gate.open()
    job = await oban.enqueue("Hold", gate)
    gone = "gen_random_uuid(), 'gone', 'other', timezone('UTC', now()) - interval '1 day'"  # no crash emptied the table
    await oban.change(f"INSERT INTO oban_producers (uuid, node, queue, started_at) VALUES ({gone})")
    await oban.change(f"UPDATE oban_jobs SET {AGO}")
    assert await oban.codes() == {DEFAULT: {"not_served", "starved"}}
    await oban.change("UPDATE oban_jobs SET attempt = 3, max_attempts = 3; DELETE FROM oban_producers")
    oban.start()
    await oban.workers.until(oban.dsn, "SELECT count(*) FROM oban_producers", 1)
    codes = await oban.codes()
    assert codes[job] == {"attempts_used_up"}
    assert codes[DEFAULT] == {"starved"}
    await oban.change("UPDATE oban_producers SET meta = meta || '{\"paused\": true}'")
    assert (await oban.codes())[DEFAULT] == {"starved", "queue_paused"}
    assert await oban.do("retry", job) == Outcome.CHANGED
    await oban.becomes(job, "completed")


@proof
async def test_an_overdue_job_runs_once_a_node_is_there(oban: Oban, gate: Gate) -> None:
    gate.open()
    job = await oban.enqueue("Hold", gate, "3000")
    await oban.change(f"UPDATE oban_jobs SET {AGO}")
    assert await oban.codes() == {job: {"late"}}
    oban.start()
    await oban.becomes(job, "completed")


async def test_the_tables_of_the_elixir_edition_are_recognised(database: str, tmp_path: Path) -> None:
    """They have no producers, larger numbers, and arrays of errors."""
    connection = await asyncpg.connect(database)
    schema = (Path(__file__).parents[2] / "queries/engines/oban/schema.sql").read_text()
    await connection.execute(schema)
    await connection.execute("""
        DROP TABLE oban_producers, oban_leaders;
        DROP INDEX oban_jobs_discarded_at_index, oban_jobs_staging_index;
        CREATE INDEX ON oban_jobs (state, discarded_at);
        ALTER TABLE oban_jobs ALTER attempt TYPE integer, ALTER max_attempts TYPE integer, ALTER priority TYPE integer,
          ALTER errors DROP DEFAULT, ALTER errors TYPE jsonb[] USING '{}', ALTER errors SET DEFAULT '{}';
        INSERT INTO oban_jobs (state, worker, attempt, attempted_at, attempted_by, errors, discarded_at)
        SELECT s::oban_job_state, 'App.' || s, 1, timezone('UTC', now()) - interval '2 hours', ARRAY['app@host', 'x'],
               ARRAY['{"attempt": 1, "at": "2026-01-01T00:00:00Z", "error": "** (RuntimeError) oops"}'::jsonb],
               CASE s WHEN 'discarded' THEN timezone('UTC', now()) END
          FROM unnest(ARRAY['executing', 'discarded', 'scheduled']) AS s""")
    await connection.close()
    workspace = await opened(database, tmp_path, patience=PATIENCE)
    try:
        engine = workspace.engines[ENGINE]
        found = {finding.code: finding.node_id for finding in (await engine.findings.read()).findings}
        assert {"executing_long", "failing"} <= found.keys()
        (dead,) = (await engine.pages.dead()).dead_letters
        assert "oops" in dead.error
        job = found["executing_long"]
        assert outcomes_of(await do(workspace, "release", [job], label=ENGINE)) == {job: Outcome.CHANGED}
        assert [node.id for node in (await engine.pages.roots()).nodes] == [DEFAULT]
    finally:
        await workspace.close()
