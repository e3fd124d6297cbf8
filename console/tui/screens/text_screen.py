"""Screen with a text that scrolls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from console.text.spans import Spans
from console.tui.screens.base import MainScreen
from console.tui.widgets.line_view import LineView


class TextScreen(MainScreen):
    """Screen with the lines of one text. Subclasses make them."""

    def lines(self, width: int) -> Sequence[Spans]:
        """Return the lines of the screen for a width in cells."""
        raise NotImplementedError

    @property
    def text_view(self) -> LineView:
        return self.query_one(LineView)

    def body(self) -> Iterable[object]:
        yield LineView(id="lines")

    def on_mount(self) -> None:
        self.text_view.focus()

    def show_body(self) -> None:
        self.text_view.put(self.lines)

    def action_back(self) -> None:
        self.dismiss()
