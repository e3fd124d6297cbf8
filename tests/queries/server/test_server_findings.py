"""Causes outside of the engines' tables, each caused for real."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from queries.model import Finding
from queries.read.server_findings import ServerFindings
from queries.workspace import Workspace
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.builders import opened
from tests.servers import PostgresServer, both_versions

Session = Callable[..., Awaitable["asyncpg.Connection[Any]"]]


@pytest.fixture
async def session() -> AsyncIterator[Session]:
    """Return ``session(dsn, "BEGIN; ...")``, which opens a session of ``migrator``."""
    open_: list[asyncpg.Connection[Any]] = []

    async def session(dsn: str, sql: str = "SELECT 1", name: str = "migrator") -> asyncpg.Connection[Any]:
        connection = await asyncpg.connect(dsn, server_settings={"application_name": name})
        open_.append(connection)
        await connection.execute(sql)
        return connection

    yield session
    for connection in open_:
        connection.terminate()


def server_findings(workspace: Workspace, **limits: float) -> ServerFindings:
    reader = ServerFindings(workspace.database, [reader.found for reader in workspace.engines.values()])
    reader.limits |= limits
    return reader


async def found(workspace: Workspace, **limits: float) -> dict[str, Finding]:
    """Return the findings by code."""
    read = await server_findings(workspace, **limits).findings()
    assert read.skipped_findings == ()
    return {finding.code: finding for finding in read.found}


@both_versions
async def test_a_healthy_database_has_no_server_findings(workspace: Workspace, eternaltwin_db: EternaltwinDb) -> None:
    await eternaltwin_db.task()
    assert await found(workspace) == {}


@both_versions
async def test_a_table_lock_names_the_session(workspace: Workspace, eternaltwin: str, session: Session) -> None:
    holder = await session(eternaltwin, "BEGIN; LOCK TABLE task IN SHARE MODE")
    assert await found(workspace) == {}, "a short lock is normal"
    locked = (await found(workspace, table_locked=0))["table_locked"]
    assert locked.affects == ("eternaltwin",)
    assert f"pid {holder.get_server_pid()} (migrator, role postgres) locks task for 0" in locked.sentence
    assert "It is idle in transaction since" in locked.sentence
    assert "No session can change them" in locked.sentence
    assert locked.node_id == f"server/backend:{holder.get_server_pid()}"


@both_versions
async def test_a_migration_that_waits_names_the_session_before_it(
    workspace: Workspace, eternaltwin: str, eternaltwin_db: EternaltwinDb, session: Session
) -> None:
    first = await session(eternaltwin, "BEGIN; SELECT FROM task", "reporting")
    second = await session(eternaltwin)
    waiting = asyncio.create_task(second.execute("ALTER TABLE task ADD COLUMN note text"))
    while not await eternaltwin_db.value("SELECT count(*) FROM pg_locks WHERE NOT granted"):
        await asyncio.sleep(0.01)
    queue = (await found(workspace, lock_queue=0))["lock_queue"]
    assert f"pid {second.get_server_pid()} (migrator, role postgres) waits" in queue.sentence
    assert f"behind pid {first.get_server_pid()} (reporting, role postgres, idle in transaction" in queue.sentence
    await first.execute("ROLLBACK")
    await waiting


async def test_a_prepared_transaction_that_locks_a_table_is_named(own_server: PostgresServer, tmp_path: Path) -> None:
    own_server.sql("ALTER SYSTEM SET max_prepared_transactions = 2")
    own_server.halt()
    own_server.start()
    dsn = own_server.fresh("eternaltwin")
    workspace = await opened(dsn, tmp_path)
    own_server.sql("BEGIN; LOCK TABLE task IN ACCESS EXCLUSIVE MODE; PREPARE TRANSACTION 'left over'", dsn)
    locked = (await found(workspace, table_locked=0))["table_locked"]
    assert "the prepared transaction left over locks task" in locked.sentence
    assert "No session can read or change them" in locked.sentence
    await workspace.close()


@both_versions
async def test_a_read_only_default_of_the_database(
    workspace: Workspace, server: PostgresServer, eternaltwin: str
) -> None:
    name = eternaltwin.rpartition("/")[2]
    server.sql(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    assert f"on for the database {name}" in (await found(workspace))["read_only_default"].sentence


async def test_a_read_only_default_of_the_server(own_server: PostgresServer, tmp_path: Path) -> None:
    workspace = await opened(own_server.fresh("eternaltwin"), tmp_path)
    own_server.sql("ALTER SYSTEM SET default_transaction_read_only = on")
    own_server.sql("SELECT pg_reload_conf()")
    async with asyncio.timeout(10):
        while "read_only_default" not in (read := await found(workspace)):
            await asyncio.sleep(0.05)
    assert "on for the server" in read["read_only_default"].sentence
    await workspace.close()
