"""Dialog that shows a dry run and asks for confirmation.

No lock is held while it is open. Enter shows the rows and the ids, and alone never commits. The action's own key or its
button commits. In production, a risky action needs a text to be typed: its field has the focus, and enter commits once
it matches.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Button, Input, Static

from console.model.follow_up import WATCHED_NODES
from console.text import formatting
from console.text.views import action as views
from console.text.views.row_diff import ROWS_SHOWN
from console.tui import keymap
from console.tui.screens.audit_table import AuditTableDialog
from console.tui.screens.dialog import Dialog, line, text
from console.tui.widgets.line_view import LineView
from queries.change import perform
from queries.change.plan import ActionInput, Plan, count_nodes
from queries.db.errors import DatabaseError
from queries.read import guard_token
from queries.records.action import Change, Outcome, Risk
from queries.records.node import split_id
from queries.text.safe_text import safe_text

WAIT_SECONDS = 600.0  # seconds to wait for nodes that an executor holds, if the operator chooses to
IDS_SHOWN = 200  # ids of skipped nodes that are listed


class Typed(NamedTuple):
    """A text that the operator has to type before the commit, and what it is."""

    what: str
    expected: str


def to_type(plan: Plan, production: str) -> list[Typed]:
    """Return the texts to type before the commit, on a server in ``production``."""
    if not production:
        return []
    action = plan.action
    required = [Typed("the name of this context", production)] if action.risk is Risk.HIGH else []
    given = ((argument, plan.arguments.get(argument.name)) for argument in action.typed if argument.from_title)
    required += [Typed(argument.title, safe_text(str(value))) for argument, value in given if value]
    if action.confirm == "typed":
        if len(plan.nodes) == 1:
            required.append(Typed("the beginning of its id", safe_text(split_id(plan.nodes[0].id)[2][:8])))
        else:
            required.append(Typed("the number of nodes", str(len(plan.nodes))))
    return required


class Back(NamedTuple):
    """Result of the dialog if the operator goes back to the input."""


class DryRunDialog(Dialog[Change | Back]):
    """Returns the dry run to commit; None if the operator cancels."""

    KEYS = keymap.CONFIRM

    def __init__(self, plan: Plan, entered: ActionInput) -> None:
        super().__init__(plan.title)
        self._plan = plan
        self._entered = entered
        self._typed = to_type(plan, self.host.production)
        # An edited text is its own guard. The rows of an undo have guards of their own, and its nodes may be gone.
        self._seen = plan.nodes if plan.edit is None else ()
        findings = self.session.state.findings
        self._versions = findings.guards(plan.action.name, self._seen) if self._seen else dict(plan.versions)
        self._dry_run: Change | None = None
        self._rows = False  # whether rows and ids are shown

    def body(self) -> ComposeResult:
        yield LineView(id="lines")
        yield text("", id="wrong")
        for number, typed in enumerate(self._typed):
            yield _typed_line(number, typed)
        with Horizontal(classes="buttons"):
            yield Button("Don't change", id="leave")
            color = "error" if self._plan.action.risk is Risk.HIGH else "warning"
            yield Button("…", id="go", variant=color, disabled=True)  # type: ignore[arg-type]

    def guided(self) -> str:
        how = "fill the field, then press enter" if self._typed else f"press {self._plan.key}"
        return self.host.guide.line(4, f"{how}. It commits what the dry run shows.")

    def on_mount(self) -> None:
        self.query_one("#typed-0" if self._typed else "#lines").focus()
        self._start()

    def _start(self) -> None:
        self._dry_run = None
        self.say("Dry run …")
        self._renew_buttons()
        self.run_worker(self._start_dry_run(), group="dry_run", exclusive=True)

    async def _start_dry_run(self) -> None:
        workspace = self.session.workspace
        plan = msgspec.structs.replace(self._plan, versions=self._versions)
        if workspace is None:
            return
        try:
            self._dry_run = await perform.dry_run(
                workspace, plan, self._entered.reason, {**plan.arguments, **self._entered.arguments}, measures=True
            )
        except DatabaseError as error:
            self._failed(error)
            return
        if not self.is_current:
            return
        await self._ask_for_removed()
        self.say(self._advice())
        self._show()
        self._renew_buttons()

    async def _ask_for_removed(self) -> None:
        tables = ",".join(other.table for other in self._dry_run.removed) if self._dry_run is not None else ""
        if not tables or any(typed.expected == tables for typed in self._typed):
            return
        typed = Typed("tables whose rows are deleted too", tables)
        await self.query_one("#box").mount(_typed_line(len(self._typed), typed), before=self.query_one(".buttons"))
        self._typed.append(typed)

    def _show(self) -> None:
        dry_run, plan = self._dry_run, self._plan
        if dry_run is None:
            return
        rows, ids = (ROWS_SHOWN, IDS_SHOWN) if self._rows else (0, 0)
        key = self._key("confirm.rows")
        self.query_one(LineView).put(
            lambda width: views.dry_run_lines(
                dry_run, [plan.action], plan.skipped, width, limit=rows, skipped_limit=ids, rows_key=key
            )
        )

    def action_rows(self) -> None:
        """Show or hide the rows before and after, and the ids."""
        self._rows = not self._rows
        self._show()

    def _failed(self, error: DatabaseError) -> None:
        first_line = str(error).partition("\n")[0]
        self.say(f"{first_line} Nothing was changed. {self._key('confirm.again')} tries again.")

    def _advice(self) -> str:
        """Return what the operator can do if some nodes, or all, would not be changed."""
        if self._dry_run is not None and self._dry_run.for_now and not self._dry_run.wait:
            held = count_nodes(len(self._dry_run.for_now), self._dry_run.for_now)
            wait = f"{self._key('confirm.wait')} waits for up to {formatting.age(WAIT_SECONDS)}."
            return f"An executor is working on {held} now. {wait}"
        again = f"{self._key('confirm.again')} repeats the dry run on the current rows."
        return "" if self._will_change() else f"Nothing to change. {again}"

    @property
    def _offers(self) -> bool:
        """True if the database has no audit log table."""
        return self.session.workspace is not None and not self.session.workspace.audit_log.exists

    def action_log(self) -> None:
        if self._offers:
            self.app.push_screen(AuditTableDialog(), lambda created: self._start() if created else None)

    def _key(self, id: str) -> str:
        return self.host.keys.shown(keymap.BY_ID[id])

    def action_wait(self) -> None:
        """Wait for locked nodes when committing; a second call turns waiting off."""
        dry_run = self._dry_run
        if dry_run is None or not dry_run.for_now:
            return
        self._dry_run = msgspec.structs.replace(dry_run, wait=0.0 if dry_run.wait else WAIT_SECONDS)
        self.say(self._advice())
        self._renew_buttons()

    def _will_change(self) -> int:
        """Return how many nodes a commit will change.

        Nodes beyond those of the dry run count as changed.
        """
        if self._dry_run is None:
            return 0
        results = self._dry_run.results
        unseen = len(self._dry_run.versions) - len(results)
        waited = len(self._dry_run.for_now) if self._dry_run.wait else 0
        return sum(result.outcome is Outcome.CHANGED for result in results) + unseen + waited

    async def read(self) -> None:
        """Warn if another session has changed the nodes since the dry run."""
        reader, dry_run = self.session.engines.get(self._plan.label), self._dry_run
        if reader is None or dry_run is None or not self._plan.nodes:
            return
        watched = {
            r.id: dry_run.versions[r.id] for r in dry_run.results[:WATCHED_NODES] if r.outcome is Outcome.CHANGED
        }
        now = {node.id: node.version for node in (await reader.nodes.read(watched)).nodes}
        gone = watched.keys() - now.keys()
        # Only the server can compare a guard token; the commit does it.
        stale = [i for i, was in watched.items() if i in now and now[i] != was and not guard_token.is_token(was)]
        if (gone or stale) and dry_run is self._dry_run:
            missing = f"{count_nodes(len(gone), gone)} deleted"
            changes = [formatting.absent(missing, reader.detected.policies)] if gone else []
            changes += [f"{count_nodes(len(stale), stale)} changed by another session"] if stale else []
            again = f"{self._key('confirm.again')} repeats the dry run."
            self.say(f"Since the dry run: {', '.join(changes)}. A commit skips them. {again}")

    # confirmation

    def _confirmable(self) -> bool:
        return all(self._matches(n, typed) for n, typed in enumerate(self._typed)) and self._will_change() > 0

    @on(Input.Changed)
    def _renew_buttons(self) -> None:
        number = self._will_change()
        nodes = count_nodes(number, self._versions)
        waiting = bool(self._dry_run and self._dry_run.wait)
        if waiting:
            nodes += f", waiting up to {formatting.age(WAIT_SECONDS)}"
        button = self.query_one("#go", Button)
        button.label = f"{self._plan.action.title} {nodes}" if number else self._plan.action.title
        button.disabled = not self._confirmable()
        button.refresh(layout=True)
        apply = f"{self._plan.key} apply to {nodes} · " if number and not self._typed else ""
        locked = bool(self._dry_run and self._dry_run.for_now)
        useless = {"confirm.wait": not locked, "confirm.rows": self._dry_run is None, "confirm.log": not self._offers}
        keys = [key for key in keymap.CONFIRM if not useless.get(key.id)]
        self.query_one("#keys", Static).update(apply + self.hints(*keys, *keymap.DIALOG))

    def on_key(self, event: events.Key) -> None:
        if event.key == self._plan.key and not self._typed and self._confirmable():
            event.stop()
            self._confirm()

    @on(Input.Submitted)
    def _next_field(self, message: Input.Submitted) -> None:
        """Commit once all fields match; before that, go from a matching field to the next.

        In an empty field, Enter shows the rows; in one that does not match, it says what to type.
        """
        message.stop()
        wrong = [n for n, typed in enumerate(self._typed) if not self._matches(n, typed)]
        if not wrong:
            self._confirm()
        elif message.input.id not in {f"typed-{number}" for number in wrong}:
            self.query_one(f"#typed-{wrong[0]}").focus()
        elif not message.value:
            self.action_rows()
        else:
            typed = next(self._typed[n] for n in wrong if message.input.id == f"typed-{n}")
            self.say(f"Type {typed.expected} ({typed.what}).")

    def _matches(self, number: int, typed: Typed) -> bool:
        return self.query_one(f"#typed-{number}", Input).value.strip() == typed.expected

    @on(Button.Pressed, "#go")
    def _confirm(self) -> None:
        if self._confirmable():
            self.dismiss(self._dry_run)

    def action_back(self) -> None:
        self.dismiss(Back())

    async def action_again(self) -> None:
        """Read the nodes again and repeat the dry run on them."""
        self.say("Reading the nodes again …")
        self.run_worker(self._again(), group="dry_run", exclusive=True)

    async def _again(self) -> None:
        reader = self.session.engines.get(self._plan.label)
        ids = list(self._versions) if self._seen else []
        try:
            for start in range(0, len(ids) if reader else 0, 500):
                page = await reader.nodes.read(ids[start : start + 500])  # type: ignore[union-attr]
                self._versions |= self.session.state.findings.guards(self._plan.action.name, page.nodes)
        except DatabaseError as error:
            self._failed(error)
            return
        if self.is_current:
            self._start()


def _typed_line(number: int, typed: Typed) -> Input:
    placeholder = f"type {safe_text(typed.expected)} ({typed.what})"
    return line(id=f"typed-{number}", placeholder=placeholder, classes="typed")
