"""End in the tree of a job with many children: the cursor is always on the screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.tui.screens.tree import TreeScreen
from tests.console.tui_driver import TuiDriver, run_tui
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.proxy import Proxy

CHILDREN = 10_000  # many more than the pages that stay loaded


def tree(tui: TuiDriver) -> TreeScreen:
    screen = tui.app.screen
    assert isinstance(screen, TreeScreen)
    return screen


def assert_cursor_is_visible(tui: TuiDriver) -> None:
    table = tree(tui).table
    assert table.top_row <= table.cursor_row < table.top_row + table.rows_in_view
    assert table.cursor is None or table.cursor in table.visible_ids


@pytest.fixture
async def last(eternaltwin_db: EternaltwinDb) -> str:
    """A job with many children; returns the id of the last one."""
    job = await eternaltwin_db.job()
    await eternaltwin_db.tasks([job] * CHILDREN, age=600)
    return eternaltwin_db.id((await eternaltwin_db.tasks([job], age=10, kind="Last"))[0])


async def unfold(tui: TuiDriver) -> None:
    await tui.wait_for("● live", str(CHILDREN + 1))
    await tui.press("right")
    await tui.wait_for("├")


async def test_end_goes_to_the_last_child(last: str, eternaltwin: str, tmp_path: Path) -> None:
    async with run_tui(eternaltwin, tmp_path) as tui:
        await unfold(tui)
        await tui.press("end")
        await tui.wait_for(lambda: tree(tui).table.cursor == last, "Last v1")
        assert_cursor_is_visible(tui)
        await tui.press("home")
        await tui.wait_for(lambda: tree(tui).table.cursor_row == 0)
        assert_cursor_is_visible(tui)


async def test_end_while_a_page_is_being_read(last: str, proxy: Proxy, eternaltwin: str, tmp_path: Path) -> None:
    async with run_tui(proxy.through(eternaltwin), tmp_path) as tui:
        await unfold(tui)
        proxy.open.clear()
        await tui.press("pagedown", "pagedown", "pagedown")
        assert tree(tui).reading
        await tui.press("end")
        proxy.open.set()
        await tui.wait_for(lambda: tree(tui).table.cursor == last, "Last v1")
        assert_cursor_is_visible(tui)


async def test_the_cursor_on_the_last_loaded_row_stays_on_the_screen(
    last: str, proxy: Proxy, eternaltwin: str, tmp_path: Path
) -> None:
    """A key stops the way to the end; later pages keep the cursor in sight."""
    async with run_tui(proxy.through(eternaltwin), tmp_path) as tui:
        await unfold(tui)
        proxy.delay = 0.02
        await tui.press("end")
        await tui.wait_for("Reading to the end")
        await tui.press("up")
        await tui.wait_for(lambda: not tree(tui).reading)
        assert tree(tui).table.cursor != last
        for _ in range(3):
            await tui.press("pagedown")
            assert_cursor_is_visible(tui)
            await tui.wait_for(lambda: not tree(tui).reading)
            assert_cursor_is_visible(tui)
