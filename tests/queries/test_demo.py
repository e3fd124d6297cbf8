"""The demo: all engines, alive, with the rows and statements of their folders."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path

import pytest

from console.demo.engine import SMALL, Connection, FolderEngine, FolderWorker, connect, folder_engines, turns
from console.demo.run import Demo
from console.demo.run import demo as served
from console.tui import guide
from queries.contract.builtin import builtin
from queries.snapshot import snapshot
from queries.workspace import Workspace
from tests.queries.builders import opened, reader
from tests.servers import PostgresServer

NAMES = [engine.name for engine in builtin()]
# Findings that the demo shows: the others need samples, a fault of the server, or an older version of the engine.
LEAST = {"agent_jobs": 6, "eternaltwin": 9, "estuary": 12, "tasker": 18, "uni2work": 9}
TICKS = 30
INCIDENTS = 30  # at most, in the small demo
DUE = {"deadline", "execute_after", "expires_at", "next_run", "run_at", "scheduled_at", "vt", "wake_at"}
EVENT = {"at"}  # of procrastinate, whose event "scheduled" has the time for which the job is scheduled
ALIVE = {"heartbeat", "last_heartbeat"}  # in the future for a worker that lives in a fixture without one


@pytest.fixture
async def demo() -> AsyncIterator[Demo]:
    running = await Demo(3).start()
    yield running
    await running.stop()


@pytest.fixture
async def workspace(demo: Demo, tmp_path: Path) -> AsyncIterator[Workspace]:
    workspace = await opened(demo.dsn, tmp_path)
    yield workspace
    await workspace.close()


def test_each_engine_has_rows_and_a_worker() -> None:
    """The table of one is the queue itself, or mirrors one: it has two schemas."""
    there = folder_engines()
    assert {engine.engine for engine in there} == set(NAMES)
    assert [engine.name for engine in there if engine.name != engine.engine] == ["mirror"]


async def test_all_engines_are_found_in_the_demo(workspace: Workspace) -> None:
    assert {label.partition("@")[0] for label in workspace.engines} == set(NAMES)
    assert workspace.declined == ()


async def test_the_small_demo_has_a_few_incidents_of_each_engine(tmp_path: Path) -> None:
    """One of them is that of the first repair."""
    async with served(7) as dsn:
        workspace = await opened(dsn, tmp_path)
        now = await snapshot(workspace, list(workspace.engines.values()))
        await workspace.close()
    assert set(workspace.engines) == set(SMALL)
    assert set(SMALL) <= {incident.engine for incident in now.incidents}
    assert len(now.incidents) <= INCIDENTS
    (first,) = [incident for incident in now.incidents if incident.title == guide.FIRST]
    assert first.n == 2


async def test_nothing_has_happened_in_the_future(demo: Demo) -> None:
    connection = await connect(demo.dsn, "public")
    columns = await connection.fetch(
        "SELECT format('%I.%I', table_schema, table_name), column_name FROM information_schema.columns "
        "WHERE data_type LIKE 'timestamp%' AND table_schema NOT IN ('pg_catalog', 'information_schema')"
    )
    late = {
        f"{table}.{column}"
        for table, column in columns
        if column not in DUE | EVENT | ALIVE
        and await connection.fetchval(f'SELECT count(*) FROM {table} WHERE "{column}" > clock_timestamp()')
    }
    await connection.close()
    assert len(columns) > 100
    assert late == set()


@pytest.mark.parametrize("name", NAMES)
async def test_what_is_stuck_stays_stuck_while_the_worker_works(
    server: PostgresServer, tmp_path: Path, name: str
) -> None:
    dsn = server.fresh()
    engine = FolderEngine(name)
    connection = await connect(dsn, name)
    await connection.execute(f"CREATE SCHEMA {name}")
    await engine.install(connection)
    await engine.fill(connection, 1)
    workspace = await opened(dsn, tmp_path)
    before = {f.code for f in (await reader(workspace, name).findings.read()).findings}
    assert len(before) >= LEAST.get(name, 6)
    rows = await digest(connection)
    worker = engine.worker(connection, 1)
    for _ in range(TICKS):
        await worker.tick()
        await asyncio.sleep(0.1)
    assert worker.errors == {}
    assert await digest(connection) != rows
    left = {f.code for f in (await reader(workspace, name).findings.read()).findings}
    assert left >= before
    await workspace.close()
    await connection.close()
    server.drop(dsn)


async def digest(connection: Connection) -> dict[str, str]:
    """Return a hash of the rows of each table in the current schema."""
    tables = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
    query = 'SELECT md5(string_agg(t::text, chr(10) ORDER BY t::text)) FROM "{}" AS t'
    return {name: await connection.fetchval(query.format(name)) for (name,) in tables}


@pytest.mark.parametrize("name", NAMES)
def test_each_section_of_a_worker_is_read(name: str) -> None:
    """Each has a name of its own."""
    text = FolderEngine(name).file("worker.sql")
    found = turns(text)
    assert len(found) == text.count("\n-- :") >= 3
    assert len({section.name for section in found}) == len(found)


async def test_a_section_runs_at_its_ticks(server: PostgresServer) -> None:
    dsn = server.fresh()
    connection = await connect(dsn, "public")
    await connection.execute("CREATE TABLE ran (name text)")
    text = "-- a worker\n\n-- :all\nINSERT INTO ran VALUES ('all');\n\n-- :some every 3 ticks, at most 2 times\n"
    worker = FolderWorker(connection, turns(text + "INSERT INTO ran VALUES ('some');\n\n-- :wrong\nSELECT 1/0;\n"))
    for _ in range(10):
        await worker.tick()
    assert worker.errors == {"wrong": "division by zero"}
    ran = [row["name"] for row in await connection.fetch("SELECT name FROM ran")]
    assert (ran.count("all"), ran.count("some")) == (10, 2)
    await connection.close()
    server.drop(dsn)


async def test_the_demo_works_and_comes_back_after_its_server_was_away(own_server: PostgresServer) -> None:
    demo = await Demo(5, server=own_server).start()
    newest = "SELECT max((polled_at).time) FROM eternaltwin.task WHERE status = 'Available'"

    async def polled() -> datetime:
        connection = await connect(demo.dsn, "public")
        at: datetime = await connection.fetchval(newest)
        await connection.close()
        return at

    for away in (False, True):
        if away:
            await asyncio.to_thread(own_server.halt, "immediate")
            await asyncio.to_thread(own_server.start)
        before = await polled()
        async with asyncio.timeout(60):
            while await polled() <= before:
                await asyncio.sleep(0.05)
    await demo.stop()
