"""Dialog with the progress of a commit, then the outcome of each node."""

from __future__ import annotations

from time import monotonic

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Static

from console.model.follow_up import FollowUp
from console.model.run_work import RunWork
from console.text import formatting
from console.text.pages import action as pages
from console.text.pages.lines import plain
from console.text.pages.row_diff import tally
from console.text.spans import Spans
from console.tui import keymap
from console.tui.bindings import bindings
from console.tui.screens.dialog import Dialog, Title, text
from console.tui.widgets.line_view import LineView
from queries.actions.plan import Plan
from queries.records.action import Outcome
from queries.records.finding import OPEN
from queries.text.safe_text import safe_text

READ_SECONDS = 2.0  # seconds between two reads of watched nodes, also while paused or with a longer interval


class ResultScreen(Dialog[str]):
    """Follows a change.

    The operator can stop it while it runs and close the dialog once it has ended. Returns the id of the audit log entry
    or the run that the operator wants to undo, or None.
    """

    BINDINGS = bindings(keymap.RESULT)

    def __init__(self, plan: Plan, work: RunWork) -> None:
        super().__init__()
        self._plan = plan
        self._work = work
        self._follow: FollowUp | None = None
        self._next = Content("")
        self._asked = 0.0  # when the last read was requested

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="fitting"):
            yield Title(self._plan.title, self.host.context)
            yield text("", id="progress")
            yield text("", id="next")
            yield LineView(id="page")
            with Horizontal(classes="buttons"):
                yield Button("Stop", id="stop")
                yield Button("Resume", id="more")
                yield Button("Close", id="close", variant="primary")

    def on_mount(self) -> None:
        self.query_one("#close" if self._work.seen else "#page").focus()
        self.set_interval(0.5, self.renew)
        self.renew()

    def renew(self) -> None:
        """Show the progress, or the result once the run has ended."""
        if not self.is_attached or self.closed or not self.query("#close"):  # which is mounted last
            return
        work = self._work
        self._renew_next()
        if work.seen:
            return
        self.query_one("#progress", Static).update(Content.assemble(*self._progress()))
        self.query_one("#stop").display = not work.ended and work.total > len(work.results)
        self.query_one("#more").display = bool(work.stopped)
        close = self.query_one("#close", Button)
        close.disabled = not work.ended
        if work.ended:
            close.focus()
            work.seen = True
            self._watch()
            self.query_one(LineView).put(self._lines)

    # what happens next

    def _watch(self) -> None:
        """Watch the changed nodes until the engine has gone on with them."""
        changed = {result.id for result in self._work.results if result.outcome is Outcome.CHANGED}
        nodes = [node for node in self._plan.nodes if node.id in changed]
        if nodes and self._plan.label in self.session.engines:
            self._follow = FollowUp(nodes, monotonic)
            self._renew_next()

    async def read(self) -> None:
        """Read the watched nodes again. Raises DatabaseError."""
        follow, reader = self._follow, self.session.engines.get(self._plan.label)
        if follow is None or reader is None or not follow.active:
            return
        page = await reader.nodes(follow.waiting)
        follow.put({node.id: node for node in page.nodes}, page.at)
        self._renew_next()

    def _renew_next(self) -> None:
        follow = self._follow
        if follow is None or not self.is_attached:
            return
        if follow.active and monotonic() - self._asked >= max(READ_SECONDS, self.session.pace * self.session.throttled):
            self._asked = monotonic()
            self.session.run_now()
        said = follow.summary or "reading"
        hint = f" · {self.host.key_shown(keymap.RESULT[0])} stops watching" if follow.active else ""
        shown = Content.assemble(("Next: ", "bold $primary"), safe_text(said), (hint, "$faint"))
        if shown != self._next:
            self._next = shown
            for line in self.query("#next").results(Static):  # none while the screen closes
                line.update(shown)
            self.call_after_refresh(self.fit)

    def _progress(self) -> Spans:
        work = self._work
        if work.ended and work.stopped and work.run_id:
            command = self.session.command("do", "--resume", work.run_id)
            return [*tally(work.results), (f"  ·  resume the rest: {command}", "$faint")]
        if work.ended:
            undo = f"  ·  {self.host.key_shown(keymap.RESULT[1])} undo" if self._undo_hint() else ""
            return [*tally(work.results), (undo, "$faint")]
        done = f"{len(work.results)} of {work.total}"
        if work.stopping:
            return plain(f"Stopping after the current chunk: {done}", "$warning", 0)
        if work.error_text:
            stop = self.host.key_shown(keymap.RESULT[0])
            return plain(
                f"Server lost, retrying in {work.retry_in:.0f} s. {stop} stops. {done}. {work.error_text}",
                "$warning",
                0,
            )
        if work.held is not None:
            nodes = work.total - len(work.results)
            locked = f"{nodes} locked node{'' if nodes == 1 else 's'}"
            return plain(f"Waiting for {locked}, at most {formatting.age(work.held)}: {done}", "$warning", 0)
        if work.awaited_standbys:
            awaited = pages.STANDBY_WAIT.format(standbys=work.awaited_standbys)
            return plain(f"{awaited}. If the console is closed now, the audit log settles the outcome.", "$warning", 0)
        left = work.seconds_left
        rate = "" if left is None else f", {work.rate:.0f} a second, about {formatting.age(left)} left"
        return plain(f"Committing: {done}{rate}", "", 0)

    def _lines(self, width: int) -> list[Spans]:
        work, total = self._work, self._work.outcomes
        facts = [("reason", work.dry_run.reason), ("audit log", pages.audit_log_place(total.audit_log))]
        facts += [("transaction", " ".join(total.xids[:20]))] if total.xids else []
        facts += [("certain", certain)] if (certain := pages.certain(total.durability)) else []
        facts += [("undo", self._undo_hint())] if self._undo_hint() else []
        results = [*work.results, *self._plan.skipped]
        following = pages.then(self._plan.action, width) if self._follow is not None else []
        return [*following, *pages.result_page(results, width, changes=total.changes, facts=facts, logged=total.logged)]

    def _undo_hint(self) -> str:
        """Return how the commit can be undone, or ""."""
        work = self._work
        changed = sum(result.outcome is Outcome.CHANGED for result in work.results)
        entries = work.outcomes.entries
        if not entries or len(work.dry_run.irreversible) >= changed:
            return ""
        if len(entries) > 1 and not work.run_id:
            return f"the {len(entries)} entries {entries[0]} to {entries[-1]}, each from the audit log"
        command = self.session.command("undo", self._undone, "--reason", OPEN)
        return f"{self.host.key_shown(keymap.RESULT[1])}, or: {command}"

    @property
    def _undone(self) -> str:
        """Id of the run or the entry that an undo takes."""
        entries = self._work.outcomes.entries
        return self._work.run_id if len(entries) > 1 else entries[0]

    def action_undo(self) -> None:
        """Close the dialog and undo the commit, if it has one entry or is a run."""
        if self._work.ended and self._undo_hint() and self._undone:
            self.dismiss(self._undone)

    @on(Button.Pressed, "#stop")
    def action_stop(self) -> None:
        """Start no further chunk, stop waiting for the server, and stop watching."""
        if self._follow is not None:
            self._follow.stop()
        self._work.leave()
        self.renew()

    @on(Button.Pressed, "#more")
    def _go_on(self) -> None:
        self._follow = None
        self._work.go_on()
        self.query_one(LineView).put(lambda _: [])
        self.query_one("#stop").focus()
        self.renew()

    @on(Button.Pressed, "#close")
    def _close(self) -> None:
        self.action_leave()

    def action_leave(self) -> None:
        if self._work.ended:
            self.dismiss(None)
        else:
            stop = self.host.key_shown(keymap.RESULT[0])
            self.query_one("#progress", Static).update(f"The commit is running. {stop} stops it after this chunk.")
