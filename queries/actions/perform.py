"""Write path of every change: dry run and commit.

The sections of an action run in one short READ COMMITTED transaction. ``lock`` locks the rows with SKIP LOCKED and
returns their versions. ``refused`` returns nodes that the action does not apply to. ``rows`` copies the rows that will
change. ``change`` changes them and checks the versions again in its WHERE. ``rows`` copies the rows once more. A dry
run then rolls back. A commit compares the first copy with the dry run's. Nodes that cannot change are skipped, each
with its reason; the others continue.

If an action has ``waits``, a ``refused`` row may have ``for_now``: an executor is running the node, and
:mod:`queries.runs` can try again. The ``steady`` text of the node's ``lock`` row must not change during that
wait. ``rows`` may take ``copied``, the keys of the first copy, to find rows that were reached through a deleted row.

An action that takes work from an owner may have ``witnesses``: one row for each sign of life or death of the owner,
with ``id, witness, verdict, detail``, where the verdict is ``dead``, ``alive`` or ``unknown``; ``since`` may say when
the owner took the node. The dry run shows them. The commit reads them again, writes them to the audit log, and skips a
node whose owner has shown a sign of life since. ``dry_run`` is the time of the dry run; NULL in the dry run itself.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import groupby
from typing import Any

import msgspec

from queries.actions import signals
from queries.actions.plan import Plan, current_reader, plan_versions, recorded
from queries.contract.engine import Engine
from queries.contract.server_spec import LABEL
from queries.contract.spec import Action
from queries.db.database import Transaction
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
)
from queries.db.shared_sql import statement
from queries.records.action import (
    DryRun,
    Durability,
    OtherRows,
    Outcome,
    Outcomes,
    Owner,
    Result,
    RowChange,
    Undo,
    least_certain,
)
from queries.records.audit import OTHERS, RUN, AuditLogEntry
from queries.records.record import Record
from queries.workspace import Workspace
from queries.write import audit_log, blast_radius, commit_status, gate, transaction_mark, undo
from queries.write.action_transaction import (
    POLICY,
    ActionTransaction,
    Committed,
    GuardMissedError,
    Kept,
    Request,
    Seen,
    unchanged,
)
from queries.write.bulk_transaction import BulkTransaction, IrregularError
from queries.write.run_log import OpenRun

CHUNK_NODES = 500
LARGE = 2  # times as many nodes if their rows stay on the server, which takes half of the time for each
NARROWING = 10.0  # seconds for a chunk, including the halving that finds the nodes that make it fail

_FULL = "53"  # class of SQLSTATE: the server has no disk space, memory or connection left
UNCHANGED = "Nothing was changed."
UNREPLICATED = (
    "committed on this server, but not confirmed by a synchronous standby (synchronous_standby_names: {standbys}): a "
    "failover may lose it"
)
UNANSWERED = (
    "committed on this server, but the answer was lost, so confirmation by a synchronous standby "
    "(synchronous_standby_names: {standbys}) is unknown: a failover may lose it"
)


async def dry_run(
    workspace: Workspace, plan: Plan, reason: str, arguments: Mapping[str, Any], *, measures: bool = False
) -> DryRun:
    """Run the action's SQL on the plan's nodes and roll it back.

    Of more than 500 nodes, the first 500 are dry-run. ``measures``: also measure the blast radius. Raises DatabaseError
    if the server cannot be queried.
    """
    check_storable(reason, arguments)
    operator = audit_log.operator()
    await _check_encoding(workspace, reason, arguments, operator)
    if plan.label == LABEL:
        return await signals.dry_run(workspace, plan, reason)
    if workspace.database.why_read_only():  # the cached state may be old: a standby may have been promoted
        await workspace.renew()
        renewed = plan_versions(workspace, plan.label, plan.name, plan.versions)
        plan = msgspec.structs.replace(plan, actions=renewed.actions, refused=renewed.refused)
    first = list(plan.versions)[:CHUNK_NODES]
    requests = _requests(workspace, plan, first, reason, arguments, operator, Seen())
    parts = [
        part
        for request, versions in requests
        for part in await _attempt(
            workspace, msgspec.structs.replace(request, measures=measures), versions, commit=False
        )
    ]
    measured = [part.measured for part in parts if part.measured is not None]
    done = [result for part in parts for result in part.results()]
    refused = [plan.refused[i] for i in first if i in plan.refused]
    return DryRun(
        engine=plan.label,
        action=plan.name,
        reason=reason,
        operator=operator.name,
        arguments=dict(arguments),
        results=tuple(sorted((*done, *refused), key=lambda r: r.id)),
        changes=tuple(change for part in parts for change in part.changes),
        versions=dict(plan.versions),
        row_digests={i: digest for part in parts for i, digest in part.row_digests.items()},
        at=max((part.at for part in parts), default=0.0) or time.time(),  # no server time if all nodes were refused
        audit_log=workspace.audit_log_place,
        for_now=tuple(i for part in parts for i in part.for_now),
        steady={i: text for part in parts if part.action.waits for i, text in part.steady.items()},
        titles=plan.titles,
        blast_radius=await blast_radius.settled(current_reader(workspace, plan.label), measured) if measured else None,
        irreversible={i: why for part in parts for i, why in part.irreversible.items()},
        edit=plan.edit,
        undoes=plan.undoes,
        others=_summed(other for part in parts for other in part.others),
        uncounted=not all(part.counted for part in parts),
        held=max((part.held for part in parts), default=0.0),
    )


def _summed(others: Iterable[OtherRows]) -> tuple[OtherRows, ...]:
    """Return the rows of other tables of several transactions, once for each table."""
    found: dict[str, OtherRows] = {}
    for other in others:
        was = found.get(other.table, OtherRows(table=other.table))
        numbers = {name: getattr(was, name) + getattr(other, name) for name in gate.WORDS}
        found[other.table] = msgspec.structs.replace(other, **numbers)
    return tuple(found[table] for table in sorted(found))


def _shown(dry_run: DryRun) -> gate.Shown:
    """Return what the commit is compared with."""
    changes: dict[str, list[RowChange]] = {}
    for change in dry_run.changes:
        changes.setdefault(change.id, []).append(change)
    nodes = frozenset(r.id for r in dry_run.results if r.outcome is Outcome.CHANGED)
    return gate.Shown(nodes=nodes, changes=changes, others=dry_run.others, operator=dry_run.operator)


class Part(Record):
    """Outcomes of a part of a change.

    ``left``: unchanged nodes to try again, with their versions: the server was lost before they changed. ``error_text``
    is the reason, or why outcomes are unknown. ``unrecorded``: skipped nodes that no audit log entry names.
    """

    outcomes: Outcomes
    left: dict[str, str]
    unrecorded: tuple[Result, ...] = ()
    error_text: str = ""


async def commit_part(
    workspace: Workspace,
    dry_run: DryRun,
    operator: audit_log.Operator,
    *,
    plan: Plan | None = None,
    over: str = "write",
    run: OpenRun | None = None,
    part: int | None = None,
) -> Part:
    """Commit what was dry-run, in one transaction for each SQL script.

    ``plan``: of these nodes and others. ``over``: the connection. ``run``: the run that it is a part of; ``part``: its
    number in a redrive. Errors become outcomes, but for OvertakenError: another console continues the run.
    """
    skipped = {r.id: r for r in dry_run.results if r.outcome is not Outcome.CHANGED and r.id in dry_run.versions}
    versions = {i: version for i, version in dry_run.versions.items() if i not in skipped}
    seen = Seen(
        row_digests=dry_run.row_digests,
        verdicts={r.id: r.owner.verdict for r in dry_run.results if isinstance(r.owner, Owner)},
        at=dry_run.at,
        shown=_shown(dry_run),
        steady=dry_run.steady if dry_run.waited else None,
    )
    plan = plan or plan_versions(workspace, dry_run.engine, dry_run.action, versions, dry_run.titles)
    skipped |= {i: plan.refused[i] for i in versions if i in plan.refused} if plan.refused else {}
    done: list[ActionTransaction] = []
    for plain, nodes in _requests(workspace, plan, versions, dry_run.reason, dry_run.arguments, operator, seen):
        request = msgspec.structs.replace(plain, over=over, run=run, part=part)
        done += await _attempt(workspace, request, nodes, commit=True)
    return _part(workspace, skipped.values(), done)


def part_nodes(workspace: Workspace, plan: Plan) -> int:
    """Return how many nodes that were not dry-run one transaction may have."""
    reader = current_reader(workspace, plan.label)
    stays = workspace.audit_log_file is None and all(
        BulkTransaction.is_possible(reader, action) for action in plan.actions.values()
    )
    return CHUNK_NODES * LARGE if stays else CHUNK_NODES


def are_independent(plan: Plan) -> bool:
    """Return True if two parts may be changed at the same time."""
    actions = plan.actions.values()
    return all(action.independent for action in actions) and len({action.script for action in actions}) == 1


def parts(dry_run: DryRun, most: int) -> Iterator[tuple[str, ...]]:
    """Yield the nodes of each transaction: at most 500, in an undo of one entry.

    ``most``: of the nodes that were not dry-run.
    """
    shown = {*dry_run.row_digests, *(result.id for result in dry_run.results)}
    versions = dry_run.versions
    entry = versions.get if dry_run.action == undo.NAME else lambda _: ""
    for _, group in groupby(versions, key=entry):
        ids, start = list(group), 0
        while start < len(ids):
            size = CHUNK_NODES if ids[start] in shown else most
            yield tuple(ids[start : start + size])
            start += size


def statements(engine: Engine, action: Action) -> str:
    """Return the action's SQL in execution order, to show or copy."""
    if action.name == undo.NAME:
        names = ("undo_find", "undo_delete", "undo_insert", "undo_update")
        return "\n\n".join(f"-- {name}\n{statement(name).text};" for name in names)
    parts = [f"-- {name}\n{part.text};" for name, run in engine.actions[action.script].items() for part in run]
    return "\n\n".join(parts)


def _requests(
    workspace: Workspace,
    plan: Plan,
    ids: Iterable[str],
    reason: str,
    arguments: Mapping[str, Any],
    operator: audit_log.Operator,
    seen: Seen,
) -> list[tuple[Request, dict[str, str]]]:
    """Return one request for each SQL script of the plan, with its nodes of ``ids``.

    An undo has one request for each entry.
    """
    reader = current_reader(workspace, plan.label)
    requests = []
    for action, versions in plan.by_script(ids):
        request = Request(
            reader=reader,
            action=action,
            reason=reason,
            arguments={"entry": next(iter(versions.values()))} if action.name == undo.NAME else arguments,
            operator=operator,
            titles={i: plan.titles[i] for i in versions if i in plan.titles},
            seen=msgspec.structs.replace(
                seen,
                row_digests={i: seen.row_digests[i] for i in versions if i in seen.row_digests},
                verdicts={i: seen.verdicts[i] for i in versions if i in seen.verdicts},
            ),
            kept=Kept(
                no_images=action.undo_note if action.undo in (Undo.NONE, None) else workspace.no_images,
                values=workspace.keeps_values,
            ),
        )
        requests.append((request, versions))
    return requests


def check_storable(reason: str, arguments: Mapping[str, Any]) -> None:
    """Raise DatabaseError if the audit log cannot store reason and arguments."""
    if not reason.strip():
        raise DatabaseError("A reason is required. It is written to the audit log.", "Nothing was changed.")
    if not all(_storable(value) for value in (reason, *arguments.values())):
        raise DatabaseError("The reason or an argument is not valid text, or contains NUL.", "Nothing was changed.")


async def _check_encoding(
    workspace: Workspace, reason: str, arguments: Mapping[str, Any], operator: audit_log.Operator
) -> None:
    """Refuse texts that the encoding of the database lacks.

    These are the reason and the arguments. Raises DatabaseError.
    """
    texts = {"reason": reason, **{f"argument {name}": str(value) for name, value in arguments.items()}}
    texts |= {"name of the operator": operator.name}
    odd = {what: text for what, text in texts.items() if not text.isascii()}
    if not odd:
        return
    async with workspace.database.reading() as transaction:
        encoding = (await transaction.rows(statement("encoding"), {}))[0]["encoding"]
    for what, text in odd.items() if encoding not in ("UTF8", "SQL_ASCII") else ():
        if not await _can_hold(workspace, text):
            lacking = [c for c in dict.fromkeys(text) if not c.isascii() and not await _can_hold(workspace, c)]
            raise DatabaseError(
                f"The {what} has {', '.join(map(repr, lacking))}, which the encoding of this database ({encoding})"
                " does not have.",
                "Nothing was changed. Write it with other characters.",
            )


async def _can_hold(workspace: Workspace, text: str) -> bool:
    """Return True if the encoding of the database has the characters of ``text``."""
    try:
        async with workspace.database.reading() as transaction:
            await transaction.rows(statement("storable"), {"query": text})
    except UnencodableError:
        return False
    return True


def _storable(value: object) -> bool:
    """Return True if the audit log can store the value.

    Arguments may contain any bytes, and jsonb cannot contain NUL.
    """
    try:
        return b"\0" not in str(value).encode()
    except UnicodeEncodeError:
        return False


def _part(workspace: Workspace, skipped: Iterable[Result], done: Sequence[ActionTransaction]) -> Part:
    """Return the outcomes of transactions and of nodes that were skipped before."""
    xids = [each.xid for each in done if each.xid]
    left = {i: version for each in done for i, version in each.retry.items()}
    unrecorded = (*skipped, *(r for each in done if not each.xid for r in each.results()))
    results = sorted((*unrecorded, *(r for each in done if each.xid for r in each.results())), key=lambda r: r.id)
    outcomes = Outcomes(
        results=tuple(results),
        changes=tuple(c for each in done for c in each.copies),
        xid=" ".join(xids) or None,
        audit_log=workspace.audit_log_place if xids else None,
        entries=tuple(each.entry_id for each in done if each.xid and each.entry_id),
        for_now=tuple(i for each in done for i in each.for_now),
        durability=least_certain(each.durability for each in done),
        logged=sum(len(each.live) for each in done if each.xid and isinstance(each, BulkTransaction)),
    )
    error_text = next((r.why for r in results if r.id in left or r.outcome is Outcome.UNKNOWN), "")
    return Part(outcomes=outcomes, left=left, unrecorded=unrecorded, error_text=error_text)


async def _attempt(
    workspace: Workspace, request: Request, versions: dict[str, str], *, commit: bool, until: float | None = None
) -> list[ActionTransaction]:
    """Run one transaction.

    If some nodes make it fail, halve the nodes until only these are skipped.
    """
    limit = None if until is None else until - time.monotonic()
    until = until or time.monotonic() + NARROWING
    action_transaction = _kind(workspace, request)(request, versions)
    try:
        await _transact(workspace, request, action_transaction, commit=commit, limit=limit)
    except IrregularError:
        assert request.run is not None  # or it does not suit
        request.run.irregular = True
        return await _attempt(workspace, request, versions, commit=commit, until=until)
    except GuardMissedError as error:
        rest = {i: v for i, v in versions.items() if i not in error.missed}
        return [
            *_missed(request, versions, error, policies=bool(action_transaction.policies)),
            *(await _attempt(workspace, request, rest, commit=commit, until=until) if rest else []),
        ]
    except gate.UnshownError as error:
        rest = {i: v for i, v in versions.items() if i not in error.nodes} if error.nodes else {}
        stopped = _stopped(request, {i: v for i, v in versions.items() if i not in rest}, error)
        return [stopped, *(await _attempt(workspace, request, rest, commit=commit, until=until) if rest else [])]
    except TableLockedError as error:
        return [unchanged(request, versions, Outcome.LOCKED, error.line)]
    except NO_CONNECTION as error:
        return [_unsent(request, versions, error, commit=commit)]
    except DeniedError as error:
        if action_transaction.policies and len(versions) > 1 and time.monotonic() < until:
            return await _halved(workspace, request, versions, error, commit=commit, until=until)
        return [_denied(request, versions, error, action_transaction)]
    except OvertakenError:
        raise
    except DatabaseError as error:
        if _narrows(error) and len(versions) > 1 and time.monotonic() < until:
            return await _halved(workspace, request, versions, error, commit=commit, until=until)
        if not commit and not (_narrows(error) or error.code.startswith(_FULL)):
            raise
        action_transaction = unchanged(request, versions, _outcome(request, error), f"{error.line} {UNCHANGED}")
        action_transaction.retry = versions if isinstance(error, ReadOnlyError) else {}
        return [action_transaction]
    return [action_transaction]


def _unsent(request: Request, versions: dict[str, str], error: DatabaseError, *, commit: bool) -> ActionTransaction:
    """Return a transaction that was not sent, and may be later.

    A dry run raises ``error``.
    """
    if not commit and not error.code.startswith(_FULL):
        raise error
    unsent = unchanged(request, versions, Outcome.UNSENT, f"{error.line} {UNCHANGED}")
    unsent.retry = versions
    return unsent


def _denied(
    request: Request, versions: Mapping[str, str], error: DeniedError, tried: ActionTransaction
) -> ActionTransaction:
    """Return a transaction that a policy or a missing privilege stopped."""
    needed = f"The action needs {', '.join(tried.action.privileges)}, and INSERT on the audit log."
    policies = f"row-level policy or missing privilege: {error.line}"
    return unchanged(request, versions, Outcome.DENIED, policies if tried.policies else f"{error.line} {needed}")


def _missed(
    request: Request, versions: Mapping[str, str], error: GuardMissedError, *, policies: bool
) -> Iterator[ActionTransaction]:
    """Yield a transaction for each reason why nodes were not reached."""
    outcome, why = Outcome.STALE, "it changed during the statement"
    if policies:  # another writer is unlikely: the row was locked at its version
        outcome, why = Outcome.DENIED, f"{POLICY}, or {why}"
    reasons = {i: (Outcome.REFUSED, error.whys[i]) if i in error.whys else (outcome, why) for i in error.missed}
    for reason in dict.fromkeys(reasons.values()):
        yield unchanged(request, {i: versions[i] for i in error.missed if reasons[i] == reason}, *reason)


def _stopped(request: Request, versions: dict[str, str], error: gate.UnshownError) -> ActionTransaction:
    """Return a transaction that changed no node, because it did what was not shown."""
    stopped = ActionTransaction(request, versions)
    for node_id in versions:
        stopped.skip(node_id, Outcome.CONFLICT, error.nodes.get(node_id, f"{error.line} {UNCHANGED}"))
    return stopped


def _kind(workspace: Workspace, request: Request) -> type[ActionTransaction]:
    """Return the class of the transaction."""
    if request.action.name == undo.NAME:
        return undo.UndoTransaction
    in_table = workspace.audit_log_file is None
    return BulkTransaction if in_table and BulkTransaction.suits(request) else ActionTransaction


async def _halved(
    workspace: Workspace,
    request: Request,
    versions: dict[str, str],
    error: DatabaseError,
    *,
    commit: bool,
    until: float,
) -> list[ActionTransaction]:
    """Run both halves of the nodes whose transaction failed with ``error``."""
    items = sorted(versions.items())
    attempts: list[ActionTransaction] = []
    for half in (dict(items[: len(items) // 2]), dict(items[len(items) // 2 :])):
        if time.monotonic() < until:
            attempts += await _attempt(workspace, request, half, commit=commit, until=until)
        else:
            attempts.append(unchanged(request, half, _outcome(request, error), f"{error.line} {UNCHANGED}"))
    return attempts


def _narrows(error: DatabaseError) -> bool:
    """Return True if single nodes may have caused the error.

    The others can then continue. Class 22: invalid value.
    """
    if isinstance(error, ReadOnlyError):
        return False
    return isinstance(error, LockedError | ConflictError | SlowError) or error.code.startswith("22")


async def _transact(
    workspace: Workspace, request: Request, action_transaction: ActionTransaction, *, commit: bool, limit: float | None
) -> None:
    database, file = workspace.database, workspace.audit_log_file
    detected = request.reader.found
    tables = detected.changed(request.action.privileges)
    async with database.writing(detected.action_schema, request.over, limit, tables) as transaction:
        if request.run is not None:
            await request.run.guard(transaction)
        await action_transaction.load(transaction, file)
        again = request.run is not None
        why, path = await workspace.admit(request.reader, action_transaction.action, transaction, again=again)
        if why:
            action_transaction.skip_all(Outcome.REFUSED, why)
            return
        await transaction.search(detected.action_schema, path)
        await action_transaction.run(transaction, request.seen.row_digests if commit else None)
        if not commit:
            action_transaction.at = (await transaction.rows(statement("now"), {}))[0]["now"]
        if not commit or not action_transaction.live:
            return
        mark = await transaction_mark.read_mark(transaction)
        action_transaction.at = mark.at
        entry = _entry(request, action_transaction, mark.xid)
        await _write_entry(transaction, file, action_transaction, entry)
        if request.run is not None:
            request.run.sending(mark, entry, action_transaction)
        sent = time.monotonic()
        workspace.awaited_standbys = mark.synchronous
        try:
            status = await commit_status.send_commit(transaction)
        except (ConflictError, SlowError) as error:
            action_transaction.skip_all(_outcome(request, error), error.line)
            append_outcome(file, request, action_transaction, entry)
            raise
        finally:
            workspace.awaited_standbys = ""
        caveat = UNREPLICATED.format(standbys=mark.synchronous) if transaction.unreplicated else ""
    if status is None:
        gone = commit_status.DEADLINE if request.run is None else commit_status.GONE
        found = await commit_status.wait_for_status(
            database, mark, action_transaction, entry, table=file is None, gone=gone
        )
        status, caveat = found.status, UNANSWERED.format(standbys=mark.synchronous) if found.synchronous else ""
    if status != commit_status.ABORTED:
        run = "" if request.run is None else request.run.id
        done = Committed(
            mark, action_transaction, entry, table=file is None, sent=sent, answered=time.monotonic(), run=run
        )
        done.settled = status == commit_status.COMMITTED
        if done.settled or not run:  # a run reads its own entries again
            workspace.journal.add(done)
    _settle(workspace, request, action_transaction, mark, entry, status, caveat)


def _settle(
    workspace: Workspace,
    request: Request,
    action_transaction: ActionTransaction,
    mark: transaction_mark.TransactionMark,
    entry: AuditLogEntry,
    status: str,
    caveat: str,
) -> None:
    """Note what became of a transaction whose COMMIT was sent."""
    if status == commit_status.COMMITTED:
        action_transaction.xid, action_transaction.caveat = mark.xid, caveat
        action_transaction.durability = Durability.UNCONFIRMED if caveat else mark.durability
        workspace.keep_receipt(mark, entry, action_transaction.durability)
    elif status == commit_status.ABORTED:
        action_transaction.retry = {i: action_transaction.given[i] for i in action_transaction.live}
        action_transaction.skip_all(Outcome.UNSENT, commit_status.ROLLED_BACK)
        action_transaction.copies = ()
    else:
        action_transaction.skip_all(Outcome.UNKNOWN, commit_status.UNSETTLED.format(xid=mark.xid))
    if request.run is not None and status != commit_status.UNKNOWN:
        request.run.settled(mark, action_transaction.results() if status == commit_status.COMMITTED else ())
    append_outcome(workspace.audit_log_file, request, action_transaction, entry)


async def _write_entry(
    transaction: Transaction, file: audit_log.File | None, action_transaction: ActionTransaction, entry: AuditLogEntry
) -> None:
    """Write the entry and the images of its rows, to the table or to the local file."""
    if file is not None:
        action_transaction.entry_id = entry.id
        file.append(entry, intended=True, images=action_transaction.images)
        return
    action_transaction.entry_id = await action_transaction.log(transaction, entry)


def append_outcome(
    file: audit_log.File | None, request: Request, action_transaction: ActionTransaction, intent: AuditLogEntry
) -> None:
    """Append the outcome to the local audit log.

    If that fails, the entry has no outcome and is shown as unknown.
    """
    if file is not None:
        with contextlib.suppress(DatabaseError):
            file.append(_entry(request, action_transaction, intent.xid, intent.id), intended=False)


def _entry(
    request: Request, action_transaction: ActionTransaction, xid: str | None, entry_id: str = ""
) -> AuditLogEntry:
    server = action_transaction.reader.database.server
    changes = (copy.differing() for copy in action_transaction.copies)
    named: dict[str, Any] = {}
    if request.run is not None:
        named[RUN] = request.run.named() if request.part is None else request.run.named(cohort=request.part)
    others = "; ".join(f"{other.words} of {other.table}" for other in action_transaction.others)
    named |= {OTHERS: others} if others else {}
    return AuditLogEntry(
        id=entry_id or audit_log.entry_id(),
        at=action_transaction.at,
        role=server.role if server else "",
        os_user=request.operator.os_user,
        host=request.operator.host,
        engine=action_transaction.reader.label,
        schema=action_transaction.reader.found.schema,
        action=request.action.name,
        reason=request.reason,
        arguments={**recorded(request.action, request.arguments), **named},
        xid=xid,
        results=action_transaction.results(),
        changes=tuple(changes if request.kept.values else (change.without_values() for change in changes)),
    )


def _outcome(request: Request, error: DatabaseError) -> Outcome:
    if any(fnmatchcase(error.constraint, index) for index in request.reader.engine.spec.stale_by):
        return Outcome.STALE
    if isinstance(error, NO_CONNECTION):
        return Outcome.UNSENT
    if isinstance(error, LockedError):
        return Outcome.LOCKED
    if isinstance(error, DeniedError):
        return Outcome.DENIED
    return Outcome.CONFLICT if isinstance(error, ConflictError) else Outcome.REFUSED
