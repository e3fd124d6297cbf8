"""Dialog that says where a change is recorded, and offers the audit log table."""

from __future__ import annotations

from textual.app import ComposeResult

from console.text.views.action import table_offer
from console.tui import keymap
from console.tui.screens.copy import CopyChoice, CopyDialog
from console.tui.screens.dialog import Dialog, text
from console.tui.widgets.line_view import LineView
from queries.db.errors import DatabaseError
from queries.log import audit_log


class AuditTableDialog(Dialog[bool]):
    """Returns True if the table was created."""

    KEYS = keymap.AUDIT_TABLE

    def __init__(self) -> None:
        super().__init__("Audit log")
        workspace = self.session.workspace
        assert workspace is not None, "the dialog that opens it has a dry run"
        self._workspace, self._log = workspace, workspace.audit_log
        self._command = workspace.database.command("init", "--operator", workspace.server.role)

    def key_line(self) -> str:
        return self.hints(*self.KEYS[0 if self._log.may_create else 1 :], *keymap.DIALOG)

    def body(self) -> ComposeResult:
        yield LineView(id="lines")
        yield text("", id="wrong")

    def on_mount(self) -> None:
        statements = audit_log.ddl().splitlines() if self._log.may_create else []
        self.query_one(LineView).put(lambda width: table_offer(self._log.place, statements, self._command, width))
        self.query_one(LineView).focus()

    def action_copy(self) -> None:
        made = ("the statements", audit_log.ddl()) if self._log.may_create else ("the command", self._command)
        self.app.push_screen(CopyDialog([CopyChoice(title=made[0], text=made[1])]))

    def action_create(self) -> None:
        if self._log.may_create:
            self.say("Creating the table …")
            self.run_worker(self._create(), group="create", exclusive=True)

    async def _create(self) -> None:
        try:
            await self._log.create()
            await self._workspace.detect(renew=True)
        except DatabaseError as error:
            self.say(str(error))
            return
        self.dismiss(True)
