"""Preview of the record under the cursor, below a list or beside it."""

from __future__ import annotations

from textual.containers import Container
from textual.content import Content

from console.text.spans import Make, drawn
from console.tui.widgets.text_bar import TextBar


class Preview(TextBar):
    """First lines that a function makes.

    The height is fixed, so that the list above never jumps.
    """

    DEFAULT_CSS = "Preview { height: 4; border-top: solid $line; padding: 0 1; }"

    _make: Make | None = None

    def put(self, make: Make | None) -> None:
        """Preview another record; None clears the preview."""
        self._make = make
        self.renew()

    def compose_line(self, width: int) -> Content:
        lines = list(self._make(width)) if self._make is not None else []
        return Content("\n").join(Content.assemble(*drawn(line)) for line in lines[: max(self.content_size.height, 1)])


class Split(Container):
    """A list and its preview: one below the other, or side by side on a broad screen."""

    DEFAULT_CSS = "Split { height: 1fr; layout: vertical; }"
