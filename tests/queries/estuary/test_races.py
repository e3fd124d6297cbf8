"""Races between actions and executors that run the engine's own statements."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from random import Random
from typing import Any

import asyncpg
import pytest

from queries.change import loop
from queries.records.action import Outcome
from queries.workspace import Workspace
from tests.db.estuary import LABEL, ZERO, EstuaryDb, digest
from tests.queries.builders import OPERATOR, do, dry_run_of, outcomes_of, seen
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


@pytest.mark.parametrize("age", [0, 149, 295])
async def test_no_release_lets_a_second_executor_in(
    engine: Engine, estuary_db: EstuaryDb, workspace: Workspace, age: float
) -> None:
    task = await estuary_db.task(wake=-1)
    await engine.taken(task)
    await engine.pass_(age)
    assert (await apply(workspace, "release", task))[0] is REFUSED
    await engine.two.take(9)
    assert engine.two.held == {}


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


async def test_a_poll_under_way_is_not_robbed_of_its_row(
    engine: Engine, estuary_db: EstuaryDb, workspace: Workspace
) -> None:
    task = await estuary_db.task(wake=-1)
    held = await engine.taken(task)
    assert (await apply(workspace, "delete", task))[0] is REFUSED
    assert await engine.one.poll(held)
    assert engine.ends == [(task, "persisted")]


@pytest.mark.parametrize(
    ("action", "arguments"),
    [("wake", {"regardless": True}), ("park", {}), ("restart", {}), ("drop", {"position": 1, "digest": "-"})],
)
async def test_nothing_is_written_that_the_holder_would_overwrite(
    engine: Engine, estuary_db: EstuaryDb, workspace: Workspace, action: str, arguments: Any
) -> None:
    task = await estuary_db.task(wake=-1, inbox=[(ZERO, SHARD)])
    await engine.taken(task)
    before = await estuary_db.digest()
    assert (await apply(workspace, action, task, **arguments))[0] is REFUSED
    assert await estuary_db.digest() == before


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


async def test_a_release_keeps_messages_in_their_order(
    engine: Engine, estuary_db: EstuaryDb, workspace: Workspace
) -> None:
    task = await estuary_db.task(wake=-1)
    await estuary_db.send(task, {"type": "republish", "reason": "1"})
    await engine.taken(task)
    await estuary_db.send(task, {"type": "republish", "reason": "2"})
    await engine.pass_(301)
    await apply(workspace, "release", task)
    await estuary_db.send(task, {"type": "republish", "reason": "3"})
    await engine.two.take(9)
    inbox = engine.two.held[task].inbox
    assert inbox is not None
    assert [json.loads(e or "")[1]["reason"] for e in inbox] == ["1", "2", "3"]


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


@pytest.mark.parametrize("action", ["wake", "send", "park", "restart", "delete"])
async def test_no_lock_is_held_while_a_person_thinks(
    engine: Engine, estuary_db: EstuaryDb, workspace: Workspace, action: str
) -> None:
    """A lock would hide the task from executors and block triggers that send to it."""
    task = await estuary_db.task(wake=60)
    before = await estuary_db.digest()
    dry_run = await dry_run_of(workspace, action, [estuary_db.id(task)], {"message": SHARD}, LABEL)
    assert set(outcomes_of(dry_run).values()) == {CHANGED}
    assert await estuary_db.digest() == before, "a dry run changes no row"
    await estuary_db.sql("SET lock_timeout = '1ms'")
    await estuary_db.send(task, SHARD)
    await engine.one.take(9)
    assert list(engine.one.held) == [task]


@pytest.mark.parametrize("action", ["wake", "send", "park", "restart", "delete"])
async def test_a_locked_row_is_not_waited_for(
    estuary_db: EstuaryDb, estuary: str, workspace: Workspace, action: str
) -> None:
    task = await estuary_db.task(wake=60)
    other = await estuary_db.task(wake=60)
    was = await seen(workspace, [estuary_db.id(task), estuary_db.id(other)], LABEL)
    holder = await asyncpg.connect(estuary)
    async with holder.transaction():
        await holder.execute("SELECT FROM tasks WHERE task_id = $1::text::macaddr8 FOR UPDATE", task)
        began = time.monotonic()
        outcomes = await asyncio.wait_for(do(workspace, action, was, {"message": SHARD}, LABEL), 10)
        assert time.monotonic() - began < 5
    assert outcomes_of(outcomes) == {estuary_db.id(task): Outcome.LOCKED, estuary_db.id(other): CHANGED}
    await holder.close()


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


async def test_of_two_consoles_one_is_late(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    task = await estuary_db.task(wake=600)
    first, second = [await dry_run_of(workspace, "wake", [estuary_db.id(task)], None, LABEL) for _ in range(2)]
    assert outcomes_of(await loop.commit(workspace, first, OPERATOR)) == {estuary_db.id(task): CHANGED}
    assert outcomes_of(await loop.commit(workspace, second, OPERATOR)) == {estuary_db.id(task): STALE}
