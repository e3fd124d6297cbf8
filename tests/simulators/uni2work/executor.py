"""Executor of uni2work: instances of one application that share a queue.

An instance sees the others only by their locks. It offers every row to its workers, oldest first. A worker locks a row
in a SERIALIZABLE transaction. It never takes over a lock of another instance, but it takes over an old lock of its own
instance. Then it executes the job, either in one SERIALIZABLE transaction with the row's deletion, or before the
deletion. Success deletes the row and, for cron jobs, records the execution. Failure releases the lock and leaves the
row for the next flush.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any, Final
from uuid import UUID

import asyncpg
import msgspec

from queries.records.record import Record
from tests.simulators.engine import Connection, Statements

SQL: Final = Statements(files("tests.simulators.uni2work").joinpath("statements.sql"))
CONTENTION: Final = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError)
STALE: Final = 300.0  # seconds after which an instance takes over a lock of its own
TRIES: Final = 5
# Kinds that the code can read. A job in ATOMIC runs in one transaction with the row's deletion.
ATOMIC: Final = frozenset({"distribute-corrections", "queue-notification", "prune-session-files", "prune-invitations"})
KINDS: Final = ATOMIC | {
    "send-notification",
    "send-test-email",
    "help-request",
    "send-course-communication",
    "send-password-reset",
    "synchronise-ldap",
    "synchronise-ldap-user",
    "prune-unreferenced-files",
    "rechunk-files",
    "detect-missing-files",
    "truncate-transaction-log",
}

log = logging.getLogger(__name__)


class Job(Record):
    """A row that the instance has locked."""

    id: int
    content: str
    write_last_exec: bool

    @property
    def kind(self) -> str:
        """The kind of the job. Raises ValueError if the code cannot read it."""
        content = msgspec.json.decode(self.content)
        kind = content.get("job") if isinstance(content, dict) else None
        if not isinstance(kind, str) or kind not in KINDS:
            raise ValueError(f"no such job: {self.content[:80]}")
        return kind


Work = Callable[[Job], Awaitable[None]]


async def nothing(_: Job) -> None:
    """Execute a job that succeeds and has no effect on the database."""


class Instance:
    """An instance of the application on one connection.

    ``work`` executes a job and raises JobFailed if it fails. ``aborted`` counts jobs whose transaction the database
    aborted; they run again, effects outside the database included. ``done`` counts executions by row.
    """

    def __init__(self, connection: Connection, uuid: UUID, *, work: Work = nothing) -> None:
        self.uuid = uuid
        self.aborted = 0
        self.done: Counter[int] = Counter()
        self._connection = connection
        self._work = work
        self._invalid: set[int] = set()

    async def flush(self, most: int = 1000) -> int:
        """Execute at most ``most`` jobs; return the number of successes."""
        succeeded = tried = 0
        for job_id in [row["id"] for row in await self._connection.fetch(SQL["offered"])]:
            job = await self.lock(job_id)
            if job is not None:
                tried += 1
                succeeded += await self.perform(job)
            if tried >= most:
                break
        return succeeded

    async def lock(self, job_id: int) -> Job | None:
        """Lock a row; return None if it is gone, locked or not readable by the code."""
        for _ in range(TRIES):
            try:
                async with self._connection.transaction(isolation="serializable"):
                    return await self._lock(job_id)
            except CONTENTION:
                continue
        return None

    async def _lock(self, job_id: int) -> Job | None:
        row = await self._connection.fetchrow(SQL["look"], job_id, STALE)
        if row is None:
            return None
        if (row["lock_instance"], row["lock_time"]) != (None, None):
            if row["lock_instance"] != self.uuid or not row["stale"]:
                return None
            log.warning("job %s: taking over a stale lock of this instance", job_id)
        job = Job(id=job_id, content=row["content"], write_last_exec=row["write_last_exec"])
        try:
            _ = job.kind
        except ValueError as reason:
            if job_id not in self._invalid:
                self._invalid.add(job_id)
                log.info("job %s is ignored: %s", job_id, reason)
            return None
        await self._connection.execute(SQL["lock"], job_id, self.uuid)
        return job

    async def perform(self, job: Job) -> bool:
        """Execute a locked job. On failure, release the lock and return False."""
        try:
            if job.kind in ATOMIC:
                async with self._connection.transaction(isolation="serializable"):
                    await self._connection.fetchrow(SQL["look"], job.id, STALE)
                    await self._work(job)
                    await self._finish(job)
            else:
                await self._work(job)
                async with self._connection.transaction(isolation="serializable"):
                    await self._connection.fetchrow(SQL["look"], job.id, STALE)
                    await self._finish(job)
        except CONTENTION:
            self.aborted += 1
        except JobFailed as failure:
            log.info("job %s: %s", job.id, failure)
        else:
            self.done[job.id] += 1
            return True
        await self._connection.execute(SQL["unlock"], job.id, self.uuid)
        return False

    async def _finish(self, job: Job) -> None:
        await self._connection.execute(SQL["delete"], job.id)
        if job.write_last_exec:
            await self._connection.execute(SQL["record"], job.content, self.uuid)

    async def queue(self, content: dict[str, Any], *, cron: bool = False) -> int | None:
        """Insert a row and return its id, or None if cron has queued the same job already."""
        text = msgspec.json.encode(content).decode()
        job: int | None = await self._connection.fetchval(SQL["queue"], text, self.uuid, cron)
        return job


class JobFailed(Exception):
    """A job failed. Only the application's log records it, not the database."""
