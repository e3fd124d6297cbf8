"""What most tests of ``queries`` begin with: rows to write, and a workspace on them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from queries.workspace import Workspace
from queries.write import audit_log
from tests.queries.builders import opened
from tests.queries.snak import Snak
from tests.queries.uni import Uni
from tests.servers import TestbedServer


@pytest.fixture
async def workspace(eternaltwin: str, tmp_path: Path) -> AsyncIterator[Workspace]:
    """The console's view of that database, with the audit log in a local file."""
    workspace = await opened(eternaltwin, tmp_path)
    yield workspace
    await workspace.close()


@pytest.fixture
async def audited(eternaltwin: str, server: TestbedServer, tmp_path: Path) -> AsyncIterator[Workspace]:
    """The same with the audit log's table in the database."""
    server.sql(audit_log.ddl(), eternaltwin)
    workspace = await opened(eternaltwin, tmp_path)
    yield workspace
    await workspace.close()


@pytest.fixture
async def uni(server: TestbedServer) -> AsyncIterator[Uni]:
    """Rows for a fresh database of uni2work."""
    dsn = server.fresh("uni2work")
    uni = await Uni.open(dsn)
    uni.dsn = dsn
    yield uni
    await uni.connection.close()
    server.drop(dsn)


@pytest.fixture
async def uni_workspace(uni: Uni, tmp_path: Path) -> AsyncIterator[Workspace]:
    """The console's view of that database."""
    workspace = await opened(uni.dsn, tmp_path)
    yield workspace
    await workspace.close()


@pytest.fixture
async def mirror(snak: Snak, tmp_path: Path) -> AsyncIterator[Workspace]:
    """The console's view of that database as the mirror of a queue in Redis."""
    workspace = await opened(snak.dsn, tmp_path, overrides={"agent_jobs": {"profile": "mirror"}})
    yield workspace
    await workspace.close()


@pytest.fixture
async def table(snak: Snak, tmp_path: Path) -> AsyncIterator[Workspace]:
    """The console's view of that database as a queue that an executor polls."""
    workspace = await opened(snak.dsn, tmp_path, overrides={"agent_jobs": {"profile": "table"}})
    yield workspace
    await workspace.close()
