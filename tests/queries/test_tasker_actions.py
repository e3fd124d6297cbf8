"""Every action of tasker: rows before and after, and the engine's own view."""

from __future__ import annotations

import json
from typing import Any

import pytest

from queries.change import loop
from queries.records.action import Change, Outcome, RowChange
from tests.db.tasker import TaskerDb
from tests.queries.builders import OPERATOR, outcomes_of, why
from tests.servers import both_versions
from tests.simulators.tasker.data import CreatedTask, Data
from tests.simulators.tasker.protocol import RESULTS
from tests.simulators.tasker.step_history import (
    StepHistory,
    cancelled,
    claimed,
    complete,
    enqueued,
    failed,
    handed_in,
    pending,
    reset,
    waiting,
)

CHANGED, STALE, REFUSED = Outcome.CHANGED, Outcome.STALE, Outcome.REFUSED


def of(outcomes: Change, table: str) -> list[RowChange]:
    return [c for c in outcomes.changes if c.table == table]


def entered(outcomes: Change, table: str = "workflow_step_transitions") -> list[tuple[Any, Any]]:
    """Return the old and new state of each inserted transition."""
    return [(c.after["from_state"], c.after["to_state"]) for c in of(outcomes, table) if c.before is None and c.after]


def refusal(outcomes: Change, node: str) -> str:
    """Return the reason for which the node was refused."""
    assert outcomes_of(outcomes)[node] == REFUSED
    return why(outcomes, node)


def blocked(data: Data, **more: Any) -> CreatedTask:
    """Return an order whose card could not be charged."""
    steps = {
        "validate_cart": complete(900),
        "reserve_stock": complete(800),
        "charge_card": failed(700),
        "book_carrier": complete(700),
    }
    return data.task("fulfil_order", state="blocked_by_failures", ago=600, steps={**steps, **more})


@pytest.fixture
def data() -> Data:
    return Data(1)


# Retry


@both_versions
async def test_retry_gives_new_attempts_and_the_engine_finds_the_task(tasker_db: TaskerDb, data: Data) -> None:
    made, other = blocked(data), blocked(data)
    await tasker_db.write(data)
    step = made.steps["charge_card"]
    before, bystander = dict(await tasker_db.step_row(step)), dict(await tasker_db.step_row(other.steps["charge_card"]))
    assert await tasker_db.ready() == set()

    outcomes = await tasker_db.do("retry", tasker_db.step(made, "charge_card"))

    assert outcomes_of(outcomes) == {tasker_db.step(made, "charge_card"): CHANGED}
    after = dict(await tasker_db.step_row(step))
    assert (after["attempts"], after["in_process"], after["processed"], after["backoff_request_seconds"]) == (
        0,
        False,
        False,
        0,
    )
    assert after["results"] == before["results"], "kept for the record"
    assert after["max_attempts"] == before["max_attempts"] == 3
    assert dict(await tasker_db.step_row(other.steps["charge_card"])) == bystander
    assert entered(outcomes) == [("error", "pending")]
    assert entered(outcomes, "task_transitions") == [("blocked_by_failures", "waiting_for_dependencies")]
    row = next(c.after for c in of(outcomes, "workflow_step_transitions") if c.before is None)
    assert row is not None
    assert json.loads(row["metadata"]["event"]) == {"type": "ResetForRetry"}
    assert (row["metadata"]["operator"], row["metadata"]["reason"]) == ("anna@laptop", "it was stuck")
    assert row["sort_key"] == len(failed().past) + 1
    task = next(c.after for c in of(outcomes, "task_transitions") if c.before is None)
    assert task is not None
    assert task["transition_metadata"]["operator"] == "anna@laptop"
    assert await tasker_db.ready() == {made.id}
    assert await tasker_db.ready_steps(made) == {step}
    assert await tasker_db.status(made) == "has_ready_steps"
    await tasker_db.sound()


@both_versions
async def test_retry_of_one_failed_step_leaves_the_task_blocked_but_retry_of_the_task_does_not(
    tasker_db: TaskerDb, data: Data
) -> None:
    made = blocked(data, book_carrier=failed(650, attempts=1, retryable=False))
    await tasker_db.write(data)
    one = await tasker_db.do("retry", tasker_db.step(made, "charge_card"))
    assert outcomes_of(one) == {tasker_db.step(made, "charge_card"): CHANGED}
    assert of(one, "task_transitions") == []
    assert (await tasker_db.state(made), await tasker_db.status(made)) == ("blocked_by_failures", "blocked_by_failures")

    rest = await tasker_db.do("retry", tasker_db.task(made))
    assert outcomes_of(rest) == {tasker_db.task(made): CHANGED}
    assert entered(rest) == [("error", "pending")]
    assert (await tasker_db.state(made), await tasker_db.ready()) == ("waiting_for_dependencies", {made.id})
    assert await tasker_db.ready_steps(made) == {made.steps["charge_card"], made.steps["book_carrier"]}
    again = await tasker_db.do("retry", tasker_db.task(made))
    assert refusal(again, tasker_db.task(made))


async def test_retry_may_keep_the_count_and_clear_a_checkpoint(tasker_db: TaskerDb, data: Data) -> None:
    broken = failed(600, checkpoint={"cursor": 7}, stamped=700, retryable=False)
    made = data.task(
        "newsletter",
        state="blocked_by_failures",
        steps={"select_readers": complete(), "render": complete(), "deliver_batch": broken},
    )
    await tasker_db.write(data)
    step = made.steps["deliver_batch"]
    await tasker_db.do("retry", tasker_db.step(made, "deliver_batch"), budget="one more", checkpoint="clear")
    row = await tasker_db.step_row(step)
    assert (row["attempts"], row["max_attempts"], row["retryable"], row["checkpoint"]) == (3, 4, True, None)
    assert await tasker_db.ready_steps(made) == {step}


async def test_retry_gives_attempts_to_a_step_reset_by_the_engine(tasker_db: TaskerDb, data: Data) -> None:
    """The engine's own reset keeps the attempts used up."""
    made = blocked(data, charge_card=reset(300))
    await tasker_db.write(data)
    await tasker_db.sql("UPDATE task_transitions SET to_state = 'waiting_for_dependencies' WHERE most_recent")
    assert await tasker_db.ready() == set()
    outcomes = await tasker_db.do("retry", tasker_db.step(made, "charge_card"))
    assert outcomes_of(outcomes) == {tasker_db.step(made, "charge_card"): CHANGED}
    assert entered(outcomes) == [], "it is already pending"
    assert await tasker_db.ready() == {made.id}


@pytest.mark.parametrize(
    ("shape", "state"),
    [
        (complete(), "complete"),
        (pending(), "pending"),
        (waiting(), "waiting_for_retry"),
        (claimed(), "in_progress"),
    ],
)
async def test_retry_is_refused_where_nothing_failed(
    tasker_db: TaskerDb, data: Data, shape: StepHistory, state: str
) -> None:
    made = blocked(data, charge_card=shape)
    await tasker_db.write(data)
    before = await tasker_db.everything()
    outcomes = await tasker_db.do("retry", tasker_db.step(made, "charge_card"))
    assert state in refusal(outcomes, tasker_db.step(made, "charge_card"))
    assert await tasker_db.everything() == before


@pytest.mark.parametrize("state", ["complete", "cancelled", "resolved_manually"])
async def test_steps_of_an_ended_task_are_refused(tasker_db: TaskerDb, data: Data, state: str) -> None:
    made = data.task("refund", state=state, steps={"check_return": failed()})
    await tasker_db.write(data)
    for action in ("retry", "skip", "wake", "clear"):
        outcomes = await tasker_db.do(action, tasker_db.step(made, "check_return"))
        assert state in refusal(outcomes, tasker_db.step(made, "check_return"))


# Wake


@both_versions
async def test_wake_of_a_step_only_removes_its_backoff(tasker_db: TaskerDb, data: Data) -> None:
    made = data.task(
        "refund", state="waiting_for_dependencies", ago=60, steps={"check_return": waiting(30, backoff=600)}
    )
    await tasker_db.write(data)
    step = made.steps["check_return"]
    before = dict(await tasker_db.step_row(step))
    assert await tasker_db.ready() == set()
    outcomes = await tasker_db.do("wake", tasker_db.step(made, "check_return"))
    after = dict(await tasker_db.step_row(step))
    assert after == {**before, "backoff_request_seconds": 0, "updated_at": after["updated_at"]}
    assert {c.table for c in outcomes.changes} == {"workflow_steps"}, "no transition is needed"
    assert await tasker_db.ready() == {made.id}


@both_versions
async def test_wake_of_a_step_moves_a_task_that_is_no_longer_polled(tasker_db: TaskerDb, data: Data) -> None:
    made = data.task(
        "refund", state="waiting_for_dependencies", ago=4000, steps={"check_return": waiting(30, backoff=600)}
    )
    await tasker_db.write(data)
    outcomes = await tasker_db.do("wake", tasker_db.step(made, "check_return"))
    assert entered(outcomes, "task_transitions") == [("waiting_for_dependencies", "waiting_for_dependencies")]
    assert await tasker_db.ready() == {made.id}
    await tasker_db.sound()


async def test_wake_of_a_step_without_a_backoff_of_its_own(tasker_db: TaskerDb, data: Data) -> None:
    """The engine then uses an exponential backoff since the last error."""
    shape = StepHistory(past=(("pending", 90), ("error", 1), ("pending", 0.5)), attempts=5, most=6, tried=5)
    made = data.task("refund", state="waiting_for_dependencies", ago=60, steps={"check_return": shape})
    await tasker_db.write(data)
    assert await tasker_db.ready() == set()
    assert outcomes_of(await tasker_db.do("wake", tasker_db.step(made, "check_return"))) == {
        tasker_db.step(made, "check_return"): CHANGED
    }
    assert await tasker_db.ready() == {made.id}


@pytest.mark.parametrize(
    ("name", "shape", "word"),
    [
        ("refund_card", waiting(5, backoff=900), "1 of its parents"),
        ("check_return", waiting(900, backoff=10), "already due"),
        ("check_return", waiting(5, attempts=3, backoff=900), "attempts"),
        ("check_return", waiting(5, backoff=900, at_work=True), "in_process"),
        ("check_return", claimed(), "in_progress"),
    ],
)
async def test_wake_is_refused_for_a_step_that_waits_for_no_backoff(
    tasker_db: TaskerDb, data: Data, name: str, shape: StepHistory, word: str
) -> None:
    made = data.task("refund", state="waiting_for_dependencies", steps={name: shape})
    await tasker_db.write(data)
    outcomes = await tasker_db.do("wake", tasker_db.step(made, name))
    assert word in refusal(outcomes, tasker_db.step(made, name))


@both_versions
async def test_wake_of_a_task_restarts_its_polling_time(tasker_db: TaskerDb, data: Data) -> None:
    seen = {"check_return": complete(9000), "refund_card": pending(9000)}
    made = data.task("refund", state="waiting_for_dependencies", ago=3900, steps=seen)
    retry = data.task("refund", state="waiting_for_retry", ago=2000, steps={"check_return": waiting(30, backoff=600)})
    await tasker_db.write(data)
    assert await tasker_db.ready() == set()
    outcomes = await tasker_db.do("wake", tasker_db.task(made), tasker_db.task(retry))
    assert set(outcomes_of(outcomes).values()) == {CHANGED}
    assert sorted(entered(outcomes, "task_transitions")) == [
        ("waiting_for_dependencies", "waiting_for_dependencies"),
        ("waiting_for_retry", "waiting_for_dependencies"),
    ]
    assert await tasker_db.ready() == {made.id, retry.id}
    await tasker_db.sound()


@pytest.mark.parametrize(
    ("state", "steps", "word"),
    [
        ("steps_in_process", {}, "steps_in_process"),
        ("error", {}, "error"),
        ("waiting_for_dependencies", {"check_return": failed()}, "1 of its steps"),
    ],
)
async def test_wake_of_a_task_is_refused(
    tasker_db: TaskerDb, data: Data, state: str, steps: dict[str, StepHistory], word: str
) -> None:
    made = data.task("refund", state=state, steps=steps)
    done = data.task("refund", state="waiting_for_dependencies", rest=complete())
    await tasker_db.write(data)
    outcomes = await tasker_db.do("wake", tasker_db.task(made), tasker_db.task(done))
    assert word in refusal(outcomes, tasker_db.task(made))
    assert "inalize" in refusal(outcomes, tasker_db.task(done))


# Skip and complete


@both_versions
async def test_skip_continues_the_task_with_the_failed_attempt_s_result(tasker_db: TaskerDb, data: Data) -> None:
    made = blocked(data)
    await tasker_db.write(data)
    step = made.steps["charge_card"]
    before = dict(await tasker_db.step_row(step))
    outcomes = await tasker_db.do("skip", tasker_db.step(made, "charge_card"))
    after = dict(await tasker_db.step_row(step))
    assert entered(outcomes) == [("error", "resolved_manually")]
    assert (after["processed"], after["in_process"]) == (True, False)
    assert after["processed_at"] is not None
    assert after["results"] == before["results"]
    assert await tasker_db.ready() == {made.id}
    assert await tasker_db.ready_steps(made) == {made.steps["pack_parcel"]}
    given = await tasker_db.value(
        "SELECT results -> 'success' FROM get_step_transitive_dependencies($1) WHERE step_name = 'charge_card'",
        made.steps["pack_parcel"],
    )
    assert given == "false", "what depends on it is given the failed attempt's envelope"


@both_versions
async def test_skip_of_the_last_step_ends_the_task(tasker_db: TaskerDb, data: Data) -> None:
    """No poll finds a task whose steps are all done."""
    made = data.task("refund", state="blocked_by_failures", rest=complete(), steps={"notify_customer": failed()})
    await tasker_db.write(data)
    outcomes = await tasker_db.do("skip", tasker_db.step(made, "notify_customer"))
    assert entered(outcomes, "task_transitions") == [("blocked_by_failures", "complete")]
    assert await tasker_db.value("SELECT complete FROM tasks WHERE task_uuid = $1", made.id) is True
    assert await tasker_db.status(made) == "all_complete"
    await tasker_db.sound()


async def test_skip_requires_in_flight_for_a_running_step_and_unblocks_a_cancelled_one(
    tasker_db: TaskerDb, data: Data
) -> None:
    made = data.task("refund", steps={"check_return": claimed()})
    past = data.task(
        "newsletter", state="waiting_for_dependencies", steps={"select_readers": complete(), "render": cancelled()}
    )
    await tasker_db.write(data)
    refused = await tasker_db.do("skip", tasker_db.step(made, "check_return"))
    assert "in_flight" in refusal(refused, tasker_db.step(made, "check_return"))
    assert outcomes_of(await tasker_db.do("skip", tasker_db.step(made, "check_return"), in_flight=True)) == {
        tasker_db.step(made, "check_return"): CHANGED
    }
    assert outcomes_of(await tasker_db.do("skip", tasker_db.step(past, "render"))) == {
        tasker_db.step(past, "render"): CHANGED
    }
    assert past.steps["deliver_batch"] in await tasker_db.ready_steps(past)
    again = await tasker_db.do("skip", tasker_db.step(past, "render"))
    assert "resolved_manually" in refusal(again, tasker_db.step(past, "render"))


@both_versions
async def test_complete_stores_the_result_as_the_engine_would(tasker_db: TaskerDb, data: Data) -> None:
    made = blocked(data)
    await tasker_db.write(data)
    step = made.steps["charge_card"]
    outcomes = await tasker_db.do("complete", tasker_db.step(made, "charge_card"), result={"paid": 12.5})
    row = await tasker_db.step_row(step)
    results = json.loads(row["results"])
    assert entered(outcomes) == [("error", "complete")]
    assert (row["processed"], row["in_process"]) == (True, False)
    assert (results["step_uuid"], results["success"], results["status"], results["result"]) == (
        str(step),
        True,
        "completed",
        {"paid": 12.5},
    )
    assert results["metadata"]["custom"] == {
        "manually_completed": True,
        "completed_by": "anna@laptop",
        "completion_reason": "it was stuck",
    }
    event = await tasker_db.value(
        "SELECT metadata ->> 'event' FROM workflow_step_transitions WHERE workflow_step_uuid = $1 AND most_recent", step
    )
    assert json.loads(event)["type"] == "CompleteManually"
    assert json.loads(event)["data"]["result"] == {"paid": 12.5}
    assert await tasker_db.ready() == {made.id}
    assert await tasker_db.ready_steps(made) == {made.steps["pack_parcel"]}
    assert await tasker_db.messages(RESULTS) == []


async def test_complete_lets_the_engine_process_the_result_on_request(tasker_db: TaskerDb, data: Data) -> None:
    made = blocked(data)
    await tasker_db.write(data)
    await tasker_db.do("complete", tasker_db.step(made, "charge_card"), result=1, process=True)
    assert await tasker_db.state(made) == "evaluating_results"
    assert [json.loads(m["message"])["step_uuid"] for m in await tasker_db.messages(RESULTS)] == [
        str(made.steps["charge_card"])
    ]


async def test_complete_requires_a_result(tasker_db: TaskerDb, data: Data) -> None:
    made = blocked(data)
    await tasker_db.write(data)
    outcomes = await tasker_db.do("complete", tasker_db.step(made, "charge_card"))
    assert "result" in refusal(outcomes, tasker_db.step(made, "charge_card"))


# Cancel


@both_versions
async def test_cancel_includes_steps_and_messages(tasker_db: TaskerDb, data: Data) -> None:
    steps = {
        "validate_cart": complete(),
        "reserve_stock": claimed(),
        "charge_card": failed(),
        "book_carrier": enqueued(),
    }
    made = data.task("fulfil_order", steps=steps)
    other = data.task("refund", steps={"check_return": enqueued()})
    data.message(made, "book_carrier")
    data.message(made, "reserve_stock", queue=RESULTS)
    data.message(other, "check_return")
    await tasker_db.write(data)
    done = dict(await tasker_db.step_row(made.steps["validate_cart"]))

    outcomes = await tasker_db.do("cancel", tasker_db.task(made))

    assert outcomes_of(outcomes) == {tasker_db.task(made): CHANGED}
    states = {name: await tasker_db.step_state(step) for name, step in made.steps.items()}
    assert states == dict.fromkeys(made.steps, "cancelled") | {"validate_cart": "complete"}
    assert dict(await tasker_db.step_row(made.steps["validate_cart"])) == done
    assert await tasker_db.state(made) == "cancelled"
    assert await tasker_db.value("SELECT complete FROM tasks WHERE task_uuid = $1", made.id) is False, (
        "as the engine leaves it"
    )
    assert (
        await tasker_db.value(
            "SELECT count(*) FROM workflow_steps WHERE task_uuid = $1 AND NOT (processed AND NOT in_process)", made.id
        )
        == 0
    )
    left = [json.loads(m["message"])["task_uuid"] for q in (made.queue, RESULTS) for m in await tasker_db.messages(q)]
    assert left == [str(other.id)]
    assert sorted(c.table for c in outcomes.changes if c.table.startswith("pgmq")) == [
        f"pgmq.q_{queue}" for queue in (RESULTS, made.queue)
    ]
    assert sum(1 for c in of(outcomes, "workflow_step_transitions") if c.before is None) == 5
    again = await tasker_db.do("cancel", tasker_db.task(made))
    assert "cancelled" in refusal(again, tasker_db.task(made))
    await tasker_db.sound()


# Release, clear


@both_versions
async def test_release_makes_an_orphaned_step_ready_again(tasker_db: TaskerDb, data: Data) -> None:
    made = data.task("refund", ago=7200, steps={"check_return": claimed(7200, attempts=3)})
    await tasker_db.write(data)
    step = made.steps["check_return"]
    last = await tasker_db.do("release", tasker_db.step(made, "check_return"))
    assert "this was the last of its attempts" in refusal(last, tasker_db.step(made, "check_return"))
    outcomes = await tasker_db.do("release", tasker_db.step(made, "check_return"), again=True)
    row = await tasker_db.step_row(step)
    assert entered(outcomes) == [("in_progress", "waiting_for_retry")]
    assert (row["in_process"], row["attempts"], row["max_attempts"], row["backoff_request_seconds"]) == (False, 3, 4, 0)
    assert entered(outcomes, "task_transitions") == [("steps_in_process", "waiting_for_dependencies")]
    assert await tasker_db.ready() == {made.id}
    assert await tasker_db.ready_steps(made) == {step}
    again = await tasker_db.do("release", tasker_db.step(made, "check_return"))
    assert "waiting_for_retry" in refusal(again, tasker_db.step(made, "check_return"))


async def test_release_keeps_the_task_state_if_others_are_in_flight_and_requires_again(
    tasker_db: TaskerDb, data: Data
) -> None:
    regions = {"sum_region_north": claimed(7200), "sum_region_south": claimed(7, retryable=False)}
    made = data.task("nightly_report", ago=7200, steps={"open_books": complete(), **regions})
    await tasker_db.write(data)
    outcomes = await tasker_db.do("release", tasker_db.step(made, "sum_region_north"))
    assert of(outcomes, "task_transitions") == []
    refused = await tasker_db.do("release", tasker_db.step(made, "sum_region_south"))
    assert "again" in refusal(refused, tasker_db.step(made, "sum_region_south"))
    assert outcomes_of(await tasker_db.do("release", tasker_db.step(made, "sum_region_south"), again=True)) == {
        tasker_db.step(made, "sum_region_south"): CHANGED
    }
    assert {made.steps["sum_region_north"], made.steps["sum_region_south"]} <= await tasker_db.ready_steps(made)


@both_versions
async def test_clear_removes_a_stale_flag(tasker_db: TaskerDb, data: Data) -> None:
    made = data.task("refund", state="waiting_for_dependencies", steps={"check_return": pending(900, at_work=True)})
    locked = data.task("refund", steps={"check_return": claimed()})
    await tasker_db.write(data)
    assert await tasker_db.ready() == set()
    outcomes = await tasker_db.do("clear", tasker_db.step(made, "check_return"), tasker_db.step(locked, "check_return"))
    assert outcomes_of(outcomes) == {
        tasker_db.step(made, "check_return"): CHANGED,
        tasker_db.step(locked, "check_return"): REFUSED,
    }
    assert "in_progress" in refusal(outcomes, tasker_db.step(locked, "check_return"))
    assert await tasker_db.ready() == {made.id}


# Unstick, finalize, give up, priority


@both_versions
@pytest.mark.parametrize("state", ["initializing", "enqueuing_steps", "evaluating_results", "steps_in_process"])
async def test_unstick_moves_a_task_to_where_the_poller_finds_it(tasker_db: TaskerDb, data: Data, state: str) -> None:
    made = data.task("refund", state=state, ago=900, steps={"check_return": complete(950)})
    ended = data.task("refund", state=state, ago=900, rest=complete(950))
    broken = data.task("refund", state=state, ago=900, steps={"check_return": failed(950)})
    await tasker_db.write(data)
    assert await tasker_db.ready() == set()
    outcomes = await tasker_db.do("unstick", *map(tasker_db.task, (made, ended, broken)))
    assert set(outcomes_of(outcomes).values()) == {CHANGED}
    assert [await tasker_db.state(m) for m in (made, ended, broken)] == [
        "waiting_for_dependencies",
        "complete",
        "blocked_by_failures",
    ]
    assert await tasker_db.value("SELECT complete FROM tasks WHERE task_uuid = $1", ended.id) is True
    assert await tasker_db.ready() == {made.id}
    await tasker_db.sound()


async def test_unstick_refuses_tasks_that_make_progress(tasker_db: TaskerDb, data: Data) -> None:
    fresh = data.task("refund", state="evaluating_results", ago=10, steps={"check_return": complete()})
    flying = data.task("refund", ago=900, steps={"check_return": claimed()})
    idle = data.task("refund", state="waiting_for_dependencies", ago=900)
    bare = data.task("refund", state="initializing", ago=900)
    await tasker_db.write(data)
    outcomes = await tasker_db.do("unstick", *map(tasker_db.task, (fresh, flying, idle)))
    assert "orchestrator" in refusal(outcomes, tasker_db.task(fresh))
    assert "in flight" in refusal(outcomes, tasker_db.task(flying))
    assert "waiting_for_dependencies" in refusal(outcomes, tasker_db.task(idle))
    steps = list(bare.steps.values())
    for table, column in (
        ("workflow_step_edges", "to_step_uuid"),
        ("workflow_step_transitions", "workflow_step_uuid"),
        ("workflow_steps", "workflow_step_uuid"),
    ):
        await tasker_db.sql(f"DELETE FROM {table} WHERE {column} = ANY ($1::uuid[])", steps)
    outcomes = await tasker_db.do("unstick", tasker_db.task(bare))
    assert "no steps" in refusal(outcomes, tasker_db.task(bare))


@both_versions
@pytest.mark.parametrize("state", ["waiting_for_dependencies", "blocked_by_failures", "evaluating_results"])
async def test_finalize_completes_a_task_whose_steps_are_done(tasker_db: TaskerDb, data: Data, state: str) -> None:
    made = data.task("refund", state=state, ago=900, rest=complete(950))
    half = data.task("refund", state=state, ago=900, steps={"check_return": complete(950)})
    await tasker_db.write(data)
    outcomes = await tasker_db.do("finalize", tasker_db.task(made), tasker_db.task(half))
    assert outcomes_of(outcomes) == {tasker_db.task(made): CHANGED, tasker_db.task(half): REFUSED}
    assert "1 of 3" in why(outcomes, tasker_db.task(half))
    assert (await tasker_db.state(made), await tasker_db.status(made)) == ("complete", "all_complete")
    assert await tasker_db.value("SELECT complete FROM tasks WHERE task_uuid = $1", made.id) is True
    assert await tasker_db.messages("orchestration_task_finalizations") == [], (
        "a finalization message would end a blocked task"
    )
    await tasker_db.sound()


@both_versions
@pytest.mark.parametrize("end", ["error", "resolved_manually"])
async def test_give_up_ends_a_blocked_task(tasker_db: TaskerDb, data: Data, end: str) -> None:
    made, other = blocked(data), data.task("refund", state="waiting_for_dependencies")
    await tasker_db.write(data)
    outcomes = await tasker_db.do("give_up", tasker_db.task(made), tasker_db.task(other), **{"as": end})
    assert outcomes_of(outcomes) == {tasker_db.task(made): CHANGED, tasker_db.task(other): REFUSED}
    assert entered(outcomes, "task_transitions") == [("blocked_by_failures", end)]
    assert await tasker_db.step_state(made.steps["charge_card"]) == "error"


async def test_priority_affects_polling_order(tasker_db: TaskerDb, data: Data) -> None:
    first, second = (data.task("refund", state="pending", ago=30) for _ in range(2))
    await tasker_db.write(data)
    outcomes = await tasker_db.do("priority", tasker_db.task(second), priority=50)
    assert [c.table for c in outcomes.changes] == ["tasks"]
    assert await tasker_db.value("SELECT task_uuid FROM get_next_ready_tasks(1)") == second.id
    same = await tasker_db.do("priority", tasker_db.task(second), priority=50)
    assert "already" in refusal(same, tasker_db.task(second))
    wild = await tasker_db.do("priority", tasker_db.task(first), priority=1000)
    assert "-100" in refusal(wild, tasker_db.task(first))


# Messages


@both_versions
async def test_resend_sends_the_message_again(tasker_db: TaskerDb, data: Data) -> None:
    lost = data.task("refund", ago=900, steps={"check_return": enqueued(900)})
    undelivered = data.task("refund", ago=900, steps={"check_return": handed_in(900)})
    fine = data.task("refund", ago=900, steps={"check_return": enqueued(900)})
    data.message(fine, "check_return")
    await tasker_db.write(data)
    ids = [tasker_db.step(m, "check_return") for m in (lost, undelivered, fine)]
    states = await tasker_db.everything()
    outcomes = await tasker_db.do("resend", *ids)
    assert outcomes_of(outcomes) == {ids[0]: CHANGED, ids[1]: CHANGED, ids[2]: REFUSED}
    assert "worker_shop_queue" in refusal(outcomes, ids[2])
    (sent,) = [m for m in await tasker_db.messages(lost.queue) if json.loads(m["message"])["task_uuid"] == str(lost.id)]
    body = {
        "task_uuid": str(lost.id),
        "step_uuid": str(lost.steps["check_return"]),
        "correlation_id": str(lost.correlation),
    }
    assert json.loads(sent["message"]) == body
    assert [json.loads(m["message"])["task_uuid"] for m in await tasker_db.messages(RESULTS)] == [str(undelivered.id)]
    assert await tasker_db.everything() == states, "only messages"
    assert {c.table for c in outcomes.changes} == {"pgmq.q_worker_shop_queue", f"pgmq.q_{RESULTS}"}
    assert "worker_shop_queue" in refusal(await tasker_db.do("resend", ids[0]), ids[0])


async def test_two_operators_resend_it_once(tasker_db: TaskerDb, data: Data) -> None:
    made = data.task("refund", ago=900, steps={"check_return": enqueued(900)})
    await tasker_db.write(data)
    step = tasker_db.step(made, "check_return")
    one, two = await tasker_db.dry_run("resend", step), await tasker_db.dry_run("resend", step)
    assert outcomes_of(await loop.commit(tasker_db.workspace, one, OPERATOR)) == {step: CHANGED}
    assert outcomes_of(await loop.commit(tasker_db.workspace, two, OPERATOR))[step] in (
        STALE,
        REFUSED,
    )
    assert len(await tasker_db.messages(made.queue)) == 1


@both_versions
async def test_archive_removes_a_message_from_its_queue(tasker_db: TaskerDb, data: Data) -> None:
    ended = data.task("refund", state="cancelled", rest=cancelled())
    data.message(ended, "check_return", reads=40, age=900)
    data.message(ended, "refund_card", age=900)
    await tasker_db.write(data)
    bad, good = [f"tasker/message:{ended.queue}/{m['msg_id']}" for m in await tasker_db.messages(ended.queue)]
    outcomes = await tasker_db.do("archive", bad)
    assert outcomes_of(outcomes) == {bad: CHANGED}
    assert [(c.table, c.after) for c in outcomes.changes] == [(f"pgmq.q_{ended.queue}", None)]
    assert [f"tasker/message:{ended.queue}/{m['msg_id']}" for m in await tasker_db.messages(ended.queue)] == [good]
    assert await tasker_db.value(f'SELECT count(*) FROM pgmq."a_{ended.queue}"') == 1
    assert (await tasker_db.reader.nodes.read([bad, good])).nodes[0].id == good


@both_versions
async def test_a_message_read_meanwhile_is_archived_but_a_changed_one_is_not(tasker_db: TaskerDb, data: Data) -> None:
    ended = data.task("refund", state="cancelled", rest=cancelled())
    data.message(ended, "check_return", reads=40, age=900)
    await tasker_db.write(data)
    (message,) = [f"tasker/message:{ended.queue}/{m['msg_id']}" for m in await tasker_db.messages(ended.queue)]
    read = f"UPDATE pgmq.\"q_{ended.queue}\" SET read_ct = read_ct + 1, vt = now() + interval '30 s'"
    dry_run = await tasker_db.dry_run("archive", message)
    await tasker_db.sql(f"{read}, message = message || '{{\"other\": 1}}'")
    assert outcomes_of(await loop.commit(tasker_db.workspace, dry_run, OPERATOR)) == {message: STALE}
    for _ in range(20):
        await tasker_db.sql(read)
        dry_run = await tasker_db.dry_run("archive", message)
        await tasker_db.sql(read)
    assert outcomes_of(await loop.commit(tasker_db.workspace, dry_run, OPERATOR)) == {message: CHANGED}
    assert await tasker_db.messages(ended.queue) == []


@both_versions
async def test_restart_requests_a_new_task(tasker_db: TaskerDb, data: Data) -> None:
    made = data.task("refund", state="error", ago=900, context={"order_id": 7}, tags=("vip",))
    locked = data.task("refund", ago=5)
    await tasker_db.write(data)
    before = await tasker_db.row("SELECT * FROM tasks WHERE task_uuid = $1", made.id)
    outcomes = await tasker_db.do("restart", tasker_db.task(made), tasker_db.task(locked))
    assert outcomes_of(outcomes) == {tasker_db.task(made): CHANGED, tasker_db.task(locked): REFUSED}
    assert "steps_in_process" in refusal(outcomes, tasker_db.task(locked))
    after = await tasker_db.row("SELECT * FROM tasks WHERE task_uuid = $1", made.id)
    assert after["identity_hash"].startswith(before["identity_hash"] + ":superseded:")
    (sent,) = await tasker_db.messages("orchestration_task_requests")
    asked = json.loads(sent["message"])["task_request"]
    assert (asked["namespace"], asked["name"], asked["version"], asked["context"]) == (
        "shop",
        "refund",
        "1.0.0",
        {"order_id": 7},
    )
    assert asked["parent_correlation_id"] == str(before["correlation_id"]) != asked["correlation_id"]
    assert (asked["tags"], asked["initiator"]) == (["vip"], "anna@laptop")
    assert {c.table for c in outcomes.changes} == {"tasks", "pgmq.q_orchestration_task_requests"}
    again = await tasker_db.do("restart", tasker_db.task(made))
    assert "restarted" in refusal(again, tasker_db.task(made))


# Dead letters


@both_versions
async def test_revive_takes_a_task_out_of_error(tasker_db: TaskerDb, data: Data) -> None:
    """Reviving the task or the dead letter resolves the dead letter as well."""
    steps = {"check_return": complete(9000), "refund_card": failed(8000)}
    one, two = (data.task("refund", state="error", ago=7000, steps=steps) for _ in range(2))
    dead_letters = [data.dead_letter(m, age=7000) for m in (one, two)]
    old = data.dead_letter(one, age=90_000, decision="cancelled")
    await tasker_db.write(data)
    assert await tasker_db.ready() == set()
    by_dead_letter = await tasker_db.do(
        "revive", tasker_db.dead_letter(dead_letters[0]), note="gateway is back", name="Anna"
    )
    by_task = await tasker_db.do("revive", tasker_db.task(two))
    assert outcomes_of(by_dead_letter) == {tasker_db.dead_letter(dead_letters[0]): CHANGED}
    assert outcomes_of(by_task) == {tasker_db.task(two): CHANGED}
    assert await tasker_db.ready() == {one.id, two.id}
    assert await tasker_db.ready_steps(one) == {one.steps["refund_card"]}
    rows = [await tasker_db.row("SELECT * FROM tasks_dlq WHERE dlq_entry_uuid = $1", i) for i in (*dead_letters, old)]
    assert [r["resolution_status"] for r in rows] == ["manually_resolved", "manually_resolved", "cancelled"]
    assert (rows[0]["resolution_notes"], rows[0]["resolved_by"]) == ("gateway is back", "Anna")
    assert (rows[1]["resolution_notes"], rows[1]["resolved_by"]) == ("it was stuck", "anna@laptop")
    metadata = json.loads(rows[0]["metadata"])
    assert metadata["detection_method"] == "automatic_staleness", "merged, not replaced"
    assert metadata["unstick"]["action"] == "revive"
    assert {"tasks_dlq", "task_transitions", "workflow_steps", "workflow_step_transitions"} == {
        c.table for c in by_dead_letter.changes
    }
    await tasker_db.sound()


@both_versions
async def test_revive_moves_a_task_with_steps_in_flight_to_steps_in_process(tasker_db: TaskerDb, data: Data) -> None:
    made = data.task("refund", state="error", ago=900, steps={"check_return": claimed(1000)})
    done = data.task("refund", state="error", ago=900, rest=complete(1000))
    dead_letter = data.dead_letter(done)
    await tasker_db.write(data)
    outcomes = await tasker_db.do("revive", tasker_db.task(made), tasker_db.dead_letter(dead_letter))
    assert set(outcomes_of(outcomes).values()) == {CHANGED}
    assert (await tasker_db.state(made), await tasker_db.state(done)) == ("steps_in_process", "complete")


@pytest.mark.parametrize("state", ["blocked_by_failures", "complete", "waiting_for_dependencies"])
async def test_revive_is_for_tasks_in_error(tasker_db: TaskerDb, data: Data, state: str) -> None:
    made = data.task("refund", state=state)
    dead_letter = data.dead_letter(made)
    decided = data.dead_letter(data.task("refund", state="error"), decision="cancelled")
    await tasker_db.write(data)
    outcomes = await tasker_db.do(
        "revive", tasker_db.dead_letter(dead_letter), tasker_db.task(made), tasker_db.dead_letter(decided)
    )
    assert refusal(outcomes, tasker_db.dead_letter(dead_letter)) == refusal(outcomes, tasker_db.task(made))
    assert "cancelled" in refusal(outcomes, tasker_db.dead_letter(decided))


@both_versions
@pytest.mark.parametrize("decision", ["manually_resolved", "permanently_failed", "cancelled"])
async def test_resolve_changes_only_the_dead_letter(tasker_db: TaskerDb, data: Data, decision: str) -> None:
    made = data.task("refund", state="error")
    dead_letter = data.dead_letter(made)
    await tasker_db.write(data)
    before = await tasker_db.everything()
    outcomes = await tasker_db.do(
        "resolve", tasker_db.dead_letter(dead_letter), status=decision, note="void", name="Ben"
    )
    row = await tasker_db.row("SELECT * FROM tasks_dlq")
    assert (row["resolution_status"], row["resolution_notes"], row["resolved_by"]) == (decision, "void", "Ben")
    assert row["resolution_timestamp"] is not None
    assert set(json.loads(row["metadata"])) == {
        "detection_method",
        "time_in_state_minutes",
        "threshold_minutes",
        "unstick",
    }
    after = await tasker_db.everything()
    assert {t for t in before if before[t] != after[t]} == {"tasks_dlq"}
    assert [c.table for c in outcomes.changes] == ["tasks_dlq"]
    again = await tasker_db.do("resolve", tasker_db.dead_letter(dead_letter), status="cancelled")
    assert f"{decision} by Ben" in refusal(again, tasker_db.dead_letter(dead_letter))


async def test_resolve_requires_a_decision(tasker_db: TaskerDb, data: Data) -> None:
    dead_letter = data.dead_letter(data.task("refund", state="error"))
    await tasker_db.write(data)
    outcomes = await tasker_db.do("resolve", tasker_db.dead_letter(dead_letter), status="pending")
    assert outcomes_of(outcomes) == {tasker_db.dead_letter(dead_letter): REFUSED}


@both_versions
async def test_bury_writes_a_dead_letter_with_a_snapshot(tasker_db: TaskerDb, data: Data) -> None:
    made = blocked(data)
    await tasker_db.write(data)
    before = await tasker_db.everything()
    outcomes = await tasker_db.do("bury", tasker_db.task(made))
    row = await tasker_db.row("SELECT * FROM tasks_dlq")
    snapshot = json.loads(row["task_snapshot"])
    assert (row["dlq_reason"], row["original_state"], row["resolution_status"]) == (
        "manual_dlq",
        "blocked_by_failures",
        "pending",
    )
    assert (snapshot["namespace"], snapshot["task_name"], snapshot["current_state"]) == (
        "shop",
        "fulfil_order",
        "blocked_by_failures",
    )
    assert {s["name"]: s["state"] for s in snapshot["steps"]}["charge_card"] == "error"
    assert next(s["error"]["message"] for s in snapshot["steps"] if s["name"] == "charge_card") == "503 from upstream"
    assert snapshot["transitions"][0]["state"] == "blocked_by_failures"
    assert json.loads(row["metadata"])["operator"] == "anna@laptop"
    after = await tasker_db.everything()
    assert {t for t in before if before[t] != after[t]} == {"tasks_dlq"}
    assert outcomes_of(outcomes) == {tasker_db.task(made): CHANGED}
    again = await tasker_db.do("bury", tasker_db.task(made))
    assert "already" in refusal(again, tasker_db.task(made))


# All actions


@both_versions
async def test_a_node_without_a_current_transition_is_shown_and_refused(tasker_db: TaskerDb, data: Data) -> None:
    made = data.task(
        "refund",
        state="waiting_for_dependencies",
        ago=900,
        steps={"check_return": waiting(30, backoff=600)},
        current=False,
    )
    fine = data.task("refund", state="blocked_by_failures", ago=900, steps={"check_return": failed(900)})
    await tasker_db.write(data)
    await tasker_db.sql(
        "UPDATE workflow_step_transitions SET most_recent = false WHERE workflow_step_uuid = $1",
        fine.steps["check_return"],
    )
    for action, node in (
        ("wake", tasker_db.task(made)),
        ("cancel", tasker_db.task(made)),
        ("finalize", tasker_db.task(made)),
        ("bury", tasker_db.task(made)),
        ("retry", tasker_db.step(fine, "check_return")),
        ("skip", tasker_db.step(fine, "check_return")),
    ):
        assert "current" in refusal(await tasker_db.do(action, node), node), action
    nodes = (await tasker_db.reader.nodes.read([tasker_db.task(made), tasker_db.step(fine, "check_return")])).nodes
    assert [(n.status, n.phase) for n in nodes] == [("no current state", "unknown")] * 2
