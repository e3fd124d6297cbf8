"""Demo of estuary: executors with the engine's protocol, data with every finding."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

import asyncpg
import pytest

from queries.workspace import Workspace
from tests.db.estuary import LABEL, ZERO, EstuaryDb
from tests.queries.builders import opened, reader
from tests.servers import PostgresServer, both_versions
from tests.simulators.estuary import Estuary, Simulation, kinds
from tests.simulators.estuary.data import make
from tests.simulators.estuary.executor import Executor


@pytest.fixture
async def demo(server: PostgresServer, tmp_path: Path) -> AsyncIterator[tuple[EstuaryDb, Workspace]]:
    """A database with the demo's data."""
    dsn = server.fresh(LABEL, filled=True)
    estuary_db, workspace = await EstuaryDb.open(dsn), await opened(dsn, tmp_path)
    yield estuary_db, workspace
    await workspace.close()
    await estuary_db.connection.close()
    server.drop(dsn)


def executor(connection: Any, **options: Any) -> Executor:
    return Executor(connection, Random(1), poll_ticks=lambda rng: 1, **options)


@both_versions
async def test_there_is_one_of_every_finding_and_of_every_state(demo: tuple[EstuaryDb, Workspace]) -> None:
    estuary_db, workspace = demo
    r = reader(workspace, LABEL)
    found = {f.code for f in (await r.findings.read()).findings}
    # The demo's executors have free slots, its clocks agree, and its rows are as the engine writes them.
    absent = {"slots_in_use", "overdue", "created_ahead", "due_far_ahead", "dependency_cycle", "long_poll"}
    assert found == {f.code for f in r.engine.spec.findings if not f.sample} - absent
    statuses = {n.status for n in (await r.pages.live(None, 1000)).nodes}
    assert statuses == {s.native for s in r.engine.spec.statuses}
    worker = Simulation(estuary_db.connection, Random(1))
    for _ in range(8):
        await worker.tick()
        await r.samples.take()
    assert {f.code for f in (await r.findings.read()).findings} == found, (
        "what is stuck stays stuck while executors work"
    )
    hot = next(w for w in r.samples._findings if w.spec.code == "hot_loop")
    assert max(node.changes for node in hot._nodes.values()) >= 1


async def test_the_same_seed_makes_the_same(estuary_db: EstuaryDb) -> None:
    one, two, other = make(1, 1.7e9), make(1, 1.7e9), make(2, 1.7e9)
    assert (one.tasks, one.specs, one.planes, one.odd) == (two.tasks, two.specs, two.planes, two.odd)
    assert one.tasks != other.tasks
    assert len({task[0] for task in one.tasks}) == len(one.tasks)
    await Estuary().fill(estuary_db.connection, 3)


@both_versions
async def test_a_tree_adds_up_and_is_gone(estuary_db: EstuaryDb) -> None:
    parent = await estuary_db.task(kinds.NOTIFICATIONS)
    root = await estuary_db.task(kinds.FIBONACCI, parent=parent, state='"Init"')
    await estuary_db.send(root, {"value": 6})
    one = executor(estuary_db.connection, types=[kinds.FIBONACCI], permits=50)
    most = 0
    for _ in range(80):
        await one.tick()
        most = max(most, await estuary_db.value("SELECT count(*) FROM tasks"))
    assert most > 4
    assert await estuary_db.value("SELECT count(*) FROM tasks") == 1, "the row of a finished task is deleted"
    assert (await estuary_db.row(parent))["inbox"] == [f'["{root}", {{"value": 8}}]', f'["{root}", null]']


async def test_a_message_at_the_end_of_a_task_starts_it_again(estuary_db: EstuaryDb) -> None:
    task = await estuary_db.task(kinds.PUBLICATIONS, wake=-1, inbox=[(ZERO, {"type": "queued"})])
    one = executor(estuary_db.connection)
    await one.take(1)
    await estuary_db.send(task, {"type": "queued"})
    assert await one.poll(one.held[task])
    after = await estuary_db.row(task)
    assert (after["state"], after["idle"]) == (None, True)
    assert after["due"] <= 0
    assert len(after["inbox"]) == 1


async def test_a_failing_poll_writes_nothing(estuary_db: EstuaryDb) -> None:
    task = await estuary_db.task(2, wake=-1, inbox=['"poison"'])
    one = executor(estuary_db.connection)
    await one.take(1)
    before = await estuary_db.digest()
    assert not await one.poll(one.held[task])
    assert await estuary_db.digest() == before
    await estuary_db.send(task, {"type": "shard_failed"})
    await one.take(1)
    assert one.held == {}, "not before its heartbeat has run out"
    await estuary_db.age(task, 301)
    await one.take(1)
    assert one.held[task].inbox == ['"poison"'], "the retry does not see later messages"


async def test_a_lost_row_undoes_the_whole_poll(estuary_db: EstuaryDb) -> None:
    task = await estuary_db.task(kinds.FIBONACCI, wake=-1, state='"Init"', inbox=[(ZERO, {"value": 5})])
    ends: list[str] = []
    one = executor(estuary_db.connection, on_end=lambda held, end, outcome: ends.append(end))
    await one.take(1)
    held = one.held[task]
    await estuary_db.sql("DELETE FROM tasks")
    assert not await one.poll(held)
    assert ends == ["vanished"]
    assert await estuary_db.value("SELECT count(*) FROM tasks") == 0, "its child is rolled back with it"


async def test_a_locked_row_is_skipped_by_workers(estuary_db: EstuaryDb, estuary: str) -> None:
    locked, free = await estuary_db.task(wake=-9), await estuary_db.task(wake=-1)
    holder = await asyncpg.connect(estuary)
    async with holder.transaction():
        await holder.execute("SELECT FROM tasks WHERE task_id = $1::text::macaddr8 FOR UPDATE", locked)
        one = executor(estuary_db.connection)
        await one.take(5)
        assert list(one.held) == [free]
    await holder.close()


async def test_states_are_as_the_console_knows_them(workspace: Workspace) -> None:
    """The demo decodes exactly the messages that unstick considers decodable."""
    settings = reader(workspace, LABEL).engine.settings
    assert {str(t) for t in kinds.TAKES} <= set(settings["messages"])
    assert set(settings["messages"]) == set(settings["takes"])
    assert json.loads(settings["first"]["3"]) == {"type": "queued"}
