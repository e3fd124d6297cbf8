"""Redrives: what revives dead letters, their answers, the plan, the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from queries.change import colleagues, perform
from queries.change.plan import Plan, current_reader, plan_versions
from queries.change.run import Beginning, Run, RunPlan, part_of
from queries.change.state import UNITS, Do, Pace, RedriveSettings, State, Step, sizes
from queries.contract.spec import KEYS, Action
from queries.db.errors import DatabaseError
from queries.read.dead_letters import digest, fold, summarized
from queries.read.nodes import NODES_AT_ONCE
from queries.read.reader import Reader
from queries.records.action import Answer, least_certain
from queries.records.dead_letter import DeadLetter
from queries.records.node import Node, Phase
from queries.records.record import Record
from queries.records.run import REDRIVE, CohortReport, RedrivePreview, RedriveReport, WatchedMember
from queries.text.instant import unknown_last
from queries.workspace import Workspace

FIRST = 25  # dead letters that are revived at once where the audit log cannot hold a redrive


def oldest(dead_letters: Iterable[DeadLetter]) -> list[DeadLetter]:
    """Return dead letters, the oldest first."""
    return sorted(dead_letters, key=lambda each: (unknown_last(each.since), each.node.id))


def at_once(workspace: Workspace, action: Action, dead_letters: Iterable[DeadLetter]) -> Plan:
    """Return the plan of a plain change of the oldest ones. Raises DatabaseError."""
    first = [each.node for each in oldest(dead_letters)[:FIRST]]
    titles = {node.id: node.title for node in first}
    plan = plan_versions(workspace, first[0].engine, action.name, {n.id: n.version for n in first}, titles)
    return msgspec.structs.replace(plan, nodes=tuple(first))


def revival_of(reader: Reader, dead_letter: DeadLetter) -> str:
    """Return the name of the action that revives a dead letter, or ""."""
    return reader.engine.spec.revival(dead_letter.node.kind, dead_letter.fingerprint)


def action_of(reader: Reader, dead_letters: Sequence[DeadLetter]) -> Action:
    """Return the action that revives these dead letters.

    Raises DatabaseError if there is none, or several, or if it is not available here.
    """
    actions: dict[str, Action] = {}
    for each in dead_letters:
        revival = revival_of(reader, each)
        if not revival:
            why = f"no action of this engine revives {each.fingerprint!r}"
            raise DatabaseError(f"{reader.label}: {why}.", "Nothing was changed.")
        action = reader.engine.action(revival, each.node.kind)
        if action is None:
            raise DatabaseError(f"{reader.label}: {revival} does not exist here.", "Nothing was changed.")
        actions[action.name] = action
    if len(actions) != 1:
        names = " or ".join(sorted(actions)) or "none"
        raise DatabaseError(
            f"{reader.label}: one action must revive all of them, but these need {names}.",
            "Nothing was changed. Select one group, or one kind of node.",
        )
    action = next(iter(actions.values()))
    available = reader.availability(action, bulk=len(dead_letters) > 1)
    if not available.ok:
        raise DatabaseError(f"{reader.label}: {action.name} is not possible here. {available.why}.")
    return action


async def plan_redrive(
    workspace: Workspace,
    label: str,
    dead_letters: Iterable[DeadLetter],
    selection: str,
    settings: RedriveSettings,
    reason: str,
    arguments: Mapping[str, Any],
) -> RunPlan:
    """Plan a redrive of these dead letters. Raises DatabaseError."""
    reader = current_reader(workspace, label)
    if workspace.audit_log.no_runs:
        raise DatabaseError(f"A redrive cannot begin: {workspace.audit_log.no_runs}.", "Nothing was changed.")
    by_id = {each.node.id: each for each in dead_letters}
    dead = oldest(by_id.values())
    action = action_of(reader, dead)
    targets = {each.node.id: _target(reader, each) for each in dead}
    signs = await read_signs(reader, list(targets.values()))
    members = []
    for each in dead:
        sign = signs.get(targets[each.node.id])
        marks = dict.fromkeys((each.fingerprint, *(sign.marks if sign else ())))
        members.append(
            WatchedMember(
                id=each.node.id,
                version=each.node.version,
                title=each.node.title,
                target=targets[each.node.id],
                attempt=sign.attempt if sign else "",
                marks=tuple(marks),
            )
        )
    most, *rest = summarized(dead)
    others = len(rest)
    beginning = Beginning(
        kind=REDRIVE,
        action=action.name,
        nodes=len(members),
        arguments=dict(arguments),
        selection=f"{selection}: {most.text}" + (f" and {others} other errors" if others else ""),
        groups=tuple(sorted({digest(each.fingerprint) for each in dead})),
        settings=settings,
    )
    return RunPlan(
        label=reader.label,
        schema=reader.detected.schema,
        reason=reason,
        members=tuple(members),
        beginning=beginning,
    )


def _target(reader: Reader, dead_letter: DeadLetter) -> str:
    """Return the node to watch.

    An action of the engine's own may revive the node's job instead of the node.
    """
    node = dead_letter.node
    return node.job_id if node.job_id is not None and revival_of(reader, dead_letter) not in KEYS else node.id


class Sign(Record):
    """State of a node that a redrive watches."""

    phase: Phase
    attempt: str
    dead: bool
    marks: tuple[str, ...] = ()
    moved: bool = False


def judge(member: WatchedMember, sign: Sign | None, marks: Collection[str], *, gone: Answer) -> Answer:
    """Return the answer of a revived node.

    ``sign`` None: it does not exist any more, which means ``gone`` in its engine. ``marks``: those of all members.
    A death with the attempt of the first one is no new death.
    """
    if sign is None:
        return gone
    if sign.dead:
        if sign.attempt == member.attempt:
            return Answer.NO_ANSWER
        return Answer.SAME_DEATH if any(mark in marks for mark in sign.marks) else Answer.OTHER_DEATH
    if sign.phase is Phase.DONE:
        return Answer.FINISHED
    if sign.phase is Phase.CANCELLED:
        return Answer.UNKNOWN
    if sign.moved:
        return Answer.MOVED_ON
    return Answer.ALIVE if sign.phase is Phase.RUNNING else Answer.NO_ANSWER


async def read_signs(reader: Reader, targets: Sequence[str]) -> dict[str, Sign]:
    """Return the state of nodes that exist. Raises DatabaseError."""
    signs: dict[str, Sign] = {}
    for start in range(0, len(targets), NODES_AT_ONCE):
        part = list(dict.fromkeys(targets[start : start + NODES_AT_ONCE]))
        nodes = (await reader.nodes.read(part)).nodes
        dead = {d.node.id: d for d in (await reader.pages.dead(limit=len(part), ids=part)).dead_letters}
        moved = await reader.nodes.moved(part)
        for node in nodes:
            death = dead.get(node.id)
            marks = ((death.fingerprint,) if death else ()) + ((fold(node.error),) if node.error else ())
            signs[node.id] = Sign(
                phase=node.phase,
                attempt=attempt_of(node),
                dead=death is not None or node.phase is Phase.FAILED,
                marks=marks,
                moved=node.id in moved,
            )
    return signs


async def read_answers(reader: Reader, plan: RunPlan, ids: Collection[str]) -> dict[str, Answer]:
    """Return the answers of revived nodes. Raises DatabaseError."""
    marks = frozenset(mark for member in plan.watched for mark in member.marks)
    members = [member for member in plan.watched if member.id in ids]
    signs = await read_signs(reader, [member.target for member in members])
    hidden = reader.detected.policies  # a policy may hide a row that exists
    gone = Answer.FINISHED if reader.engine.spec.deletes and not hidden else Answer.UNKNOWN
    return {m.id: judge(m, signs.get(m.target), marks, gone=gone) for m in members}


def attempt_of(node: Node) -> str:
    """Return the text that tells this attempt of a node from the next."""
    values = (node.revision, node.attempts, node.changed_at)
    return node.version if all(value is None for value in values) else "|".join(map(str, values))


async def preview(workspace: Workspace, plan: RunPlan, *, measures: bool) -> RedrivePreview:
    """Dry-run the first cohort. Raises DatabaseError."""
    settings = plan.beginning.settings
    assert settings is not None
    cohorts = sizes(len(plan.members), settings.cohorts)
    first = part_of(workspace, plan, plan.ids[: cohorts[0]])
    dry_run = await perform.dry_run(workspace, first, plan.reason, plan.beginning.arguments, measures=measures)
    budget = settings.budget
    return RedrivePreview(
        engine=plan.label,
        action=plan.action,
        selection=plan.beginning.selection,
        nodes=len(plan.members),
        cohorts=tuple(cohorts),
        budget=str(budget.count) if budget.count is not None else f"{budget.percent:g}%",
        pace=pace_text(settings.pace),
        wait=settings.wait,
        dry_run=msgspec.structs.replace(dry_run, in_runs=await colleagues.runs_with(workspace, plan.ids)),
    )


def pace_text(pace: Pace | None) -> str:
    """Return the pace as it is typed, or ""."""
    if pace is None:
        return ""
    return f"{pace.nodes}/{next(unit for unit, seconds in UNITS.items() if seconds == pace.seconds)}"


def report(run: Run, state: State, step: Step | None) -> RedriveReport:
    """Return the state of a redrive, as a screen or a script reads it."""
    ask = step if step is not None and step.do is Do.ASK else None
    ended = state.ended or (step.event if step is not None and step.do is Do.END else None)
    answers: dict[str, Any] = dict(ended.answers if ended else Counter(state.answers.values()))
    skipped = state.skipped
    names = {result.id for result in skipped}
    return RedriveReport(
        run=run.log.id,
        engine=run.plan.label,
        action=run.plan.action,
        selection=run.plan.beginning.selection,
        reason=run.plan.reason,
        who=run.begun.who,
        at=run.begun.at,
        state=str(ended.reason) if ended else "asking" if ask else "running",
        nodes=len(run.plan.members),
        revived=len(state.answers),
        question="" if ask is None else str(ask.question),
        asked_ids=() if ask is None else ask.ids,
        cohorts=tuple(
            CohortReport(
                size=len(ids),
                revived=sum(i in state.answers for i in ids),
                skipped=sum(i in names for i in ids),
                answers=dict(state.counts(number)),
            )
            for number, ids in enumerate(state.parts)
        ),
        answers=msgspec.convert(answers, dict[Answer, int]),  # what ended it has been recorded as numbers only
        skipped=tuple(skipped),
        durability=least_certain(state.durable),
        durable=dict(state.durable),
    )
