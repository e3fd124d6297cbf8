"""Incidents of agent_jobs: one line for each cause."""

from __future__ import annotations

from queries.workspace import Workspace
from tests.db.agent_jobs import LABEL, AgentJobsDb
from tests.queries.incident_groups import incidents_of

DAY = 86400


async def test_a_stalled_queue_explains_its_overdue_jobs(agent_jobs_db: AgentJobsDb, mirror: Workspace) -> None:
    await agent_jobs_db.job("completed", age=DAY, ended=DAY - 20)
    for n in range(8):
        await agent_jobs_db.job(age=3600 - n)
    shown = await incidents_of(mirror, LABEL)
    (incident,) = shown.pop("queue_stalled")
    assert not shown
    assert {s.code: s.n for s in incident.symptoms} == {"overdue": 8}
    assert incident.action is None
    assert incident.remedy


async def test_job_ids_that_restarted_explain_rows_of_other_jobs(agent_jobs_db: AgentJobsDb, mirror: Workspace) -> None:
    for n in range(3):
        await agent_jobs_db.job("completed", age=9 * DAY, ended=60, number=n + 1)
    await agent_jobs_db.job("completed", age=8 * DAY, ended=8 * DAY - 20, number=900)
    await agent_jobs_db.job("completed", age=300, ended=280, number=4)
    shown = await incidents_of(mirror, LABEL)
    (incident,) = shown.pop("job_ids_restarted")
    assert not shown
    assert {s.code: s.n for s in incident.symptoms} == {"completed_by_wrong_job": 3}


async def test_jobs_that_redis_lost_are_one_incident(agent_jobs_db: AgentJobsDb, mirror: Workspace) -> None:
    await agent_jobs_db.job("completed", age=9000, ended=8990, number=98)
    earlier = await agent_jobs_db.job(age=8000, number=99)
    await agent_jobs_db.job("completed", age=7000, ended=6990, number=100)
    for n in range(4):
        await agent_jobs_db.job(age=3600 - n, number=101 + n)
    await agent_jobs_db.job("completed", age=1800, ended=1790, number=1)
    shown = await incidents_of(mirror, LABEL)
    (incident,), (other,) = shown.pop("redis_emptied"), shown.pop("completion_not_recorded")
    assert not shown
    assert (incident.n, incident.action) == (5, "mark_failed"), "with the job that shows the restart"
    assert {s.code for s in incident.symptoms} == {"completion_not_recorded", "job_ids_restarted"}
    assert [f.node_id for f in other.findings] == [agent_jobs_db.id(earlier)], "it was lost before"


async def test_new_jobs_that_complete_old_rows_show_that_redis_was_emptied(
    agent_jobs_db: AgentJobsDb, mirror: Workspace
) -> None:
    for n in range(3):
        await agent_jobs_db.job("completed", age=9 * DAY, ended=900 - n, number=n + 1)
    for n in range(4):
        await agent_jobs_db.job("completed", age=9000 - n, ended=8900, number=200 + n)
    await agent_jobs_db.job(age=3600, number=204)
    shown = await incidents_of(mirror, LABEL)
    (incident,) = shown.pop("redis_emptied")
    assert not shown
    assert {s.code for s in incident.symptoms} >= {"completed_by_wrong_job", "job_ids_restarted"}


async def test_completions_that_were_not_recorded_are_one_incident(
    agent_jobs_db: AgentJobsDb, mirror: Workspace
) -> None:
    for n in range(6):
        await agent_jobs_db.job(age=3600 - n)
    await agent_jobs_db.job("completed", age=60, ended=30)
    shown = await incidents_of(mirror, LABEL)
    (incident,) = shown.pop("completion_not_recorded")
    assert not shown
    assert (incident.n, incident.action) == (6, "mark_failed")


async def test_an_end_ahead_of_the_clock_hides_no_stalled_queue(agent_jobs_db: AgentJobsDb, mirror: Workspace) -> None:
    await agent_jobs_db.job("completed", age=3 * DAY, ended=-7200)
    for n in range(4):
        await agent_jobs_db.job(age=3600 - n)
    assert "queue_stalled" in await incidents_of(mirror, LABEL)
