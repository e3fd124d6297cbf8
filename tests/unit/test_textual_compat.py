"""The private parts of Textual that the console depends on still exist."""

from __future__ import annotations

import inspect
from importlib import metadata

from textual._context import active_app
from textual._styles_cache import StylesCache
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip
from textual.widgets import Static

from console.tui import textual_compat


def test_textual_is_the_release_that_was_checked() -> None:
    major, minor, *_ = metadata.version("textual").split(".")
    assert (int(major), int(minor)) == textual_compat.CHECKED, "check textual_compat.py on this release of Textual"


def test_the_private_parts_are_still_there() -> None:
    assert callable(Screen._on_timer_update)
    assert callable(Screen._refresh_layout)
    assert callable(Screen._compositor_refresh)
    screen = vars(Screen[None]()).keys()
    assert {"_layout_required", "_repaint_required", "_scroll_required", "_dirty_widgets"} <= screen
    assert callable(App._close_messages_no_wait)
    assert callable(App._fatal_error)
    assert {"_exception", "_screen_stacks", "_batch_count"} <= vars(App[None]()).keys()
    assert inspect.iscoroutinefunction(Screen._on_message)
    assert active_app.name == "active_app"


def test_the_style_cache_has_the_repaired_signature() -> None:
    textual_compat.repair_style_cache()
    repaired = inspect.signature(StylesCache.get_inner_outer)
    assert list(repaired.parameters)[1:] == ["base_background", "background"]


class Counted(Static):
    rendered = 0

    def render_lines(self, crop: Region) -> list[Strip]:
        self.rendered += 1
        return super().render_lines(crop)


class ThreeLines(App[None]):
    def compose(self) -> ComposeResult:
        yield Counted("above")
        yield Counted("below")


async def test_a_widget_is_painted_before_other_messages_are_handled() -> None:
    app = ThreeLines()
    async with app.run_test(size=(20, 4)) as pilot:
        await pilot.pause()
        above = app.screen.query(Counted).first()
        before = above.rendered
        with app.batch_update():
            above.refresh()
            textual_compat.paint_first(above)
            assert above.rendered == before, "what is in a batch is painted after it"
        await pilot.pause()
        before = above.rendered
        above.refresh()
        textual_compat.paint_first(above)
        assert above.rendered == before + 1
        await pilot.pause()
        assert above.rendered == before + 1, "it is painted once"
