"""Dialog that asks before a read that scans a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual import on
from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.widgets import Button

from console.text.pages import detail
from console.tui import keymap
from console.tui.screens.copy import CopyChoice
from console.tui.screens.refused import TextScreen
from queries.records.node import ScanRequired


class ConfirmScanScreen(TextScreen):
    """Returns True if the operator confirms the scan."""

    KEYS = keymap.SCAN

    def __init__(self, scan_required: ScanRequired) -> None:
        ddl = scan_required.ddl
        copies = [CopyChoice(title="DDL of the index", text=ddl)] if ddl else []
        super().__init__("This read scans a table", lambda width: detail.scan_required(scan_required, width), copies)

    def body(self) -> ComposeResult:
        yield from super().body()
        with Horizontal(classes="buttons"):
            yield Button("Close", id="leave")
            yield Button("Scan once", id="read", variant="warning")

    def on_mount(self) -> None:
        self.query_one("#leave").focus()

    @on(Button.Pressed, "#read")
    def _read(self) -> None:
        self.action_accept()


def confirm_scan(app: App[Any], scan_required: ScanRequired, read: Callable[[], None]) -> None:
    """Show what a scan costs; call ``read`` if the operator confirms it."""

    def answered(confirmed: bool | None) -> None:
        if confirmed:
            read()

    app.push_screen(ConfirmScanScreen(scan_required), answered)
