"""Dialog that asks before a read that scans a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from textual import on
from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.widgets import Button

from console.text.views import detail
from console.tui import keymap
from console.tui.screens.copy import CopyChoice, CopyDialog
from console.tui.screens.refused import TextDialog
from queries.records.node import ScanRequired


class ConfirmScanDialog(TextDialog):
    """Returns True if the operator confirms the scan."""

    KEYS = keymap.SCAN

    def __init__(self, scans: Sequence[ScanRequired]) -> None:
        super().__init__(
            "This read scans a table",
            lambda width: [line for scan in scans for line in detail.scan_required(scan, width)],
        )
        self._copies = [CopyChoice(title="DDL of the index", text=scan.ddl) for scan in scans if scan.ddl]

    def body(self) -> ComposeResult:
        yield from super().body()
        with Horizontal(classes="buttons"):
            yield Button("Close", id="leave")
            yield Button("Scan once", id="read", variant="warning")

    def on_mount(self) -> None:
        self.query_one("#leave").focus()

    def action_copy(self) -> None:
        if self._copies:
            self.app.push_screen(CopyDialog(self._copies))

    @on(Button.Pressed, "#read")
    def _read(self) -> None:
        self.action_accept()


def confirm_scan(app: App[Any], scans: Sequence[ScanRequired], read: Callable[[], None]) -> None:
    """Show what each scan costs; call ``read`` if the operator confirms them."""

    def answered(confirmed: bool | None) -> None:
        if confirmed:
            read()

    app.push_screen(ConfirmScanDialog(scans), answered)
