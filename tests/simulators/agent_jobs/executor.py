"""Executors of agent_jobs: a queue in Redis, and an executor that polls the table.

The mirror is written at two moments. The application inserts the row after it puts a job into the queue; if the INSERT
fails, the job runs without a row. At the end, the application updates the row by the job's number in the queue, without
a check of the row's status. The row stays pending if this UPDATE fails, or if the job stalls twice and Redis ends it.
No process reads the table to find work.

No real executor that polls the table is known, only the table's columns. The one here takes the oldest pending job, and
ends it only if the row still shows its own claim.
"""

from __future__ import annotations

from collections import deque
from datetime import datetime, timedelta
from importlib.resources import files
from typing import Final
from uuid import UUID

import asyncpg

from queries.records.record import Record
from tests.simulators.engine import Connection, Statements

SQL: Final = Statements(files("tests.simulators.agent_jobs").joinpath("statements.sql"))
CONCURRENCY: Final = 2


class QueuedJob(Record):
    """A job in Redis.

    ``error`` is the message of a job that will fail. ``stalls`` means that its worker dies twice.
    """

    number: str
    error: str | None = None
    stalls: bool = False


class RedisQueue:
    """A queue in Redis with its workers. ``skew`` is the offset of its clock."""

    def __init__(self, connection: Connection, *, first: int = 1, skew: timedelta = timedelta()) -> None:
        self._connection = connection
        self.next = first
        self._skew = skew
        self._waiting: deque[QueuedJob] = deque()
        self._active: list[QueuedJob] = []
        self.paused = False  # for all workers
        self.swallowed = 0  # errors of the database that the application ignores

    async def add(self, agent: UUID, user: UUID, *, error: str | None = None, stalls: bool = False) -> str:
        """Put a job into the queue, insert its row, and return its number."""
        job = QueuedJob(number=str(self.next), error=error, stalls=stalls)
        self.next += 1
        self._waiting.append(job)
        await self._write("insert", job.number, agent, user)
        return job.number

    def flush(self) -> None:
        """Empty Redis: waiting jobs are lost, and numbers restart at 1."""
        self._waiting.clear()
        self._active.clear()
        self.next = 1

    async def tick(self) -> int:
        """End active jobs, then start waiting ones; return the number of ended jobs."""
        active, self._active = self._active, []
        for job in active:
            if not job.stalls:
                await self.end(job)
        while self._waiting and not self.paused and len(self._active) < CONCURRENCY:
            self._active.append(self._waiting.popleft())
        return len(active)

    async def end(self, job: QueuedJob) -> None:
        """Record the end of a job by its number, without a check of the row's status."""
        at: datetime = await self._connection.fetchval(SQL["clock"])
        await self._write("end", job.number, "failed" if job.error else "completed", job.error, at + self._skew)

    async def _write(self, statement: str, *values: object) -> None:
        try:
            await self._connection.execute(SQL[statement], *values)
        except asyncpg.IntegrityConstraintViolationError:
            self.swallowed += 1


class Claim(Record):
    """A job that the executor has claimed, and the time of the claim."""

    id: UUID
    at: datetime


class Poller:
    """An executor that polls the table."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.ended: list[UUID] = []
        self.lost: list[UUID] = []  # another process took the job away during its execution

    async def claim(self) -> Claim | None:
        """Claim the oldest pending job; return None if no job is pending."""
        row = await self._connection.fetchrow(SQL["claim"])
        return Claim(id=row["id"], at=row["started_at"]) if row else None

    async def finish(self, claim: Claim, error: str | None = None) -> bool:
        """End a job; return False if the claim was lost."""
        status = "failed" if error else "completed"
        mine = await self._connection.fetchval(SQL["finish"], claim.id, claim.at, status, error) is not None
        (self.ended if mine else self.lost).append(claim.id)
        return mine
