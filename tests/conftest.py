"""Fixtures: servers and databases. How to use them is said at the top of ``tests/servers.py``."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.queries.builders import Twin
from tests.queries.snak import Snak
from tests.queries.tasker_rows import Shop
from tests.servers import Servers, TestbedServer

# Where the tests run in a script's background or under nohup, SIGINT or SIGHUP is ignored, also by the programs that
# they start and send it to.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """Every server of this session by major version: ``servers["18"]``."""
    running = Servers()
    yield running
    running.close()


@pytest.fixture
def server(servers: Servers, request: pytest.FixtureRequest) -> TestbedServer:
    """The shared server: PostgreSQL 18, or the version ``@both_versions`` asks for."""
    return servers[getattr(request, "param", "18")]


@pytest.fixture
def own_server() -> Iterator[TestbedServer]:
    """A server for one test alone, which may halt it, start it again or break it."""
    server = TestbedServer()
    server.start()
    yield server
    server.close()


@pytest.fixture
def database(server: TestbedServer) -> Iterator[str]:
    """DSN of a new, empty database."""
    dsn = server.fresh()
    yield dsn
    server.drop(dsn)


@pytest.fixture
def eternaltwin(server: TestbedServer) -> Iterator[str]:
    """DSN of a new database with eternaltwin's tables in ``public``, all empty."""
    dsn = server.fresh("eternaltwin")
    yield dsn
    server.drop(dsn)


@pytest.fixture
def eternaltwin_demo(server: TestbedServer) -> Iterator[str]:
    """DSN of a new database with eternaltwin's tables and the demo's data in ``public``; no runner is at work."""
    dsn = server.fresh("eternaltwin", filled=True)
    yield dsn
    server.drop(dsn)


@pytest.fixture
async def twin(eternaltwin: str) -> AsyncIterator[Twin]:
    """Rows for the fresh database of ``eternaltwin``."""
    twin = await Twin.open(eternaltwin)
    yield twin
    await twin.connection.close()


@pytest.fixture
async def snak(server: TestbedServer) -> AsyncIterator[Snak]:
    """Rows for a fresh database of agent_jobs."""
    dsn = server.fresh("agent_jobs")
    snak = await Snak.open(dsn)
    yield snak
    await snak.connection.close()
    server.drop(dsn)


@pytest.fixture
def tasker(server: TestbedServer) -> Iterator[str]:
    """DSN of a fresh database with tasker's tables and its queues, empty."""
    dsn = server.fresh("tasker")
    yield dsn
    server.drop(dsn)


@pytest.fixture
async def shop(tasker: str, tmp_path: Path) -> AsyncIterator[Shop]:
    """Rows for it, as a bystander writes them and as another operator does."""
    shop = await Shop.open(tasker, tmp_path)
    yield shop
    await shop.close()
