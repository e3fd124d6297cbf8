"""Dialog that asks for one line of text."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.widgets import Input

from console.tui import keymap
from console.tui.screens.dialog import Dialog, line, text


class PromptDialog(Dialog[str]):
    """Returns the typed text; None if it is empty."""

    KEYS = keymap.PROMPT
    SIZE = "low"

    def __init__(self, heading: str, question: str, answer: str = "") -> None:
        super().__init__(heading)
        self._question = question
        self._answer = answer

    def body(self) -> ComposeResult:
        yield text(self._question, classes="faint")
        yield line(self._answer, id="answer", selected=False)

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    @on(Input.Submitted)
    def _submitted(self, message: Input.Submitted) -> None:
        self.dismiss(message.value.strip() or None)
