"""Fixtures for screens: a fresh database of eternaltwin, with the audit log table if a test asks for it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from queries.write import audit_log
from tests.queries.proxy import Proxy
from tests.servers import PostgresServer


@pytest.fixture
def audit_log_table(server: PostgresServer, eternaltwin: str) -> None:
    """The audit log's table in that database."""
    server.sql(audit_log.ddl(), eternaltwin)


@pytest.fixture
async def proxy(server: PostgresServer) -> AsyncIterator[Proxy]:
    """Between the console and the server, to slow it down or to hold its answers back."""
    async with Proxy(server.port) as proxy:
        yield proxy
