"""Dialogs that offer another way if something is not possible."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult

from console.text.spans import Make, Spans
from console.text.views.lines import titles, wrapped
from console.tui.screens.dialog import Dialog
from console.tui.widgets.line_view import LineView
from queries.change.plan import Plan


class TextDialog(Dialog[bool]):
    """Shows a text. Returns True if the operator takes its offer."""

    def __init__(self, heading: str, lines: Make) -> None:
        super().__init__(heading)
        self._lines = lines

    def body(self) -> ComposeResult:
        yield LineView(id="lines")

    def on_mount(self) -> None:
        self.query_one(LineView).put(self._lines)

    def action_accept(self) -> None:
        self.dismiss(True)


class OfferDialog(TextDialog):
    """Offers an action on the jobs of the selected nodes, which the nodes do not have.

    The operator takes it with the key of the action.
    """

    def __init__(self, why: str, plan: Plan) -> None:
        jobs = "its job" if len(plan.nodes) == 1 else "their jobs"
        named = titles(plan.versions, plan.titles)
        offer = f"{plan.key} acts on {jobs} {named}. {plan.action.effect} Nothing is changed before a dry run."
        super().__init__("Not for this node", lambda width: [*reason(why, width), *wrapped(offer, width, "", 0)])
        self._plan = plan

    def key_line(self) -> str:
        return f"{self._plan.key} again: {self._plan.title} · {super().key_line()}"

    def on_key(self, event: events.Key) -> None:
        if event.key == self._plan.key:
            event.stop()
            self.action_accept()


def reason(why: str, width: int) -> list[Spans]:
    """Return the lines of a reason. An error may have several lines."""
    return wrapped(why.replace("\n", " "), width, "$warning", 0)
