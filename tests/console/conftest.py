"""Fixtures for screens: the audit log table, and a proxy to the server."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator

import pytest

from queries import workspace
from queries.log import audit_log
from tests.queries.proxy import Proxy
from tests.servers import PostgresServer


@pytest.fixture
def audit_log_table(server: PostgresServer, eternaltwin: str) -> None:
    """Create the audit log table in the database of ``eternaltwin``."""
    server.sql(audit_log.ddl(), eternaltwin)


@pytest.fixture
async def proxy(server: PostgresServer) -> AsyncIterator[Proxy]:
    """Proxy to the server that can delay or hold back answers."""
    async with Proxy(server.port) as proxy:
        yield proxy


@pytest.fixture
def detected_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the engines that were found, however long the test takes.

    After a while the console would see that a renamed table is missing, and show the engine no more.
    """
    monkeypatch.setattr(workspace, "DETECTION_KEPT_SECONDS", math.inf)
