"""Executor of estuary: take due tasks, renew heartbeats, persist outcomes.

The executor takes due tasks of its types whose heartbeat is older than the timeout; an idle task's heartbeat is in the
year 1. It takes a task by writing a heartbeat. During a poll, it renews the heartbeat every half timeout. If the
heartbeat is not the one that it wrote, the executor cancels the poll. At the end, one transaction writes the outcome
and resets the heartbeat. A failed poll writes nothing: the task is polled again after the heartbeat times out.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection
from importlib.resources import files
from random import Random
from typing import Any, Final

from tests.simulators.engine import Connection, Statements
from tests.simulators.estuary import kinds

SQL: Final = Statements(files("tests.simulators.estuary").joinpath("statements.sql"))

log = logging.getLogger(__name__)


class HeldTask:
    """A task that the executor has taken, with its row at that time.

    ``beat`` is the time of the last heartbeat.
    """

    def __init__(self, row: Any, now: float, ticks: int) -> None:
        self.id: str = row["task_id"]
        self.type: int = row["task_type"]
        self.parent: str | None = row["parent_id"]
        self.inbox: list[str | None] | None = row["inbox"]
        self.state: str | None = row["state"]
        self.heartbeat: str = row["heartbeat"]
        self.beat = now
        self.ticks = ticks


class TaskVanished(Exception):
    """The task is gone. The transaction that persists its poll is rolled back."""


class Executor:
    """A process of the engine on one connection, driven by ``tick``.

    A poll takes ``poll_ticks(rng)`` ticks. ``on_take`` is called for each task taken. ``on_end`` is called for each
    task released, with the end (``persisted``, ``failed``, ``cancelled`` or ``vanished``) and the outcome.
    """

    def __init__(
        self,
        connection: Connection,
        rng: Random,
        *,
        types: Collection[int] = tuple(kinds.POLLS),
        timeout: float = 300.0,
        permits: int = 4,
        poll_ticks: Callable[[Random], int] = lambda rng: rng.randint(1, 3),
        on_take: Callable[[HeldTask], None] = lambda held: None,
        on_end: Callable[[HeldTask, str, kinds.Outcome | None], None] = lambda held, end, outcome: None,
    ) -> None:
        self._connection = connection
        self._rng = rng
        self._types = sorted(types)
        self.timeout = timeout
        self._permits = permits
        self._poll_ticks = poll_ticks
        self._on_take, self._on_end = on_take, on_end
        self.held: dict[str, HeldTask] = {}

    async def tick(self) -> int:
        """Renew heartbeats, end polls, take due tasks; return the number of polls."""
        now = await self._connection.fetchval(SQL["clock"])
        persisted = 0
        for held in list(self.held.values()):
            held.ticks -= 1
            if not await self._alive(held, now):
                self._end(held, "cancelled")
            elif held.ticks <= 0:
                persisted += await self.poll(held)
        await self.take(self._permits - len(self.held))
        return persisted

    async def take(self, free: int) -> None:
        """Take at most ``free`` tasks, longest due first."""
        if free <= 0:
            return
        for row in await self._connection.fetch(SQL["dequeue"], self._types, self.timeout, free):
            now = await self._connection.fetchval(SQL["clock"])
            held = HeldTask(row, now, self._poll_ticks(self._rng))
            self.held[held.id] = held
            self._on_take(held)

    async def beat(self, held: HeldTask) -> bool:
        """Renew a heartbeat; return False if another process has changed it.

        The poll must then be cancelled.
        """
        renewed = await self._connection.fetchval(SQL["beat"], held.id, held.heartbeat)
        held.heartbeat = renewed or held.heartbeat
        held.beat = await self._connection.fetchval(SQL["clock"])
        return renewed is not None

    async def poll(self, held: HeldTask) -> bool:
        """Poll a task and persist the outcome; return False if the poll fails."""
        try:
            state = json.loads(held.state) if held.state is not None else None
            outcome = kinds.POLLS[held.type](state, kinds.decode(held.inbox, held.type), self._rng)
        except (kinds.CannotPoll, KeyError, TypeError, AttributeError) as reason:
            log.info("task %s will be retried after its heartbeat times out: %s", held.id, reason)
            self._end(held, "failed")
            return False
        try:
            async with self._connection.transaction():
                await self._persist(held, outcome)
        except TaskVanished:
            self._end(held, "vanished", outcome)
            return False
        self._end(held, "persisted", outcome)
        return True

    async def _persist(self, held: HeldTask, outcome: kinds.Outcome) -> None:
        send = self._connection.execute
        if outcome.spawn is not None:
            child = await self._connection.fetchval(SQL["new_id"])
            await send(SQL["create"], child, outcome.spawn.type, held.id)
            await send(SQL["send"], child, held.id, json.dumps(outcome.spawn.message))
        if outcome.yields is not None and held.parent is not None:
            await send(SQL["send"], held.parent, held.id, json.dumps(outcome.yields))
        rest = [json.dumps([sender, message]) for sender, message in outcome.rest] or None
        again = outcome.spawn is not None or outcome.yields is not None or rest is not None
        sleep = None if outcome.done else 0.0 if again else outcome.sleep
        state = None if outcome.done or outcome.state is None else json.dumps(outcome.state)
        idle = await self._connection.fetchval(SQL["persist"], held.id, rest, state, sleep)
        if idle is None:
            raise TaskVanished(held.id)
        if outcome.done:
            if held.parent is not None:
                await send(SQL["send"], held.parent, held.id, None)
            await send(SQL["finish"], held.id)

    async def _alive(self, held: HeldTask, now: float) -> bool:
        """Renew an old heartbeat; return False if it was lost or is too old."""
        age = now - held.beat
        return age < 0.75 * self.timeout and (age < 0.5 * self.timeout or await self.beat(held))

    def _end(self, held: HeldTask, end: str, outcome: kinds.Outcome | None = None) -> None:
        self.held.pop(held.id, None)
        self._on_end(held, end, outcome)
