"""Tasks and steps that are late, never continue, or have wrong times."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from queries.records.action import Outcome
from queries.records.finding import Finding
from tests.db.tasker import TaskerDb
from tests.queries.builders import opened, outcomes_of
from tests.queries.test_tasker_executor import Engine
from tests.servers import both_versions
from tests.simulators.tasker.data import Data
from tests.simulators.tasker.protocol import RESULTS
from tests.simulators.tasker.step_history import (
    StepHistory,
    claimed,
    complete,
    enqueued,
    failed,
    handed_in,
    pending,
    skipped,
    unwritten,
    waiting,
)

MINUTE, HOUR = 60.0, 3600.0


async def found(tasker_db: TaskerDb, code: str, *ids: str) -> list[Finding]:
    findings = await tasker_db.findings(*ids)
    assert findings.skipped_findings == ()
    return [f for f in findings.findings if f.code == code]


async def one(tasker_db: TaskerDb, code: str, node_id: str) -> Finding:
    """Return the only finding with this code. A request for the node returns the same."""
    (finding,) = await found(tasker_db, code)
    assert finding.node_id == node_id
    (again,) = await found(tasker_db, code, node_id)
    assert again.sentence.split(":")[0].split(" for ")[0] == finding.sentence.split(":")[0].split(" for ")[0]
    assert "?" not in finding.sentence, finding.sentence
    return finding


# Queues


@both_versions
async def test_workers_that_run_but_cannot_keep_up(tasker_db: TaskerDb, data: Data) -> None:
    made = data.task("refund", ago=20 * MINUTE, age=HOUR, steps={"check_return": enqueued(20 * MINUTE)})
    data.message(made, "check_return", age=20 * MINUTE)
    other = data.task("sync_erp", ago=20 * MINUTE, age=HOUR, steps={"pull_erp": enqueued(20 * MINUTE)})
    data.message(other, "pull_erp", age=20 * MINUTE)
    long = StepHistory(
        past=(("pending", HOUR), ("enqueued", 1300.0), ("in_progress", 30.0)), attempts=1, at_work=True, tried=30
    )
    data.task("fulfil_order", ago=60, steps={"validate_cart": long})
    data.task("fulfil_order", ago=60, steps={"validate_cart": claimed(30)})
    await tasker_db.write(data)
    space = "SELECT 'tasker/namespace:' || task_namespace_uuid FROM task_namespaces WHERE name = $1"
    behind = await one(tasker_db, "workers_behind", await tasker_db.value(space, "shop"))
    assert behind.evidence["claims"] == 1
    (idle,) = await found(tasker_db, "no_worker")
    assert idle.node_id == await tasker_db.value(space, "legacy")
    await tasker_db.sql("UPDATE workflow_step_transitions SET created_at = created_at - interval '1 hour'")
    assert await found(tasker_db, "workers_behind") == []
    assert len(await found(tasker_db, "no_worker")) == 2


@both_versions
async def test_orchestrators_that_run_but_cannot_keep_up(tasker_db: TaskerDb, data: Data, engine: Engine) -> None:
    made = data.task("refund", ago=20 * MINUTE, age=HOUR, steps={"check_return": handed_in(20 * MINUTE)})
    for _ in range(3):
        data.message(made, "check_return", age=20 * MINUTE, queue=RESULTS)
    await tasker_db.write(data)
    assert "was seen to move a task in the last 2m00s." in (await found(tasker_db, "no_orchestrator"))[0].sentence
    assert await engine.orchestrator.move_task(made.id, "steps_in_process", "evaluating_results", "x", uuid4())
    (behind,) = await found(tasker_db, "orchestrators_behind")
    assert (behind.evidence["moved"], await found(tasker_db, "no_orchestrator")) == (1, [])
    await tasker_db.sql("UPDATE task_transitions SET created_at = created_at - interval '6 minutes'")
    assert len(await found(tasker_db, "no_orchestrator")) == 1


async def test_a_message_that_was_read_once_and_never_again(tasker_db: TaskerDb, data: Data) -> None:
    made = data.task("refund", ago=20 * MINUTE, age=HOUR, steps={"check_return": enqueued(20 * MINUTE)})
    data.message(made, "check_return", age=20 * MINUTE, reads=1)
    result = data.task("refund", ago=20 * MINUTE, age=HOUR, steps={"check_return": handed_in(20 * MINUTE)})
    data.message(result, "check_return", age=20 * MINUTE, reads=1, queue=RESULTS)
    await tasker_db.write(data)
    assert await tasker_db.codes() == set(), "they can be read again since a moment"
    for queue in (made.queue, RESULTS):
        await tasker_db.sql(f"UPDATE pgmq.q_{queue} SET vt = now() - interval '10 minutes'")
    assert {code for _, code in await tasker_db.codes()} == {"no_worker", "no_orchestrator"}


@both_versions
@pytest.mark.parametrize(
    "change", ["vt = now() + interval '5 hours'", "vt = 'infinity'", "enqueued_at = now() + interval '5 hours'"]
)
async def test_a_hidden_message(tasker_db: TaskerDb, data: Data, change: str) -> None:
    made = data.task("refund", ago=20 * MINUTE, age=HOUR, steps={"check_return": enqueued(20 * MINUTE)})
    data.message(made, "check_return", age=20 * MINUTE, reads=1)
    busy = data.task("refund", ago=60, steps={"check_return": enqueued(60)})
    data.message(busy, "check_return", age=60, reads=1)
    await tasker_db.write(data)
    await tasker_db.sql(f"UPDATE pgmq.q_{made.queue} SET vt = now() + interval '30 seconds'")
    assert await found(tasker_db, "hidden_message") == []
    await tasker_db.sql(f"UPDATE pgmq.q_{made.queue} SET {change} WHERE msg_id = 1")
    finding = await one(tasker_db, "hidden_message", f"tasker/message:{made.queue}/1")
    assert finding.evidence["task"] == str(made.id)


async def test_late_steps_without_the_engine_s_queues(tasker_db: TaskerDb, data: Data, tmp_path: Path) -> None:
    """The usual wait of a step comes from its history."""
    for _ in range(6):
        data.task("refund", state="complete", ago=HOUR, rest=complete(HOUR))
    usual = data.task("refund", ago=20 * MINUTE, age=HOUR, steps={"check_return": enqueued(20 * MINUTE)})
    late = data.task("newsletter", ago=40 * MINUTE, age=HOUR, steps={"select_readers": enqueued(40 * MINUTE)})
    result = data.task("newsletter", ago=40 * MINUTE, age=HOUR, steps={"select_readers": handed_in(40 * MINUTE)})
    data.task("newsletter", ago=20 * MINUTE, age=HOUR, steps={"select_readers": enqueued(20 * MINUTE)})
    data.task("refund", ago=60, steps={"check_return": enqueued(60)})
    await data.insert(tasker_db.connection)
    await tasker_db.sql("DROP SCHEMA pgmq CASCADE")
    other = TaskerDb(tasker_db.connection, await opened(tasker_db.workspace.database.text, tmp_path))
    overdue = {f.node_id: f for f in (await other.findings()).findings if f.code == "late"}
    assert overdue.keys() == {
        other.step(usual, "check_return"),
        other.step(late, "select_readers"),
        other.step(result, "select_readers"),
    }
    assert overdue[other.step(usual, "check_return")].evidence["usual"] == "1.0 s"
    assert "cause is unknown" in overdue[other.step(late, "select_readers")].sentence
    await other.workspace.close()


# Tasks


@both_versions
async def test_tasks_are_skipped_by_poller_while_others_are_picked_up(
    tasker_db: TaskerDb, data: Data, engine: Engine
) -> None:
    late = data.task("refund", state="pending", ago=20 * MINUTE, age=HOUR, priority=-5)
    ready = data.task(
        "newsletter",
        state="waiting_for_dependencies",
        ago=20 * MINUTE,
        age=HOUR,
        steps={"select_readers": pending(HOUR)},
    )
    await tasker_db.write(data)
    assert {c for _, c in await tasker_db.codes()} == {"not_picked_up"}
    more = Data(3)
    for _ in range(3):
        more.task("fulfil_order", state="enqueuing_steps", ago=30, priority=1)
    more.rows["namespaces"], more.rows["templates"], more.rows["names"] = [], [], []
    key = await tasker_db.value("SELECT named_task_uuid FROM named_tasks WHERE name = 'fulfil_order'")
    more.rows["tasks"] = [(r[0], key, *r[2:]) for r in more.rows["tasks"]]
    await more.insert(tasker_db.connection)
    passed = {f.node_id: f for f in await found(tasker_db, "skipped_by_poller")}
    assert passed.keys() == {tasker_db.task(late), tasker_db.task(ready)}
    assert await found(tasker_db, "not_picked_up") == []
    assert passed[tasker_db.task(late)].evidence["others"] == 3
    assert "higher priority" in passed[tasker_db.task(late)].sentence
    await engine.orchestrator.tick()
    assert await found(tasker_db, "skipped_by_poller") == []


@both_versions
async def test_a_full_list_of_the_poller(tasker_db: TaskerDb, data: Data, tmp_path: Path) -> None:
    late = data.task("refund", state="pending", ago=20 * MINUTE, age=30 * MINUTE)
    for _ in range(12):
        data.task(
            "refund", state="waiting_for_dependencies", ago=20 * MINUTE, age=9 * HOUR,
            steps={"check_return": waiting(HOUR, backoff=9000)},
        )  # fmt: skip
    data.task("refund", state="enqueuing_steps", ago=30)
    await tasker_db.write(data)
    assert "unknown" in (await one(tasker_db, "skipped_by_poller", tasker_db.task(late))).sentence
    narrow = await opened(tasker_db.workspace.database.text, tmp_path, overrides={"tasker": {"poller_list": 10.0}})
    other = TaskerDb(tasker_db.connection, narrow)
    finding = await one(other, "skipped_by_poller", other.task(late))
    assert finding.evidence["before"] == 12
    assert "fill the list" in finding.sentence
    await narrow.close()


@both_versions
async def test_tasks_that_can_never_continue(tasker_db: TaskerDb, data: Data) -> None:
    waits = {"state": "waiting_for_dependencies", "ago": 20 * MINUTE, "age": HOUR}
    circle = data.task("refund", **waits, steps={"check_return": complete(HOUR)})  # type: ignore[arg-type]
    empty = data.task("refund", **waits)  # type: ignore[arg-type]
    abroad = data.task("refund", **waits, steps={"check_return": complete(HOUR)})  # type: ignore[arg-type]
    timer = data.task("refund", **waits, steps={"check_return": waiting(HOUR, backoff=9000)})  # type: ignore[arg-type]
    await tasker_db.write(data)
    edge = (
        "INSERT INTO workflow_step_edges (from_step_uuid, to_step_uuid, name, created_at, updated_at)"
        " VALUES ($1, $2, 'x', now(), now())"
    )
    await tasker_db.sql(edge, circle.steps["notify_customer"], circle.steps["refund_card"])
    await tasker_db.sql(edge, timer.steps["check_return"], abroad.steps["refund_card"])
    for table in (
        "workflow_step_edges WHERE to_step_uuid",
        "workflow_step_transitions WHERE workflow_step_uuid",
        "workflow_steps WHERE workflow_step_uuid",
    ):
        await tasker_db.sql(f"DELETE FROM {table} = ANY ($1)", list(empty.steps.values()))
    stuck = {f.node_id: f for f in await found(tasker_db, "can_never_continue")}
    assert {n: f.evidence["obstacle"] for n, f in stuck.items()} == {
        tasker_db.task(circle): "its steps wait for each other",
        tasker_db.task(empty): "it has no steps",
        tasker_db.task(abroad): "a step waits for a step of another task",
    }
    assert stuck[tasker_db.task(circle)].evidence["detail"] == ": notify_customer, refund_card"
    assert str(timer.id) in stuck[tasker_db.task(abroad)].sentence
    for node_id in stuck:
        assert [f.node_id for f in await found(tasker_db, "can_never_continue", node_id)] == [node_id]


async def test_waiting_tasks_that_can_continue(tasker_db: TaskerDb, data: Data) -> None:
    for steps in (
        {"inspect_parcel": complete(HOUR), "decide_return": claimed(HOUR)},
        {"inspect_parcel": waiting(HOUR, backoff=9000)},
        {"inspect_parcel": complete(HOUR), "decide_return": complete(HOUR), "restock": unwritten(HOUR)},
        {"inspect_parcel": failed(HOUR)},
    ):
        data.task("review_return", state="waiting_for_dependencies", ago=20 * MINUTE, age=HOUR, steps=steps)
    await tasker_db.write(data)
    assert await found(tasker_db, "can_never_continue") == []


@both_versions
async def test_a_blocked_task_whose_failed_step_was_resolved(tasker_db: TaskerDb, data: Data) -> None:
    left = data.task("refund", state="blocked_by_failures", ago=600, steps={"check_return": skipped(300)})
    data.task("refund", state="blocked_by_failures", ago=600, steps={"check_return": failed(600)})
    done = data.task("refund", state="blocked_by_failures", ago=600, rest=skipped(300))
    await tasker_db.write(data)
    assert (await one(tasker_db, "still_blocked", tasker_db.task(left))).action == "wake"
    assert (await one(tasker_db, "not_finalized", tasker_db.task(done))).action == "finalize"
    assert len(await found(tasker_db, "blocked_by_failures")) == 1
    task = tasker_db.task(left)
    assert outcomes_of(await tasker_db.do("wake", task)) == {task: Outcome.CHANGED}
    assert left.id in await tasker_db.ready()
    task = tasker_db.task(done)
    assert outcomes_of(await tasker_db.do("finalize", task)) == {task: Outcome.CHANGED}
    assert await tasker_db.state(done) == "complete"


# Times


@both_versions
@pytest.mark.parametrize("helped", [False, True])
async def test_times_ahead_of_the_clock(tasker_db: TaskerDb, data: Data, helped: bool) -> None:
    task = data.task("refund", state="pending", ago=60)
    step = data.task("refund", ago=600, steps={"check_return": enqueued(600)})
    data.message(step, "check_return", age=10, reads=1)
    alive = data.task("refund", ago=600, steps={"check_return": claimed(600)})
    data.task("refund", ago=10, steps={"check_return": claimed(5)})
    await tasker_db.write(data)
    if helped:
        for need in tasker_db.reader.engine.spec.needs.values():
            if need.ddl:
                await tasker_db.sql(need.ddl.replace(" CONCURRENTLY", ""))
        await tasker_db.workspace.detect()
    assert await found(tasker_db, "time_ahead") == []
    shift = "SET created_at = created_at + interval '2 hours' WHERE most_recent AND"
    await tasker_db.sql(f"UPDATE task_transitions {shift} task_uuid = $1", task.id)
    await tasker_db.sql(f"UPDATE workflow_step_transitions {shift} workflow_step_uuid = $1", step.steps["check_return"])
    ahead = "UPDATE workflow_steps SET updated_at = now() + interval '2 hours' WHERE workflow_step_uuid = $1"
    await tasker_db.sql(ahead, alive.steps["check_return"])
    ids = {tasker_db.task(task), tasker_db.step(step, "check_return"), tasker_db.step(alive, "check_return")}
    assert {f.node_id for f in await found(tasker_db, "time_ahead")} == ids
    for node_id in ids:
        assert [f.node_id for f in await found(tasker_db, "time_ahead", node_id)] == [node_id]


@both_versions
async def test_a_backoff_far_beyond_the_usual_one(tasker_db: TaskerDb, data: Data) -> None:
    for _ in range(5):
        steps = {"check_return": waiting(10, backoff=60), "refund_card": waiting(10, backoff=7200)}
        data.task("refund", state="waiting_for_dependencies", ago=10, steps=steps)
    far = {"check_return": waiting(10, backoff=2_000_000_000), "refund_card": waiting(10, backoff=9000)}
    made = data.task("refund", state="waiting_for_dependencies", ago=10, steps=far)
    await tasker_db.write(data)
    finding = await one(tasker_db, "due_far_ahead", tasker_db.step(made, "check_return"))
    assert finding.evidence["usual"] == "60 s"
    step = tasker_db.step(made, "check_return")
    assert outcomes_of(await tasker_db.do("wake", step)) == {step: Outcome.CHANGED}
    assert await found(tasker_db, "due_far_ahead") == []


@both_versions
async def test_a_schedule_that_stopped(tasker_db: TaskerDb, data: Data) -> None:
    for n in range(8):
        for name, ago in (
            ("nightly_report", (n + 3) * HOUR),
            ("newsletter", (n + 1.5) * HOUR),
            ("refund", (n + 2) ** 2 * HOUR),
        ):
            data.task(name, state="complete", ago=ago - 60, age=ago, rest=complete(ago - 60))
    await tasker_db.write(data)
    key = await tasker_db.value(
        "SELECT 'tasker/template:' || named_task_uuid FROM named_tasks WHERE name = 'nightly_report'"
    )
    finding = await one(tasker_db, "schedule_missed", key)
    assert (finding.evidence["period"], finding.evidence["seen"]) == ("01:00:00", 8)
