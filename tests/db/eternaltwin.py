"""Write rows of eternaltwin, each with one readable call.

    job = await eternaltwin_db.job()
    task = await eternaltwin_db.task(job, status="Blocked", timer=30)
    outcomes = await do(workspace, "wake", [eternaltwin_db.id(task)])

Times are seconds from now; ages and polls count back.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

import asyncpg

LABEL = "eternaltwin"
TABLES = ("users", "job", "task", "task_timer")

WAITING = """
SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
 WHERE NOT l.granted AND a.datname = current_database()
"""
TASK = """
INSERT INTO task (task_id, job_id, kind, kind_version, created_at, polled_at, revision, status, cpu_duration,
                  poll_duration, state, output)
SELECT r.id, r.job, $3, $4, now() - make_interval(secs => $5),
       CASE WHEN $6::float8 IS NOT NULL THEN row(now() - make_interval(secs => $6::float8), $7::int4)::job_tick END,
       $8, $9::text::task_status, make_interval(secs => $10), make_interval(secs => $11), $12, $13
  FROM unnest($1::uuid[], $2::uuid[]) AS r (id, job)
"""


class EternaltwinDb:
    """Writer of rows over its own connection, as the engine or another client."""

    def __init__(self, connection: asyncpg.Connection[Any]) -> None:
        self.connection = connection
        self.sql = connection.execute
        self.value = connection.fetchval

    @classmethod
    async def open(cls, dsn: str, schema: str = "public") -> EternaltwinDb:
        """Connect to ``schema``; end with ``await eternaltwin_db.connection.close()``."""
        return cls(await asyncpg.connect(dsn, server_settings={"search_path": f'"{schema}"', "TimeZone": "UTC"}))

    async def waiting(self) -> int:
        """Return how many sessions of this database wait for a lock."""
        return int(await self.value(WAITING))

    async def jobs(self, number: int, *, age: float = 3600, state: bytes = b"{}") -> list[uuid.UUID]:
        """Insert jobs; return their ids in order."""
        ids = sorted(uuid.uuid4() for _ in range(number))
        await self.sql(
            "INSERT INTO job SELECT i, now() - make_interval(secs => $2), NULL, $3 FROM unnest($1::uuid[]) AS i",
            *(ids, age, state),
        )
        return ids

    async def job(self, **columns: Any) -> uuid.UUID:
        """Insert a job."""
        return (await self.jobs(1, **columns))[0]

    async def tasks(
        self,
        jobs: Sequence[uuid.UUID],
        *,
        kind: str = "SendEmail",
        version: int = 1,
        age: float = 600,
        polled: float | None = 1,
        salt: int = 7,
        revision: int = 3,
        status: str = "Available",
        cpu: float = 0.1,
        poll: float = 0.5,
        state: bytes = b'{"phase":"Deliver"}',
        output: bytes | None = None,
        timer: float | None = None,
    ) -> list[uuid.UUID]:
        """Insert a task for each job; ``timer`` is due in that many seconds."""
        ids = sorted(uuid.uuid4() for _ in jobs)
        times = (float(age), polled if polled is None else float(polled), salt)
        spent = (float(cpu), float(poll))
        await self.sql(TASK, ids, list(jobs), kind, version, *times, revision, status, *spent, state, output)
        if timer is not None:
            await self.timers(ids, timer)
        return ids

    async def task(self, job: uuid.UUID | None = None, **columns: Any) -> uuid.UUID:
        """Insert a task; default: in a new job."""
        return (await self.tasks([job or await self.job()], **columns))[0]

    async def timers(self, tasks: Iterable[uuid.UUID], due: float) -> None:
        """Insert a timer for each of these tasks."""
        insert = "INSERT INTO task_timer SELECT now() + make_interval(secs => $2), i FROM unnest($1::uuid[]) AS i"
        await self.sql(insert, list(tasks), float(due))

    @staticmethod
    def id(key: uuid.UUID, kind: str = "task", label: str = LABEL) -> str:
        """Return the console's id of a node."""
        return f"{label}/{kind}:{key}"

    async def row(self, task: uuid.UUID) -> Any:
        """Read a task and its number of timers; None if it is gone."""
        return await self.connection.fetchrow(
            "SELECT t.*, t.xmin::text, t.polled_at::text AS tick, (SELECT count(*) FROM task_timer m"
            " WHERE m.task_id = t.task_id) AS timers FROM task t WHERE t.task_id = $1",
            task,
        )

    async def rows(self, table: str, *, xmin: bool = True) -> list[str]:
        """Return all rows of a table as text, each with its xmin."""
        column = "t.xmin || ' ' || t::text" if xmin else "t::text"
        return [r[0] for r in await self.connection.fetch(f"SELECT {column} FROM {table} t ORDER BY t::text")]

    async def digest(self, tables: Iterable[str] = TABLES) -> str:
        """Return a digest of all rows of all tables, xmin included."""
        text = "\n".join([line for table in tables for line in (table, *await self.rows(table))])
        return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
