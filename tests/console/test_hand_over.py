"""H: the shift as Markdown, from every page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from console.model.hand_over import shift as shift_text
from console.tui.screens.copy import choices, shift_choices
from queries.records.finding import Findings, SkippedFinding
from queries.records.snapshot import Part, Snapshot
from tests.console.tui_driver import run_tui
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.builders import do, opened, undone


@pytest.mark.parametrize("page", ["1", "4"])
async def test_a_shift_is_copied_with_what_is_open_done_and_stuck_again(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, audit_log_table: None, tmp_path: Path, page: str
) -> None:
    kinds = ("Back", "Gone", "Undone")
    back, gone, again_as_before = [await eternaltwin_db.task(kind=kind, status="Blocked", timer=-900) for kind in kinds]
    open_ = await eternaltwin_db.task(kind="Open", status="Blocked", timer=-900)
    workspace = await opened(eternaltwin, tmp_path)
    await do(workspace, "wake", map(eternaltwin_db.id, (back, gone)))
    await undone(workspace, await do(workspace, "wake", [eternaltwin_db.id(again_as_before)]))
    await workspace.close()
    await eternaltwin_db.sql("UPDATE task SET status = 'Blocked' WHERE task_id = $1", back)
    await eternaltwin_db.sql(
        "INSERT INTO task_timer (task_id, deadline) VALUES ($1, now() - interval '900 seconds')", back
    )
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("● live", "3 stuck", lambda: tui.app.session.state.findings_loaded)
        await tui.press(page, "H")
        await tui.wait_for("shift as Markdown")
        await tui.press("enter")
        await tui.wait_for("Sent to the terminal: shift as Markdown.")
        copied = tui.app.clipboard
    opened_, done, again = (part.partition("\n\n")[2] for part in copied.split("## ")[1:])
    assert "| overdue timer " in opened_
    assert "| 3 tasks |" in opened_
    assert "| wake |" in done
    assert "2 changed" in done
    assert "| wake (1 undone later) |" in done
    assert "| undo of wake at " in done
    assert str(back) in again.replace("\\", "")
    assert str(gone) not in again.replace("\\", "")
    assert str(open_) not in again.replace("\\", "")
    assert str(again_as_before) not in again.replace("\\", ""), "its wake was undone"


async def test_a_quiet_shift_says_so(eternaltwin: str, tmp_path: Path) -> None:
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("● live", lambda: tui.app.session.state.findings_loaded)
        await tui.press("H")
        await tui.wait_for("shift as Markdown")
        await tui.press("enter")
        await tui.wait_for("Sent to the terminal: shift as Markdown.")
        assert tui.app.clipboard.count("Nothing.") == 3


async def test_what_is_not_read_again_is_handed_over_as_that(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.task(status="Blocked", timer=-900)
    async with run_tui(eternaltwin, tmp_path, start="stuck") as tui:
        state, front = tui.app.session.state, tui.app.front
        assert front is not None
        await tui.wait_for("overdue timer", front.cursor)
        nodes = front.targets()
        await eternaltwin_db.sql("BEGIN; LOCK TABLE task IN ACCESS EXCLUSIVE MODE")
        await tui.wait_for(lambda: [each for each in state.shown.incidents if each.read_at], "not read for ")
        copied = [*choices(tui.app.session, nodes), *await shift_choices(tui.app.session)]
        await eternaltwin_db.sql("ROLLBACK")
    dated = [each.title for each in copied if re.search(r"overdue timer.* \(not read since \d{4}-", each.text)]
    assert dated == ["why stuck", "Markdown", "shift as Markdown"]
    skipped = (SkippedFinding(engine="x", code="overdue_timer", why="locked", failed=True),)
    part = Part(label="x", findings=Findings(findings=(), at=1.0, skipped_findings=skipped))
    assert "Nothing in the parts" in shift_text(Snapshot(at=1.0, parts=(part,), incidents=()), (), 0.0)


async def test_a_log_that_cannot_be_read_is_said(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, audit_log_table: None, tmp_path: Path
) -> None:
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("● live", lambda: tui.app.session.state.findings_loaded)
        await eternaltwin_db.sql("ALTER TABLE unstick.audit_log RENAME TO hidden")
        await tui.press("H")
        await tui.wait_for("The audit log could not be read.", lambda: tui.app.screen is tui.app.front)
