"""End in the tree of a job with many children: the cursor is always on the screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.model.node_list import MAX_CHILDREN
from console.tui.screens.tree import TreeScreen
from queries.read.nodes import PAGE_NODES
from tests.console.tui_driver import TuiDriver, run_tui
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.proxy import Proxy

CHILDREN = 2 * MAX_CHILDREN  # more than are loaded


def tree(tui: TuiDriver) -> TreeScreen:
    screen = tui.app.screen
    assert isinstance(screen, TreeScreen)
    return screen


def assert_cursor_is_visible(tui: TuiDriver) -> None:
    table = tree(tui).table
    assert table.top_row <= table.cursor_row < table.top_row + table.rows_in_view
    assert table.cursor is None or table.cursor in table.visible_ids


@pytest.fixture
async def job(eternaltwin_db: EternaltwinDb) -> str:
    """A job with many children."""
    job = await eternaltwin_db.job()
    await eternaltwin_db.tasks([job] * CHILDREN, age=600)
    return eternaltwin_db.id(job, "job")


async def unfold(tui: TuiDriver) -> None:
    await tui.wait_for("● live", str(CHILDREN))
    await tui.press("right")
    await tui.wait_for("├")


async def test_end_goes_to_the_last_loaded_child_until_all_that_may_be_are_loaded(
    job: str, eternaltwin: str, tmp_path: Path
) -> None:
    async with run_tui(eternaltwin, tmp_path) as tui:
        await unfold(tui)
        rows, number = tree(tui).rows, 0
        while number < MAX_CHILDREN:
            number = len(rows.children(job) or ())
            await tui.press("end")
            await tui.wait_for(lambda number=number: rows.full(job) or len(rows.children(job) or ()) > number)
            assert_cursor_is_visible(tui)
        await tui.wait_for("2,000 are loaded; Enter searches all of them")
        await tui.press("end", "up")
        assert tree(tui).table.cursor == (rows.children(job) or ())[-1]
        await tui.press("home")
        await tui.wait_for(lambda: tree(tui).table.cursor_row == 0)
        assert_cursor_is_visible(tui)


async def test_end_while_a_page_is_being_read(job: str, proxy: Proxy, eternaltwin: str, tmp_path: Path) -> None:
    """The cursor then is on the first row of the page."""
    async with run_tui(proxy.through(eternaltwin), tmp_path) as tui:
        await unfold(tui)
        proxy.open.clear()
        await tui.press("pagedown", "pagedown", "pagedown")
        assert tree(tui).reading
        await tui.press("end")
        assert tree(tui).table.cursor is None
        proxy.open.set()
        await tui.wait_for(lambda: (tree(tui).rows.children(job) or ())[PAGE_NODES:][:1] == (tree(tui).table.cursor,))
        assert_cursor_is_visible(tui)
        for _ in range(3):
            await tui.press("pagedown")
            assert_cursor_is_visible(tui)
            await tui.wait_for(lambda: not tree(tui).reading)
            assert_cursor_is_visible(tui)
