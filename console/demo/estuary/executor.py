"""An executor, as the engine's processes are: it takes what is due, keeps a heartbeat while it polls, and persists.

It takes tasks of its types that are due and whose heartbeat is older than the timeout (an idle task's is of year 1)
by writing a heartbeat of its own. While a poll lasts it renews that every half timeout, but only where it still is what
it wrote; where it is not, the poll is broken off. At the end everything a poll comes to is written in one transaction,
and the heartbeat goes. A poll that fails writes nothing: the task is tried again when its heartbeat has run out.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection
from importlib.resources import files
from random import Random
from typing import Any, Final

from console.demo.engine import Connection, Statements
from console.demo.estuary import kinds

SQL: Final = Statements(files("console.demo.estuary").joinpath("statements.sql"))

log = logging.getLogger(__name__)


class Held:
    """A task that this executor holds, as it was when it was taken. ``beat`` is when its heartbeat was written last."""

    def __init__(self, row: Any, now: float, ticks: int) -> None:
        self.id: str = row["task_id"]
        self.type: int = row["task_type"]
        self.parent: str | None = row["parent_id"]
        self.inbox: list[str | None] | None = row["inbox"]
        self.state: str | None = row["state"]
        self.heartbeat: str = row["heartbeat"]
        self.beat = now
        self.ticks = ticks


class Vanished(Exception):
    """A task was not there to be persisted; the whole poll is undone."""


class Executor:
    """One process on one connection. ``tick`` drives it.

    A poll lasts ``lasts(rng)`` ticks. ``on_take`` sees a task taken, ``on_end`` one let go and what became of its poll:
    ``persisted``, ``failed``, ``cancelled`` or ``vanished``, with its outcome.
    """

    def __init__(
        self,
        connection: Connection,
        rng: Random,
        *,
        types: Collection[int] = tuple(kinds.POLLS),
        timeout: float = 300.0,
        permits: int = 4,
        lasts: Callable[[Random], int] = lambda rng: rng.randint(1, 3),
        on_take: Callable[[Held], None] = lambda held: None,
        on_end: Callable[[Held, str, kinds.Outcome | None], None] = lambda held, end, outcome: None,
    ) -> None:
        self._connection = connection
        self._rng = rng
        self._types = sorted(types)
        self.timeout = timeout
        self._permits = permits
        self._lasts = lasts
        self._on_take, self._on_end = on_take, on_end
        self.held: dict[str, Held] = {}

    async def tick(self) -> int:
        """Renew heartbeats, end polls whose time has come, take what is due. Returns how many polls were persisted."""
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
        """Take so many tasks, longest due first."""
        if free <= 0:
            return
        for row in await self._connection.fetch(SQL["dequeue"], self._types, self.timeout, free):
            now = await self._connection.fetchval(SQL["clock"])
            held = Held(row, now, self._lasts(self._rng))
            self.held[held.id] = held
            self._on_take(held)

    async def beat(self, held: Held) -> bool:
        """Renew a heartbeat. False where it is not the one that was written: the poll must be broken off."""
        renewed = await self._connection.fetchval(SQL["beat"], held.id, held.heartbeat)
        held.heartbeat = renewed or held.heartbeat
        held.beat = await self._connection.fetchval(SQL["clock"])
        return renewed is not None

    async def poll(self, held: Held) -> bool:
        """Poll a task and persist what comes of it. False where the poll fails."""
        try:
            state = json.loads(held.state) if held.state is not None else None
            outcome = kinds.POLLS[held.type](state, kinds.decode(held.inbox, held.type), self._rng)
        except (kinds.CannotPoll, KeyError, TypeError, AttributeError) as reason:
            log.info("task %s will be retried after its heartbeat has run out: %s", held.id, reason)
            self._end(held, "failed")
            return False
        try:
            async with self._connection.transaction():
                await self._persist(held, outcome)
        except Vanished:
            self._end(held, "vanished", outcome)
            return False
        self._end(held, "persisted", outcome)
        return True

    async def _persist(self, held: Held, outcome: kinds.Outcome) -> None:
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
            raise Vanished(held.id)
        if outcome.done:
            if held.parent is not None:
                await send(SQL["send"], held.parent, held.id, None)
            await send(SQL["finish"], held.id)

    async def _alive(self, held: Held, now: float) -> bool:
        """Renew what is due for it. A heartbeat that could not be renewed in time is given up."""
        age = now - held.beat
        return age < 0.75 * self.timeout and (age < 0.5 * self.timeout or await self.beat(held))

    def _end(self, held: Held, end: str, outcome: kinds.Outcome | None = None) -> None:
        self.held.pop(held.id, None)
        self._on_end(held, end, outcome)
