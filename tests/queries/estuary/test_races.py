"""Races between actions and executors that run the engine's own statements."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from random import Random
from typing import Any

import asyncpg
import pytest

from queries.change import loop
from queries.records.action import Outcome
from queries.workspace import Workspace
from tests.db.estuary import LABEL, ZERO, EstuaryDb, digest
from tests.queries.builders import OPERATOR, dry_run_of, outcomes_of
from tests.queries.estuary.test_actions import SHARD, apply
from tests.simulators.estuary.executor import Executor, HeldTask

CHANGED, REFUSED, STALE = Outcome.CHANGED, Outcome.REFUSED, Outcome.STALE


class Engine:
    """Two executors on separate connections, and a clock that the test moves."""

    def __init__(self, one: Any, two: Any, estuary_db: EstuaryDb) -> None:
        self.estuary_db = estuary_db
        self.ends: list[tuple[str, str]] = []

        def end(held: HeldTask, how: str, outcome: object) -> None:
            self.ends.append((held.id, how))

        self.one = Executor(one, Random(1), poll_ticks=lambda rng: 1, on_end=end)
        self.two = Executor(two, Random(2), poll_ticks=lambda rng: 1, on_end=end)

    async def taken(self, task: str) -> HeldTask:
        """Let the first executor take the task."""
        await self.one.take(9)
        return self.one.held[task]

    async def pass_(self, seconds: float) -> None:
        """Move the time forward for rows and executors."""
        for task in [r[0] for r in await self.estuary_db.connection.fetch("SELECT task_id::text FROM tasks")]:
            await self.estuary_db.age(task, seconds)
        for held in [*self.one.held.values(), *self.two.held.values()]:
            held.beat -= seconds
            text = await self.estuary_db.value(
                "SELECT ($1::text::timestamptz - make_interval(secs => $2))::text", held.heartbeat, float(seconds)
            )
            held.heartbeat = text


@pytest.fixture
async def engine(estuary: str, estuary_db: EstuaryDb) -> AsyncIterator[Engine]:
    settings = {"TimeZone": "UTC"}
    connections = [await asyncpg.connect(estuary, server_settings=settings) for _ in range(2)]
    yield Engine(*connections, estuary_db)
    for connection in connections:
        await connection.close()


async def test_a_release_above_the_timeout_hands_over(
    engine: Engine, estuary_db: EstuaryDb, workspace: Workspace
) -> None:
    task = await estuary_db.task(wake=-1, state={"messages_processed": 0, "total_failures": 0, "total_successes": 0})
    held = await engine.taken(task)
    await engine.pass_(301)
    assert (await apply(workspace, "release", task))[0] is CHANGED
    await engine.two.take(9)
    assert list(engine.two.held) == [task]
    await engine.one.tick()
    assert engine.ends == [(task, "cancelled")], "the first executor aborted by the engine's rule"
    assert not await engine.one.beat(held), "and could not come back"
    await engine.two.tick()
    assert engine.ends[1:] == [(task, "persisted")]


@pytest.mark.parametrize(
    ("action", "arguments"), [("release", {}), ("drop", {"position": 1, "digest": digest('"poison"')})]
)
async def test_early_is_when_the_executor_has_given_up(
    engine: Engine, estuary_db: EstuaryDb, workspace: Workspace, action: str, arguments: Any
) -> None:
    """The heartbeat of a failing task is older than the timeout only for short times."""
    task = await estuary_db.task(wake=-1, inbox=['"poison"', (ZERO, SHARD)])
    held = await engine.taken(task)
    await engine.pass_(220)
    assert (await apply(workspace, action, task, early=True, **arguments))[0] is REFUSED, "it may still be polled"
    await engine.pass_(10)
    outcome, because = await apply(workspace, action, task, **arguments)
    assert (outcome, "early" in because) == (REFUSED, True)
    assert (await apply(workspace, action, task, early=True, **arguments))[0] is CHANGED
    await engine.one.tick()
    assert engine.ends == [(task, "cancelled")]
    assert engine.one.held.get(task) is not held


async def test_a_fence_breaks_the_poll_off_and_admits_no_other(
    engine: Engine, estuary_db: EstuaryDb, workspace: Workspace
) -> None:
    task = await estuary_db.task(wake=-1)
    await engine.taken(task)
    await engine.pass_(149)
    assert (await apply(workspace, "fence", task))[0] is CHANGED
    await engine.two.take(9)
    assert engine.two.held == {}
    held = engine.one.held[task]
    held.beat -= 2
    await engine.one.tick()
    assert engine.ends == [(task, "cancelled")]
    await engine.two.take(9)
    assert engine.two.held == {}, "not before the timeout has passed since the fence"
    await engine.pass_(301)
    await engine.two.take(9)
    assert list(engine.two.held) == [task]


async def test_a_poll_that_ends_before_it_meets_the_fence_counts(
    engine: Engine, estuary_db: EstuaryDb, workspace: Workspace
) -> None:
    task = await estuary_db.task(wake=-1, inbox=[(ZERO, SHARD)])
    held = await engine.taken(task)
    assert (await apply(workspace, "fence", task))[0] is CHANGED
    assert await engine.one.poll(held)
    after = await estuary_db.row(task)
    assert after["idle"]
    assert after["inbox"] is None
    assert json.loads(after["state"])["messages_processed"] == 1


async def test_a_message_sent_while_it_is_polled_is_read_next(
    engine: Engine, estuary_db: EstuaryDb, workspace: Workspace
) -> None:
    task = await estuary_db.task(wake=-1, inbox=[(ZERO, SHARD)])
    held = await engine.taken(task)
    assert (await apply(workspace, "send", task, message={"type": "config_updated"}))[0] is CHANGED
    assert await engine.one.poll(held)
    after = await estuary_db.row(task)
    assert [json.loads(e)[1] for e in after["inbox"]] == [{"type": "config_updated"}]
    assert after["inbox_next"] is None
    assert after["due"] <= 0


@pytest.mark.parametrize("age", [10, 301])
async def test_a_held_task_whose_executor_dies_is_still_taken_over(
    engine: Engine, estuary_db: EstuaryDb, workspace: Workspace, age: float
) -> None:
    """No executor would take a task that was parked during a poll."""
    task = await estuary_db.task(wake=-1)
    await engine.taken(task)
    await engine.pass_(age)
    assert (await apply(workspace, "park", task))[0] is REFUSED
    await engine.pass_(301)
    await engine.two.take(9)
    assert list(engine.two.held) == [task]


async def _dequeue(engine: Engine, task: str) -> None:
    await engine.one.take(9)


async def _message(engine: Engine, task: str) -> None:
    await engine.estuary_db.send(task, SHARD)


async def _persist(engine: Engine, task: str) -> None:
    await engine.one.take(9)
    await engine.one.tick()


@pytest.mark.parametrize("meanwhile", [_dequeue, _message, _persist])
@pytest.mark.parametrize("action", ["park", "restart", "delete", "drop"])
async def test_a_task_that_went_on_since_it_was_shown_is_left_alone(
    engine: Engine,
    estuary_db: EstuaryDb,
    workspace: Workspace,
    action: str,
    meanwhile: Callable[[Engine, str], Awaitable[None]],
) -> None:
    task = await estuary_db.task(wake=-1, inbox=[(ZERO, SHARD)] if action == "drop" else None)
    named = await estuary_db.named(task, 1)
    dry_run = await dry_run_of(workspace, action, [estuary_db.id(task)], {**named, "decodable": True}, LABEL)
    assert set(outcomes_of(dry_run).values()) == {CHANGED}
    await meanwhile(engine, task)
    before = await estuary_db.digest()
    outcomes = await loop.commit(workspace, dry_run, OPERATOR)
    assert outcomes_of(outcomes) == {estuary_db.id(task): STALE}
    assert await estuary_db.digest() == before
