"""Screen with a text that scrolls and can be searched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual import on
from textual.widgets import Input

from console.text.spans import Make, Spans
from console.tui import keymap
from console.tui.screens.base import MainScreen
from console.tui.widgets.filter_line import FilterLine
from console.tui.widgets.line_view import LineView


class TextScreen(MainScreen):
    """Screen with the lines of one text, or those entries that have a text.

    Subclasses make the lines.
    """

    def lines(self, width: int) -> Sequence[Spans]:
        """Return the lines of the screen for a width in cells."""
        raise NotImplementedError

    @property
    def text_view(self) -> LineView:
        return self.query_one(LineView)

    @property
    def _line(self) -> FilterLine:
        return self.query_one("#search", FilterLine)

    def body(self) -> Iterable[object]:
        yield LineView(id="lines")
        yield FilterLine(id="search", hint="a text of this screen")

    def on_mount(self) -> None:
        self._line.display = False
        self.text_view.focus()

    def show_body(self) -> None:
        self.text_view.put(self.lines)

    def action_search(self) -> None:
        self._line.display = True
        self._line.focus()

    @on(Input.Changed, "#search")
    def _searched(self) -> None:
        self.text_view.search(self._line.value.strip())

    def on_filter_line_kept(self) -> None:
        self._line.display = bool(self._line.value)
        self.text_view.focus()

    def on_filter_line_left(self) -> None:
        self._line.value = ""
        self.on_filter_line_kept()

    def action_back(self) -> None:
        """Show the whole text again, or else the screen before."""
        if self._line.value:
            self.on_filter_line_left()
        else:
            self.leave()

    def leave(self) -> None:
        self.dismiss()


class PreviewScreen(TextScreen):
    """All lines about a row of a list, as it was when the screen was opened."""

    KEYS = (*keymap.ENTRY, keymap.BY_ID["rows.maximise"])

    def __init__(self, make: Make, mode: str) -> None:
        super().__init__(mode)
        self._make = make

    def lines(self, width: int) -> Sequence[Spans]:
        return self._make(width)

    def action_maximise(self) -> None:
        self.dismiss()
