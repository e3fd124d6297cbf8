"""Clicks that arrive together, and clicks for a screen that has closed."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widget import Widget

from console.config import INTERVAL_SECONDS
from console.tui.screens.change import ChangeDialog
from console.tui.screens.detail import DetailScreen
from console.tui.screens.result import ResultDialog
from console.tui.screens.tree import TreeScreen
from tests.console.tui_driver import clicked, run_tui
from tests.db.eternaltwin import EternaltwinDb


def middle(widget: Widget) -> tuple[int, int]:
    region = widget.region
    return region.x + region.width // 2, region.y + region.height // 2


@pytest.mark.parametrize("times", [2, 3])
async def test_clicks_that_arrive_together_choose_one_command_of_the_palette(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, times: int
) -> None:
    await eternaltwin_db.task()
    async with run_tui(eternaltwin, tmp_path, interval=10.0) as tui:
        await tui.wait_for("● live", "0/1")
        await tui.press("colon")
        await tui.type("faster")
        await tui.wait_for("Refresh more often", "find faster")
        await tui.laid_out()
        await tui.click(*[tui.place("Refresh more often")] * times)
        await tui.wait_for(lambda: isinstance(tui.app.screen, TreeScreen))
        assert tui.app.fault is None
        assert tui.app.session.timer.interval == INTERVAL_SECONDS[INTERVAL_SECONDS.index(10.0) - 1]


async def test_a_double_click_commits_once_and_leaves_the_result_open(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    """The second click is not for the dialog that the first one opened."""
    task = await eternaltwin_db.task(status="Blocked", timer=60)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("0/1")
        await tui.action("C")
        await tui.laid_out()
        place = middle(tui.app.screen.query_one("#go"))
        await tui.click(place, place)
        await tui.wait_for(lambda: isinstance(tui.app.screen, ResultDialog), "1 changed")
        assert len(tui.app.session.works.all) == 1
    assert (await eternaltwin_db.row(task))["status"] != "Blocked"


async def test_clicks_and_enter_that_arrive_together_open_one_page(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.task(kind="Seen")
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("Seen v1", "● live")
        await tui.laid_out()
        for _ in range(3):
            for event in clicked(*tui.place("Seen v1")) * 3:
                tui.app.post_message(event)
            await tui.burst("enter")
            await tui.wait_for(lambda: isinstance(tui.app.screen, DetailScreen))
            assert len(tui.app.screen_stack) == 2
            await tui.burst("escape")
            assert isinstance(tui.app.screen, TreeScreen)


async def test_a_page_that_is_shown_closes_the_dialog_of_an_action(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    """The action ends, and the next one can begin."""
    await eternaltwin_db.task(status="Blocked", timer=60)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("0/1")
        for _ in range(2):
            await tui.press("C")
            await tui.wait_for(lambda: isinstance(tui.app.screen, ChangeDialog), "Reason")
            tui.app.action_show_mode("tree")
            await tui.wait_for("Nothing was changed.", lambda: isinstance(tui.app.screen, TreeScreen))
