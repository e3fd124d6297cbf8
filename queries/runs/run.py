"""Runs in their logs: begin one, load it again, list them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from uuid import uuid4

import msgspec

from queries.actions.plan import Plan, plan_versions
from queries.contract.spec import Action
from queries.db.errors import DatabaseError, MissingError
from queries.read.reader import Reader
from queries.records import stored
from queries.records.action import Answer, Outcomes, Result
from queries.records.audit import AuditLogEntry
from queries.records.record import Record
from queries.records.run import BULK, REDRIVE, Member, RunCommands, Runs, RunSummary, WatchedMember, commands_of
from queries.runs.cohorts import Redrive, RedriveSettings
from queries.runs.steps import Changed, Ended, Event, Extended, Judged
from queries.workspace import Workspace
from queries.write import audit_log, run_file, run_log, undo_rights
from queries.write.run_log import ListedRun, OpenRun

UNREADABLE = "unreadable"  # state of a run whose first or last entry no runner has written


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
    def cohorts(self) -> RedriveSettings:
        """Settings of a redrive."""
        assert self.beginning.settings is not None
        return self.beginning.settings

    @property
    def is_redrive(self) -> bool:
        """Return True if it is done in cohorts."""
        return self.beginning.settings is not None

    def redrive(self) -> Redrive:
        """Return the policy of a redrive, before its first event."""
        return Redrive(self.ids, self.cohorts)

    @property
    def watched(self) -> list[WatchedMember]:
        """Nodes of a redrive."""
        return [member for member in self.members if isinstance(member, WatchedMember)]

    @property
    def ids(self) -> list[str]:
        """Ids of the nodes, in order."""
        return [member.id for member in self.members]


def part_of(workspace: Workspace, plan: RunPlan, ids: Iterable[str]) -> Plan:
    """Return the plan of the action for some of the nodes. Raises DatabaseError."""
    members = {member.id: member for member in plan.members}
    part = [members[i] for i in ids]
    return plan_versions(
        workspace,
        plan.label,
        plan.action,
        {member.id: member.version for member in part},
        {member.id: member.title for member in part if member.title},
    )


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


def event_entry(
    workspace: Workspace, plan: RunPlan, operator: audit_log.Operator | None = None, results: tuple[Result, ...] = ()
) -> AuditLogEntry:
    """Return the audit log entry of an event, without the event."""
    operator = operator or audit_log.operator()
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

    From then on another redrive of the same dead letters is refused. Raises DatabaseError.
    """
    entry = event_entry(workspace, plan, operator)
    event = msgspec.to_builtins(plan.beginning)
    log: OpenRun
    if table := workspace.audit_log.run_table:
        log = await run_log.begin(table, uuid4().hex, entry, event, plan.members)
    elif plan.is_redrive:
        raise DatabaseError(f"A redrive cannot begin: {workspace.audit_log.no_runs}.", "Nothing was changed.")
    else:
        log = run_file.begin(_local(workspace), entry, event, plan.members)
    return Run(plan=plan, log=log, fresh=True)


async def load(workspace: Workspace, name: str) -> Run:
    """Load a run, to continue or end it. Raises DatabaseError, UnknownIdError."""
    if (log := run_file.load(_local(workspace), name)) is not None:
        try:
            return _loaded(workspace, log)
        except BaseException:
            log.close()
            raise
    no_runs, table = workspace.audit_log.no_runs, workspace.audit_log.run_table
    if no_runs and audit_log.is_table_id(name):
        raise DatabaseError(f"The run {name} cannot be read: {no_runs}.")
    if table and (run := await run_log.load(table, uuid4().hex, name)) is not None:
        return _loaded(workspace, run)
    raise MissingError(f"There is no run {name}. `unstick runs` lists them.")


def _local(workspace: Workspace) -> run_file.Local:
    log = workspace.audit_log
    return run_file.Local(database=workspace.database, file=log.file, log=log.destination)


def _loaded(workspace: Workspace, log: OpenRun) -> Run:
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
        why = await undo_rights.run_doubts(transaction, reader, run.begun.role, action.privileges)
    if why:
        raise DatabaseError(f"The run {run.log.id} is not continued: {why}.", "Nothing was changed.")


def event_of(reader: Reader, entry: AuditLogEntry, place: str = audit_log.TABLE) -> Event | None:
    """Return the event of an entry, at the time of the entry. None for a take-over.

    ``place``: of the audit log. Raises DatabaseError for an entry that no runner has written.
    """
    if entry.unreadable:
        raise DatabaseError(
            f"The entry {entry.id} of the run cannot be read: {entry.unreadable}.", "Nothing was changed."
        )
    try:
        return _event(reader, entry, place)
    except (msgspec.ValidationError, KeyError, TypeError, ValueError):
        raise DatabaseError(f"The entry {entry.id} of the run cannot be read.", "Nothing was changed.") from None


def _event(reader: Reader, entry: AuditLogEntry, place: str) -> Event | None:
    is_change = "event" not in entry.event
    kind = run_log.SKIPPED if is_change else entry.event["event"]
    if kind == run_log.RESUME:
        return None
    if kind == run_log.SKIPPED:
        results = tuple(msgspec.structs.replace(r, id=reader.ids.present(r.id)) for r in entry.results)
        outcomes = Outcomes(
            results=results,
            xid=entry.xid,
            entries=(entry.id,) if is_change else (),
            audit_log=place if is_change else None,
        )
        return Changed(at=entry.at, part=int(entry.event.get("cohort", 0)), outcomes=outcomes)
    event: Judged | Extended | Ended = msgspec.convert({**entry.event, "at": entry.at}, Judged | Extended | Ended)
    return event


async def listed(workspace: Workspace, most: int, kind: str | None = None, *, open_only: bool = False) -> Runs:
    """Return runs, newest first. Raises DatabaseError.

    ``kind``: only those of this kind. Those in files of this machine are bulks that have not ended. ``open_only``: only
    those that have not ended, and of those in files only those that no console continues.
    """
    local, no_runs = _local(workspace), workspace.audit_log.no_runs
    entries = [] if no_runs else await run_log.newest(workspace.database, most, kind, open_only=open_only)
    files, unread = ([], []) if kind == REDRIVE else run_file.unfinished(local, idle=open_only)
    summaries = map(summary, (*entries, *files))
    return Runs(runs=tuple(sorted(summaries, key=lambda each: -each.at)[:most]), unread=tuple(unread))


def summary(entry: ListedRun) -> RunSummary:
    """Return what a list says of a run."""
    begun, ended = entry.begun, entry.ended
    state, run = "open", Beginning(kind="", action="", nodes=0)
    answers: dict[Answer, int] = {}
    try:
        run = msgspec.convert(begun.event, Beginning)
        if ended is not None:
            event = msgspec.convert({"at": entry.last_at, **ended}, Ended)
            state, answers = event.reason, event.answers
    except msgspec.ValidationError:
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
        last_at=entry.last_at,
        state=state,
        nodes=run.nodes,
        changed=entry.changed,
        answers=answers,
        place=entry.place,
    )
