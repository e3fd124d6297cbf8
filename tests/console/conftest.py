"""What the screens are tried on: a fresh database of eternaltwin's, and its ledger table where a test asks for it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from queries.write import audit_log
from tests.queries.proxy import Proxy
from tests.servers import TestbedServer


@pytest.fixture
def ledger_table(server: TestbedServer, eternaltwin: str) -> None:
    """The ledger's table in that database."""
    server.sql(audit_log.ddl(), eternaltwin)


@pytest.fixture
async def proxy(server: TestbedServer) -> AsyncIterator[Proxy]:
    """Between the console and the server, to slow it down or to hold its answers back."""
    async with Proxy(server.port) as proxy:
        yield proxy
