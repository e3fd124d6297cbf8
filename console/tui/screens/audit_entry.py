"""One entry of the audit log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from console.text import formatting
from console.text.pages.audit_entry import entry_page
from console.tui import keymap
from console.tui.bindings import bindings
from console.tui.screens.base import PageScreen
from console.tui.widgets.line_view import LineView
from queries.model import AuditLogEntry


class AuditEntryScreen(PageScreen):
    """Shows one entry. It reads nothing, because entries never change."""

    MODE = "audit"
    KEYS = keymap.ENTRY
    BINDINGS = bindings(keymap.ENTRY)

    def __init__(self, entry: AuditLogEntry) -> None:
        super().__init__()
        self._entry = entry

    def body(self) -> Iterable[object]:
        yield LineView(id="page")

    def on_mount(self) -> None:
        self.query_one(LineView).focus()

    def crumbs(self) -> Sequence[str]:
        return [f"{self._entry.action} at {formatting.instant(self._entry.at)}"]

    def show_body(self) -> None:
        self.query_one(LineView).put(lambda width: entry_page(self._entry, width))

    def action_back(self) -> None:
        self.dismiss()
