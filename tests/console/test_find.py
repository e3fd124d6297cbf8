"""Find anything, open the ids on a node's page, and go back and forward."""

from __future__ import annotations

from pathlib import Path

import asyncpg
import pytest

from console.tui.screens.blockers import BlockersScreen
from console.tui.screens.detail import DetailScreen
from console.tui.screens.find import FindScreen
from console.tui.screens.prompt import PromptDialog
from console.tui.screens.stuck import StuckScreen
from console.tui.screens.tree import TreeScreen
from console.tui.widgets.line_view import LineView
from tests.console.test_dead import dead
from tests.console.tui_driver import TuiDriver, run_tui
from tests.db.eternaltwin import EternaltwinDb
from tests.db.tasker import TaskerDb
from tests.db.uni2work import DEAD, Uni2workDb
from tests.proof import most_in_proof
from tests.queries.test_search_scope import IN_LARGE, LARGE
from tests.servers import PostgresServer
from tests.simulators.tasker.data import Data


def shown(tui: TuiDriver) -> str:
    """Return the id of the node whose page is in front, or ""."""
    screen = tui.app.screen
    return screen.cursor().id if isinstance(screen, DetailScreen) and screen.cursor() else ""  # type: ignore[union-attr]


def view(tui: TuiDriver) -> LineView:
    return tui.app.screen.query_one(LineView)


async def open_node(tui: TuiDriver, node_id: str) -> None:
    """Open the page of a node by its id, and wait for its links."""
    await tui.wait_for("● live")
    await tui.paste(node_id)
    await tui.press("enter")
    await tui.wait_for(lambda: shown(tui) == node_id, "Recorded")


async def choose(tui: TuiDriver, target: str) -> None:
    """Press tab until a link is chosen."""
    for _ in view(tui).links:
        await tui.press("tab")
        if view(tui).chosen == target:
            return
    raise AssertionError(f"{target} is not among {view(tui).links}")


@pytest.mark.parametrize("mode", most_in_proof(["1", "2", "3", "4", "question_mark"], 2))
async def test_a_pasted_id_and_enter_open_the_node_from_every_mode(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, mode: str
) -> None:
    task = await eternaltwin_db.task(kind="Waits")
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("● live")
        await tui.press(mode)
        before = tui.app.screen
        await tui.paste(f"ERROR https://ops.example/tasks/{task}?tab=log timed out\n")
        assert isinstance(tui.app.screen, PromptDialog)
        await tui.press("enter")
        await tui.wait_for(lambda: shown(tui) == eternaltwin_db.id(task), "Recorded")
        await tui.press("escape")
        await tui.wait_for(lambda: isinstance(tui.app.screen, FindScreen), "eternaltwin", "1 found")
        await tui.press("escape")
        assert tui.app.screen is before


async def test_hits_of_all_engines_are_one_list(every_engine: str, tmp_path: Path) -> None:
    async with run_tui(every_engine, tmp_path, size=(140, 45)) as tui:
        await tui.wait_for("● live")
        await tui.press("f")
        await tui.type("42")
        await tui.press("enter")
        screen = tui.app.screen
        assert isinstance(screen, FindScreen)
        await tui.wait_for(lambda: screen.finder.ended, "Searched by id")
        assert set(screen.finder.answers) == set(tui.app.session.engines)
        assert all(label in tui.text for label in tui.app.session.engines)
        hit = screen.row.record if screen.row else None
        assert hit is not None
        await tui.press("enter")
        await tui.wait_for(lambda: shown(tui) == hit.node.id, "Recorded")


async def test_m_searches_values_that_were_too_large(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    task = await eternaltwin_db.task(kind="Waits")
    await eternaltwin_db.sql(f"UPDATE task SET state = convert_to({LARGE}, 'UTF8') WHERE task_id = '{task}'")
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("● live")
        await tui.press("f")
        await tui.type(IN_LARGE)
        await tui.press("enter")
        await tui.wait_for("Nothing was found in what was searched.", "m searches the large values, too.")
        await tui.press("m")
        await tui.wait_for("1 found", "Waits", lambda: "m searches" not in tui.text)


async def test_nothing_found_says_where_it_was_searched(eternaltwin: str, tmp_path: Path) -> None:
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("● live")
        await tui.press("f")
        await tui.type("no such text")
        await tui.press("enter")
        await tui.wait_for("Nothing was found.", "Searched by id: eternaltwin", "all tasks")
        state, screen = tui.app.session.state, tui.app.screen
        at, age = state.at, state.age or 0.0
        await screen.load()  # type: ignore[attr-defined]
        assert (state.at, (state.age or 0.0) >= age) == (at, True), "it has read nothing"


async def test_ids_on_the_page_are_chosen_with_tab_and_opened_with_enter(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    job = await eternaltwin_db.job()
    tasks = [await eternaltwin_db.task(job) for _ in range(3)]
    job_id = eternaltwin_db.id(job, "job")
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("● live")
        await tui.paste(str(tasks[0]))
        await tui.press("enter")
        await tui.wait_for(lambda: shown(tui) == eternaltwin_db.id(tasks[0]), job_id)
        assert view(tui).links == [job_id]
        await tui.press("tab", "enter")
        await tui.wait_for(lambda: shown(tui) == job_id, "Children")
        await tui.wait_for(lambda: len(view(tui).links) == 3)
        assert set(view(tui).links) == {eternaltwin_db.id(task) for task in tasks}
        await tui.press("shift+tab")
        assert view(tui).chosen == view(tui).links[-1]
        if view(tui).chosen == eternaltwin_db.id(tasks[0]):  # a page that is open already looks the same
            await tui.press("shift+tab")
        last = view(tui).chosen
        await tui.press("enter")
        await tui.wait_for(lambda: shown(tui) == last)
        await tui.press("left_square_bracket")
        await tui.wait_for(lambda: shown(tui) == job_id)
        await tui.press("alt+left")
        await tui.wait_for(lambda: shown(tui) == eternaltwin_db.id(tasks[0]))
        await tui.press("right_square_bracket")
        await tui.wait_for(lambda: shown(tui) == job_id)  # in between: the last one may be the first one, too
        await tui.press("alt+right")
        await tui.wait_for(lambda: shown(tui) == last)
        await tui.press("escape")
        await tui.wait_for(lambda: shown(tui) == job_id)


async def test_a_click_opens_an_id(eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path) -> None:
    job = await eternaltwin_db.job()
    task = await eternaltwin_db.task(job)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("● live")
        await tui.paste(str(task))
        await tui.press("enter")
        await tui.wait_for(lambda: shown(tui) == eternaltwin_db.id(task), eternaltwin_db.id(job, "job"))
        await tui.click_on(
            lambda: tui.place(eternaltwin_db.id(job, "job")), lambda: shown(tui) == eternaltwin_db.id(job, "job")
        )


async def test_escape_after_o_leads_back_to_stuck(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.task(status="Blocked", timer=-900)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.press("2")
        await tui.wait_for(lambda: isinstance(tui.app.screen, StuckScreen) and tui.app.screen.targets())
        await tui.press("o")
        await tui.wait_for(lambda: isinstance(tui.app.screen, TreeScreen) and tui.app.screen.cursor())
        await tui.press("escape")
        await tui.wait_for(lambda: isinstance(tui.app.screen, StuckScreen))
        await tui.press("right_square_bracket")
        await tui.wait_for(lambda: isinstance(tui.app.screen, TreeScreen))
        await tui.press("left_square_bracket")
        await tui.wait_for(lambda: isinstance(tui.app.screen, StuckScreen))
        await tui.press("enter")
        await tui.wait_for(lambda: shown(tui))
        node = shown(tui)
        await tui.press("o")
        await tui.wait_for(lambda: isinstance(tui.app.screen, TreeScreen))
        await tui.press("escape")
        await tui.wait_for(lambda: shown(tui) == node)
        await tui.press("x")
        await tui.wait_for(lambda: isinstance(tui.app.screen, BlockersScreen))
        await tui.press("left_square_bracket")
        await tui.wait_for(lambda: shown(tui) == node)
        await tui.press("right_square_bracket")
        await tui.wait_for(lambda: isinstance(tui.app.screen, BlockersScreen))


async def test_an_owner_is_a_link_to_what_it_holds(server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh("uni2work")
    uni2work_db = await Uni2workDb.open(dsn)
    job = await uni2work_db.job(held=5)
    holder = uni2work_db.id(DEAD, "holder")
    async with run_tui(dsn, tmp_path) as tui:
        await open_node(tui, uni2work_db.id(job))
        await choose(tui, holder)
        await tui.press("enter")
        await tui.wait_for(lambda: shown(tui) == holder, "Children")
        assert holder not in view(tui).links, "a page has no link to itself"
    await uni2work_db.connection.close()
    server.drop(dsn)


async def test_the_session_that_locks_a_node_is_a_link(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    task = await eternaltwin_db.task(await eternaltwin_db.job(), status="Blocked", timer=-600)
    holder = await asyncpg.connect(eternaltwin, server_settings={"application_name": "report"})
    await holder.execute(f"BEGIN; SELECT FROM task WHERE task_id = '{task}' FOR UPDATE")
    backend = f"server/backend:{holder.get_server_pid()}"
    async with run_tui(eternaltwin, tmp_path) as tui:
        await open_node(tui, eternaltwin_db.id(task))
        await tui.wait_for(lambda: backend in view(tui).links)
        await choose(tui, backend)
        await tui.press("enter")
        await tui.wait_for(lambda: isinstance(tui.app.screen, BlockersScreen), "report", "idle in transaction")
    await holder.close()


async def test_dead_letters_and_their_tasks_are_links(tasker_db: TaskerDb, tasker: str, tmp_path: Path) -> None:
    data = Data(1)
    (entry,) = dead(data, 1)
    await tasker_db.write(data)
    node_id = tasker_db.dead_letter(entry)
    async with run_tui(tasker, tmp_path) as tui:
        await open_node(tui, node_id)
        task = next(link for link in view(tui).links if "/task:" in link)
        await choose(tui, task)
        await tui.press("enter")
        await tui.wait_for(lambda: shown(tui) == task, lambda: str(entry) in view(tui).links)
        await choose(tui, str(entry))
        await tui.press("enter")
        await tui.wait_for(lambda: shown(tui) == node_id)
