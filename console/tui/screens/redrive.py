"""Dialogs of a redrive: settings, and the dry run of the first cohort."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from console.text.views import redrive as views
from console.tui import keymap
from console.tui.screens.ask import AskScreen, WrongFieldError
from console.tui.screens.base import MainScreen
from console.tui.screens.dry_run import Back, DryRunScreen
from console.tui.screens.result import ResultScreen
from queries.actions.plan import ActionInput, Plan, count_nodes
from queries.contract.spec import Action, Argument
from queries.db.errors import NO_CONNECTION, DatabaseError
from queries.read.reader import Reader
from queries.records.dead_letter import DeadLetter
from queries.records.node import Node
from queries.runs import redrive_plan
from queries.runs import run as runs
from queries.runs.cohorts import SettingError, parse_settings, sizes
from queries.runs.run import RunPlan
from queries.runs.steps import Reason
from queries.workspace import Workspace

PREFIX = "redrive_"  # of the settings among the arguments of the action
SETTINGS = (
    Argument(name=f"{PREFIX}cohorts", title="sizes of the first cohorts; then doubling", default="1,5,25"),
    Argument(
        name=f"{PREFIX}budget", title="stop if more than this number, or percentage, die of the same", default="10%"
    ),
    Argument(name=f"{PREFIX}pace", title="revive at most, such as 60/min"),
    Argument(name=f"{PREFIX}wait", title="time to wait for the answers of a cohort", default="30s"),
)


async def redrive(screen: MainScreen, dead_letters: Sequence[DeadLetter], selection: str) -> None:
    """Lead the operator from the selection to the end. Runs in a worker of the app."""
    workspace = screen.session.workspace
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
        run, entered, wrong = None, None, None
        while run is None:
            confirmed = await _confirmed(screen, workspace, reader, action, dead_letters, selection, entered, wrong)
            if confirmed is None:
                screen.say("Nothing was changed.", "faint")
                return
            plan, entered = confirmed
            try:
                run = await runs.begin(workspace, plan)
            except NO_CONNECTION as error:
                wrong = _not_begun(error)
    except DatabaseError as error:
        screen.host.refuse(error.line)
        return
    work = screen.session.carry_out(run=run)
    await screen.app.push_screen_wait(ResultScreen(work))
    state = "open" if work.report.open else work.report.state
    said = f"Redrive {run.log.id}: {views.STATES[state]}. {views.answers(work.report.answers)}"
    screen.say(f"{said} {work.error_text}".rstrip(), "good" if state == Reason.DONE else "warn")
    screen.acted()
    screen.session.refresh()


async def _confirmed(
    screen: MainScreen,
    workspace: Workspace,
    reader: Reader,
    action: Action,
    dead_letters: Sequence[DeadLetter],
    selection: str,
    before: ActionInput | None,
    wrong: WrongFieldError | None,
) -> tuple[RunPlan, ActionInput] | None:
    """Ask for settings and confirmation until the operator confirms or cancels.

    ``before`` is the input to begin with, ``wrong`` why it was not taken. Return the plan with the input, or None if
    cancelled. Raises DatabaseError.
    """
    app = screen.app
    asked = msgspec.structs.replace(action, arguments=(*action.arguments, *SETTINGS))
    nodes = {each.node.id: each.node for each in dead_letters}
    while True:
        entered = await app.push_screen_wait(AskScreen(_plan(reader, asked, list(nodes.values())), before, wrong))
        if entered is None:
            return None
        before, wrong = entered, None
        texts = {name: str(entered.arguments.get(name, "")) for name in (each.name for each in SETTINGS)}
        arguments = {name: value for name, value in entered.arguments.items() if not name.startswith(PREFIX)}
        try:
            settings = parse_settings(*(texts[f"{PREFIX}{name}"] for name in ("cohorts", "pace", "budget", "wait")))
        except SettingError as error:
            wrong = WrongFieldError(f"{PREFIX}{error.name}", str(error))
            continue
        try:
            plan = await redrive_plan.plan_redrive(
                workspace, reader.label, dead_letters, selection, settings, entered.reason, arguments
            )
        except NO_CONNECTION as error:
            wrong = _not_begun(error)
            continue
        first = plan.ids[: sizes(len(plan.members), settings.cohorts)[0]]
        total = count_nodes(len(plan.members), plan.ids)
        shown = _plan(reader, action, [nodes[i] for i in first], f", cohort 1 of {total}")
        answer = await app.push_screen_wait(DryRunScreen(shown, ActionInput(reason=plan.reason, arguments=arguments)))
        if not isinstance(answer, Back):
            return (plan, entered) if answer is not None else None


def _not_begun(error: DatabaseError) -> WrongFieldError:
    return WrongFieldError("", f"No dead letter was revived. {error.line}")


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
