"""List of audit log entries: who did what, when, why, with which outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from console.model import audit_list
from console.model.row_list import Row, RowList
from console.text import formatting
from console.text.pages.action import audit_log_place
from console.text.pages.audit_entry import outcome
from console.tui import keymap
from console.tui.bindings import bindings
from console.tui.screens.audit_entry import AuditEntryScreen, undo, undo_run
from console.tui.screens.list_screen import ListScreen
from console.tui.widgets.cells import text_column
from console.tui.widgets.table import Column
from queries.records.audit import AuditLogEntry
from queries.write import audit_log

WITHOUT_ROWS = audit_log.Filter(changes=False)

if TYPE_CHECKING:
    from console.tui.screens.copy import CopyChoice


class AuditLogScreen(ListScreen[AuditLogEntry]):
    """Shows the newest entries first; loads older pages when the cursor nears the end."""

    MODE = "audit"
    KEYS = (*keymap.ROWS, *keymap.AUDIT_LOG)
    BINDINGS = bindings(keymap.ROWS, keymap.AUDIT_LOG)
    PREVIEW = False
    LOADS = True

    def __init__(self) -> None:
        super().__init__()
        self._entries: dict[str, AuditLogEntry] = {}
        self._cursor: str | None = None
        self._read = False

    def make_list(self) -> RowList[AuditLogEntry]:
        return RowList(lambda entry: entry.id, audit_list.FIELDS, audit_list.GROUPINGS)

    def columns(self) -> list[Column[Row[AuditLogEntry]]]:
        return [
            Column(
                "when", formatting.time_width(9), self._when, value=lambda row: -max(entry.at for entry in row.records)
            ),
            text_column(audit_list.ACTION, 9, style="bold $accent"),
            Column("outcome", 18, _outcome, value=lambda row: _outcome(row).plain),
            text_column(audit_list.TARGET, 0),
            text_column(audit_list.WHO, 18, 116),
            text_column(audit_list.ENGINE, 14, 140),
            text_column(audit_list.REASON, 24, 96),
        ]

    def _place(self) -> str:
        workspace = self.session.workspace
        return "" if workspace is None else f"It is kept in {audit_log_place(workspace.audit_log_place)}."

    def note(self) -> str:
        workspace = self.session.workspace
        if workspace is None:
            return ""
        place = workspace.audit_log_place
        where = "in the database" if place == audit_log.TABLE else "in a local file"
        return "  ".join([*self.count(), where])

    def more(self) -> bool:
        return self._cursor is not None

    def node_id(self, record: AuditLogEntry) -> str | None:
        return None

    def records(self) -> Sequence[AuditLogEntry]:
        return sorted(self._entries.values(), key=lambda entry: -entry.at)

    async def load(self) -> None:
        workspace = self.session.workspace
        if workspace is None:
            return
        entries, cursor = await workspace.audit_entries(wanted=WITHOUT_ROWS)
        if not self._read:
            self._cursor, self._read = cursor, True
        self._entries = {**{entry.id: entry for entry in entries}, **self._entries}

    def notice(self) -> tuple[str, str]:
        workspace = self.session.workspace
        if self._entries:
            return "No entry matches the filter.", "Escape clears it. The end of the list loads older entries."
        if not self._read:
            return "Reading …", self.session.error_text
        if workspace is not None and workspace.audit_log_closed:
            return "No privilege to read the audit log.", workspace.audit_log_closed
        about = "Every change is recorded here: who, when, why, which rows."
        return "No changes made with unstick yet.", f"{about}\n{self._place()}"

    async def read_more(self) -> None:
        if self._cursor is not None and self.session.workspace is not None:
            entries, self._cursor = await self.session.workspace.audit_entries(self._cursor, wanted=WITHOUT_ROWS)
            self._entries |= {entry.id: entry for entry in entries}
            self.renew()

    def open(self, record: AuditLogEntry) -> None:
        self.app.push_screen(AuditEntryScreen(record, whole=False))

    def action_undo(self) -> None:
        """Undo the chosen entry. If it is a part of a run, undo the run."""
        entries = self.list.chosen(self.row)
        runs = {entry.run for entry in entries}
        if len(runs) == 1 and (run := runs.pop()):
            self.run_worker(undo_run(self, run), group="undo")
        elif len(entries) == 1:
            undo(self, entries[0])
        else:
            self.host.refuse("Undo takes one entry or one run at a time." if entries else "There is no entry to undo.")

    def copies(self) -> list[CopyChoice]:
        from console.tui.screens.copy import entry_choices

        entries = self.list.chosen(self.row)
        return entry_choices(entries) if entries else []

    def _when(self, row: Row[AuditLogEntry]) -> Content:
        at = formatting.since(max(entry.at for entry in row.records), self.session.at)
        return Content.assemble(self.fold_sign(row), (f"{row.group} " if row.foldable else at, "$faint"))


def _outcome(row: Row[AuditLogEntry]) -> Content:
    if row.record is None:
        return Content.styled(f"{len(row.records)} entries", "bold")
    return Content.assemble(*outcome(row.record))
