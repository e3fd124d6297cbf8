"""No two incidents look alike."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from console.tui.screens.stuck import StuckScreen
from tests.console.tui_driver import run_tui

AGE = re.compile(r" \d+[smhd]\S*")


async def test_no_two_incidents_of_the_demo_look_alike(every_engine: str, tmp_path: Path) -> None:
    """Compare all rows, apart from their ages."""
    async with run_tui(every_engine, tmp_path, size=(120, 200), start="stuck") as tui:
        await tui.wait_for("● live", lambda: tui.app.session.state.findings_loaded, "▌")
        tui.app.session.pause()
        if "folded" in tui.text:
            await tui.press("m")
        page = tui.app.screen
        assert isinstance(page, StuckScreen)
        await tui.wait_for(lambda: page.table.rows_in_view == len(page.rows) > 30)
        await tui.laid_out()
        top = page.table.region.y + 1
        lines = [AGE.sub("", line[2:]) for line in tui.text.splitlines()[top : top + len(page.rows)]]
        assert all(re.search("[‼!·]", line) for line in lines)
        assert [line for line, times in Counter(lines).items() if times > 1] == []
