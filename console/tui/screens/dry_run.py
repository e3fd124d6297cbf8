"""The confirm dialog: what the dry run showed, and the one place from which a change is let go.

No lock is held while it is open. Leaving things as they are has the focus, and enter alone never commits: that takes
the action's own key, or its button; where much can be lost, something has to be typed first.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Input, Static

from console.config import Context
from console.text import formatting
from console.tui.pages import action as pages
from console.tui.screens.dialog import Dialog, Title, text
from console.tui.widgets.line_view import LineView
from queries.actions import perform
from queries.actions.plan import ActionInput, Plan
from queries.errors import DatabaseError
from queries.model import DryRun, Outcome, Risk, split_id
from queries.read import guard_token
from queries.safe_text import safe_text

WAIT = 600.0  # seconds that an operator offers to wait for nodes that an executor has at the moment
WATCHED = 200  # nodes that are looked at again at each tick while the dialog is open


class Typed(NamedTuple):
    """Something to be typed before the change is let go."""

    what: str
    expected: str


def to_type(plan: Plan, context: Context | None) -> list[Typed]:
    """What this action on these nodes in this context wants typed."""
    wanted = []
    if plan.action.risk is Risk.HIGH and context is not None and context.production:
        wanted.append(Typed("the name of this context", context.name))
    if plan.action.confirm == "typed":
        if len(plan.nodes) == 1:
            wanted.append(Typed("the beginning of its id", safe_text(split_id(plan.nodes[0].id)[2][:8])))
        else:
            wanted.append(Typed("how many nodes", str(len(plan.nodes))))
    return wanted


class Back(NamedTuple):
    """The operator wants to answer anew."""


class DryRunScreen(Dialog[DryRun | Back]):
    """Gives the dry run that is to be carried out."""

    BINDINGS = [
        Binding("r", "again", "dry-run again", show=False),
        Binding("b", "back", "answer anew", show=False),
        Binding("w", "wait", "wait for what is busy", show=False),
    ]

    def __init__(self, plan: Plan, asked: ActionInput) -> None:
        super().__init__()
        self._plan = plan
        self._asked = asked
        self._typed = to_type(plan, self.host.context)
        self._versions = self.session.seen(plan.action.name, plan.nodes)
        self._dry_run: DryRun | None = None

    def compose(self) -> ComposeResult:
        plan = self._plan
        with Vertical(id="box", classes="fitting"):
            yield Title(plan.title, self.host.context)
            yield LineView(id="page")
            yield text("", id="wrong")
            for number, typed in enumerate(self._typed):
                line = Input(placeholder=f"type {typed.expected} ({typed.what})", id=f"typed-{number}", classes="typed")
                line.cursor_blink = False
                yield line
            with Horizontal(classes="buttons"):
                yield Button("Leave as is", id="cancel")
                color = "error" if plan.action.risk is Risk.HIGH else "warning"
                yield Button("…", id="go", variant=color, disabled=True)  # type: ignore[arg-type]
            yield text("", id="keys", classes="keys")

    def on_mount(self) -> None:
        self.query_one("#typed-0" if self._typed else "#cancel").focus()
        self._start()

    def _start(self) -> None:
        self._dry_run = None
        self._say("Rehearsing …")
        self._renew_buttons()
        self.run_worker(self._start_dry_run(), group="dry_run", exclusive=True, exit_on_error=True)

    async def _start_dry_run(self) -> None:
        workspace = self.session.workspace
        plan = msgspec.structs.replace(self._plan, versions=self._versions)
        if workspace is None:
            return
        try:
            self._dry_run = await perform.dry_run(workspace, plan, self._asked.reason, self._asked.arguments)
        except DatabaseError as error:
            self._say(f"{_first(error)} Nothing was changed. r tries again.")
            return
        dry_run = self._dry_run
        if not self.is_current:
            return
        self._say(self._first_word())
        self.query_one(LineView).put(lambda width: pages.dry_run_lines(dry_run, plan.action, plan.skipped, width))
        self._renew_buttons()

    def _first_word(self) -> str:
        """What can be done where nothing, or not all, would be changed."""
        if self._dry_run is not None and self._dry_run.for_now and not self._dry_run.wait:
            number = len(self._dry_run.for_now)
            limit = formatting.age(WAIT)
            return f"An executor has {_nodes(number)} at the moment. w waits up to {limit} until it is over."
        return "" if self._would_change() else "Nothing would be changed. r dry-runs again, as it is now."

    def action_wait(self) -> None:
        """Wait for what is busy for now, once the change is let go; or do not, if that was on."""
        dry_run = self._dry_run
        if dry_run is None or not dry_run.for_now:
            return
        self._dry_run = msgspec.structs.replace(dry_run, wait=0.0 if dry_run.wait else WAIT)
        self._say(self._first_word())
        self._renew_buttons()

    def _would_change(self) -> int:
        """How many nodes a commit would change, counting those beyond the dry-run ones as such."""
        if self._dry_run is None:
            return 0
        dry_run_of = self._dry_run.results
        unseen = len(self._dry_run.versions) - len(dry_run_of)
        waited = len(self._dry_run.for_now) if self._dry_run.wait else 0
        return sum(result.outcome is Outcome.CHANGED for result in dry_run_of) + unseen + waited

    async def read(self) -> None:
        """Somebody else may change the nodes meanwhile: better to hear of it now than at the commit."""
        reader, dry_run = self.session.engines.get(self._plan.label), self._dry_run
        if reader is None or dry_run is None:
            return
        watched = {r.id: dry_run.versions[r.id] for r in dry_run.results[:WATCHED] if r.outcome is Outcome.CHANGED}
        now = {node.id: node.version for node in (await reader.nodes(watched)).nodes}
        gone = len(watched.keys() - now.keys())
        # What a guard is about only the server can compare: the commit does.
        stale = sum(now[i] != was for i, was in watched.items() if i in now and not guard_token.is_token(was))
        if (gone or stale) and dry_run is self._dry_run:
            told = _told(gone, "does not exist any more", "do not exist any more")
            told += _told(stale, "was changed by somebody else", "were changed by somebody else")
            self._say(f"Since the dry run {' and '.join(told)}: a commit leaves that out. r dry-runs again.")

    def _say(self, said: str) -> None:
        if not self.is_current:  # it was closed while its worker waited for the server
            return
        self.query_one("#wrong", Static).update(safe_text(said))
        self.query_one("#wrong").display = bool(said)
        self.call_after_refresh(self.fit)

    # letting go

    def _ready_to_go(self) -> bool:
        typed = all(
            self.query_one(f"#typed-{number}", Input).value.strip() == typed.expected
            for number, typed in enumerate(self._typed)
        )
        return typed and self._would_change() > 0

    @on(Input.Changed)
    def _renew_buttons(self) -> None:
        count = self._would_change()
        nodes = _nodes(count)
        if self._dry_run is not None and self._dry_run.wait:
            nodes += f", waiting up to {formatting.age(WAIT)}"
        button = self.query_one("#go", Button)
        button.label = f"{self._plan.action.title} {nodes}" if count else self._plan.action.title
        button.disabled = not self._ready_to_go()
        button.refresh(layout=True)
        go = f"{self._plan.key} changes {nodes} · " if count and not self._typed else ""
        self.query_one("#keys", Static).update(f"{go}r dry-runs again · b back to the reason · esc leaves")

    def on_key(self, event: events.Key) -> None:
        if event.key == self._plan.key and not self._typed and self._ready_to_go():
            event.stop()
            self._evict_closed()
        elif event.key in ("up", "down", "pageup", "pagedown") and not isinstance(self.focused, LineView):
            page = self.query_one(LineView)
            steps = {"up": -1, "down": 1}
            if event.key in steps:
                page.action_by(steps[event.key])
            else:
                page.action_page(1 if event.key == "pagedown" else -1)

    @on(Input.Submitted)
    def _next_field(self, message: Input.Submitted) -> None:
        """Enter in a field that matches goes on to the next one, at last to the button. It never commits."""
        for number, typed in enumerate(self._typed):
            if self.query_one(f"#typed-{number}", Input).value.strip() != typed.expected:
                self.query_one(f"#typed-{number}").focus()
                return
        self.query_one("#go").focus()

    @on(Button.Pressed, "#go")
    def _evict_closed(self) -> None:
        if self._ready_to_go():
            self.dismiss(self._dry_run)

    @on(Button.Pressed, "#cancel")
    def _cancel(self) -> None:
        self.dismiss(None)

    def action_back(self) -> None:
        self.dismiss(Back())

    async def action_again(self) -> None:
        """Read the nodes as they are now, and dry-run on those."""
        self._say("Reading them again …")
        self.run_worker(self._again(), group="dry_run", exclusive=True, exit_on_error=True)

    async def _again(self) -> None:
        reader = self.session.engines.get(self._plan.label)
        ids = list(self._versions)
        try:
            for start in range(0, len(ids) if reader else 0, 500):
                page = await reader.nodes(ids[start : start + 500])  # type: ignore[union-attr]
                self._versions |= self.session.seen(self._plan.action.name, page.nodes)
        except DatabaseError as error:
            self._say(f"{_first(error)} Nothing was changed. r tries again.")
            return
        if self.is_current:
            self._start()


def _nodes(number: int) -> str:
    return "1 node" if number == 1 else f"{number} nodes"


def _told(number: int, one: str, more: str) -> list[str]:
    if not number:
        return []
    return [f"it {one}" if number == 1 else f"{number} {more}"]


def _first(error: DatabaseError) -> str:
    return str(error).partition("\n")[0]
