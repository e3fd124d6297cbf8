"""Findings of eternaltwin about times, skipped tasks and deadlocks."""

from __future__ import annotations

from pathlib import Path

import pytest

from queries.contract import detect
from queries.workspace import Workspace
from tests.db.eternaltwin import LABEL, EternaltwinDb
from tests.queries.builders import findings_of, opened, reader
from tests.queries.incident_groups import incidents_of, the_only
from tests.servers import both_versions

HOUR = 3600
RUNNER = f"{LABEL}/runner:runner"


# Times


@both_versions
async def test_a_runner_whose_clock_is_ahead(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    for n in range(4):
        await eternaltwin_db.task(polled=n - 2 * HOUR)
    (finding,) = (await findings_of(workspace))["runner_clock_ahead"]
    assert (finding.node_id, finding.action) == (RUNNER, None)
    incident = await the_only(workspace, LABEL, "runner_clock_ahead")
    assert {s.code for s in incident.symptoms} == {"runner_silent", "impossible_times"}


async def test_one_poll_ahead_is_not_the_runners_clock(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    odd = await eternaltwin_db.task(polled=-2 * HOUR)
    for n in range(4):
        await eternaltwin_db.task(polled=n)
    codes = await findings_of(workspace)
    assert set(codes) == {"impossible_times"}
    assert [f.node_id for f in codes["impossible_times"]] == [eternaltwin_db.id(odd)]


@both_versions
async def test_times_that_cannot_be(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    await eternaltwin_db.task(polled=1)
    created = await eternaltwin_db.task(polled=None, revision=0, age=-HOUR)
    negative = await eternaltwin_db.task(polled=1, cpu=-3, poll=-2)
    await eternaltwin_db.task(polled=None, revision=0, age=-60)  # clocks differ by so much
    codes = await findings_of(workspace)
    ids = {code: {each.node_id for each in findings} for code, findings in codes.items()}
    assert ids == {
        "impossible_times": {eternaltwin_db.id(negative)},
        "created_ahead": {eternaltwin_db.id(created)},
    }
    every = {eternaltwin_db.id(created), eternaltwin_db.id(negative)}
    assert set(await findings_of(workspace, ids=every)) == {"impossible_times", "created_ahead"}


@both_versions
async def test_tasks_created_ahead_explain_a_runner_that_polls_none(
    eternaltwin_db: EternaltwinDb, workspace: Workspace
) -> None:
    """The table refuses each poll of them, which ends the runner's round."""
    await eternaltwin_db.task(polled=None, revision=0, age=-HOUR)
    for n in range(4):
        await eternaltwin_db.task(polled=2 * HOUR + n, age=3 * HOUR)
    incident = await the_only(workspace, LABEL, "created_ahead")
    assert {each.code for each in incident.symptoms} == {"runner_silent"}
    assert "refuses each poll" in incident.sentence


@both_versions
async def test_a_timer_far_beyond_those_of_its_kind(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    await eternaltwin_db.task()
    far = await eternaltwin_db.task(status="Blocked", timer=3e9)
    for n in range(5):
        await eternaltwin_db.task(status="Blocked", timer=60 + n)
        await eternaltwin_db.task(kind="Yearly", status="Blocked", timer=(20 + n) * 86400)
    await eternaltwin_db.task(kind="Yearly", status="Blocked", timer=300 * 86400)
    twice = await eternaltwin_db.task(status="Blocked", timer=90)
    await eternaltwin_db.timers([twice], 3e9)  # it has an earlier timer
    endless = await eternaltwin_db.task(kind="Other", status="Blocked")
    await eternaltwin_db.sql("INSERT INTO task_timer VALUES ('infinity', $1)", endless)
    codes = await findings_of(workspace)
    assert set(codes) == {"due_far_ahead"}
    assert {f.node_id for f in codes["due_far_ahead"]} == {eternaltwin_db.id(far), eternaltwin_db.id(endless)}
    assert {f.action for f in codes["due_far_ahead"]} == {"wake"}


# Due and skipped


async def ticks(eternaltwin_db: EternaltwinDb) -> None:
    """Write tasks that were polled in three ticks and did not change since."""
    for age in (30, 20, 10):
        await eternaltwin_db.task(kind="Sleep", status="Blocked", timer=HOUR, age=2 * age, polled=age)


@both_versions
async def test_tasks_that_the_runner_no_longer_polls(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    lone = await eternaltwin_db.task(kind="SendEmail", polled=HOUR, age=2 * HOUR)
    unknown = [await eternaltwin_db.task(kind="Gone", polled=HOUR + n, age=2 * HOUR) for n in range(3)]
    await ticks(eternaltwin_db)
    await eternaltwin_db.task(kind="SendEmail", polled=1)
    codes = await findings_of(workspace)
    assert set(codes) == {"late"}
    looks = {f.node_id: f.evidence["why"] for f in codes["late"]}
    assert set(looks) == {eternaltwin_db.id(task) for task in (lone, *unknown)}
    assert looks[eternaltwin_db.id(lone)].startswith("Other tasks of its kind and version are polled")
    assert looks[eternaltwin_db.id(unknown[0])].startswith("No task of its kind is polled")
    assert len((await incidents_of(workspace, LABEL))["late"]) == 2


@both_versions
async def test_a_task_that_was_just_woken_is_not_skipped(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    woken = await eternaltwin_db.task(status="Blocked", polled=HOUR, age=2 * HOUR)
    await ticks(eternaltwin_db)
    await eternaltwin_db.sql("UPDATE task SET status = 'Available' WHERE task_id = $1", woken)
    await eternaltwin_db.task(polled=1)
    assert await findings_of(workspace) == {}
    await ticks(eternaltwin_db)
    assert set(await findings_of(workspace)) == {"late"}, "three ticks later it is"


async def test_a_silent_runner_skips_no_single_task(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    await eternaltwin_db.task(polled=HOUR, age=2 * HOUR)
    for age in (70, 80, 90):
        await eternaltwin_db.task(kind="Sleep", status="Blocked", timer=HOUR, age=HOUR, polled=age)
    assert set(await findings_of(workspace)) == {"runner_silent"}


async def test_in_a_large_table_the_tasks_of_timers_show_the_ticks(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detect, "SMALL_TABLE_BLOCKS", -1)
    skipped = await eternaltwin_db.task(polled=HOUR, age=2 * HOUR)
    await ticks(eternaltwin_db)
    await eternaltwin_db.task(polled=1)
    workspace = await opened(eternaltwin, tmp_path)
    findings = (await reader(workspace).findings.read()).findings
    assert [(f.code, f.node_id) for f in findings] == [("late", eternaltwin_db.id(skipped))]
    await workspace.close()


@both_versions
async def test_overdue_timers_show_that_the_runner_is_down(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    for n in range(3):
        await eternaltwin_db.task(status="Blocked", age=HOUR, polled=700 + n, timer=-300)
    await eternaltwin_db.task(status="Blocked", age=HOUR, polled=700, timer=60)
    await the_only(workspace, LABEL, "timers_not_taken", action=None, symptoms={"overdue_timer": 3})
    await eternaltwin_db.task(status="Blocked", age=HOUR, polled=5, timer=90)
    assert set(await incidents_of(workspace, LABEL)) == {"overdue_timer"}


async def test_a_runner_whose_clock_is_behind(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    task = await eternaltwin_db.task(polled=7000, age=9000)
    for n in range(4):
        await reader(workspace).samples.take()
        await eternaltwin_db.sql(
            "UPDATE task SET polled_at = row(now() - interval '1 hour', $2::int4)::job_tick, revision = revision + 1"
            " WHERE task_id = $1", task, n,
        )  # fmt: skip
    incident = await the_only(workspace, LABEL, "polls_dated_back")
    assert {s.code for s in incident.symptoms} == {"runner_silent"}


WRITE_POLL = """
WITH polled AS (UPDATE task SET polled_at = row(now() - interval '1 hour', 1)::job_tick, status = 'Blocked'
                 WHERE task_id = ANY ($1::uuid[]) RETURNING task_id)
INSERT INTO task_timer SELECT now() - interval '59 minutes', task_id FROM polled
"""


@both_versions
async def test_polls_that_sleep_show_that_the_clock_is_behind(
    eternaltwin_db: EternaltwinDb, workspace: Workspace
) -> None:
    """The checkpoint proves that the polls were written after it."""
    await eternaltwin_db.sql("CHECKPOINT")
    tasks = await eternaltwin_db.tasks(await eternaltwin_db.jobs(6, age=9000), polled=8000, age=9000)
    await eternaltwin_db.sql(WRITE_POLL, tasks[:4])
    assert "runner_clock_behind" not in await findings_of(workspace), "one transaction is no poll of four tasks"
    await eternaltwin_db.sql("DELETE FROM task_timer")
    for task in tasks:
        await eternaltwin_db.sql(WRITE_POLL, [task])
    await the_only(workspace, LABEL, "runner_clock_behind", symptoms={"timers_not_taken": 1, "overdue_timer": 6})


# Nothing can continue


@both_versions
async def test_a_job_whose_tasks_all_wait(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    await eternaltwin_db.task()
    job, other, timed = [await eternaltwin_db.job() for _ in range(3)]
    root = await eternaltwin_db.task(job, kind="Root", status="Blocked", age=2 * HOUR, polled=700)
    leaf = await eternaltwin_db.task(job, kind="Leaf", status="Blocked", age=HOUR, polled=600)
    await eternaltwin_db.task(job, kind="Leaf", status="Complete", age=HOUR, polled=800)
    await eternaltwin_db.task(other, status="Blocked", age=2 * HOUR, polled=700)
    await eternaltwin_db.task(other, status="Available", age=HOUR)
    await eternaltwin_db.task(timed, status="Blocked", age=2 * HOUR, polled=700)
    await eternaltwin_db.task(timed, status="Blocked", age=HOUR, polled=700, timer=60)
    codes = await findings_of(workspace)
    assert set(codes) == {"deadlocked"}
    (finding,) = codes["deadlocked"]
    assert (finding.node_id, finding.action, finding.arguments) == (
        eternaltwin_db.id(leaf),
        "wake",
        {"untimed": "true"},
    )
    assert set(await findings_of(workspace, ids=[eternaltwin_db.id(root)])) == {"deadlocked"}


# Schedules


async def jobs_of(eternaltwin_db: EternaltwinDb, kind: str, ages: list[float]) -> None:
    for age in ages:
        job = await eternaltwin_db.job(age=age)
        await eternaltwin_db.task(job, kind=kind, status="Complete", age=age, polled=age - 5)


@both_versions
async def test_a_kind_that_was_created_regularly_and_is_no_longer(
    eternaltwin_db: EternaltwinDb, workspace: Workspace
) -> None:
    await eternaltwin_db.task()
    await jobs_of(eternaltwin_db, "Stopped", [(n + 5) * HOUR + (n % 3) * 60 for n in range(12)])
    await jobs_of(eternaltwin_db, "Hourly", [(n + 0.5) * HOUR for n in range(12)])
    await jobs_of(eternaltwin_db, "Sometimes", [(n * n + 5) * HOUR for n in range(12)])
    await jobs_of(eternaltwin_db, "Retired", [(n + 60) * HOUR for n in range(12)])
    await jobs_of(eternaltwin_db, "Few", [(n + 5) * HOUR for n in range(5)])
    codes = await findings_of(workspace)
    assert set(codes) == {"schedule_missed"}
    assert [f.evidence["kind"] for f in codes["schedule_missed"]] == ["Stopped"]
