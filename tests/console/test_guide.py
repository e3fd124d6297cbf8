"""The guide of the demo: it names the next key of the first repair."""

from __future__ import annotations

from pathlib import Path

from console.tui.guide import Guide
from tests.console.tui_driver import TuiDriver, run_tui


async def gone(tui: TuiDriver) -> None:
    await tui.wait_for(lambda: "First repair" not in tui.text)


async def test_it_names_the_next_key_until_the_repair_is_done(eternaltwin_demo: str, tmp_path: Path) -> None:
    ended = tmp_path / "state" / "ended"
    async with run_tui(eternaltwin_demo, tmp_path, start="tree", guide=Guide(ended)) as tui:
        await tui.wait_for("First repair, 1 of 3: press 2 to list what is stuck")
        await tui.press("2")
        await tui.wait_for("lost wakeup")
        while "First repair, 1 of 3: press W (Wake)" not in tui.text:
            await tui.press("down")
        await tui.press("W")
        await tui.wait_for("First repair, 2 of 3: type a reason, then press enter")
        await tui.press(*"why", "enter")
        await tui.wait_for("First repair, 3 of 3: press W", "apply to")
        await tui.press("W")
        await tui.wait_for("changed", "Close")
        await tui.press("enter")
        await gone(tui)
    assert ended.exists()


async def test_escape_on_a_page_ends_it_for_later_consoles_too(eternaltwin_demo: str, tmp_path: Path) -> None:
    ended = tmp_path / "state" / "ended"
    async with run_tui(eternaltwin_demo, tmp_path, start="tree", guide=Guide(ended)) as tui:
        await tui.wait_for("First repair")
        await tui.press("question_mark", "escape")
        await gone(tui)
    async with run_tui(eternaltwin_demo, tmp_path, start="stuck", guide=Guide(ended)) as tui:
        await tui.wait_for("lost wakeup")
        assert "First repair" not in tui.text


async def test_escape_in_a_dialog_only_closes_the_dialog(eternaltwin_demo: str, tmp_path: Path) -> None:
    ended = tmp_path / "state" / "ended"
    async with run_tui(eternaltwin_demo, tmp_path, start="stuck", guide=Guide(ended)) as tui:
        await tui.wait_for("lost wakeup")
        while "press W (Wake)" not in tui.text:
            await tui.press("down")
        await tui.press("W")
        await tui.wait_for("2 of 3")
        await tui.press("escape")
        await tui.wait_for("First repair, 1 of 3", lambda: "2 of 3" not in tui.text)
    assert not ended.exists()
