"""One write transaction of an action: lock, refuse, copy, change, copy again.

Nodes that cannot change are skipped.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Container, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import msgspec

from queries.contract.rows import SHAPES, verify
from queries.contract.spec import GONE, Action
from queries.db.database import FIRE, Transaction
from queries.db.errors import ConflictError, DatabaseError, DeniedError, LockedError, LostError, SlowError, table_locks
from queries.db.shared_sql import statement
from queries.files.statement import Statement
from queries.read import blockers, guard_token
from queries.read.reader import Reader
from queries.records.action import Durability, OtherRows, Outcome, Owner, Result, RowChange, Verdict, titled
from queries.records.audit import AuditLogEntry
from queries.records.record import Record
from queries.text.json_text import decoded, paired
from queries.write import audit_log, gate, images, row_copies, witnesses
from queries.write.blast_radius import Measured, Measurement
from queries.write.run_log import OpenRun
from queries.write.transaction_mark import TransactionMark

# An executor writes a guarded node many times a second and locks it briefly each time. Seconds to retry, and between.
ROW_LOCK_SECONDS, PAUSE_SECONDS = 0.5, 0.005

Rows = Mapping[tuple[str, str, str], str]  # by node, table and key: the row as JSON text of the server

CHANGED_MEANWHILE = "it changed during the wait"
HELD = "another transaction holds a lock on it, or on a part of it"
LIVES = "its {summary}. If you have checked that it is gone, say so: {gone}=yes"
POLICY = "row-level policy: this role can see it, but not change it"
PROBES = 64  # limit of statements that distinguish locked rows from rows that a policy hides

_locked = itemgetter("id", "version")
_copied = itemgetter("id", "table", "key", "place", "row")
_imaged = itemgetter("table", "key", "place", "xmin", "texts", "rest", "digest")


class Seen(Record):
    """Result of the dry run that the operator saw, which a commit compares.

    ``row_digests``: of the rows, by node. ``verdicts``: about the owners, ``at`` that time by the server's clock.
    ``shown``: what it did. ``steady`` is set if the operator waited for the nodes, whose versions have changed since: a
    node is then accepted in its current version if its ``steady`` text is unchanged.
    """

    row_digests: Mapping[str, str] = {}
    verdicts: Mapping[str, Verdict] = {}
    at: float | None = None
    shown: gate.Shown = gate.Shown()
    steady: Mapping[str, str | None] | None = None


class Kept(Record):
    """Values of the changed rows that are kept.

    ``no_images``: why no images for an undo, or "". ``values`` False: the audit log entry names the changed columns
    without their values.
    """

    no_images: str = ""
    values: bool = True


class Request(Record):
    """Action and arguments of a transaction.

    ``titles``: of the nodes. ``over``: the connection. ``run``: the run that it is a part of. ``part``: its cohort in a
    redrive. ``measures``: it measures the blast radius.
    """

    reader: Reader
    action: Action
    reason: str
    arguments: Mapping[str, Any]
    operator: audit_log.Operator
    titles: Mapping[str, str] = {}
    seen: Seen = Seen()
    kept: Kept = Kept()
    over: str = "write"
    run: OpenRun | None = None
    part: int | None = None
    measures: bool = False


class GuardMissedError(DatabaseError):
    """The change did not reach every locked node; the transaction is rolled back.

    ``whys``: the reason by node, as far as it is known.
    """

    def __init__(self, missed: Sequence[str], whys: Mapping[str, str] | None = None) -> None:
        super().__init__("The change did not reach every node.")
        self.missed, self.whys = missed, whys or {}


class ActionTransaction:
    """One transaction of an action, with its nodes and their results."""

    def __init__(self, request: Request, versions: Mapping[str, str]) -> None:
        self.reader, self.action, self._seen = request.reader, request.action, request.seen
        self.given = versions
        self.versions = dict(versions)  # a node that the operator waited for gets its current version
        self.live = sorted(versions)
        # Nodes with a guard token instead of a version, and those of them whose guarded fields are unchanged.
        self.guarded = {i for i, version in self.versions.items() if guard_token.is_token(version)}
        self._unchanged: set[str] = set()
        self.skipped: dict[str, Result] = {}
        self.owners: dict[str, Owner] = {}
        self._titles = request.titles
        # Changed rows as JSON text of the server: the audit log stores them without decoding.
        self.copies: tuple[RowChange, ...] = ()
        self.images: images.Images | None = None
        self.row_digests: dict[str, str] = {}
        self.touched: tuple[str, ...] = ()  # ids that the change reached
        self.retry: dict[str, str] = {}  # ids and versions that did not change because the server was lost
        self.durability: Durability | None = None  # None: not committed
        self.caveat = ""  # reason noted with each changed node
        self.notes: dict[str, tuple[str, str]] = {}  # reason and detail by changed node, if there is no caveat
        self.xid: str | None = None
        self.entry_id = ""  # of the audit log entry, if the server returned it
        self.at = 0.0  # start of the transaction, by the server's clock
        self.for_now: list[str] = []  # nodes refused because an executor is running them
        self.steady: dict[str, str | None] = {}  # by node: text that must not change during a wait
        self.measured: Measured | None = None
        self._measurement = Measurement(self.reader) if request.measures else None
        self.policies = self.reader.found.policies  # tables whose row-level security restricts this role
        self.others: tuple[OtherRows, ...] = ()  # rows that the copies do not have
        self.counted = True  # False: the server does not count rows, so there may be others
        self.held = 0.0  # seconds that its statements took, with row locks
        self._operator = request.operator.name
        self._written = gate.Written()  # before the change
        self._foreign: set[tuple[str, str, str]] = set()
        self._nodes: dict[str, list[str]] = {}  # ids and versions of `live` as statement parameters; {}: build again
        self._sections = self.reader.engine.actions.get(self.action.script, {})
        self._places: dict[images.Place, str] = {}  # of the rows of the last copy
        self._row_texts: dict[images.Place, images.RowText] = {}  # images of these rows
        self._no_images = request.kept.no_images
        self._image_reader = None if self._no_images else self._new_reader()
        self._takes_from_living = self.action.overrules(request.arguments)
        self._fixed = {
            "operator": self._operator,
            "reason": request.reason,
            "args": msgspec.json.encode(dict(request.arguments)).decode(),
            "met_needs": sorted(self.reader.found.met_needs),
            "settings": msgspec.json.encode(self.reader.engine.settings).decode(),
            "copied": None,
            "dry_run": None if request.seen.at is None else str(request.seen.at),
        }

    def skip(self, node_id: str, outcome: Outcome, why: str, detail: str = "") -> None:
        """Skip a node, with its result."""
        self.skipped[node_id] = Result(id=node_id, outcome=outcome, why=why, detail=detail or msgspec.UNSET)
        self.live.remove(node_id)
        self._nodes = {}

    def skip_all(self, outcome: Outcome, why: str) -> None:
        """Skip all remaining nodes, with the same result."""
        for node_id in list(self.live):
            self.skip(node_id, outcome, why)

    def expect(self, versions: Mapping[str, str]) -> None:
        """Set the versions that ``change`` compares."""
        self.versions |= versions
        self._nodes = {}

    @property
    def irreversible(self) -> dict[str, str]:
        """Changed nodes that cannot be undone, with the reason."""
        if self.images is None:
            return dict.fromkeys(self.live, self._no_images) if self._no_images else {}
        return {self._full(local): why for local, why in self.images.incomplete.items()}

    @property
    def changes(self) -> tuple[RowChange, ...]:
        """Changed rows, decoded."""
        return tuple(copy.read() for copy in self.copies)

    def results(self) -> tuple[Result, ...]:
        """Return a result for each node, ordered by id.

        Nodes that were not skipped count as changed.
        """
        why = self.caveat or self._policy_caveat
        notes = {} if why else self.notes
        done = (self.skipped.get(i) or _changed(i, *notes.get(i, (why, ""))) for i in sorted(self.versions))
        if self.owners:
            owners = self.owners
            done = (msgspec.structs.replace(r, owner=owners[r.id]) if r.id in owners else r for r in done)
        return titled(done, self._titles)

    @property
    def _policy_caveat(self) -> str:
        """Warning that policies may have hidden rows; "" without policies.

        The guard proves only that the node's own row changed. The server skips rows of a second table without an
        error if a policy for UPDATE or DELETE hides them.
        """
        tables = dict.fromkeys(p.partition(" ")[2] for p in self.action.privileges)
        policies = [name for name in tables if name in self.policies]
        if len(tables) < 2 or not policies:
            return ""
        return f"policies on {', '.join(policies)} may have hidden rows from it: check the rows before and after"

    def _new_reader(self) -> images.ImageReader:
        """Return the reader of the rows' images."""
        columns = {*self.action.overwrites, *self.reader.engine.spec.undo.counters}  # an undo increases all counters
        return images.ImageReader(self.reader.database, self.reader.found.schema, sorted(columns))

    async def load(self, transaction: Transaction, file: audit_log.File | None) -> None:
        """Read what an undo needs before the first statement."""

    async def run(self, transaction: Transaction, seen: Mapping[str, str] | None) -> None:
        """Run all steps before COMMIT or ROLLBACK.

        ``seen``: row digests of the dry run; None in the dry run itself.
        """
        began = time.monotonic()
        await self._begin(transaction)
        with table_locks():
            before = await self._prepare(transaction, seen)
        if not self.live:
            return
        if self._measurement is not None:
            await self._measurement.before(transaction, self.live)
        reader, texts_before = self._image_reader, {}
        if reader is not None:
            texts_before = await reader.completed(transaction, self._places, self._row_texts)
        await self._apply(transaction)
        after = await self._copy(transaction, "images_after")
        self.copies = tuple(_differences(set(self.live), before, after, self._foreign))
        await self._check(transaction, seen)
        self.held = time.monotonic() - began
        if self._measurement is not None:
            self.measured = await self._measurement.after(transaction)
            self.held -= self.measured.seconds
        if reader is not None:
            known = {p: text for p, text in self._row_texts.items() if p in texts_before or text.texts}
            texts_after = await reader.completed(transaction, self._places, known)  # inserted rows need their values
            found = reader.collect(self.copies, texts_before, texts_after, self.reader.local)
            self.images = found.without(map(self.reader.local, self.live), self._uncopied())

    async def _begin(self, transaction: Transaction) -> None:
        """Read what the session has written before, and the policies of now."""
        self._written = await self._counts(transaction)
        self.policies, self.counted = self._written.policies, self._written.counted

    async def _counts(self, transaction: Transaction) -> gate.Written:
        found = self.reader.found
        return await gate.written(transaction, found.schema, found.relations)

    async def _check(self, transaction: Transaction, seen: Mapping[str, str] | None) -> None:
        """Pass the gate.

        Raises MiscountedError, DeniedError, and in a commit UnshownError.
        """
        found = self.reader.found
        if seen is not None:
            known = (copy.read() for copy in self.copies if copy.id in self._seen.shown.nodes)
            gate.compare_rows(known, self._seen.shown, self.live, self._operator)
        if not self.counted:
            return
        copies = gate.copied(self.copies, found.schema)
        server = (await self._counts(transaction)).since(self._written)
        more = gate.uncopied(server, copies)
        self.others = await gate.others(transaction, more, server, found.schema, found.relations)
        gate.hidden(self.others, self.policies, found.schema)
        if seen is not None:
            gate.compare(self.others, self._seen.shown, self.live)

    def _uncopied(self) -> str:
        """Return why an undo could not restore all rows of the engine, or ""."""
        shown = {copy.table for copy in self.copies}
        for other in self.others:
            name = other.table.rpartition(".")[2]
            if other.own and (other.deleted or (other.updated and name not in shown)):
                return f"it has also {other.words} of {name} without a copy ({other.cause})"
        return ""

    async def log(self, transaction: Transaction, entry: AuditLogEntry) -> str:
        """Write the entry to the audit log table. Return its id, or "" without images."""
        return await audit_log.append(transaction, entry, self.images)

    async def _apply(self, transaction: Transaction) -> None:
        """Change the nodes, and check that all were changed."""
        changed = await self.change(transaction)
        missed = [i for i in self.live if i not in changed]
        if missed:
            raise GuardMissedError(missed)
        self.touched = tuple(self.live)
        await _fire(transaction)

    async def change(self, transaction: Transaction) -> set[str]:
        """Run the section ``change``. Return the nodes that the last statement reports."""
        rows: Sequence[Mapping[str, Any]] = ()
        source = ""
        for change in self._sections["change"]:
            rows = await self._rows(transaction, change)
            source = change.source
        verify(rows, SHAPES[":change"], source)
        return {self._full(row["id"]) for row in rows}

    async def was_committed(self, transaction: Transaction) -> bool | None:
        """Return True or False if the rows prove a commit or its absence, else None.

        A transaction commits as a whole, so one row in its state before or after the change is proof. A missing row
        proves little, because engines delete rows too.
        """
        live, self.live, self._nodes = self.live, list(self.touched), {}
        try:
            now = await self._copy(transaction)
        finally:
            self.live, self._nodes = live, {}
        rows_now = [(_decoded(now.get((c.id, c.table, c.key))), c) for c in self.changes]
        for rows in ([(row, c) for row, c in rows_now if row is not None], rows_now):
            left, found = any(row == c.after for row, c in rows), any(row == c.before for row, c in rows)
            if left != found:
                return left
            if left:
                return None
        return None

    async def _prepare(self, transaction: Transaction, seen: Mapping[str, str] | None) -> Rows:
        """Lock and copy rows; skip nodes that are missing, stale or refused."""
        await self._admit(transaction, seen)
        before = await self._copy(transaction, "images_before")
        if any("copied" in part.parameters for parts in self._sections.values() for part in parts):
            copied = [(self.reader.local(i), *rest) for i, *rest in before]
            self._fixed["copied"] = msgspec.json.encode(copied).decode()
        self.row_digests = _digests([i for i in self.live if seen is None or i in seen], before, self.guarded)
        if self.action.guard == "rows" and seen is not None:
            for node_id in [i for i, digest in self.row_digests.items() if seen[i] != digest]:
                self.skip(node_id, Outcome.STALE, "rows that this changes were modified since the dry run")
        return before

    async def _admit(self, transaction: Transaction, seen: Mapping[str, str] | None) -> None:
        """Lock the nodes; skip those that are missing, stale or refused."""
        await self.lock(transaction)
        for refused in self._sections.get("refused", ()):
            for row in await self._rows(transaction, refused, ":refused"):
                node_id = self._full(row["id"])
                if node_id in self.live:
                    self.skip(node_id, Outcome.REFUSED, row["why"])
                    self.for_now += [node_id] if self.action.waits and row.get("for_now") else []
        if "witnesses" in self._sections:
            await self._read_owners(transaction, skipped=seen is None)

    async def lock(self, transaction: Transaction) -> None:
        """Lock the rows; skip nodes that are missing, locked or stale."""
        now = await self._locked(transaction)
        until = time.monotonic() + ROW_LOCK_SECONDS
        while any(i not in now for i in self.guarded) and time.monotonic() < until:
            await asyncio.sleep(PAUSE_SECONDS)
            now |= await self._locked(transaction)
        absent = [i for i in self.live if i not in now]
        existing = {node.id for node in await self.reader.existing(transaction, absent)} if absent else set()
        policies = self.policies
        hidden = await self._hidden(transaction, sorted(existing)) if policies else set()
        holders = await self._holders(transaction, sorted(existing - hidden))
        for node_id in absent:
            if node_id in hidden:
                self.skip(node_id, Outcome.DENIED, POLICY)
            elif node_id in existing:
                self.skip(node_id, Outcome.LOCKED, HELD + (f": {held}" if (held := holders.get(node_id)) else ""))
            else:
                hidden_too = ", or a row-level policy hides it" if policies else ""
                self.skip(node_id, Outcome.GONE, f"it does not exist any more{hidden_too}")
        awaited = self._seen.steady
        for node_id in [i for i in self.live if now[i] != self.versions[i]]:
            if node_id in self._unchanged or (awaited is not None and node_id not in self.guarded):
                self.versions[node_id] = now[node_id]  # the row is locked, so this version is current until the change
            else:
                self.skip(node_id, Outcome.STALE, "it was changed since it was shown")
        for node_id in [i for i in self.live if awaited is not None and self.steady.get(i) != awaited.get(i)]:
            self.skip(node_id, Outcome.STALE, CHANGED_MEANWHILE)
        self._nodes = {}

    async def _holders(self, transaction: Transaction, ids: Sequence[str]) -> Mapping[str, str]:
        """Return by node the sessions that lock its rows, as far as they can be read."""
        if not ids:
            return {}
        await transaction.control("SAVEPOINT holders")
        try:
            return await blockers.holders_of(transaction, self.reader, ids)
        except LostError:
            raise
        except DatabaseError:  # a missing privilege must not make the action fail
            return {}
        finally:
            await transaction.control("ROLLBACK TO SAVEPOINT holders; RELEASE SAVEPOINT holders")

    async def _locked(self, transaction: Transaction) -> dict[str, str]:
        """Lock rows that are free. Return the current versions of their nodes.

        A row's ``unchanged`` is true if the fields in the guard of a finding, or an edited text, are unchanged. A row
        without a version locks nothing.
        """
        now: dict[str, str] = {}
        prefix = self._full("")
        for part in self._sections["lock"]:
            rows = await self._rows(transaction, part, ":lock")
            now |= {prefix + id_: version for id_, version in map(_locked, rows) if version is not None}
            if rows and "steady" in rows[0]:
                self.steady |= {prefix + row["id"]: row["steady"] for row in rows}
            if rows and "unchanged" in rows[0]:
                self._unchanged |= {prefix + row["id"] for row in rows if row["unchanged"]} & self.guarded
        return now

    async def _read_owners(self, transaction: Transaction, *, skipped: bool) -> None:
        """Read the witnesses about the owners of the nodes.

        A failure does not stop the action. ``skipped``: also of nodes that are refused or locked, as a dry run shows.
        A node is stale if its owner shows a sign of life that it did not show in the dry run. It is refused if its
        owner may live, unless the operator has said in words that the owner is gone.
        """
        live, shown = self.live, (Outcome.REFUSED, Outcome.LOCKED)
        others = [r.id for r in self.skipped.values() if r.outcome in shown] if skipped else []
        asked = sorted((*live, *others))
        if not asked:
            return
        parts = [witnesses.counted(p) if len(asked) > witnesses.SHOWN else p for p in self._sections["witnesses"]]
        self.live, self._nodes = asked, {}
        await transaction.control("SAVEPOINT witnesses")
        try:
            rows = [row for part in parts for row in await self._rows(transaction, part)]
            sessions = await transaction.rows(statement("witness_sessions"), {}) if rows else []
            owners = witnesses.owners(rows, sessions[0] if sessions else {}, self._row_locks(live))
        except LostError:
            raise
        except DatabaseError as error:
            await transaction.control("ROLLBACK TO SAVEPOINT witnesses")
            owners = dict.fromkeys(map(self.reader.local, asked), witnesses.unread(error.line))
        finally:
            self.live, self._nodes = live, {}
        await transaction.control("RELEASE SAVEPOINT witnesses")  # or the changes would have another xid
        self.owners = {self._full(local): owner for local, owner in owners.items()}
        for node_id in list(live):
            owner, verdict = self.owners.get(node_id), self._seen.verdicts.get(node_id, Verdict.ALIVE)
            if owner is None or owner.verdict is not Verdict.ALIVE:
                continue
            if verdict is not Verdict.ALIVE:
                self.skip(
                    node_id, Outcome.STALE, f"its owner has shown a sign of life since the dry run: {owner.summary}"
                )
            elif not self._takes_from_living:
                self.skip(node_id, Outcome.REFUSED, LIVES.format(summary=owner.summary, gone=GONE))

    def _row_locks(self, live: Iterable[str]) -> dict[str, str]:
        """Return by local id the other transaction that locks the node's rows, or ""."""
        held = {r.id: r.why for r in self.skipped.values() if r.outcome is Outcome.LOCKED}
        return {self.reader.local(i): why for i, why in (*((i, "") for i in live), *held.items())}

    async def _hidden(self, transaction: Transaction, ids: list[str]) -> set[str]:
        """Return visible nodes that a row-level policy prevents from being locked.

        SKIP LOCKED skips a row that another transaction holds, and a row that a policy for UPDATE hides. NOWAIT fails
        only for the former. Nodes beyond the limit of probes count as locked.
        """
        live, hidden, left = self.live, set(), [ids] if ids else []
        for _ in range(PROBES):
            if not left:
                break
            probed = left.pop(0)
            self.live, self._nodes = probed, {}
            locked: set[str] = set()
            await transaction.control("SAVEPOINT probe")
            try:
                for part in self._sections["lock"]:
                    waiting = msgspec.structs.replace(part, text=part.text.replace("SKIP LOCKED", "NOWAIT"))
                    rows = await self._rows(transaction, waiting)
                    locked |= {self._full(row["id"]) for row in rows if row["version"] is not None}
                hidden |= set(probed) - locked
            except LockedError:
                half = len(probed) // 2
                left += [probed[:half], probed[half:]] if half else []
            finally:
                self.live, self._nodes = live, {}
            await transaction.control("ROLLBACK TO SAVEPOINT probe; RELEASE SAVEPOINT probe")
        return hidden

    async def _copy(self, transaction: Transaction, images_: str = "") -> Rows:
        """Copy affected rows, with the columns of the statement ``images_`` beside each.

        Rows with ``ours`` false were written by other transactions and are excluded.
        """
        copied = {}
        self._foreign, self._places, self._row_texts = set(), {}, {}
        prefix = self._full("")
        reader = self._image_reader if images_ else None
        for part in self._sections["rows"]:
            part = row_copies.bounded(part, self.reader.found)
            asked = part if reader is None else await reader.copying(transaction, part, images_)
            rows = await self._rows(transaction, asked, ":rows")
            for local, table, key, place, row in map(_copied, rows):
                copied[prefix + local, table, key] = row
                if place is not None:
                    self._places[table, key] = place
            if asked is not part:
                self._row_texts |= {
                    (table, key): images.RowText(place, rest, texts or (), xmin or "", digest or "")
                    for table, key, place, xmin, texts, rest, digest in map(_imaged, rows)
                    if rest is not None
                }
            if rows and "ours" in rows[0]:
                self._foreign |= {(prefix + r["id"], r["table"], r["key"]) for r in rows if r["ours"] is False}
        return copied

    async def _rows(self, transaction: Transaction, part: Statement, shape: str = "") -> Sequence[Mapping[str, Any]]:
        """Return the rows of a section. ``shape`` names the columns that they must have."""
        if not self.live or not part.needs <= self.reader.found.met_needs:
            return []
        self._nodes = self._nodes or {
            "ids": [self.reader.local(i) for i in self.live],
            "versions": [self.versions[i] for i in self.live],
        }
        rows = await self._sent(transaction, part)
        if shape:
            verify(rows, SHAPES[shape], part.source)
        return rows

    async def _sent(self, transaction: Transaction, part: Statement) -> Sequence[Mapping[str, Any]]:
        """Send a statement with its parameters."""
        return await transaction.rows(part, {**self._fixed, **self._nodes})

    def _full(self, local: str) -> str:
        return f"{self.reader.label}/{local}"


class Committed:
    """A transaction whose COMMIT was sent.

    ``sent`` and ``answered`` are monotonic times. ``run``: the run that it is a part of, or "".
    """

    def __init__(
        self,
        mark: TransactionMark,
        action_transaction: ActionTransaction,
        entry: AuditLogEntry,
        *,
        table: bool,
        sent: float,
        answered: float,
        run: str = "",
    ) -> None:
        self.mark, self.action_transaction, self.entry, self.table = mark, action_transaction, entry, table
        self.sent, self.answered = sent, answered
        self.run = run
        self.settled = True  # False: the server could not report whether it was committed


async def _fire(transaction: Transaction) -> None:
    """Check deferred constraints before COMMIT.

    Raises ConflictError, also for any error of a trigger. A dry run does not reach COMMIT. A failure at COMMIT could
    not be traced to a node by halving, and the check would run there without statement_timeout.
    """
    try:
        await transaction.control(FIRE)
    except (LockedError, ConflictError, DeniedError, LostError, SlowError):
        raise
    except DatabaseError as error:
        raise ConflictError(str(error), code=error.code) from error


def unchanged(request: Request, versions: Mapping[str, str], outcome: Outcome, why: str) -> ActionTransaction:
    """Return a transaction that changed no node, with the same result for each."""
    action_transaction = ActionTransaction(request, versions)
    action_transaction.skip_all(outcome, why)
    return action_transaction


def _digests(ids: Iterable[str], rows: Rows, guarded: Container[str]) -> dict[str, str]:
    """Return a digest of each node's rows, equal as long as no affected row changes.

    The rows of ``guarded`` nodes change all the time. Their digest covers only the tables and keys.
    """
    parts: dict[str, list[bytes]] = {i: [] for i in ids}
    for (node_id, table, key), row in sorted(rows.items()) if parts else ():
        if node_id in parts:
            parts[node_id].append(msgspec.json.encode((table, key, "" if node_id in guarded else row)))
    return {i: hashlib.sha256(b"\n".join(p)).hexdigest() for i, p in parts.items()}


def _changed(node_id: str, why: str, detail: str) -> Result:
    return Result(id=node_id, outcome=Outcome.CHANGED, why=why, detail=detail or msgspec.UNSET)


def _raw(row: str | None) -> Any:
    return None if row is None else msgspec.Raw(paired(row))


def _decoded(row: Any) -> Any:
    return None if row is None else decoded(row)


def _differences(
    ids: set[str], before: Rows, after: Rows, foreign: Container[tuple[str, str, str]]
) -> Iterable[RowChange]:
    """Yield the rows of these nodes that differ before and after.

    A row that several nodes share may be listed under another of them afterwards, if nodes were skipped in between.
    """
    removed, added = before.keys() - after.keys(), after.keys() - before.keys()
    elsewhere = {place[1:]: row for place, row in before.items()} if added else {}
    still = {place[1:] for place in after} if removed else set()
    for place in sorted(before.keys() | after.keys() if added else before):
        was = elsewhere.get(place[1:]) if added and place in added else before[place]
        now = after.get(place)
        if was == now or place[0] not in ids or place in foreign or (now is None and place[1:] in still):
            continue
        yield RowChange(id=place[0], table=place[1], key=place[2], before=_raw(was), after=_raw(now))
