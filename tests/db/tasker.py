"""Write rows to tasker's tables, read the engine's own view, and run actions.

data = Data(1); made = data.task("refund", state="blocked_by_failures", steps={"refund_card": failed()})
await tasker_db.write(data)
outcomes = await tasker_db.do("retry", tasker_db.step(made, "refund_card"))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg

from queries.read.reader import Reader
from queries.records.action import Change
from queries.records.finding import Findings
from queries.workspace import Workspace
from tests.queries.builders import do, dry_run_of, opened
from tests.simulators.tasker.data import CreatedTask, Data

LABEL = "tasker"
TABLES = ("tasks", "workflow_steps", "task_transitions", "workflow_step_transitions", "tasks_dlq")


class TaskerDb:
    """Database with tasker's tables, accessed directly and through the reader."""

    def __init__(self, connection: asyncpg.Connection[Any], workspace: Workspace) -> None:
        self.connection = connection
        self.workspace = workspace
        self.sql = connection.execute
        self.value = connection.fetchval
        self.row = connection.fetchrow

    @classmethod
    async def open(cls, dsn: str, folder: Path, **options: Any) -> TaskerDb:
        """End it with ``await tasker_db.close()``."""
        connection = await asyncpg.connect(dsn, server_settings={"TimeZone": "UTC"})
        return cls(connection, await opened(dsn, folder, **options))

    async def close(self) -> None:
        await self.workspace.close()
        await self.connection.close()

    @property
    def reader(self) -> Reader:
        return self.workspace.engines[LABEL]

    async def write(self, data: Data) -> None:
        """Insert the created rows and detect the engine again, because queues may be new."""
        await data.insert(self.connection)
        await self.workspace.detect()

    # Names

    @staticmethod
    def task(made: CreatedTask | UUID) -> str:
        return f"{LABEL}/task:{made.id if isinstance(made, CreatedTask) else made}"

    @staticmethod
    def step(made: CreatedTask, name: str) -> str:
        return f"{LABEL}/step:{made.steps[name]}"

    @staticmethod
    def dead_letter(dead_letter: UUID) -> str:
        return f"{LABEL}/dead_letter:{dead_letter}"

    # The console

    async def do(self, action: str, *ids: str | Mapping[str, str], **arguments: Any) -> Change:
        """Read, dry-run and commit. A mapping gives versions that were read before."""
        seen: Iterable[str] | Mapping[str, str] = ids[0] if isinstance(ids[0], Mapping) else [str(i) for i in ids]
        return await do(self.workspace, action, seen, arguments, LABEL)

    async def dry_run(self, action: str, *ids: str, **arguments: Any) -> Change:
        return await dry_run_of(self.workspace, action, ids, arguments, LABEL)

    async def findings(self, *ids: str) -> Findings:
        return await self.reader.findings.read(ids or None)

    async def codes(self, *ids: str) -> set[tuple[str, str]]:
        """Return node and code of each finding."""
        return {(f.node_id, f.code) for f in (await self.findings(*ids)).findings}

    # The engine's own view

    async def ready(self) -> set[UUID]:
        """Return the tasks that the poller finds."""
        return {row[0] for row in await self.connection.fetch("SELECT task_uuid FROM get_next_ready_tasks(50)")}

    async def status(self, made: CreatedTask) -> str:
        return str(await self.value("SELECT execution_status FROM get_task_execution_context($1)", made.id))

    async def ready_steps(self, made: CreatedTask) -> set[UUID]:
        sql = "SELECT workflow_step_uuid FROM get_step_readiness_status($1, NULL) WHERE ready_for_execution"
        return {row[0] for row in await self.connection.fetch(sql, made.id)}

    async def state(self, made: CreatedTask | UUID) -> str | None:
        key = made.id if isinstance(made, CreatedTask) else made
        sql = "SELECT to_state FROM task_transitions WHERE task_uuid = $1 AND most_recent"
        return await self.value(sql, key) or None

    async def step_state(self, step: UUID) -> str | None:
        sql = "SELECT to_state FROM workflow_step_transitions WHERE workflow_step_uuid = $1 AND most_recent"
        return await self.value(sql, step) or None

    async def step_row(self, step: UUID) -> Any:
        return await self.row("SELECT * FROM workflow_steps WHERE workflow_step_uuid = $1", step)

    async def messages(self, queue: str) -> list[Any]:
        table = f'pgmq."q_{queue.lower()}"'
        return list(await self.connection.fetch(f"SELECT msg_id, read_ct, message FROM {table} ORDER BY msg_id"))

    async def rows(self, table: str) -> list[str]:
        """Return all rows of each table as text, each with its ``xmin``."""
        found = await self.connection.fetch(f"SELECT t.xmin || ' ' || t::text FROM {table} t ORDER BY t::text")
        return [r[0] for r in found]

    async def everything(self) -> dict[str, list[str]]:
        return {table: await self.rows(table) for table in TABLES}

    async def sound(self) -> None:
        """Check that only the last transition is current and sort keys have no gaps."""
        for table, key in (("task_transitions", "task_uuid"), ("workflow_step_transitions", "workflow_step_uuid")):
            bad = await self.connection.fetch(
                f"SELECT {key} FROM {table} GROUP BY {key} HAVING count(*) FILTER (WHERE most_recent) <> 1"
                f" OR count(DISTINCT sort_key) <> count(*) OR max(sort_key) <> max(sort_key) FILTER (WHERE most_recent)"
            )
            assert bad == [], table
