"""No two incidents look alike."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from console.tui.screens.stuck import StuckScreen
from tests.console.tui_driver import run_tui

AGE = re.compile(r" \d+[smhd]\S*")


@pytest.mark.parametrize("width", [80, 100, 160, 200])
async def test_no_two_incidents_of_the_demo_look_alike(every_engine: str, tmp_path: Path, width: int) -> None:
    """Compare all rows, apart from their ages, beside what is known of the first."""
    async with run_tui(every_engine, tmp_path, size=(width, 200), start="stuck") as tui:
        await tui.wait_for("● live", lambda: tui.app.session.state.findings_loaded, "▌")
        tui.app.session.pause()
        if "folded" in tui.text:
            await tui.press("m")
        page = tui.app.screen
        assert isinstance(page, StuckScreen)
        await tui.wait_for(lambda: page.table.rows_in_view >= len(page.rows) > 30)
        await tui.laid_out()
        top = page.table.region.y + 1
        lines = [line[2 : page.table.region.right] for line in tui.text.splitlines()[top : top + len(page.rows)]]
        lines = [AGE.sub("", line) for line in lines]
        assert ("engine" in tui.text.splitlines()[top - 1]) == (width > 80)
        assert all(re.search("[‼!·]", line) for line in lines)
        assert [line for line, times in Counter(lines).items() if times > 1] == []
