"""Dialogs of a change: input, dry run, confirmation, progress and result."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from console.model.filter import Filter
from console.model.run_work import RunWork
from console.model.selection import select
from console.model.session import Session
from console.tui.screens.ask import AskDialog, WrongFieldError
from console.tui.screens.base import MainScreen
from console.tui.screens.dry_run import Back, DryRunDialog
from console.tui.screens.edited import edited_plan
from console.tui.screens.refused import OfferDialog
from console.tui.screens.result import Again, ResultDialog
from queries.change.plan import ActionInput, Plan, plan_entry, plan_selection
from queries.db.errors import NO_CONNECTION, DatabaseError
from queries.read.reader import Reader
from queries.records.action import Change, Outcome
from queries.records.finding import OPEN
from queries.records.node import Node

JOBS_OFFERED = 500  # jobs on which an action is offered instead of on their tasks


async def perform_key(screen: MainScreen, key: str) -> None:
    """Perform the action of a key on all targets of a screen, read or not."""
    await screen.read_targets()
    await _perform_on(screen, key, screen.targets(), screen.unseen())


async def perform_on_all(screen: MainScreen, key: str, reader: Reader, filter: Filter) -> None:
    """Perform the action of a key on all nodes of an engine that match.

    Nothing is done if not all could be looked at.
    """
    selection = await select(reader, filter)
    if selection.missing:
        screen.host.refuse(f"Not everything was looked at: {selection.missing[0]}. Nothing was changed.")
    elif not selection.nodes:
        screen.host.refuse(f"No node of {reader.label} matches the filter {filter}")
    else:
        await _perform_on(screen, key, selection.nodes)


async def _perform_on(screen: MainScreen, key: str, targets: Sequence[Node], unseen: int = 0) -> None:
    """Perform the action of a key on these nodes, or say why it is not possible.

    ``unseen``: number of nodes that are not in view.
    """
    reader = screen.session.reader(targets[0].id) if targets else None
    plan = plan_selection(reader, targets, key, screen.host.keys.actions[key])
    of_jobs = await _of_jobs(screen, reader, targets, key) if reader is not None else None
    if isinstance(plan, Plan):
        await perform(screen, msgspec.structs.replace(plan, unseen=unseen))
    elif of_jobs is None:
        screen.host.refuse(plan.why, plan.commands)
    elif await screen.app.push_screen_wait(OfferDialog(plan.why, of_jobs)):
        await perform(screen, msgspec.structs.replace(of_jobs, unseen=unseen))


async def _of_jobs(screen: MainScreen, reader: Reader, targets: Sequence[Node], key: str) -> Plan | None:
    """Return the plan of a key for the jobs of the targets.

    None if the targets have such an action themselves.
    """
    names = screen.host.keys.actions[key]
    if any(action.name in names for node in targets for action in reader.engine.actions_of(node.kind)):
        return None
    ids = {node.job_id for node in targets if node.job_id and node.id.startswith(f"{reader.label}/")}
    if not 0 < len(ids) <= JOBS_OFFERED:
        return None
    try:
        jobs = (await reader.nodes.read(sorted(ids))).nodes
    except DatabaseError as error:
        screen.session.failed(error)
        return None
    plan = plan_selection(reader, jobs, key, names)
    return plan if isinstance(plan, Plan) else None


class ChangeDialogs:
    """Content of the dialogs of a plain change."""

    def __init__(self, session: Session, asked: Plan, plan: Plan | None = None) -> None:
        """``asked``: what the input is about. ``plan``: what the result is about."""
        self.session, self.asked, self.plan = session, asked, plan

    async def planned(self, entered: ActionInput) -> tuple[Plan, ActionInput]:
        """Return what is dry-run. Raises DatabaseError, WrongFieldError."""
        return self.asked, entered

    async def begin(self, dry_run: Change) -> RunWork:
        """Begin what was confirmed. Raises DatabaseError."""
        return self.session.works.start(self.session.workspace, dry_run)

    def summary(self, work: RunWork) -> tuple[str, str]:
        """Return a line about what was done, and its style."""
        return f"{self.asked.title}: {work.summary}", "good" if set(work.counted()) == {Outcome.CHANGED} else "warn"


async def show_dialogs(screen: MainScreen, dialogs: ChangeDialogs, entered: ActionInput | None = None) -> str | None:
    """Lead the operator from the input to the result.

    If the connection is lost before the commit, one key repeats the dry run with what the operator has entered.
    ``entered``: the input to begin with. Return the id of the entry or the run to undo, or None. Raises DatabaseError
    if the change is not possible at all.
    """
    asks = True
    while (begun := await _begun(screen, dialogs, entered, asks=asks)) is not None:
        work, entered = begun
        undone = await screen.app.push_screen_wait(ResultDialog(work, dialogs.plan))
        if not isinstance(undone, Again):
            screen.say(*dialogs.summary(work))
            screen.acted()
            screen.session.refresh()
            return undone
        asks = False
    screen.say("Nothing was changed.", "faint")
    return None


async def _begun(
    screen: MainScreen, dialogs: ChangeDialogs, entered: ActionInput | None, *, asks: bool
) -> tuple[RunWork, ActionInput] | None:
    """Ask for input and confirmation until the change has begun.

    ``entered`` is the input to begin with; it is taken as it is if ``asks`` is False. Return None if cancelled.
    """
    app, wrong = screen.app, None
    while True:
        if asks or entered is None:
            entered = await app.push_screen_wait(AskDialog(dialogs.asked, entered, wrong))
        if entered is None:
            return None
        asks, wrong = True, None
        try:
            answer = await app.push_screen_wait(DryRunDialog(*await dialogs.planned(entered)))
            if not isinstance(answer, Back):
                return None if answer is None else (await dialogs.begin(answer), entered)
        except WrongFieldError as error:
            wrong = error
        except NO_CONNECTION as error:
            wrong = WrongFieldError("", error.unchanged_line)


async def perform(screen: MainScreen, plan: Plan) -> None:
    """Lead the operator from the plan to the result. Runs in a worker of the app."""
    prepared = plan if plan.action.document is None else await edited_plan(screen, plan)
    if prepared is None:
        screen.say("Nothing was changed.", "faint")
        return
    dialogs = ChangeDialogs(screen.session, prepared, plan)
    undone = await show_dialogs(screen, dialogs, _suggested(screen.session, plan))
    if undone is not None:
        await undo(screen, undone)


async def undo(screen: MainScreen, name: str, unseen: int = 0) -> None:
    """Lead the operator through the undo of an entry or a run.

    ``name``: its id. ``unseen``: number of entries that are not in view.
    """
    workspace = screen.session.workspace
    if workspace is None:
        return
    try:
        plan = await plan_entry(workspace, name)
    except DatabaseError as error:
        screen.host.refuse(str(error))
    else:
        await perform(screen, msgspec.structs.replace(plan, unseen=unseen))


def _suggested(session: Session, plan: Plan) -> ActionInput | None:
    """Return the arguments that the findings give for this action, or None.

    Findings that suggest it with different arguments give none.
    """
    given: list[dict[str, str]] = []
    findings = session.state.findings
    for node in plan.nodes:
        suggested = (f.arguments for f in findings.of(node.id) if f.action == plan.action.name and f.arguments)
        given.append(next(suggested, {}))
    if not given or any(arguments != given[0] for arguments in given):
        return None
    known = {name: value for name, value in given[0].items() if value != OPEN}
    return ActionInput(reason="", arguments=known) if known else None
