"""The guide of the demo: it names the next key of the first repair."""

from __future__ import annotations

from pathlib import Path

from console.tui.guide import Guide
from tests.console.tui_driver import TuiDriver, run_tui


async def gone(tui: TuiDriver) -> None:
    await tui.wait_for(lambda: "irst repair" not in tui.text)


async def to_its_row(tui: TuiDriver) -> None:
    """Press the keys that the guide names, up to the row of the repair."""
    await tui.wait_for("First repair, 1 of 4: press /, type lost wakeup, and press enter", "lost wakeup")
    await tui.press("/", *"lost wakeup")
    await tui.wait_for("1 of 4", lambda: "W wake" in tui.text, lambda: "2 of 4" not in tui.text)
    await tui.press("enter")
    await tui.wait_for("First repair, 2 of 4: press W (Wake)")


async def test_it_names_the_next_key_until_the_repair_is_done(eternaltwin_demo: str, tmp_path: Path) -> None:
    async with run_tui(eternaltwin_demo, tmp_path, start="tree", guide=Guide(on=True)) as tui:
        await tui.wait_for("First repair, 1 of 4: press 2 to list what is stuck")
        await tui.press("2")
        await to_its_row(tui)
        await tui.press("W")
        await tui.wait_for("First repair, 3 of 4: type a reason, then press enter")
        await tui.press(*"why", "enter")
        await tui.wait_for("First repair, 4 of 4: press W", "apply to")
        await tui.press("W")
        await tui.wait_for("changed", "Close", "That was the first repair")
        await tui.press("enter")
        await gone(tui)


async def test_escape_on_a_page_ends_it(eternaltwin_demo: str, tmp_path: Path) -> None:
    async with run_tui(eternaltwin_demo, tmp_path, start="tree", guide=Guide(on=True)) as tui:
        await tui.wait_for("First repair")
        await tui.press("question_mark", "escape", "/", "escape")
        await tui.wait_for("First repair, 1 of 4", lambda: "words, field:value" not in tui.text)
        await tui.press("escape")
        await gone(tui)


async def test_escape_in_a_dialog_only_closes_the_dialog(eternaltwin_demo: str, tmp_path: Path) -> None:
    async with run_tui(eternaltwin_demo, tmp_path, start="stuck", guide=Guide(on=True)) as tui:
        await to_its_row(tui)
        await tui.press("W")
        await tui.wait_for("3 of 4")
        await tui.press("escape")
        await tui.wait_for("First repair, 2 of 4", lambda: "3 of 4" not in tui.text)
