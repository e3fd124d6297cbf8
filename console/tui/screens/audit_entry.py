"""One entry of the audit log."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from console.model.visited_places import Place
from console.text import formatting
from console.text.spans import Spans
from console.text.views.audit_entry import entry_lines
from console.tui import keymap
from console.tui.screens.text_screen import TextScreen
from queries.db.errors import UnknownIdError
from queries.records.audit import AuditLogEntry


class AuditEntryScreen(TextScreen):
    """Shows one entry. Entries never change, so only its rows are read, once.

    The entries of a list are read without the rows before and after.
    """

    KEYS = keymap.ENTRY

    def __init__(self, entry: AuditLogEntry, mode: str) -> None:
        super().__init__(mode)
        self._entry = entry
        self._whole = False

    async def load(self) -> None:
        workspace = self.session.workspace
        if self._whole or workspace is None:
            return
        with contextlib.suppress(UnknownIdError):  # it was removed since, or lost in a failover
            entries = await workspace.audit_log.find(self._entry.id, changes=True)  # all of a run if it begins one
            same = (entry for entry in entries if (entry.id, entry.xid) == (self._entry.id, self._entry.xid))
            self._entry = next(same, self._entry)
        self._whole = True

    def place(self) -> Place:
        return self.opened(f"entry {self._entry.id}", self._entry)

    def crumbs(self) -> Sequence[str]:
        return [f"{self._entry.action} at {formatting.instant(self._entry.at)}"]

    def lines(self, width: int) -> Sequence[Spans]:
        return entry_lines(self._entry, width)

    def action_undo(self) -> None:
        from console.tui.screens.action import undo

        self.host.act(undo(self, self._entry.id))
