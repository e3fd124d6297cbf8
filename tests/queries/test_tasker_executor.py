"""The demo's tasker engine follows the protocol, also under random actions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import asyncpg
import pytest

from queries.change import loop
from queries.records.action import Outcome
from tests.db.tasker import TaskerDb
from tests.proof import one_in, proof
from tests.queries.builders import OPERATOR, outcomes_of
from tests.servers import both_versions
from tests.simulators.tasker import Simulation, Tasker
from tests.simulators.tasker.data import Data
from tests.simulators.tasker.orchestrator import Orchestrator
from tests.simulators.tasker.step_history import complete, enqueued, failed, pending, waiting
from tests.simulators.tasker.worker import Worker

SERVED = ("shop", "reports", "mail")


class Steady(Random):
    """Random source with which no handler fails."""

    def random(self) -> float:
        return 0.999


class Engine:
    """Orchestrator and worker, each on its own connection."""

    def __init__(self, one: asyncpg.Connection[Any], two: asyncpg.Connection[Any], rng: Random) -> None:
        self.orchestrator = Orchestrator(one, rng, thresholds=(60, 30, 30, 24))
        self.worker = Worker(two, rng, SERVED, batch=10)

    async def run(self, ticks: int) -> None:
        for _ in range(ticks):
            await self.orchestrator.tick()
            await self.worker.tick()

    async def until_quiet(self) -> None:
        """Run until neither has anything to do now."""
        still = 0
        while still < 10:
            locked = await self.orchestrator.tick() + await self.worker.tick() + len(self.worker.claimed)
            still = 0 if locked else still + 1


@pytest.fixture
async def engine(tasker_db: TaskerDb) -> AsyncIterator[Engine]:
    dsn = tasker_db.workspace.database.text
    connections = [await asyncpg.connect(dsn, server_settings={"TimeZone": "UTC"}) for _ in range(2)]
    yield Engine(connections[0], connections[1], Steady(1))
    for connection in connections:
        await connection.close()


FIXES = [
    ("retry", "blocked_by_failures", "refund_card", {"check_return": complete(), "refund_card": failed()}, {}),
    ("skip", "blocked_by_failures", "refund_card", {"check_return": complete(), "refund_card": failed()}, {}),
    (
        "complete",
        "blocked_by_failures",
        "refund_card",
        {"check_return": complete(), "refund_card": failed()},
        {"result": {"paid": 1}},
    ),
    (
        "complete",
        "blocked_by_failures",
        "refund_card",
        {"check_return": complete(), "refund_card": failed()},
        {"result": {"paid": 1}, "process": True},
    ),
    ("wake", "waiting_for_dependencies", "", {"check_return": waiting(5, backoff=9000)}, {}),
    ("clear", "waiting_for_dependencies", "check_return", {"check_return": pending(900, at_work=True)}, {}),
    ("unstick", "enqueuing_steps", "", {"check_return": complete()}, {}),
    ("unstick", "evaluating_results", "", {"check_return": complete()}, {}),
    ("resend", "steps_in_process", "check_return", {"check_return": enqueued(900)}, {}),
    ("revive", "error", "", {"check_return": complete(), "refund_card": failed()}, {}),
]


@pytest.mark.parametrize("fix", one_in(3, FIXES, unpacked=False), ids=lambda f: f"{f[0]}-{f[1]}")
async def test_repaired_tasks_run_to_their_end(tasker_db: TaskerDb, engine: Engine, fix: Any) -> None:
    action, state, node, steps, arguments = fix
    made = (data := Data(1)).task("refund", state=state, ago=900, steps=steps)
    await tasker_db.write(data)
    await engine.until_quiet()
    assert await tasker_db.state(made) == state, "nothing mends itself"
    name = tasker_db.step(made, node) if node else tasker_db.task(made)
    assert outcomes_of(await tasker_db.do(action, name, **arguments)) == {name: Outcome.CHANGED}
    await engine.until_quiet()
    assert await tasker_db.state(made) == "complete"
    await tasker_db.sound()


async def test_a_restarted_task_runs_as_a_new_task(tasker_db: TaskerDb, engine: Engine) -> None:
    made = (data := Data(1)).task("refund", state="error", ago=900, context={"order_id": 3})
    await tasker_db.write(data)
    await tasker_db.do("restart", tasker_db.task(made))
    await engine.until_quiet()
    rows = await tasker_db.connection.fetch("SELECT * FROM tasks ORDER BY task_uuid")
    assert [await tasker_db.state(r["task_uuid"]) for r in rows] == ["error", "complete"]
    assert rows[1]["parent_correlation_id"] == made.correlation
    assert json.loads(rows[1]["context"]) == {"order_id": 3}


async def test_a_released_step_ignores_the_old_worker_s_result(tasker_db: TaskerDb, engine: Engine) -> None:
    made = (data := Data(1)).task("refund", state="pending", ago=5)
    await tasker_db.write(data)
    await engine.orchestrator.tick()
    await engine.worker.tick()
    step = made.steps["check_return"]
    assert list(engine.worker.claimed) == [step]
    late = engine.worker.claimed.pop(step)
    assert outcomes_of(await tasker_db.do("release", tasker_db.step(made, "check_return"))) == {
        tasker_db.step(made, "check_return"): Outcome.CHANGED
    }
    assert late
    assert not await engine.worker.hand_in(step), "its result is refused"
    await engine.until_quiet()
    assert await tasker_db.state(made) == "complete"


# Random actions


ARGUMENTS: dict[str, dict[str, Any]] = {
    "complete": {"result": {"by": "hand"}},
    "resolve": {"status": "manually_resolved"},
    "skip": {"in_flight": True},
    "release": {"again": True},
}
DROPS = 60


@proof
@both_versions
async def test_random_actions_while_the_engine_runs(tasker_db: TaskerDb, engine: Engine) -> None:
    await Tasker().fill(tasker_db.connection, 1)
    await tasker_db.workspace.detect()  # the queues are new
    rng = Random(7)
    engine.worker._rng = rng
    locked = Simulation(engine.orchestrator._connection, rng)
    locked._orchestrator = engine.orchestrator
    stop = asyncio.Event()

    async def work() -> None:
        while not stop.is_set():
            if rng.random() < 0.3:
                await locked._arrive()
            await engine.orchestrator.tick()
            if rng.random() < 0.05:
                await engine.orchestrator.sweep()

    async def run_handlers() -> None:
        while not stop.is_set():
            await engine.worker.tick()

    done: list[tuple[str, Outcome]] = []

    async def rain() -> None:
        for drop in range(20 * DROPS):
            if drop >= DROPS and len({v for v, o in done if o is Outcome.CHANGED}) >= 5:
                break
            nodes = [n for n in (await tasker_db.reader.pages.live(limit=500)).nodes if n.kind in ("task", "step")]
            nodes += [x.node for x in (await tasker_db.reader.pages.dead()).dead_letters]
            node = rng.choice(nodes)
            actions = [
                v
                for v in tasker_db.reader.engine.actions_of(node.kind)
                if tasker_db.reader.availability(v, node).ok and v.name != "priority"
            ]
            if not actions:
                continue
            action = rng.choice(actions).name
            near = [n.id for n in rng.sample(nodes, 3) if n.kind == node.kind]
            dry_run = await tasker_db.dry_run(action, node.id, *near, **ARGUMENTS.get(action, {}))
            outcomes = await loop.commit(tasker_db.workspace, dry_run, OPERATOR)
            done.extend((action, o) for o in outcomes_of(outcomes).values())
            await _true(tasker_db, outcomes.changes)

    working = [asyncio.create_task(work()), asyncio.create_task(run_handlers())]
    try:
        await rain()
    finally:
        stop.set()
        await asyncio.gather(*working)
    # A conflict: the server aborted the transaction because of what the engine did at the same time.
    refused = {Outcome.STALE, Outcome.LOCKED, Outcome.REFUSED, Outcome.GONE, Outcome.CONFLICT}
    assert {o for _, o in done} <= {Outcome.CHANGED, *refused}
    assert len({v for v, o in done if o is Outcome.CHANGED}) >= 5, done
    entries, _ = await tasker_db.workspace.audit_log.page(limit=1000)
    assert sum(o is Outcome.CHANGED for _, o in done) == sum(
        r.outcome is Outcome.CHANGED for e in entries for r in e.results
    )
    for table, key in (("task_transitions", "task_uuid"), ("workflow_step_transitions", "workflow_step_uuid")):
        assert not await tasker_db.connection.fetch(
            f"SELECT {key} FROM {table} GROUP BY 1 HAVING count(*) FILTER (WHERE most_recent) > 1"
        )
    assert not await tasker_db.connection.fetch(
        "SELECT task_uuid FROM tasks_dlq WHERE resolution_status = 'pending' GROUP BY 1 HAVING count(*) > 1"
    )
    assert not await tasker_db.connection.fetch(
        "SELECT FROM task_transitions WHERE to_state = 'pending' AND transition_metadata ->> 'console' = 'unstick'"
    ), "never to pending"
    await engine.until_quiet()


async def _true(tasker_db: TaskerDb, changes: Any) -> None:
    """Check that each audited transition exists and follows its predecessor."""
    for change in changes:
        if change.before is None and change.table.endswith("_transitions"):
            key = "task_uuid" if change.table == "task_transitions" else "workflow_step_uuid"
            count = f"SELECT count(*) FROM {change.table} WHERE {change.table[:-1]}_uuid = $1::uuid"
            assert await tasker_db.value(count, change.key) == 1
            left = {  # by key, because steps of one task have its row in common
                c.key: c.before["to_state"]
                for c in changes
                if c.table == change.table and c.before and c.after and c.before[key] == change.after[key]
            }
            first = change.after["sort_key"] == 1  # first transition of a dynamic step
            assert [*left.values()] == ([] if first else [change.after["from_state"]])
            assert change.after["from_state"] == "pending" or not first
