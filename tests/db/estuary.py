"""Write rows of estuary in readable calls, as the engine or another client.

task = await estuary_db.task(2, wake=-10)                    # seconds from now; None: suspended
task = await estuary_db.task(1, wake=-100, beat=20)          # held, its heartbeat 20 seconds old
task = await estuary_db.task(2, inbox=[("...", {"type": "shard_failed"})])
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import asyncpg

LABEL = "estuary"
ZERO = "00:00:00:00:00:00:00:00"
COLUMNS = (
    "task_id::text, task_type, parent_id::text, inner_state::text AS state, wake_at::text, heartbeat::text,"
    " heartbeat = '0001-01-01T00:00:00Z' AS idle, inbox::text[], inbox_next::text[], xmin::text AS version,"
    " extract(epoch FROM wake_at)::float8 - extract(epoch FROM now())::float8 AS due,"
    " extract(epoch FROM now())::float8 - extract(epoch FROM heartbeat)::float8 AS age"
)
INSERT = """
INSERT INTO tasks (task_id, task_type, parent_id, inner_state, wake_at, heartbeat, inbox, inbox_next)
VALUES (coalesce($1::text::macaddr8, id_generator()), $2, $3::text::macaddr8, $4::text::json,
        CASE WHEN $5::text IS NOT NULL THEN $5::text::timestamptz ELSE now() + make_interval(secs => $6::float8) END,
        CASE WHEN $7::text IS NOT NULL THEN $7::text::timestamptz
             ELSE coalesce(now() - make_interval(secs => $8::float8), '0001-01-01T00:00:00Z') END,
        $9::text[]::json[], $10::text[]::json[])
RETURNING task_id::text
"""

Message = tuple[str, Any] | str | None


def element(message: Message) -> str | None:
    """Return an element of an inbox: a sender's message, or any JSON text."""
    return json.dumps([message[0], message[1]]) if isinstance(message, tuple) else message


def digest(stored: str | None) -> str:
    """Return the digest that identifies a message, together with its position."""
    return hashlib.sha256(("NULL" if stored is None else stored).encode()).hexdigest()[:16]


class EstuaryDb:
    """Writer of rows over its own connection."""

    def __init__(self, connection: asyncpg.Connection[Any]) -> None:
        self.connection = connection
        self.sql = connection.execute
        self.value = connection.fetchval

    @classmethod
    async def open(cls, dsn: str, schema: str = "public") -> EstuaryDb:
        """Connect to ``schema``; end with ``await estuary_db.connection.close()``."""
        return cls(await asyncpg.connect(dsn, server_settings={"search_path": f'"{schema}"', "TimeZone": "UTC"}))

    async def task(
        self,
        type_: int = 2,
        *,
        parent: str | None = None,
        state: Any = None,
        wake: float | str | None = None,
        beat: float | str | None = None,
        inbox: Sequence[Message] | None = None,
        inbox_next: Sequence[Message] | None = None,
        id_: str | None = None,
    ) -> str:
        """Insert a task.

        ``wake`` is seconds from now, ``beat`` the age of the heartbeat; both can be PostgreSQL's text instead.
        """
        raw = state if isinstance(state, str) else None if state is None else json.dumps(state)
        boxes = [None if box is None else [element(message) for message in box] for box in (inbox, inbox_next)]
        times = [part for at in (wake, beat) for part in ((at, None) if isinstance(at, str) else (None, at))]
        return str(await self.value(INSERT, id_, type_, parent, raw, *times, *boxes))

    async def row(self, task: str) -> Any:
        """Read a task; None if it is gone."""
        return await self.connection.fetchrow(f"SELECT {COLUMNS} FROM tasks WHERE task_id = $1::text::macaddr8", task)

    async def named(self, task: str, position: int) -> dict[str, Any]:
        """Return the arguments that identify a message in a task's inbox."""
        inbox = (await self.row(task))["inbox"] or []
        stored = inbox[position - 1] if 0 < position <= len(inbox) else None
        return {"position": position, "digest": digest(stored)}

    async def digest(self) -> list[str]:
        """Return all rows of all tables as text, each with its xmin."""
        tables = ("tasks", "live_specs", "data_planes")
        return [
            r[0]
            for t in tables
            for r in await self.connection.fetch(f"SELECT xmin || ' ' || t::text FROM {t} t ORDER BY 1")
        ]

    async def age(self, task: str, seconds: float) -> None:
        """Age a task: move its heartbeat and wake_at back."""
        await self.sql(
            "UPDATE tasks SET wake_at = wake_at - make_interval(secs => $2), heartbeat = CASE WHEN heartbeat ="
            " '0001-01-01T00:00:00Z' THEN heartbeat ELSE heartbeat - make_interval(secs => $2) END"
            " WHERE task_id = $1::text::macaddr8",
            *(task, float(seconds)),
        )

    async def send(self, task: str, message: Any, sender: str = ZERO) -> None:
        """Send a message with the engine's function."""
        await self.sql(
            "SELECT send_to_task($1::text::macaddr8, $2::text::macaddr8, $3::text::json)",
            task,
            sender,
            json.dumps(message),
        )

    @staticmethod
    def id(task: str, label: str = LABEL) -> str:
        """Return the console's id of a task."""
        return f"{label}/task:{task}"
