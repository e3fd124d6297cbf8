"""Dialog that asks for one line of text."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input

from console.tui import keymap
from console.tui.screens.dialog import Dialog, Title, text


class PromptScreen(Dialog[str]):
    """Returns the typed text; None if it is empty."""

    def __init__(self, title: str, question: str, answer: str = "") -> None:
        super().__init__()
        self._title = title
        self._question = question
        self._answer = answer

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="low"):
            yield Title(self._title, self.host.context)
            yield text(self._question, classes="faint")
            line = Input(self._answer, id="answer", select_on_focus=False)
            line.cursor_blink = False
            yield line
            yield text(self.hints(*keymap.PROMPT, *keymap.DIALOG), classes="keys")

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    @on(Input.Submitted)
    def _submitted(self, message: Input.Submitted) -> None:
        self.dismiss(message.value.strip() or None)
