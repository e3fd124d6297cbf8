"""Yes-or-no field with its question.

The value is shown by a character, not by a colour.
"""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from console.tui import keymap
from console.tui.bindings import bindings
from queries.text.safe_text import safe_text


class Checkbox(Static, can_focus=True):
    """``[x] question``, in as many lines as it needs. Space or a click toggles it."""

    DEFAULT_CSS = """
    Checkbox { height: auto; }
    Checkbox:focus { background: $primary 20%; }
    """
    BINDINGS = bindings(keymap.CHECKBOX)

    def __init__(self, question: str, value: bool = False, id: str | None = None) -> None:
        self._question = question
        self.value = value
        super().__init__(self._line(), id=id, markup=False)

    def _line(self) -> Content:
        return Content.assemble(("[x] " if self.value else "[ ] ", "bold"), safe_text(self._question))

    def action_switch(self) -> None:
        self.value = not self.value
        self.update(self._line())

    def on_click(self) -> None:
        self.action_switch()
