"""A database with estuary's tables, rows to write, and a workspace on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from queries.workspace import Workspace
from tests.db.estuary import EstuaryDb
from tests.queries.builders import opened
from tests.servers import PostgresServer


@pytest.fixture
def estuary(server: PostgresServer) -> Iterator[str]:
    """DSN of a new database with estuary's tables in ``public``, all empty."""
    dsn = server.fresh("estuary")
    yield dsn
    server.drop(dsn)


@pytest.fixture
async def estuary_db(estuary: str) -> AsyncIterator[EstuaryDb]:
    """Row builder for that database."""
    estuary_db = await EstuaryDb.open(estuary)
    yield estuary_db
    await estuary_db.connection.close()


@pytest.fixture
async def workspace(estuary: str, tmp_path: Path) -> AsyncIterator[Workspace]:
    """Workspace on that database, with the audit log in a local file."""
    workspace = await opened(estuary, tmp_path)
    yield workspace
    await workspace.close()
