"""Dialog of a change: what is confirmed is what was shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Button, Input

from console.tui.screens.result import ResultDialog
from queries.change.plan import UNDO
from queries.contract.builtin import builtin
from tests.console.test_dead import REFUND, dead, down_to
from tests.console.tui_driver import TuiDriver, run_tui
from tests.db.eternaltwin import EternaltwinDb
from tests.db.tasker import TaskerDb
from tests.queries.proxy import Proxy
from tests.simulators.tasker.data import Data


def begun(tui: TuiDriver) -> bool:
    return bool(tui.app.session.works.all) or isinstance(tui.app.screen, ResultDialog)


async def test_the_key_does_nothing_before_the_dry_run_is_on_the_screen(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, proxy: Proxy, tmp_path: Path
) -> None:
    task = await eternaltwin_db.task(status="Blocked", timer=60)
    async with run_tui(proxy.through(eternaltwin), tmp_path) as tui:
        await tui.wait_for("0/1", "C Cancel job")
        await tui.burst("C", "space", "enter")
        await tui.dry_run("Enter a reason", lambda: tui.app.screen.query_one("#go", Button).disabled)
        await tui.press("escape")
        await tui.wait_for("Nothing was changed.")
        proxy.open.clear()
        await tui.burst("C", *"why Cbsierq", "enter", "C", "C", "q", "4")
        await tui.wait_for("Dry run …", "why Cbsierq")
        proxy.open.set()
        await tui.dry_run("Will change 1 job", "C apply to 1 job")
        assert not begun(tui)
        assert (await eternaltwin_db.row(task))["status"] == "Blocked"
        await tui.press("C")
        await tui.wait_for("1 changed")


async def test_a_reason_that_is_written_into_rows_repeats_the_dry_run(
    tasker_db: TaskerDb, tasker: str, proxy: Proxy, tmp_path: Path
) -> None:
    data = Data(1)
    dead(data, 1)
    await tasker_db.write(data)
    async with run_tui(proxy.through(tasker), tmp_path, size=(150, 44)) as tui:
        await tui.press("3")
        await tui.wait_for(REFUND)
        await down_to(tui, REFUND)
        await tui.press("E")
        await tui.dry_run("Will change 1 dead letter")
        await tui.type("the gateway was down")
        proxy.open.clear()
        await tui.burst("enter", "E", "i", "E")
        await tui.wait_for("Dry run …")
        proxy.open.set()
        await tui.dry_run("E apply to 1", "→ the gateway was down")
        assert not begun(tui)
        await tui.burst("e", "s", "o", "enter")  # another reason: another dry run
        await tui.dry_run("→ the gateway was downso")
        await tui.press("E")
        await tui.wait_for("1 changed", "Close")
    assert (await tasker_db.row("SELECT * FROM tasks_dlq"))["resolution_notes"] == "the gateway was downso"


async def test_a_changed_argument_repeats_the_dry_run_and_the_field_keeps_its_keys(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, proxy: Proxy, tmp_path: Path
) -> None:
    task = await eternaltwin_db.task(status="Blocked")
    async with run_tui(proxy.through(eternaltwin), tmp_path) as tui:
        await tui.live_list()
        await tui.action("W")
        await tui.wait_for("Nothing to change", "it waits for another task")
        proxy.open.clear()
        await tui.burst("shift+tab", "W", "i", "r", "b", "space", "W", "enter", "W")  # in the checkbox
        await tui.wait_for("Dry run …", "[x]")
        proxy.open.set()
        await tui.dry_run("W apply to 1 task")
        assert not begun(tui)
        assert tui.app.screen.query_one("#reason", Input).value == "test"
        await tui.press("W")
        await tui.wait_for("1 changed")
    assert (await eternaltwin_db.row(task))["status"] == "Available"


@pytest.mark.fast
def test_the_actions_that_write_the_reason_are_known_by_their_statements() -> None:
    written = {each.name: {a.name for a in each.spec.actions if a.writes and each.uses_reason(a)} for each in builtin()}
    assert written["agent_jobs"] == {"cancel", "mark_failed"}  # of statements that are derived
    assert written["graphile_worker"] == written["solid_queue"] == {"mark_failed"}
    assert {"resolve", "revive", "wake", "retry"} <= written["tasker"]  # some have it in a part
    assert not written["eternaltwin"] | written["oban"] | written["estuary"]
    assert [each.name for each in builtin() if each.uses_reason(UNDO)] == ["tasker"]  # rows that compensate
