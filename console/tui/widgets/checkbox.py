"""Yes-or-no field with its question.

The value is shown by a character, not by a colour.
"""

from __future__ import annotations

from textual.content import Content

from console.tui import keymap
from console.tui.bindings import bindings
from console.tui.widgets.text_bar import TextBar
from queries.safe_text import safe_text


class Checkbox(TextBar, can_focus=True):
    """``[x] question``. Space or a click toggles it."""

    DEFAULT_CSS = """
    Checkbox { height: auto; text-wrap: wrap; }
    Checkbox:focus { background: $primary 20%; }
    """
    BINDINGS = bindings(keymap.CHECKBOX)

    def __init__(self, question: str, value: bool = False, id: str | None = None) -> None:
        super().__init__(id=id)
        self._question = question
        self.value = value

    def compose_line(self, width: int) -> Content:
        return Content.assemble(("[x] " if self.value else "[ ] ", "bold"), safe_text(self._question))

    def action_switch(self) -> None:
        self.value = not self.value
        self.renew()

    def on_click(self) -> None:
        self.action_switch()
