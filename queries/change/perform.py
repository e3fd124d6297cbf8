"""Write path of every change: dry run and commit of a plan.

A plan becomes requests, one for each SQL script, and each request one transaction. If some nodes make it fail, these
are found by halving and skipped with the reason. The others go on.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from queries.change import blast_radius, colleagues, signals
from queries.change import plan as plans
from queries.change.admit import POLICY
from queries.change.gate import UnshownError
from queries.change.plan import (
    UNDO,
    Plan,
    check_storable,
    current_reader,
    plan_versions,
)
from queries.change.script import GuardMissedError, Request
from queries.change.transaction import Script, outcome_of, script_of, transact, unchanged
from queries.contract.server_spec import LABEL
from queries.db.errors import (
    NO_CONNECTION,
    ConflictError,
    DatabaseError,
    DeniedError,
    LockedError,
    OvertakenError,
    ReadOnlyError,
    SlowError,
    TableLockedError,
    UnencodableError,
    attempting,
)
from queries.log import audit_log
from queries.log.run_log import OpenRun
from queries.records.action import Change, Outcome, Undo, merged
from queries.workspace import Workspace

PART_SECONDS = 10.0  # for a part, including the halving that finds the nodes that make it fail
_FULL = "53"  # class of SQLSTATE: the server has no disk space, memory or connection left


async def dry_run(
    workspace: Workspace, plan: Plan, reason: str, arguments: Mapping[str, Any], *, measures: bool = False
) -> Change:
    """Run the action's SQL on the plan's nodes and roll it back.

    Of more than 500 nodes, the first 500 are dry-run. ``measures``: also measure the blast radius. Raises DatabaseError
    if the server cannot be queried.
    """
    check_storable(reason, arguments)
    operator = audit_log.operator()
    if plan.label == LABEL:
        return await signals.dry_run(workspace, plan, reason)
    if workspace.database.why_read_only():  # the cached state may be old: a standby may have been promoted
        await workspace.database.renew()
        renewed = plan_versions(workspace, plan.label, plan.name, plan.versions)
        plan = msgspec.structs.replace(plan, actions=renewed.actions, refused=renewed.refused)
    first = list(plan.versions)[: plans.PART_NODES]
    done: list[Change] = []
    measured: list[blast_radius.Measured] | None = [] if measures else None
    for request in _requests(workspace, plan, first, reason, arguments, operator, measured=measured):
        await _attempt(workspace, request, done)
    refused = Change(results=tuple(plan.refused[i] for i in first if i in plan.refused))
    every = merged(await colleagues.with_entries(workspace, [*done, refused]))
    skipped = plan.refused.keys() | {r.id for r in every.results if r.outcome is not Outcome.CHANGED}
    return msgspec.structs.replace(
        every,
        in_runs=await colleagues.runs_with(workspace, plan.versions.keys() - skipped),
        engine=plan.label,
        action=plan.name,
        reason=reason,
        arguments=dict(arguments),
        operator=operator.name,
        changes=tuple(row.read(each.at) for each in done for row in each.changes),
        versions=dict(plan.versions),
        at=every.at or time.time(),  # there is no server time if all were refused
        audit_log=workspace.audit_log.place,
        titles=plan.titles,
        blast_radius=await blast_radius.settled(current_reader(workspace, plan.label), measured) if measured else None,
        edit=plan.edit,
        undoes=plan.undoes,
    )


async def commit_part(
    workspace: Workspace,
    dry_run: Change,
    operator: audit_log.Operator,
    *,
    plan: Plan | None = None,
    run: OpenRun | None = None,
    cohort: int | None = None,
) -> list[Change]:
    """Commit what was dry-run, in one transaction for each SQL script.

    Return the change of each transaction, and of nodes that none has; those without an ``xid`` have no entry.
    ``plan``: of these nodes and others. ``run``: that it is a part of, and its ``cohort``.
    Errors become outcomes, but for OvertakenError: another console has the lock of the run, and nothing was sent. If
    that is so after the first transaction, the other nodes have no outcome.
    """
    skipped = {r.id: r for r in dry_run.results if r.outcome is not Outcome.CHANGED and r.id in dry_run.versions}
    versions = {i: version for i, version in dry_run.versions.items() if i not in skipped}
    plan = plan or plan_versions(workspace, dry_run.engine, dry_run.action, versions, dry_run.titles)
    skipped |= {i: plan.refused[i] for i in versions if i in plan.refused} if plan.refused else {}
    done = [Change(results=tuple(skipped.values()))]
    more = {"seen": dry_run, "run": run, "cohort": cohort}
    try:
        for request in _requests(workspace, plan, versions, dry_run.reason, dry_run.arguments, operator, **more):
            await _attempt(workspace, request, done)
    except OvertakenError:
        if len(done) == 1:
            raise
    return [done[0], *await colleagues.with_entries(workspace, done[1:])]  # the first was named by the dry run


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
        given = {"entry": next(iter(versions.values()))} if action.name == UNDO.name else arguments
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


async def _attempt(workspace: Workspace, request: Request, done: list[Change], until: float | None = None) -> None:
    """Run one transaction, and add its change to ``done``.

    If some nodes make it fail, halve the nodes until only these are skipped.
    ``until``: monotonic time after which nodes are not halved. Raises OvertakenError, and in a dry run DatabaseError.
    """
    seconds = None if until is None else until - time.monotonic()
    until = until or time.monotonic() + PART_SECONDS
    script = script_of(request)
    try:
        done.append(await transact(workspace, script, request, seconds))
    except (GuardMissedError, UnshownError) as error:
        reasons = _missed(script, error) if isinstance(error, GuardMissedError) else _unshown(request, error)
        for node_id, (outcome, why) in reasons.items():
            done.append(unchanged(request.of([node_id]), outcome, why))
        rest = request.of(i for i in request.versions if i not in reasons)
        if rest.versions:
            await _attempt(workspace, rest, done, until)
    except TableLockedError as error:
        done.append(unchanged(request, Outcome.LOCKED, error.line))
    except OvertakenError:
        raise
    except DatabaseError as error:
        lost = isinstance(error, (ReadOnlyError, *NO_CONNECTION))
        denied = isinstance(error, DeniedError) and not lost
        narrows = not lost and _narrows(script, error)
        outcome = outcome_of(error, request.reader.engine.spec.stale_by)
        if narrows and len(request.versions) > 1 and time.monotonic() < until:
            ids = sorted(request.versions)
            for half in (request.of(ids[: len(ids) // 2]), request.of(ids[len(ids) // 2 :])):
                if time.monotonic() < until:
                    await _attempt(workspace, half, done, until)
                else:
                    done.append(unchanged(half, outcome, error.unchanged_line))
            return
        if request.seen is None and not (denied or narrows or error.code.startswith(_FULL)):
            raise
        why = _denial(script, error) if denied else await _link(workspace, error) + error.unchanged_line
        # ``lost``: of a run, whose other parts may be changed
        done.append(unchanged(request, outcome, why, error.line if lost else ""))


async def _link(workspace: Workspace, error: DatabaseError) -> str:
    """Return that the link is slow, if that may be why the time was over, or ""."""
    if isinstance(error, SlowError):
        with attempting():
            return await workspace.database.slow_link()
    return ""


def _narrows(script: Script, error: DatabaseError) -> bool:
    """Return True if single nodes may have caused the error.

    The others can then continue. Class 22: invalid value.
    """
    if isinstance(error, DeniedError):
        return bool(script.nodes.policies)
    of_a_value = error.code.startswith("22") and not isinstance(error, UnencodableError)  # the reason is that of all
    return isinstance(error, LockedError | ConflictError | SlowError) or of_a_value


def _denial(script: Script, error: DatabaseError) -> str:
    """Return why a policy or a missing privilege stopped a transaction."""
    needed = f"The action needs {', '.join(script.action.privileges)}, and INSERT on the audit log."
    policies = f"row-level policy or missing privilege: {error.line}"
    return policies if script.nodes.policies else f"{error.line} {needed}"


def _missed(script: Script, error: GuardMissedError) -> dict[str, tuple[Outcome, str]]:
    """Return why nodes were not reached."""
    outcome, why = Outcome.STALE, "it changed during the statement"
    if script.nodes.policies:  # another writer is unlikely: the row was locked at its version
        outcome, why = Outcome.DENIED, f"{POLICY}, or {why}"
    return {i: (Outcome.REFUSED, error.whys[i]) if i in error.whys else (outcome, why) for i in error.missed}


def _unshown(request: Request, error: UnshownError) -> dict[str, tuple[Outcome, str]]:
    """Return why nodes are not changed: the transaction did what was not shown."""
    stopped = (i for i in request.versions if i in error.nodes or not error.nodes)
    return {i: (Outcome.CONFLICT, error.nodes.get(i, error.unchanged_line)) for i in stopped}
