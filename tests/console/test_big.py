"""Big things on a real server: each opens, little of it is held, and keys are answered while a read is under way."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from console.model.node_list import NodeList
from console.model.page_window import PAGES
from console.tui.screens.base import MODES
from console.tui.screens.tree import TreeScreen
from tests.console.stage import Stage, staged
from tests.queries.builders import Twin
from tests.queries.estuary.rows import Rows
from tests.queries.proxy import Proxy
from tests.servers import TestbedServer

HELD = (PAGES + 1) * 100
INDEX = "CREATE INDEX ON task (job_id, created_at, task_id); CREATE INDEX ON job (created_at, job_id); ANALYZE"

MANY = (
    "INSERT INTO job SELECT gen_random_uuid(), now() - make_interval(secs => i), NULL, ''"
    " FROM generate_series(1, 5000) AS i"
)


def tree(stage: Stage) -> TreeScreen:
    screen = stage.app.screen
    assert isinstance(screen, TreeScreen)
    return screen


def loaded(stage: Stage) -> bool:
    """Whether there are rows."""
    found = tree(stage).node_list
    return found is not None and found.forest.loaded > 0


def node_list(stage: Stage) -> NodeList:
    found = tree(stage).node_list
    assert found is not None
    return found


@contextlib.asynccontextmanager
async def answering(stage: Stage, proxy: Proxy) -> AsyncIterator[None]:
    """No answer of the server comes within the context, and one is waited for; keys are answered all the same."""
    proxy.open.clear()
    stage.app.session.refresh()
    before = proxy.trips
    yield
    await stage.until(lambda: proxy.trips > before)
    mode, page = stage.app.current_mode, stage.app.screen
    await stage.press("question_mark")
    await stage.until("Keys everywhere")
    await stage.press(next(key for key, name in MODES if name == mode))
    await stage.until(lambda: stage.app.screen is page)
    assert not proxy.open.is_set()
    proxy.open.set()


async def find(stage: Stage, node_id: str) -> None:
    """Type an id to be found; enter is left to press."""
    await stage.press("f")
    await stage.until("Find in")
    await stage.type(node_id.partition(":")[2])


async def walk(stage: Stage, key: str, until: Callable[[], bool]) -> None:
    """Press a key until something is so."""
    async with asyncio.timeout(60):
        while not until():
            await stage.press(key)
            await stage.pilot.pause()


async def test_a_job_of_a_hundred_thousand_tasks(twin: Twin, proxy: Proxy, eternaltwin: str, tmp_path: Path) -> None:
    job = await twin.job()
    await twin.sql(
        "INSERT INTO task (task_id, job_id, kind, kind_version, created_at, revision, status, cpu_duration,"
        " poll_duration, state) SELECT gen_random_uuid(), $1, 'Shard' || lpad(i::text, 6, '0'), 1,"
        " now() - make_interval(secs => 200000 - i), 0, 'Available', '0', '0',"
        " convert_to(repeat('x', 300), 'UTF8') FROM generate_series(1, 100000) AS i",
        job,
    )
    await twin.sql(INDEX)
    async with staged(proxy.through(eternaltwin), tmp_path) as stage:
        await stage.until("more than 1000 tasks", "● live")
        async with answering(stage, proxy):
            await stage.press("right")
        await stage.until("Shard000001 v1")
        node_id, forest = twin.id(job, "job"), node_list(stage).forest
        window = node_list(stage)._windows[node_id]
        await walk(stage, "pagedown", lambda: window.low >= 5)
        assert forest.loaded <= HELD + 1
        children = forest.children(node_id)
        assert children is not None
        first = forest.node(children[0])
        assert first is not None
        assert first.title == f"Shard{100 * window.low + 1:06} v1", "what is far above was let go"
        assert forest.cursor in forest
        await walk(stage, "pageup", lambda: window.low == 0)
        children = forest.children(node_id)
        assert children is not None
        first = forest.node(children[0])
        assert first is not None
        assert first.title == "Shard000001 v1", "and is there again"
        assert forest.loaded <= HELD + 1


async def test_home_end_and_an_id_among_many_jobs(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    await twin.sql(MANY)
    await twin.sql(INDEX)
    newest = await twin.value("SELECT job_id FROM job ORDER BY created_at DESC, job_id DESC LIMIT 1")
    oldest = await twin.value("SELECT job_id FROM job ORDER BY created_at, job_id LIMIT 1")
    async with staged(eternaltwin, tmp_path) as stage:
        await stage.until("● live", "100+")
        await stage.press("space")
        await stage.until("1 marked")
        await stage.press("end")
        forest = node_list(stage).forest
        await stage.until(lambda: forest.cursor == twin.id(oldest, "job"))
        assert forest.loaded <= HELD
        assert not node_list(stage).has_after(None)
        assert twin.id(newest, "job") not in forest
        assert [node.id for node in tree(stage).targets()] == [twin.id(newest, "job")], "its mark has stayed"
        await stage.press("home")
        await stage.until(lambda: forest.cursor == twin.id(newest, "job"))
        assert forest.loaded <= HELD
        assert node_list(stage).has_after(None)
        assert forest.row(0).marked
        await stage.press("f")
        await stage.until("Find in eternaltwin")
        await stage.type(str(oldest))
        await stage.press("enter")
        await stage.until(lambda: node_list(stage).forest.cursor == twin.id(oldest, "job"))


async def test_the_way_to_the_end_stops_at_a_key(twin: Twin, proxy: Proxy, eternaltwin: str, tmp_path: Path) -> None:
    await twin.sql(MANY)
    await twin.sql(INDEX)
    async with staged(proxy.through(eternaltwin), tmp_path) as stage:
        await stage.until("● live", "100+")
        proxy.delay = 0.02
        await stage.press("end")
        await stage.until("Reading on to the end")
        await stage.press("up", "up")
        await stage.until(lambda: not tree(stage)._reading)
        assert node_list(stage).has_after(None)


async def test_a_state_of_a_hundred_megabytes(twin: Twin, proxy: Proxy, eternaltwin: str, tmp_path: Path) -> None:
    task = await twin.task(kind="Heavy", status="Blocked", timer=60)
    await twin.sql(
        "UPDATE task SET state = convert_to('{\"all\":\"' || repeat('x', 100 * 1024 * 1024) || '\"}', 'UTF8')"
        " WHERE task_id = $1",
        task,
    )
    async with staged(proxy.through(eternaltwin), tmp_path) as stage:
        await stage.until("Heavy v1", "● live")
        await stage.press("right")
        await stage.until("└")
        await stage.press("down")
        async with answering(stage, proxy):
            await stage.press("enter")
            await stage.until("Reading …")
        await stage.until("state", "100 MB (the first 64 kB); m fetches more")
        assert len(stage.text) < 10_000
        for more in ("512 kB); m fetches more", "4 MB)"):
            await stage.press("m")
            await stage.until(f"100 MB (the first {more}")
        await stage.press("m")
        await stage.until("No more than the first 4 MB can be shown here.")


async def test_two_hundred_findings_at_once(twin: Twin, proxy: Proxy, eternaltwin: str, tmp_path: Path) -> None:
    await twin.tasks(await twin.jobs(230), status="Blocked", timer=-900)
    async with staged(proxy.through(eternaltwin), tmp_path) as stage:
        await stage.until("● live", lambda: len(stage.app.session.findings()) >= 200)
        async with answering(stage, proxy):
            await stage.press("2")
            await stage.until("timer overdue", "stuck 200+", "more of 1 kind, see help")
        proxy.open.clear()
        await stage.press("end", "enter")
        await stage.until("Reading …")
        proxy.open.set()
        await stage.until("Why it is stuck", "timer overdue")
        await stage.press("escape", "question_mark", "end")
        await stage.until("more is stuck than is shown", "The first 200 of each", "overdue_timer")


@pytest.fixture
async def rows(server: TestbedServer) -> AsyncIterator[tuple[Rows, str]]:
    dsn = server.fresh("estuary")
    rows = await Rows.open(dsn)
    await rows.sql("CREATE INDEX ON tasks (parent_id, task_id)")
    yield rows, dsn
    await rows.connection.close()
    server.drop(dsn)


async def test_a_task_with_fifty_thousand_children(rows: tuple[Rows, str], proxy: Proxy, tmp_path: Path) -> None:
    database, dsn = rows
    parent = await database.task(2)
    await database.sql(
        "INSERT INTO tasks (task_id, task_type, parent_id, wake_at)"
        " SELECT lpad(to_hex(i), 16, '0')::macaddr8, 3, $1::text::macaddr8, now() + interval '1 h'"
        " FROM generate_series(1, 50000) AS i",
        parent,
    )
    await database.sql("ANALYZE")
    async with staged(proxy.through(dsn), tmp_path) as stage:
        await stage.until("● live", lambda: loaded(stage))
        forest = node_list(stage).forest
        assert forest.move_to(Rows.id(parent))
        async with answering(stage, proxy):
            await stage.press("right")
        await stage.until(lambda: len(forest.children(Rows.id(parent)) or ()) == 100)
        window = node_list(stage)._windows[Rows.id(parent)]
        await walk(stage, "pagedown", lambda: window.low >= 3)
        assert len(forest.children(Rows.id(parent)) or ()) <= HELD


async def test_an_inbox_of_a_hundred_thousand_messages(rows: tuple[Rows, str], proxy: Proxy, tmp_path: Path) -> None:
    database, dsn = rows
    task = await database.task(2, wake=3600)
    await database.sql(
        "UPDATE tasks SET inbox = (SELECT array_agg(json_build_array("
        "'00:00:00:00:00:00:00:00', json_build_object('n', i)))"
        " FROM generate_series(1, 100000) AS i) WHERE task_id = $1::text::macaddr8",
        task,
    )
    async with staged(proxy.through(dsn), tmp_path) as stage:
        await stage.until("● live", lambda: loaded(stage))
        forest = node_list(stage).forest
        assert forest.move_to(Rows.id(task))
        async with answering(stage, proxy):
            await stage.press("enter")
            await stage.until("Reading …")
        await stage.until("inbox", "100000")


async def test_a_chain_ten_thousand_deep(rows: tuple[Rows, str], proxy: Proxy, tmp_path: Path) -> None:
    database, dsn = rows
    await database.sql(
        "INSERT INTO tasks (task_id, task_type, parent_id, wake_at)"
        " SELECT lpad(to_hex(i), 16, '0')::macaddr8, 2,"
        " CASE WHEN i > 1 THEN lpad(to_hex(i - 1), 16, '0')::macaddr8 END,"
        " now() + interval '1 h' FROM generate_series(1, 10000) AS i"
    )
    await database.sql("ANALYZE")
    async with staged(proxy.through(dsn), tmp_path) as stage:
        await stage.until("● live", lambda: loaded(stage))
        forest = node_list(stage).forest
        ids = {i: Rows.id((i).to_bytes(8, "big").hex(":")) for i in (1, 2, 3, 300, 10000)}
        assert forest.move_to(ids[1])
        for above, below in ((ids[1], ids[2]), (ids[2], ids[3])):
            async with answering(stage, proxy):
                await stage.press("right")
            await stage.until(lambda above=above, below=below: forest.children(above) == (below,))
            await stage.press("right")
            await stage.until(lambda below=below: forest.cursor == below)
        await find(stage, ids[10000])
        async with answering(stage, proxy):
            await stage.press("enter")
        await stage.until(lambda: node_list(stage).forest.cursor == ids[10000])
        async with answering(stage, proxy):
            await stage.press("enter")
            await stage.until("Reading …")
        await stage.until("As recorded")
        await stage.press("o")
        await stage.until("levels so far")
        await stage.press("up")
        await stage.until(lambda: all(worker.is_finished for worker in stage.app.workers if worker.group == "read"))
        assert ids[10000] not in forest, "a key has stopped the way there"
        await find(stage, ids[300])
        await stage.press("enter")
        await stage.until(lambda: node_list(stage).forest.cursor == ids[300])
        await stage.press("enter")
        await stage.until("As recorded")
        await stage.press("o")
        await stage.until(
            lambda: tree(stage).node_list and node_list(stage).forest is forest and forest.cursor == ids[300]
        )
        assert forest.ancestors(ids[300])[-1] == ids[1]
        rows_ = len(forest)
        await stage.press("down")
        await stage.until("enter reads what is beside it")
        await stage.press("enter")
        await stage.until(lambda: len(forest) == rows_ - 1)
