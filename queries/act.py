"""The one write path: rehearse, commit, settle an unknown commit. Every change anywhere goes through here.

A verb's sections run in one short READ COMMITTED transaction: ``lock`` takes the rows (skipping those that somebody
else holds) and tells their versions, ``refused`` names nodes the verb is not for, ``rows`` copies what is about to be
touched, ``change`` changes it - guarded again by version in its own WHERE - and ``rows`` copies it once more. A
rehearsal rolls back there; a commit first compares what it read with what the rehearsal showed. Nodes drop out by
name; the others go on.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from queries import ledger
from queries.database import Transaction
from queries.fault import BusyError, ConflictError, DatabaseError, DeniedError, LostError, SlowError, UnreachableError
from queries.files import statement
from queries.model import LedgerEntry, Outcome, Outcomes, Record, Rehearsal, Result, RowChange, split_id
from queries.read import Reader
from queries.spec import Verb
from queries.statement import Statement
from queries.system import System
from queries.workspace import Workspace

CHUNK = 500
SETTLING = 30.0  # seconds; a server that lost us breaks our transaction off within its idle timeout


class Progress(Record):
    """How far an action has come, and what the chunk that was just committed (or not) has done."""

    done: int
    total: int
    chunk: Outcomes


class _Request(Record):
    """What is asked for, the same for every chunk of it."""

    reader: Reader
    verb: Verb
    reason: str
    arguments: Mapping[str, Any]
    operator: ledger.Operator
    witness: Mapping[str, str] = {}


class _Attempt:
    """One transaction's worth of a verb: which nodes are still in, and what became of the others."""

    def __init__(self, request: _Request, versions: Mapping[str, str]) -> None:
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
            raise _GuardMissedError(missed)
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


class _GuardMissedError(DatabaseError):
    """A change touched fewer nodes than were locked for it; the transaction is rolled back."""

    def __init__(self, missed: Sequence[str]) -> None:
        super().__init__("The change did not reach every node.")
        self.missed = missed


async def rehearse(
    workspace: Workspace, label: str, verb: str, seen: Mapping[str, str], reason: str, arguments: Mapping[str, Any]
) -> Rehearsal:
    """Run the verb's real SQL on the nodes of ``seen`` (id -> version) and roll it back.

    Of more than 500 nodes the first 500 are rehearsed. Raises DatabaseError where the server cannot be asked.
    """
    results: list[Result] = []
    changes: list[RowChange] = []
    witness: dict[str, str] = {}
    first = dict(list(seen.items())[:CHUNK])
    requests, refused = _requests(workspace, label, verb, first, reason, arguments, ledger.operator(), {})
    for request, versions in requests:
        for part in await _attempt(workspace, request, versions, commit=False):
            results += part.results()
            changes += part.changes
            witness |= part.witness
    return Rehearsal(
        system=label,
        verb=verb,
        reason=reason,
        arguments=dict(arguments),
        results=tuple(sorted((*results, *refused), key=lambda r: r.id)),
        changes=tuple(changes),
        versions=dict(seen),
        witness=witness,
        at=time.time(),
        ledger=workspace.ledger_place,
    )


async def commit(
    workspace: Workspace, label: str, verb: str, rehearsal: Rehearsal, operator: ledger.Operator
) -> Outcomes:
    """Do what was rehearsed, guarded by what was seen. Never raises for what may have been committed."""
    results: list[Result] = []
    changes: list[RowChange] = []
    xids: list[str] = []
    place = None
    async for progress in bulk(workspace, label, verb, rehearsal, operator, asyncio.Event()):
        results += progress.chunk.results
        changes += progress.chunk.changes
        xids += [progress.chunk.xid] if progress.chunk.xid else []
        place = progress.chunk.ledger or place
    xid = " ".join(xids) or None
    return Outcomes(results=tuple(results), changes=tuple(changes), xid=xid, ledger=place)


async def bulk(
    workspace: Workspace,
    label: str,
    verb: str,
    rehearsal: Rehearsal,
    operator: ledger.Operator,
    stop: asyncio.Event,
) -> AsyncIterator[Progress]:
    """Do what was rehearsed in chunks of at most 500 nodes, each its own transaction; ``stop`` ends it between two."""
    ids = list(rehearsal.versions)
    for start in range(0, len(ids), CHUNK):
        if stop.is_set():
            return
        seen = {i: rehearsal.versions[i] for i in ids[start : start + CHUNK]}
        requests, refused = _requests(
            workspace, label, verb, seen, rehearsal.reason, rehearsal.arguments, operator, rehearsal.witness
        )
        done = start
        if refused:
            done += len(refused)
            yield Progress(done=done, total=len(ids), chunk=Outcomes(results=tuple(refused)))
        for request, versions in requests:
            chunk = await _committed(workspace, request, versions)
            done += len(versions)
            yield Progress(done=done, total=len(ids), chunk=chunk)


def statements(system: System, verb: Verb) -> str:
    """The verb's SQL in the order in which it runs, for reading and copying."""
    parts = [f"-- {name}\n{part.text};" for name, run in system.verbs[verb.script].items() for part in run]
    return "\n\n".join(parts)


def _requests(
    workspace: Workspace,
    label: str,
    name: str,
    seen: Mapping[str, str],
    reason: str,
    arguments: Mapping[str, Any],
    operator: ledger.Operator,
    witness: Mapping[str, str],
) -> tuple[list[tuple[_Request, dict[str, str]]], list[Result]]:
    """What is asked for, apart by script (a verb may be done otherwise to jobs than to tasks), and what cannot be."""
    if not reason.strip():
        raise DatabaseError("A reason is needed: it goes into the ledger.", "Nothing was changed.")
    reader = workspace.systems[label]
    groups: dict[str, tuple[Verb, dict[str, str]]] = {}
    refused = []
    for node_id, version in seen.items():
        kind = split_id(node_id)[1]
        verb = reader.system.verb(name, kind)
        if verb is None:
            refused.append(Result(id=node_id, outcome=Outcome.REFUSED, why=f"{name} is not a verb for a {kind}"))
            continue
        available = reader.availability(verb, bulk=len(seen) > 1)
        if not available.ok:
            lacking = any(not reader.found.may(p) for p in verb.privileges)
            outcome = Outcome.DENIED if verb.writes and lacking else Outcome.REFUSED
            refused.append(Result(id=node_id, outcome=outcome, why=available.why))
            continue
        groups.setdefault(verb.script, (verb, {}))[1][node_id] = version
    requests = []
    for verb, versions in groups.values():
        known = {i: witness[i] for i in versions if i in witness}
        request = _Request(
            reader=reader, verb=verb, reason=reason, arguments=arguments, operator=operator, witness=known
        )
        requests.append((request, versions))
    return requests, refused


async def _committed(workspace: Workspace, request: _Request, versions: dict[str, str]) -> Outcomes:
    """One chunk, with whatever goes wrong told as outcomes."""
    parts = await _attempt(workspace, request, versions, commit=True)
    xids = [p.xid for p in parts if p.xid]
    return Outcomes(
        results=tuple(sorted((r for p in parts for r in p.results()), key=lambda r: r.id)),
        changes=tuple(c for p in parts for c in p.changes),
        xid=" ".join(xids) or None,
        ledger=workspace.ledger_place if xids else None,
    )


async def _attempt(
    workspace: Workspace, request: _Request, versions: dict[str, str], *, commit: bool
) -> list[_Attempt]:
    """Run one transaction. What breaks it off for the sake of some nodes is narrowed down to those by halving."""
    attempt = _Attempt(request, versions)
    try:
        await _transact(workspace, request, attempt, commit=commit)
        return [attempt]
    except _GuardMissedError as error:
        rest = {i: v for i, v in versions.items() if i not in error.missed}
        missed = _all(request, {i: versions[i] for i in error.missed}, Outcome.MOVED, "it changed under the statement")
        return [missed, *(await _attempt(workspace, request, rest, commit=commit) if rest else [])]
    except (BusyError, ConflictError, SlowError) as error:
        if len(versions) == 1:
            return [_all(request, versions, _outcome(error), _line(error))]
        items = sorted(versions.items())
        halves = (dict(items[: len(items) // 2]), dict(items[len(items) // 2 :]))
        return [a for half in halves for a in await _attempt(workspace, request, half, commit=commit)]
    except DeniedError as error:
        return [_all(request, versions, Outcome.DENIED, _line(error))]
    except (LostError, UnreachableError, DatabaseError) as error:
        if not commit:
            raise
        return [_all(request, versions, Outcome.REFUSED, f"{_line(error)} Nothing was changed.")]


async def _transact(workspace: Workspace, request: _Request, attempt: _Attempt, *, commit: bool) -> None:
    database, file = workspace.database, workspace.ledger_file
    async with database.writing(request.reader.found.search_path) as transaction:
        await attempt.run(transaction, request.witness)
        if not commit or not attempt.live:
            return
        mine = (await transaction.rows(statement("xact_id"), {}))[0]
        xid = str(mine["xid"])
        entry = _entry(request, attempt, xid)
        if file is None:
            await ledger.append(transaction, entry)
        else:
            file.append(entry, intended=True)
        try:
            answer = await transaction.control("COMMIT")
            status = "committed" if answer == "COMMIT" else "aborted"
        except LostError:
            status = None
        except DatabaseError as error:
            # A deferred constraint may still fail here; the server has rolled back then.
            raise ConflictError(str(error), code=error.code) from error
    if status is None:
        status = await _settled(workspace, xid, mine["history"])
    if status == "committed":
        attempt.xid = xid
    else:
        known = status == "aborted"
        why = (
            "the connection broke before the server had committed: it rolled everything back"
            if known
            else f"the connection broke around COMMIT and the server cannot say what became of transaction {xid}"
        )
        for node_id in list(attempt.live):
            attempt.drop(node_id, Outcome.REFUSED if known else Outcome.UNKNOWN, why)
        attempt.changes = () if known else attempt.changes
    if file is not None:
        try:
            file.append(_entry(request, attempt, xid, entry.id), intended=False)
        except DatabaseError as error:
            # It is done: a ledger that stops here must not make it look undone.
            attempt.note = f"The ledger has the intent only. {_line(error)}"


async def _settled(workspace: Workspace, xid: str, history: str) -> str:
    """Ask the server what became of a transaction whose COMMIT got no answer."""
    deadline = time.monotonic() + SETTLING
    while True:
        try:
            async with workspace.database.reading() as transaction:
                rows = await transaction.rows(statement("xact_status"), {"id": xid, "query": history})
            status = rows[0]["status"]
            if status != "in progress":
                return str(status or "unknown")
        except (LostError, UnreachableError):
            pass
        except DatabaseError:
            return "unknown"
        if time.monotonic() > deadline:
            return "unknown"
        await asyncio.sleep(min(workspace.database.backoff.next(), 1.0))


def _entry(request: _Request, attempt: _Attempt, xid: str, entry_id: str = "") -> LedgerEntry:
    server = attempt.reader.database.server
    return LedgerEntry(
        id=entry_id or ledger.entry_id(),
        at=time.time(),
        role=server.role if server else "",
        os_user=request.operator.os_user,
        host=request.operator.host,
        system=attempt.reader.label,
        schema=attempt.reader.found.schema,
        verb=request.verb.name,
        reason=request.reason,
        arguments=dict(request.arguments),
        xid=xid,
        results=attempt.results(),
        changes=attempt.changes,
    )


def _all(request: _Request, versions: Mapping[str, str], outcome: Outcome, why: str) -> _Attempt:
    """An attempt that came to nothing, for the same reason at every node."""
    attempt = _Attempt(request, versions)
    for node_id in list(attempt.live):
        attempt.drop(node_id, outcome, why)
    return attempt


def _outcome(error: DatabaseError) -> Outcome:
    return {BusyError: Outcome.BUSY, ConflictError: Outcome.CONFLICT}.get(type(error), Outcome.REFUSED)


def _line(error: DatabaseError) -> str:
    return str(error).replace("\n", " ")


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
