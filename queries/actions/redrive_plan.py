"""Plan a redrive, begin it, and load it again from the audit log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import uuid4

import msgspec

from queries.actions import perform
from queries.actions.plan import Plan, current_reader, plan_versions
from queries.actions.redrive_rules import UNITS, Ask, Ended, Member, Pace, Redrive, Settings, Sign, Step, sizes
from queries.contract.spec import Action, Revival
from queries.db.errors import DatabaseError
from queries.read.dead_letters import digest, fold
from queries.read.reader import Reader
from queries.records.action import Answer, Durability
from queries.records.audit import AuditLogEntry
from queries.records.dead_letter import DeadLetter
from queries.records.node import Node, Phase
from queries.records.record import Record
from queries.records.redrive import CohortReport, RedrivePreview, RedriveReport, Redrives
from queries.workspace import MissingError, Workspace
from queries.write import audit_log, redrive_log, undo_rights
from queries.write.redrive_log import Fence

NODES_AT_ONCE = 500  # nodes that are read at a time


class RedrivePlan(Record):
    """Dead letters to revive, oldest first, and how.

    ``selection``: the group or filter that selected them. ``groups``: short names of their fingerprints, of which no
    other redrive may be running.
    """

    label: str
    schema: str
    action: str
    selection: str
    groups: tuple[str, ...]
    members: tuple[Member, ...]
    settings: Settings
    reason: str
    arguments: dict[str, Any] = {}

    @property
    def ids(self) -> list[str]:
        """Ids of the nodes, oldest first."""
        return [member.id for member in self.members]


class Run(Record):
    """A redrive that has begun, continued by this process.

    ``role``: the role that began it, "" if this process did.
    """

    plan: RedrivePlan
    fence: Fence
    who: str
    at: float
    role: str = ""


def revival_of(reader: Reader, dead_letter: DeadLetter) -> Revival | None:
    """Return how the engine revives a dead letter, or None."""
    return next(
        (
            revival
            for revival in reader.engine.spec.redrive.revivals
            if revival.kind == dead_letter.node.kind and dead_letter.fingerprint.startswith(revival.cause)
        ),
        None,
    )


def action_of(reader: Reader, dead_letters: Sequence[DeadLetter]) -> Action:
    """Return the action that revives these dead letters.

    Raises DatabaseError if there is none, or several, or if it is not available here.
    """
    spec = reader.engine.spec.redrive
    found: dict[str, Action] = {}
    for each in dead_letters:
        revival = revival_of(reader, each)
        if revival is None:
            why = spec.why or f"no action of this engine revives {each.fingerprint!r}"
            raise DatabaseError(f"{reader.label}: {why}.", "Nothing was changed.")
        action = reader.engine.action(revival.action, each.node.kind)
        if action is None:
            raise DatabaseError(f"{reader.label}: {revival.action} does not exist here.", "Nothing was changed.")
        found[action.name] = action
    if len(found) != 1:
        names = " or ".join(sorted(found)) or "none"
        raise DatabaseError(
            f"{reader.label}: one action must revive all of them, but these need {names}.",
            "Nothing was changed. Select one group, or one kind of node.",
        )
    action = next(iter(found.values()))
    available = reader.availability(action, bulk=len(dead_letters) > 1)
    if not available.ok:
        raise DatabaseError(f"{reader.label}: {action.name} is not possible here. {available.why}.")
    return action


async def plan_redrive(
    workspace: Workspace,
    label: str,
    dead_letters: Iterable[DeadLetter],
    selection: str,
    settings: Settings,
    reason: str,
    arguments: Mapping[str, Any],
) -> RedrivePlan:
    """Plan a redrive of these dead letters. Raises DatabaseError."""
    reader = current_reader(workspace, label)
    if workspace.no_redrive:
        raise DatabaseError(f"{workspace.no_redrive}.", "Nothing was changed.")
    chosen = {each.node.id: each for each in dead_letters}
    oldest = sorted(chosen.values(), key=lambda each: (each.since is None, each.since or 0.0, each.node.id))
    action = action_of(reader, oldest)
    targets = {each.node.id: _target(reader, each) for each in oldest}
    signs = await read_signs(reader, list(targets.values()))
    members = []
    for each in oldest:
        sign = signs.get(targets[each.node.id])
        marks = dict.fromkeys((each.fingerprint, *(sign.marks if sign else ())))
        members.append(
            Member(
                id=each.node.id,
                version=each.node.version,
                title=each.node.title,
                target=targets[each.node.id],
                attempt=sign.attempt if sign else "",
                marks=tuple(marks),
            )
        )
    return RedrivePlan(
        label=reader.label,
        schema=reader.found.schema,
        action=action.name,
        selection=selection,
        groups=tuple(sorted({digest(each.fingerprint) for each in oldest})),
        members=tuple(members),
        settings=settings,
        reason=reason,
        arguments=dict(arguments),
    )


def _target(reader: Reader, dead_letter: DeadLetter) -> str:
    revival = revival_of(reader, dead_letter)
    node = dead_letter.node
    return node.job_id if revival is not None and revival.job and node.job_id is not None else node.id


async def read_signs(reader: Reader, targets: Sequence[str]) -> dict[str, Sign]:
    """Return the state of nodes that exist. Raises DatabaseError."""
    found: dict[str, Sign] = {}
    for start in range(0, len(targets), NODES_AT_ONCE):
        part = list(dict.fromkeys(targets[start : start + NODES_AT_ONCE]))
        nodes = (await reader.nodes(part)).nodes
        dead = {d.node.id: d for d in (await reader.dead(page=len(part), ids=part)).dead_letters}
        moved = await reader.moved(part)
        for node in nodes:
            death = dead.get(node.id)
            marks = ((death.fingerprint,) if death else ()) + ((fold(node.error),) if node.error else ())
            found[node.id] = Sign(
                phase=node.phase,
                attempt=attempt_of(node),
                dead=death is not None or node.phase is Phase.FAILED,
                marks=marks,
                moved=node.id in moved,
            )
    return found


def attempt_of(node: Node) -> str:
    """Return the text that tells this attempt of a node from the next."""
    known = (node.revision, node.attempts, node.changed_at)
    return node.version if all(value is None for value in known) else "|".join(map(str, known))


def first_part(workspace: Workspace, plan: RedrivePlan, ids: Iterable[str]) -> Plan:
    """Return the plan of the action for some of the nodes."""
    members = {member.id: member for member in plan.members}
    chosen = [members[i] for i in ids]
    return plan_versions(
        workspace, plan.label, plan.action, {m.id: m.version for m in chosen}, {m.id: m.title for m in chosen}
    )


async def preview(workspace: Workspace, plan: RedrivePlan, *, measures: bool) -> RedrivePreview:
    """Dry-run the first cohort. Raises DatabaseError."""
    cohorts = sizes(len(plan.members), plan.settings.cohorts)
    first = first_part(workspace, plan, plan.ids[: cohorts[0]])
    dry_run = await perform.dry_run(workspace, first, plan.reason, plan.arguments, measures=measures)
    return RedrivePreview(
        engine=plan.label,
        action=plan.action,
        selection=plan.selection,
        nodes=len(plan.members),
        cohorts=tuple(cohorts),
        budget=budget_text(plan.settings),
        pace=pace_text(plan.settings.pace),
        wait=plan.settings.wait,
        dry_run=dry_run,
    )


def budget_text(settings: Settings) -> str:
    """Return the budget as it is typed: ``3`` or ``10%``."""
    budget = settings.budget
    return str(budget.count) if budget.count is not None else f"{budget.percent:g}%"


def pace_text(pace: Pace | None) -> str:
    """Return the pace as it is typed, or ""."""
    return (
        ""
        if pace is None
        else f"{pace.nodes}/{next(unit for unit, seconds in UNITS.items() if seconds == pace.seconds)}"
    )


def event_entry(workspace: Workspace, plan: RedrivePlan, reason: str = "") -> AuditLogEntry:
    """Return the audit log entry of an event, without the event."""
    operator = audit_log.operator()
    return AuditLogEntry(
        id="",
        at=0.0,
        role=workspace.server.role,
        os_user=operator.os_user,
        host=operator.host,
        engine=plan.label,
        schema=plan.schema,
        action=redrive_log.NAME,
        reason=reason or plan.reason,
    )


async def begin(workspace: Workspace, plan: RedrivePlan) -> Run:
    """Write the beginning of a redrive.

    From then on another one of the same dead letters is refused. Raises DatabaseError.
    """
    process = uuid4().hex
    entry = event_entry(workspace, plan)
    event = {
        "action": plan.action,
        "arguments": plan.arguments,
        "selection": plan.selection,
        "groups": plan.groups,
        "nodes": len(plan.members),
        "settings": msgspec.to_builtins(plan.settings),
    }
    members = msgspec.to_builtins(plan.members)
    run = await redrive_log.begin(workspace.database, process, entry, event, members)
    who = redrive_log.who(msgspec.structs.asdict(entry))
    return Run(plan=plan, fence=Fence(run=run, process=process), who=who, at=await workspace.now())


async def load(workspace: Workspace, name: str) -> Run:
    """Load a redrive, to continue or end it. Raises DatabaseError, UnknownIdError."""
    if workspace.no_redrive:
        raise DatabaseError(f"{workspace.no_redrive}.")
    begun = await redrive_log.read(workspace.database, name)
    if begun is None:
        raise MissingError(f"There is no redrive {name}. `unstick redrive --list` lists them.")
    reader = next(
        (
            each
            for each in workspace.engines.values()
            if each.found.schema == begun.schema and each.engine.name == begun.label.partition("@")[0]
        ),
        None,
    )
    if reader is None:
        raise DatabaseError(f"The redrive {name} is about {begun.label}, which cannot be changed here.")
    kept = begun.redrive
    members = msgspec.json.decode(begun.members, type=dict[str, tuple[Member, ...]])["members"]
    plan = RedrivePlan(
        label=reader.label,
        schema=begun.schema,
        action=kept["action"],
        selection=kept["selection"],
        groups=tuple(kept["groups"]),
        members=tuple(
            msgspec.structs.replace(m, id=named(reader, m.id), target=named(reader, m.target)) for m in members
        ),
        settings=msgspec.convert(kept["settings"], Settings),
        reason=begun.reason,
        arguments=kept["arguments"],
    )
    fence = Fence(run=begun.id, process=uuid4().hex)
    return Run(plan=plan, fence=fence, who=begun.who, at=begun.at, role=begun.role)


async def check_author(workspace: Workspace, run: Run, action: Action) -> None:
    """Refuse to continue a redrive that the role that began it could not run itself.

    Raises DatabaseError.
    """
    reader = workspace.named(run.plan.label)
    async with workspace.database.reading() as transaction:
        why = await undo_rights.redrive_doubts(transaction, reader, run.role, action.privileges)
    if why:
        raise DatabaseError(f"The redrive {run.fence.run} is not continued: {why}.", "Nothing was changed.")


def named(reader: Reader, node_id: str) -> str:
    """Return an id with the present label of its engine."""
    return f"{reader.label}/{reader.local(node_id)}"


async def redrives(workspace: Workspace, most: int) -> Redrives:
    """Return redrives, newest first. Raises DatabaseError."""
    if workspace.no_redrive:
        raise DatabaseError(f"{workspace.no_redrive}.")
    found = await redrive_log.newest(workspace.database, most)
    return Redrives(
        redrives=tuple(
            RedriveReport(
                run=each.begun.id,
                engine=each.begun.label,
                action=each.begun.redrive["action"],
                selection=each.begun.redrive["selection"],
                reason=each.begun.reason,
                who=each.begun.who,
                at=each.begun.at,
                state="open" if each.ended is None else each.ended["reason"],
                nodes=each.begun.redrive["nodes"],
                revived=each.revived,
                answers={} if each.ended is None else msgspec.convert(each.ended["answers"], dict[Answer, int]),
            )
            for each in found
        )
    )


def report(run: Run, state: Redrive, step: Step | None, durability: Durability | None = None) -> RedriveReport:
    """Return the state of a redrive, as a screen or a script reads it."""
    asks = isinstance(step, Ask)
    ended = step if isinstance(step, Ended) else state.ended
    return RedriveReport(
        run=run.fence.run,
        engine=run.plan.label,
        action=run.plan.action,
        selection=run.plan.selection,
        reason=run.plan.reason,
        who=run.who,
        at=run.at,
        state=ended.reason if ended else "asking" if asks else "running",
        nodes=len(run.plan.members),
        revived=len(state.answers),
        question=step.question if isinstance(step, Ask) else "",
        asked_ids=step.ids if isinstance(step, Ask) else (),
        cohorts=tuple(
            CohortReport(
                size=len(ids),
                revived=sum(i in state.answers for i in ids),
                skipped=sum(i in state.skipped for i in ids),
                answers=dict(state.counts(number)),
            )
            for number, ids in enumerate(state.cohorts)
        ),
        # What ended it has been recorded as numbers only.
        answers=dict(ended.answers if ended else Counter(state.answers.values())),
        skipped=tuple(state.skipped.values()),
        durability=durability,
    )
