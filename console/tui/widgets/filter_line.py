"""The line in which a filter, or a text to find, is typed."""

from __future__ import annotations

from textual.binding import Binding
from textual.message import Message
from textual.widgets import Input


class FilterLine(Input):
    """Tells every change at once. Enter keeps what was typed, escape takes it away."""

    DEFAULT_CSS = "FilterLine, FilterLine:focus { height: 1; border: none; padding: 0 1; background: $primary 12%; }"
    BINDINGS = [
        Binding("escape", "leave", "clear", show=False),
        Binding("down", "keep", "to the list", show=False),
    ]

    class Kept(Message):
        """The operator goes on with what was typed."""

    class Left(Message):
        """The operator does not want it any more."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id, placeholder="words, field:value, !negated   e.g. mail phase:blocked age:>1h")
        self.cursor_blink = False

    async def action_submit(self) -> None:
        self.action_keep()

    def action_keep(self) -> None:
        self.post_message(self.Kept())

    def action_leave(self) -> None:
        self.post_message(self.Left())
