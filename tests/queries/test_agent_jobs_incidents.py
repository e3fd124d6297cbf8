"""Incidents of agent_jobs: one line for each cause."""

from __future__ import annotations

import pytest

from queries.workspace import Workspace
from tests.db.agent_jobs import LABEL, AgentJobsDb
from tests.queries.incident_groups import incidents_of, the_only

DAY = 86400


async def test_a_stalled_queue_explains_its_overdue_jobs(agent_jobs_db: AgentJobsDb, mirror: Workspace) -> None:
    await agent_jobs_db.job("completed", age=DAY, ended=DAY - 20)
    for n in range(8):
        await agent_jobs_db.job(age=3600 - n)
    assert (await the_only(mirror, LABEL, "queue_stalled", action=None, symptoms={"late": 8})).remedy


async def test_job_ids_that_restarted_explain_rows_of_other_jobs(agent_jobs_db: AgentJobsDb, mirror: Workspace) -> None:
    for n in range(3):
        await agent_jobs_db.job("completed", age=9 * DAY, ended=60, number=n + 1)
    await agent_jobs_db.job("completed", age=8 * DAY, ended=8 * DAY - 20, number=900)
    await agent_jobs_db.job("completed", age=300, ended=280, number=4)
    await the_only(mirror, LABEL, "job_ids_restarted", symptoms={"completed_by_wrong_job": 3})


async def test_jobs_that_redis_lost_are_one_incident(agent_jobs_db: AgentJobsDb, mirror: Workspace) -> None:
    await agent_jobs_db.job("completed", age=9000, ended=8990, number=98)
    earlier = await agent_jobs_db.job(age=8000, number=99)
    await agent_jobs_db.job("completed", age=7000, ended=6990, number=100)
    for n in range(4):
        await agent_jobs_db.job(age=3600 - n, number=101 + n)
    await agent_jobs_db.job("completed", age=1800, ended=1790, number=1)
    shown = await incidents_of(mirror, LABEL)
    (incident,), (other,) = shown.pop("redis_emptied"), shown.pop("late")
    assert not shown
    assert (incident.n, incident.action) == (5, "mark_failed"), "with the job that shows the restart"
    assert {s.code for s in incident.symptoms} == {"late", "job_ids_restarted"}
    assert [f.node_id for f in other.findings] == [agent_jobs_db.id(earlier)], "it was lost before"


@pytest.mark.parametrize("rises", [False, True], ids=["emptied", "second queue"])
async def test_new_jobs_that_complete_old_rows_show_that_redis_was_emptied(
    agent_jobs_db: AgentJobsDb, mirror: Workspace, rises: bool
) -> None:
    """If the numbers go on rising, a second queue counts its own."""
    for n in range(3):
        await agent_jobs_db.job("completed", age=9 * DAY, ended=900 - n, number=n + 1)
    for n in range(4):
        await agent_jobs_db.job("completed", age=9000 - n, ended=8900, number=200 + n)
    await agent_jobs_db.job(age=3600, number=204)
    if rises:
        await agent_jobs_db.job("completed", age=300, ended=290, number=205)
    shown = await incidents_of(mirror, LABEL)
    if rises:
        assert shown.keys() == {"late", "completed_by_wrong_job"}
        return
    (incident,) = shown.pop("redis_emptied")
    assert not shown
    assert {s.code for s in incident.symptoms} >= {"completed_by_wrong_job", "job_ids_restarted"}


async def test_completions_that_were_not_recorded_are_one_incident(
    agent_jobs_db: AgentJobsDb, mirror: Workspace
) -> None:
    for n in range(6):
        await agent_jobs_db.job(age=3600 - n)
    await agent_jobs_db.job("completed", age=60, ended=30)
    await the_only(mirror, LABEL, "late", n=6, action="mark_failed")


async def test_an_end_ahead_of_the_clock_hides_no_stalled_queue(agent_jobs_db: AgentJobsDb, mirror: Workspace) -> None:
    await agent_jobs_db.job("completed", age=3 * DAY, ended=-7200)
    for n in range(4):
        await agent_jobs_db.job(age=3600 - n)
    assert "queue_stalled" in await incidents_of(mirror, LABEL)


async def test_ends_that_are_dated_differently_than_written(agent_jobs_db: AgentJobsDb, mirror: Workspace) -> None:
    for n in range(8):  # a script that touched old rows
        await agent_jobs_db.job("completed", age=9000 + 60 * n, ended=8990 + 60 * n, changed=100 + n)
    assert not await incidents_of(mirror, LABEL)
    for n in range(6):
        await agent_jobs_db.job("completed", age=90 - n, ended=80 - n, changed=50 - n)
    await agent_jobs_db.job(age=900)
    incident = await the_only(mirror, LABEL, "worker_clock_behind")
    assert incident.findings[0].evidence["off"] in ("00:00:29", "00:00:30")
    assert {s.code for s in incident.symptoms} == {"late"}


async def test_a_backlog_that_is_worked_on_is_minor(
    agent_jobs_db: AgentJobsDb, mirror: Workspace, table: Workspace
) -> None:
    for n in range(3):
        await agent_jobs_db.job("completed", age=4000 - n, ended=60 - n, changed=60 - n, started=70)
        await agent_jobs_db.job(age=3000 - n)
    for workspace in (mirror, table):
        incident = await the_only(workspace, LABEL, "late", n=3, severity=3, action=None)
        assert "backlog" in incident.sentence


async def test_a_job_that_executors_skip_is_no_lost_completion(agent_jobs_db: AgentJobsDb, table: Workspace) -> None:
    await agent_jobs_db.job(age=3000)
    await agent_jobs_db.job("completed", age=2000, started=1990, ended=1980, changed=1980)
    incident = await the_only(table, LABEL, "late")
    assert "the executors pass this one over" in incident.sentence
    assert (incident.severity, incident.action) == (6, None)


async def test_a_job_that_runs_as_long_as_its_agents_jobs_do(agent_jobs_db: AgentJobsDb, table: Workspace) -> None:
    for n in range(5):
        start = DAY - 6000 * n
        await agent_jobs_db.job("completed", age=start, started=start, ended=start - 3600, changed=start - 3600)
    await agent_jobs_db.job("active", age=5000, started=5000)
    assert not await incidents_of(table, LABEL)
    await agent_jobs_db.job("active", age=3 * 3700, started=3 * 3700)
    assert set(await incidents_of(table, LABEL)) == {"owner_dead"}
    other = await agent_jobs_db.agent(name="other")
    await agent_jobs_db.job("active", age=5000, started=5000, agent=other)
    ((incident,),) = (await incidents_of(table, LABEL)).values()
    assert incident.n == 2


async def test_jobs_that_are_never_continued(agent_jobs_db: AgentJobsDb, table: Workspace) -> None:
    for status, age in (("delayed", 2 * DAY), ("delayed", DAY / 2), ("paused", 8 * DAY), ("paused", 6 * DAY)):
        await agent_jobs_db.job(status, age=age)
    shown = await incidents_of(table, LABEL)
    assert {code: (i.n, i.action) for code, (i,) in shown.items()} == {
        "delayed_too_long": (1, None),
        "paused_too_long": (1, "resume"),
    }


async def test_regular_jobs_that_stopped(agent_jobs_db: AgentJobsDb, mirror: Workspace) -> None:
    for n in range(11):
        await agent_jobs_db.job("completed", age=9000 + 600 * n, ended=8990 + 600 * n)
    (incident,) = (await incidents_of(mirror, LABEL))["schedule_missed"]
    assert incident.findings[0].evidence["period"] in ("00:09:59", "00:10:00")
    await agent_jobs_db.job("completed", age=60, ended=50)
    assert not await incidents_of(mirror, LABEL)
