"""One transaction of a change, from BEGIN until it is known what became of it.

Its steps: admit the nodes, read their rows, change them, read them again, pass the gate. A dry run is then rolled back.
A commit writes its entry to the audit log in the same transaction, and a lost answer to COMMIT is asked for. What is
changed is a script: the sections of an action, or an undo.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import msgspec

from queries.change import gate
from queries.change.admit import admit, clear
from queries.change.blast_radius import Measurement
from queries.change.gate import Contract, Had
from queries.change.images import ImageReader, RowPair, RowsRead, RowText
from queries.change.plan import UNDO, recorded
from queries.change.script import GuardMissedError, Nodes, Request, rows_of
from queries.change.undo import UndoScript
from queries.contract.trust import Trust
from queries.db.errors import (
    NO_CONNECTION,
    ConflictError,
    DatabaseError,
    DeniedError,
    LockedError,
    LostError,
    SlowError,
    table_locks,
)
from queries.db.query import Query, Rows, RowsOrError
from queries.db.reads import NOW, Reads
from queries.db.transaction import Transaction
from queries.log import audit_log, run_log, settle
from queries.log.choice import AuditLog
from queries.log.settle import FIRED, Provable, TransactionMark
from queries.records.action import FREEING, Change, Durability, OtherRows, Outcome, RowChange
from queries.records.audit import OTHERS, RUN, AuditLogEntry
from queries.records.images import Images
from queries.workspace import Workspace

HIDDEN = "row-level policies on {tables} may hide rows that it needs. A role that sees all rows can do it"
UNREPLICATED = (
    "committed on this server, but not confirmed by a synchronous standby (synchronous_standby_names: {standbys}): a "
    "failover may lose it"
)
UNANSWERED = (
    "committed on this server, but the answer was lost, so confirmation by a synchronous standby "
    "(synchronous_standby_names: {standbys}) is unknown: a failover may lose it"
)
PREPARE_SECONDS = 10.0  # over a slow link, before rows are locked


class ActionScript:
    """The sections of an action in its engine's folder."""

    restores = False

    def __init__(self, request: Request, nodes: Nodes) -> None:
        self.action, self.nodes, self._request = request.action, nodes, request
        reader = request.reader
        columns = {*request.action.overwrites, *reader.engine.spec.counters}  # an undo increases all counters
        self.images = ImageReader(reader.database, reader.detected.schema, sorted(columns))

    async def load(self, transaction: Transaction, log: AuditLog) -> None:
        """Read nothing: the folder has the statements."""

    async def admit(self, transaction: Transaction, then: Callable[[], Sequence[Query]]) -> list[Rows]:
        """Lock the nodes; skip those that are missing, stale or refused.

        Return the answers to what ``then`` asks about the others. Raises DatabaseError.
        """
        if self.nodes.policies and (hidden := self._hidden()):
            self.nodes.skip_all(Outcome.DENIED, HIDDEN.format(tables=", ".join(sorted(hidden))))
        return await admit(transaction, self._request, self.nodes, then)

    def _hidden(self) -> set[str]:
        """Return the tables of which policies may hide rows that the action needs.

        The guard proves only that the node's own row changes. The server skips rows of a second table without an error
        if a policy for UPDATE or DELETE hides them, and a hidden row may be a sign of life.
        """
        own = {kind.table for kind in self.nodes.reader.engine.spec.kinds if kind.name in self.action.kinds}
        others = [name for name in self.nodes.policies if name not in own]
        changes = {f"{word} {name}": name for name in others for word in ("UPDATE", "DELETE")}
        hidden = {name for privilege, name in changes.items() if privilege in self.action.privileges}
        for section, tables in {"refused": others, "change": others, "witnesses": self.nodes.policies}.items():
            hidden.update(*(part.absent(tables) for part in self._request.sections.get(section, ())))
        return hidden

    def row_queries(self, *, whole: bool = False) -> list[Query]:
        """Return the statement for the rows of the remaining nodes.

        ``whole``: also texts that are known.
        """
        variant = self.nodes.reader.variant
        located = variant.select("images") or variant.select("rows")
        return [] if located is None else self.images.queries(self.nodes, located, brief=self._are_read and not whole)

    @property
    def _are_read(self) -> bool:
        """True if the rows were read before, by the dry run or for it."""
        seen = self._request.seen
        return seen is None or seen.nodes.issuperset(self.nodes.remaining)

    async def foreknow(self, transaction: Transaction) -> None:
        """Read the rows before they are locked: then they need not come."""
        if self._are_read:
            first = self._request.seen is None
            await self.rows(transaction, await transaction.batch(self.row_queries(whole=first)))

    async def rows(
        self, transaction: Transaction, answers: Sequence[RowsOrError], before: RowsRead | None = None
    ) -> RowsRead:
        """Return the rows of an answer, with those that it lacks. Raises DatabaseError."""
        if not answers:
            return RowsRead()
        rows = self.images.whole(rows_of(self.row_queries(), answers))
        if rows is None:  # a long text is new
            queries = self.row_queries(whole=True)
            rows = self.images.whole(rows_of(queries, await transaction.batch(queries)))
        read = self.images.read(self.nodes, rows or ())
        if self._are_read:
            self.images.texts.keep(read.rows.values())
        return await self.images.completed(transaction, read)

    def digests(self, before: RowsRead) -> dict[str, str]:
        """Return digests of the nodes' rows.

        If the rows are the guard, nodes with other rows than shown are skipped.
        """
        nodes = self.nodes
        seen = None if self._request.seen is None else self._request.seen.row_digests
        digests = before.digests([i for i in nodes.remaining if seen is None or i in seen], nodes.guarded)
        if self.action.guard == "rows" and seen is not None:
            for node_id in [i for i, digest in digests.items() if seen[i] != digest]:
                nodes.skip(node_id, Outcome.STALE, "rows that this changes were modified since the dry run")
        return digests

    async def change(
        self, transaction: Transaction, then: Callable[[], Sequence[Query]] = lambda: ()
    ) -> tuple[set[str], list[RowsOrError]]:
        """Run the section ``change``, and ``then`` in the same message.

        Return the nodes that its last statement reports, and the answers up to the first error. Raises DatabaseError.
        """
        queries = self.nodes.queries(*self._request.sections["change"])
        answers = await transaction.each([*queries, *then()])
        changed, rest = answers[: len(queries)], answers[len(queries) :]
        rows_of(queries[: len(changed)], changed)  # raises an error
        return {self.nodes.full(row["id"]) for row in rows_of(queries[-1:], changed[-1:], ":change")}, rest


Script = ActionScript | UndoScript
"""Statements of one transaction, which restore rows if it is an undo."""


def script_of(request: Request) -> Script:
    """Return the script of a request, with its nodes."""
    nodes = Nodes(request)
    return UndoScript(request, nodes) if request.action.name == UNDO.name else ActionScript(request, nodes)


class Made(NamedTuple):
    """Change before COMMIT or ROLLBACK.

    ``pairs``: changed rows as text. ``images``: what an undo needs; None if none are kept.
    """

    change: Change
    pairs: Sequence[RowPair] = ()
    images: Images | None = None


async def make(
    transaction: Transaction, request: Request, script: Script, written: gate.WrittenRows, at: float
) -> Made:
    """Change the nodes of a script, up to COMMIT or ROLLBACK.

    ``written``: what the session has written before. ``at``: ``now()``. Raises DatabaseError.
    """
    nodes, detected = script.nodes, request.reader.detected
    nodes.policies = written.policies
    transaction.limit_time()
    began = time.monotonic()
    measurement = None if request.measured is None else Measurement(request.reader)

    with table_locks():
        before = await script.rows(transaction, await script.admit(transaction, script.row_queries))
        digests = script.digests(before)
        if measurement and nodes.remaining:
            await measurement.before(transaction, nodes.remaining)
    if not nodes.remaining:
        return Made(Change(at=at, uncounted=not written.counted))
    counted = gate.written(detected.schema, detected.relations)
    reached, answers = await script.change(transaction, lambda: [*FIRED, *script.row_queries(), counted])
    if missed := [i for i in nodes.remaining if i not in reached]:
        raise GuardMissedError(missed)
    if isinstance(error := answers[-1], DatabaseError):
        raise _fired(error) if len(answers) <= len(FIRED) else error
    *read, counts = [rows for rows in answers[len(FIRED) :] if not isinstance(rows, DatabaseError)]
    after = await script.rows(transaction, read, before)
    server = gate.written_rows(counts).since(written) if written.counted else None
    made = await _compared(transaction, request, script, before, after, server, at)
    held = time.monotonic() - began
    if measurement and request.measured is not None:
        measured = await measurement.after(transaction)
        request.measured.append(measured)
        held = time.monotonic() - began - measured.seconds
    free = request.seen is None and request.action.name in FREEING
    unmet = await request.reader.claims.unmet(transaction, nodes.remaining) if free else {}
    images, why = made.images, request.no_images
    lasting = dict.fromkeys(nodes.remaining, why) if images is None and why else {}
    if images is not None:
        lasting = {nodes.full(local): each for local, each in images.incomplete.items()}
    change = msgspec.structs.replace(
        made.change,
        at=at,
        row_digests=digests if request.seen is None else {},
        uncounted=not written.counted,
        held=held,
        irreversible=lasting,
        unmet=unmet,
    )
    return made._replace(change=change)


async def _compared(
    transaction: Transaction,
    request: Request,
    script: Script,
    before: RowsRead,
    after: RowsRead,
    server: Mapping[Any, gate.Counts] | None,
    at: float,
) -> Made:
    """Return the rows that differ, and pass the gate.

    ``server``: the rows that it has counted; None: it does not count. Raises MiscountedError, DeniedError, and in a
    commit UnshownError.
    """
    nodes, seen, reader, detected = script.nodes, request.seen, script.images, request.reader.detected
    shown, remaining = None if seen is None else seen.nodes, set(nodes.remaining)

    async def differing() -> list[RowPair]:
        pairs = await reader.pairs(transaction, before, after)
        return [pair for pair in pairs if not remaining.isdisjoint(pair.ids)]

    pairs = await differing()
    imaged = gate.imaged(pairs, detected.schema)
    if server != imaged:  # nothing may lead to a row any more
        after = await reader.with_missing(transaction, before, after)
        pairs = await differing()
        imaged = gate.imaged(pairs, detected.schema)
    changes = tuple(
        reader.change(pair, node, whole=shown is None or node in shown)
        for pair in pairs
        for node in pair.ids
        if node in remaining
    )
    if seen is not None:
        keys = {table: layout.key for table, layout in reader.layouts.items()}
        names = request.operator.name, seen.operator
        contract = Contract(request.reader.engine.spec.varies, keys, names)
        had = None if script.restores else _had(reader, before)
        gate.compare_rows(changes, seen, nodes.remaining, contract, at, had)
    others: tuple[OtherRows, ...] = ()
    if server is not None:
        more = gate.unimaged(server, imaged)
        others = await gate.others(transaction, more, server, detected.schema, detected.relations)
        gate.hidden(others, nodes.policies, detected.schema)
        if seen is not None:
            gate.compare(others, seen, nodes.remaining)
    images = None
    if not request.no_images:
        local = nodes.reader.ids.local
        images = reader.collect(pairs, local, remaining).without(
            map(local, nodes.remaining), _unimaged(changes, others)
        )
    return Made(Change(changes=changes, others=others), pairs, images)


def _had(images: ImageReader, before: RowsRead) -> Had:
    values: set[tuple[str, str, bytes]] = set()

    def had(node: str, name: str, value: bytes) -> bool:
        if not values:
            for place, row in before.rows.items():
                texts = images.layouts[place[0]].json(row)
                values.update((i, n, bytes(text)) for n, text in texts.items() for i in before.ids[place])
        return (node, name, value) in values

    return had


def _unimaged(changes: tuple[RowChange, ...], others: tuple[OtherRows, ...]) -> str:
    """Return why an undo could not restore all rows of the engine, or ""."""
    shown = {change.table for change in changes}
    for other in others:
        name = other.table.rpartition(".")[2]
        if other.own and (other.deleted or (other.updated and name not in shown)):
            return f"it has also {other.words} of {name} without a copy ({other.cause})"
    return ""


def _fired(error: DatabaseError) -> DatabaseError:
    """Return the error of deferred constraints.

    It is a conflict, also for any error of a trigger.
    """
    if isinstance(error, (LockedError, ConflictError, DeniedError, LostError, SlowError)):
        return error
    return ConflictError(str(error), code=error.code)


class RowProof:
    """Proof by the rows that a transaction was committed, or was not."""

    def __init__(self, images: ImageReader, pairs: Sequence[RowPair]) -> None:
        self._images, self._pairs = images, pairs

    async def was_committed(self, transaction: Reads) -> bool | None:
        """Return True or False if the rows prove a commit or its absence, else None.

        A transaction commits as a whole, so one row in its state before or after the change is proof. A missing row
        proves little, because engines delete rows too.
        """
        if not self._pairs:
            return None
        before, images = RowsRead(), self._images
        for pair in self._pairs:
            if row := pair.was or pair.now:
                before.add(pair.ids[0], images.layouts[pair.table], row)
        now = (await images.with_missing(transaction, before, RowsRead())).rows
        rows_now = [(now.get((pair.table, pair.key)), pair) for pair in self._pairs]
        for rows in ([(row, pair) for row, pair in rows_now if row is not None], rows_now):
            after = any(_is(row, pair.now) for row, pair in rows)
            if after is not any(_is(row, pair.was) for row, pair in rows):
                return after
            if after:
                return None
        return None


def _is(row: RowText | None, other: RowText | None) -> bool:
    return row is other is None or (row is not None and other is not None and row.equals(other))


async def transact(workspace: Workspace, script: Script, request: Request, seconds: float | None) -> Change:
    """Run the transaction of a script, for at most ``seconds``.

    Raises DatabaseError if nothing was changed.
    """
    await workspace.other_hosts.check()
    nodes, log, run = script.nodes, workspace.audit_log, request.run
    waits = PREPARE_SECONDS + (0.0 if run is None else run_log.GUARD_SECONDS)
    schema = request.reader.detected.action_schema
    async with workspace.database.writing(schema, seconds, waits=waits) as transaction:
        made, trust, mark = await _made(transaction, log, script, request)
        if mark is None or trust is None or not nodes.remaining:
            return _done(made.change, script)
        trust = await log.trust_of_entry(transaction, trust, images=made.images is not None)
        entry = _entry(request, script, made.change, mark.xid)
        entry_id = await log.destination.write(transaction, entry, trust, made.images, mark)
        rows = RowProof(script.images, made.pairs)
        proof: Provable = audit_log.EntryProof(entry=entry) if log.in_table else rows
        workspace.awaited_standbys = mark.synchronous
        try:
            status = await settle.send_commit(transaction)
        except (ConflictError, SlowError) as error:
            nodes.skip_all(outcome_of(error, request.reader.engine.spec.stale_by), error.line)
            log.destination.settle(msgspec.structs.replace(entry, results=nodes.results()))
            raise
        finally:
            workspace.awaited_standbys = ""
        caveat = UNREPLICATED.format(standbys=mark.synchronous) if transaction.unreplicated else ""
    if status is None:
        gone = settle.STATUS_SECONDS if run is None else settle.OUTAGE_AFTER_SECONDS
        answer = await settle.wait_for_status(workspace.database, mark, proof, gone=gone)
        status = answer.status
        caveat = UNANSWERED.format(standbys=mark.synchronous) if answer.synchronous else ""
    committed, change = status == settle.COMMITTED, made.change
    if committed:
        change = msgspec.structs.replace(
            change,
            xid=mark.xid,
            entries=(entry_id,) if made.images is not None and entry_id else (),
            audit_log=log.place,
            durability=Durability.UNCONFIRMED if caveat else _durability(workspace, mark),
        )
    elif status == settle.ABORTED:
        change = msgspec.structs.replace(change, changes=(), lost=settle.ROLLED_BACK)
        nodes.skip_all(Outcome.UNSENT, settle.ROLLED_BACK)
    else:
        nodes.skip_all(Outcome.UNKNOWN, settle.UNSETTLED.format(xid=mark.xid))
    if committed or (status == settle.UNKNOWN and run is None):  # a run reads its own entries again
        log.note(mark, msgspec.structs.replace(entry, id=entry_id), proof, answered=committed)
    results = nodes.results(caveat)
    log.destination.settle(
        msgspec.structs.replace(entry, results=results, changes=entry.changes if change.changes else ())
    )
    if committed and not _was_shown(request):  # its rows are in the entry; few are looked at
        change = msgspec.structs.replace(change, changes=(), logged=len(nodes.remaining))
    return _done(change, script, caveat)


async def _made(
    transaction: Transaction, log: AuditLog, script: Script, request: Request
) -> tuple[Made, Trust | None, TransactionMark | None]:
    """Change the nodes.

    Return also the trust for the entry; None if no code may run. And the mark of a commit, read before rows are locked.
    """
    nodes, run, detected = script.nodes, request.run, request.reader.detected
    if run is not None:
        await run.guard(transaction)
    await script.load(transaction, log)
    more = [gate.written(detected.schema, detected.relations), NOW, *script.images.unknown()]
    with table_locks():
        clearance, answers = await clear(transaction, log, request.reader, script.action, run, more)
    if clearance.why:
        nodes.skip_all(Outcome.REFUSED, clearance.why)
        return Made(Change()), None, None
    written, now, *columns = answers
    script.images.learned(columns)
    transaction.settings.search(detected.action_schema, clearance.path)
    if request.seen is not None and isinstance(log.destination, audit_log.Table):
        await transaction.prepare(log.destination.statements(images=not request.no_images))
    if isinstance(script, ActionScript):
        await script.foreknow(transaction)
    mark = None if request.seen is None else await settle.mark_of(transaction)
    made = await make(transaction, request, script, gate.written_rows(written), float(now[0]["now"]))
    if why := await gate.touched(transaction, log, [other.table for other in made.change.others]):
        nodes.skip_all(Outcome.REFUSED, why)
        return Made(Change(at=made.change.at)), None, None
    return made, clearance.trust, mark


def _done(change: Change, script: Script, caveat: str = "") -> Change:
    """Return a change with the results of its nodes.

    ``caveat``: noted with each changed node.
    """
    nodes = script.nodes
    steady = dict(nodes.steady) if nodes.parameters["dry_run"] is None else {}
    return msgspec.structs.replace(change, results=nodes.results(caveat), for_now=tuple(nodes.for_now), steady=steady)


def unchanged(request: Request, outcome: Outcome, why: str, lost: str = "") -> Change:
    """Return a change of no node, with the same result for each."""
    nodes = Nodes(request)
    nodes.skip_all(outcome, why)
    return Change(results=nodes.results(), lost=lost)


def _was_shown(request: Request) -> bool:
    """Return False for a part of a change without dry-run nodes."""
    seen, is_undo = request.seen, request.action.name == UNDO.name
    return seen is None or seen.waited or is_undo or not seen.nodes.isdisjoint(request.versions)


def _durability(workspace: Workspace, mark: TransactionMark) -> Durability:
    """Return the risk of a commit, with what this machine knows of standbys."""
    if mark.durability is not Durability.LOCAL:
        return mark.durability
    cluster = workspace.other_hosts.several or workspace.servers.had_standby(mark.history.partition("/")[0])
    return Durability.DETACHED if cluster else Durability.LOCAL


def _entry(request: Request, script: Script, change: Change, xid: str | None) -> AuditLogEntry:
    server, run = request.reader.database.server, request.run
    # A part of a run without dry-run nodes has the columns that differ alone.
    changes = map(RowChange.differing, change.changes) if _was_shown(request) else iter(change.changes)
    cohort = {} if request.cohort is None else {"cohort": request.cohort}
    named = {} if run is None else {RUN: run.named(**cohort)}
    causes = {other.table: f" ({other.cause})" for other in change.others if "." not in other.table and other.cause}
    others = "; ".join(f"{other.words} of {other.table}{causes.get(other.table, '')}" for other in change.others)
    return AuditLogEntry(
        id=audit_log.entry_id(),
        at=change.at or 0.0,
        role=server.role if server else "",
        os_user=request.operator.os_user,
        host=request.operator.host,
        engine=request.reader.label,
        schema=request.reader.detected.schema,
        action=request.action.name,
        reason=request.reason,
        arguments={**recorded(request.action, request.arguments), **named, **({OTHERS: others} if others else {})},
        xid=xid,
        results=script.nodes.results(),
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
