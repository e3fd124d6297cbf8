"""Logins after a changed password are few: a server may lock the account."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from console.cli import repeat as repeating
from console.cli.output import Output
from console.model.session import Session
from queries.change import plan as parts
from queries.change import redrive
from queries.change import run as runs
from queries.change.loop import Loop
from queries.change.state import Budget, RedriveSettings
from queries.changed import read_changes
from queries.db import connecting, database
from queries.db.errors import DatabaseError, RefusedError
from queries.log import audit_log
from queries.workspace import Workspace
from tests.db.agent_jobs import AgentJobsDb
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.builders import dry_run_of, opened, seen
from tests.servers import PostgresServer

MINUTES, STEP = 300.0, 0.02
LOGINS_IN_FIVE_MINUTES = 10  # logins in five minutes
SETTINGS = RedriveSettings(budget=Budget(percent=10.0), wait=60.0)
TABLE = {"agent_jobs": {"profile": "table"}}


class Clock:
    """The event loop's clock, which runs ahead unless a connection is made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        loop = asyncio.get_running_loop()
        self.logins: list[float] = []
        self._ahead, self._open, self.end = 0.0, 0, 0.0
        real, connect_once, connect = loop.time, connecting.connect_once, database.connect

        async def counted(*arguments: Any) -> Any:
            self.logins.append(loop.time())
            return await connect_once(*arguments)

        async def opening(*arguments: Any) -> Any:
            self._open += 1
            try:
                return await connect(*arguments)
            finally:
                self._open -= 1

        monkeypatch.setattr(loop, "time", lambda: real() + self._ahead)
        monkeypatch.setattr(connecting, "connect_once", counted)
        monkeypatch.setattr(database, "connect", opening)

    async def run(self, *works: Awaitable[object]) -> None:
        """Let five minutes pass at once."""
        self.logins.clear()
        running = [asyncio.ensure_future(work) for work in works]
        while self._ahead < MINUTES:
            if not self._open:
                self._ahead += STEP
            await asyncio.sleep(0)
        self.end = asyncio.get_running_loop().time()
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)


@pytest.fixture
async def clock(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Clock]:
    with monkeypatch.context() as patch:
        yield Clock(patch)


class Rotated:
    """A role whose password changes."""

    def __init__(self, server: PostgresServer, dsn: str) -> None:
        self.name, self._server = server.unique("r"), server
        server.sql(f"CREATE ROLE {self.name} LOGIN SUPERUSER PASSWORD 'old'")
        self.dsn = server.dsn(urlsplit(dsn).path.strip("/"), user=self.name, password="old")

    def rotate(self) -> None:
        end = f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = '{self.name}'"
        self._server.sql(f"ALTER ROLE {self.name} PASSWORD 'new'")
        self._server.sql(end)


def few(clock: Clock) -> None:
    assert 2 <= len(clock.logins) <= LOGINS_IN_FIVE_MINUTES, clock.logins
    until = [*clock.logins[1:], clock.end]
    pauses = [later - earlier for earlier, later in zip(clock.logins, until, strict=True)]
    assert max(pauses) > 50  # they grow


@pytest.fixture
async def jobs(
    server: PostgresServer, agent_jobs_db: AgentJobsDb, tmp_path: Path
) -> AsyncIterator[tuple[Rotated, Workspace]]:
    """A role, and its workspace with eight failed jobs."""
    server.sql(audit_log.ddl(), agent_jobs_db.dsn)
    for n in range(8):
        await agent_jobs_db.job("failed", age=900, ended=800 - n, changed=800 - n, error=f"timeout after {n} s")
    role = Rotated(server, agent_jobs_db.dsn)
    workspace = await opened(role.dsn, tmp_path, overrides=TABLE)
    yield role, workspace
    await workspace.close()


async def test_the_console_logs_in_rarely(
    server: PostgresServer, eternaltwin: str, tmp_path: Path, clock: Clock
) -> None:
    """Count also those of a dialog that asks for something each second."""
    role = Rotated(server, eternaltwin)
    workspace = await opened(role.dsn, tmp_path)

    async def open_() -> Workspace:
        return workspace

    async def dialog() -> None:
        while True:
            with contextlib.suppress(DatabaseError):
                await workspace.now()
            await asyncio.sleep(1)

    session = Session(open_, 0.2, now=asyncio.get_running_loop().time)
    running = session.begin()
    await session.begun.wait()
    role.rotate()
    await clock.run(running, dialog())
    few(clock)
    assert session.retry_in > 0
    assert "refuses this login" in session.error_text
    await workspace.close()


async def test_a_bulk_logs_in_rarely_and_changes_nothing(
    server: PostgresServer,
    eternaltwin_db: EternaltwinDb,
    eternaltwin: str,
    tmp_path: Path,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parts, "PART_NODES", 5)
    await eternaltwin_db.sql(audit_log.ddl())
    tasks = await eternaltwin_db.tasks([await eternaltwin_db.job()] * 100, status="Blocked", timer=3600)
    role = Rotated(server, eternaltwin)
    workspace = await opened(role.dsn, tmp_path)
    dry_run = await dry_run_of(workspace, "wake", await seen(workspace, map(eternaltwin_db.id, tasks)))
    loop = await Loop(workspace, dry_run).begin()
    role.rotate()
    await clock.run(loop.finish())
    few(clock)
    assert not loop.state.results
    assert "refuses this login" in loop.error_text
    await workspace.close()


async def test_a_redrive_logs_in_rarely(jobs: tuple[Rotated, Workspace], clock: Clock) -> None:
    role, workspace = jobs
    found = (await workspace.engines["agent_jobs"].pages.dead()).dead_letters
    plan = await redrive.plan_redrive(workspace, "agent_jobs", found, "test", SETTINGS, "fix deployed", {})
    run = await runs.begin(workspace, plan)
    loop = await Loop(workspace, run=run).begin()
    role.rotate()
    await clock.run(loop.finish())
    few(clock)
    assert "refuses this login" in loop.error_text


async def test_watch_logs_in_rarely(jobs: tuple[Rotated, Workspace], clock: Clock) -> None:
    role, workspace = jobs

    async def once() -> int:
        await workspace.engines["agent_jobs"].findings.read()
        return 0

    role.rotate()
    await clock.run(repeating.repeat(workspace, Output(), 2.0, once, clear=False))
    few(clock)


async def test_a_page_of_several_reads_logs_in_once(jobs: tuple[Rotated, Workspace], clock: Clock) -> None:
    role, workspace = jobs
    reader = workspace.engines["agent_jobs"]
    role.rotate()
    clock.logins.clear()
    for read in (reader.findings.read, reader.pages.dead, reader.nodes.counts, partial(read_changes, workspace)):
        with pytest.raises(RefusedError):
            await read()
    assert len(clock.logins) == 1
