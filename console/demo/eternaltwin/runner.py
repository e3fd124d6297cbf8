"""The executor: a single runner that goes forward in ticks, as the engine's schema implies.

A tick is a moment and a random salt. It takes the timers that are due, deletes them and makes their tasks Available,
in one transaction; then it polls each task that was Available, least recently polled first, once. A poll reads the
row without a lock, computes the new state, and writes it in one transaction with whatever belongs to it - children,
a timer, the parent's wake-up - but only if the revision is still the one it read. If not, somebody else was faster
and the step is thrown away without a word.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from datetime import datetime
from importlib.resources import files
from random import Random
from typing import Any, Final, NamedTuple
from uuid import UUID

import asyncpg

from console.demo.engine import Connection, Statements
from console.demo.eternaltwin import kinds

SQL: Final = Statements(files("console.demo.eternaltwin").joinpath("statements.sql"))
CONTENTION: Final = (asyncpg.DeadlockDetectedError, asyncpg.LockNotAvailableError, asyncpg.SerializationError)

log = logging.getLogger(__name__)


class Tick(NamedTuple):
    """When, and which of the ticks in that millisecond."""

    time: datetime
    salt: int


class Polled(NamedTuple):
    """A task as a poll read it, and how many of its children are not complete."""

    task_id: UUID
    job_id: UUID
    kind: str
    version: int
    revision: int
    state: bytes
    unfinished: int


class Runner:
    """One runner on one connection. ``tick`` drives it; ``read`` and ``write`` are the halves of a poll.

    ``blind_before`` is a fault for the demo: timers that fell due before then are never taken. ``on_poll`` sees
    every task that is about to be polled. ``misses`` counts the steps that were thrown away.
    """

    def __init__(
        self,
        connection: Connection,
        rng: Random,
        *,
        blind_before: datetime | None = None,
        batch: int = 200,
        on_poll: Callable[[Polled], None] | None = None,
    ) -> None:
        self._connection = connection
        self._rng = rng
        self._blind_before = blind_before
        self._batch = batch
        self._on_poll = on_poll
        self._refused: set[UUID] = set()
        self.polls = 0
        self.misses = 0

    async def tick(self, at: datetime | None = None) -> int:
        """One tick, at the server's time or ``at``. Returns how many steps were written."""
        tick = Tick(at or await self._connection.fetchval(SQL["clock"]), self._rng.randrange(65536))
        await self._take_timers(tick)
        written = 0
        for task_id in [row[0] for row in await self._connection.fetch(SQL["available"], self._batch)]:
            polled = await self.read(task_id)
            if polled is not None:
                written += await self.write(polled, tick)
        return written

    async def read(self, task_id: UUID) -> Polled | None:
        """What a poll starts from. None where the task is gone or no longer Available."""
        row = await self._connection.fetchrow(SQL["read"], task_id)
        if row is None:
            return None
        try:
            children = kinds.children_of(kinds.decode(row["state"]))
        except kinds.CannotPoll:
            children = []
        unfinished = await self._connection.fetchval(SQL["unfinished"], children) if children else 0
        task = (row["task_id"], row["job_id"], row["kind"], row["kind_version"], row["revision"], row["state"])
        return Polled(*task, unfinished)

    async def write(self, polled: Polled, tick: Tick) -> bool:
        """The other half: compute the step and write it. False where it was thrown away or the code cannot poll it."""
        try:
            step = kinds.poll(polled.task_id, polled.kind, polled.version, polled.state, polled.unfinished, self._rng)
        except kinds.CannotPoll as reason:
            self._refuse(polled.task_id, reason)
            return False
        if self._on_poll is not None:
            self._on_poll(polled)
        self.polls += 1
        try:
            async with self._connection.transaction():
                written = await self._write(polled, step, tick)
        except CONTENTION:
            written = False
        self.misses += not written
        return written

    async def _write(self, polled: Polled, step: kinds.Step, tick: Tick) -> bool:
        values = (step.status, step.state, step.output, step.cpu, step.poll)
        if await self._connection.fetchval(SQL["write"], polled.task_id, polled.revision, *tick, *values) is None:
            return False
        if step.children:
            await self._connection.execute(SQL["spawn"], polled.job_id, tick.time, *_columns(step.children))
        if step.sleep is not None:
            await self._connection.execute(SQL["sleep"], polled.task_id, tick.time, step.sleep)
        if step.parent is not None:
            await self._connection.execute(SQL["wake"], [step.parent])
        return True

    async def _take_timers(self, tick: Tick) -> None:
        try:
            async with self._connection.transaction():
                due = await self._connection.fetch(SQL["take_timers"], tick.time, self._blind_before)
                if due:
                    await self._connection.execute(SQL["wake"], [row[0] for row in due])
        except CONTENTION:
            return  # the next tick takes them

    def _refuse(self, task_id: UUID, reason: kinds.CannotPoll) -> None:
        if task_id not in self._refused:
            self._refused.add(task_id)
            log.info("task %s is left as it is: %s", task_id, reason)


def _columns(children: Iterable[kinds.Child]) -> list[list[Any]]:
    return [list(column) for column in zip(*((c.id, c.kind, c.version, c.state) for c in children), strict=True)]
