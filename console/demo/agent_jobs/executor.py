"""The executors: the queue in Redis of which the table is a mirror, and one that polls the table itself.

The mirror knows two moments. Put into the queue, a job gets its row: where that INSERT fails, it runs without one. At
its end comes one UPDATE by the job's number in the queue, whatever the row says by then: where that fails, or the job
stalls twice and Redis ends it, the row stays pending. Nobody ever reads the table to find work.

An executor that polls the table is not known, only the shape of the table: this one takes the oldest pending job, and
ends it only if it still is the one that it took.
"""

from __future__ import annotations

from collections import deque
from datetime import datetime, timedelta
from importlib.resources import files
from typing import Final
from uuid import UUID

import asyncpg

from console.demo.engine import Connection, Statements
from queries.model import Record

SQL: Final = Statements(files("console.demo.agent_jobs").joinpath("statements.sql"))
CONCURRENCY: Final = 2


class Queued(Record):
    """A job as Redis has it. ``error``: how it will end, if badly. ``stalls``: its worker dies twice."""

    number: str
    error: str | None = None
    stalls: bool = False


class Bull:
    """A queue in Redis with its workers, as far as the table can tell. ``skew``: its clock against the server's."""

    def __init__(self, connection: Connection, *, first: int = 1, skew: timedelta = timedelta()) -> None:
        self._connection = connection
        self.next = first
        self._skew = skew
        self._waiting: deque[Queued] = deque()
        self._active: list[Queued] = []
        self.paused = False  # for all workers, until one starts
        self.swallowed = 0  # errors of the database that nobody hears of

    async def add(self, agent: UUID, user: UUID, *, error: str | None = None, stalls: bool = False) -> str:
        """Put a job into the queue, then write its row. Returns its number."""
        job = Queued(number=str(self.next), error=error, stalls=stalls)
        self.next += 1
        self._waiting.append(job)
        await self._write("insert", job.number, agent, user)
        return job.number

    def flush(self) -> None:
        """Redis is emptied: what waits is lost, and numbers begin again."""
        self._waiting.clear()
        self._active.clear()
        self.next = 1

    async def tick(self) -> int:
        """End what is active, then take what waits. Returns how many have ended."""
        active, self._active = self._active, []
        for job in active:
            if not job.stalls:
                await self.end(job)
        while self._waiting and not self.paused and len(self._active) < CONCURRENCY:
            self._active.append(self._waiting.popleft())
        return len(active)

    async def end(self, job: Queued) -> None:
        """Write a job's end, by its number, over whatever is there."""
        at: datetime = await self._connection.fetchval(SQL["clock"])
        await self._write("end", job.number, "failed" if job.error else "completed", job.error, at + self._skew)

    async def _write(self, statement: str, *values: object) -> None:
        try:
            await self._connection.execute(SQL[statement], *values)
        except asyncpg.IntegrityConstraintViolationError:
            self.swallowed += 1


class Claim(Record):
    """A job that an executor of the table has taken, and when."""

    id: UUID
    at: datetime


class Poller:
    """An executor that polls the table."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.ended: list[UUID] = []
        self.lost: list[UUID] = []  # taken away while it was at it

    async def claim(self) -> Claim | None:
        """Take the oldest pending job; None where there is none."""
        row = await self._connection.fetchrow(SQL["claim"])
        return Claim(id=row["id"], at=row["started_at"]) if row else None

    async def finish(self, claim: Claim, error: str | None = None) -> bool:
        """End a job. False where it is not ours any more."""
        status = "failed" if error else "completed"
        mine = await self._connection.fetchval(SQL["finish"], claim.id, claim.at, status, error) is not None
        (self.ended if mine else self.lost).append(claim.id)
        return mine
