"""Input line for a filter."""

from __future__ import annotations

from collections.abc import Sequence

from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input

from console.tui import keymap
from console.tui.bindings import bindings

HINT = "words, field:value, !negated   e.g. mail phase:blocked age:>1h"


class FilterLine(Input):
    """Posts every change at once. Enter keeps the filter, Escape clears it."""

    DEFAULT_CSS = """
    FilterLine, FilterLine:focus { height: 1; border: none; padding: 0 1; background: $primary 12%; }
    FilterLine > .input--cursor { background: transparent; color: auto; text-style: none; }
    """
    BINDINGS = bindings(keymap.FILTER_LINE)

    class Kept(Message):
        """The operator keeps the filter."""

    class Left(Message):
        """The operator clears the filter."""

    def __init__(
        self, suggester: Suggester | None = None, id: str | None = None, hint: str = HINT, kept: Sequence[str] = ()
    ) -> None:
        """``kept``: the filters to which the key up leads, the newest last."""
        super().__init__(id=id, placeholder=hint, suggester=suggester)
        self.cursor_blink = False
        self._kept = kept

    async def action_submit(self) -> None:
        self.action_keep()

    def action_keep(self) -> None:
        self.post_message(self.Kept())

    async def action_save(self) -> None:
        await self.run_action("screen.save_filter")

    def action_before(self) -> None:
        place = self._kept.index(self.value) if self.value in self._kept else len(self._kept)
        if place:
            self.value = self._kept[place - 1]
            self.action_end()

    def action_leave(self) -> None:
        self.post_message(self.Left())
