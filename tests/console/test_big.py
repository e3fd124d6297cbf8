"""Large data on a real server: little memory, and keys answered during reads."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from console.model import finder
from console.model import node_list as model
from console.model.flat_list import tail_id
from console.model.node_list import NodeList
from console.tui import keymap
from console.tui.screens.tree import TreeScreen
from tests.console.tui_driver import TuiDriver, run_tui
from tests.db.estuary import EstuaryDb
from tests.db.eternaltwin import EternaltwinDb
from tests.proof import proof
from tests.queries.proxy import Proxy
from tests.servers import PostgresServer

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
    found = tree(tui).rows
    return found is not None and found.loaded > 0


def node_list(tui: TuiDriver) -> NodeList:
    found = tree(tui).rows
    assert found is not None
    return found


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
        node_id, rows = eternaltwin_db.id(job, "job"), node_list(tui)
        await walk(tui, "end", lambda: rows.full(node_id))
        await tui.press("end")
        await tui.wait_for("2,000 are loaded; Enter searches all of them")
        assert rows.loaded < 2_300


async def test_a_row_for_more_searches_all_of_a_parent(
    eternaltwin_db: EternaltwinDb,
    eternaltwin: str,
    audit_log_table: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Load 200 of 450 tasks, filter them, and wake all that match."""
    monkeypatch.setattr(model, "MAX_CHILDREN", 200)
    job, other = await eternaltwin_db.job(), await eternaltwin_db.job()
    await eternaltwin_db.tasks([job] * 450 + [other] * 5, kind="Late", status="Blocked", timer=-3000)
    await eternaltwin_db.tasks([job] * 9, kind="Other", status="Blocked", timer=3000)
    async with run_tui(eternaltwin, tmp_path, size=(150, 45)) as tui:
        await tui.wait_for("● live", lambda: loaded(tui) and tui.app.session.state.findings_loaded)
        rows, node_id = node_list(tui), eternaltwin_db.id(job, "job")
        tree(tui).table.go_to(node_id)
        if not rows.is_expanded(node_id):
            await tui.press("right")
        await tui.wait_for(lambda: rows.children(node_id))
        tail = tail_id(node_id)
        while not rows.full(node_id):
            rows.move_to(tail)
            before = rows.loaded
            await tui.press("enter")
            await tui.wait_for(lambda before=before: rows.loaded > before)
        rows.move_to(tail)
        await tui.press("enter")
        await tui.wait_for("/ filters, and enter here then searches all of them")
        await tui.press("slash")
        await tui.type("late")
        await tui.press("enter")
        await tui.wait_for("filter: late")
        with monkeypatch.context() as few:
            few.setattr(finder, "NODES_FOUND", 300)
            rows.move_to(tail)
            await tui.press("enter")
            await tui.wait_for("at least 300 found")
            await tui.press("asterisk")
            await tui.wait_for("300 marked of the loaded rows; ^p with an action and a filter takes all")
            await tui.press("asterisk", "escape")
            await tui.wait_for(lambda: isinstance(tui.app.screen, TreeScreen))
        rows.move_to(tail)
        await tui.press("enter")
        await tui.wait_for("450 found")
        assert "at least" not in tui.text
        await tui.press("asterisk")
        await tui.wait_for("450 marked.")
        await tui.action("W")
        await tui.dry_run("Will change 450")


async def test_home_end_and_an_id_among_many_jobs(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.sql(MANY)
    await eternaltwin_db.sql(INDEX)
    newest = await eternaltwin_db.value("SELECT job_id FROM job ORDER BY created_at DESC, job_id DESC LIMIT 1")
    oldest = await eternaltwin_db.value("SELECT job_id FROM job ORDER BY created_at, job_id LIMIT 1")
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("● live", lambda: re.search(r"1\d\d\+", tui.text))
        rows = node_list(tui)
        tree(tui).table.go_to(eternaltwin_db.id(newest, "job"))
        await tui.press("space")
        await tui.wait_for("1 marked")
        before = rows.loaded
        await tui.press("end")
        await tui.wait_for(lambda: rows.loaded > before)
        await walk(tui, "end", lambda: rows.full(None))
        await tui.press("end")
        await tui.wait_for("2,000 are loaded; Enter searches all of them")
        assert [node.id for node in tree(tui).targets()] == [eternaltwin_db.id(newest, "job")], "its mark has stayed"
        await tui.press("home")
        await tui.wait_for(lambda: rows.cursor_row == 0)
        assert rows.marks == {eternaltwin_db.id(newest, "job")}
        await find(tui, eternaltwin_db.id(oldest, "job"))
        await tui.press("enter")
        await tui.wait_for("Recorded", eternaltwin_db.id(oldest, "job"))
        await tui.press("o")
        await tui.wait_for(lambda: rows.cursor == eternaltwin_db.id(oldest, "job"))


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
        rows = node_list(tui)
        assert rows.move_to(EstuaryDb.id(task))
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
        rows = node_list(tui)
        ids = {i: EstuaryDb.id((i).to_bytes(8, "big").hex(":")) for i in (1, 2, 3, 300, 10000)}
        assert rows.move_to(ids[1])
        for above, below in ((ids[1], ids[2]), (ids[2], ids[3])):
            async with answering(tui, proxy):
                await tui.press("right")
            await tui.wait_for(lambda above=above, below=below: rows.children(above) == (below,))
            await tui.press("right")
            await tui.wait_for(lambda below=below: rows.cursor == below)
        await find(tui, ids[10000])
        async with answering(tui, proxy):
            await tui.press("enter")
            await tui.wait_for("Searching …")
        await tui.wait_for("Recorded values", ids[10000])
        await tui.press("o")
        await tui.wait_for("levels so far")
        await tui.press("up")
        await tui.wait_for(lambda: all(worker.is_finished for worker in tui.app.workers if worker.group == "read"))
        assert ids[10000] not in rows, "a key has stopped the way there"
        await find(tui, ids[300])
        await tui.press("enter")
        await tui.wait_for("Recorded values", ids[300])
        await tui.press("o")
        await tui.wait_for(lambda: tree(tui).rows and node_list(tui) is rows and rows.cursor == ids[300])
        assert rows.row(rows.cursor_row).depth == 299
        number = len(rows)
        await tui.press("down")
        await tui.wait_for("more… (enter loads the siblings)")
        await tui.press("enter")
        await tui.wait_for(lambda: len(rows) == number - 1)
