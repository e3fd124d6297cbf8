"""Runs in the audit log: begin one, load it again, show it, list them.

Those of earlier versions are in the local file, and are only listed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from queries.change.plan import Plan, plan_versions
from queries.change.state import Event, Kind, Reason, RedriveSettings, State, cohorts
from queries.change.undo import run_doubts
from queries.contract.spec import Action
from queries.db.errors import NO_CONNECTION, DatabaseError, MissingError
from queries.log import audit_log, run_log
from queries.log.log_file import Line, page
from queries.log.run_log import OpenRun
from queries.read.reader import Reader
from queries.records import stored
from queries.records.action import Answer, Change, Outcome, Result
from queries.records.audit import AuditLogEntry
from queries.records.record import Record
from queries.records.run import (
    BULK,
    REDRIVE,
    Member,
    RunCommands,
    RunDetail,
    Runs,
    RunSummary,
    WatchedMember,
    commands_of,
)
from queries.text import duration
from queries.workspace import Workspace

Key = tuple[str | None, frozenset[str]]
OF_FIRST = "The file {} has a bulk of version 0.2.0, which continues or ends it."
UNREADABLE = "unreadable"  # state of a run whose first or last entry no console has written
ENTRIES_READ = 200  # newest entries of the audit log file that are read at the start
RUNS_SHOWN = 3  # runs that have a message of their own
FILES = "runs"  # folder of an earlier version beside the local file, with a file for each run that has not ended


class Beginning(Record):
    """Description of a run in its first entry, which is foreign input.

    ``settings``: of a redrive; None: all at once. ``selection``: the group or filter that selected the nodes of a
    redrive. ``groups``: short names of the fingerprints of its dead letters, of which no other redrive may be running.
    """

    kind: str
    action: str
    nodes: int
    arguments: dict[str, Any] = {}
    selection: str = ""
    groups: tuple[str, ...] = ()
    settings: RedriveSettings | None = None


class RunPlan(Record):
    """A change of many nodes, and how it is done."""

    label: str
    schema: str
    reason: str
    members: tuple[Member, ...]
    beginning: Beginning

    @property
    def action(self) -> str:
        """Name of the action."""
        return self.beginning.action

    @property
    def is_redrive(self) -> bool:
        """Return True if it is done in cohorts."""
        return self.beginning.settings is not None

    @property
    def watched(self) -> list[WatchedMember]:
        """Nodes of a redrive."""
        return [member for member in self.members if isinstance(member, WatchedMember)]

    @property
    def ids(self) -> list[str]:
        """Ids of the nodes, in order."""
        return [member.id for member in self.members]

    def state(self) -> State:
        """Return the state before the first entry."""
        settings = self.beginning.settings
        return State([self.ids] if settings is None else cohorts(self.ids, settings), settings)


class Run(Record):
    """A run that has begun, continued by this process.

    ``fresh``: nothing was recorded after its beginning.
    """

    plan: RunPlan
    log: OpenRun
    fresh: bool = False

    @property
    def begun(self) -> AuditLogEntry:
        """The first entry."""
        return self.log.begun

    def commands(self, command: Callable[..., str]) -> RunCommands:
        """Return the commands that continue and end it."""
        return commands_of(command, self.plan.beginning.kind, self.log.id)


def part_of(workspace: Workspace, plan: RunPlan, ids: Iterable[str]) -> Plan:
    """Return the plan of the action for some of the nodes. Raises DatabaseError."""
    members = {member.id: member for member in plan.members}
    versions = {i: members[i].version for i in ids}
    titles = {i: title for i in versions if (title := members[i].title)}
    return plan_versions(workspace, plan.label, plan.action, versions, titles)


def event_entry(
    workspace: Workspace, plan: RunPlan, operator: audit_log.Operator, results: tuple[Result, ...] = ()
) -> AuditLogEntry:
    """Return the audit log entry of an event, without the event."""
    return AuditLogEntry(
        id="",
        at=0.0,
        role=workspace.server.role,
        os_user=operator.os_user,
        host=operator.host,
        engine=plan.label,
        schema=plan.schema,
        action=plan.beginning.kind,
        reason=plan.reason,
        results=results,
    )


async def begin(workspace: Workspace, plan: RunPlan, operator: audit_log.Operator | None = None) -> Run:
    """Write the beginning of a run.

    From then on another redrive of the same dead letters is refused. Raises DatabaseError, also without the table.
    """
    if (table := workspace.audit_log.run_table) is None:
        raise DatabaseError(f"The run cannot begin: {workspace.audit_log.no_runs}.", "Nothing was changed.")
    entry = event_entry(workspace, plan, operator or audit_log.operator())
    log = await run_log.begin(table, entry, msgspec.to_builtins(plan.beginning), plan.members)
    return Run(plan=plan, log=log, fresh=True)


async def load(workspace: Workspace, name: str) -> Run:
    """Load a run, to continue or end it. Raises DatabaseError, UnknownIdError."""
    if not audit_log.is_table_id(name):
        if in_file(workspace, name) is None:
            raise MissingError(f"There is no run {name}. `{workspace.database.command('runs')}` lists them.")
        shows = workspace.database.command("runs", name)
        path = _files(workspace) / name
        raise DatabaseError(
            f"The run {name} is in a file of an earlier version, and is not continued.",
            f"`{shows}` prints the ids of the other nodes. Without the file {path} it is listed no more.",
        )
    if (table := workspace.audit_log.run_table) is None:
        raise DatabaseError(f"The run {name} cannot be read: {workspace.audit_log.no_runs}.")
    if (log := await run_log.load(table, name)) is None:
        raise MissingError(f"There is no run {name}. `{workspace.database.command('runs')}` lists them.")
    begun = log.begun
    reader = workspace.recorded(begun.engine, begun.schema)
    if reader is None:
        raise DatabaseError(
            f"The run {begun.id} is about {begun.engine} in the schema {begun.schema}, which cannot be changed here."
        )
    try:
        beginning = msgspec.convert(begun.event, Beginning)
        if beginning.kind != (BULK if beginning.settings is None else REDRIVE):
            raise ValueError(f"{beginning.kind} is not the kind of its settings")
        form = Member if beginning.settings is None else WatchedMember
        content = stored.read(bytes(log.members), dict[str, tuple[form, ...]])  # type: ignore[valid-type]
        members = tuple(_renamed(reader, member) for member in content["members"])
    except (msgspec.MsgspecError, KeyError, ValueError) as error:
        raise DatabaseError(f"The beginning of the run {begun.id} cannot be read: {error}.") from None
    plan = RunPlan(label=reader.label, schema=begun.schema, reason=begun.reason, members=members, beginning=beginning)
    return Run(plan=plan, log=log)


def _renamed(reader: Reader, member: Member) -> Member:
    if not reader.ids.owns(member.id):
        raise ValueError(f"{member.id!r} is no node of {reader.label}")
    if isinstance(member, WatchedMember):
        member = msgspec.structs.replace(member, target=reader.ids.present(member.target))
    return msgspec.structs.replace(member, id=reader.ids.present(member.id))


async def check_author(workspace: Workspace, run: Run, action: Action) -> None:
    """Refuse to continue a run that the role that began it could not run itself.

    Raises DatabaseError.
    """
    reader = workspace.named(run.plan.label)
    async with workspace.database.reading() as transaction:
        why = await run_doubts(transaction, reader, run.begun.role, action.privileges)
    if why:
        raise DatabaseError(f"The run {run.log.id} is not continued: {why}.", "Nothing was changed.")


def key(change: Change) -> Key:
    """Return the transaction and its changed nodes: a failover may use an xid again."""
    return change.xid, change.nodes


def fold(
    workspace: Workspace,
    label: str,
    state: State,
    entries: Iterable[AuditLogEntry],
    known: Mapping[Key, Change] = {},
) -> None:
    """Add the entries of a run in the engine ``label`` to its state.

    ``known``: changes with rows. Raises DatabaseError for an entry that no console has written.
    """
    reader, place = workspace.named(label), workspace.audit_log.place
    for entry in entries:
        why = f": {entry.unreadable}"
        try:
            if not entry.unreadable:
                event = msgspec.convert({"event": Kind.CHANGED, **entry.event}, Event)
                change = None
                if event.event in (Kind.CHANGED, Kind.SKIPPED):
                    change = _recorded(reader, entry, event, place, state.held)
                    change = known.get(key(change), change) if change.xid else change
                state.add(entry.at, event, change)
                continue
        except (TypeError, ValueError, KeyError):  # ValidationError is a ValueError
            why = ""
        raise DatabaseError(f"The entry {entry.id} of the run cannot be read{why}.", "Nothing was changed.")


def _recorded(reader: Reader, entry: AuditLogEntry, event: Event, place: str, held: Mapping[str, str]) -> Change:
    """Return the change of an entry, without those of nodes that were not free."""
    renamed = (msgspec.structs.replace(r, id=reader.ids.present(r.id)) for r in entry.results)
    results = tuple(r for r in renamed if r.outcome is Outcome.CHANGED or r.id not in held)
    if event.event is Kind.SKIPPED:
        return Change(results=results)
    return Change(results=results, xid=entry.xid, entries=(entry.id,), audit_log=place)


async def listed(workspace: Workspace, most: int, kind: str | None = None, *, open_only: bool = False) -> Runs:
    """Return runs, newest first, with those that an earlier version left in a file.

    Raises DatabaseError. ``kind``: only those of this kind. ``open_only``: only those that have not ended.
    """
    closed = workspace.audit_log.no_runs
    entries = [] if closed else await run_log.newest(workspace.database, most, kind, open_only=open_only)
    files, unread = [], [OF_FIRST.format(path) for path in sorted(_files(workspace).glob("*.jsonl"))]
    try:
        files = [each.run for each in in_files(workspace) if kind != REDRIVE]
    except DatabaseError as error:
        unread.append(error.line)
    rows = sorted([*(summary(*each) for each in entries), *files], key=lambda each: -each.at)
    return Runs(runs=tuple(rows[:most]), unread=tuple(unread))


def summary(begun: AuditLogEntry, changed: int, last_at: float, ended: Mapping[str, Any] | None) -> RunSummary:
    """Return what a list says of a run. ``ended``: the event that ended it."""
    state, run = "open", Beginning(kind="", action="", nodes=0)
    answers: dict[Answer, int] = {}
    try:
        run = msgspec.convert(begun.event, Beginning)
        if ended is not None:
            event = msgspec.convert(ended, Event)
            state, answers = Reason(str(event.reason)), msgspec.convert(event.answers, dict[Answer, int])
    except ValueError:  # ValidationError is one
        state = UNREADABLE
    return RunSummary(
        run=begun.id,
        kind=run.kind,
        engine=begun.engine,
        action=run.action,
        selection=run.selection,
        reason=begun.reason,
        who=begun.who,
        at=begun.at,
        last_at=last_at,
        state=state,
        nodes=run.nodes,
        changed=changed,
        answers=answers,
    )


def in_files(workspace: Workspace) -> list[RunDetail]:
    """Return the runs of this database in the local file that have not ended.

    Raises DatabaseError.
    """
    file, folder = workspace.audit_log.file, _files(workspace)
    here, names = file.origin(), {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    begun: list[Line] = []
    known: dict[str, dict[str, Result]] = {name: {} for name in names}  # the newest result of each node, by run
    for line in file.lines(b'"run"') if names else ():
        entry = line.entry
        if entry.run not in names or entry.origin is None or not entry.origin.same(here):
            continue
        if entry.is_end:
            names.discard(entry.run)
        elif entry.id == entry.run:
            begun.append(line)
        else:
            for result in entry.results:
                lost = Outcome.UNKNOWN if line.intended else result.outcome
                known[entry.run].setdefault(result.id, msgspec.structs.replace(result, outcome=lost))
    return [_in_file(line, known[line.entry.run], file.place) for line in begun]


def _in_file(begun: Line, known: Mapping[str, Result], place: str) -> RunDetail:
    ids: list[str] = []
    with contextlib.suppress(msgspec.MsgspecError, KeyError, TypeError, IndexError):
        ids = [str(member[0]) for member in msgspec.json.decode(begun.kept)["members"]]
    changed = sum(result.outcome is Outcome.CHANGED for result in known.values())
    run = msgspec.structs.replace(summary(begun.entry, changed, begun.entry.at, None), place=place)
    again = (Outcome.UNSENT, Outcome.LOST)
    pending = tuple(i for i in ids if i not in known or known[i].outcome in again)
    return RunDetail(run=run, results=tuple(known.values()), pending=pending)


def in_file(workspace: Workspace, name: str) -> RunDetail | None:
    """Return one of these runs, or None. Raises DatabaseError."""
    if audit_log.is_table_id(name):
        return None
    return next((each for each in in_files(workspace) if each.run.run == name), None)


def _files(workspace: Workspace) -> Path:
    return workspace.audit_log.file.path.parent / FILES


async def messages(workspace: Workspace) -> list[str]:
    """Return a message for each unfinished run, and one for unknown outcomes.

    Raises an error of NO_CONNECTION only.
    """
    try:
        answer = await listed(workspace, RUNS_SHOWN + 1, open_only=True)
        runs = [run for run in answer.runs if run.state == "open"]
        now = await workspace.now() if runs else 0.0
    except NO_CONNECTION:
        raise
    except DatabaseError as error:
        return [error.line]
    command = workspace.database.command
    lines = list(answer.unread)
    for run in runs[:RUNS_SHOWN]:
        commands = commands_of(command, run.kind, run.run).sentence
        if run.place != audit_log.TABLE:
            shows = command("runs", run.run)
            commands = f"It is in a file of an earlier version: `{shows}` prints the ids of the other nodes."
        commands = "" if workspace.server.may_lag else f" {commands}"
        ago = duration.spelled(max(now - run.last_at, 0.0))
        lines.append(
            f"Unfinished {run.kind} {run.run}: {run.action} in {run.engine}, {run.changed} of {run.nodes} nodes are"
            f" changed, the last {ago} ago.{commands} It was begun by {run.who}."
        )
    lines += [f"There are more: `{command('runs')}` lists them."] if len(runs) > RUNS_SHOWN else []
    if not workspace.audit_log.in_table:
        try:
            entries, _ = await page(workspace.audit_log.file, None, ENTRIES_READ)
        except DatabaseError as error:
            return [*lines, error.line]
        unsaid = (entry for entry in entries if entry.id not in workspace.audit_log.said)
        intents = sum(any(r.outcome is Outcome.UNKNOWN for r in entry.results) for entry in unsaid)
        if intents:
            they = "1 audit log entry has" if intents == 1 else f"{intents} audit log entries have"
            lines.append(f"{they} no known outcome: see `{command('audit')}`.")
    return lines
