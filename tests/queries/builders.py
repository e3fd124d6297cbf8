"""Rows for eternaltwin's tables in one readable call each, and short ways to act on them.

    job = await twin.job()
    task = await twin.task(job, status="Blocked", timer=30)
    outcomes = await do(workspace, "wake", [twin.id(task)])

Times are seconds from now; ages and polls count back.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import asyncpg

from queries.actions import perform
from queries.model import DryRun, Outcome, Outcomes, Result
from queries.read.reader import Reader
from queries.workspace import Workspace
from queries.write import audit_log

LABEL = "eternaltwin"
OPERATOR = audit_log.Operator(os_user="anna", host="laptop")
TABLES = ("users", "job", "task", "task_timer")

TASK = """
INSERT INTO task (task_id, job_id, kind, kind_version, created_at, polled_at, revision, status, cpu_duration,
                  poll_duration, state, output)
SELECT r.id, r.job, $3, $4, now() - make_interval(secs => $5),
       CASE WHEN $6::float8 IS NOT NULL THEN row(now() - make_interval(secs => $6::float8), $7::int4)::job_tick END,
       $8, $9::text::task_status, make_interval(secs => $10), make_interval(secs => $11), $12, $13
  FROM unnest($1::uuid[], $2::uuid[]) AS r (id, job)
"""


class Twin:
    """One database's tables, written to as the engine or a bystander would: past the console."""

    def __init__(self, connection: asyncpg.Connection[Any]) -> None:
        self.connection = connection
        self.sql = connection.execute
        self.value = connection.fetchval

    @classmethod
    async def open(cls, dsn: str, schema: str = "public") -> Twin:
        """A builder for the tables in ``schema``; end it with ``await twin.connection.close()``."""
        return cls(await asyncpg.connect(dsn, server_settings={"search_path": f'"{schema}"', "TimeZone": "UTC"}))

    async def jobs(self, number: int, *, age: float = 3600, state: bytes = b"{}") -> list[uuid.UUID]:
        """So many jobs, in the order of their ids."""
        ids = sorted(uuid.uuid4() for _ in range(number))
        await self.sql(
            "INSERT INTO job SELECT i, now() - make_interval(secs => $2), NULL, $3 FROM unnest($1::uuid[]) AS i",
            *(ids, age, state),
        )
        return ids

    async def job(self, **columns: Any) -> uuid.UUID:
        """One job."""
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
        """One task for each of these jobs, in the order of their ids; ``timer`` is due in so many seconds."""
        ids = sorted(uuid.uuid4() for _ in jobs)
        times = (float(age), polled if polled is None else float(polled), salt)
        spent = (float(cpu), float(poll))
        await self.sql(TASK, ids, list(jobs), kind, version, *times, revision, status, *spent, state, output)
        if timer is not None:
            await self.timers(ids, timer)
        return ids

    async def task(self, job: uuid.UUID | None = None, **columns: Any) -> uuid.UUID:
        """One task, of a job of its own where none is given."""
        return (await self.tasks([job or await self.job()], **columns))[0]

    async def timers(self, tasks: Iterable[uuid.UUID], due: float) -> None:
        """A timer for each of these tasks."""
        insert = "INSERT INTO task_timer SELECT now() + make_interval(secs => $2), i FROM unnest($1::uuid[]) AS i"
        await self.sql(insert, list(tasks), float(due))

    @staticmethod
    def id(key: uuid.UUID, kind: str = "task", label: str = LABEL) -> str:
        """How the console calls it."""
        return f"{label}/{kind}:{key}"

    async def row(self, task: uuid.UUID) -> Any:
        """A task as it stands, with ``timers``: how many it has. None where it is gone."""
        return await self.connection.fetchrow(
            "SELECT t.*, t.xmin::text, t.polled_at::text AS tick, (SELECT count(*) FROM task_timer m"
            " WHERE m.task_id = t.task_id) AS timers FROM task t WHERE t.task_id = $1",
            task,
        )

    async def rows(self, table: str, *, xmin: bool = True) -> list[str]:
        """All rows of a table as text, each with the transaction that wrote it."""
        column = "t.xmin || ' ' || t::text" if xmin else "t::text"
        return [r[0] for r in await self.connection.fetch(f"SELECT {column} FROM {table} t ORDER BY t::text")]

    async def digest(self, tables: Iterable[str] = TABLES) -> str:
        """A digest of every row of every table, and of who wrote it."""
        text = "\n".join([line for table in tables for line in (table, *await self.rows(table))])
        return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


async def opened(dsn: str, folder: Path, **options: Any) -> Workspace:
    """A workspace whose local audit log lies in ``folder``."""
    return await Workspace.open(dsn, file=folder / "audit_log.jsonl", **options)


def reader(workspace: Workspace, label: str = LABEL) -> Reader:
    return workspace.engines[label]


async def seen(workspace: Workspace, ids: Iterable[str], label: str = LABEL) -> dict[str, str]:
    """The nodes' versions, as an operator's screen has them."""
    return {node.id: node.version for node in (await reader(workspace, label).nodes(ids)).nodes}


async def dry_run_of(
    workspace: Workspace,
    action: str,
    ids: Iterable[str] | Mapping[str, str],
    arguments: Mapping[str, Any] | None = None,
    label: str = LABEL,
) -> DryRun:
    """What the dialog would show, for what is there now or for what was ``seen``."""
    versions = dict(ids) if isinstance(ids, Mapping) else await seen(workspace, ids, label)
    return await perform.dry_run(workspace, label, action, versions, "it was stuck", arguments or {})


async def do(
    workspace: Workspace,
    action: str,
    ids: Iterable[str] | Mapping[str, str],
    arguments: Mapping[str, Any] | None = None,
    label: str = LABEL,
) -> Outcomes:
    """Look, dry-run, commit."""
    dry_run = await dry_run_of(workspace, action, ids, arguments, label)
    return await perform.commit(workspace, label, action, dry_run, OPERATOR)


def outcomes_of(results: Outcomes | DryRun | Iterable[Result]) -> dict[str, Outcome]:
    """Outcome by id."""
    given = results.results if isinstance(results, Outcomes | DryRun) else results
    return {r.id: r.outcome for r in given}


def why(results: Outcomes | DryRun, node_id: str) -> str:
    return next(r.why for r in results.results if r.id == node_id)
