"""Incidents of uni2work: one line for each cause."""

from __future__ import annotations

from queries.workspace import Workspace
from tests.db.uni2work import DEAD, LABEL, LIVE, Uni2workDb
from tests.queries.incident_groups import incidents_of


async def test_the_locks_of_an_instance_are_one_incident(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace
) -> None:
    for n in range(5):
        await uni2work_db.job({"job": "inject-files", "n": n}, held=9000, held_by=DEAD, age=9001, cron=n == 0)
    await uni2work_db.jobs(20, age=20, creator=LIVE)
    shown = await incidents_of(uni2work_workspace, LABEL)
    (incident,) = shown.pop("orphaned_lock")
    assert not shown
    assert (incident.n, incident.action) == (5, "release")
    assert {s.code: s.n for s in incident.symptoms} == {"cron_job_waiting": 1, "overtaken": 1}


async def test_missing_workers_explain_what_waits(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    await uni2work_db.job({"job": "prune-invitations"}, age=7200, cron=True)
    await uni2work_db.jobs(8, age=700)
    await uni2work_db.jobs(2, age=600)
    shown = await incidents_of(uni2work_workspace, LABEL)
    (incident,) = shown.pop("no_workers")
    assert not shown
    assert (incident.action, bool(incident.remedy)) == (None, True)
    assert {s.code: s.n for s in incident.symptoms} == {"cron_job_waiting": 1, "overtaken": 1, "duplicate": 2}


async def test_skipped_jobs_of_a_kind_are_one_incident(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    await uni2work_db.job({"job": "x"}, held=10, held_by=LIVE)
    for n in range(4):
        await uni2work_db.job({"job": "help-request", "n": n}, age=300)
        await uni2work_db.job({"job": "rechunk-files", "n": n}, age=300)
    await uni2work_db.bucket("rechunk-files", -5)
    shown = await incidents_of(uni2work_workspace, LABEL)
    (skipped,) = shown.pop("skipped_by_workers")
    (throttled,) = shown.pop("throttled")
    assert not shown
    assert (skipped.n, skipped.action) == (4, "cancel")
    assert (throttled.n, throttled.action) == (5, "refill")
