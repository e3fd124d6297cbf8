"""Dialog that says why a key does nothing.

It takes the keys typed for the dialog that did not open.
"""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical

from console.text.pages.lines import wrapped
from console.tui.screens.dialog import Dialog, Title, text
from console.tui.widgets.line_view import LineView


class RefusedScreen(Dialog[None]):
    """Dialog that only escape closes.

    A reason typed too early ends with enter and must not run commands.
    """

    def __init__(self, title: str, why: str) -> None:
        super().__init__()
        self._title = title
        self._why = why

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="fitting"):
            yield Title(self._title, self.host.context)
            yield LineView(id="page")
            yield text("esc closes; other keys do nothing here", classes="keys")

    def on_mount(self) -> None:
        self.query_one(LineView).put(lambda width: wrapped(self._why, width, "$warning", 0))
