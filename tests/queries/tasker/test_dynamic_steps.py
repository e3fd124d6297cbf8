"""Steps of decisions and batches, which have no transition until enqueued."""

from __future__ import annotations

from typing import Any

import pytest

from queries.read import details
from queries.records.action import Outcome
from queries.records.node import Phase
from tests.db.tasker import TaskerDb
from tests.queries.builders import outcomes_of, why
from tests.queries.test_tasker_executor import Engine
from tests.servers import both_versions
from tests.simulators.tasker.data import CreatedTask, Data
from tests.simulators.tasker.protocol import REQUESTS, RESULTS
from tests.simulators.tasker.step_history import StepHistory, cancelled, claimed, complete, failed, unwritten

MINUTE, HOUR = 60.0, 3600.0
DECIDED = {"inspect_parcel": complete(90), "decide_return": complete(60)}


def decided(data: Data, restock: StepHistory, **options: Any) -> CreatedTask:
    """Return a task whose decision chose ``restock``, on which a step depends."""
    steps = {**DECIDED, "restock": restock, "credit_customer": unwritten(2 * HOUR)}
    return data.task("review_return", ago=options.pop("ago", 60), steps=steps, **options)


@both_versions
async def test_a_step_without_transitions_is_pending(tasker_db: TaskerDb, data: Data) -> None:
    made = decided(data, claimed(600))
    ready = decided(data, unwritten(120), state="waiting_for_dependencies")
    await tasker_db.write(data)
    assert await tasker_db.codes() == set()
    waits, could = tasker_db.step(made, "credit_customer"), tasker_db.step(ready, "restock")
    nodes = {n.id: n for n in (await tasker_db.reader.nodes.read([waits, could])).nodes}
    assert [(nodes[i].status, nodes[i].phase) for i in (waits, could)] == [
        ("pending", Phase.BLOCKED),
        ("pending", Phase.READY),
    ]
    assert [nodes[i].changed_at for i in (waits, could)] == [nodes[i].created_at for i in (waits, could)]
    assert nodes[waits].revision == 0
    assert waits in {n.id for n in (await tasker_db.reader.pages.live()).nodes}
    detail = await details.read(tasker_db.reader, tasker_db.step(made, "restock"))
    assert detail is not None
    neighbours = next(s for s in detail.sections if s.name == "2_neighbours")
    assert dict.fromkeys(row[2] for row in neighbours.rows if row[0] == "child") == {"pending": None}


async def test_transitions_without_a_current_one_are_found(tasker_db: TaskerDb, data: Data) -> None:
    made = decided(data, claimed(600), ago=2 * HOUR)
    await tasker_db.write(data)
    await tasker_db.sql("UPDATE workflow_step_transitions SET most_recent = false WHERE workflow_step_uuid = $1",
                   made.steps["restock"])  # fmt: skip
    step = tasker_db.step(made, "restock")
    assert {n for n, code in await tasker_db.codes() if code == "no_current_state"} == {step}
    assert [(n.status, n.phase) for n in (await tasker_db.reader.nodes.read([step])).nodes] == [
        ("no current state", Phase.UNKNOWN)
    ]
    detail = await details.read(tasker_db.reader, tasker_db.step(made, "credit_customer"))
    assert detail is not None
    assert [r[2] for r in next(s for s in detail.sections if s.name == "2_neighbours").rows] == ["no current state"]
    for action in ("skip", "release", "retry", "wake"):
        assert outcomes_of(await tasker_db.do(action, step)) == {step: Outcome.REFUSED}, action


async def test_a_processed_step_without_a_current_state_is_found(tasker_db: TaskerDb, data: Data) -> None:
    made = data.task("refund", state="waiting_for_dependencies", ago=2 * HOUR)
    await tasker_db.write(data)
    await tasker_db.sql("UPDATE workflow_steps SET processed = true, in_process = false WHERE task_uuid = $1", made.id)
    await tasker_db.sql(
        "UPDATE workflow_step_transitions SET most_recent = false WHERE workflow_step_uuid IN"
        " (SELECT workflow_step_uuid FROM workflow_steps WHERE task_uuid = $1)",
        made.id,
    )
    found = {f.code: f for f in (await tasker_db.reader.findings.read()).findings if f.node_id == tasker_db.task(made)}
    assert "can_never_continue" in found
    assert "no current state" in found["can_never_continue"].sentence
    assert found["can_never_continue"].action is None


async def test_a_task_without_transitions_is_found(tasker_db: TaskerDb, data: Data) -> None:
    made = data.task("refund", state="pending", ago=HOUR)
    await tasker_db.write(data)
    await tasker_db.sql("DELETE FROM task_transitions WHERE task_uuid = $1", made.id)
    assert made.id not in await tasker_db.ready()
    assert (tasker_db.task(made), "no_current_state") in await tasker_db.codes()


@both_versions
@pytest.mark.parametrize(
    ("action", "arguments", "becomes"),
    [("skip", {}, "resolved_manually"), ("complete", {"result": {"by": "hand"}}, "complete")],
)
async def test_it_can_be_resolved_manually(
    tasker_db: TaskerDb, data: Data, engine: Engine, action: str, arguments: dict[str, Any], becomes: str
) -> None:
    made = decided(data, unwritten(120), state="waiting_for_dependencies")
    await tasker_db.write(data)
    step = tasker_db.step(made, "restock")
    assert outcomes_of(await tasker_db.do(action, step, **arguments)) == {step: Outcome.CHANGED}
    rows = await tasker_db.connection.fetch(
        "SELECT from_state, to_state, sort_key, most_recent FROM workflow_step_transitions WHERE workflow_step_uuid=$1",
        made.steps["restock"],
    )
    assert [tuple(r) for r in rows] == [("pending", becomes, 1, True)]
    assert (await tasker_db.step_row(made.steps["restock"]))["processed"]
    await engine.until_quiet()
    assert await tasker_db.state(made) == "complete"


@both_versions
async def test_cancel_includes_it(tasker_db: TaskerDb, data: Data) -> None:
    made = decided(data, claimed(600))
    await tasker_db.write(data)
    task = tasker_db.task(made)
    outcomes = await tasker_db.do("cancel", task)
    assert outcomes_of(outcomes) == {task: Outcome.CHANGED}
    row = await tasker_db.row(
        "SELECT from_state, to_state, sort_key FROM workflow_step_transitions WHERE workflow_step_uuid = $1",
        made.steps["credit_customer"],
    )
    assert tuple(row) == ("pending", "cancelled", 1)
    step = await tasker_db.step_row(made.steps["credit_customer"])
    assert (step["processed"], step["in_process"]) == (True, False)
    assert str(made.steps["credit_customer"]) in {c.key for c in outcomes.changes if c.table == "workflow_steps"}
    await tasker_db.sound()


@both_versions
async def test_a_cancelled_parent_is_found(tasker_db: TaskerDb, data: Data) -> None:
    made = decided(data, cancelled(60), state="waiting_for_dependencies")
    await tasker_db.write(data)
    step = tasker_db.step(made, "restock")
    for asked in ((), (step,)):
        found = [f for f in (await tasker_db.findings(*asked)).findings if f.code == "cancelled_but_required"]
        assert [(f.node_id, f.evidence["waiting"], f.evidence["children"]) for f in found] == [
            (step, 1, "credit_customer")
        ]


@pytest.mark.parametrize(("action", "word"), [("wake", "parents"), ("retry", "pending"), ("resend", "pending")])
async def test_actions_refused_for_a_pending_step_are_refused(
    tasker_db: TaskerDb, data: Data, action: str, word: str
) -> None:
    made = decided(data, claimed(600))
    await tasker_db.write(data)
    step = tasker_db.step(made, "credit_customer")
    outcomes = await tasker_db.do(action, step)
    assert outcomes_of(outcomes) == {step: Outcome.REFUSED}
    assert word in why(outcomes, step)


async def test_a_step_enqueued_meanwhile_is_stale(tasker_db: TaskerDb, data: Data) -> None:
    made = decided(data, unwritten(120), state="waiting_for_dependencies")
    await tasker_db.write(data)
    step = tasker_db.step(made, "restock")
    seen = {n.id: n.version for n in (await tasker_db.reader.nodes.read([step])).nodes}
    await tasker_db.sql(
        "INSERT INTO workflow_step_transitions (workflow_step_uuid, from_state, to_state, sort_key, most_recent,"
        " created_at, updated_at) VALUES ($1, 'pending', 'enqueued', 1, true, now(), now())",
        made.steps["restock"],
    )
    assert outcomes_of(await tasker_db.do("skip", seen, in_flight=True)) == {step: Outcome.STALE}
    assert await tasker_db.step_state(made.steps["restock"]) == "enqueued"


async def test_retry_of_a_task_does_not_change_it(tasker_db: TaskerDb, data: Data) -> None:
    made = decided(data, failed(60), state="blocked_by_failures")
    await tasker_db.write(data)
    assert outcomes_of(await tasker_db.do("retry", tasker_db.task(made))) == {tasker_db.task(made): Outcome.CHANGED}
    assert await tasker_db.step_state(made.steps["credit_customer"]) is None
    assert await tasker_db.ready() == {made.id}


@both_versions
async def test_the_demo_creates_them_as_the_engine_does(tasker_db: TaskerDb, engine: Engine) -> None:
    await tasker_db.write(Data(1))
    await request(engine, "review_return", "1.1.0")
    await engine.orchestrator.tick()
    await engine.until_quiet()
    assert [r[0] for r in await tasker_db.connection.fetch("SELECT complete FROM tasks")] == [True]
    firsts = await tasker_db.connection.fetch(
        "SELECT n.name, x.from_state, x.to_state FROM workflow_steps s JOIN named_steps n USING (named_step_uuid)"
        " JOIN workflow_step_transitions x USING (workflow_step_uuid) WHERE x.sort_key = 1"
    )
    first = {r["name"]: (r["from_state"], r["to_state"]) for r in firsts}
    assert first["inspect_parcel"] == first["decide_return"] == (None, "pending")
    dynamic = {name: states for name, states in first.items() if name not in DECIDED}
    assert set(dynamic) in ({"restock", "credit_customer"}, {"scrap", "credit_customer"})
    assert set(dynamic.values()) == {("pending", "enqueued")}
    assert [await tasker_db.messages(q) for q in (REQUESTS, RESULTS)] == [[], []]
    await tasker_db.sound()


async def request(engine: Engine, name: str, version: str, **metadata: Any) -> None:
    """Request a task as the engine's API does."""
    asked = {"name": name, "namespace": "shop", "version": version, "context": {"order_id": 1}, "initiator": "web",
             "source_system": "x", "reason": "y", "correlation_id": "00000000-0000-4000-8000-000000000007"}  # fmt: skip
    sent = {"requested_at": "2026-01-01T00:00:00Z", "requester": "web", "priority": "Normal", "custom": {}}
    await engine.orchestrator.send(REQUESTS, request_id="1", task_request=asked, metadata=sent | metadata)
