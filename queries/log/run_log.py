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
from typing import Any
from uuid import uuid4

import msgspec

from queries.contract.trust import Trust
from queries.db.database import WRITE_SECONDS, Database
from queries.db.errors import DatabaseError, LockedError, OvertakenError
from queries.db.query import Query, statement
from queries.db.reads import Reads
from queries.db.transaction import Transaction
from queries.log import audit_log
from queries.records import stored
from queries.records.audit import RUN, AuditLogEntry
from queries.records.run import Member, commands_of

ALONE, SHARED = "run_lock", "run_lock_shared"  # statements that take a lock
BEGIN, RESUME = "begin", "resume"  # events of the first entry, and of a take-over
GUARD_SECONDS = 2.0  # that a change waits for the lock
LOCK_SECONDS = 20.0  # to wait for a transaction that is under way, or that an earlier console has left behind
OPEN_RUNS = 100  # unfinished runs of a schema that are looked at
ListedRun = tuple[AuditLogEntry, int, float, dict[str, Any] | None]
"""First entry of a run, number of changed nodes, time of its last entry, the event that ended it."""


class OpenRun:
    """A run that this process continues.

    ``begun``: its first entry. ``members``: its nodes as recorded JSON. ``ended``: as far as this process knows.
    """

    def __init__(self, table: audit_log.Table, begun: AuditLogEntry, members: msgspec.Raw, process: str = "") -> None:
        self.id, self.begun, self.members = begun.id, begun, members
        self.process = process or uuid4().hex  # that continues it
        self.ended = False
        self.cleared: tuple[Any, float, Any] | None = None  # action, monotonic time and answer of its last clearance
        self._table = table

    async def guard(self, transaction: Transaction) -> None:
        """Take the lock of the run for this transaction, which other changes of it share.

        Raises OvertakenError if another process continues it.
        """
        await _lock(transaction, self.id, SHARED, GUARD_SECONDS * self._table.database.patience)
        self._check(await _last(transaction, self.id))

    def named(self, **more: Any) -> dict[str, Any]:
        """Return the argument of an audit log entry."""
        return {"id": self.id, "process": self.process, **more}

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
        database = self._table.database
        async with database.writing(waits=LOCK_SECONDS) as transaction:
            await _lock(transaction, self.id, ALONE, LOCK_SECONDS * database.patience)
            transaction.limit_time()
            if guarded:
                self._check(await _last(transaction, self.id))
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
            raise DatabaseError(
                f"An entry of the run {self.id} was changed since it was written.",
                "Nothing was changed. `unstick audit --verify` names it.",
            )
        return [audit_log.entry_of(row) for row in rows]

    async def record(self, entry: AuditLogEntry, event: Mapping[str, Any]) -> None:
        """Write the entry of an event. Raises DatabaseError, OvertakenError."""
        async with _writing(self._table, self.id, SHARED) as (transaction, trust):
            self._check(await _last(transaction, self.id))
            await self._table.write(transaction, naming(entry, self.named(**event)), trust)
            await transaction.control("COMMIT")

    def _check(self, last: Mapping[str, Any]) -> None:
        if last["process"] != self.process:
            self.ended = last["ended"]
            what = f"has ended the run {self.id}" if self.ended else f"continues the run {self.id} now"
            raise OvertakenError(f"{last['who']} {what}, so this console does not continue it.", "Nothing was changed.")


async def begin(
    table: audit_log.Table, entry: AuditLogEntry, event: Mapping[str, Any], members: Sequence[Member]
) -> OpenRun:
    """Write the first entry of a run, and return the run.

    Raises DatabaseError if another run about one of its ``groups`` has not ended.
    """
    nodes = msgspec.Raw(msgspec.json.encode({"members": members}))
    process = uuid4().hex
    entry = naming(entry, {**event, "event": BEGIN, "digest": _digest(nodes), "process": process})
    async with _writing(table, f"of {entry.schema}", images=True) as (transaction, trust):
        kind, own = event["kind"], event["groups"]
        others = await _listed(transaction, entry.schema, OPEN_RUNS, kind, open_only=True) if own else []
        for other, *_ in others:
            groups = other.event.get("groups")  # foreign input
            if isinstance(groups, list) and any(group in groups for group in own):
                raise LockedError(
                    f"{other.who} is reviving these dead letters: redrive {other.id}, {other.reason!r}.",
                    f"Nothing was changed. {commands_of(table.database.command, kind, other.id).sentence}",
                )
        run = await table.write(transaction, entry, trust, nodes)
        at = await transaction.now()
        await transaction.control("COMMIT")
    return OpenRun(table, msgspec.structs.replace(entry, id=run, at=at), nodes, process)


def _digest(members: bytes) -> str:
    return hashlib.sha256(members).hexdigest()


async def load(table: audit_log.Table, run: str) -> OpenRun | None:
    """Return a run, or None. Raises DatabaseError."""
    if not audit_log.is_table_id(run):
        return None
    async with table.database.reading() as transaction:
        rows = await transaction.rows(statement("run_begin"), {"id": run})
    if not rows:
        return None
    begun, members = audit_log.entry_of(rows[0]), msgspec.Raw((rows[0]["members"] or "").encode())
    if not rows[0]["intact"] or _digest(members) != begun.event.get("digest"):
        raise DatabaseError(f"The list of nodes of the run {run} was removed or changed.", "Nothing was changed.")
    return OpenRun(table, begun, members)


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
        (
            audit_log.entry_of(row),
            row["changed"],
            row["last_at"],
            stored.read(row["ended"] or "null", dict[str, Any] | None),  # type: ignore[arg-type]  # the server's jsonb
        )
        for row in rows
    ]


def naming(entry: AuditLogEntry, run: Mapping[str, Any]) -> AuditLogEntry:
    """Return an entry that is a part of a run, or begins one."""
    return msgspec.structs.replace(entry, arguments={**entry.arguments, RUN: dict(run)})


async def _last(transaction: Transaction, run: str) -> Mapping[str, Any]:
    """Return the newest entry of a run. Raises DatabaseError, also without one."""
    rows = await transaction.rows(statement("run_last"), {"id": run})
    if not rows:
        raise DatabaseError(
            f"The audit log has no run {run}.", "If the server was replaced, it was lost with all of its changes."
        )
    return rows[0]


@asynccontextmanager
async def _writing(
    table: audit_log.Table, name: str, how: str = ALONE, *, images: bool = False
) -> AsyncIterator[tuple[Transaction, Trust]]:
    """Open a transaction that holds a lock, with the trust for its entry.

    ``images``: see `Table.trust`. Raises DatabaseError if the entry could run code of an untrusted role.
    """
    database = table.database
    async with database.writing(waits=LOCK_SECONDS) as transaction:
        await _lock(transaction, name, how, LOCK_SECONDS * database.patience)
        transaction.limit_time()  # one that waited has all of it, too
        trust = await table.trust(transaction, images=images)
        audit_log.refuse_doubt(trust)  # before the table is read
        yield transaction, trust


async def _lock(transaction: Transaction, name: str, how: str, seconds: float) -> None:
    """Wait for a lock. Raises DatabaseError, OvertakenError."""
    values = {"query": name, "args": {"timeout": round(seconds * 1000)}}
    try:
        await transaction.batch([Query(statement(how), values, seconds=seconds + 1)])
    except LockedError as error:
        raise OvertakenError(f"Another console is working on the run {name}.", "Nothing was changed.") from error
