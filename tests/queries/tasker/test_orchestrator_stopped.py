"""No orchestrator is running: overdue tasks and unread messages are found."""

from __future__ import annotations

import pytest

from tests.db.tasker import TaskerDb
from tests.proof import one_in
from tests.queries.test_tasker_executor import Engine
from tests.servers import both_versions
from tests.simulators.tasker.data import Data
from tests.simulators.tasker.protocol import FINALIZATIONS, REQUESTS, RESULTS
from tests.simulators.tasker.step_history import StepHistory, complete, failed, handed_in, pending, unwritten, waiting

MINUTE, HOUR = 60.0, 3600.0
LATE: list[tuple[str, str, float, dict[str, StepHistory], float]] = [
    ("refund", "pending", 2 * HOUR, {}, 2 * HOUR),
    ("refund", "waiting_for_dependencies", 40 * MINUTE, {"check_return": pending(HOUR)}, 40 * MINUTE),
    ("refund", "waiting_for_dependencies", 40 * MINUTE, {"check_return": complete(20 * MINUTE)}, 20 * MINUTE),
    (
        "refund",
        "waiting_for_dependencies",
        40 * MINUTE,
        {"check_return": waiting(30 * MINUTE, backoff=600)},
        20 * MINUTE,
    ),
    ("refund", "waiting_for_retry", 25 * MINUTE, {"check_return": waiting(25 * MINUTE, backoff=1)}, 25 * MINUTE),
    (
        "review_return",
        "waiting_for_dependencies",
        40 * MINUTE,
        {"inspect_parcel": complete(HOUR), "decide_return": complete(HOUR), "restock": unwritten(30 * MINUTE)},
        30 * MINUTE,
    ),
]


@both_versions
@pytest.mark.parametrize("case", one_in(4, LATE, unpacked=False), ids=lambda c: f"{c[0]}-{c[1]}-{c[4]}")
async def test_overdue_tasks_are_found(
    tasker_db: TaskerDb, data: Data, engine: Engine, case: tuple[str, str, float, dict[str, StepHistory], float]
) -> None:
    name, state, ago, steps, since = case
    made = data.task(name, state=state, ago=ago, age=3 * HOUR, steps=steps)
    await tasker_db.write(data)
    assert made.id in await tasker_db.ready(), "the engine's own view"
    for asked in ((), (tasker_db.task(made),)):
        found = [f for f in (await tasker_db.findings(*asked)).findings if f.code == "not_picked_up"]
        assert [f.node_id for f in found] == [tasker_db.task(made)]
        assert found[0].since is not None
        assert (await tasker_db.findings()).at - found[0].since == pytest.approx(since, abs=30)
    await engine.orchestrator.tick()
    assert "not_picked_up" not in {c for _, c in await tasker_db.codes()}


@both_versions
async def test_tasks_that_are_not_due_are_not_found(tasker_db: TaskerDb, data: Data) -> None:
    data.task("refund", state="pending", ago=60)
    data.task("refund", state="waiting_for_dependencies", ago=40 * MINUTE, steps={"check_return": complete(30)})
    data.task(
        "refund", state="waiting_for_dependencies", ago=40 * MINUTE, steps={"check_return": waiting(HOUR, backoff=3590)}
    )
    data.task(
        "refund", state="waiting_for_dependencies", ago=40 * MINUTE, steps={"check_return": waiting(60, backoff=9000)}
    )
    data.task("refund", state="waiting_for_dependencies", ago=70 * MINUTE, steps={"check_return": pending(2 * HOUR)})
    data.task(
        "nightly_report",
        state="waiting_for_dependencies",
        ago=40 * MINUTE,
        steps={"open_books": complete(HOUR), "sum_region_east": failed(HOUR)},
    )
    await tasker_db.write(data)
    assert {c for _, c in await tasker_db.codes()} & {"not_picked_up"} == set()


@both_versions
@pytest.mark.parametrize("queue", [RESULTS, REQUESTS, FINALIZATIONS])
async def test_unread_messages_are_found(tasker_db: TaskerDb, data: Data, engine: Engine, queue: str) -> None:
    made = data.task("refund", ago=20 * MINUTE, steps={"check_return": handed_in(20 * MINUTE)})
    for age in (20 * MINUTE, 10 * MINUTE):
        data.message(made, "check_return", age=age, queue=queue)
    await tasker_db.write(data)
    first = f"tasker/message:{queue}/1"
    for asked in ((), (first,)):
        found = [f for f in (await tasker_db.findings(*asked)).findings if f.code == "no_orchestrator"]
        assert [(f.node_id, f.evidence["messages"]) for f in found] == [(first, 2)]
    await engine.orchestrator.tick()
    assert "no_orchestrator" not in {c for _, c in await tasker_db.codes()}


async def test_read_or_fresh_messages_are_not_found(tasker_db: TaskerDb, data: Data) -> None:
    made = data.task("refund", ago=20 * MINUTE, steps={"check_return": handed_in(20 * MINUTE)})
    data.message(made, "check_return", age=20 * MINUTE, reads=1, queue=RESULTS)
    data.message(made, "check_return", age=60, queue=RESULTS)
    await tasker_db.write(data)
    assert await tasker_db.codes() == set()
