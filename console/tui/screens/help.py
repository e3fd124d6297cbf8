"""The help screen."""

from __future__ import annotations

from collections.abc import Sequence

from console.text.spans import Spans
from console.tui import keymap
from console.tui.screens.text_screen import TextScreen
from console.tui.views.help import help_lines


class HelpScreen(TextScreen):
    """Shows keys, actions, statuses and findings."""

    MODE = "help"
    KEYS = keymap.HELP

    def leave(self) -> None:
        self.host.action_go(-1)

    def lines(self, width: int) -> Sequence[Spans]:
        return help_lines(width, self.host.help_context, self.host.keys, self.session)
