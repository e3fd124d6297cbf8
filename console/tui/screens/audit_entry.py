"""One entry of the audit log."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence

from console.model.history import Place
from console.text import formatting
from console.text.pages.audit_entry import entry_page
from console.tui import keymap
from console.tui.screens.base import PageScreen
from console.tui.widgets.line_view import LineView
from queries.actions.undo import plan_entry, plan_undo
from queries.db.errors import DatabaseError
from queries.records.audit import AuditLogEntry
from queries.workspace import UnknownIdError


def undo(page: PageScreen, entry: AuditLogEntry) -> None:
    """Open the dialogs of the undo of an entry."""
    workspace = page.session.workspace
    if workspace is None:
        return
    try:
        page.host.start(plan_undo(workspace, [entry]))
    except DatabaseError as error:
        page.host.refuse(str(error))


async def undo_run(page: PageScreen, run: str) -> None:
    """Read the entries of a run and open the dialogs of their undo."""
    workspace = page.session.workspace
    if workspace is None:
        return
    try:
        page.host.start(await plan_entry(workspace, run))
    except DatabaseError as error:
        page.host.refuse(str(error))


class AuditEntryScreen(PageScreen):
    """Shows one entry. Entries never change, so at most the rows are read, once."""

    MODE = "audit"
    KEYS = keymap.ENTRY

    def __init__(self, entry: AuditLogEntry, mode: str = MODE, *, whole: bool = True) -> None:
        """Create the page.

        ``whole``: False for an entry of a list that was read without the rows before and after.
        """
        super().__init__()
        self._entry = entry
        self._mode = mode
        self._whole = whole

    def mode(self) -> str:
        return self._mode

    async def load(self) -> None:
        workspace = self.session.workspace
        if self._whole or workspace is None:
            return
        with contextlib.suppress(UnknownIdError):  # it was removed since
            found = await workspace.find_entries(self._entry.id, changes=True)  # all of a run if it begins one
            self._entry = next(entry for entry in found if entry.id == self._entry.id)
        self._whole = True

    def body(self) -> Iterable[object]:
        yield LineView(id="page")

    def on_mount(self) -> None:
        self.query_one(LineView).focus()

    def place(self) -> Place:
        entry, app = self._entry, self.app
        return Place(self.MODE, f"entry {entry.id}", lambda: app.push_screen(AuditEntryScreen(entry)))

    def crumbs(self) -> Sequence[str]:
        return [f"{self._entry.action} at {formatting.instant(self._entry.at)}"]

    def show_body(self) -> None:
        self.query_one(LineView).put(lambda width: entry_page(self._entry, width))

    def action_undo(self) -> None:
        undo(self, self._entry)

    def action_back(self) -> None:
        self.dismiss()
