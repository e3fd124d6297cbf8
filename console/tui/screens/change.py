"""Dialog of a change: the fields, its dry run, and the confirmation.

The dry run begins at once and is read while the reason is typed. A field takes every key until enter leaves it. Enter
alone never commits: the action's own key or its button does, once the dry run is on the screen. In production, a risky
action needs a text to be typed instead, and enter commits once it matches. No lock is held while the dialog is open.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Button, Input, Select, Static

from console.model.follow_up import WATCHED_NODES
from console.model.run_work import RunWork
from console.model.session import Session
from console.text import formatting
from console.text.spans import Spans
from console.text.views import action as views
from console.text.views.lines import BLANK, plain, section
from console.text.views.row_diff import ROWS_SHOWN
from console.text.views.summary import summary
from console.tui import keymap
from console.tui.screens.audit_table import AuditTableDialog
from console.tui.screens.dialog import Dialog, line, text
from console.tui.screens.fields import Fields, WrongFieldError
from console.tui.widgets.checkbox import Checkbox
from console.tui.widgets.line_view import LineView
from console.tui.widgets.text_bar import TextBar
from queries.change import perform
from queries.change.plan import ActionInput, Plan, count_nodes, statements
from queries.db.errors import DatabaseError, LostError
from queries.read import guard_token
from queries.records.action import Change, Outcome, Risk
from queries.records.node import split_id
from queries.text.safe_text import safe_text

IDS_SHOWN = 200  # ids of skipped nodes that are listed
REASON = "(your reason)"  # in a dry run before the operator has typed one
WAIT_SECONDS = 600.0  # seconds to wait for nodes that an executor holds, if the operator chooses to
BUTTON_CELLS = 32  # of a dialog's width, around the title of the action in its button
REQUIRED = "Enter a reason: it is written to the audit log."


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
    given = ((argument, plan.arguments.get(argument.name)) for argument in action.typed if argument.type == "title")
    required += [Typed(argument.title, safe_text(str(value))) for argument, value in given if value]
    if action.confirm == "typed":
        if len(plan.nodes) == 1:
            required.append(Typed("the beginning of its id", safe_text(split_id(plan.nodes[0].id)[2][:8])))
        else:
            required.append(Typed("the number of nodes", str(len(plan.nodes))))
    return required


class Confirmed(NamedTuple):
    """A dry run to commit, and what the operator has entered for it."""

    dry_run: Change
    entered: ActionInput


class ChangeDialogs:
    """Content of the dialogs of a plain change."""

    def __init__(self, session: Session, asked: Plan, plan: Plan | None = None) -> None:
        """``asked``: what the fields are about. ``plan``: what the result is about."""
        self.session, self.asked, self.plan = session, asked, plan
        self.title = asked.title

    async def planned(self, entered: ActionInput) -> tuple[Plan, ActionInput]:
        """Return what is dry-run. Raises DatabaseError, WrongFieldError."""
        return self.asked, entered

    async def begin(self, dry_run: Change) -> RunWork:
        """Begin what was confirmed. Raises DatabaseError."""
        return self.session.works.start(self.session.workspace, dry_run)

    def summary(self, work: RunWork) -> tuple[str, str]:
        """Return a line about what was done, and its style."""
        return f"{self.title}: {work.summary}", "good" if set(work.counted()) == {Outcome.CHANGED} else "warn"


class ChangeDialog(Dialog[Confirmed]):
    """Returns what to commit; None if the operator cancels."""

    KEYS = keymap.CONFIRM
    NAMES_DATABASE = True

    def __init__(self, change: ChangeDialogs, before: ActionInput | None = None, wrong: str = "") -> None:
        """``before``: the input to begin with. ``wrong``: why it was not committed."""
        super().__init__(change.title)
        self._change, self._plan = change, change.asked
        self._fields = Fields(change.asked.asked, before or ActionInput(reason=""))
        self._read_on = bool(before and before.reason)  # there is nothing to type
        self._wrong, self._status = wrong, ""
        self._typed = to_type(self._plan, self.host.production)
        self._reread: dict[str, str] = {}  # versions of nodes that were read again
        self._asked: ActionInput | None = None  # the input of the dry run that was started last
        self._dry_run: Change | None = None
        self.shown = False  # it is on the screen
        self._part = ""  # of the dry run, below the first lines

    def body(self) -> ComposeResult:
        yield self._fields
        yield text("", id="wrong")
        yield LineView(id="lines")
        for number, typed in enumerate(self._typed):
            yield _typed_line(number, typed)
        with Horizontal(classes="buttons"):
            yield Button("Don't change", id="leave")
            color = "error" if self._plan.action.risk is Risk.HIGH else "warning"
            yield Button("…", id="go", variant=color, disabled=True)  # type: ignore[arg-type]

    def guided(self) -> str:
        if self._in_field and not self._typed:
            return self.host.guide.line(3, "type a reason, then press enter. The dry run changes nothing.")
        how = "fill the field, then press enter" if self._typed else f"press {self._plan.key}"
        return self.host.guide.line(4, f"{how}. It commits what the dry run shows.")

    def on_mount(self) -> None:
        self._renew_lines()
        if self._read_on:
            self._focus_rest()
        else:
            self._fields.show("")
        self._settle()

    # the dry run

    def _wanted(self) -> ActionInput:
        """Return the input that the dry run needs. Raises WrongFieldError.

        It needs the typed reason only if a statement writes it into rows.
        """
        reader, reason = self.session.engines.get(self._plan.label), self._fields.reason
        written = reader is not None and any(map(reader.engine.uses_reason, self._plan.actions.values()))
        return ActionInput(reason=reason if reason and written else REASON, arguments=self._fields.arguments())

    @on(events.DescendantBlur)
    @on(Select.Changed)
    def _settle(self) -> None:
        """Repeat the dry run if the input that it needs has changed."""
        try:
            wanted = self._wanted()
        except WrongFieldError as error:
            self.workers.cancel_node(self)
            self._asked = self._dry_run = None
            self._note(str(error))
            self._renew()
            return
        if wanted != self._asked:
            self._asked = wanted
            self._start()

    def _start(self) -> None:
        self._dry_run, self.shown = None, False
        self._note("Dry run …")
        self._renew()
        self.run_worker(self._run(), group="dry_run", exclusive=True)

    async def _run(self) -> None:
        workspace, asked = self.session.workspace, self._asked
        try:
            if workspace is None or asked is None:
                raise LostError("There is no connection.", "Nothing was changed.")
            self._plan, entered = await self._change.planned(asked)
            plan = msgspec.structs.replace(self._plan, versions=self._versions())
            arguments = {**plan.arguments, **entered.arguments}
            dry_run = await perform.dry_run(workspace, plan, entered.reason, arguments, measures=True)
        except WrongFieldError as error:
            self._note(str(error))
            if not self._in_field:
                self._fields.show(error.name)
        except DatabaseError as error:
            self._failed(error)
        else:
            await self._put(dry_run)

    async def _put(self, dry_run: Change) -> None:
        if self.closed:
            return
        self._dry_run = dry_run
        for title in self.query("#title").results(TextBar):
            title.show(self._plan.title, self.host.context, self.host.production, None)
        await self._ask_for_removed(dry_run)
        self._renew_lines()
        await self.wait_for_refresh()
        if self.closed:
            return
        self.shown = True
        self._note(self._advice())
        self._renew()
        if not self._in_field:
            self._focus_rest()
            self._settle()  # only the plan says whether the reason is written into rows

    def _versions(self) -> dict[str, str]:
        if not self._is_seen:
            return dict(self._plan.versions)
        guards = self.session.state.findings.guards(self._plan.action.name, self._plan.nodes)
        return {i: self._reread.get(i, version) for i, version in guards.items()}

    @property
    def _is_seen(self) -> bool:
        """True if the operator has selected the nodes.

        An edited text is its own guard. The rows of an undo have guards of their own, and its nodes may be gone.
        """
        return bool(self._plan.nodes) and self._plan.edit is None

    async def _ask_for_removed(self, dry_run: Change) -> None:
        tables = ",".join(other.table for other in dry_run.removed)
        if tables and not any(typed.expected == tables for typed in self._typed):
            typed = Typed("tables whose rows are deleted too", tables)
            await self.query_one("#box").mount(_typed_line(len(self._typed), typed), before=self.query_one(".buttons"))
            self._typed.append(typed)

    def _failed(self, error: DatabaseError) -> None:
        first_line = str(error).partition("\n")[0]
        self._asked = None
        self._note(f"{first_line} Nothing was changed. {self._key('confirm.again')} tries again.")

    def _note(self, status: str) -> None:
        self._status = status
        self.say(self._wrong or status)

    def _advice(self) -> str:
        """Return what the operator can do if some nodes, or all, would not be changed."""
        if self._dry_run is not None and self._dry_run.for_now and not self._dry_run.wait:
            held = count_nodes(len(self._dry_run.for_now), self._dry_run.for_now)
            wait = f"{self._key('confirm.wait')} waits for up to {formatting.age(WAIT_SECONDS)}."
            return f"An executor is working on {held} now. {wait}"
        again = f"{self._key('confirm.again')} repeats the dry run on the current rows."
        return "" if self._will_change() else f"Nothing to change. {again}"

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
            self._note(f"Since the dry run: {', '.join(changes)}. A commit skips them. {again}")

    # what is shown

    def _renew_lines(self) -> None:
        self.query_one(LineView).put(self._lines)

    def _lines(self, width: int) -> list[Spans]:
        plan, dry_run = self._plan, self._dry_run
        if dry_run is None:
            return views.about(plan.action, plan.nodes, plan.skipped, width)
        reader = self.session.engines.get(plan.label)
        first = summary(
            dry_run,
            plan,
            reader.engine.spec if reader else None,
            width,
            where=self.host.where.text,
            production=self.host.production,
            skipped=plan.skipped,
        )
        return [*first, BLANK, *self._rest(dry_run, width)]

    def _rest(self, dry_run: Change, width: int) -> list[Spans]:
        plan, reader, rows = self._plan, self.session.engines.get(self._plan.label), self._part == "rows"
        if self._part == "radius":
            return views.reached(dry_run, width) or [plain("The blast radius was not measured.", "$faint", 0)]
        if self._part == "sql":
            sql = statements(reader.engine, plan.action) if reader else "-- no statement changes rows"
            return section("SQL", [plain(line) for line in sql.splitlines()])
        limits = {"limit": ROWS_SHOWN, "skipped_limit": IDS_SHOWN} if rows else {"limit": 0, "skipped_limit": 0}
        shown, key = msgspec.structs.replace(dry_run, reason=self._fields.reason or REASON), self._key("confirm.rows")
        return views.dry_run_lines(shown, [plan.action], plan.skipped, width, rows_key=key, **limits)

    def action_part(self, name: str) -> None:
        """Show a part of the dry run below its first lines, or none."""
        self._part = "" if self._part == name else name
        self._renew_lines()
        self.query_one(LineView).action_edge(-1)

    def _key(self, id: str) -> str:
        return self.host.keys.shown(keymap.BY_ID[id])

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

    @on(events.DescendantFocus)
    @on(Input.Changed)
    def _renew(self) -> None:
        dry_run, number = self._dry_run, self._will_change() if self.shown else 0
        nodes = count_nodes(number, dry_run.versions) if dry_run else ""
        if dry_run and dry_run.wait:
            nodes += f", waiting up to {formatting.age(WAIT_SECONDS)}"
        for button in self.query("#go").results(Button):
            title = self._change.asked.action.title.partition(":")[0]
            title = formatting.crop(title, self.size.width - formatting.width(nodes) - BUTTON_CELLS)
            button.label = f"{title} {nodes}" if number else title
            button.disabled = not self._confirmable()
            button.refresh(layout=True)
        apply = f"{self._plan.key} apply to {nodes} · " if number and not self._typed else ""
        useless = {
            "confirm.wait": not (dry_run and dry_run.for_now),
            "confirm.log": not self._offers,
            "confirm.sql": self._plan.label not in self.session.engines,
        }
        keys = [key for key in keymap.CONFIRM if not useless.get(key.id)]
        hints = self.hints(*keymap.INPUT) if self._in_field else apply + self.hints(*keys)
        for each in self.query("#keys").results(Static):
            each.update(f"{hints} · {self.hints(*keymap.DIALOG)}")
        for each in self.query(".guide").results(Static):
            each.update(self.guided())

    # keys

    @property
    def _in_field(self) -> bool:
        focused = self.focused
        return focused is not None and (focused.has_class("typed") or self._fields in focused.ancestors)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keep the keys of a field from being commands."""
        return action == "leave" or not self._in_field

    @on(Input.Submitted)
    def _entered(self, message: Input.Submitted) -> None:
        """Leave the fields; commit from the last field of the confirmation.

        In an empty field of the confirmation, enter shows the rows; in one that does not match, it says what to type.
        """
        message.stop()
        if not message.input.has_class("typed"):
            self._leave_fields()
            return
        wrong = self._unmatched()
        if not wrong:
            self._confirm()
        elif message.input.id not in {f"typed-{number}" for number in wrong}:
            self._focus_rest()
        elif not message.value:
            self.action_part("rows")
        else:
            typed = next(self._typed[n] for n in wrong if message.input.id == f"typed-{n}")
            self.say(f"Type {typed.expected} ({typed.what}).")

    def _leave_fields(self) -> None:
        self._wrong = ""
        try:
            if not self._fields.reason:
                raise WrongFieldError("", REQUIRED)
            self._fields.arguments()
        except WrongFieldError as error:
            self._wrong = str(error)
            self._fields.show(error.name)
        self.say(self._wrong or self._status)
        if self._wrong:
            return
        self._settle()
        self._focus_rest()
        self._renew_lines()

    def _focus_rest(self) -> None:
        wrong = self._unmatched()
        self.query_one(f"#typed-{wrong[0]}" if wrong else "#lines").focus()

    def _unmatched(self) -> list[int]:
        fields = [self.query_one(f"#typed-{number}", Input) for number in range(len(self._typed))]
        return [n for n, field in enumerate(fields) if field.value.strip() != self._typed[n].expected]

    def _confirmable(self) -> bool:
        if not (self.shown and self._fields.reason and self._will_change()) or self._unmatched():
            return False
        try:
            return self._asked == self._wanted()
        except WrongFieldError:
            return False

    def on_key(self, event: events.Key) -> None:
        if event.key == "enter" and isinstance(self.focused, Checkbox):
            event.stop()
            self._leave_fields()
        elif event.key == self._plan.key and not (self._typed or self._in_field):
            event.stop()
            self._confirm()

    @on(Button.Pressed, "#go")
    def _confirm(self) -> None:
        if self._dry_run is not None and self._confirmable():
            reason = self._fields.reason
            entered = ActionInput(reason=reason, arguments=self._fields.arguments())
            self.dismiss(Confirmed(msgspec.structs.replace(self._dry_run, reason=reason), entered))
        elif not self._fields.reason:
            self.say(REQUIRED)

    def action_edit(self) -> None:
        self._fields.show("")

    def action_wait(self) -> None:
        """Wait for locked nodes when committing; a second call turns waiting off."""
        dry_run = self._dry_run
        if dry_run is None or not (self.shown and dry_run.for_now):
            return
        self._dry_run = msgspec.structs.replace(dry_run, wait=0.0 if dry_run.wait else WAIT_SECONDS)
        self._note(self._advice())
        self._renew()

    @property
    def _offers(self) -> bool:
        return self.session.workspace is not None and not self.session.workspace.audit_log.exists

    def action_log(self) -> None:
        if self._offers:
            self.app.push_screen(AuditTableDialog(), lambda created: self._start() if created else None)

    def action_again(self) -> None:
        """Read the nodes again and repeat the dry run on them."""
        self._wrong = ""
        self._dry_run, self.shown = None, False
        self._note("Reading the nodes again …")
        self._renew()
        self.run_worker(self._again(), group="dry_run", exclusive=True)

    async def _again(self) -> None:
        reader = self.session.engines.get(self._plan.label)
        ids = [node.id for node in self._plan.nodes] if self._is_seen else []
        try:
            for start in range(0, len(ids) if reader else 0, 500):
                page = await reader.nodes.read(ids[start : start + 500])  # type: ignore[union-attr]
                self._reread |= self.session.state.findings.guards(self._plan.action.name, page.nodes)
        except DatabaseError as error:
            self._failed(error)
        else:
            self._asked = None
            self._settle()


def _typed_line(number: int, typed: Typed) -> Input:
    placeholder = f"type {safe_text(typed.expected)} ({typed.what})"
    return line(id=f"typed-{number}", placeholder=placeholder, classes="typed")
