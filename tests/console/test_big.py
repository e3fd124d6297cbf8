"""Large data on a real server: little memory, and keys answered during reads."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from console.model.attention_first import UNHEALTHY_NODES
from console.model.node_list import NodeList
from console.model.page_window import MAX_PAGES
from console.tui import keymap
from console.tui.screens.tree import TreeScreen
from tests.console.tui_driver import TuiDriver, run_tui
from tests.db.estuary import EstuaryDb
from tests.db.eternaltwin import EternaltwinDb
from tests.proof import proof
from tests.queries.proxy import Proxy
from tests.servers import PostgresServer

MAX_LOADED = (MAX_PAGES + 1) * 100
INDEX = "CREATE INDEX ON task (job_id, created_at, task_id); CREATE INDEX ON job (created_at, job_id); ANALYZE"

MANY = (
    "INSERT INTO job SELECT gen_random_uuid(), now() - make_interval(secs => i), NULL, ''"
    " FROM generate_series(1, 5000) AS i"
)


def tree(tui: TuiDriver) -> TreeScreen:
    screen = tui.app.screen
    assert isinstance(screen, TreeScreen)
    return screen


def loaded(tui: TuiDriver) -> bool:
    """Return True if the tree has loaded rows."""
    found = tree(tui).node_list
    return found is not None and found.forest.loaded > 0


def node_list(tui: TuiDriver) -> NodeList:
    found = tree(tui).node_list
    assert found is not None
    return found


def first_paged(tui: TuiDriver, parent_id: str) -> str:
    """Return the title of the first child of the loaded pages.

    Above it are the worst nodes, wherever their pages are: here those from 95,001 on.
    """
    found = node_list(tui)
    children = [found.forest.record(id_) for id_ in found.forest.children(parent_id) or ()]
    worst = [node for node in children[:UNHEALTHY_NODES] if node is not None and node.title > "Shard095000"]
    first = children[len(worst)]
    assert first is not None
    return first.title


@contextlib.asynccontextmanager
async def answering(tui: TuiDriver, proxy: Proxy) -> AsyncIterator[None]:
    """Delay the server's answers within the context; check that keys still work."""
    proxy.open.clear()
    tui.app.session.refresh()
    before = proxy.trips
    yield
    await tui.wait_for(lambda: proxy.trips > before)
    mode, page = tui.app.current_mode, tui.app.screen
    await tui.press("question_mark")
    await tui.wait_for("/ search")
    await tui.press(next(key.keys for key in keymap.MODES if key.id == f"mode.{mode}").partition(",")[0])
    await tui.wait_for(lambda: tui.app.screen is page)
    assert not proxy.open.is_set()
    proxy.open.set()


async def until_read(tui: TuiDriver, loaded: Callable[[], bool]) -> None:
    """Wait for children, read again if the answers came too late on a busy machine."""
    await tui.wait_for(lambda: loaded() or "tries again" in tui.text)
    if not loaded():
        await tui.press("down", "enter")
        await tui.wait_for(loaded)


async def find(tui: TuiDriver, node_id: str) -> None:
    """Type an id to be found; enter is left to press."""
    await tui.press("f")
    await tui.wait_for("Find in")
    await tui.type(node_id.partition(":")[2])


async def walk(tui: TuiDriver, key: str, until: Callable[[], bool]) -> None:
    """Press a key until something is so."""
    async with asyncio.timeout(60):
        while not until():
            await tui.press(key)
            await tui.pilot.pause()


@proof
async def test_a_job_of_a_hundred_thousand_tasks(
    eternaltwin_db: EternaltwinDb, proxy: Proxy, eternaltwin: str, tmp_path: Path
) -> None:
    job = await eternaltwin_db.job()
    await eternaltwin_db.sql(
        "INSERT INTO task (task_id, job_id, kind, kind_version, created_at, revision, status, cpu_duration,"
        " poll_duration, state) SELECT gen_random_uuid(), $1, 'Shard' || lpad(i::text, 6, '0'), 1,"
        " now() - make_interval(secs => 200000 - i), 0, 'Available', '0', '0',"
        " convert_to(repeat('x', 300), 'UTF8') FROM generate_series(1, 100000) AS i",
        job,
    )
    await eternaltwin_db.sql(INDEX)
    async with run_tui(proxy.through(eternaltwin), tmp_path) as tui:
        await tui.wait_for("more than 1000 tasks", "● live")
        async with answering(tui, proxy):
            await tui.press("right")
        await until_read(tui, lambda: "Shard000001 v1" in tui.text)
        node_id, forest = eternaltwin_db.id(job, "job"), node_list(tui).forest
        pages = node_list(tui).pages
        await walk(tui, "pagedown", lambda: pages.window(node_id).low >= 5)
        assert forest.loaded <= MAX_LOADED + 1
        first = f"Shard{100 * pages.window(node_id).low + 1:06} v1"
        assert first_paged(tui, node_id) == first, "the pages far above were evicted"
        assert forest.cursor in forest
        await walk(tui, "pageup", lambda: pages.window(node_id).low == 0)
        assert first_paged(tui, node_id) == "Shard000001 v1", "and is there again"
        assert forest.loaded <= MAX_LOADED + 1


async def test_home_end_and_an_id_among_many_jobs(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.sql(MANY)
    await eternaltwin_db.sql(INDEX)
    newest = await eternaltwin_db.value("SELECT job_id FROM job ORDER BY created_at DESC, job_id DESC LIMIT 1")
    oldest = await eternaltwin_db.value("SELECT job_id FROM job ORDER BY created_at, job_id LIMIT 1")
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("● live", lambda: re.search(r"1\d\d\+", tui.text))
        forest = node_list(tui).forest
        tree(tui).table.go_to(eternaltwin_db.id(newest, "job"))
        await tui.press("space")
        await tui.wait_for("1 marked")
        await tui.press("end")
        await tui.wait_for(
            lambda: forest.cursor_row == len(forest) - 1 and node_list(tui).pages.window(None).after is None
        )
        assert forest.loaded <= MAX_LOADED
        assert eternaltwin_db.id(oldest, "job") in forest
        assert eternaltwin_db.id(newest, "job") not in forest
        assert [node.id for node in tree(tui).targets()] == [eternaltwin_db.id(newest, "job")], "its mark has stayed"
        await tui.press("home")
        await tui.wait_for(lambda: forest.cursor_row == 0 and eternaltwin_db.id(newest, "job") in forest)
        assert forest.loaded <= MAX_LOADED
        assert node_list(tui).pages.window(None).after is not None
        assert forest.marks == {eternaltwin_db.id(newest, "job")}
        await find(tui, eternaltwin_db.id(oldest, "job"))
        await tui.press("enter")
        await tui.wait_for("Recorded", eternaltwin_db.id(oldest, "job"))


async def test_the_way_to_the_end_stops_at_a_key(
    eternaltwin_db: EternaltwinDb, proxy: Proxy, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.sql(MANY)
    await eternaltwin_db.sql(INDEX)
    async with run_tui(proxy.through(eternaltwin), tmp_path) as tui:
        await tui.wait_for("● live", lambda: re.search(r"1\d\d\+", tui.text))
        proxy.delay = 0.02
        await tui.press("end")
        await tui.wait_for("Reading to the end")
        await tui.press("up", "up")
        await tui.wait_for(lambda: not tree(tui).reading)
        assert node_list(tui).pages.window(None).after is not None


@proof
async def test_a_state_of_a_hundred_megabytes(
    eternaltwin_db: EternaltwinDb, proxy: Proxy, eternaltwin: str, tmp_path: Path
) -> None:
    task = await eternaltwin_db.task(kind="Heavy", status="Blocked", timer=60)
    await eternaltwin_db.sql(
        "UPDATE task SET state = convert_to('{\"all\":\"' || repeat('x', 100 * 1024 * 1024) || '\"}', 'UTF8')"
        " WHERE task_id = $1",
        task,
    )
    async with run_tui(proxy.through(eternaltwin), tmp_path) as tui:
        await tui.wait_for("Heavy v1", "● live")
        await tui.press("right")
        await tui.wait_for("└")
        await tui.press("down")
        async with answering(tui, proxy):
            await tui.press("enter")
            await tui.wait_for("Reading …")
        await tui.wait_for("state", "100 MB (the first 64 kB); m loads more")
        assert len(tui.text) < 10_000
        for more in ("512 kB); m loads more", "4 MB)"):
            await tui.press("m")
            await tui.wait_for(f"100 MB (the first {more}")
        await tui.press("m")
        await tui.wait_for("Only the first 4 MB can be shown.")


async def test_two_hundred_findings_at_once(
    eternaltwin_db: EternaltwinDb, proxy: Proxy, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.tasks(await eternaltwin_db.jobs(230), status="Blocked", timer=-900)
    async with run_tui(proxy.through(eternaltwin), tmp_path) as tui:
        await tui.wait_for("● live", lambda: tui.app.session.state.findings_loaded)
        async with answering(tui, proxy):
            await tui.press("2")
            await tui.wait_for("overdue timer", "200+ tasks", "more of 1 kind, see help")
        proxy.open.clear()
        await tui.press("right", "end", "enter")
        await tui.wait_for("Reading …")
        proxy.open.set()
        await tui.wait_for("Why it is stuck", "overdue timer")
        await tui.press("escape", "question_mark", "end")
        await tui.wait_for("more is stuck than shown", "the first 200 findings", "overdue_timer")


@pytest.fixture
async def estuary_with_dsn(server: PostgresServer) -> AsyncIterator[tuple[EstuaryDb, str]]:
    dsn = server.fresh("estuary")
    estuary_db = await EstuaryDb.open(dsn)
    await estuary_db.sql("CREATE INDEX ON tasks (parent_id, task_id)")
    yield estuary_db, dsn
    await estuary_db.connection.close()
    server.drop(dsn)


@proof
async def test_an_inbox_of_a_hundred_thousand_messages(
    estuary_with_dsn: tuple[EstuaryDb, str], proxy: Proxy, tmp_path: Path
) -> None:
    database, dsn = estuary_with_dsn
    task = await database.task(2, wake=3600)
    await database.sql(
        "UPDATE tasks SET inbox = (SELECT array_agg(json_build_array("
        "'00:00:00:00:00:00:00:00', json_build_object('n', i)))"
        " FROM generate_series(1, 100000) AS i) WHERE task_id = $1::text::macaddr8",
        task,
    )
    async with run_tui(proxy.through(dsn), tmp_path) as tui:
        await tui.wait_for("● live", lambda: loaded(tui))
        forest = node_list(tui).forest
        assert forest.move_to(EstuaryDb.id(task))
        async with answering(tui, proxy):
            await tui.press("enter")
            await tui.wait_for("Reading …")
        await tui.wait_for("inbox", "100000")


@proof
async def test_a_chain_ten_thousand_deep(estuary_with_dsn: tuple[EstuaryDb, str], proxy: Proxy, tmp_path: Path) -> None:
    database, dsn = estuary_with_dsn
    await database.sql(
        "INSERT INTO tasks (task_id, task_type, parent_id, wake_at)"
        " SELECT lpad(to_hex(i), 16, '0')::macaddr8, 2,"
        " CASE WHEN i > 1 THEN lpad(to_hex(i - 1), 16, '0')::macaddr8 END,"
        " now() + interval '1 h' FROM generate_series(1, 10000) AS i"
    )
    await database.sql("ANALYZE")
    async with run_tui(proxy.through(dsn), tmp_path) as tui:
        await tui.wait_for("● live", lambda: loaded(tui))
        forest = node_list(tui).forest
        ids = {i: EstuaryDb.id((i).to_bytes(8, "big").hex(":")) for i in (1, 2, 3, 300, 10000)}
        assert forest.move_to(ids[1])
        for above, below in ((ids[1], ids[2]), (ids[2], ids[3])):
            async with answering(tui, proxy):
                await tui.press("right")
            await tui.wait_for(lambda above=above, below=below: forest.children(above) == (below,))
            await tui.press("right")
            await tui.wait_for(lambda below=below: forest.cursor == below)
        await find(tui, ids[10000])
        async with answering(tui, proxy):
            await tui.press("enter")
            await tui.wait_for("Searching …")
        await tui.wait_for("Recorded values", ids[10000])
        await tui.press("o")
        await tui.wait_for("levels so far")
        await tui.press("up")
        await tui.wait_for(lambda: all(worker.is_finished for worker in tui.app.workers if worker.group == "read"))
        assert ids[10000] not in forest, "a key has stopped the way there"
        await find(tui, ids[300])
        await tui.press("enter")
        await tui.wait_for("Recorded values", ids[300])
        await tui.press("o")
        await tui.wait_for(
            lambda: tree(tui).node_list and node_list(tui).forest is forest and forest.cursor == ids[300]
        )
        assert forest.row(forest.cursor_row).depth == 299
        rows_ = len(forest)
        await tui.press("down")
        await tui.wait_for("more… (enter loads the siblings)")
        await tui.press("enter")
        await tui.wait_for(lambda: len(forest) == rows_ - 1)
