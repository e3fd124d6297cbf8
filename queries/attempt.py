"""One transaction's worth of a verb: which nodes are in it, what it does to their rows, who drops out and why."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from queries import ledger
from queries.database import Transaction
from queries.fault import DatabaseError
from queries.model import Outcome, Record, Result, RowChange
from queries.read import Reader
from queries.spec import Verb
from queries.statement import Statement


class Request(Record):
    """What is asked for, the same for every chunk of it."""

    reader: Reader
    verb: Verb
    reason: str
    arguments: Mapping[str, Any]
    operator: ledger.Operator
    witness: Mapping[str, str] = {}


class Attempt:
    """One transaction's worth of a verb: which nodes are still in, and what became of the others."""

    def __init__(self, request: Request, versions: Mapping[str, str]) -> None:
        self.reader, self.verb = request.reader, request.verb
        self.versions = dict(versions)
        self.live = sorted(versions)
        self.dropped: dict[str, Result] = {}
        self.changes: tuple[RowChange, ...] = ()
        self.witness: dict[str, str] = {}
        self.xid: str | None = None
        self.note = ""
        self._fixed = {
            "operator": f"{request.operator.os_user}@{request.operator.host}",
            "reason": request.reason,
            "args": msgspec.json.encode(dict(request.arguments)).decode(),
            "have": sorted(self.reader.found.have),
            "limits": msgspec.json.encode(self.reader.system.limits).decode(),
        }

    def drop(self, node_id: str, outcome: Outcome, why: str) -> None:
        self.dropped[node_id] = Result(id=node_id, outcome=outcome, why=why)
        self.live.remove(node_id)

    def results(self) -> tuple[Result, ...]:
        """In the order of the ids; what is still in counts as changed."""
        changed = {i: Result(id=i, outcome=Outcome.CHANGED, why=self.note) for i in self.live}
        return tuple({**changed, **self.dropped}[i] for i in sorted(self.versions))

    async def run(self, transaction: Transaction, seen: Mapping[str, str]) -> None:
        """Everything up to the end of the transaction. ``seen`` is the witness of the rehearsal, at a commit."""
        sections = self.reader.system.verbs[self.verb.script]
        fixed = self._fixed
        await self._lock(transaction, sections["lock"], fixed)
        for refused in sections.get("refused", ()):
            for row in await self._rows(transaction, refused, fixed):
                node_id = self._full(row["id"])
                if node_id in self.live:
                    self.drop(node_id, Outcome.REFUSED, row["why"])
        before = await self._copy(transaction, sections["rows"], fixed)
        self.witness = _digests(self.live, before)
        if self.verb.guard == "rows":
            for node_id in [i for i in self.live if seen.get(i, self.witness[i]) != self.witness[i]]:
                self.drop(node_id, Outcome.MOVED, "rows that this touches have changed since the rehearsal")
        if not self.live:
            return
        for change in sections["change"]:
            rows = await self._rows(transaction, change, fixed)
        changed = {self._full(row["id"]) for row in rows}
        missed = [i for i in self.live if i not in changed]
        if missed:
            raise GuardMissedError(missed)
        after = await self._copy(transaction, sections["rows"], fixed)
        self.changes = tuple(_differences(set(self.live), before, after))

    async def _lock(self, transaction: Transaction, lock: Sequence[Statement], fixed: Mapping[str, Any]) -> None:
        now: dict[str, str] = {}
        for part in lock:
            for row in await self._rows(transaction, part, fixed):
                now[self._full(row["id"])] = row["version"]
        absent = [i for i in self.live if i not in now]
        there = {node.id for node in await self.reader.existing(transaction, absent)} if absent else set()
        for node_id in absent:
            if node_id in there:
                self.drop(node_id, Outcome.BUSY, "another transaction holds it, or a part of it, right now")
            else:
                self.drop(node_id, Outcome.GONE, "it does not exist any more")
        for node_id in [i for i in self.live if now[i] != self.versions[i]]:
            self.drop(node_id, Outcome.MOVED, "somebody changed it since it was shown")

    async def _copy(
        self, transaction: Transaction, rows: Sequence[Statement], fixed: Mapping[str, Any]
    ) -> dict[tuple[str, str, str], dict[str, Any]]:
        copied = {}
        for part in rows:
            for row in await self._rows(transaction, part, fixed):
                copied[self._full(row["id"]), row["table"], row["key"]] = msgspec.json.decode(row["row"])
        return copied

    async def _rows(
        self, transaction: Transaction, part: Statement, fixed: Mapping[str, Any]
    ) -> Sequence[Mapping[str, Any]]:
        if not self.live:
            return []
        ids = [self.reader.local(i) for i in self.live]
        values = {"ids": ids, "versions": [self.versions[i] for i in self.live], **fixed}
        return await transaction.rows(part, values)

    def _full(self, local: str) -> str:
        return f"{self.reader.label}/{local}"


class GuardMissedError(DatabaseError):
    """A change touched fewer nodes than were locked for it; the transaction is rolled back."""

    def __init__(self, missed: Sequence[str]) -> None:
        super().__init__("The change did not reach every node.")
        self.missed = missed


Rows = Mapping[tuple[str, str, str], dict[str, Any]]


def _digests(ids: Iterable[str], rows: Rows) -> dict[str, str]:
    """A digest of each node's rows: equal where nothing that would be touched has changed."""
    parts: dict[str, list[bytes]] = {i: [] for i in ids}
    for (node_id, table, key), row in sorted(rows.items(), key=lambda item: item[0]):
        if node_id in parts:
            parts[node_id].append(msgspec.json.encode((table, key, row), order="sorted"))
    return {i: hashlib.sha256(b"\n".join(p)).hexdigest() for i, p in parts.items()}


def _differences(ids: set[str], before: Rows, after: Rows) -> Iterable[RowChange]:
    """Rows that are not the same before and after, on behalf of these nodes."""
    for place in sorted({*before, *after}):
        if place[0] in ids and before.get(place) != after.get(place):
            node_id, table, key = place
            yield RowChange(id=node_id, table=table, key=key, before=before.get(place), after=after.get(place))
