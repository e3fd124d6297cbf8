"""How the engine writes: blind transitions, flags in statements of their own, messages after that.

A transition reads the next number, leaves the current row behind and inserts its successor, in one transaction; the
state it starts from was read before. Nothing compares. Whoever overlaps loses against the unique index on the current
row (`Overtaken`), whoever merely comes in between is overwritten.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, Final
from uuid import UUID

import asyncpg

from console.demo.engine import Connection, Statements

SQL: Final = Statements(files("console.demo.tasker").joinpath("statements.sql"))
RESULTS: Final = "orchestration_step_results"
FINALIZATIONS: Final = "orchestration_task_finalizations"
REQUESTS: Final = "orchestration_task_requests"
VISIBILITY: Final = 30
TERMINAL: Final = frozenset({"complete", "error", "cancelled", "resolved_manually"})

Overtaken = (asyncpg.UniqueViolationError, asyncpg.LockNotAvailableError)


class Protocol:
    """What orchestrator and worker have in common, on one connection. ``overtaken`` counts lost transitions."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.overtaken = 0

    async def ready(self) -> None:
        """The engine's connections are in UTC, whatever the server says: its times have no zone."""
        await self._connection.execute("SET TimeZone = 'UTC'")

    async def task_state(self, task: UUID) -> str:
        """No row reads as pending."""
        return await self._connection.fetchval(SQL["task_state"], task) or "pending"

    async def step_state(self, step: UUID) -> str:
        return await self._connection.fetchval(SQL["step_state"], step) or "pending"

    async def move_task(self, task: UUID, was: str | None, to: str, event: str, processor: UUID | None) -> bool:
        """One transition of a task, without another look. False where somebody overlapped."""
        metadata = json.dumps({"event": event})
        return await self._move("task", task, was, to, metadata, processor)

    async def move_step(self, step: UUID, was: str | None, to: str, event: object, **more: Any) -> bool:
        """One transition of a step, without another look. False where somebody overlapped."""
        return await self._move("step", step, was, to, json.dumps({"event": json.dumps(event), **more}))

    async def send(self, queue: str, **body: Any) -> None:
        await self._connection.execute(SQL["send"], queue, json.dumps(body, default=str))

    async def read(self, queue: str, number: int = 20) -> list[tuple[int, Any]]:
        rows = await self._connection.fetch(SQL["read"], queue, VISIBILITY, number)
        return [(row["msg_id"], json.loads(row["message"])) for row in rows]

    async def archive(self, queue: str, message: int) -> None:
        await self._connection.execute(SQL["archive"], queue, message)

    async def queue_of(self, task: UUID) -> str:
        """Where the workers of the task's namespace read."""
        return str(await self._connection.fetchval(SQL["queue_of"], task))

    async def _move(
        self, kind: str, key: UUID, was: str | None, to: str, metadata: str, *processor: UUID | None
    ) -> bool:
        try:
            async with self._connection.transaction():
                number = await self._connection.fetchval(SQL[f"{kind}_next"], key)
                await self._connection.execute(SQL[f"{kind}_leave"], key)
                await self._connection.execute(SQL[f"{kind}_enter"], key, was, to, metadata, number, *processor)
        except Overtaken:
            self.overtaken += 1
            return False
        return True
