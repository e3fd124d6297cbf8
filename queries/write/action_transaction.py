"""One transaction's worth of an action: lock, refuse, copy, change, copy again; who drops out on the way, and why."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import msgspec

from queries.contract.spec import Action
from queries.db.database import FIRE, Transaction
from queries.db.shared_sql import statement
from queries.errors import ConflictError, DatabaseError, DeniedError, LockedError, LostError, SlowError
from queries.model import AuditLogEntry, Outcome, Record, Result, RowChange
from queries.read import guard_token
from queries.read.reader import Reader
from queries.statement import Statement
from queries.write import audit_log
from queries.write.bulk_list import BulkList
from queries.write.transaction_mark import TransactionMark

# An executor writes such a node many times a second and holds it for moments: seconds to wait for one of the gaps.
PATIENCE, PAUSE = 0.5, 0.005

Rows = Mapping[tuple[str, str, str], str]  # by node, table and key: the row as the server spells its JSON

CHANGED_MEANWHILE = "it changed while it was waited for"
POLICY = "row-level policy: this role sees it and may not change it"
PROBES = 64  # statements that may be spent on telling rows that are held from rows that a policy hides

_copied = itemgetter("id", "table", "key", "row")


class Request(Record):
    """What is asked for. ``row_digests`` is what the dry run showed, at a commit; ``over`` is the connection to use.

    ``bulk_list`` is the list of the bulk that it is a chunk of.
    ``steady``: the operator waited for these nodes, so that their versions have changed. A node is taken in the version
    that it has if its ``steady`` text is this one.
    """

    reader: Reader
    action: Action
    reason: str
    arguments: Mapping[str, Any]
    operator: audit_log.Operator
    row_digests: Mapping[str, str] = {}
    over: str = "write"
    bulk_list: BulkList | None = None
    steady: Mapping[str, str | None] | None = None


class GuardMissedError(DatabaseError):
    """A change touched fewer nodes than were locked for it; the transaction is rolled back."""

    def __init__(self, missed: Sequence[str]) -> None:
        super().__init__("The change did not reach every node.")
        self.missed = missed


class TableLockedError(LockedError):
    """Somebody holds a whole table: no node is to blame, and trying fewer of them would not help."""


class ImagesError(ConflictError):
    """The row images claim deletions that the server did not make; the transaction is rolled back."""


class ActionTransaction:
    """Which nodes are still in, and what became of the others."""

    def __init__(self, request: Request, versions: Mapping[str, str]) -> None:
        self.reader, self.action, self._awaited = request.reader, request.action, request.steady
        self.asked = versions  # as they were given; of some nodes the version at hand takes their place in `versions`
        self.versions = dict(versions)
        self.live = sorted(versions)
        # Seen by what stays the same, because they change all the time; and those of which it still does.
        self.guarded = {i for i, version in self.versions.items() if guard_token.is_token(version)}
        self._same: set[str] = set()
        self.dropped: dict[str, Result] = {}
        # What has changed, rows as the server spelled them: for the audit log, which takes them unread.
        self.copies: tuple[RowChange, ...] = ()
        self.row_digests: dict[str, str] = {}
        self.touched: tuple[str, ...] = ()  # ids that the change reached
        self.again: dict[str, str] = {}  # ids and versions that nothing was done to for want of a server
        self.unsettled: Committed | None = None  # sent for COMMIT, and the server could not be asked what became of it
        self.caveat = ""  # what is to be said of those that were changed
        self.xid: str | None = None
        self.at = 0.0  # when its transaction began, by the server's clock
        self.for_now: list[str] = []  # nodes refused because an executor has them at the moment
        self.steady: dict[str, str | None] = {}  # by node: what must not change while the operator waits for it
        self._foreign: set[tuple[str, str, str]] = set()
        self._about: dict[str, list[str]] = {}  # ids and versions of those that are in, as statements take them
        self._sections = self.reader.engine.actions[self.action.script]
        self._fixed = {
            "operator": f"{request.operator.os_user}@{request.operator.host}",
            "reason": request.reason,
            "args": msgspec.json.encode(dict(request.arguments)).decode(),
            "have": sorted(self.reader.found.have),
            "limits": msgspec.json.encode(self.reader.engine.limits).decode(),
            "copied": None,
        }

    def drop(self, node_id: str, outcome: Outcome, why: str) -> None:
        """Leave a node out, by name."""
        self.dropped[node_id] = Result(id=node_id, outcome=outcome, why=why)
        self.live.remove(node_id)
        self._about = {}

    def fail(self, outcome: Outcome, why: str) -> None:
        """Leave out all that are still in."""
        for node_id in list(self.live):
            self.drop(node_id, outcome, why)

    @property
    def changes(self) -> tuple[RowChange, ...]:
        """What has changed, for people."""
        return tuple(copy.read() for copy in self.copies)

    def results(self) -> tuple[Result, ...]:
        """In the order of the ids; what is still in counts as changed."""
        why = self.caveat or self._unsure
        done = (self.dropped.get(i) or Result(id=i, outcome=Outcome.CHANGED, why=why) for i in self.versions)
        return tuple(sorted(done, key=lambda r: r.id))

    @property
    def _unsure(self) -> str:
        """Why a changed node may not be changed as a whole: the guard proves that its own row was changed.

        Rows of a second table that a policy for UPDATE or DELETE hides are passed over by the server without an error.
        """
        tables = dict.fromkeys(p.partition(" ")[2] for p in self.action.privileges)
        policies = [name for name in tables if name in self.reader.found.policies]
        if len(tables) < 2 or not policies:
            return ""
        return f"policies on {', '.join(policies)} may have kept rows as they were: see the rows before and after"

    async def run(self, transaction: Transaction, seen: Mapping[str, str] | None) -> None:
        """Everything up to the end of the transaction. ``seen`` is the dry run's witness, None if this is one."""
        try:
            before = await self._prepare(transaction, seen)
        except LockedError as error:
            raise TableLockedError(str(error), code=error.code) from error
        if not self.live:
            return
        deleted = await self._deleted(transaction, before)
        rows: Sequence[Mapping[str, Any]] = ()
        for change in self._sections["change"]:
            rows = await self._rows(transaction, change)
        changed = {self._full(row["id"]) for row in rows}
        missed = [i for i in self.live if i not in changed]
        if missed:
            raise GuardMissedError(missed)
        self.touched = tuple(self.live)
        await _fire(transaction)
        after = await self._copy(transaction)
        self.copies = tuple(_differences(set(self.live), before, after, self._foreign))
        await self._check_deletions(transaction, deleted)

    async def _deleted(self, transaction: Transaction, rows: Rows) -> dict[str, int | None]:
        """How many rows of each copied table this session has deleted so far, by the server's own count."""
        tables = sorted({table for _, table, _ in rows})
        counted = await transaction.rows(statement("deleted"), {"ids": tables}) if tables else []
        return {row["table"]: row["n"] for row in counted}

    async def _check_deletions(self, transaction: Transaction, before: Mapping[str, int | None]) -> None:
        """Compare the deletions that the images claim with those that the server made. Raises ImagesError.

        Images are read twice by the same statement. A row that the second reading cannot reach looks deleted although
        it is there, and the audit log would keep that for ever.
        """
        claimed = Counter(copy.table for copy in self.copies if copy.after is None)
        if not claimed:
            return
        now = await self._deleted(transaction, {("", table, ""): "" for table in claimed})
        for table, number in claimed.items():
            first, last = before.get(table), now.get(table)
            if first is not None and last is not None and number > last - first:
                raise ImagesError(
                    f"{number} rows of {table} would be shown as deleted, but the server deleted {last - first}."
                )

    async def stands(self, transaction: Transaction) -> bool | None:
        """Return True if the rows prove that this attempt was committed, False if not; None if they prove neither.

        A transaction is there as a whole or not at all, so one row will do: one that is as the attempt left it, or as
        the attempt found it. A row that is not there proves little: engines delete rows too.
        """
        live, self.live, self._about = self.live, list(self.touched), {}
        try:
            now = await self._copy(transaction)
        finally:
            self.live, self._about = live, {}
        there = [(_decoded(now.get((c.id, c.table, c.key))), c) for c in self.changes]
        for rows in ([(row, c) for row, c in there if row is not None], there):
            left, found = any(row == c.after for row, c in rows), any(row == c.before for row, c in rows)
            if left != found:
                return left
            if left:
                return None
        return None

    async def _prepare(self, transaction: Transaction, seen: Mapping[str, str] | None) -> Rows:
        """Lock and look: whoever cannot take part drops out here. Nothing in it waits for a row."""
        await self._lock(transaction)
        for refused in self._sections.get("refused", ()):
            for row in await self._rows(transaction, refused):
                node_id = self._full(row["id"])
                if node_id in self.live:
                    self.drop(node_id, Outcome.REFUSED, row["why"])
                    self.for_now += [node_id] if self.action.waits and row.get("for_now") else []
        before = await self._copy(transaction)
        self._fixed["copied"] = msgspec.json.encode([(self.reader.local(i), *rest) for i, *rest in before]).decode()
        self.row_digests = _digests([i for i in self.live if seen is None or i in seen], before, self.guarded)
        if self.action.guard == "rows" and seen is not None:
            for node_id in [i for i, digest in self.row_digests.items() if seen[i] != digest]:
                self.drop(node_id, Outcome.STALE, "rows that this touches have changed since the dry run")
        return before

    async def _lock(self, transaction: Transaction) -> None:
        now = await self._locked(transaction)
        until = time.monotonic() + PATIENCE
        while any(i not in now for i in self.guarded) and time.monotonic() < until:
            await asyncio.sleep(PAUSE)
            now |= await self._locked(transaction)
        absent = [i for i in self.live if i not in now]
        there = {node.id for node in await self.reader.existing(transaction, absent)} if absent else set()
        policies = self.reader.found.policies
        hidden = await self._hidden(transaction, sorted(there)) if policies else set()
        for node_id in absent:
            if node_id in hidden:
                self.drop(node_id, Outcome.DENIED, POLICY)
            elif node_id in there:
                self.drop(node_id, Outcome.LOCKED, "another transaction holds it, or a part of it, right now")
            else:
                also = ", or a row-level policy hides it now" if policies else ""
                self.drop(node_id, Outcome.GONE, f"it does not exist any more{also}")
        awaited = self._awaited
        for node_id in [i for i in self.live if now[i] != self.versions[i]]:
            if node_id in self._same or (awaited is not None and node_id not in self.guarded):
                self.versions[node_id] = now[node_id]  # it is locked: for the change, this is the version
            else:
                self.drop(node_id, Outcome.STALE, "somebody changed it since it was shown")
        for node_id in [i for i in self.live if awaited is not None and self.steady[i] != awaited.get(i)]:
            self.drop(node_id, Outcome.STALE, CHANGED_MEANWHILE)
        self._about = {}

    async def _locked(self, transaction: Transaction) -> dict[str, str]:
        """Lock what nobody else holds. The versions of these nodes as they are.

        A section may tell that a node is the ``same`` by what the guard of a finding says.
        """
        now: dict[str, str] = {}
        prefix = self._full("")
        for part in self._sections["lock"]:
            rows = await self._rows(transaction, part)
            now |= {prefix + row["id"]: row["version"] for row in rows}
            self.steady |= {prefix + row["id"]: row.get("steady") for row in rows}
            self._same |= {prefix + row["id"] for row in rows if row.get("same")} & self.guarded
        return now

    async def _hidden(self, transaction: Transaction, ids: list[str]) -> set[str]:
        """Return those of these visible nodes that a row-level policy keeps from being locked.

        SKIP LOCKED passes over a row that another transaction holds and over one that a policy for UPDATE hides.
        NOWAIT fails on the former alone. Nodes of which this was not found out count as held.
        """
        live, hidden, left = self.live, set(), [ids] if ids else []
        for _ in range(PROBES):
            if not left:
                break
            asked = left.pop(0)
            self.live, self._about = asked, {}
            locked: set[str] = set()
            await transaction.control("SAVEPOINT probe")
            try:
                for part in self._sections["lock"]:
                    waiting = msgspec.structs.replace(part, text=part.text.replace("SKIP LOCKED", "NOWAIT"))
                    locked |= {self._full(row["id"]) for row in await self._rows(transaction, waiting)}
                hidden |= set(asked) - locked
            except LockedError:
                half = len(asked) // 2
                left += [asked[:half], asked[half:]] if half else []
            finally:
                self.live, self._about = live, {}
            await transaction.control("ROLLBACK TO SAVEPOINT probe")
        return hidden

    async def _copy(self, transaction: Transaction) -> Rows:
        """The rows at stake. A part may tell which are ``ours``, written by this transaction: what somebody else writes
        beside it, where that cannot be locked out, is then not taken for its doing.
        """
        copied = {}
        self._foreign = set()
        prefix = self._full("")
        for part in self._sections["rows"]:
            rows = await self._rows(transaction, part)
            for local, table, key, row in map(_copied, rows):
                copied[prefix + local, table, key] = row
            if rows and "ours" in rows[0]:
                self._foreign |= {(prefix + r["id"], r["table"], r["key"]) for r in rows if r["ours"] is False}
        return copied

    async def _rows(self, transaction: Transaction, part: Statement) -> Sequence[Mapping[str, Any]]:
        if not self.live or not part.needs <= self.reader.found.have:
            return []
        self._about = self._about or {
            "ids": [self.reader.local(i) for i in self.live],
            "versions": [self.versions[i] for i in self.live],
        }
        return await transaction.rows(part, {**self._fixed, **self._about})

    def _full(self, local: str) -> str:
        return f"{self.reader.label}/{local}"


class Committed:
    """A transaction whose COMMIT was sent. ``sent`` and ``answered`` are monotonic times.

    ``awaited``: a bulk waits for ``fate`` and reports it, so no correction must be recorded for it.
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
    ) -> None:
        self.mark, self.action_transaction, self.entry, self.table = mark, action_transaction, entry, table
        self.sent, self.answered = sent, answered
        self.settled = True  # False: the server could not report whether it was committed
        self.awaited = False
        self.fate = ""


async def _fire(transaction: Transaction) -> None:
    """Check deferred constraints now: a dry run never comes to COMMIT, and there no node could be named by halving.

    At COMMIT they would also run without a statement_timeout. Raises ConflictError for whatever a trigger raises.
    """
    try:
        await transaction.control(FIRE)
    except (LockedError, ConflictError, DeniedError, LostError, SlowError):
        raise
    except DatabaseError as error:
        raise ConflictError(str(error), code=error.code) from error


def nothing(request: Request, versions: Mapping[str, str], outcome: Outcome, why: str) -> ActionTransaction:
    """An attempt that came to nothing, for the same reason at every node."""
    action_transaction = ActionTransaction(request, versions)
    action_transaction.fail(outcome, why)
    return action_transaction


def _digests(ids: Iterable[str], rows: Rows, guarded: Container[str]) -> dict[str, str]:
    """Return a digest of each node's rows: equal where nothing that would be touched has changed.

    The rows of ``guarded`` nodes change all the time: of them, which rows there are is compared.
    """
    parts: dict[str, list[bytes]] = {i: [] for i in ids}
    for (node_id, table, key), row in sorted(rows.items()) if parts else ():
        if node_id in parts:
            parts[node_id].append(msgspec.json.encode((table, key, "" if node_id in guarded else row)))
    return {i: hashlib.sha256(b"\n".join(p)).hexdigest() for i, p in parts.items()}


def _raw(row: str | None) -> Any:
    return None if row is None else msgspec.Raw(row)


def _decoded(row: Any) -> Any:
    return None if row is None else msgspec.json.decode(row)


def _differences(
    ids: set[str], before: Rows, after: Rows, foreign: Container[tuple[str, str, str]]
) -> Iterable[RowChange]:
    """Rows that are not the same before and after, on behalf of these nodes. One that several nodes have in common may
    be told under another of them afterwards, where nodes dropped out in between.
    """
    gone, come = before.keys() - after.keys(), after.keys() - before.keys()
    elsewhere = {place[1:]: row for place, row in before.items()} if come else {}
    still = {place[1:] for place in after} if gone else set()
    for place in sorted(before.keys() | after.keys()):
        was = elsewhere.get(place[1:]) if place in come else before[place]
        now = after.get(place)
        if was == now or place[0] not in ids or place in foreign or (now is None and place[1:] in still):
            continue
        yield RowChange(id=place[0], table=place[1], key=place[2], before=_raw(was), after=_raw(now))
