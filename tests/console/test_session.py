"""The session, the lists and the works behind the screen, without one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest

from console.model.node_list import ListKind, NodeList
from console.model.session import ConnectionState, Session
from queries.db.errors import SlowError
from queries.records.node import Page
from queries.workspace import Workspace
from tests.console.tui_driver import DEADLINE, run_tui
from tests.db.eternaltwin import EternaltwinDb
from tests.servers import PostgresServer


async def wait_for(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not condition():
            await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def running(dsn: str, folder: Path) -> AsyncIterator[Session]:
    """A session that looks, until the end of the context."""

    async def open_() -> Workspace:
        return await Workspace(dsn, file=folder / "audit_log.jsonl").open()

    session = Session(open_, 0.2)
    task = session.begin()
    try:
        await wait_for(lambda: session.state.findings_loaded or session.error_text)
        yield session
    finally:
        await session.close()
        assert task.done()


@pytest.fixture
async def workspace(eternaltwin: str, tmp_path: Path) -> AsyncIterator[Workspace]:
    workspace = await Workspace(eternaltwin, file=tmp_path / "audit_log.jsonl").open()
    yield workspace
    await workspace.close()


async def test_a_session_knows_counts_and_findings(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    task = await eternaltwin_db.task(status="Blocked", timer=-600)
    async with running(eternaltwin, tmp_path) as session:
        assert session.link is ConnectionState.LIVE
        assert [f.code for f in session.state.findings.of(eternaltwin_db.id(task))] == ["overdue_timer"]
        assert session.state.findings.codes == {eternaltwin_db.id(task): ("overdue_timer",)}
        assert {count.phase: count.n for count in session.state.counts("eternaltwin") or ()}["scheduled"] == 1
        assert session.state.age is not None
        assert session.reader(eternaltwin_db.id(task)) is not None
        assert session.reader("nowhere/task:1") is None


async def test_a_paused_session_looks_when_asked(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    async with running(eternaltwin, tmp_path) as session:
        looks: list[int] = []

        async def viewer() -> None:
            looks.append(1)

        session.read_list = viewer
        assert session.pause()
        await wait_for(lambda: session.next_pass > 60)
        before = len(looks)
        session.refresh()
        await wait_for(lambda: len(looks) > before)
        assert not session.pause()


def test_intervals_go_up_and_down_and_no_further() -> None:
    async def never() -> Workspace:
        raise AssertionError

    session = Session(never, 2.0)
    assert [session.pick_interval(1) for _ in range(2)] == [5.0, 10.0]
    assert [session.pick_interval(-1) for _ in range(9)][-1] == 0.2
    assert [session.pick_interval(1) for _ in range(20)][-1] == 3600.0


async def test_a_session_notifies_the_screen_once_of_a_read(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.task(status="Blocked", timer=-600)
    async with running(eternaltwin, tmp_path) as session:
        calls = list[int]()
        session.changed = lambda: calls.append(1)
        before = session.timer.passes + session.timer.findings
        await wait_for(lambda: len(calls) >= 10)
        assert len(calls) <= session.timer.passes + session.timer.findings - before + 1


async def test_a_node_is_revealed_wherever_its_page_is(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    jobs = await eternaltwin_db.jobs(150)
    tasks = await eternaltwin_db.tasks(jobs)
    reader = workspace.engines["eternaltwin"]
    node_list = NodeList(lambda: reader, ListKind.TREE)
    page = await reader.nodes.read([eternaltwin_db.id(tasks[-1])])
    assert await node_list.load(page.nodes[0])
    assert node_list.reveal(eternaltwin_db.id(tasks[-1]))
    assert node_list.cursor == eternaltwin_db.id(tasks[-1])
    assert node_list.partial
    await eternaltwin_db.sql("DELETE FROM job")
    assert not await NodeList(lambda: reader, ListKind.TREE).load(page.nodes[0])


async def test_a_refresh_brings_what_is_new_and_takes_what_is_gone(
    eternaltwin_db: EternaltwinDb, workspace: Workspace
) -> None:
    job = await eternaltwin_db.job()
    reader = workspace.engines["eternaltwin"]
    node_list = NodeList(lambda: reader, ListKind.TREE)
    await node_list.refresh([])
    node_list.expand(eternaltwin_db.id(job, "job"))
    await node_list.first(eternaltwin_db.id(job, "job"))
    assert node_list.children(eternaltwin_db.id(job, "job")) == ()
    task = await eternaltwin_db.task(job)
    cells = await node_list.refresh([eternaltwin_db.id(job, "job")])
    assert "phase" in cells[eternaltwin_db.id(job, "job")]
    await node_list.first(eternaltwin_db.id(job, "job"))
    assert node_list.children(eternaltwin_db.id(task)) == (), "a task has nothing to unfold"
    await eternaltwin_db.sql("DELETE FROM job")
    await node_list.refresh([eternaltwin_db.id(job, "job"), eternaltwin_db.id(task)])
    assert eternaltwin_db.id(job, "job") not in node_list


async def test_a_refresh_reads_a_row_once_and_also_where_its_page_cannot_be_read(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, other = await eternaltwin_db.job(), await eternaltwin_db.job()
    task = await eternaltwin_db.task(job)
    reader, asked = workspace.engines["eternaltwin"], list[list[str]]()
    node_list = NodeList(lambda: reader, ListKind.TREE)
    await node_list.refresh([])
    node_list.expand(eternaltwin_db.id(job, "job"))
    await node_list.first(eternaltwin_db.id(job, "job"))
    read = reader.nodes.read

    async def counted(ids: Iterable[str]) -> Page:
        asked.append([*ids])
        return await read(asked[-1])

    async def broken_off(cursor: str | None = None, limit: int = 100) -> Page:
        raise SlowError("too slow")

    monkeypatch.setattr(reader.nodes, "read", counted)
    seen = [eternaltwin_db.id(job, "job"), eternaltwin_db.id(task)]
    await eternaltwin_db.sql("UPDATE task SET revision = revision + 1")
    cells = await node_list.refresh(seen)
    assert all("revision" in cells[node_id] for node_id in seen)
    assert asked == []
    monkeypatch.setattr(reader.pages, "roots", broken_off)
    before = node_list.record(eternaltwin_db.id(task))
    await eternaltwin_db.sql("UPDATE task SET revision = revision + 1")
    with pytest.raises(SlowError):
        await node_list.refresh(seen)
    after = node_list.record(eternaltwin_db.id(task))
    assert asked == [seen]
    assert before is not None
    assert after is not None
    assert before.revision is not None
    assert after.revision == before.revision + 1
    pages = node_list
    assert pages.oldest([*seen, eternaltwin_db.id(other, "job")]) < pages.oldest(seen) == pages.at


async def test_a_list_without_an_engine_reads_nothing() -> None:
    node_list = NodeList(lambda: None, ListKind.LIVE)
    await node_list.first()
    await node_list.next(None)
    await node_list.refresh([])
    assert node_list.loaded == 0


async def test_children_that_cost_a_scan_are_asked_for(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.task(kind="Hidden")
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("Hidden v1")
        reader = tui.app.session.engines["eternaltwin"]
        reader.variant.detected = msgspec.structs.replace(
            reader.detected, met_needs=reader.detected.met_needs - {"task_by_job"}
        )
        await tui.press("right")
        await tui.wait_for("costly: not read (")
        await tui.press("down", "enter")
        await tui.wait_for("This read scans a table", "CREATE INDEX CONCURRENTLY task__job_id__created_at__idx")
        await tui.press("y")
        await tui.wait_for("DDL of the index")
        await tui.press("enter")
        await tui.wait_for(lambda: tui.app.clipboard.startswith("CREATE INDEX"))
        await tui.press("tab", "enter")
        await tui.wait_for("└", "○ Available", lambda: "costly" not in tui.text)


async def test_more_nodes_than_are_dry_run_of(eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path) -> None:
    await eternaltwin_db.tasks(await eternaltwin_db.jobs(600), status="Blocked", timer=60)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("100+")
        while not tui.text.splitlines()[2].endswith(" 600 "):
            await tui.press("end")
            await tui.pilot.pause()
        await tui.press("asterisk")
        await tui.wait_for("600 marked")
        await tui.action("C")
        await tui.dry_run("Will change 600 jobs", "the first 500 were dry-run")
        await tui.press("C")
        await tui.wait_for("600 changed", "Close")
    assert await eternaltwin_db.value("SELECT count(*) FROM task WHERE status = 'Complete'") == 600


async def test_a_failing_page_can_be_asked_for_again(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, detected_once: None, tmp_path: Path
) -> None:
    await eternaltwin_db.task(kind="Late")
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("Late v1")
        tui.app.session.pause()
        await eternaltwin_db.sql("ALTER TABLE task RENAME TO hidden")
        await tui.press("right")
        await tui.wait_for("not read;")
        await eternaltwin_db.sql("ALTER TABLE hidden RENAME TO task")
        await tui.press("down", "enter")
        await tui.wait_for("○ Available")


async def test_a_refused_login_ends_the_connection_and_is_rarely_tried_again(
    server: PostgresServer, eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    """Connected means that the last read succeeded."""
    role, name = server.unique("r"), urlsplit(eternaltwin).path.strip("/")
    server.sql(f"CREATE ROLE {role} LOGIN SUPERUSER PASSWORD 'x'")
    dsn = server.dsn(name, user=role, password="x")
    end = f"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = '{role}'"
    async with running(dsn, tmp_path) as session:
        assert session.link is ConnectionState.LIVE
        server.sql(f"ALTER ROLE {role} NOLOGIN")
        server.sql(end)
        await wait_for(lambda: "not permitted" in session.error_text)
        assert session.link is ConnectionState.LOST
        assert session.retry_in > 10
        server.sql(f"ALTER ROLE {role} LOGIN")
        session.refresh()
        await wait_for(lambda: session.link is ConnectionState.LIVE and not session.error_text)
        assert not session.list_error
