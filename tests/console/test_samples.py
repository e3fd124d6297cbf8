"""Findings that need several samples, shown after few passes."""

from __future__ import annotations

from pathlib import Path

from tests.console.tui_driver import run_tui
from tests.db.eternaltwin import EternaltwinDb

CHANGES = 5  # the threshold spinning_polls


async def test_each_pass_takes_samples(eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path) -> None:
    await eternaltwin_db.task(kind="Loop", status="Available", polled=-1)
    async with run_tui(eternaltwin, tmp_path, interval=600, start="stuck") as tui:
        session, passes = tui.app.session, 0
        await tui.wait_for("● live", lambda: session.state.findings_loaded)
        while "spinning" not in tui.text:
            await eternaltwin_db.sql("UPDATE task SET revision = revision + 1")
            before, passes = session.timer.passes, passes + 1
            session.run_now()
            await tui.wait_for(lambda before=before: session.timer.passes > before)  # type: ignore[misc]
            await tui.pilot.pause()
        assert CHANGES <= passes <= CHANGES + 3
        assert session.timer.findings == 1, "the findings were not read again"
