"""Redrive of dead letters: its settings, and its first cohort."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from console.model.run_work import RunWork
from console.model.session import Session
from console.text.views import redrive as views
from console.tui import keymap
from console.tui.screens.action import show_dialogs
from console.tui.screens.base import MainScreen
from console.tui.screens.change import ChangeDialogs
from console.tui.screens.fields import WrongFieldError
from queries.change import redrive as redrives
from queries.change import run as runs
from queries.change.plan import ActionInput, Plan, count_nodes
from queries.change.state import Reason, SettingError, parse_settings, sizes
from queries.contract.spec import Action, Argument
from queries.db.errors import DatabaseError
from queries.read.reader import Reader
from queries.records.action import Change
from queries.records.dead_letter import DeadLetter
from queries.records.node import Node
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
    if (workspace := screen.session.workspace) is None:
        return
    try:
        await show_dialogs(screen, _dialogs(screen.session, workspace, dead_letters, selection))
    except DatabaseError as error:
        screen.host.refuse(error.line)


def _dialogs(session: Session, workspace: Workspace, dead: Sequence[DeadLetter], selection: str) -> ChangeDialogs:
    reader = workspace.named(dead[0].node.engine)
    if any(each.node.engine != dead[0].node.engine for each in dead):
        raise DatabaseError("The dead letters belong to several engines. Redrive those of one engine.")
    if not workspace.audit_log.no_runs:
        return RedriveDialogs(session, workspace, dead, selection)
    first = redrives.at_once(workspace, action := redrives.action_of(reader, dead), dead).nodes
    more = f" of the oldest {len(first)} of {len(dead)} at once (cohorts need `unstick init`)"
    return ChangeDialogs(session, plan := _plan(reader, action, first, more), plan)


class RedriveDialogs(ChangeDialogs):
    """Content of the dialogs of a redrive. The dry run is that of the first cohort."""

    def __init__(self, session: Session, workspace: Workspace, dead: Sequence[DeadLetter], selection: str) -> None:
        """Raises DatabaseError if no redrive of these dead letters is possible."""
        self._workspace, self._reader = workspace, workspace.named(dead[0].node.engine)
        self._dead_letters, self._selection = dead, selection
        self._nodes = {each.node.id: each.node for each in dead}
        self._action = action = redrives.action_of(self._reader, dead)
        asked = msgspec.structs.replace(action, arguments=(*action.arguments, *SETTINGS))
        super().__init__(session, _plan(self._reader, asked, list(self._nodes.values())))

    async def planned(self, entered: ActionInput) -> tuple[Plan, ActionInput]:
        """Return the first cohort with its arguments.

        Raises DatabaseError, WrongFieldError.
        """
        texts = {name: str(entered.arguments.get(name, "")) for name in (each.name for each in SETTINGS)}
        arguments = {name: value for name, value in entered.arguments.items() if not name.startswith(PREFIX)}
        try:
            settings = parse_settings(*(texts[f"{PREFIX}{name}"] for name in ("cohorts", "pace", "budget", "wait")))
        except SettingError as error:
            raise WrongFieldError(f"{PREFIX}{error.name}", str(error)) from None
        reader, dead_letters, reason = self._reader, self._dead_letters, entered.reason
        self._run = plan = await redrives.plan_redrive(
            self._workspace, reader.label, dead_letters, self._selection, settings, reason, arguments
        )
        first = [self._nodes[i] for i in plan.ids[: sizes(len(plan.members), settings.cohorts)[0]]]
        more = f", cohort 1 of {count_nodes(len(plan.members), plan.ids)}"
        return _plan(reader, self._action, first, more), ActionInput(reason=reason, arguments=arguments)

    async def begin(self, dry_run: Change) -> RunWork:
        """Begin the run. Raises DatabaseError."""
        run = msgspec.structs.replace(self._run, reason=dry_run.reason)
        return self.session.works.start(self.session.workspace, run=await runs.begin(self._workspace, run))

    def summary(self, work: RunWork) -> tuple[str, str]:
        """Return how it ended, and the answers."""
        state = "open" if work.report.open else work.report.state
        said = f"Redrive {work.run_id}: {views.STATES[state]}. {views.answers(work.report.answers)}"
        return f"{said} {work.error_text}".rstrip(), "good" if state == Reason.DONE else "warn"


def _plan(reader: Reader, action: Action, nodes: Sequence[Node], more: str = "") -> Plan:
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
