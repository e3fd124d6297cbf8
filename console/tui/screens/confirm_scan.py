"""Dialog that asks before a read that scans a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual import on
from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Button

from console.text.pages import detail
from console.tui import keymap
from console.tui.bindings import bindings
from console.tui.screens.copy import CopyChoice, CopyScreen
from console.tui.screens.dialog import Dialog, Title, text
from console.tui.widgets.line_view import LineView
from queries.records.node import ScanRequired


class ConfirmScanScreen(Dialog[bool]):
    """Returns True if the operator confirms the scan."""

    BINDINGS = bindings(keymap.SCAN)

    def __init__(self, scan_required: ScanRequired) -> None:
        super().__init__()
        self._scan_required = scan_required

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="fitting"):
            yield Title("This read scans a table", self.host.context)
            yield LineView(id="page")
            with Horizontal(classes="buttons"):
                yield Button("Close", id="leave")
                yield Button("Scan once", id="read", variant="warning")
            yield text(self.hints(*keymap.SCAN, *keymap.DIALOG), classes="keys")

    def on_mount(self) -> None:
        self.query_one(LineView).put(lambda width: detail.scan_required(self._scan_required, width))
        self.query_one("#leave").focus()

    @on(Button.Pressed, "#leave")
    def _leave(self) -> None:
        self.dismiss(None)

    @on(Button.Pressed, "#read")
    def _read(self) -> None:
        self.dismiss(True)

    def action_copy(self) -> None:
        if self._scan_required.ddl:
            self.app.push_screen(
                CopyScreen([CopyChoice(title="DDL of the index", text=self._scan_required.ddl)]), self._copied
            )

    def _copied(self, message: str | None) -> None:
        if message:
            self.host.say(message, "good")


def confirm_scan(app: App[Any], scan_required: ScanRequired, read: Callable[[], None]) -> None:
    """Show what a scan costs; call ``read`` if the operator confirms it."""

    def answered(confirmed: bool | None) -> None:
        if confirmed:
            read()

    app.push_screen(ConfirmScanScreen(scan_required), answered)
