"""Dialog with the progress of a commit, then the outcome of each node."""

from __future__ import annotations

from time import monotonic
from typing import NamedTuple

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Button, Static

from console.model.follow_up import FollowUp
from console.model.run_work import RunWork
from console.text import formatting
from console.text.spans import Spans
from console.text.views import action as views
from console.text.views import redrive as redrives
from console.text.views.lines import BLANK, plain, wrapped
from console.text.views.row_diff import tally
from console.tui import keymap
from console.tui.screens.dialog import Dialog, text
from console.tui.widgets.line_view import LineView
from queries.change.plan import Plan
from queries.records.action import Outcome
from queries.records.finding import OPEN
from queries.text.counted import counted
from queries.text.duration import spelled
from queries.text.safe_text import safe_text

STOP, GO_ON, UNDO, AGAIN, _ = keymap.RESULT
FOLLOW_UP_SECONDS = 2.0  # seconds between two reads of watched nodes, also while paused or with a longer interval


class Again(NamedTuple):
    """Result of the dialog if the operator repeats the dry run."""


class ResultDialog(Dialog[str | Again]):
    """Follows a change or a redrive.

    The operator can stop it while it runs, answer its questions, and close the dialog once it has ended. A redrive can
    also be left open. Returns the id of the audit log entry or the run that the operator wants to undo, `Again` if the
    connection was lost before the commit and the operator tries again, or None.
    """

    KEYS = keymap.RESULT

    def __init__(self, work: RunWork, plan: Plan | None = None) -> None:
        """``plan``: of a change; None for a redrive."""
        super().__init__(work.title if plan is None else plan.title)
        self._plan = plan
        self._work = work
        self._follow: FollowUp | None = None
        self._next = Content("")
        self._asked = 0.0  # when the last read was requested
        self._left = False  # the operator closed a redrive that goes on elsewhere
        self._drawn: object = None  # what the screen shows

    def body(self) -> ComposeResult:
        yield text("", id="progress")
        yield text("", id="next")
        yield LineView(id="lines")
        yield text("", id="wrong")
        with Horizontal(classes="buttons"):
            yield Button("Stop", id="stop")
            yield Button("Go on", id="more")
            yield Button("Close", id="leave", variant="primary")

    def key_line(self) -> str:
        return ""  # the line of the progress names them

    def guided(self) -> str:
        return self.host.guide.last("enter closes its result, then 4 shows who changed what, and q quits.")

    def on_mount(self) -> None:
        self.query_one("#leave" if self._work.seen else "#lines").focus()
        self.set_interval(0.5, self.renew)
        self.renew()

    def renew(self) -> None:
        """Show the progress, a question, or the result once it has ended."""
        if not self.is_attached or self.closed or not self.query("#leave"):  # which is mounted last
            return
        work = self._work
        if work.ended and self._left:
            self.dismiss(None)  # again later, if another screen is in front
            return
        lost = work.counted().get(Outcome.LOST, 0)
        if lost and self._follow is not None and Outcome.CHANGED not in work.counted():
            self._follow, self._next = None, Content("")
            self.query_one("#next", Static).update("")
        self._renew_next()
        drawn: object = (work.report, work.ended) if work.watches else (work.ended, lost)
        if work.seen and drawn == self._drawn:
            return
        self.query_one("#progress", Static).update(Content.assemble(*self._progress()))
        self.say(f"{work.wrong} {self.hints(GO_ON, STOP)}" if work.asks else work.wrong)
        self.query_one("#stop").display = not work.ended and not work.complete
        more = self.query_one("#more", Button)
        label = "Go on" if work.asks else "Resume" if work.stopped else "Try again" if self._unsent else ""
        more.display, more.label = bool(label), label
        close = self.query_one("#leave", Button)
        close.disabled, close.label = not (work.ended or work.watches), "Close" if work.ended else "Leave open"
        if work.ended and not work.seen:
            close.focus()
            if self._unsent:  # a button that was hidden until now cannot have the focus yet
                self.call_after_refresh(more.focus)
            work.seen = True
            self._watch()
        if drawn != self._drawn and (work.ended or work.watches):
            self._drawn = drawn
            self.query_one(LineView).put(self._lines)

    @property
    def _unsent(self) -> bool:
        return self._plan is not None and self._work.ended and Outcome.UNSENT in self._work.counted()

    # what happens next

    def _watch(self) -> None:
        if self._plan is None:
            return
        changed = {result.id for result in self._work.results if result.outcome is Outcome.CHANGED}
        nodes = [node for node in self._plan.nodes if node.id in changed]
        if nodes and self._plan.label in self.session.engines:
            self._follow = FollowUp(nodes, monotonic)
            self._renew_next()

    async def read(self) -> None:
        """Read the watched nodes again. Raises DatabaseError."""
        follow = self._follow
        reader = None if self._plan is None else self.session.engines.get(self._plan.label)
        if follow is None or reader is None or not follow.active:
            return
        page = await reader.nodes.read(follow.waiting)
        follow.put({node.id: node for node in page.nodes}, page.at, reader.detected.policies)
        self._renew_next()

    def _renew_next(self) -> None:
        follow = self._follow
        if follow is None or not self.is_attached:
            return
        timer = self.session.timer
        pause = max(FOLLOW_UP_SECONDS, timer.pace * (timer.pace > timer.interval))
        if follow.active and monotonic() - self._asked >= pause:
            self._asked = monotonic()
            self.session.run_now()
        said = follow.summary or "reading"
        hint = f" · {self.host.keys.shown(STOP)} stops watching" if follow.active else ""
        shown = Content.assemble(("Next: ", "bold $primary"), safe_text(said), (hint, "$faint"))
        if shown != self._next:
            self._next = shown
            for line in self.query("#next").results(Static):  # none while the screen closes
                line.update(shown)

    def _progress(self) -> Spans:
        work = self._work
        if work.watches:
            if work.ended and not work.report.open:
                state = redrives.STATES[work.report.state]
                return plain(f"{state[:1].upper()}{state[1:]}. {redrives.answers(work.report.answers)}", "bold", 0)
            going = not (work.ended or work.asks or work.error_text)
            hint = "" if work.ended or work.asks else f"  ·  {self.hints(STOP)}"
            return [*plain(redrives.line(work.report) + (self._rate() if going else ""), "", 0), (hint, "$faint")]
        if work.rest:
            return [*tally(work.results), (f"  ·  {work.rest}", "$faint")]
        if self._unsent:
            return [*tally(work.results), (f"  ·  {self.host.keys.shown(AGAIN)} repeats the dry run", "$faint")]
        if work.ended:
            undo = f"  ·  {self.host.keys.shown(UNDO)} undo" if self._undo_hint() else ""
            return [*tally(work.results), (undo, "$faint")]
        done = f"{len(work.results)} of {work.total}"
        if work.stopping:
            return plain(f"Stopping after the current part: {done}", "$warning", 0)
        if work.error_text:
            stop = self.host.keys.shown(STOP)
            return plain(
                f"Server lost, retrying in {spelled(work.retry_in)}. {stop} stops. {done}. {work.error_text}",
                "$warning",
                0,
            )
        if work.held is not None:
            nodes = counted(work.total - len(work.results), "locked node")
            return plain(f"Waiting for {nodes}, at most {formatting.age(work.held)}: {done}", "$warning", 0)
        if work.awaited_standbys:
            awaited = views.STANDBY_WAIT.format(standbys=work.awaited_standbys)
            return plain(f"{awaited}. If the console is closed now, the audit log settles the outcome.", "$warning", 0)
        return plain(f"Committing: {done}{self._rate()}", "", 0)

    def _rate(self) -> str:
        work = self._work
        seconds = work.seconds_left
        if not seconds:
            return ""
        number, unit = (work.rate, "second") if work.rate >= 1 else (work.rate * 60, "minute")
        return f", {number:.0f} a {unit}, about {formatting.age(seconds)} left"

    def _lines(self, width: int) -> list[Spans]:
        work, total = self._work, self._work.outcomes.total
        if self._plan is None:
            lines = redrives.report_lines(work.report, width, titled=False)
            if work.ended and work.rest:
                lines += [BLANK, *wrapped(work.rest, width, "$warning")]
            return lines
        facts = [("reason", work.dry_run.reason), ("audit log", views.audit_log_place(total.audit_log))]
        facts += [("transaction", " ".join(total.xid.split()[:20]))] if total.xid else []
        if Outcome.CHANGED in work.counted() and (certain := views.certain(total.durability, work.outcomes.durable)):
            facts.append(("durability", certain))
        facts += [("undo", self._undo_hint())] if self._undo_hint() else []
        results = [*work.results, *self._plan.skipped]
        following = views.then(self._plan.action, width) if self._follow is not None else []
        return [
            *following,
            *views.result_lines(results, width, changes=total.changes, facts=facts, logged=total.logged),
        ]

    def _undo_hint(self) -> str:
        work = self._work
        changed = sum(result.outcome is Outcome.CHANGED for result in work.results)
        entries = work.outcomes.total.entries
        if self._plan is None or not entries or len(work.dry_run.irreversible) >= changed:
            return ""
        if len(entries) > 1 and not work.run_id:
            return f"the {len(entries)} entries {entries[0]} to {entries[-1]}, each from the audit log"
        command = self.session.command("undo", self._undone, "--reason", OPEN)
        return f"{self.host.keys.shown(UNDO)}, or: {command}"

    @property
    def _undone(self) -> str:
        entries = self._work.outcomes.total.entries
        return self._work.run_id if len(entries) > 1 else entries[0]

    def action_undo(self) -> None:
        """Close the dialog and undo the commit, if it has one entry or is a run."""
        if self._work.ended and self._undo_hint() and self._undone:
            self.dismiss(self._undone)

    def action_again(self) -> None:
        """Repeat the dry run with the same reason and arguments, if nothing was committed."""
        if self._unsent:
            self.dismiss(Again())

    def on_key(self, event: events.Key) -> None:
        """Close the dialog with a key that opens something else, which is then opened."""
        key = self.host.keys.openers.get(event.key)
        if key is not None and self._work.ended and not self._unsent:
            event.stop()
            self.dismiss(None)
            self.app.call_later(self.app.run_action, key.handler, self.app)

    @on(Button.Pressed, "#stop")
    def action_stop(self) -> None:
        """Begin nothing more, stop waiting for the server, stop watching."""
        if self._follow is not None:
            self._follow.stop()
        self._work.stop()
        self.renew()

    @on(Button.Pressed, "#more")
    def action_go_on(self) -> None:
        """Answer the question with "go on", or continue what was stopped."""
        if self._unsent:
            self.action_again()
        if self._work.asks:
            self._work.answer()
        if not self._work.stopped:
            return
        self._follow, self._drawn = None, None
        self._work.go_on()
        self.query_one(LineView).put(lambda _: [])
        self.query_one("#stop").focus()
        self.renew()

    def action_leave(self) -> None:
        if self._work.ended:
            self.dismiss(None)
        elif self._work.watches:
            self._left = True
            self._work.leave()
        else:
            stop = self.host.keys.shown(STOP)
            self.query_one("#progress", Static).update(f"The commit is running. {stop} stops it after this part.")
