"""Asking before something is read that costs the server a scan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widgets import Button

from console.model.node_list import NodeList
from console.tui.pages import detail
from console.tui.screens.copy import CopyChoice, CopyScreen
from console.tui.screens.dialog import Dialog, Title, text
from console.tui.widgets.line_view import LineView
from queries.model import ScanRequired

if TYPE_CHECKING:
    from console.tui.screens.tree_paging import TreePaging


class ConfirmScanScreen(Dialog[bool]):
    """Gives True where the operator wants it all the same."""

    BINDINGS = [Binding("y", "copy", "copy the index's DDL", show=False)]

    def __init__(self, scan_required: ScanRequired) -> None:
        super().__init__()
        self._scan_required = scan_required

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="fitting"):
            yield Title("This costs the server a scan", self.unstick)
            yield LineView(id="page")
            with Horizontal(classes="buttons"):
                yield Button("Leave it", id="leave")
                yield Button("Read it once", id="read", variant="warning")
            yield text("y copies the index's DDL · esc leaves", classes="keys")

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
            self.unstick.push_screen(
                CopyScreen([CopyChoice(title="DDL of the index", text=self._scan_required.ddl)]), self._copied
            )

    def _copied(self, said: str | None) -> None:
        if said:
            self.unstick.say(said, "good")


def ask(screen: TreePaging, node_list: NodeList, parent_id: str | None) -> None:
    """Show what it costs, and read it where the operator wants that."""

    def answered(wanted: bool | None) -> None:
        if wanted:
            screen.read_costly(node_list, parent_id)

    scan_required = node_list.scan_required.get(parent_id)
    if scan_required is not None:
        screen.app.push_screen(ConfirmScanScreen(scan_required), answered)
