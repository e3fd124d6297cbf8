"""The executor: instances of one application that share a queue and know nothing of each other but its locks.

An instance offers every row to its workers, oldest first. A worker locks a row in a SERIALIZABLE transaction - a lock
of another instance is respected for ever, an old one of its own is taken over - and then does the job: either in one
SERIALIZABLE transaction with the row's deletion, or first the job and then the deletion. Success deletes the row and,
for cron's jobs, records the execution. Failure takes the lock away and leaves the row for the next flush.
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

from console.demo.engine import Connection, Statements
from queries.model import Record

SQL: Final = Statements(files("console.demo.uni2work").joinpath("statements.sql"))
CONTENTION: Final = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError)
STALE: Final = 300.0  # seconds after which an instance takes over a lock of its own
TRIES: Final = 5
# The kinds that the running code can read; those in ATOMIC are done in one transaction with the row's deletion.
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
    """A row that this instance has locked."""

    id: int
    content: str
    write_last_exec: bool

    @property
    def kind(self) -> str:
        """The kind of the job. ValueError where the code cannot read it."""
        content = msgspec.json.decode(self.content)
        kind = content.get("job") if isinstance(content, dict) else None
        if not isinstance(kind, str) or kind not in KINDS:
            raise ValueError(f"no such job: {self.content[:80]}")
        return kind


Work = Callable[[Job], Awaitable[None]]


async def nothing(_: Job) -> None:
    """A job that succeeds without an effect that the database would know."""


class Instance:
    """One instance on one connection.

    ``work`` raises JobFailed where a job fails. ``aborted`` counts jobs that the database broke off: what they did
    outside of it is then done again. ``done`` counts executions by row.
    """

    def __init__(self, connection: Connection, uuid: UUID, *, work: Work = nothing) -> None:
        self.uuid = uuid
        self.aborted = 0
        self.done: Counter[int] = Counter()
        self._connection = connection
        self._work = work
        self._invalid: set[int] = set()

    async def flush(self, most: int = 1000) -> int:
        """Offer every row to a worker, do at most so many jobs. Returns how many succeeded."""
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
        """Lock a row. None where it is gone, locked, or nothing the code can read."""
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
            log.warning("job %s: taking over a stale lock of our own", job_id)
        job = Job(id=job_id, content=row["content"], write_last_exec=row["write_last_exec"])
        try:
            _ = job.kind
        except ValueError as reason:
            if job_id not in self._invalid:
                self._invalid.add(job_id)
                log.info("job %s is left as it is: %s", job_id, reason)
            return None
        await self._connection.execute(SQL["lock"], job_id, self.uuid)
        return job

    async def perform(self, job: Job) -> bool:
        """Do a job that is locked. False where it failed: then its row is unlocked again."""
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
        """Insert a row. Returns its id; None where cron has queued the same already."""
        text = msgspec.json.encode(content).decode()
        job: int | None = await self._connection.fetchval(SQL["queue"], text, self.uuid, cron)
        return job


class JobFailed(Exception):
    """A job ended with an exception. Nothing of that reaches the database: it is in the application's log."""
