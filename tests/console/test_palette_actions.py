"""Actions that are named in the command palette, on all nodes that match a filter."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.console.tui_driver import run_tui
from tests.db.eternaltwin import EternaltwinDb


@pytest.fixture
async def mixed(eternaltwin_db: EternaltwinDb) -> None:
    """Three unfinished tasks and a finished one of one kind, and two of another."""
    rows = (3, "SendEmail", "Available"), (1, "SendEmail", "Complete"), (2, "SendFax", "Blocked")
    for number, kind, status in rows:
        await eternaltwin_db.tasks(await eternaltwin_db.jobs(number), kind=kind, status=status)


async def test_a_command_that_is_typed_at_once_takes_the_whole_filter(
    mixed: None, eternaltwin: str, tmp_path: Path
) -> None:
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("● live", "0/1")
        await tui.burst(":", *"cancel kind:task SendEmail", "enter", *"why", "enter")
        await tui.dry_run("Cancel: 3 tasks", "Will change 3 tasks")
        await tui.press("C")
        await tui.wait_for("3 changed", "why", "Close")


async def test_each_engine_and_kind_is_offered_that_of_the_page_first(every_engine: str, tmp_path: Path) -> None:
    async with run_tui(every_engine, tmp_path) as tui:
        await tui.wait_for("● live", lambda: tui.app.front.label())
        while tui.app.front.label() != "uni2work":
            await tui.press("greater_than_sign")
        await tui.press("colon")
        await tui.type("cancel no-such-kind")
        text = await tui.wait_for("of tasker that match no-such-kind")
        offered = [line for line in text.splitlines() if "that match no-such-kind" in line]
        assert "Cancel: all jobs of uni2work" in offered[0]
        await tui.press("escape", "colon")
        await tui.type("cancel engine:uni2work kind:job no-such-kind")
        await tui.wait_for("all jobs of uni2work")
        assert "of tasker" not in tui.text
        await tui.press("enter")
        await tui.wait_for("No node of uni2work matches the filter")


async def test_nothing_is_changed_if_not_everything_was_looked_at(
    mixed: None, eternaltwin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.model.selection.COMPARED_NODES", 1)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("● live", "0/1")
        await tui.burst(":", *"wake kind:task SendEmail", "enter")
        await tui.wait_for("Not everything was looked at", "Nothing was changed.")


async def test_a_command_without_a_filter_or_with_a_wrong_one_is_not_offered(
    mixed: None, eternaltwin: str, tmp_path: Path
) -> None:
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("● live", "0/1")
        for text in ("cancel ", "cancel colour:red", "paint SendEmail"):
            await tui.press("colon")
            await tui.type(text)
            await tui.wait_for(f"find {text.strip()}")
            assert "that match" not in tui.text
            await tui.press("escape")
