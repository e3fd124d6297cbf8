"""Placeholder shown when a list is empty or loading."""

from __future__ import annotations

from textual.content import Content

from console.tui.widgets.text_bar import TextBar
from queries.text.safe_text import safe_text


class Placeholder(TextBar):
    """A headline and an explanation in the middle of the screen."""

    DEFAULT_CSS = """
    Placeholder { height: 1fr; content-align: center middle; text-wrap: wrap; padding: 1 4; }
    """

    _headline = ""
    _text = ""

    def show(self, headline: str, text: str = "") -> None:
        """Show a headline and the lines of ``text``."""
        self._headline, self._text = headline, text
        self.display = True
        self.renew()

    def hide(self) -> None:
        """Hide the placeholder, so that the list has its place."""
        self.display = False

    def compose_line(self, width: int) -> Content:
        lines = [safe_text(line) for line in self._text.splitlines()]
        title = Content.styled(safe_text(self._headline), "bold")
        return Content("\n").join(
            [title, *([Content("")] if lines else []), *(Content.styled(line, "$faint") for line in lines)]
        )
