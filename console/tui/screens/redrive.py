"""Dialogs of a redrive: settings, dry run of the first cohort, progress."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Static

from console.model.run_work import RunWork
from console.text.pages import redrive as pages
from console.text.pages.lines import BLANK, wrapped
from console.text.spans import Spans
from console.tui import keymap
from console.tui.bindings import bindings
from console.tui.screens.ask import AskScreen
from console.tui.screens.base import PageScreen
from console.tui.screens.dialog import Dialog, Title, text
from console.tui.screens.dry_run import Back, DryRunScreen
from console.tui.widgets.line_view import LineView
from queries.actions.plan import ActionInput, Plan, count_nodes
from queries.contract.spec import Action, Argument
from queries.db.errors import NO_CONNECTION, DatabaseError
from queries.read.reader import Reader
from queries.records.dead_letter import DeadLetter
from queries.records.node import Node
from queries.runs import redrive_plan
from queries.runs import run as runs
from queries.runs.cohorts import parse_settings, sizes
from queries.runs.run import RunPlan
from queries.runs.steps import Reason
from queries.text.safe_text import safe_text
from queries.workspace import Workspace

OPEN = ("running", "asking")  # states of a redrive that has not ended
PREFIX = "redrive_"  # of the settings among the arguments of the action
SETTINGS = (
    Argument(name=f"{PREFIX}cohorts", title="sizes of the first cohorts; then doubling", default="1,5,25"),
    Argument(
        name=f"{PREFIX}budget", title="stop if more than this number, or percentage, die of the same", default="10%"
    ),
    Argument(name=f"{PREFIX}pace", title="revive at most, such as 60/min"),
    Argument(name=f"{PREFIX}wait", title="time to wait for the answers of a cohort", default="30s"),
)


async def redrive(page: PageScreen, dead_letters: Sequence[DeadLetter], selection: str) -> None:
    """Lead the operator from the selection to the end. Runs in a worker of the app."""
    workspace = page.session.workspace
    if workspace is None:
        return
    try:
        label = dead_letters[0].node.engine
        if any(each.node.engine != label for each in dead_letters):
            raise DatabaseError("The dead letters belong to several engines. Redrive those of one engine.")
        if workspace.no_runs:
            raise DatabaseError(f"A redrive cannot begin: {workspace.no_runs}.")
        reader = workspace.named(label)
        action = redrive_plan.action_of(reader, dead_letters)
        run, entered = None, None
        while run is None:
            confirmed = await _confirmed(page, workspace, reader, action, dead_letters, selection, entered)
            if confirmed is None:
                page.say("Nothing was changed.", "faint")
                return
            plan, entered = confirmed
            try:
                run = await runs.begin(workspace, plan)
            except NO_CONNECTION as error:
                page.say(f"No dead letter was revived. {error.line}", "bad")
    except DatabaseError as error:
        page.host.refuse(error.line)
        return
    work = RunWork(workspace, lambda: page.session.changed(), run=run)
    await page.app.push_screen_wait(RedriveScreen(work))
    state = "open" if work.report.state in OPEN else work.report.state
    said = f"Redrive {run.log.id}: {pages.STATES[state]}. {pages.answers(work.report.answers)}"
    page.say(f"{said} {work.error_text}".rstrip(), "good" if state == Reason.DONE else "warn")
    page.acted()
    page.session.refresh()


async def _confirmed(
    page: PageScreen,
    workspace: Workspace,
    reader: Reader,
    action: Action,
    dead_letters: Sequence[DeadLetter],
    selection: str,
    before: ActionInput | None,
) -> tuple[RunPlan, ActionInput] | None:
    """Ask for settings and confirmation until the operator confirms or cancels.

    ``before`` is the input to begin with. Return the plan with the input, or None if cancelled. Raises DatabaseError.
    """
    app = page.app
    asked = msgspec.structs.replace(action, arguments=(*action.arguments, *SETTINGS))
    nodes = {each.node.id: each.node for each in dead_letters}
    while True:
        entered = await app.push_screen_wait(AskScreen(_plan(reader, asked, list(nodes.values())), before))
        if entered is None:
            return None
        before = entered
        given = {name: str(entered.arguments.get(name, "")) for name in (each.name for each in SETTINGS)}
        arguments = {name: value for name, value in entered.arguments.items() if not name.startswith(PREFIX)}
        try:
            settings = parse_settings(*(given[f"{PREFIX}{name}"] for name in ("cohorts", "pace", "budget", "wait")))
        except ValueError as error:
            page.say(str(error), "warn")
            continue
        try:
            plan = await redrive_plan.plan_redrive(
                workspace, reader.label, dead_letters, selection, settings, entered.reason, arguments
            )
        except NO_CONNECTION as error:
            page.say(f"No dead letter was revived. {error.line}", "bad")
            continue
        first = plan.ids[: sizes(len(plan.members), settings.cohorts)[0]]
        total = count_nodes(len(plan.members), plan.ids)
        shown = _plan(reader, action, [nodes[i] for i in first], f", cohort 1 of {total}")
        answer = await app.push_screen_wait(DryRunScreen(shown, ActionInput(reason=plan.reason, arguments=arguments)))
        if not isinstance(answer, Back):
            return (plan, entered) if answer is not None else None


def _plan(reader: Reader, action: Action, nodes: Sequence[Node], more: str = "") -> Plan:
    """Return the plan of the action as the dialogs show it."""
    shown = msgspec.structs.replace(action, title=f"Redrive{more}: {action.title}")
    return Plan(
        label=reader.label,
        name=action.name,
        actions={node.kind: shown for node in nodes},
        versions={node.id: node.version for node in nodes},
        nodes=tuple(nodes),
        key=next(key.keys for key in keymap.DEAD if key.id == "dead.redrive"),
        titles={node.id: node.title for node in nodes},
    )


class RedriveScreen(Dialog[None]):
    """Follows a redrive.

    The operator can stop it, answer its questions, or leave it open.
    """

    BINDINGS = bindings(keymap.REDRIVE)

    def __init__(self, work: RunWork) -> None:
        super().__init__()
        self._work = work
        self._left = False
        self._seen: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        with Vertical(id="box", classes="fitting"):
            yield Title(f"Redrive {self._work.run_id}: {self._work.selection}", self.host.context)
            yield text("", id="progress")
            yield LineView(id="page")
            yield text("", id="wrong")
            with Horizontal(classes="buttons"):
                yield Button("Stop", id="stop")
                yield Button("Go on", id="more")
                yield Button("Leave open", id="close", variant="primary")
            yield text(self.hints(*keymap.REDRIVE), classes="keys")

    def on_mount(self) -> None:
        self.query_one("#page").focus()
        self.set_interval(0.5, self.renew)
        self.renew()

    def renew(self) -> None:
        """Show the cohorts, the question, or the end."""
        if not self.is_attached or self.closed or not self.query("#close"):  # which is mounted last
            return
        work = self._work
        if work.ended and self._left:
            self.dismiss(None)  # again later, if another screen is in front
            return
        seen = (work.report, work.error_text, work.ended, work.asks)
        if seen == self._seen:
            return
        self._seen = seen
        self.query_one("#progress", Static).update(safe_text(pages.line(work.report)))
        wrong = work.error_text or (pages.question(work.report) if work.asks else "")
        self.query_one("#wrong", Static).update(safe_text(wrong))
        self.query_one("#wrong").display = bool(wrong)
        self.query_one("#stop").display = not work.ended
        self.query_one("#more").display = work.asks
        self.query_one("#close", Button).label = "Close" if work.ended else "Leave open"
        self.query_one(LineView).put(self._lines)
        self.call_after_refresh(self.fit)

    def _lines(self, width: int) -> list[Spans]:
        lines = pages.page(self._work.report, width)
        if self._work.ended and self._work.report.state in OPEN:
            command = self.session.command("redrive", self._work.run_id, "--resume")
            lines += [BLANK, *wrapped(f"It is open. Continue: {command}", width, "$warning")]
        return lines

    @on(Button.Pressed, "#stop")
    def action_stop(self) -> None:
        """End the redrive after the current step."""
        self._work.end()

    @on(Button.Pressed, "#more")
    def action_go_on(self) -> None:
        """Answer the question with "go on"."""
        self._work.answer()

    @on(Button.Pressed, "#close")
    def _close(self) -> None:
        self.action_leave()

    def action_leave(self) -> None:
        """Close the dialog. A redrive that has not ended stays open, and can be resumed."""
        if self._work.ended:
            self.dismiss(None)
            return
        self._left = True
        self._work.leave()
