"""A few lines below a list that tell more of the record under its cursor."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.content import Content

from console.tui.widgets.text_bar import TextBar

Make = Callable[[int], Sequence[Content]]


class Preview(TextBar):
    """Shows the first lines that a function makes; its height is fixed, so the list above never jumps."""

    DEFAULT_CSS = "Preview { height: 4; border-top: solid $line; padding: 0 1; }"

    _make: Make | None = None

    def put(self, make: Make | None) -> None:
        """Tell of another record, or of none."""
        self._make = make
        self.renew()

    def compose_line(self, width: int) -> Content:
        lines = list(self._make(width)) if self._make is not None else []
        return Content("\n").join(lines[: max(self.content_size.height, 1)])
