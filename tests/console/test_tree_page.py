"""The page of the tree: its columns, its preview."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from console.tui.screens.tree import TreeScreen
from tests.console.tui_driver import TuiDriver, run_tui
from tests.db.eternaltwin import EternaltwinDb


def tree(tui: TuiDriver) -> TreeScreen:
    screen = tui.app.screen
    assert isinstance(screen, TreeScreen)
    return screen


def columns(tui: TuiDriver) -> list[str]:
    return [column.name for column in tree(tui).table.look.shown]


async def test_a_column_comes_with_its_first_value(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    """Of jobs that wait for nothing none is due; a task with a timer is."""
    job = await eternaltwin_db.job()
    await eternaltwin_db.task(job, status="Blocked", timer=3000)
    async with run_tui(eternaltwin, tmp_path, size=(80, 24)) as tui:
        await tui.wait_for("● live", "SendEmail")
        assert columns(tui)[:5] == ["title", "status", "revision", "cpu", "poll"]
        assert "due" not in columns(tui)
        await tui.press("right")
        await tui.wait_for(lambda: "due" in columns(tui))
        assert "finding" not in columns(tui)


@pytest.mark.parametrize(
    ("size", "place"), [((80, 24), None), ((120, 35), "below"), ((140, 24), "beside"), ((200, 50), "beside")]
)
async def test_the_preview_has_its_place_where_there_is_room(
    size: tuple[int, int], place: str | None, eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    job = await eternaltwin_db.job()
    await eternaltwin_db.tasks([job] * 3)
    async with run_tui(eternaltwin, tmp_path, size=size) as tui:
        await tui.wait_for("● live", "SendEmail")
        await tui.laid_out()
        table, preview = tree(tui).table.region, tree(tui).query_one("#preview").region
        places: dict[Any, bool] = {
            "below": preview.y >= table.bottom and preview.x == table.x,
            "beside": preview.x >= table.right and preview.y == table.y,
            None: not preview.area,
        }
        assert places[place]


async def test_the_preview_begins_with_what_to_do(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    job = await eternaltwin_db.job()
    task = await eternaltwin_db.task(job, status="Blocked", timer=-3000)
    async with run_tui(eternaltwin, tmp_path, size=(200, 50)) as tui:
        await tui.wait_for("● live", "SendEmail")
        await tui.press("right")
        await tui.wait_for("└", "overdue timer")
        await tui.press("down")
        await tui.wait_for(eternaltwin_db.id(task))
        preview = [line.partition("│")[2].strip() for line in tui.text.splitlines() if "│" in line]
        assert preview[0] == "To do: W Wake"
        assert "overdue timer for" in preview[2]
