"""A scrolled text of many lines, of which only the visible ones are painted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from console.text import formatting, spans
from console.text.spans import Link, Make, Spans
from console.text.views.lines import matching, wrapped
from console.tui import keymap
from console.tui.bindings import bindings


class LineView(ScrollView, can_focus=True, inherit_bindings=False):
    """Lines that a function makes for the available width.

    One of their links may be ``chosen``.
    """

    @dataclass
    class Clicked(Message):
        """The operator clicked on a link."""

        target: str

    DEFAULT_CSS = """
    LineView { height: 1fr; width: 1fr; overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; padding: 0 1;
        scrollbar-gutter: stable; background: $background; }
    """
    BINDINGS = bindings(keymap.TEXT)

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._make: Make = lambda _: ()
        self._lines: Sequence[Spans] = ()
        self.sought = ""  # only entries with this text are shown
        self.chosen: str | None = None

    @property
    def links(self) -> list[str]:
        """Targets of the links, each once, from top to bottom."""
        return list(dict.fromkeys(style for line in self._lines for _, style in line if isinstance(style, Link)))

    def choose(self, step: int) -> str | None:
        """Choose the next (1) or previous (-1) link, and scroll to it. Return it."""
        links = self.links
        if not links:
            return None
        at = links.index(self.chosen) + step if self.chosen in links else (0 if step > 0 else -1)
        return self.select(links[at % len(links)])

    def select(self, link: str) -> str:
        """Choose one of the links, and scroll to it. Return it."""
        self.chosen = link
        line = next(n for n, each in enumerate(self._lines) if self.chosen in [s for _, s in each if type(s) is Link])
        top = round(self.scroll_y)
        if not top <= line < top + self.size.height:
            self._scroll_to_line(line - self.size.height // 2)
        self.refresh()
        return link

    @property
    def text(self) -> str:
        """All lines, without styles."""
        return "\n".join(map(spans.text, self._lines))

    def put(self, make: Make) -> None:
        """Show other lines. Keep the scroll position as far as possible."""
        self._make = make
        self._update_lines()

    def search(self, sought: str) -> None:
        """Show only the entries with a text, "" for all."""
        self.sought = sought
        self._update_lines()
        self.action_edge(-1)

    def _update_lines(self) -> None:
        width = self.scrollable_content_region.width
        lines = list(self._make(width)) if width > 0 else []
        if self.sought:
            none = f"{self.sought!r} is not on this screen."
            lines = matching(lines, self.sought) or wrapped(none, width, "$warning", 0)
        if lines == self._lines:
            return
        self._lines = lines
        self.chosen = self.chosen if self.chosen in self.links else None
        self.virtual_size = Size(width, len(lines))
        self.refresh(layout=self.styles.is_auto_height)

    def on_resize(self) -> None:
        self._update_lines()

    def on_click(self, event: events.Click) -> None:
        where = event.get_content_offset(self)
        line = round(self.scroll_y) + where.y if where is not None else len(self._lines)
        end = 0
        for part, style in self._lines[line] if where is not None and line < len(self._lines) else ():
            end += formatting.width(part)
            if where is not None and where.x < end:
                if isinstance(style, Link):
                    self.post_message(self.Clicked(str(style)))
                return

    def action_by(self, lines: int) -> None:
        """Scroll down (up, if negative) by lines."""
        self._scroll_to_line(round(self.scroll_y) + lines)

    def action_screenful(self, number: int) -> None:
        """Scroll by screens."""
        self._scroll_to_line(round(self.scroll_y) + number * max(self.size.height - 1, 1))

    def action_edge(self, side: int) -> None:
        """Scroll to the first (-1) or last (1) line."""
        self._scroll_to_line(len(self._lines) if side > 0 else 0)

    def _scroll_to_line(self, line: int) -> None:
        self.scroll_to(y=min(max(line, 0), self.max_scroll_y), animate=False, immediate=True)

    def render_line(self, y: int) -> Strip:
        line = round(self.scroll_y) + y
        width = self.scrollable_content_region.width
        if line >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        shown = spans.drawn(self._lines[line], self.chosen)
        strip = Strip(Content.assemble(*shown).render_segments(self.visual_style))
        return strip.adjust_cell_length(width, self.rich_style)
