"""Write path of every change: dry run and commit of a plan.

A plan becomes requests, one for each SQL script, and their attempts become a dry run or outcomes.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from queries.actions import parts, signals
from queries.actions.attempt import Attempt
from queries.actions.narrow import attempt_all
from queries.actions.plan import Plan, current_reader, plan_versions
from queries.actions.storable import check_encoding, check_storable
from queries.contract.server_spec import LABEL
from queries.db.errors import OvertakenError
from queries.records.action import (
    DryRun,
    OtherRows,
    Outcome,
    Outcomes,
    Result,
    Undo,
    least_certain,
)
from queries.records.record import Record
from queries.workspace import Workspace
from queries.write import audit_log, blast_radius, gate, undo
from queries.write.request import Request
from queries.write.run_log import OpenRun


async def dry_run(
    workspace: Workspace, plan: Plan, reason: str, arguments: Mapping[str, Any], *, measures: bool = False
) -> DryRun:
    """Run the action's SQL on the plan's nodes and roll it back.

    Of more than 500 nodes, the first 500 are dry-run. ``measures``: also measure the blast radius. Raises DatabaseError
    if the server cannot be queried.
    """
    check_storable(reason, arguments)
    operator = audit_log.operator()
    await check_encoding(workspace, reason, arguments, operator)
    if plan.label == LABEL:
        return await signals.dry_run(workspace, plan, reason)
    if workspace.database.why_read_only():  # the cached state may be old: a standby may have been promoted
        await workspace.database.renew()
        renewed = plan_versions(workspace, plan.label, plan.name, plan.versions)
        plan = msgspec.structs.replace(plan, actions=renewed.actions, refused=renewed.refused)
    first = list(plan.versions)[: parts.PART_NODES]
    transactions: list[Attempt] = []
    for request in _requests(workspace, plan, first, reason, arguments, operator, measures=measures):
        await attempt_all(workspace, request, transactions)
    effects = [attempt.effect for attempt in transactions]
    measured = [effect.measured for effect in effects if effect.measured is not None]
    results = [result for attempt in transactions for result in attempt.results()]
    refused = [plan.refused[i] for i in first if i in plan.refused]
    return DryRun(
        engine=plan.label,
        action=plan.name,
        reason=reason,
        operator=operator.name,
        arguments=dict(arguments),
        results=tuple(sorted((*results, *refused), key=lambda r: r.id)),
        changes=tuple(c.read(attempt.at) for attempt in transactions for c in attempt.effect.changes),
        versions=dict(plan.versions),
        row_digests={i: digest for effect in effects for i, digest in effect.row_digests.items()},
        # There is no server time if all were refused.
        at=max((attempt.at for attempt in transactions), default=0.0) or time.time(),
        audit_log=workspace.audit_log.place,
        for_now=tuple(i for attempt in transactions for i in attempt.nodes.for_now),
        steady={i: text for each in transactions for i, text in each.nodes.steady.items()},
        titles=plan.titles,
        blast_radius=await blast_radius.settled(current_reader(workspace, plan.label), measured) if measured else None,
        irreversible={i: why for attempt in transactions for i, why in attempt.irreversible.items()},
        edit=plan.edit,
        undoes=plan.undoes,
        others=_summed(other for effect in effects for other in effect.others),
        uncounted=not all(effect.counted for effect in effects),
        held=max((effect.held for effect in effects), default=0.0),
    )


def _summed(others: Iterable[OtherRows]) -> tuple[OtherRows, ...]:
    """Return the rows of other tables of several transactions, once for each table."""
    sums: dict[str, OtherRows] = {}
    for other in others:
        was = sums.get(other.table, OtherRows(table=other.table))
        numbers = {name: getattr(was, name) + getattr(other, name) for name in gate.WORDS}
        sums[other.table] = msgspec.structs.replace(other, **numbers)
    return tuple(sums[table] for table in sorted(sums))


class PartOutcomes(Record):
    """Outcomes of a part of a change.

    ``unrecorded``: skipped nodes that no audit log entry names. ``lost``: why the server was lost before nodes changed,
    which can be tried again; or "".
    """

    outcomes: Outcomes
    unrecorded: tuple[Result, ...]
    lost: str


async def commit_part(
    workspace: Workspace,
    dry_run: DryRun,
    operator: audit_log.Operator,
    *,
    plan: Plan | None = None,
    run: OpenRun | None = None,
    cohort: int | None = None,
) -> PartOutcomes:
    """Commit what was dry-run, in one transaction for each SQL script.

    ``plan``: of these nodes and others. ``run``: that it is a part of, and its ``cohort``.
    Errors become outcomes, but for OvertakenError: another console has the lock of the run, and nothing was sent. If
    that is so after the first transaction, the other nodes have no outcome.
    """
    skipped = {r.id: r for r in dry_run.results if r.outcome is not Outcome.CHANGED and r.id in dry_run.versions}
    versions = {i: version for i, version in dry_run.versions.items() if i not in skipped}
    plan = plan or plan_versions(workspace, dry_run.engine, dry_run.action, versions, dry_run.titles)
    skipped |= {i: plan.refused[i] for i in versions if i in plan.refused} if plan.refused else {}
    transactions: list[Attempt] = []
    more = {"seen": dry_run, "run": run, "cohort": cohort}
    try:
        for request in _requests(workspace, plan, versions, dry_run.reason, dry_run.arguments, operator, **more):
            await attempt_all(workspace, request, transactions)
    except OvertakenError:
        if not transactions:
            raise
    return _part(workspace, skipped.values(), transactions)


def _requests(
    workspace: Workspace,
    plan: Plan,
    ids: Iterable[str],
    reason: str,
    arguments: Mapping[str, Any],
    operator: audit_log.Operator,
    **more: Any,
) -> Iterator[Request]:
    """Yield one request for each SQL script of the plan, with its nodes of ``ids``.

    An undo has one request for each entry. ``more``: of the request.
    """
    reader = current_reader(workspace, plan.label)
    for action, versions in plan.by_script(ids):
        given = {"entry": next(iter(versions.values()))} if action.name == undo.NAME else arguments
        no_images = action.undo_note if action.undo in (Undo.NONE, None) else workspace.audit_log.no_images
        yield Request(
            reader=reader,
            action=action,
            reason=reason,
            arguments=given,
            operator=operator,
            versions=versions,
            titles={i: plan.titles[i] for i in versions if i in plan.titles},
            no_images=no_images,
            keeps_values=workspace.audit_log.keeps_values,
            **more,
        )


def _part(workspace: Workspace, skipped: Iterable[Result], transactions: Sequence[Attempt]) -> PartOutcomes:
    """Return the outcomes of attempts and of nodes that were skipped before."""
    commits = [attempt.commit for attempt in transactions if attempt.commit is not None]
    unrecorded = (*skipped, *(r for attempt in transactions if attempt.commit is None for r in attempt.results()))
    recorded = (r for attempt in transactions if attempt.commit is not None for r in attempt.results())
    results = sorted((*unrecorded, *recorded), key=lambda r: r.id)
    outcomes = Outcomes(
        results=tuple(results),
        changes=tuple(c for attempt in transactions if attempt.was_shown for c in attempt.effect.changes),
        xid=" ".join(commit.xid for commit in commits) or None,
        audit_log=workspace.audit_log.place if commits else None,
        entries=tuple(commit.entry for commit in commits if commit.entry),
        for_now=tuple(i for attempt in transactions for i in attempt.nodes.for_now),
        durability=least_certain(commit.durability for commit in commits),
        logged=sum(
            len(attempt.nodes.remaining)
            for attempt in transactions
            if attempt.commit is not None and not attempt.was_shown
        ),
    )
    lost = next((attempt.lost for attempt in transactions if attempt.lost), "")
    return PartOutcomes(outcomes=outcomes, unrecorded=unrecorded, lost=lost)
