"""Incidents of uni2work: one line for each cause."""

from __future__ import annotations

import asyncio
import re
from uuid import UUID

import pytest

from queries.snapshot import snapshot
from queries.workspace import Workspace
from tests.command import unstick
from tests.db.uni2work import DEAD, LABEL, LIVE, OTHER, Uni2workDb
from tests.queries.builders import reader
from tests.queries.incident_groups import incidents_of, the_only
from tests.servers import PostgresServer


async def test_the_locks_of_an_instance_are_one_incident(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace
) -> None:
    for n in range(5):
        await uni2work_db.job({"job": "inject-files", "n": n}, held=9000, held_by=DEAD, age=9001, cron=n == 0)
    await uni2work_db.jobs(20, age=20, creator=LIVE)
    await the_only(
        uni2work_workspace,
        LABEL,
        "owner_dead",
        n=5,
        action="release",
        symptoms={"cron_job_waiting": 1, "overtaken": 1},
    )


async def test_instances_that_died_on_one_job_are_one_incident(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace
) -> None:
    """The last of them holds the job that ended them."""
    for n in range(6):
        await uni2work_db.job({"job": "help", "n": n}, held=30_000 - 3_000 * n, held_by=UUID(int=n + 1), age=40_000)
    last = uni2work_db.id(await uni2work_db.job({"job": "rechunk-files"}, held=9_000, held_by=UUID(int=6), age=50_000))
    await uni2work_db.jobs(20, age=20, creator=LIVE)
    (incident,) = (await incidents_of(uni2work_workspace, LABEL)).pop("owner_dead")
    assert (incident.n, len(incident.findings), incident.action) == (7, 7, "release")
    assert incident.sentence.startswith("7 jobs of 6 workers, which may have ended for one reason.")
    assert f"it may be the newest, {last.partition('/')[2]}: look at it first, and release it last" in incident.sentence
    await uni2work_db.sql("DELETE FROM queued_job WHERE lock_instance > $1", UUID(int=2))
    assert [each.n for each in (await incidents_of(uni2work_workspace, LABEL))["owner_dead"]] == [1, 1]


async def test_missing_workers_explain_what_waits(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    await uni2work_db.job({"job": "prune-invitations"}, age=7200, cron=True)
    await uni2work_db.jobs(8, age=700)
    await uni2work_db.jobs(2, age=600)
    assert (
        await the_only(
            uni2work_workspace,
            LABEL,
            "no_workers",
            action=None,
            symptoms={"cron_job_waiting": 1, "overtaken": 1, "duplicate": 2},
        )
    ).remedy


async def test_skipped_jobs_of_a_kind_are_one_incident(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    await uni2work_db.job({"job": "x"}, held=10, held_by=LIVE)
    for n in range(4):
        await uni2work_db.job({"job": "help-request", "n": n}, age=300)
        await uni2work_db.job({"job": "rechunk-files", "n": n}, age=300)
    await uni2work_db.bucket("rechunk-files", -5)
    shown = await incidents_of(uni2work_workspace, LABEL)
    (skipped,) = shown.pop("late")
    (throttled,) = shown.pop("throttled")
    assert not shown
    assert (skipped.n, skipped.action) == (4, None)
    assert (throttled.n, throttled.action) == (5, "refill")


async def test_a_few_late_jobs_without_any_sign_of_workers(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace
) -> None:
    """Cancelling is not suggested: nothing shows that the jobs are at fault."""
    for n in range(3):
        await uni2work_db.job({"job": "help-request", "n": n}, age=300)
    late = await the_only(uni2work_workspace, LABEL, "late", n=3, action=None)
    assert "Nothing in the database shows that a worker took any job since then" in late.sentence
    await uni2work_db.cron({"job": "prune-invitations"}, age=60)
    assert "Workers take other jobs" in (await the_only(uni2work_workspace, LABEL, "late", n=3)).sentence


@pytest.mark.parametrize("jobs", [3, 8, 12])
async def test_locks_that_come_and_go_rename_nothing(
    server: PostgresServer, uni2work_db: Uni2workDb, uni2work_workspace: Workspace, jobs: int
) -> None:
    """An instance takes one job after the other. No cron entry shows it."""
    for n in range(jobs):
        await uni2work_db.job({"job": "send-lecturer-digest", "n": n}, age=7200)
    take = (
        f"UPDATE queued_job SET lock_time = now(), lock_instance = '{LIVE}' WHERE id = (SELECT min(id) FROM queued_job)"
    )
    end, fail = "DELETE FROM queued_job WHERE lock_time IS NOT NULL", "UPDATE queued_job SET {} = NULL, {} = NULL"
    shown = []
    for statement in (take, end, take, fail.format("lock_time", "lock_instance")) * 2:
        server.sql(statement, uni2work_workspace.database.text)  # its counters are reported when the session ends
        if statement == end:
            await uni2work_db.job({"job": "send-lecturer-digest", "n": jobs + len(shown)}, age=7200)
        now = await snapshot(uni2work_workspace, [reader(uni2work_workspace, LABEL)], once=False)
        shown.append({each.key for each in now.incidents if each.engine == LABEL})
    assert shown == [shown[0]] * len(shown)
    assert "uni2work/no_workers" not in shown[0]


@pytest.mark.parametrize("words", [("stuck",), ("stuck", "--sample", "2.5"), ("metrics",)])
@pytest.mark.parametrize("works", [True, False])
async def test_one_command_between_two_jobs_waits_for_what_workers_delete(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace, words: tuple[str, ...], works: bool
) -> None:
    await uni2work_db.jobs(300, age=7200)

    async def work() -> None:
        while True:
            await uni2work_db.sql(f"DELETE FROM queued_job WHERE {works} AND id = (SELECT min(id) FROM queued_job)")
            await asyncio.sleep(0.1)

    working = asyncio.create_task(work())
    answer = await asyncio.to_thread(unstick, *words, dsn=uni2work_workspace.database.text)
    working.cancel()
    assert answer.code == 0
    said = re.sub(r".* 0\n", "", answer.out).replace("_", " ")
    assert ("no workers" in said, "long queue" in said) == (not works, works)


async def test_jobs_that_were_queued_later_and_are_gone(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    await uni2work_db.job({"job": "help-request"}, age=300)
    await uni2work_db.jobs(3, age=60)
    assert "The cause is unknown" in (await the_only(uni2work_workspace, LABEL, "late")).sentence
    await uni2work_db.sql("DELETE FROM queued_job WHERE id = (SELECT min(id) + 1 FROM queued_job)")
    assert "Workers take other jobs" in (await the_only(uni2work_workspace, LABEL, "late")).sentence


async def test_times_ahead_of_the_clock(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    job = await uni2work_db.job(age=-7200, creator=OTHER)
    held = await uni2work_db.job({"job": "x"}, age=10, held=-7200, held_by=OTHER)
    entry = await uni2work_db.cron({"job": "prune-invitations"}, age=-7200, instance=OTHER)
    bucket = await uni2work_db.bucket("inject-files", 7, age=-7200)
    await uni2work_db.cron({"job": "y"}, age=-20)
    shown = await incidents_of(uni2work_workspace, LABEL)
    one, other = sorted(shown.pop("time_ahead"), key=lambda i: i.n)
    assert not shown
    assert [f.node_id for f in one.findings] == [bucket]
    ids = {uni2work_db.id(job), uni2work_db.id(held), uni2work_db.id(entry, "cron")}
    assert {f.node_id for f in other.findings} == ids
    assert [f.action for f in other.findings if f.node_id == uni2work_db.id(entry, "cron")] == ["forget"]
    for node_id in (*ids, bucket):
        again = await reader(uni2work_workspace, LABEL).findings.read([node_id])
        assert [(f.node_id, f.code) for f in again.findings] == [(node_id, "time_ahead")]


async def test_a_job_locked_before_it_was_created(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    await uni2work_db.job({"job": "x"}, age=10, held=200, held_by=LIVE)
    await uni2work_db.job({"job": "y"}, age=170, held=200, held_by=LIVE)
    await the_only(uni2work_workspace, LABEL, "impossible_times", n=1)


async def test_a_schedule_that_stopped(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    for n in range(8):
        await uni2work_db.cron({"job": "synchronise-ldap", "iteration": n}, age=(n + 3) * 3600)
        await uni2work_db.cron({"job": "prune-files", "iteration": n}, age=(n + 1.5) * 3600)
        await uni2work_db.cron({"job": "sheet-inactive", "sheet": n}, age=(n + 2) ** 2 * 3600)
    incident = await the_only(uni2work_workspace, LABEL, "schedule_missed")
    assert incident.findings[0].evidence["period"] == "01:00:00"
    assert "synchronise-ldap" in incident.sentence
