"""A forest's lines on the screen: which are visible, how they stay in place, and that only what differs is sent."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.cache import LRUCache
from textual.color import Color, ColorParseError
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip
from textual.style import Style as Ink

from console.model.forest import Forest, Row
from console.tui.widgets import tree_render
from console.tui.widgets.columns import Column, Layout, RenderContext, layout
from console.tui.widgets.scrollbar import TreeScrollbar

# The inks of lines, as Textual spells styles. As component classes each would be parsed and worked out again with each
# change of the page.
INKS = {
    "header": "bold $foreground 60%",
    "cursor": "bold on $primary 25%",
    "cursor-blurred": "on $foreground 10%",
    "marked": "bold",
    "marker": "bold $accent",
    "changed": "bold on $accent 25%",
    "guides": "$foreground 35%",
    "dimmed": "$foreground 50%",
    "muted": "$foreground 45%",
    "tail": "italic $foreground 70%",
}
# Phases have their colours from the theme's variables; from these in themes that do not know them.
PHASES = {
    "phase-failed": "error",
    "phase-blocked": "warning",
    "phase-held": "accent",
    "phase-running": "primary",
    "phase-ready": "success",
    "phase-scheduled": "secondary",
    "phase-unknown": "foreground",
    "phase-cancelled": "foreground",
    "phase-done": "foreground",
}
LIKE = {"late": "phase-blocked", "finding": "phase-blocked", "bar": "phase-scheduled"}  # in the colour of a phase


class TreeLines(ScrollView):
    """Line 0 is the header and stays; line 1 shows the row at the scroll position. Moves nothing by itself."""

    DEFAULT_CSS = """
    TreeLines {
        height: 1fr;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
        background: $background;
        color: $foreground;
    }
    """

    def __init__(
        self, forest: Forest, columns: Sequence[Column], ascii: bool, id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.forest = forest
        self._columns = columns
        self._look = RenderContext(ascii=ascii)
        self._cells: Mapping[str, frozenset[str]] = {}
        self._breadth, self._page = 80, 1
        self._span = 80  # cells of a line: the breadth without the scrollbar, where there is one
        self._widths: Layout = layout(columns, 80)
        self._strips: LRUCache[tuple[str, str], Strip] = LRUCache(512)
        self._painted: dict[int, Strip] = {}
        self._inks: dict[tuple[str, ...], Style] = {}
        self._hold: tuple[str, int] | None = None  # a row and its line of the screen, to be kept through changes

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, lambda _: self._lay_out())

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        if self._vertical_scrollbar is None:
            self._vertical_scrollbar = TreeScrollbar(
                vertical=True, name="vertical", thickness=self.scrollbar_size_vertical
            )
            self._vertical_scrollbar.display = False
            self.app._start_widget(self, self._vertical_scrollbar)
        return self._vertical_scrollbar

    @property
    def _top(self) -> int:
        return round(self.scroll_y)

    def _row(self) -> Row:
        return self.forest.row(self._index())

    def _index(self) -> int:
        at = self.forest.cursor
        return (self.forest.index(at) if at is not None else None) or 0

    def _grow(self) -> None:
        self.virtual_size = Size(self.size.width, len(self.forest) + 1)

    def _follow(self) -> None:
        """Scroll as far as it takes to have the cursor on the screen."""
        index, top = self._index(), self._top
        target = min(max(top, index - self._page + 1), index)
        if target != top:
            self._scroll(target)
        self._remember()

    def _scroll(self, top: int) -> None:
        self.scroll_to(y=top, animate=False, force=True)

    def _remember(self) -> None:
        """Note which row the screen hangs on: the cursor's where it is on the screen, else the first one."""
        top, index = self._top, self._index()
        at = self.forest.cursor
        if at is not None and top <= index < top + self._page:
            self._hold = (at, index - top)
        else:
            first = self.forest.rows(top, top + 1)
            self._hold = (first[0].id, 0) if first else None

    def _anchor(self) -> None:
        """Scroll so that the row the screen hangs on keeps its line; where it is gone, the cursor takes its place."""
        if self._hold is not None:
            row_id, line = self._hold
            index = self.forest.index(row_id)
            top = (self._index() if index is None else index) - line
            if max(top, 0) != self._top:
                self._scroll(max(top, 0))
        self._remember()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._painted.clear()
        self._remember()

    def watch_show_vertical_scrollbar(self) -> None:
        """Beside the bar, lines are shorter."""
        self._lay_out()

    def on_resize(self, event: events.Resize) -> None:
        """Another width has room for other columns; the cursor stays in sight."""
        was_visible = self._hold is not None and self._hold[0] == self.forest.cursor
        self._lay_out()
        self._grow()
        if was_visible:
            self._follow()

    def watch_has_focus(self, _has_focus: bool) -> None:
        super().watch_has_focus(_has_focus)
        self._paint_line(self._index() - self._top + 1)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._inks.clear()
        self._strips.clear()
        self._painted.clear()

    # painting

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines as they are: without borders and paddings there is nothing to wrap around each of them."""
        if self.size != (self._breadth, self._page + 1):
            self._measure()
        painted = self._painted
        strips = [painted[y] if y in painted else self.render_line(y) for y in crop.line_range]
        if crop.column_span != (0, self._breadth):
            strips = [strip.crop(*crop.column_span) for strip in strips]
        return strips

    def render_line(self, y: int) -> Strip:
        strip = self._painted.get(y)
        if strip is None:
            self._painted[y] = strip = self._line(self._top + y - 1) if y else self._header()
        return strip

    def _header(self) -> Strip:
        strip = tree_render.header(self._widths, self._look, self._ink)
        return strip.adjust_cell_length(self._span, self._ink(("header",)))

    def _line(self, index: int) -> Strip:
        if index >= len(self.forest):
            return Strip.blank(self._span, self._ink(()))
        row_id = self.forest.id_at(index)
        state = ""
        if row_id == self.forest.cursor:
            state = "cursor" if self.has_focus else "cursor-blurred"
        strip = self._strips.get((row_id, state))
        if strip is None:
            changed = self._cells.get(row_id, frozenset())
            strip = tree_render.line(self.forest.row(index), self._widths, self._look, self._ink, state, changed)
            strip = strip.adjust_cell_length(self._span, self._ink((state,) if state else ()))
            self._strips[row_id, state] = strip
        return strip

    def _repaint(self) -> None:
        """Make the visible lines anew; have those that differ sent to the terminal."""
        self._strips.clear()
        for y, before in [(y, strip) for y, strip in self._painted.items() if y]:
            fresh = self._line(self._top + y - 1)
            if fresh != before:
                self._painted[y] = fresh
                self._send(y)

    def _paint_line(self, y: int) -> None:
        self._painted.pop(y, None)
        self._send(y)

    def _send(self, y: int) -> None:
        if 0 < y <= self._page:
            self.refresh(Region(0, y, self._breadth, 1))

    def _lay_out(self) -> None:
        self._measure()
        self.refresh()

    def _measure(self) -> None:
        self._breadth, height = self.size
        self._page = max(height - 1, 1)
        room = self._breadth - self.scrollbar_size_vertical
        self._span = room if self.show_vertical_scrollbar else self._breadth
        self._widths = layout(self._columns, room - tree_render.GUTTER)
        self._strips.clear()
        self._painted.clear()

    def _ink(self, names: tuple[str, ...]) -> Style:
        style = self._inks.get(names)
        if style is None:
            style = self.rich_style
            for name in names:
                style += self._part(name)
            for line_filter in self.get_line_filters():  # the colours that the terminal has
                style = line_filter.apply([Segment("", style)], self.background_colors[1])[0].style or style
            self._inks[names] = style
        return style

    def _part(self, name: str) -> Style:
        """One of INKS, or the colour of a phase, mixed with the colours of the table."""
        phase = LIKE.get(name, name)
        if phase in PHASES:
            return Style(color=self._phase_color(phase))
        own = Ink.parse(INKS[name])
        full = (self.visual_style + own).rich_style
        color = full.color if own.foreground is not None else None
        return Style(
            color=color, bgcolor=full.bgcolor if own.background is not None else None, bold=own.bold, italic=own.italic
        )

    def _phase_color(self, name: str) -> RichColor | None:
        variables = self.app.theme_variables
        for color in filter(None, (variables.get(name), variables.get(PHASES[name]))):
            with contextlib.suppress(ColorParseError):
                return Color.parse(color).rich_color
        return None
