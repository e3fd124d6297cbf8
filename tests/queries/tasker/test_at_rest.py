"""State evaluating_results with a step in flight is healthy, without one stuck."""

from __future__ import annotations

from typing import Any

import pytest

from queries.records.action import Outcome
from tests.db.tasker import TaskerDb
from tests.proof import most_in_proof
from tests.queries.builders import outcomes_of, why
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
    waiting,
)

MINUTE, HOUR = 60.0, 3600.0
EAST, WEST, SOUTH, NORTH = (f"sum_region_{r}" for r in ("east", "west", "south", "north"))
REGIONS = {"open_books": complete(50 * MINUTE), EAST: complete(15 * MINUTE), SOUTH: complete(15 * MINUTE)}
REGIONS[WEST] = complete(15 * MINUTE)


@both_versions
@pytest.mark.parametrize("shape", [claimed(20 * MINUTE), enqueued(20 * MINUTE), handed_in(50)])
async def test_with_a_step_in_flight_it_is_healthy(tasker_db: TaskerDb, data: Data, shape: StepHistory) -> None:
    made = data.task("nightly_report", state="evaluating_results", ago=15 * MINUTE, steps={**REGIONS, NORTH: shape})
    for queue in (None, RESULTS):
        data.message(made, NORTH, reads=1, queue=queue)
    await tasker_db.write(data)
    assert await tasker_db.codes() == set()
    task = tasker_db.task(made)
    outcomes = await tasker_db.do("unstick", task)
    assert outcomes_of(outcomes) == {task: Outcome.REFUSED}
    assert "in flight" in why(outcomes, task)
    assert await tasker_db.state(made) == "evaluating_results"


async def test_without_a_step_in_flight_it_is_stuck(tasker_db: TaskerDb, data: Data) -> None:
    made = data.task("nightly_report", state="evaluating_results", ago=15 * MINUTE, steps=REGIONS)
    await tasker_db.write(data)
    task = tasker_db.task(made)
    assert (task, "orchestrator_gone") in await tasker_db.codes()
    assert (task, "orchestrator_gone") in await tasker_db.codes(task)
    assert outcomes_of(await tasker_db.do("unstick", task)) == {task: Outcome.CHANGED}
    assert await tasker_db.ready() == {made.id}


@both_versions
async def test_the_demo_s_engine_leaves_it_there_until_the_next_result(
    tasker_db: TaskerDb, data: Data, engine: Engine
) -> None:
    made = data.task("nightly_report", state="waiting_for_dependencies", ago=60, steps={"open_books": complete(90)})
    await tasker_db.write(data)
    await engine.run(2)
    slow = made.steps[NORTH]
    assert slow in engine.worker.claimed
    engine.worker.claimed[slow] = 30
    await engine.run(12)
    assert list(engine.worker.claimed) == [slow], "its branch is longer than the others"
    assert await tasker_db.state(made) == "evaluating_results"
    assert await tasker_db.ready() == set()
    await engine.until_quiet()
    assert await tasker_db.state(made) == "complete"


REST: list[tuple[str, str, StepHistory, dict[str, Any]]] = [
    ("release", NORTH, claimed(45 * MINUTE), {}),
    ("wake", NORTH, waiting(60, backoff=9000), {}),
    ("retry", NORTH, failed(60), {}),
    ("clear", NORTH, pending(HOUR, at_work=True), {}),
    ("skip", NORTH, claimed(45 * MINUTE), {"in_flight": True}),
    ("complete", NORTH, claimed(45 * MINUTE), {"in_flight": True, "result": 1}),
]


@both_versions
@pytest.mark.parametrize("ago", [5.0, 120.0])
@pytest.mark.parametrize("case", most_in_proof(REST, 3, unpacked=False), ids=lambda c: c[0])
async def test_a_task_that_no_poller_finds_is_moved(
    tasker_db: TaskerDb, data: Data, engine: Engine, case: Any, ago: float
) -> None:
    action, step, shape, arguments = case
    made = data.task("nightly_report", state="evaluating_results", ago=ago, steps={**REGIONS, step: shape})
    await tasker_db.write(data)
    assert outcomes_of(await tasker_db.do(action, tasker_db.step(made, step), **arguments)) == {
        tasker_db.step(made, step): Outcome.CHANGED
    }
    assert await tasker_db.state(made) == "waiting_for_dependencies"
    assert await tasker_db.ready() == {made.id}
    await engine.until_quiet()
    assert await tasker_db.state(made) == "complete"


@pytest.mark.parametrize("state", ["evaluating_results", "steps_in_process"])
async def test_the_result_of_a_step_in_flight_continues_the_task(
    tasker_db: TaskerDb, data: Data, engine: Engine, state: str
) -> None:
    made = data.task(
        "nightly_report",
        state=state,
        ago=60,
        steps={**REGIONS, WEST: handed_in(5), NORTH: claimed(45 * MINUTE)},
    )
    data.message(made, WEST, age=1, queue=RESULTS)
    await tasker_db.write(data)
    assert outcomes_of(await tasker_db.do("release", tasker_db.step(made, NORTH))) == {
        tasker_db.step(made, NORTH): Outcome.CHANGED
    }
    assert await tasker_db.state(made) == state
    await engine.until_quiet()
    assert await tasker_db.state(made) == "complete"


async def test_the_last_step_ends_the_task(tasker_db: TaskerDb, data: Data) -> None:
    steps = {"check_return": complete(90), "refund_card": complete(60), "notify_customer": claimed(45 * MINUTE)}
    made = data.task("refund", state="evaluating_results", ago=120, steps=steps)
    await tasker_db.write(data)
    step = tasker_db.step(made, "notify_customer")
    assert outcomes_of(await tasker_db.do("skip", step, in_flight=True)) == {step: Outcome.CHANGED}
    assert await tasker_db.state(made) == "complete"
    assert await tasker_db.value("SELECT complete FROM tasks WHERE task_uuid = $1", made.id)


async def test_a_remaining_failure_blocks_the_task_as_in_the_engine(tasker_db: TaskerDb, data: Data) -> None:
    made = data.task(
        "nightly_report",
        state="evaluating_results",
        ago=120,
        steps={**REGIONS, WEST: failed(60), NORTH: claimed(45 * MINUTE)},
    )
    await tasker_db.write(data)
    assert outcomes_of(await tasker_db.do("release", tasker_db.step(made, NORTH))) == {
        tasker_db.step(made, NORTH): Outcome.CHANGED
    }
    assert await tasker_db.state(made) == "blocked_by_failures"


# Batches


@both_versions
async def test_a_batch_that_makes_progress_is_not_orphaned(tasker_db: TaskerDb, data: Data) -> None:
    live = claimed(50 * MINUTE, checkpoint={"cursor": 7}, stamped=20)
    quiet = claimed(50 * MINUTE, checkpoint={"cursor": 7}, stamped=40 * MINUTE)
    tasks = [
        data.task("newsletter", ago=20 * MINUTE, age=2 * HOUR, steps={"render": complete(HOUR), "deliver_batch": shape})
        for shape in (live, quiet)
    ]
    await tasker_db.write(data)
    codes = {(n, c) for n, c in await tasker_db.codes() if c in ("owner_dead", "batch_stalled")}
    step = tasker_db.step(tasks[1], "deliver_batch")
    assert codes == {(step, "owner_dead"), (step, "batch_stalled")}
    assert await tasker_db.codes(tasker_db.step(tasks[0], "deliver_batch")) == set()
