"""A node that is marked and hidden by a filter is not acted on without a word."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.tui.screens.list_screen import ListScreen
from tests.console.tui_driver import TuiDriver, run_tui
from tests.db.eternaltwin import EternaltwinDb


def shown_list(tui: TuiDriver) -> ListScreen:
    screen = tui.app.screen
    assert isinstance(screen, ListScreen)
    return screen


async def filtered(tui: TuiDriver, text: str) -> None:
    await tui.press("slash")
    await tui.type(text)
    await tui.press("enter")
    await tui.wait_for(lambda: shown_list(tui).rows.numbers()[0] > 0)
    await tui.press("home")
    await tui.handled()


async def mark(tui: TuiDriver, text: str, number: int) -> None:
    """Mark all rows of a filter, and clear the filter."""
    await filtered(tui, text)
    await tui.press("asterisk")
    await tui.wait_for(f"{number} marked")
    assert "not in view" not in tui.text
    await tui.press("escape")
    await tui.wait_for(lambda: shown_list(tui).filter is None)


@pytest.mark.parametrize("page", ["1", "2"], ids=["tree", "stuck"])
async def test_footer_pane_dialogs_and_result_are_about_the_marked(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, audit_log_table: None, tmp_path: Path, page: str
) -> None:
    """Mark two overdue tasks, and filter for another one."""
    overdue = [
        await eternaltwin_db.task(kind="Late", status="Blocked", age=90000, polled=80000, timer=-40000)
        for _ in range(2)
    ]
    other = await eternaltwin_db.job(age=90000)
    await eternaltwin_db.task()  # the runner lives
    await eternaltwin_db.task(other, kind="Looping", status="Blocked", age=90000, polled=80000)
    async with run_tui(eternaltwin, tmp_path, size=(150, 45)) as tui:
        await tui.press(page)
        await tui.wait_for("Looping", "Late" if page == "1" else "overdue timer")
        await mark(tui, "kind:task Late", 2)
        assert "2 marked" in tui.text, "a mark that was set under a filter stays without it"
        await filtered(tui, "kind:task Looping")
        await tui.wait_for("2 marked, 2 not in view")
        await tui.wait_for("Keys act on what is marked, not on this row: Late", "v1 (2)")
        screen = shown_list(tui)
        subject = screen.subject()
        assert subject is not None
        assert subject.id in {eternaltwin_db.id(each) for each in overdue}
        assert "W" in [hint.key for hint in screen.action_hints()], "what the key does is what the footer offers"
        await tui.press("W")
        await tui.wait_for("2 tasks (2 not in view)")
        await tui.type("it was stuck")
        await tui.press("enter")
        await tui.dry_run("Will change 2", "2 tasks (2 not in view)")
        await tui.press("W")
        await tui.wait_for("2 changed", "2 tasks (2 not in view)")
        await tui.press("escape")
        await tui.wait_for(lambda: "not in view" not in tui.text.replace("(2 not in view)", ""))
        assert screen.unseen() == 0


async def test_marks_of_another_engine(every_engine: str, tmp_path: Path) -> None:
    async with run_tui(every_engine, tmp_path, size=(150, 45), start="stuck") as tui:
        await tui.wait_for("critical")
        await filtered(tui, "engine:uni2work kind:job")
        await tui.press("asterisk")
        await tui.wait_for(" marked")
        await tui.press("escape")
        await filtered(tui, "engine:eternaltwin")
        screen = shown_list(tui)
        number = len(screen.rows.marks)
        await tui.wait_for(f"{number} marked, {number} not in view")
        await tui.wait_for(lambda: screen.subject() is not None)
        cursor, subject = screen.cursor(), screen.subject()
        assert (cursor and cursor.engine, subject and subject.engine) == ("eternaltwin", "uni2work")
        await tui.wait_for("Keys act on what is marked, not on this row")
        keys = {hint.key for hint in screen.action_hints()}
        assert keys == {key for key, _ in screen.actions()} != set()
