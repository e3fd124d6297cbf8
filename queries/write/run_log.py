"""Runs in the audit log table: the lock, the beginning, the entries and events.

A run is its first entry, whose id is its name. Each later entry names it: those of the changes, and those of events,
such as the answers of a cohort or a decision of the operator. An entry is written under the lock of the run, which the
process that continues the run shares with itself only. So a process that has the lock alone knows what was done: an
entry is there if and only if its transaction has committed. Nothing else must be remembered. The lock is waited for in
the server's queue, so a process that wants it alone has it when the changes have ended that had begun before.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import msgspec

from queries.contract.trust import Trust
from queries.db.database import WRITE_SECONDS, Database
from queries.db.errors import DatabaseError, LockedError, OvertakenError
from queries.db.query import Query
from queries.db.shared_sql import statement
from queries.db.transaction import Reads, Transaction
from queries.read.question import NOW, Question, answered, value_of
from queries.records import stored
from queries.records.audit import RUN, AuditLogEntry
from queries.records.record import Record
from queries.records.run import Member, commands_of
from queries.write import audit_log
from queries.write.log_file import LogFile
from queries.write.transaction_mark import Provable, TransactionMark

ALONE, SHARED = "run_lock", "run_lock_shared"  # statements that take a lock
BEGIN, RESUME, SKIPPED = "begin", "resume", "skipped"  # kinds of events, beside END
GUARD_SECONDS = 2.0  # that a change waits for the lock
LOCK_SECONDS = 20.0  # to wait for a transaction that is under way, or that an earlier console has left behind
UNLISTED = " Without the file {file} the run is listed no more."
OPEN_RUNS = 100  # unfinished runs of a schema that are looked at


class ListedRun(Record):
    """A run in a list.

    ``ended``: the event that ended it. ``changed``: number of nodes. ``place``: of its log.
    """

    begun: AuditLogEntry
    changed: int
    last_at: float
    ended: dict[str, Any] | None = None
    place: str = audit_log.TABLE


class OpenRun(Protocol):
    """A run that this process continues.

    ``begun``: its first entry. ``members``: its nodes as recorded JSON. ``ended``: as far as this
    process knows. ``place``: of its log.
    """

    id: str
    begun: AuditLogEntry
    members: msgspec.Raw
    ended: bool
    place: str

    @property
    def file(self) -> LogFile | None:
        """The local file that has each change too, or None."""

    async def guard(self, transaction: Transaction) -> None:
        """Make a transaction one of this run.

        Raises OvertakenError if another process continues it.
        """

    def named(self, **more: Any) -> dict[str, Any]:
        """Return the argument of an audit log entry that names the run."""

    def sending(self, mark: TransactionMark, proof: Provable) -> None:
        """Note a transaction before its COMMIT is sent."""

    async def take_over(self, entry: AuditLogEntry) -> bool:
        """Continue it instead of the process that did. Return False if it has ended.

        ``entry``: of the event. Raises DatabaseError.
        """

    async def entries(self, *, guarded: bool = True) -> list[AuditLogEntry]:
        """Return its entries, oldest first, once no transaction of it is running.

        ``guarded`` False: only look, without continuing it. Raises DatabaseError.
        """

    async def entries_so_far(self) -> list[AuditLogEntry]:
        """Return its entries, oldest first, also while its transactions are running.

        Raises DatabaseError.
        """

    async def record(self, entry: AuditLogEntry, event: Mapping[str, Any]) -> None:
        """Write the entry of an event. Raises DatabaseError, OvertakenError."""

    def close(self) -> None:
        """End the part of this process."""


class TableRun:
    """A run in the audit log table, continued by this process."""

    place = audit_log.TABLE
    file = None

    def __init__(self, table: audit_log.Table, begun: AuditLogEntry, members: msgspec.Raw, process: str) -> None:
        self.id, self.begun, self.members, self.process = begun.id, begun, members, process
        self.ended = False
        self._table = table

    async def guard(self, transaction: Transaction) -> None:
        """Take the lock of the run for this transaction, which other changes of it share.

        Raises OvertakenError if another process continues it.
        """
        await share(transaction, self._table.database, self.id)
        await self._check(transaction)

    def named(self, **more: Any) -> dict[str, Any]:
        """Return the argument of an audit log entry."""
        return {"id": self.id, "process": self.process, **more}

    def sending(self, mark: TransactionMark, proof: Provable) -> None:
        """Note nothing: the entry is in the transaction."""

    async def take_over(self, entry: AuditLogEntry) -> bool:
        """Continue the run instead of the process that did. Return False if it has ended.

        Raises DatabaseError.
        """
        async with _writing(self._table, self.id) as (transaction, trust):
            last = await _last(transaction, self.id)
            if last["ended"]:
                return False
            if last["process"] != self.process:
                await self._table.write(transaction, naming(entry, self.named(event=RESUME)), trust)
                await transaction.control("COMMIT")
        return True

    async def entries(self, *, guarded: bool = True) -> list[AuditLogEntry]:
        """Return the entries of the run, oldest first.

        Waits until no transaction of it is running. ``guarded`` False: only look, without continuing it. Raises
        DatabaseError, OvertakenError.
        """
        async with locked(self._table.database, self.id) as transaction:
            if guarded:
                await self._check(transaction)
            return await self._entries(transaction)

    async def entries_so_far(self) -> list[AuditLogEntry]:
        """Return the entries of the run, oldest first, without its lock.

        A transaction that waits to have the lock alone stops the changes of the run. Raises DatabaseError.
        """
        async with self._table.database.reading(WRITE_SECONDS) as transaction:
            return await self._entries(transaction)

    async def _entries(self, transaction: Reads) -> list[AuditLogEntry]:
        rows = await transaction.rows(statement("run_events"), {"id": self.id})
        if not all(row["intact"] for row in rows):
            raise tampered(self.id)
        return [audit_log.entry_of(row) for row in rows]

    async def record(self, entry: AuditLogEntry, event: Mapping[str, Any]) -> None:
        """Write the entry of an event. Raises DatabaseError, OvertakenError."""
        async with _writing(self._table, self.id, SHARED) as (transaction, trust):
            await self._check(transaction)
            await self._table.write(transaction, naming(entry, self.named(**event)), trust)
            await transaction.control("COMMIT")

    def close(self) -> None:
        """Nothing is open."""

    async def _check(self, transaction: Transaction) -> None:
        last = await _last(transaction, self.id)
        if last["process"] != self.process:
            self.ended = last["ended"]
            raise overtaken(self.id, last["who"], ended=self.ended)


def overtaken(run: str, who: str, *, ended: bool) -> OvertakenError:
    """Return the error of a process that does not continue a run any more."""
    what = f"has ended the run {run}" if ended else f"continues the run {run} now"
    return OvertakenError(f"{who} {what}, so this console does not continue it.", "Nothing was changed.")


def tampered(run: str, file: Path | None = None) -> DatabaseError:
    """Return the error of a run with an entry that has not its hash any more.

    ``file``: because of which it is listed.
    """
    return DatabaseError(
        f"An entry of the run {run} was changed since it was written.",
        "Nothing was changed. `unstick audit --verify` names it." + (UNLISTED.format(file=file) if file else ""),
    )


async def begin(
    table: audit_log.Table, process: str, entry: AuditLogEntry, event: Mapping[str, Any], members: Sequence[Member]
) -> TableRun:
    """Write the first entry of a run, and return the run.

    Raises DatabaseError if another run about one of its ``groups`` has not ended.
    """
    nodes = listed_members(members)
    entry = naming(entry, {**beginning(event, nodes), "process": process})
    async with _writing(table, f"of {entry.schema}", images=True) as (transaction, trust):
        for other in (
            await _listed(transaction, entry.schema, OPEN_RUNS, event["kind"], open_only=True)
            if event["groups"]
            else ()
        ):
            groups = other.begun.event.get("groups")  # foreign input
            if isinstance(groups, list) and any(group in groups for group in event["groups"]):
                commands = commands_of(table.database.command, event["kind"], other.begun.id)
                raise LockedError(
                    f"{other.begun.who} is reviving these dead letters: redrive {other.begun.id},"
                    f" {other.begun.reason!r}.",
                    f"Nothing was changed. {commands.sentence}",
                )
        run = await table.write(transaction, entry, trust, nodes)
        at = await NOW.answer(transaction)
        await transaction.control("COMMIT")
    return TableRun(table, msgspec.structs.replace(entry, id=run, at=at), nodes, process)


def beginning(event: Mapping[str, Any], members: bytes) -> dict[str, Any]:
    """Return the argument of the first entry of a run, which has a hash of its nodes."""
    return {**event, "event": BEGIN, "digest": hashlib.sha256(members).hexdigest()}


def has_members(run: Mapping[str, Any], members: bytes) -> bool:
    """Return True if these are the nodes of the run that the argument begins."""
    return hashlib.sha256(members).hexdigest() == run.get("digest")


def listed_members(members: Sequence[Member]) -> msgspec.Raw:
    """Return the nodes of a run as they are recorded."""
    return msgspec.Raw(msgspec.json.encode({"members": members}))


async def load(table: audit_log.Table, process: str, run: str) -> TableRun | None:
    """Return a run, or None. Raises DatabaseError."""
    if not audit_log.is_table_id(run):
        return None
    async with table.database.reading() as transaction:
        rows = await transaction.rows(statement("run_begin"), {"id": run})
    if not rows:
        return None
    begun, members = audit_log.entry_of(rows[0]), msgspec.Raw((rows[0]["members"] or "").encode())
    if not rows[0]["intact"] or not has_members(begun.event, members):
        raise DatabaseError(f"The list of nodes of the run {run} was removed or changed.", "Nothing was changed.")
    return TableRun(table, begun, members, process)


async def newest(database: Database, most: int, kind: str | None = None, *, open_only: bool = False) -> list[ListedRun]:
    """Return runs, newest first, of all kinds or one. Raises DatabaseError."""
    async with database.reading() as transaction:
        return await _listed(transaction, None, most, kind, open_only=open_only)


async def _listed(
    transaction: Reads, schema: str | None, most: int, kind: str | None, *, open_only: bool
) -> list[ListedRun]:
    args = msgspec.json.encode({"kind": kind, "open": open_only}).decode()
    values = {"schema": schema, "limit": most, "args": args}
    rows = await transaction.rows(statement("run_list"), values)
    return [
        ListedRun(
            begun=audit_log.entry_of(row),
            changed=row["changed"],
            last_at=row["last_at"],
            ended=stored.read(row["ended"] or "null", dict[str, Any] | None),  # type: ignore[arg-type]  # the server's jsonb
        )
        for row in rows
    ]


def naming(entry: AuditLogEntry, run: Mapping[str, Any]) -> AuditLogEntry:
    """Return an entry that is a part of a run, or begins one."""
    return msgspec.structs.replace(entry, arguments={**entry.arguments, RUN: dict(run)})


async def _last(transaction: Transaction, run: str) -> Mapping[str, Any]:
    rows = await transaction.rows(statement("run_last"), {"id": run})
    if not rows:
        raise DatabaseError(
            f"The audit log has no run {run}.", "If the server was replaced, it was lost with all of its changes."
        )
    return rows[0]


async def share(transaction: Transaction, database: Database, run: str) -> None:
    """Share the lock of a run with its other changes. Raises OvertakenError."""
    await _lock(transaction, run, SHARED, GUARD_SECONDS * database.patience)


@asynccontextmanager
async def locked(database: Database, name: str, how: str = ALONE) -> AsyncIterator[Transaction]:
    """Open a writing transaction that holds a lock.

    Waits for transactions that are under way. Raises DatabaseError, OvertakenError.
    """
    async with database.writing(waits=LOCK_SECONDS) as transaction:
        await _lock(transaction, name, how, LOCK_SECONDS * database.patience)
        yield transaction


@asynccontextmanager
async def _writing(
    table: audit_log.Table, name: str, how: str = ALONE, *, images: bool = False
) -> AsyncIterator[tuple[Transaction, Trust]]:
    """Open a transaction that holds a lock, with the trust for its entry.

    ``images``: see `Table.trust`. Raises DatabaseError if the entry could run code of an untrusted role.
    """
    database = table.database
    async with database.writing(waits=LOCK_SECONDS) as transaction:
        (trust,) = await _lock(transaction, name, how, LOCK_SECONDS * database.patience, table.trust(images=images))
        audit_log.refuse_doubt(trust)  # before the table is read
        yield transaction, trust


async def _lock(transaction: Transaction, name: str, how: str, seconds: float, *questions: Question[Any]) -> list[Any]:
    """Wait for a lock, and ask once it is held. Raises DatabaseError, OvertakenError.

    The time of the transaction begins when it has the lock.
    """
    values = {"query": name, "args": {"timeout": round(seconds * 1000)}}
    lock = Question([Query(statement(how), values, seconds=seconds + 1)], lambda _: None)
    locked, *answers = await answered(transaction, [lock, *questions])
    if isinstance(locked, LockedError):
        raise OvertakenError(f"Another console is working on the run {name}.", "Nothing was changed.") from locked
    value_of(locked)
    transaction.limit_time()
    return [value_of(answer) for answer in answers]
