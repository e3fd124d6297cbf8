"""One transaction of a change, from BEGIN until it is known what became of it.

A dry run is rolled back. A commit writes its entry to the audit log in the same transaction, and a lost answer to
COMMIT is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

import msgspec

from queries.actions.plan import recorded
from queries.contract.trust import Trust
from queries.db.errors import (
    NO_CONNECTION,
    ConflictError,
    DatabaseError,
    DeniedError,
    LockedError,
    SlowError,
    table_locks,
)
from queries.db.transaction import Transaction
from queries.read.question import NOW, together
from queries.records.action import Durability, Outcome, Result, RowChange
from queries.records.audit import OTHERS, RUN, AuditLogEntry
from queries.records.record import Record
from queries.workspace import Workspace
from queries.write import audit_log, commit_status, gate, run_log, transaction_mark, undo
from queries.write.blast_radius import Measurement
from queries.write.change import Effect, RowProof, change
from queries.write.nodes import Nodes
from queries.write.request import Request
from queries.write.script import ActionScript, Script
from queries.write.transaction_mark import Provable, TransactionMark

UNREPLICATED = (
    "committed on this server, but not confirmed by a synchronous standby (synchronous_standby_names: {standbys}): a "
    "failover may lose it"
)
UNANSWERED = (
    "committed on this server, but the answer was lost, so confirmation by a synchronous standby "
    "(synchronous_standby_names: {standbys}) is unknown: a failover may lose it"
)


class Commit(Record):
    """A commit that is known.

    ``entry``: id of the audit log entry that undoes it, or "". ``caveat``: noted with each changed node.
    """

    xid: str
    entry: str
    durability: Durability
    caveat: str = ""


class Attempt:
    """One transaction, its nodes, and what became of them.

    ``commit``: None if nothing was committed. ``lost``: why the server was lost before it committed, or "".
    ``at``: start of the transaction, by the server's clock.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.nodes = nodes = Nodes(request)
        is_undo = request.action.name == undo.NAME
        self.script: Script = undo.UndoScript(request, nodes) if is_undo else ActionScript(request, nodes)
        self.effect = Effect()
        self.at = 0.0
        self.commit: Commit | None = None
        self.lost = ""

    @property
    def was_shown(self) -> bool:
        """Return False for a part of a change without dry-run nodes."""
        seen, is_undo = self.request.seen, self.request.action.name == undo.NAME
        return seen is None or seen.waited or is_undo or not seen.nodes.isdisjoint(self.request.versions)

    def results(self) -> tuple[Result, ...]:
        """Return a result for each node, ordered by id."""
        caveat = "" if self.commit is None else self.commit.caveat
        return self.nodes.results(caveat)

    @property
    def irreversible(self) -> Mapping[str, str]:
        """Changed nodes that cannot be undone, with the reason."""
        images, why = self.effect.images, self.request.no_images
        if images is None:
            return dict.fromkeys(self.nodes.remaining, why) if why else {}
        return {self.nodes.full(local): each for local, each in images.incomplete.items()}


def unchanged(request: Request, outcome: Outcome, why: str) -> Attempt:
    """Return an attempt that changed no node, with the same result for each."""
    attempt = Attempt(request)
    attempt.nodes.skip_all(outcome, why)
    return attempt


async def transact(workspace: Workspace, attempt: Attempt, seconds: float | None) -> None:
    """Run the transaction of an attempt, for at most ``seconds``.

    Raises DatabaseError if nothing was changed.
    """
    request = attempt.request
    await workspace.other_hosts.check()
    detected = request.reader.detected
    waits = 0.0 if request.run is None else run_log.GUARD_SECONDS
    async with workspace.database.writing(detected.action_schema, seconds, waits=waits) as transaction:
        trust = await _change(workspace, transaction, attempt)
        if trust is None:
            return
        asked = workspace.audit_log.trust_of_entry(trust, images=attempt.effect.images is not None)
        mark, trust = await together(transaction_mark.MARK, asked).answer(transaction)
        entry = _entry(attempt, mark.xid)
        entry_id = await workspace.audit_log.destination.write(transaction, entry, trust, attempt.effect.images, mark)
        rows = RowProof(attempt.script, attempt.effect)
        proof: Provable = audit_log.EntryProof(entry=entry) if workspace.audit_log.in_table else rows
        workspace.awaited_standbys = mark.synchronous
        try:
            status = await commit_status.send_commit(transaction)
        except (ConflictError, SlowError) as error:
            attempt.nodes.skip_all(outcome_of(error, request.reader.engine.spec.stale_by), error.line)
            append_outcome(workspace, attempt, entry)
            raise
        finally:
            workspace.awaited_standbys = ""
        caveat = UNREPLICATED.format(standbys=mark.synchronous) if transaction.unreplicated else ""
    if status is None:
        gone = commit_status.STATUS_SECONDS if request.run is None else commit_status.OUTAGE_AFTER_SECONDS
        answer = await commit_status.wait_for_status(workspace.database, mark, proof, gone=gone)
        status = answer.status
        caveat = UNANSWERED.format(standbys=mark.synchronous) if answer.synchronous else ""
    committed = status == commit_status.COMMITTED
    if committed:
        durability = Durability.UNCONFIRMED if caveat else _durability(workspace, mark)
        undone_by = entry_id if attempt.effect.images is not None else ""
        attempt.commit = Commit(xid=mark.xid, entry=undone_by, durability=durability, caveat=caveat)
    if committed or (status == commit_status.UNKNOWN and request.run is None):  # a run reads its own entries again
        noted = msgspec.structs.replace(entry, id=entry_id)
        workspace.audit_log.note(mark, noted, proof, answered=committed)
    _settle(workspace, attempt, mark, entry, status)


async def _change(workspace: Workspace, transaction: Transaction, attempt: Attempt) -> Trust | None:
    """Change the nodes. Return the trust for the entry of what is committed, or None."""
    request, script = attempt.request, attempt.script
    run, detected = request.run, request.reader.detected
    if run is not None:
        await run.guard(transaction)
    await script.load(transaction, workspace.audit_log)
    code = workspace.untrusted_code
    trusted = code.question(request.reader, script.action, again=run is not None)
    written = gate.written(detected.schema, detected.relations)
    question = together(trusted, written, NOW, script.images.learning())
    with table_locks():
        clearance, before, attempt.at, *_ = await question.answer(transaction)
        clearance = await code.check(transaction, request.reader, script.action, clearance)
    if clearance.why:
        attempt.nodes.skip_all(Outcome.REFUSED, clearance.why)
        return None
    transaction.settings.search(detected.action_schema, clearance.path)
    measurement = Measurement(request.reader) if request.measures else None
    effect = await change(transaction, request, script, before, attempt.at, measurement)
    if why := await code.touched(other.table for other in effect.others).answer(transaction):
        attempt.nodes.skip_all(Outcome.REFUSED, why)
        return None
    attempt.effect = effect
    return clearance.trust if request.seen is not None and attempt.nodes.remaining else None


def _durability(workspace: Workspace, mark: TransactionMark) -> Durability:
    """Return the risk of a commit, with what this machine knows of standbys."""
    if mark.durability is not Durability.LOCAL:
        return mark.durability
    cluster = workspace.other_hosts.several or workspace.servers.had_standby(mark.history.partition("/")[0])
    return Durability.DETACHED if cluster else Durability.LOCAL


def _settle(workspace: Workspace, attempt: Attempt, mark: TransactionMark, entry: AuditLogEntry, status: str) -> None:
    """Note what became of a transaction whose COMMIT was sent."""
    nodes = attempt.nodes
    if status == commit_status.ABORTED:
        attempt.lost = commit_status.ROLLED_BACK
        attempt.effect = msgspec.structs.replace(attempt.effect, changes=())
        nodes.skip_all(Outcome.UNSENT, commit_status.ROLLED_BACK)
    elif status == commit_status.UNKNOWN:
        nodes.skip_all(Outcome.UNKNOWN, commit_status.UNSETTLED.format(xid=mark.xid))
    append_outcome(workspace, attempt, entry)


def append_outcome(workspace: Workspace, attempt: Attempt, intent: AuditLogEntry) -> None:
    """Note the outcome where an entry is written before COMMIT."""
    changes = intent.changes if attempt.effect.changes else ()
    entry = msgspec.structs.replace(intent, results=attempt.results(), changes=changes)
    workspace.audit_log.destination.settle(entry)


def _entry(attempt: Attempt, xid: str | None) -> AuditLogEntry:
    request, effect = attempt.request, attempt.effect
    server, run = request.reader.database.server, request.run
    # A part of a run without dry-run nodes has the columns that differ alone.
    changes = map(RowChange.differing, effect.changes) if attempt.was_shown else iter(effect.changes)
    cohort = {} if request.cohort is None else {"cohort": request.cohort}
    named = {} if run is None else {RUN: run.named(**cohort)}
    causes = {other.table: f" ({other.cause})" for other in effect.others if "." not in other.table and other.cause}
    others = "; ".join(f"{other.words} of {other.table}{causes.get(other.table, '')}" for other in effect.others)
    return AuditLogEntry(
        id=audit_log.entry_id(),
        at=attempt.at,
        role=server.role if server else "",
        os_user=request.operator.os_user,
        host=request.operator.host,
        engine=request.reader.label,
        schema=request.reader.detected.schema,
        action=request.action.name,
        reason=request.reason,
        arguments={**recorded(request.action, request.arguments), **named, **({OTHERS: others} if others else {})},
        xid=xid,
        results=attempt.results(),
        changes=tuple(changes if request.keeps_values else (each.without_values() for each in changes)),
    )


def outcome_of(error: DatabaseError, stale_by: Iterable[str] = ()) -> Outcome:
    """Return the outcome of nodes whose transaction failed with ``error``.

    ``stale_by``: unique indexes of the engine that a concurrent change violates.
    """
    if any(fnmatchcase(error.constraint, index) for index in stale_by):
        return Outcome.STALE
    if isinstance(error, NO_CONNECTION):
        return Outcome.UNSENT
    if isinstance(error, LockedError):
        return Outcome.LOCKED
    if isinstance(error, DeniedError):
        return Outcome.DENIED
    return Outcome.CONFLICT if isinstance(error, ConflictError) else Outcome.REFUSED
