"""Status line: the last event, or the reason why a key had no effect."""

from __future__ import annotations

from textual.content import Content

from console.text import formatting
from console.tui.widgets.text_bar import TextBar
from queries.text.safe_text import safe_text

TONES = {"": "$foreground", "good": "$success", "warn": "$warning", "bad": "bold $error", "faint": "$faint"}


class StatusBar(TextBar):
    """One line. A message stays until the next one."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._text = ""
        self._tone = ""

    @property
    def text(self) -> str:
        """The current message."""
        return self._text

    def say(self, text: str, tone: str = "") -> None:
        """Show a message. ``tone`` is one of TONES."""
        if (text, tone) != (self._text, self._tone):
            self._text, self._tone = text, tone
            self.renew()

    def compose_line(self, width: int) -> Content:
        line = safe_text(self._text.replace("\n", " "))
        return Content.styled(" " + formatting.crop(line, width - 2), TONES[self._tone])
