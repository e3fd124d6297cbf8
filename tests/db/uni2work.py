"""Insert rows into uni2work's tables, one readable call each.

job = await uni2work_db.job({"job": "send-notification"}, held_by=DEAD, held=900)     # times are ages in seconds
outcomes = await do(workspace, "release", [uni2work_db.id(job)], {"gone": True}, LABEL)
"""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import asyncpg

LABEL = "uni2work"
LIVE, DEAD, OTHER = (UUID(f"{n}0000000-0000-4000-8000-00000000000{n}") for n in (1, 2, 3))
MAIL = {"job": "send-notification", "recipient": 4711}
CONSOLE = UUID("756e7374-6963-4b00-8000-000000000000")


class Uni2workDb:
    """Tables of one database, written as the engine or another client does."""

    def __init__(self, connection: asyncpg.Connection[Any]) -> None:
        self.connection = connection
        self.dsn = ""
        self.sql = connection.execute
        self.value = connection.fetchval

    @classmethod
    async def open(cls, dsn: str) -> Uni2workDb:
        return cls(await asyncpg.connect(dsn, server_settings={"TimeZone": "UTC"}))

    async def job(
        self,
        content: object = None,
        *,
        age: float = 30,
        held_by: UUID | None = None,
        held: float | None = None,
        cron: bool = False,
        creator: UUID = OTHER,
    ) -> int:
        """Insert a queued row. ``held``: age of its lock in seconds; default holder: DEAD."""
        holder = held_by or (DEAD if held is not None else None)
        text = content if isinstance(content, str) else json.dumps(MAIL if content is None else content)
        return int(
            await self.value(
                "INSERT INTO queued_job (content, creation_instance, creation_time, lock_instance, lock_time,"
                " write_last_exec) VALUES ($1::text::jsonb, $2, now() - make_interval(secs => $3), $4,"
                " now() - make_interval(secs => $5), $6) RETURNING id",
                *(text, creator, float(age), holder, held if held is None else float(held), cron),
            )
        )

    async def jobs(self, number: int, **columns: Any) -> list[int]:
        return [await self.job({"job": "send-notification", "recipient": n}, **columns) for n in range(number)]

    async def cron(self, job: object, *, age: float = 86400, instance: UUID = OTHER) -> int:
        """Insert a record of a last execution."""
        text = job if isinstance(job, str) else json.dumps(job)
        return int(
            await self.value(
                "INSERT INTO cron_last_exec (job, time, instance)"
                " VALUES ($1::text::jsonb, now() - make_interval(secs => $2), $3) RETURNING id",
                *(text, float(age), instance),
            )
        )

    async def bucket(self, ident: str, value: int, age: float = 60) -> str:
        insert = "INSERT INTO token_bucket VALUES ($1, $2, now() - make_interval(secs => $3))"
        await self.sql(insert, ident, value, float(age))
        return f"{LABEL}/bucket:{ident}"

    @staticmethod
    def id(key: object, kind: str = "job") -> str:
        return f"{LABEL}/{kind}:{key}"

    async def row(self, job: int) -> Any:
        """Return a queued row with its content as text and its ``xmin``, or None."""
        return await self.connection.fetchrow(
            "SELECT q.*, q.content::text AS content, q.xmin::text AS xmin FROM queued_job q WHERE id = $1", job
        )

    async def entry(self, job: object) -> Any:
        """Return the record of the last execution of this content."""
        text = job if isinstance(job, str) else json.dumps(job)
        return await self.connection.fetchrow(
            "SELECT c.*, c.job::text AS job, c.xmin::text AS xmin, now() - c.time AS ago FROM cron_last_exec c"
            " WHERE job = $1::text::jsonb",
            text,
        )

    async def everything(self) -> list[str]:
        """Return all rows of all tables as text, each with its ``xmin``."""
        tables = ("queued_job", "cron_last_exec", "token_bucket")
        select = " UNION ALL ".join(f"SELECT '{t} ' || x.xmin || ' ' || x::text AS row FROM {t} x" for t in tables)
        return sorted(r["row"] for r in await self.connection.fetch(select))
