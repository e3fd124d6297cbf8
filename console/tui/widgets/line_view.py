"""A long page of lines that is scrolled; only the lines on the screen are painted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.binding import Binding
from textual.content import Content
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

Make = Callable[[int], Sequence[Content]]


class LineView(ScrollView, can_focus=True):
    """Shows the lines that a function makes for the width there is."""

    DEFAULT_CSS = """
    LineView { height: 1fr; width: 1fr; overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; padding: 0 1;
        scrollbar-gutter: stable; background: $background; }
    """
    BINDINGS = [
        Binding("up,k", "by(-1)", "up", show=False),
        Binding("down,j", "by(1)", "down", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown,space", "page(1)", "page down", show=False),
        Binding("home", "to(0)", "top", show=False),
        Binding("end", "to(1000000000)", "bottom", show=False),
    ]

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._make: Make = lambda _: ()
        self._lines: Sequence[Content] = ()

    @property
    def text(self) -> str:
        """All lines, without their styles."""
        return "\n".join(line.plain for line in self._lines)

    def put(self, make: Make) -> None:
        """Show other lines; what was at the top stays there as far as it can."""
        self._make = make
        self._relay()

    def _relay(self) -> None:
        width = self.scrollable_content_region.width
        lines = list(self._make(width)) if width > 0 else []
        if len(lines) == len(self._lines) and all(a.is_same(b) for a, b in zip(lines, self._lines, strict=True)):
            return
        self._lines = lines
        self.virtual_size = Size(width, len(lines))
        self.refresh(layout=self.styles.is_auto_height)

    def on_resize(self) -> None:
        self._relay()

    def action_by(self, rows: int) -> None:
        self._to(round(self.scroll_y) + rows)

    def action_page(self, pages: int) -> None:
        self._to(round(self.scroll_y) + pages * max(self.size.height - 1, 1))

    def action_to(self, row: int) -> None:
        self._to(row)

    def _to(self, row: int) -> None:
        self.scroll_to(y=min(max(row, 0), self.max_scroll_y), animate=False, immediate=True)

    def render_line(self, y: int) -> Strip:
        row = round(self.scroll_y) + y
        width = self.scrollable_content_region.width
        if row >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        strip = Strip(self._lines[row].render_segments(self.visual_style))
        return strip.adjust_cell_length(width, self.rich_style)
