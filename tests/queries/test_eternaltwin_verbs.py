"""Every action of eternaltwin: the rows before and after, exactly, and nothing else touched."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from queries.model import Outcome, RowChange
from queries.workspace import Workspace
from tests.queries.builders import Twin, do, dry_run_of, outcomes_of, why
from tests.servers import both_versions

CHANGED, REFUSED = Outcome.CHANGED, Outcome.REFUSED


async def bystanders(twin: Twin) -> None:
    """Another job's tasks, in every status, with timers."""
    job = await twin.job()
    for status, timer in (("Available", None), ("Blocked", 40), ("Blocked", None), ("Complete", None)):
        await twin.task(job, status=status, timer=timer)


def of(changes: tuple[RowChange, ...], table: str) -> list[RowChange]:
    return [c for c in changes if c.table == table]


def differing(change: RowChange) -> dict[str, tuple[Any, Any]]:
    assert change.before is not None
    assert change.after is not None
    return {k: (change.before[k], change.after[k]) for k in change.before if change.before[k] != change.after[k]}


@both_versions
async def test_wake_makes_it_available_and_takes_all_its_timers(twin: Twin, workspace: Workspace) -> None:
    await bystanders(twin)
    others = await twin.rows("task") + await twin.rows("task_timer")
    task = await twin.task(status="Blocked", timer=30, revision=5, output=b"x")
    await twin.timers([task], 90)
    before = dict(await twin.row(task))

    outcomes = await do(workspace, "wake", [twin.id(task)])

    after = dict(await twin.row(task))
    assert outcomes_of(outcomes) == {twin.id(task): CHANGED}
    assert after == {**before, "status": "Available", "timers": 0, "xmin": outcomes.xid}
    assert after["revision"] == 5, "nothing is in flight: the revision stays"
    assert others == [r for r in await twin.rows("task") + await twin.rows("task_timer") if str(task) not in r]
    assert [differing(c) for c in of(outcomes.changes, "task")] == [{"status": ("Blocked", "Available")}]
    timers = of(outcomes.changes, "task_timer")
    assert len(timers) == 2
    assert all(c.after is None and c.before is not None and c.before["task_id"] == str(task) for c in timers)
    assert {c.id for c in outcomes.changes} == {twin.id(task)}


@both_versions
async def test_wake_asks_twice_for_a_task_without_a_timer(twin: Twin, workspace: Workspace) -> None:
    task = await twin.task(status="Blocked")
    refused = await do(workspace, "wake", [twin.id(task)])
    assert outcomes_of(refused) == {twin.id(task): REFUSED}
    assert "no timer" in why(refused, twin.id(task))
    assert refused.xid is None
    assert outcomes_of(await do(workspace, "wake", [twin.id(task)], {"untimed": True})) == {twin.id(task): CHANGED}
    assert (await twin.row(task))["status"] == "Available"


@pytest.mark.parametrize("status", ["Available", "Complete"])
async def test_wake_is_refused_where_there_is_no_wait(twin: Twin, workspace: Workspace, status: str) -> None:
    task = await twin.task(status=status, timer=10)
    before = await twin.digest()
    outcomes = await do(workspace, "wake", [twin.id(task)], {"untimed": True})
    assert outcomes_of(outcomes) == {twin.id(task): REFUSED}
    assert why(outcomes, twin.id(task)) == f"it is {status}, not Blocked: there is no wait to remove"
    assert await twin.digest() == before


@both_versions
@pytest.mark.parametrize(("status", "timer"), [("Available", None), ("Blocked", 30), ("Blocked", None)])
async def test_cancel_completes_without_output_and_raises_the_revision(
    twin: Twin, workspace: Workspace, status: str, timer: float | None
) -> None:
    await bystanders(twin)
    others = await twin.rows("task") + await twin.rows("task_timer")
    task = await twin.task(status=status, timer=timer, revision=8)
    before = dict(await twin.row(task))

    outcomes = await do(workspace, "cancel", [twin.id(task)])

    assert outcomes_of(outcomes) == {twin.id(task): CHANGED}
    expected = {"status": "Complete", "revision": 9, "output": None, "timers": 0, "xmin": outcomes.xid}
    assert dict(await twin.row(task)) == {**before, **expected}
    assert others == [r for r in await twin.rows("task") + await twin.rows("task_timer") if str(task) not in r]
    assert differing(of(outcomes.changes, "task")[0]) == {"status": (status, "Complete"), "revision": (8, 9)}
    assert len(of(outcomes.changes, "task_timer")) == (timer is not None)


async def test_cancel_leaves_what_is_complete(twin: Twin, workspace: Workspace) -> None:
    task = await twin.task(status="Complete", output=b'{"sent":true}')
    before = await twin.digest()
    outcomes = await do(workspace, "cancel", [twin.id(task)])
    assert outcomes_of(outcomes) == {twin.id(task): REFUSED}
    assert why(outcomes, twin.id(task)) == "it is Complete already"
    assert await twin.digest() == before


@both_versions
async def test_cancel_job_completes_every_unfinished_task(twin: Twin, workspace: Workspace) -> None:
    await bystanders(twin)
    others = await twin.rows("task") + await twin.rows("task_timer")
    job = await twin.job()
    done = await twin.task(job, status="Complete", output=b"1", revision=4)
    open_ = [
        await twin.task(job, status="Blocked", timer=5, revision=1),
        await twin.task(job, status="Blocked", revision=2),
        await twin.task(job, status="Available", revision=3, polled=None),
    ]
    finished, was_job = dict(await twin.row(done)), await twin.rows("job")

    outcomes = await do(workspace, "cancel", [twin.id(job, "job")])

    assert outcomes_of(outcomes) == {twin.id(job, "job"): CHANGED}
    rows = [await twin.row(task) for task in open_]
    assert [(r["status"], r["revision"], r["output"], r["timers"]) for r in rows] == [
        ("Complete", 2, None, 0), ("Complete", 3, None, 0), ("Complete", 4, None, 0),
    ]  # fmt: skip
    assert dict(await twin.row(done)) == finished
    assert await twin.rows("job") == was_job
    ours = {str(t) for t in (done, *open_)}
    left = await twin.rows("task") + await twin.rows("task_timer")
    assert [r for r in left if not any(t in r for t in ours)] == others
    assert {c.key for c in of(outcomes.changes, "task")} == {str(t) for t in open_}
    assert {c.id for c in outcomes.changes} == {twin.id(job, "job")}


async def test_cancel_job_goes_on_though_a_task_was_polled_since(twin: Twin, workspace: Workspace) -> None:
    """What is decided on is the job, not the step its tasks are at."""
    job = await twin.job()
    task = await twin.task(job)
    dry_run = await dry_run_of(workspace, "cancel", [twin.id(job, "job")])
    await twin.sql("UPDATE task SET revision = revision + 1")
    outcomes = await do(workspace, "cancel", dry_run.versions)
    assert outcomes_of(outcomes) == {twin.id(job, "job"): CHANGED}
    assert (await twin.row(task))["revision"] == 5


async def test_cancel_job_is_refused_where_nothing_is_unfinished(twin: Twin, workspace: Workspace) -> None:
    job, empty = await twin.job(), await twin.job()
    await twin.task(job, status="Complete")
    outcomes = await do(workspace, "cancel", [twin.id(job, "job"), twin.id(empty, "job")])
    assert set(outcomes_of(outcomes).values()) == {REFUSED}
    assert why(outcomes, twin.id(empty, "job")) == "it has no unfinished task"


@both_versions
async def test_restart_puts_the_root_back_and_removes_the_rest(twin: Twin, workspace: Workspace) -> None:
    await bystanders(twin)
    others = await twin.rows("task") + await twin.rows("task_timer")
    job = await twin.job(state=b'{"from":"scratch"}')
    columns = {"kind": "ArchiveUser", "version": 2, "revision": 41, "cpu": 3.0}
    root = await twin.task(job, age=900, status="Complete", output=b"9", state=b"late", **columns)
    children = [
        await twin.task(job, age=800, status="Blocked", timer=20),
        await twin.task(job, age=800, status="Available"),
    ]
    await twin.timers([root], 70)
    before, was_job = dict(await twin.row(root)), await twin.rows("job")

    outcomes = await do(workspace, "restart", [twin.id(job, "job")], {"confirm": "ArchiveUser v2"})

    assert outcomes_of(outcomes) == {twin.id(job, "job"): CHANGED}
    after = dict(await twin.row(root))
    assert after == {
        **before,
        "status": "Available",
        "revision": 42,
        "output": None,
        "state": b'{"from":"scratch"}',
        "timers": 0,
        "xmin": outcomes.xid,
    }
    assert [await twin.row(child) for child in children] == [None, None]
    assert await twin.rows("job") == was_job
    left = await twin.rows("task") + await twin.rows("task_timer")
    assert [r for r in left if str(root) not in r] == others
    gone = {c.key for c in of(outcomes.changes, "task") if c.after is None}
    assert gone == {str(child) for child in children}
    assert len(of(outcomes.changes, "task_timer")) == 2


async def test_restart_wants_kind_and_version_and_a_root(twin: Twin, workspace: Workspace) -> None:
    wrong, empty, twins = await twin.jobs(3)
    await twin.task(wrong, kind="ArchiveUser", version=3)
    await twin.sql("BEGIN")
    await twin.tasks([twins, twins], kind="ArchiveUser", version=2)
    await twin.sql("COMMIT")
    before = await twin.digest()
    ids = [twin.id(j, "job") for j in (wrong, empty, twins)]
    outcomes = await do(workspace, "restart", ids, {"confirm": "ArchiveUser v2"})
    assert set(outcomes_of(outcomes).values()) == {REFUSED}
    assert why(outcomes, ids[0]).startswith("its root is ArchiveUser v3, not what was confirmed")
    assert why(outcomes, ids[1]) == "it has no task: nothing is left to restart"
    assert why(outcomes, ids[2]) == "two of its tasks are equally old: which one is the root is not known"
    assert await twin.digest() == before


async def test_restart_drops_a_job_whose_tasks_stale_since_the_dry_run(twin: Twin, workspace: Workspace) -> None:
    from queries.actions import perform
    from tests.queries.builders import LABEL, OPERATOR

    stale, still = await twin.jobs(2)
    for job in (stale, still):
        await twin.task(job, age=900, kind="ArchiveUser")
    child = await twin.task(stale, age=30)
    ids = [twin.id(job, "job") for job in (stale, still)]
    dry_run = await dry_run_of(workspace, "restart", ids, {"confirm": "ArchiveUser v1"})
    assert set(outcomes_of(dry_run).values()) == {CHANGED}
    await twin.sql("UPDATE task SET revision = revision + 1 WHERE task_id = $1", child)
    outcomes = await perform.commit(workspace, LABEL, "restart", dry_run, OPERATOR)
    assert outcomes_of(outcomes) == {ids[0]: Outcome.STALE, ids[1]: CHANGED}
    assert (await twin.row(child))["revision"] == 4


@both_versions
async def test_delete_takes_the_job_its_tasks_and_their_timers(twin: Twin, workspace: Workspace) -> None:
    await bystanders(twin)
    others = [await twin.rows(table) for table in ("job", "task", "task_timer")]
    job = await twin.job(state=b"\x00\xff seed")
    task = await twin.task(job, status="Blocked", timer=9, state=b"\x01state", output=b"out")

    outcomes = await do(workspace, "delete", [twin.id(job, "job")])

    assert outcomes_of(outcomes) == {twin.id(job, "job"): CHANGED}
    assert [await twin.rows(table) for table in ("job", "task", "task_timer")] == others
    assert all(c.after is None for c in outcomes.changes)
    copy = {c.table: c.before or {} for c in outcomes.changes}
    assert base64.b64decode(copy["job"]["initial_state"]) == b"\x00\xff seed"
    assert base64.b64decode(copy["task"]["state"]) == b"\x01state"
    assert base64.b64decode(copy["task"]["output"]) == b"out"
    assert copy["task_timer"]["task_id"] == str(task)


async def test_delete_of_many_wants_the_indexes(twin: Twin, workspace: Workspace) -> None:
    """Small tables will do for one job; for many, each costs scans that grow with the table."""
    jobs = await twin.jobs(2)
    ids = [twin.id(job, "job") for job in jobs]
    outcomes = await do(workspace, "delete", ids)
    assert set(outcomes_of(outcomes).values()) == {REFUSED}
    assert "CREATE INDEX CONCURRENTLY task__job_id__created_at__idx ON task (job_id" in why(outcomes, ids[0])
    await twin.sql("CREATE INDEX ON task (job_id)")
    await twin.sql("CREATE INDEX ON task_timer (task_id)")
    await workspace.look()
    assert set(outcomes_of(await do(workspace, "delete", ids)).values()) == {CHANGED}
    assert await twin.value("SELECT count(*) FROM job") == 0


async def test_what_the_engine_cannot_do_is_refused_with_its_reason(twin: Twin, workspace: Workspace) -> None:
    task = await twin.task()
    for action, reason in (
        ("release", "records no lease"),
        ("send", "no inbox"),
        ("restart", "not an action for a task"),
    ):
        outcomes = await do(workspace, action, [twin.id(task)])
        assert outcomes_of(outcomes) == {twin.id(task): REFUSED}
        assert reason in why(outcomes, twin.id(task))
