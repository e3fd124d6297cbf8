"""Dialogs of a change and of an undo, from the key to the result."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import msgspec

from console.model.filter import Filter
from console.model.selection import select
from console.model.session import Session
from console.tui import keymap
from console.tui.screens.base import MainScreen
from console.tui.screens.change import ChangeDialog, ChangeDialogs
from console.tui.screens.edited import edited_plan
from console.tui.screens.refused import OfferDialog
from console.tui.screens.result import Again, ResultDialog
from queries.change.plan import UNDO, ActionInput, Plan, plan_entry, plan_selection, undoable
from queries.db.errors import NO_CONNECTION, DatabaseError, LostError
from queries.log import audit_log
from queries.read.reader import Reader
from queries.records.finding import OPEN
from queries.records.node import Node
from queries.workspace import Workspace

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
        copy = screen.host.keys.shown(keymap.BY_ID["node.copy"])
        screen.host.refuse(plan.why + f" {copy} copies what to run instead." * bool(plan.commands))
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


async def show_dialogs(screen: MainScreen, dialogs: ChangeDialogs, entered: ActionInput | None = None) -> str | None:
    """Lead the operator from the fields to the result.

    If the connection is lost before the commit, the dry run is repeated with what the operator has entered.
    ``entered``: the input to begin with. Return the id of the entry or the run to undo, or None. Raises DatabaseError
    if the change is not possible at all.
    """
    wrong = ""
    while (confirmed := await screen.app.push_screen_wait(ChangeDialog(dialogs, entered, wrong))) is not None:
        entered, wrong = confirmed.entered, ""
        try:
            work = await dialogs.begin(confirmed.dry_run)
        except NO_CONNECTION as error:
            wrong = error.unchanged_line
            continue
        undone = await screen.app.push_screen_wait(ResultDialog(work, dialogs.plan))
        if not isinstance(undone, Again):
            screen.say(*dialogs.summary(work))
            screen.acted()
            screen.session.refresh()
            return undone
    screen.say("Nothing was changed.", "faint")
    return None


async def perform(screen: MainScreen, plan: Plan) -> None:
    """Lead the operator from the plan to the result. Runs in a worker of the app."""
    prepared = plan if plan.action.document is None else await edited_plan(screen, plan)
    if prepared is None:
        return
    undone = await show_dialogs(screen, ChangeDialogs(screen.session, prepared, plan), _suggested(screen.session, plan))
    if undone is not None:
        await undo(screen, undone)


async def undo(screen: MainScreen, name: str | None = None, unseen: int = 0) -> None:
    """Lead the operator through the undo of an entry or a run.

    ``name``: its id; None for the last change of this operator. ``unseen``: number of entries that are not in view.
    """
    while True:
        undone = await show_dialogs(screen, UndoDialogs(screen.session, name, unseen))
        if undone is None:
            return
        name, unseen = undone, 0


class UndoDialogs(ChangeDialogs):
    """Content of the dialogs of an undo. The log is read while the dialog is open."""

    def __init__(self, session: Session, name: str | None, unseen: int) -> None:
        super().__init__(session, Plan(label="", name=UNDO.name, actions={"": UNDO}, versions={}, key=UNDO.key))
        self._name, self._unseen = name, unseen
        self.title = "Undo your last change" if name is None else f"Undo {name}"

    async def planned(self, entered: ActionInput) -> tuple[Plan, ActionInput]:
        if (workspace := self.session.workspace) is None:
            raise LostError("There is no connection.", "Nothing was changed.")
        if self._name is None:
            self._name = await own_last(workspace)
        plan = await plan_entry(workspace, self._name)
        self.plan = msgspec.structs.replace(plan, unseen=self._unseen)
        self.title = self.plan.title
        return self.plan, entered


async def own_last(workspace: Workspace) -> str:
    """Return the id of the operator's last change: its entry, or its run.

    Raises DatabaseError.
    """
    if workspace.audit_log.unreadable:
        raise DatabaseError(workspace.audit_log.unreadable)
    me = audit_log.operator()
    own = audit_log.Criteria(who=me.name, changes=False)
    async with contextlib.aclosing(workspace.audit_log.source.entries(None, None, own, 10)) as entries:
        async for entry in entries:
            who = entry.os_user, entry.host, entry.role
            if who == (me.os_user, me.host, workspace.server.role) and undoable(entry.results):
                return entry.run or entry.id
    raise DatabaseError("The audit log has no change of yours.")


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
