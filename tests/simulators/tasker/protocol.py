"""The engine's write protocol: unguarded transitions, then flags, then messages.

In one transaction, a transition reads the next number, marks the current row as not current, and inserts its successor.
The engine reads the state before that transaction and does not compare it again. Of two overlapping transitions, the
second violates the unique index on the current row (`Overtaken`). A transition that ends in between is overwritten.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, Final
from uuid import UUID

import asyncpg

from tests.simulators.engine import Connection, Statements

SQL: Final = Statements(files("tests.simulators.tasker").joinpath("statements.sql"))
RESULTS: Final = "orchestration_step_results"
FINALIZATIONS: Final = "orchestration_task_finalizations"
REQUESTS: Final = "orchestration_task_requests"
VISIBILITY: Final = 30
TERMINAL: Final = frozenset({"complete", "error", "cancelled", "resolved_manually"})

Overtaken = (asyncpg.UniqueViolationError, asyncpg.LockNotAvailableError)


class Protocol:
    """Base class of orchestrator and worker. ``overtaken`` counts lost transitions."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.overtaken = 0

    async def ready(self) -> None:
        """Set the session to UTC, because the engine's timestamps have no time zone."""
        await self._connection.execute("SET TimeZone = 'UTC'")

    async def task_state(self, task: UUID) -> str:
        """Return the state of a task; a task without a row is pending."""
        return await self._connection.fetchval(SQL["task_state"], task) or "pending"

    async def step_state(self, step: UUID) -> str:
        return await self._connection.fetchval(SQL["step_state"], step) or "pending"

    async def move_task(self, task: UUID, was: str | None, to: str, event: str, processor: UUID | None) -> bool:
        """Write a transition of a task, unguarded; return False if another one overlapped."""
        metadata = json.dumps({"event": event})
        return await self._move("task", task, was, to, metadata, processor)

    async def move_step(self, step: UUID, was: str | None, to: str, event: object, **more: Any) -> bool:
        """Write a transition of a step, unguarded; return False if another one overlapped."""
        return await self._move("step", step, was, to, json.dumps({"event": json.dumps(event), **more}))

    async def send(self, queue: str, **body: Any) -> None:
        await self._connection.execute(SQL["send"], queue, json.dumps(body, default=str))

    async def read(self, queue: str, number: int = 20) -> list[tuple[int, Any]]:
        rows = await self._connection.fetch(SQL["read"], queue, VISIBILITY, number)
        return [(row["msg_id"], json.loads(row["message"])) for row in rows]

    async def archive(self, queue: str, message: int) -> None:
        await self._connection.execute(SQL["archive"], queue, message)

    async def queue_of(self, task: UUID) -> str:
        """Return the queue that the workers of the task's namespace read."""
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
