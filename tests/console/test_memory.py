"""Closed pages and dialogs leave nothing behind, however many are opened."""

from __future__ import annotations

import gc
from pathlib import Path

from textual._styles_cache import StylesCache
from textual.strip import Strip

from tests.console.tui_driver import run_tui
from tests.proof import proof

PAGES = 200


def alive() -> tuple[int, int]:
    """Count the style caches and the painted lines in this process."""
    gc.collect()
    kinds = [type(each) for each in gc.get_objects()]
    return kinds.count(StylesCache), kinds.count(Strip)


@proof
async def test_closed_pages_leave_no_style_caches(eternaltwin_demo: str, tmp_path: Path) -> None:
    async with run_tui(eternaltwin_demo, tmp_path, size=(80, 24), interval=5.0) as tui:
        app = tui.app
        await tui.wait_for("● live", lambda: len(app.screen.targets()) == 1)
        figures = []
        for number in range(PAGES + 1):
            if number % (PAGES // 4) == 0 and number:
                figures.append(alive())
            await tui.burst(("enter", "y", "C", "f")[number % 4])
            app.screen._on_timer_update()  # paint it
            assert len(app.screen_stack) == 2
            await tui.burst("escape")
            assert len(app.screen_stack) == 1
        (caches, lines), *rest = figures
        assert max(later for later, _ in rest) <= caches + 20, figures
        assert max(later for _, later in rest) <= lines + 200, figures
