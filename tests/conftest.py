"""Fixtures: servers and databases. ``tests/servers.py`` lists them."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from hypothesis import is_hypothesis_test

from queries.change import blast_radius
from queries.db import database as connections
from tests import homes, profiles  # noqa: F401 - Hypothesis takes its settings from profiles
from tests.db.agent_jobs import AgentJobsDb
from tests.db.estuary import EstuaryDb
from tests.db.eternaltwin import EternaltwinDb
from tests.db.tasker import TaskerDb
from tests.proof import leave_cases
from tests.servers import PostgresServer, Servers, all_engines_database

# In the background of a script or under nohup, SIGINT or SIGHUP is ignored. Programs that the tests start would inherit
# that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


homes.leave()

# Nothing can be copied on such a terminal. tmux would take what is copied.
if os.environ.get("TERM") == "dumb":
    del os.environ["TERM"]
_ = os.environ.pop("TMUX", ""), os.environ.pop("STY", "")

# Thousands of tests and modules stay until the end: scanning them as often as usual takes a twentieth of the time.
gc.set_threshold(20_000, 20, 20)

# A busy machine would make numbers of the blast radius unknown. Two such measurements fit into the transaction's limit.
blast_radius.MEASURE_SECONDS = blast_radius.STATEMENT_SECONDS = 2.0
connections.IDLE_TRIED_SECONDS = 600.0  # it would count more round trips, too


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", type=int, default=1, metavar="N", help="run one test in N, chosen by --seed")
    parser.addoption("--seed", type=int, default=1, help="of the choice that --part makes")


def pytest_report_header(config: pytest.Config) -> str | None:
    part, seed = config.getoption("part"), config.getoption("seed")
    return f"one test in {part}, chosen by --seed={seed}" if part > 1 else None


def pytest_itemcollected(item: pytest.Item) -> None:
    if is_hypothesis_test(getattr(item, "obj", None)):
        item.add_marker("random")


def pytest_collection_finish() -> None:
    """Take the collected tests out of all scans for garbage."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Mark cases before -m and -k choose, and take a part of what they have chosen."""
    leave_cases(items)
    yield
    part = config.getoption("part")
    if part > 1:
        chosen = set(random.Random(config.getoption("seed")).sample(range(len(items)), -(-len(items) // part)))
        config.hook.pytest_deselected(items=[item for at, item in enumerate(items) if at not in chosen])
        items[:] = [item for at, item in enumerate(items) if at in chosen]


@pytest.fixture(autouse=True)
def _own_home() -> None:
    homes.enter()


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """All servers of this session by major version: ``servers["18"]``."""
    running = Servers()
    yield running
    running.close()


@pytest.fixture
def server(servers: Servers, request: pytest.FixtureRequest) -> PostgresServer:
    """The shared server: PostgreSQL 18, or the version of ``@both_versions``."""
    return servers[getattr(request, "param", "18")]


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A server for this test only, which can halt, restart or break it."""
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


@pytest.fixture(scope="session")
def every_engine(servers: Servers) -> Iterator[str]:
    """DSN of a database with the demo's data of every engine, only to be read."""
    dsn = asyncio.run(all_engines_database(servers["18"]))
    servers["18"].sql("ANALYZE", dsn)
    yield dsn
    servers["18"].drop(dsn)


@pytest.fixture
def eternaltwin(server: PostgresServer) -> Iterator[str]:
    """DSN of a new database with eternaltwin's empty tables in ``public``."""
    dsn = server.fresh("eternaltwin")
    yield dsn
    server.drop(dsn)


@pytest.fixture
def eternaltwin_demo(server: PostgresServer) -> Iterator[str]:
    """DSN of a new database with the demo's data of eternaltwin, without a runner."""
    dsn = server.fresh("eternaltwin", filled=True)
    yield dsn
    server.drop(dsn)


@pytest.fixture
async def eternaltwin_db(eternaltwin: str) -> AsyncIterator[EternaltwinDb]:
    """Writer of rows for the database of ``eternaltwin``."""
    eternaltwin_db = await EternaltwinDb.open(eternaltwin)
    yield eternaltwin_db
    await eternaltwin_db.connection.close()


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
async def agent_jobs_db(server: PostgresServer) -> AsyncIterator[AgentJobsDb]:
    """Writer of rows for a new database of agent_jobs."""
    dsn = server.fresh("agent_jobs")
    agent_jobs_db = await AgentJobsDb.open(dsn)
    yield agent_jobs_db
    await agent_jobs_db.connection.close()
    server.drop(dsn)


@pytest.fixture
def tasker(server: PostgresServer) -> Iterator[str]:
    """DSN of a new database with tasker's empty tables and queues."""
    dsn = server.fresh("tasker")
    yield dsn
    server.drop(dsn)


@pytest.fixture
async def tasker_db(tasker: str, tmp_path: Path) -> AsyncIterator[TaskerDb]:
    """Writer of rows, engine functions and actions for the database of ``tasker``."""
    tasker_db = await TaskerDb.open(tasker, tmp_path)
    yield tasker_db
    await tasker_db.close()
