"""Actions of agent_jobs in both profiles: rows, refusals, the table's CHECKs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from queries.change import loop
from queries.records.action import Outcome
from queries.records.finding import Support
from queries.workspace import Workspace
from tests.db.agent_jobs import LABEL, STATUSES, AgentJobsDb
from tests.proof import one_in
from tests.queries.builders import OPERATOR, do, dry_run_of, outcomes_of, why
from tests.servers import both_versions
from tests.simulators.agent_jobs.executor import Poller

CHANGED, REFUSED, STALE = Outcome.CHANGED, Outcome.REFUSED, Outcome.STALE
ENGINE = Path(__file__).parents[2] / "queries" / "engines" / "agent_jobs"

# action -> its statuses, and the status after it
TABLE = {
    "wake": (("delayed",), "pending"),
    "release": (("active",), "pending"),
    "cancel": (("pending", "delayed", "paused"), "failed"),
    "retry": (("failed",), "pending"),
    "restart": (("completed", "failed"), "pending"),
    "pause": (("pending", "delayed"), "paused"),
    "resume": (("paused",), "pending"),
    "delete": (("completed", "failed"), None),
}
MIRROR = {
    "mark_failed": (("pending", "active", "delayed", "paused"), "failed"),
    "delete": (("completed", "failed"), None),
}
CASES = [(p, v, s) for p, actions in (("mirror", MIRROR), ("table", TABLE)) for v in actions for s in STATUSES]


async def of(agent_jobs_db: AgentJobsDb, status: str) -> Any:
    """Return a job of that status, as an executor leaves it and old enough."""
    ended = status in ("completed", "failed")
    return await agent_jobs_db.job(
        status,
        age=9000,
        started=8000 if ended or status == "active" else None,
        ended=7000 if ended else None,
        error="boom" if status == "failed" else None,
    )


@pytest.mark.parametrize(("profile", "action", "status"), one_in(4, CASES))
async def test_each_action_in_each_status(
    agent_jobs_db: AgentJobsDb, mirror: Workspace, table: Workspace, profile: str, action: str, status: str
) -> None:
    workspace = {"mirror": mirror, "table": table}[profile]
    wanted, becomes = {"mirror": MIRROR, "table": TABLE}[profile][action]
    job, other = await of(agent_jobs_db, status), await of(agent_jobs_db, status)
    before, bystander = dict(await agent_jobs_db.row(job)), dict(await agent_jobs_db.row(other))
    dry_run = await dry_run_of(workspace, action, [agent_jobs_db.id(job)], {}, LABEL)
    assert dict(await agent_jobs_db.row(job)) == before, "a dry run leaves no trace"
    outcomes = await loop.commit(workspace, dry_run, OPERATOR)
    after = await agent_jobs_db.row(job)
    assert dict(await agent_jobs_db.row(other)) == bystander
    assert (
        outcomes_of(dry_run)
        == outcomes_of(outcomes)
        == {agent_jobs_db.id(job): CHANGED if status in wanted else REFUSED}
    )
    if status not in wanted:
        assert dict(after) == before
        assert status in why(outcomes, agent_jobs_db.id(job))
        return
    if becomes is None:
        assert after is None
        return
    expected = {**before, "status": becomes, "xmin": outcomes.xid, "updated_at": after["updated_at"]}
    if action in ("retry", "restart"):
        expected |= {"error": None, "started_at": None, "completed_at": None}
    elif action == "release":
        expected |= {"started_at": None}
    elif becomes == "failed":
        word = "cancelled" if action == "cancel" else "marked failed"
        said = f"{word} by operator {OPERATOR.os_user}@{OPERATOR.host}: it was stuck"
        expected |= {"error": said, "completed_at": after["completed_at"]}
        assert after["completed_at"] >= before["updated_at"]
    assert dict(after) == expected
    assert after["updated_at"] > before["updated_at"], "no trigger does it"
    assert after["created_at"] == before["created_at"]


async def test_where_it_is_a_mirror_the_rest_is_external(mirror: Workspace) -> None:
    reader = mirror.engines[LABEL]
    external = {v.name for v in reader.engine.actions_of("job") if v.support == Support.EXTERNAL}
    assert external == set(TABLE) - {"delete"}
    for action in reader.engine.actions_of("job"):
        available = reader.availability(action)
        assert available.ok == (action.support == Support.NATIVE)
        assert available.ok or available.why.startswith(f"{action.support}: ")


# Guards and races


@both_versions
@pytest.mark.parametrize("action", ["retry", "restart"])
async def test_what_is_run_again_can_be_claimed(agent_jobs_db: AgentJobsDb, table: Workspace, action: str) -> None:
    """A remaining completed_at would make a claim violate jobs_time_order_chk."""
    job = await agent_jobs_db.job("failed", age=900, started=800, ended=700, error="boom")
    await do(table, action, [agent_jobs_db.id(job)], {}, LABEL)
    poller = Poller(agent_jobs_db.connection)
    claim = await poller.claim()
    assert claim is not None
    assert claim.id == job
    assert await poller.finish(claim)
    row = await agent_jobs_db.row(job)
    assert (row["status"], row["error"]) == ("completed", None)


@both_versions
@pytest.mark.parametrize("action", ["mark_failed", "cancel"])
async def test_clocks_that_are_ahead(
    agent_jobs_db: AgentJobsDb, mirror: Workspace, table: Workspace, action: str
) -> None:
    """An end before a future start would violate jobs_time_order_chk."""
    created, started = await agent_jobs_db.job(age=-3600), await agent_jobs_db.job(age=-10, started=-7200)
    workspace = mirror if action == "mark_failed" else table
    outcomes = await do(workspace, action, [agent_jobs_db.id(created), agent_jobs_db.id(started)], {}, LABEL)
    assert set(outcomes_of(outcomes).values()) == {CHANGED}
    for job in (created, started):
        row = await agent_jobs_db.row(job)
        assert row["completed_at"] == max(row["created_at"], row["started_at"] or row["created_at"])


@pytest.mark.parametrize(("started", "changed"), [(60, 9000), (None, 60)])
async def test_release_leaves_the_young(
    agent_jobs_db: AgentJobsDb, table: Workspace, started: float | None, changed: float
) -> None:
    job = await agent_jobs_db.job("active", age=9000, started=started, changed=changed)
    outcomes = await do(table, "release", [agent_jobs_db.id(job)], {}, LABEL)
    assert "30m00s" in why(outcomes, agent_jobs_db.id(job))


async def test_an_executor_whose_job_was_released_notices(agent_jobs_db: AgentJobsDb, table: Workspace) -> None:
    job, poller = await agent_jobs_db.job(age=9000), Poller(agent_jobs_db.connection)
    claim = await poller.claim()
    assert claim is not None
    await agent_jobs_db.sql("UPDATE jobs SET started_at = now() - interval '2 hours'")
    slow = type(claim)(id=claim.id, at=(await agent_jobs_db.row(job))["started_at"])
    assert outcomes_of(await do(table, "release", [agent_jobs_db.id(job)], {}, LABEL)) == {
        agent_jobs_db.id(job): CHANGED
    }
    again = await poller.claim()
    assert again is not None
    assert await poller.finish(slow) is False, "released during the run"
    assert await poller.finish(again)


async def test_a_number_does_not_name_a_job(agent_jobs_db: AgentJobsDb, mirror: Workspace) -> None:
    """Job ids can be reused: the operator acts on the row."""
    old = await agent_jobs_db.job("completed", age=90000, ended=89990, number=7)
    assert (await mirror.engines[LABEL].nodes.read([agent_jobs_db.id(7)])).nodes == ()
    await agent_jobs_db.sql(
        "UPDATE jobs SET status = 'failed', updated_at = now()"
    )  # a new job 7 has completed the old row
    versions = {agent_jobs_db.id(old): "completed|2020-01-01 00:00:00+00:7"}
    assert outcomes_of(await do(mirror, "delete", versions, {}, LABEL)) == {agent_jobs_db.id(old): STALE}
