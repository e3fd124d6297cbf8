"""List of audit log entries: who did what, when, why, with which outcome."""

from __future__ import annotations

from collections.abc import Iterable

from textual import on
from textual.content import Content

from console.text import formatting
from console.text.pages.audit_entry import target
from console.text.pages.row_diff import tally
from console.tui import keymap
from console.tui.bindings import bindings
from console.tui.screens.audit_entry import AuditEntryScreen
from console.tui.screens.base import PageScreen
from console.tui.widgets.placeholder import Placeholder
from console.tui.widgets.table import Column, Table
from queries.errors import DatabaseError
from queries.model import AuditLogEntry
from queries.safe_text import safe_text
from queries.write import audit_log


class AuditLogScreen(PageScreen):
    """Shows the newest entries first; loads older pages when the cursor nears the end."""

    MODE = "audit"
    KEYS = keymap.AUDIT_LOG
    BINDINGS = bindings(keymap.AUDIT_LOG)

    def __init__(self) -> None:
        super().__init__()
        self._entries: dict[str, AuditLogEntry] = {}
        self._cursor: str | None = None
        self._read = False
        self._fetching = False

    @property
    def table(self) -> Table[AuditLogEntry]:
        return self.query_one("#entries", Table)

    def body(self) -> Iterable[object]:
        yield Placeholder(id="notice")
        columns: list[Column[AuditLogEntry]] = [
            Column("when (UTC)", 20, lambda entry: Content.styled(formatting.instant(entry.at), "$faint")),
            Column("action", 9, lambda entry: Content.styled(safe_text(entry.action), "bold $accent")),
            Column("outcome", 18, lambda entry: Content.assemble(*tally(entry.results))),
            Column("target", 0, lambda entry: Content(safe_text(target(entry)))),
            Column("who", 18, _who, 116),
            Column("engine", 14, lambda entry: Content(safe_text(entry.engine)), 140),
            Column("reason", 24, lambda entry: Content(safe_text(entry.reason)), 96),
        ]
        yield Table[AuditLogEntry](columns, lambda entry: entry.id, id="entries", ascii=self.host.ascii)

    def on_mount(self) -> None:
        self.table.focus()

    def note(self) -> str:
        workspace = self.session.workspace
        if workspace is None:
            return ""
        place = workspace.audit_log_place
        return "in the database" if place == audit_log.TABLE else f"in the file {place}"

    async def load(self) -> None:
        workspace = self.session.workspace
        if workspace is None:
            return
        entries, cursor = await workspace.audit_entries()
        if not self._read:
            self._cursor, self._read = cursor, True
        self._entries = {**{entry.id: entry for entry in entries}, **self._entries}

    def show_body(self) -> None:
        notice = self.query_one(Placeholder)
        self.table.put(sorted(self._entries.values(), key=lambda entry: -entry.at))
        self.table.show_rows()
        if self._entries:
            notice.hide()
        elif self._read and self.session.workspace is not None and self.session.workspace.audit_log_closed:
            notice.show("No privilege to read the audit log.", self.session.workspace.audit_log_closed)
        elif self._read:
            notice.show(
                "No changes made with unstick yet.", "Every change is recorded here: who, when, why, which rows."
            )
        else:
            notice.show("Reading …", self.session.error_text)

    @on(Table.NearEnd)
    def _near_end(self) -> None:
        if self._cursor is not None and not self._fetching:
            self._fetching = True
            self.run_worker(self._more(self._cursor), group="audit_log", exit_on_error=True)

    async def _more(self, cursor: str) -> None:
        try:
            if self.session.workspace is not None:
                entries, self._cursor = await self.session.workspace.audit_entries(cursor)
                self._entries |= {entry.id: entry for entry in entries}
                self.renew()
        except DatabaseError as error:
            self.session.failed(error)
            self.say(str(error), "bad")
        finally:
            self._fetching = False

    @on(Table.Chosen)
    def _chosen(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        entry = self.table.current
        if entry is not None:
            self.app.push_screen(AuditEntryScreen(entry))


def _who(entry: AuditLogEntry) -> Content:
    return Content(safe_text(f"{entry.os_user}@{entry.host}" if entry.os_user else entry.role))
