"""Incidents of eternaltwin: one line for each cause."""

from __future__ import annotations

from pathlib import Path

from queries.db.errors import attempted
from queries.workspace import Workspace
from tests.db.eternaltwin import LABEL, EternaltwinDb
from tests.queries.builders import opened, reader
from tests.queries.incident_groups import incidents_of, the_only


async def test_a_silent_runner_explains_what_is_late(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    for _ in range(5):
        await eternaltwin_db.task(polled=None, revision=0, age=900)
        await eternaltwin_db.task(status="Blocked", polled=700, age=900, timer=-700)
        await eternaltwin_db.task(polled=700, age=900)
    assert (
        await the_only(
            workspace,
            LABEL,
            "runner_silent",
            action=None,
            symptoms={"late": 5, "overdue_timer": 5, "timers_not_taken": 1},
        )
    ).remedy


async def test_a_silent_runner_keeps_its_key_when_samples_come_and_go(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.task(polled=700, age=900)
    workspace = await opened(eternaltwin, tmp_path, overrides={LABEL: {"runner_silent": 1e-6}})
    symptoms = []
    for _ in range(3):
        shown = await incidents_of(workspace, LABEL)
        symptoms.append({each.code for incident in shown.pop("runner_silent") for each in incident.symptoms})
        assert "runner_stalled" not in shown
        await reader(workspace).samples.take()
    assert symptoms == [set(), set(), {"runner_stalled"}]
    await eternaltwin_db.sql("ALTER TABLE task RENAME TO gone")
    assert await attempted(reader(workspace).samples.take())
    assert None not in {finding.read_at for finding in reader(workspace).findings.sampled()}
    await workspace.close()


async def test_a_version_that_no_runner_supports_explains_its_tasks(
    eternaltwin_db: EternaltwinDb, workspace: Workspace
) -> None:
    await eternaltwin_db.task(kind="SendEmail", version=2, polled=1)
    for _ in range(6):
        await eternaltwin_db.task(kind="SendEmail", version=1, polled=900, age=7200)
        await eternaltwin_db.task(kind="SendEmail", version=1, polled=None, age=7200)
    await eternaltwin_db.task(kind="Sleep", polled=None, age=7200)
    for kind in ("SendEmail", "Sleep"):
        await eternaltwin_db.task(kind=kind, version=1, status="Blocked", polled=900, age=7200, timer=-700)
    shown = await incidents_of(workspace, LABEL)
    incident, other = sorted(shown.pop("late"), key=lambda each: -each.n)
    assert (len(incident.findings), incident.action) == (12, None)
    assert "Tasks of v2 are polled: the runner may no longer support v1" in incident.sentence
    assert [s.code for s in incident.symptoms] == ["overdue_timer"]
    assert other.n == 1
    assert shown.keys() == {"overdue_timer"}, "a timer of the other kind has a cause of its own"


async def test_blocked_tasks_of_finished_jobs_are_one_incident(
    eternaltwin_db: EternaltwinDb, workspace: Workspace
) -> None:
    for _ in range(4):
        job = await eternaltwin_db.job()
        await eternaltwin_db.task(job, kind="Archive", status="Complete", age=7200)
        await eternaltwin_db.task(job, kind="Page", status="Blocked", age=3600, polled=3000)
    await eternaltwin_db.task()
    await the_only(workspace, LABEL, "orphaned_task", n=4, action=None)


async def test_tasks_that_keep_the_runner_busy_explain_those_it_does_not_reach(
    eternaltwin_db: EternaltwinDb, workspace: Workspace
) -> None:
    for age in (1, 3):
        await eternaltwin_db.tasks(await eternaltwin_db.jobs(25), kind="Busy", polled=age, age=9000)
    for kind in ("One", "Other"):
        await eternaltwin_db.tasks(await eternaltwin_db.jobs(3), kind=kind, polled=None, age=9000)
    (incident,) = (await incidents_of(workspace, LABEL))["late"]
    assert incident.n == 6
    assert "50 other tasks again and again, most of them of Busy v1" in incident.sentence


async def test_a_poll_that_computes_for_long_explains_a_silent_runner(
    eternaltwin_db: EternaltwinDb, workspace: Workspace
) -> None:
    await eternaltwin_db.task(kind="Slow", polled=200, age=9000, revision=10, cpu=1000, poll=1001)
    await eternaltwin_db.task(polled=90, age=9000)
    incident = await the_only(workspace, LABEL, "compute_bound")
    assert [s.code for s in incident.symptoms] == ["runner_silent"]
    await eternaltwin_db.sql("UPDATE task SET polled_at = row(now() - interval '1 hour', 1)::job_tick")
    assert set(await incidents_of(workspace, LABEL)) == {"runner_silent", "compute_bound"}
