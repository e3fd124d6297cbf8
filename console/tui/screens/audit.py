"""List of audit log entries: who did what, when, why, with which outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from console.model.fields.audit_entry import ENTRIES
from console.text.views.action import audit_log_place
from console.tui import keymap
from console.tui.screens.audit_entry import AuditEntryScreen
from console.tui.screens.log_screen import LogScreen
from queries.log import audit_log
from queries.records.audit import AuditLogEntry
from queries.workspace import Workspace

WITHOUT_ROWS = audit_log.Criteria(changes=False)

if TYPE_CHECKING:
    from console.tui.screens.copy import CopyChoice


class AuditLogScreen(LogScreen[AuditLogEntry]):
    """Shows the newest entries first."""

    MODE = "audit"
    KEYS = (*keymap.ROWS, *keymap.AUDIT_LOG)
    RECORDS = ENTRIES
    SEARCHES = False

    def __init__(self) -> None:
        super().__init__()
        self._lost: Sequence[AuditLogEntry] = ()

    def _place(self) -> str:
        workspace = self.session.workspace
        return "" if workspace is None else f"It is kept in {audit_log_place(workspace.audit_log.place)}."

    def note(self) -> str:
        workspace = self.session.workspace
        if workspace is None:
            return ""
        place = workspace.audit_log.place
        where = "in the database" if place == audit_log.TABLE else "in a local file"
        return "  ".join([*self.count(), where])

    async def load(self) -> None:
        workspace = self.session.workspace
        if workspace is not None:
            self.newest.refresh(*await workspace.audit_log.page(conditions=WITHOUT_ROWS))
            self._lost = workspace.audit_log.lost

    def records(self) -> Sequence[AuditLogEntry]:
        """Return the entries, with those that a failover took out of the table."""
        entries = self.newest.records
        since = entries[-1].at if entries and self.more() else 0.0
        lost = {(entry.id, entry.xid): entry for entry in self._lost if entry.at >= since}
        others = [entry for entry in entries if (entry.id, entry.xid) not in lost]
        shown = {entry.id: entry for entry in (*lost.values(), *others)}  # an id may have been given again
        return sorted(shown.values(), key=lambda entry: -entry.at)

    def nothing(self) -> tuple[str, str]:
        workspace = self.session.workspace
        if workspace is not None and workspace.audit_log.unreadable:
            return "No privilege to read the audit log.", workspace.audit_log.unreadable
        about = "Every change is recorded here: who, when, why, which rows."
        return "No changes made with unstick yet.", f"{about}\n{self._place()}"

    async def older(self, workspace: Workspace, cursor: str) -> tuple[Sequence[AuditLogEntry], str | None]:
        return await workspace.audit_log.page(cursor, conditions=WITHOUT_ROWS)

    def open(self, record: AuditLogEntry) -> None:
        self.app.push_screen(AuditEntryScreen(record, self.MODE))

    def action_undo(self) -> None:
        """Undo the chosen entry. If it is a part of a run, undo the run."""
        from console.tui.screens.action import undo

        entries = self.rows.chosen()
        runs = {entry.run for entry in entries}
        if len(runs) == 1 and (run := runs.pop()):
            self.host.act(undo(self, run, self.unseen()))
        elif len(entries) == 1:
            self.host.act(undo(self, entries[0].id, self.unseen()))
        else:
            self.host.refuse("Undo takes one entry or one run at a time." if entries else "There is no entry to undo.")

    def copies(self) -> list[CopyChoice]:
        from console.tui.screens.copy import entry_choices

        entries = self.rows.chosen()
        return entry_choices(entries) if entries else []
