"""Fixtures: rows to write, and a simulated engine."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.db.tasker import TaskerDb
from tests.queries.test_tasker_executor import Engine, Steady
from tests.simulators.tasker.data import Data


@pytest.fixture
def data() -> Data:
    return Data(1)


@pytest.fixture
async def engine(tasker_db: TaskerDb) -> AsyncIterator[Engine]:
    """Provide an orchestrator and a worker, idle until the test runs them."""
    dsn = tasker_db.workspace.database.text
    connections = [await asyncpg.connect(dsn, server_settings={"TimeZone": "UTC"}) for _ in range(2)]
    yield Engine(connections[0], connections[1], Steady(1))
    for connection in connections:
        await connection.close()
