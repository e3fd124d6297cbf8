"""Actions of eternaltwin: rows before and after, and unchanged other rows."""

from __future__ import annotations

from typing import Any

import pytest

from queries.change import loop
from queries.records.action import Outcome, RowChange
from queries.workspace import Workspace
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.builders import do, dry_run_of, outcomes_of, why
from tests.servers import both_versions

CHANGED, REFUSED = Outcome.CHANGED, Outcome.REFUSED


async def bystanders(eternaltwin_db: EternaltwinDb) -> None:
    """Create tasks of another job, in every status, with timers."""
    job = await eternaltwin_db.job()
    for status, timer in (("Available", None), ("Blocked", 40), ("Blocked", None), ("Complete", None)):
        await eternaltwin_db.task(job, status=status, timer=timer)


def of(changes: tuple[RowChange, ...], table: str) -> list[RowChange]:
    return [c for c in changes if c.table == table]


def differing(change: RowChange) -> dict[str, tuple[Any, Any]]:
    assert change.before is not None
    assert change.after is not None
    return {k: (change.before[k], change.after[k]) for k in change.before if change.before[k] != change.after[k]}


@both_versions
async def test_wake_makes_it_available_and_takes_all_its_timers(
    eternaltwin_db: EternaltwinDb, workspace: Workspace
) -> None:
    await bystanders(eternaltwin_db)
    others = await eternaltwin_db.rows("task") + await eternaltwin_db.rows("task_timer")
    task = await eternaltwin_db.task(status="Blocked", timer=30, revision=5, output=b"x")
    await eternaltwin_db.timers([task], 90)
    before = dict(await eternaltwin_db.row(task))

    outcomes = await do(workspace, "wake", [eternaltwin_db.id(task)])

    after = dict(await eternaltwin_db.row(task))
    assert outcomes_of(outcomes) == {eternaltwin_db.id(task): CHANGED}
    assert after == {**before, "status": "Available", "timers": 0, "xmin": outcomes.xid}
    assert after["revision"] == 5, "no poll is running, so the revision stays"
    assert others == [
        r for r in await eternaltwin_db.rows("task") + await eternaltwin_db.rows("task_timer") if str(task) not in r
    ]
    assert [differing(c) for c in of(outcomes.changes, "task")] == [{"status": ("Blocked", "Available")}]
    timers = of(outcomes.changes, "task_timer")
    assert len(timers) == 2
    assert all(c.after is None and c.before is not None and c.before["task_id"] == str(task) for c in timers)
    assert {c.id for c in outcomes.changes} == {eternaltwin_db.id(task)}


@both_versions
async def test_wake_asks_twice_for_a_task_without_a_timer(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    task = await eternaltwin_db.task(status="Blocked")
    refused = await do(workspace, "wake", [eternaltwin_db.id(task)])
    assert outcomes_of(refused) == {eternaltwin_db.id(task): REFUSED}
    assert "no timer" in why(refused, eternaltwin_db.id(task))
    assert refused.xid is None
    assert outcomes_of(await do(workspace, "wake", [eternaltwin_db.id(task)], {"untimed": True})) == {
        eternaltwin_db.id(task): CHANGED
    }
    assert (await eternaltwin_db.row(task))["status"] == "Available"


@pytest.mark.parametrize("status", ["Available", "Complete"])
async def test_wake_is_refused_where_there_is_no_wait(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, status: str
) -> None:
    task = await eternaltwin_db.task(status=status, timer=10)
    before = await eternaltwin_db.digest()
    outcomes = await do(workspace, "wake", [eternaltwin_db.id(task)], {"untimed": True})
    assert outcomes_of(outcomes) == {eternaltwin_db.id(task): REFUSED}
    assert status in why(outcomes, eternaltwin_db.id(task))
    assert await eternaltwin_db.digest() == before


@both_versions
@pytest.mark.parametrize(("status", "timer"), [("Available", None), ("Blocked", 30), ("Blocked", None)])
async def test_cancel_completes_without_output_and_raises_the_revision(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, status: str, timer: float | None
) -> None:
    await bystanders(eternaltwin_db)
    others = await eternaltwin_db.rows("task") + await eternaltwin_db.rows("task_timer")
    task = await eternaltwin_db.task(status=status, timer=timer, revision=8)
    before = dict(await eternaltwin_db.row(task))

    outcomes = await do(workspace, "cancel", [eternaltwin_db.id(task)])

    assert outcomes_of(outcomes) == {eternaltwin_db.id(task): CHANGED}
    expected = {"status": "Complete", "revision": 9, "output": None, "timers": 0, "xmin": outcomes.xid}
    assert dict(await eternaltwin_db.row(task)) == {**before, **expected}
    assert others == [
        r for r in await eternaltwin_db.rows("task") + await eternaltwin_db.rows("task_timer") if str(task) not in r
    ]
    assert differing(of(outcomes.changes, "task")[0]) == {"status": (status, "Complete"), "revision": (8, 9)}
    assert len(of(outcomes.changes, "task_timer")) == (timer is not None)


async def test_cancel_leaves_what_is_complete(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    task = await eternaltwin_db.task(status="Complete", output=b'{"sent":true}')
    before = await eternaltwin_db.digest()
    outcomes = await do(workspace, "cancel", [eternaltwin_db.id(task)])
    assert outcomes_of(outcomes) == {eternaltwin_db.id(task): REFUSED}
    assert "Complete" in why(outcomes, eternaltwin_db.id(task))
    assert await eternaltwin_db.digest() == before


@both_versions
async def test_cancel_job_completes_every_unfinished_task(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    await bystanders(eternaltwin_db)
    others = await eternaltwin_db.rows("task") + await eternaltwin_db.rows("task_timer")
    job = await eternaltwin_db.job()
    done = await eternaltwin_db.task(job, status="Complete", output=b"1", revision=4)
    open_ = [
        await eternaltwin_db.task(job, status="Blocked", timer=5, revision=1),
        await eternaltwin_db.task(job, status="Blocked", revision=2),
        await eternaltwin_db.task(job, status="Available", revision=3, polled=None),
    ]
    finished, was_job = dict(await eternaltwin_db.row(done)), await eternaltwin_db.rows("job")

    outcomes = await do(workspace, "cancel", [eternaltwin_db.id(job, "job")])

    assert outcomes_of(outcomes) == {eternaltwin_db.id(job, "job"): CHANGED}
    rows = [await eternaltwin_db.row(task) for task in open_]
    assert [(r["status"], r["revision"], r["output"], r["timers"]) for r in rows] == [
        ("Complete", 2, None, 0), ("Complete", 3, None, 0), ("Complete", 4, None, 0),
    ]  # fmt: skip
    assert dict(await eternaltwin_db.row(done)) == finished
    assert await eternaltwin_db.rows("job") == was_job
    ours = {str(t) for t in (done, *open_)}
    left = await eternaltwin_db.rows("task") + await eternaltwin_db.rows("task_timer")
    assert [r for r in left if not any(t in r for t in ours)] == others
    assert {c.key for c in of(outcomes.changes, "task")} == {str(t) for t in open_}
    assert {c.id for c in outcomes.changes} == {eternaltwin_db.id(job, "job")}


async def test_cancel_job_goes_on_though_a_task_was_polled_since(
    eternaltwin_db: EternaltwinDb, workspace: Workspace
) -> None:
    """The operator decides about the job and not about the state of its tasks."""
    job = await eternaltwin_db.job()
    task = await eternaltwin_db.task(job)
    dry_run = await dry_run_of(workspace, "cancel", [eternaltwin_db.id(job, "job")])
    await eternaltwin_db.sql("UPDATE task SET revision = revision + 1")
    outcomes = await do(workspace, "cancel", dry_run.versions)
    assert outcomes_of(outcomes) == {eternaltwin_db.id(job, "job"): CHANGED}
    assert (await eternaltwin_db.row(task))["revision"] == 5


async def test_cancel_job_is_refused_where_nothing_is_unfinished(
    eternaltwin_db: EternaltwinDb, workspace: Workspace
) -> None:
    job, empty = await eternaltwin_db.job(), await eternaltwin_db.job()
    await eternaltwin_db.task(job, status="Complete")
    outcomes = await do(workspace, "cancel", [eternaltwin_db.id(job, "job"), eternaltwin_db.id(empty, "job")])
    assert set(outcomes_of(outcomes).values()) == {REFUSED}


@both_versions
async def test_restart_puts_the_root_back_and_removes_the_rest(
    eternaltwin_db: EternaltwinDb, workspace: Workspace
) -> None:
    await bystanders(eternaltwin_db)
    others = await eternaltwin_db.rows("task") + await eternaltwin_db.rows("task_timer")
    job = await eternaltwin_db.job(state=b'{"from":"scratch"}')
    columns = {"kind": "ArchiveUser", "version": 2, "revision": 41, "cpu": 3.0}
    root = await eternaltwin_db.task(job, age=900, status="Complete", output=b"9", state=b"late", **columns)
    children = [
        await eternaltwin_db.task(job, age=800, status="Blocked", timer=20),
        await eternaltwin_db.task(job, age=800, status="Available"),
    ]
    await eternaltwin_db.timers([root], 70)
    before, was_job = dict(await eternaltwin_db.row(root)), await eternaltwin_db.rows("job")

    outcomes = await do(workspace, "restart", [eternaltwin_db.id(job, "job")], {"confirm": "ArchiveUser v2"})

    assert outcomes_of(outcomes) == {eternaltwin_db.id(job, "job"): CHANGED}
    after = dict(await eternaltwin_db.row(root))
    assert after == {
        **before,
        "status": "Available",
        "revision": 42,
        "output": None,
        "state": b'{"from":"scratch"}',
        "timers": 0,
        "xmin": outcomes.xid,
    }
    assert [await eternaltwin_db.row(child) for child in children] == [None, None]
    assert await eternaltwin_db.rows("job") == was_job
    left = await eternaltwin_db.rows("task") + await eternaltwin_db.rows("task_timer")
    assert [r for r in left if str(root) not in r] == others
    gone = {c.key for c in of(outcomes.changes, "task") if c.after is None}
    assert gone == {str(child) for child in children}
    assert len(of(outcomes.changes, "task_timer")) == 2


async def test_restart_wants_kind_and_version_and_a_root(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    wrong, empty, twins = await eternaltwin_db.jobs(3)
    await eternaltwin_db.task(wrong, kind="ArchiveUser", version=3)
    await eternaltwin_db.sql("BEGIN")
    await eternaltwin_db.tasks([twins, twins], kind="ArchiveUser", version=2)
    await eternaltwin_db.sql("COMMIT")
    before = await eternaltwin_db.digest()
    ids = [eternaltwin_db.id(j, "job") for j in (wrong, empty, twins)]
    outcomes = await do(workspace, "restart", ids, {"confirm": "ArchiveUser v2"})
    assert set(outcomes_of(outcomes).values()) == {REFUSED}
    assert "ArchiveUser v3" in why(outcomes, ids[0])
    assert await eternaltwin_db.digest() == before


async def test_restart_drops_a_job_whose_tasks_stale_since_the_dry_run(
    eternaltwin_db: EternaltwinDb, workspace: Workspace
) -> None:
    from tests.queries.builders import OPERATOR

    stale, still = await eternaltwin_db.jobs(2)
    for job in (stale, still):
        await eternaltwin_db.task(job, age=900, kind="ArchiveUser")
    child = await eternaltwin_db.task(stale, age=30)
    ids = [eternaltwin_db.id(job, "job") for job in (stale, still)]
    dry_run = await dry_run_of(workspace, "restart", ids, {"confirm": "ArchiveUser v1"})
    assert set(outcomes_of(dry_run).values()) == {CHANGED}
    await eternaltwin_db.sql("UPDATE task SET revision = revision + 1 WHERE task_id = $1", child)
    outcomes = await loop.commit(workspace, dry_run, OPERATOR)
    assert outcomes_of(outcomes) == {ids[0]: Outcome.STALE, ids[1]: CHANGED}
    assert (await eternaltwin_db.row(child))["revision"] == 4


@both_versions
async def test_delete_takes_the_job_its_tasks_and_their_timers(
    eternaltwin_db: EternaltwinDb, workspace: Workspace
) -> None:
    await bystanders(eternaltwin_db)
    others = [await eternaltwin_db.rows(table) for table in ("job", "task", "task_timer")]
    job = await eternaltwin_db.job(state=b"\x00\xff seed")
    task = await eternaltwin_db.task(job, status="Blocked", timer=9, state=b"\x01state", output=b"out")

    outcomes = await do(workspace, "delete", [eternaltwin_db.id(job, "job")])

    assert outcomes_of(outcomes) == {eternaltwin_db.id(job, "job"): CHANGED}
    assert [await eternaltwin_db.rows(table) for table in ("job", "task", "task_timer")] == others
    assert all(c.after is None for c in outcomes.changes)
    copy = {c.table: c.before or {} for c in outcomes.changes}

    def hexed(value: bytes) -> str:
        return f"\\x{value.hex()}"

    assert copy["job"]["initial_state"] == hexed(b"\x00\xff seed")
    assert copy["task"]["state"] == hexed(b"\x01state")
    assert copy["task"]["output"] == hexed(b"out")
    assert copy["task_timer"]["task_id"] == str(task)


async def test_delete_wants_indexes_only_in_large_tables(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [eternaltwin_db.id(job, "job") for job in await eternaltwin_db.jobs(2)]
    with monkeypatch.context() as large:
        large.setattr("queries.contract.detect.SMALL_TABLE_BLOCKS", -1)
        await workspace.detect()
        outcomes = await do(workspace, "delete", ids)
    assert "CREATE INDEX CONCURRENTLY task__job_id__created_at__idx ON task (job_id" in why(outcomes, ids[0])
    await workspace.detect()
    assert set(outcomes_of(await do(workspace, "delete", ids)).values()) == {CHANGED}
    assert await eternaltwin_db.value("SELECT count(*) FROM job") == 0


async def test_what_the_engine_cannot_do_is_refused_with_its_reason(
    eternaltwin_db: EternaltwinDb, workspace: Workspace
) -> None:
    task = await eternaltwin_db.task()
    for action, reason in (
        ("release", "records no lease"),
        ("send", "no inbox"),
        ("restart", "not an action for a task"),
    ):
        outcomes = await do(workspace, action, [eternaltwin_db.id(task)])
        assert outcomes_of(outcomes) == {eternaltwin_db.id(task): REFUSED}
        assert reason in why(outcomes, eternaltwin_db.id(task))
