"""``U``: undo your last change, an entry, or what was just committed."""

from __future__ import annotations

import re
from pathlib import Path

from tests.console.tui_driver import TuiDriver, run_tui
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.builders import do, opened


async def confirmed(tui: TuiDriver, key: str) -> None:
    """Give a reason, wait for the dry run, and commit with the key."""
    await tui.wait_for("Reason, for the audit log")
    await tui.type("test")
    await tui.press("enter")
    await tui.dry_run("Will change 1 task", f"{key} apply to 1 task")
    await tui.press(key)


async def test_u_undoes_what_was_committed(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, audit_log_table: None, tmp_path: Path
) -> None:
    task = await eternaltwin_db.task(status="Blocked", timer=3600)

    async def status() -> str:
        return str((await eternaltwin_db.row(task))["status"])

    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("SendEmail")
        await tui.live_list()
        await tui.press("W")
        await confirmed(tui, "W")
        await tui.wait_for("unstick undo 1")
        assert await status() == "Available"
        await tui.press("U")
        await confirmed(tui, "U")
        await tui.wait_for("unstick undo 2")
        assert await status() == "Blocked"
        await tui.press("escape")

        await tui.press("4")
        await tui.wait_for("undo", "wake")
        await tui.press("U")  # the newest entry is the undo: a redo
        await confirmed(tui, "U")
        await tui.wait_for("unstick undo 3")
        assert await status() == "Available"
        await tui.press("escape")

        await tui.press("end", "enter")
        await tui.wait_for("Blocked → Available")
        await tui.action("U")  # of the first entry, which is undone and done again since
        await tui.wait_for("Nothing to change", "Will change 0 tasks")
        assert await status() == "Available"


async def test_u_undoes_your_last_change_on_every_page(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, audit_log_table: None, tmp_path: Path
) -> None:
    """Also after a colleague's change."""
    task = await eternaltwin_db.task(status="Blocked", timer=3600)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.live_list()
        await tui.burst("U", *"q4")
        await tui.wait_for("Undo your last change", "The audit log has no change of yours.", "q4")
        await tui.press("escape", "W")
        await confirmed(tui, "W")
        await tui.wait_for("unstick undo 1")
        await tui.press("escape")
        other = await eternaltwin_db.task(status="Blocked", timer=3600)
        workspace = await opened(eternaltwin, tmp_path)
        await do(workspace, "wake", [eternaltwin_db.id(other)])
        await workspace.close()
        for page in ("2", "3", "5", "question_mark", "1"):
            await tui.press(page, "U")
            await tui.dry_run("Undo: 1 task", "Undoes: wake of the entry 1,")
            await tui.press("escape")
            await tui.wait_for(lambda: tui.app.screen is tui.app.front)
        await tui.press("U")
        await confirmed(tui, "U")
        await tui.wait_for("unstick undo 3")
    assert (await eternaltwin_db.row(task))["status"] == "Blocked"
    assert (await eternaltwin_db.row(other))["status"] == "Available"


async def test_u_undoes_your_last_change_from_your_own_file_after_a_restart(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    task = await eternaltwin_db.task(status="Blocked", timer=3600)
    for key, status in (("W", "Available"), ("U", "Blocked")):
        async with run_tui(eternaltwin, tmp_path) as tui:
            await tui.live_list()
            await tui.press(key)
            await confirmed(tui, key)
            # a long path wraps
            await tui.wait_for("1 changed", lambda: "audit_log.jsonl" in re.sub(r"[\s│]", "", tui.text))
        assert (await eternaltwin_db.row(task))["status"] == status
