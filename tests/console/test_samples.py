"""Findings that need several samples, shown after few intervals."""

from __future__ import annotations

from pathlib import Path

from tests.console.tui_driver import SkippingClock, run_tui
from tests.db.eternaltwin import EternaltwinDb

INTERVAL = 60.0  # seconds, so long that the test's own time does not matter
CHANGES = 5  # the threshold spinning_polls


async def test_samples_are_taken_at_least_at_each_interval(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.task(kind="Loop", status="Available", polled=-1)
    clock = SkippingClock()
    async with run_tui(eternaltwin, tmp_path, now=clock, interval=INTERVAL) as tui:
        session = tui.app.session
        await tui.press("2")
        await tui.wait_for("● live", lambda: min(session.clocks.polls) > 0)
        waits = []
        for number in range(1, CHANGES + 1):
            assert "spinning" not in tui.text
            await eternaltwin_db.sql("UPDATE task SET revision = revision + 1")
            waits.append(session.clocks.waits[2])
            clock.skip(waits[-1])
            assert session.pause()
            assert not session.pause()  # wakes the loop, which sleeps by the real clock
            await tui.wait_for(lambda number=number: session.clocks.polls[2] > number)  # type: ignore[misc]
        await tui.wait_for("spinning")
        assert session.clocks.polls[1] == 1, "the findings were not read again"
        assert max(waits) < INTERVAL * 0.75, "sampled twice per interval while a finding develops, or with the screen"
        clock.skip(session.clocks.waits[2])
        await eternaltwin_db.sql("TRUNCATE job CASCADE")
        session.refresh()
        clocks = session.clocks
        await tui.wait_for(lambda: clocks.polls[2] > CHANGES + 1, lambda: clocks.waits[2] > INTERVAL / 2)
