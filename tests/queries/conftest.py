"""Fixtures for tests of ``queries``: writers of rows, and workspaces."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from queries.db.database import Database
from queries.log import audit_log
from queries.workspace import Workspace
from tests.db.agent_jobs import AgentJobsDb
from tests.db.uni2work import Uni2workDb
from tests.poolers import PgBouncer
from tests.queries.builders import opened
from tests.servers import PostgresServer


@pytest.fixture
async def workspace(eternaltwin: str, tmp_path: Path) -> AsyncIterator[Workspace]:
    """The console's view of that database, with the audit log in a local file."""
    workspace = await opened(eternaltwin, tmp_path)
    yield workspace
    await workspace.close()


@pytest.fixture
async def audited(eternaltwin: str, server: PostgresServer, tmp_path: Path) -> AsyncIterator[Workspace]:
    """The same with the audit log's table in the database."""
    server.sql(audit_log.ddl(), eternaltwin)
    workspace = await opened(eternaltwin, tmp_path)
    yield workspace
    await workspace.close()


@pytest.fixture
async def uni2work_db(server: PostgresServer) -> AsyncIterator[Uni2workDb]:
    """Rows for a fresh database of uni2work."""
    dsn = server.fresh("uni2work")
    uni2work_db = await Uni2workDb.open(dsn)
    uni2work_db.dsn = dsn
    yield uni2work_db
    await uni2work_db.connection.close()
    server.drop(dsn)


@pytest.fixture
async def uni2work_workspace(uni2work_db: Uni2workDb, tmp_path: Path) -> AsyncIterator[Workspace]:
    """The console's view of that database."""
    workspace = await opened(uni2work_db.dsn, tmp_path)
    yield workspace
    await workspace.close()


@pytest.fixture
async def mirror(agent_jobs_db: AgentJobsDb, tmp_path: Path) -> AsyncIterator[Workspace]:
    """The console's view of that database as the mirror of a queue in Redis."""
    workspace = await opened(agent_jobs_db.dsn, tmp_path, overrides={"agent_jobs": {"profile": "mirror"}})
    yield workspace
    await workspace.close()


@pytest.fixture
async def table(agent_jobs_db: AgentJobsDb, tmp_path: Path) -> AsyncIterator[Workspace]:
    """The console's view of that database as a queue that an executor polls."""
    workspace = await opened(agent_jobs_db.dsn, tmp_path, overrides={"agent_jobs": {"profile": "table"}})
    yield workspace
    await workspace.close()


@pytest.fixture
async def db(eternaltwin: str) -> AsyncIterator[Database]:
    """Connections to that database, which are not open yet."""
    db = Database(eternaltwin)
    yield db
    await db.close()


@pytest.fixture
async def pooler(server: PostgresServer, eternaltwin: str) -> AsyncIterator[str]:
    """The connection string of that database behind a pgbouncer.

    It is in transaction mode, and has two connections.
    """
    bouncer = await asyncio.to_thread(PgBouncer, server)
    yield bouncer.dsn(eternaltwin)
    bouncer.close()
