"""Fixtures: servers and databases. ``tests/servers.py`` begins with a list of them."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests import profiles  # noqa: F401 - Hypothesis takes its settings from it
from tests.db.agent_jobs import AgentJobsDb
from tests.db.eternaltwin import EternaltwinDb
from tests.db.tasker import TaskerDb
from tests.servers import PostgresServer, Servers

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
def server(servers: Servers, request: pytest.FixtureRequest) -> PostgresServer:
    """The shared server: PostgreSQL 18, or the version ``@both_versions`` asks for."""
    return servers[getattr(request, "param", "18")]


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A server for one test alone, which may halt it, start it again or break it."""
    server = PostgresServer()
    server.start()
    yield server
    server.close()


@pytest.fixture
def database(server: PostgresServer) -> Iterator[str]:
    """DSN of a new, empty database."""
    dsn = server.fresh()
    yield dsn
    server.drop(dsn)


@pytest.fixture
def eternaltwin(server: PostgresServer) -> Iterator[str]:
    """DSN of a new database with eternaltwin's tables in ``public``, all empty."""
    dsn = server.fresh("eternaltwin")
    yield dsn
    server.drop(dsn)


@pytest.fixture
def eternaltwin_demo(server: PostgresServer) -> Iterator[str]:
    """DSN of a new database with eternaltwin's tables and the demo's data in ``public``; no runner is at work."""
    dsn = server.fresh("eternaltwin", filled=True)
    yield dsn
    server.drop(dsn)


@pytest.fixture
async def eternaltwin_db(eternaltwin: str) -> AsyncIterator[EternaltwinDb]:
    """Rows for the fresh database of ``eternaltwin``."""
    eternaltwin_db = await EternaltwinDb.open(eternaltwin)
    yield eternaltwin_db
    await eternaltwin_db.connection.close()


@pytest.fixture
async def agent_jobs_db(server: PostgresServer) -> AsyncIterator[AgentJobsDb]:
    """Rows for a fresh database of agent_jobs."""
    dsn = server.fresh("agent_jobs")
    agent_jobs_db = await AgentJobsDb.open(dsn)
    yield agent_jobs_db
    await agent_jobs_db.connection.close()
    server.drop(dsn)


@pytest.fixture
def tasker(server: PostgresServer) -> Iterator[str]:
    """DSN of a fresh database with tasker's tables and its queues, empty."""
    dsn = server.fresh("tasker")
    yield dsn
    server.drop(dsn)


@pytest.fixture
async def tasker_db(tasker: str, tmp_path: Path) -> AsyncIterator[TaskerDb]:
    """Rows for it, as a bystander writes them and as another operator does."""
    tasker_db = await TaskerDb.open(tasker, tmp_path)
    yield tasker_db
    await tasker_db.close()
