"""The result sheet: progress while there is any, then what became of each node and why."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Static

from console.model.bulk_run import BulkRun
from console.text import formatting
from console.tui.pages import action as pages
from console.tui.pages.lines import Line, plain
from console.tui.pages.row_diff import tally
from console.tui.screens.dialog import Dialog, Title, text
from console.tui.widgets.line_view import LineView
from queries.actions.plan import Plan


class ResultScreen(Dialog[None]):
    """Follows a work; it can be left when that has ended, and stopped before."""

    BINDINGS = [Binding("s", "stop", "stop between two chunks", show=False)]

    def __init__(self, plan: Plan, work: BulkRun) -> None:
        super().__init__()
        self._plan = plan
        self._work = work

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="fitting"):
            yield Title(self._plan.title, self.host.context)
            yield text("", id="progress")
            yield LineView(id="page")
            with Horizontal(classes="buttons"):
                yield Button("Stop", id="stop")
                yield Button("Go on", id="more")
                yield Button("Close", id="close", variant="primary")

    def on_mount(self) -> None:
        self.query_one("#close" if self._work.seen else "#page").focus()
        self.set_interval(0.5, self.renew)
        self.renew()

    def renew(self) -> None:
        """The work has come further."""
        if not self.is_attached or not self.query(LineView):
            return
        work = self._work
        if work.seen:
            return
        self.query_one("#progress", Static).update(self._progress())
        self.query_one("#stop").display = not work.ended and work.total > len(work.results)
        self.query_one("#more").display = bool(work.stopped)
        close = self.query_one("#close", Button)
        close.disabled = not work.ended
        if work.ended:
            close.focus()
            work.seen = True
            self.query_one(LineView).put(self._lines)

    def _progress(self) -> Line:
        work = self._work
        if work.ended and work.stopped and work.bulk:
            return tally(work.results) + Content.styled(f"  ·  the rest: unstick do --resume {work.bulk}", "$faint")
        if work.ended:
            return tally(work.results)
        done = f"{len(work.results)} of {work.total}"
        if work.stopping:
            return plain(f"Stopping after the chunk under way: {done}", "$warning", 0)
        if work.error_text:
            return plain(
                f"Server lost, retrying in {work.retry_in:.0f} s, stop: s. {done}. {work.error_text}", "$warning", 0
            )
        if work.held is not None:
            nodes = work.total - len(work.results)
            return plain(f"Waiting for {nodes} to be free, at most {formatting.age(work.held)}: {done}", "$warning", 0)
        left = work.seconds_left
        rate = "" if left is None else f", {work.rate:.0f} a second, about {formatting.age(left)} left"
        return plain(f"Committing: {done}{rate}", "", 0)

    def _lines(self, width: int) -> list[Line]:
        work, total = self._work, self._work.outcomes
        place = {None: "nothing to note", "table": "the table in this database"}.get(
            total.audit_log, f"the file {total.audit_log}"
        )
        facts = [("reason", work.dry_run.reason), ("audit log", place)]
        facts += [("transaction", " ".join(total.xids[:20]))] if total.xids else []
        return pages.result([*work.results, *self._plan.skipped], width, total.changes, facts)

    @on(Button.Pressed, "#stop")
    def action_stop(self) -> None:
        """Begin no further chunk, and wait for no server."""
        self._work.stop()
        self.renew()

    @on(Button.Pressed, "#more")
    def _go_on(self) -> None:
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
            self.query_one("#progress", Static).update(
                "It is under way: it cannot be left, but stopped between two chunks."
            )
