"""Advice that a row of the same database refutes is not given."""

from __future__ import annotations

from pathlib import Path

import pytest

from queries import snapshot
from queries.records.finding import Incident
from tests.db.estuary import EstuaryDb
from tests.db.eternaltwin import EternaltwinDb
from tests.db.uni2work import DEAD, LIVE, Uni2workDb
from tests.queries.builders import dry_run_of, opened, outcomes_of
from tests.servers import PostgresServer

YEAR = 365.0 * 86400
WORKER = "5f0c7c1e-0000-4000-8000-000000000001"
GRAPHILE = """
INSERT INTO _private_tasks (identifier) VALUES ('mail');
INSERT INTO _private_jobs (task_id, attempts, max_attempts, locked_at, locked_by)
SELECT 1, tried, 25, now() - interval '3 hours', 'worker-dead' FROM unnest('{%s}'::int[]) AS tried
"""
FREED = """
INSERT INTO _private_tasks (identifier) VALUES ('mail'), ('sync');
INSERT INTO _private_job_queues (queue_name) VALUES ('q');
INSERT INTO _private_jobs (task_id, job_queue_id, run_at)
SELECT t, CASE t WHEN 1 THEN 1 END, now() - interval '2 hours' * (3 - t) FROM generate_series(1, 2) AS t
"""
LONELY = """
INSERT INTO _private_tasks (identifier) VALUES ('mail');
INSERT INTO _private_jobs (task_id, run_at, updated_at) VALUES (1, now() - interval '1 hour', now() - interval '1 hour')
"""
OBAN = """
INSERT INTO oban_producers (uuid, node, queue, started_at, updated_at)
SELECT '6f1c1a3e-0000-4000-8000-000000000009', 'web@1', 'mail', now() - interval '1 day', now() - interval '30 minutes';
INSERT INTO oban_jobs (state, queue, worker, args, attempt, max_attempts, attempted_at, attempted_by)
SELECT 'executing', 'mail', 'Mailer', '{}', tried, 20, timezone('UTC', now()) - interval '40 minutes',
       ARRAY['web@1', '6f1c1a3e-0000-4000-8000-000000000009'] FROM unnest('{%s}'::int[]) AS tried
"""
RETRYABLE = """
INSERT INTO oban_jobs (state, queue, worker, attempt, max_attempts, args, errors, scheduled_at, attempted_at)
SELECT 'retryable', 'default', 'App.Import', %s, 20, '{}',
       jsonb_build_array(jsonb_build_object('error', 'no data for ' || n)),
       timezone('UTC', now()) + interval '%s', timezone('UTC', now()) - interval '1 minute'
  FROM generate_series(1, 15) AS n
"""
PICKED = f"""
INSERT INTO pgqueuer (priority, entrypoint, status, queue_manager_id, heartbeat)
SELECT 0, 'mail', 'picked', '{WORKER}', now() - age FROM unnest('{{20 minutes,%s}}'::interval[]) AS age
"""
SOLID = """
INSERT INTO solid_queue_processes (kind, last_heartbeat_at, pid, name, created_at, metadata)
SELECT kind, timezone('UTC', now()), 7, lower(kind), now(), '{"queues": "*"}' FROM unnest('{%s}'::text[]) AS kind;
INSERT INTO solid_queue_recurring_tasks (key, schedule, created_at, updated_at)
VALUES ('nightly', '* * * * *', now(), now());
INSERT INTO solid_queue_jobs (queue_name, class_name, created_at, updated_at)
SELECT 'mail', 'Mail', now(), now() FROM generate_series(1, 9);
INSERT INTO solid_queue_recurring_executions (job_id, task_key, run_at, created_at)
SELECT id, 'nightly', timezone('UTC', now()) - id * interval '1 hour', now() FROM generate_series(3, 6) AS id;
INSERT INTO solid_queue_scheduled_executions (job_id, queue_name, scheduled_at, created_at)
VALUES (7, 'mail', timezone('UTC', now()) - interval '1 hour', now());
INSERT INTO solid_queue_ready_executions (job_id, queue_name, created_at)
SELECT id, 'mail', timezone('UTC', now()) - interval '1 hour' FROM generate_series(8, 9) AS id
"""


async def incidents_of(dsn: str, tmp_path: Path) -> dict[str, Incident]:
    """Return the incidents of the only engine by code."""
    workspace = await opened(dsn, tmp_path)
    (reader,) = workspace.engines.values()
    found = (await reader.findings.read()).findings
    await workspace.close()
    return {each.code: each for each in snapshot.incidents(workspace, found)}


@pytest.mark.parametrize(("tried", "actions"), [("20,20", ("mark_failed", "cancel")), ("1,20", ("release", "release"))])
async def test_a_job_that_had_its_last_attempt_is_not_released(
    server: PostgresServer, tmp_path: Path, tried: str, actions: tuple[str, str]
) -> None:
    for engine, insert, action in zip(("graphile_worker", "oban"), (GRAPHILE, OBAN), actions, strict=True):
        dsn = server.fresh(engine)
        server.sql(insert.replace("25", "20") % tried, dsn)
        (incident,) = (await incidents_of(dsn, tmp_path)).values()
        assert incident.action == action
        ids = [finding.node_id for finding in incident.findings]
        workspace = await opened(dsn, tmp_path)
        run = dict(sorted(outcomes_of(await dry_run_of(workspace, "release", ids, {}, engine)).items()))
        assert [*run.values()] == ["changed" if each == "1" else "refused" for each in tried.split(",")]
        again = outcomes_of(await dry_run_of(workspace, "release", ids, {"again": True}, engine))
        assert set(again.values()) == {"changed"}
        await workspace.close()


@pytest.mark.parametrize(
    ("engine", "insert", "code", "said", "severity"),
    [
        ("pgqueuer", PICKED % "1 second", "no_heartbeat_for_the_job", "lives, because it beats for other jobs", 6),
        ("pgqueuer", PICKED % "1 hour", "owner_dead", "gives no sign of life", 9),
        ("graphile_worker", LONELY, "late", "No worker lives.", 8),
        ("oban", RETRYABLE % (1, "1 hour"), "failing_alike", "no data for", 3),
        ("oban", RETRYABLE % (5, "1 hour"), "failing_alike", "no data for", 6),
        ("oban", RETRYABLE % (1, "-1 hour"), "late", "stager", 6),
    ],
)
async def test_what_a_row_refutes_is_not_said(
    server: PostgresServer, tmp_path: Path, engine: str, insert: str, code: str, said: str, severity: int
) -> None:
    dsn = server.fresh(engine)
    server.sql(insert, dsn)
    (incident,) = (await incidents_of(dsn, tmp_path)).values()
    assert (incident.code, incident.severity) == (code, severity)
    assert said in incident.sentence


@pytest.mark.parametrize("alive", ["Worker,Scheduler,Dispatcher", ""])
async def test_a_process_that_beats_is_not_to_be_started(server: PostgresServer, tmp_path: Path, alive: str) -> None:
    dsn = server.fresh("solid_queue")
    server.sql(SOLID % alive, dsn)
    incidents = await incidents_of(dsn, tmp_path)
    for code, kind in (("schedule_missed", "scheduler"), ("late", "dispatcher")):
        todo = f"Read the log of the {kind}" if alive else f"Start a {kind}: bin/jobs"
        assert incidents[code].remedy.startswith(todo)
        assert f"{'A' if alive else 'No'} {kind} is alive" in incidents[code].sentence
    assert ("starved" in incidents) == bool(alive)
    assert not alive or "No job is claimed, so they are not busy" in incidents["starved"].sentence


async def test_after_a_queue_was_freed_what_was_taken_before_proves_nothing(
    server: PostgresServer, tmp_path: Path
) -> None:
    dsn = server.fresh("graphile_worker")
    take = "UPDATE _private_jobs SET locked_at = now(), locked_by = 'worker-1' WHERE task_id = 2"
    free = "UPDATE _private_job_queues SET locked_at = NULL"  # as release does
    server.sql(FREED, dsn)
    for statement, served in ((take, False), (free, True), (take, False)):
        server.sql(statement, dsn)
        assert ("not_served" not in await incidents_of(dsn, tmp_path)) == served


async def test_just_after_a_start_unregistered_producers_are_not_judged(server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh("oban")
    server.sql(f"{OBAN % '1,2'}; DELETE FROM oban_producers", dsn)
    workspace = await opened(dsn, tmp_path, overrides={"oban": {"alive": YEAR}})  # as of a server that just started
    read = await workspace.engines["oban"].findings.read()
    (skipped,) = read.skipped_findings
    assert (read.findings, skipped.code) == ((), "owner_dead")
    assert "the server started" in skipped.why
    await workspace.close()


@pytest.mark.parametrize(("due", "action", "severity"), [(0.92 * YEAR, None, 3), (68 * YEAR, "wake", 5)])
async def test_a_far_sleeper_of_a_calendar_is_not_woken(
    server: PostgresServer, tmp_path: Path, due: float, action: str | None, severity: int
) -> None:
    eternaltwin, estuary = server.fresh("eternaltwin"), server.fresh("estuary")
    eternaltwin_db, estuary_db = await EternaltwinDb.open(eternaltwin), await EstuaryDb.open(estuary)
    for seconds in (3600, due):  # others of the kind are due soon
        await eternaltwin_db.task(status="Blocked", timer=seconds)
        await estuary_db.task(2, state={}, wake=seconds)
    await eternaltwin_db.connection.close()
    await estuary_db.connection.close()
    for dsn in (eternaltwin, estuary):
        incident = (await incidents_of(dsn, tmp_path))["due_far_ahead"]
        assert (incident.action, incident.severity) == (action, severity)
        assert ("overflowed" in incident.sentence) == (action is not None)


async def test_impossible_times_of_locks_are_no_ages(server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh("uni2work")
    uni2work_db = await Uni2workDb.open(dsn)
    for n in range(6):
        await uni2work_db.job({"job": "prune", "n": n}, age=60, held_by=LIVE if n % 2 else DEAD, held=2280)
    await uni2work_db.job(age=1, creator=LIVE)
    incidents = await incidents_of(dsn, tmp_path)
    assert {*incidents} == {"impossible_times"}
    assert incidents["impossible_times"].remedy.startswith("Set the clocks of both instances. Do not release a lock")
    await uni2work_db.sql("UPDATE queued_job SET creation_time = now() - interval '1 hour' WHERE lock_time IS NOT NULL")
    assert {*await incidents_of(dsn, tmp_path)} >= {"long_lock", "owner_dead"}
    await uni2work_db.sql("UPDATE queued_job SET lock_time = 'infinity' WHERE lock_time IS NOT NULL")
    waiting = "SELECT content, creation_instance, now() - interval '45 minutes', false FROM queued_job"
    columns = "content, creation_instance, creation_time, write_last_exec"
    await uni2work_db.sql(f"INSERT INTO queued_job ({columns}) {waiting}, generate_series(1, 60)")
    assert "long_queue" not in await incidents_of(dsn, tmp_path), "a lock at infinity shows no worker"
    await uni2work_db.connection.close()


async def test_signs_of_life_on_a_standby_are_as_old_as_its_data(own_server: PostgresServer, tmp_path: Path) -> None:
    dsn = own_server.fresh("graphile_worker")
    own_server.sql(GRAPHILE % "1,2", dsn)
    own_server.standby()
    workspace = await opened(dsn, tmp_path)
    shown = await snapshot.snapshot(workspace, list(workspace.engines.values()))
    assert [incident.code for incident in shown.incidents] == ["standby"]
    assert [symptom.code for symptom in shown.incidents[0].symptoms] == ["owner_dead"]
    await workspace.close()
