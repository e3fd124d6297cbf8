"""Executor of eternaltwin: a single runner that works in ticks.

A tick is a time and a random salt. In one transaction, it deletes the due timers and makes their tasks Available. Then
it polls each Available task once, least recently polled first. A poll reads the row without a lock and computes the new
state. One transaction writes the state, the children, a timer and the parent's wake-up, but only if the revision has
not changed since the poll read it. Otherwise the runner discards the step without a message.
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

from tests.simulators.engine import Connection, Statements
from tests.simulators.eternaltwin import kinds

SQL: Final = Statements(files("tests.simulators.eternaltwin").joinpath("statements.sql"))
CONTENTION: Final = (asyncpg.DeadlockDetectedError, asyncpg.LockNotAvailableError, asyncpg.SerializationError)

log = logging.getLogger(__name__)


class Tick(NamedTuple):
    """Time of a tick, and a salt that distinguishes the ticks of a millisecond."""

    time: datetime
    salt: int


class Polled(NamedTuple):
    """A task as a poll read it. ``unfinished`` counts its incomplete children."""

    task_id: UUID
    job_id: UUID
    kind: str
    version: int
    revision: int
    state: bytes
    unfinished: int


class Runner:
    """A runner on one connection, driven by ``tick``.

    ``read`` and ``write`` are the halves of a poll.
    ``blind_before`` is a deliberate fault for the demo: the runner never takes timers that were due before that time.
    ``on_poll`` is called before each poll. ``misses`` counts the discarded steps.
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
        """Run a tick at the server's time or ``at``; return the number of steps written."""
        tick = Tick(at or await self._connection.fetchval(SQL["clock"]), self._rng.randrange(65536))
        await self._take_timers(tick)
        written = 0
        for task_id in [row[0] for row in await self._connection.fetch(SQL["available"], self._batch)]:
            polled = await self.read(task_id)
            if polled is not None:
                written += await self.write(polled, tick)
        return written

    async def read(self, task_id: UUID) -> Polled | None:
        """Read the task for a poll; return None if it is gone or no longer Available."""
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
        """Compute the step and write it; return False if it was discarded."""
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
            log.info("task %s is ignored: %s", task_id, reason)


def _columns(children: Iterable[kinds.Child]) -> list[list[Any]]:
    return [list(column) for column in zip(*((c.id, c.kind, c.version, c.state) for c in children), strict=True)]
