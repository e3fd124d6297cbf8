"""Redrives in the audit log: the lock, the beginning, the events.

A redrive is its first entry, whose id is its name. Each later entry names it: those of the actions, and those of
events, such as the answers of a cohort or a decision of the operator. An entry is written under the lock of the redrive
and only by the process that continues it. So a process that takes over knows all that its predecessor has done once it
has the lock: a transaction that was left behind has ended by then.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from queries.db.database import Database, Transaction
from queries.db.errors import DatabaseError, LockedError, OvertakenError
from queries.db.shared_sql import statement
from queries.records.action import Result
from queries.records.audit import AuditLogEntry
from queries.records.record import Record
from queries.write import audit_log

NAME = "redrive"  # action of the entries of events, and the argument that names the redrive
BEGIN, END, RESUME = "begin", "end", "resume"
LOCK_SECONDS, PAUSE_SECONDS = 2.0, 0.02  # seconds to wait for the lock within a transaction, and between attempts
ENDING = 20.0  # seconds to wait for a transaction that an earlier console has left behind
OPEN = 100  # unfinished redrives of an engine that are looked at


class Fence(Record):
    """Part of a redrive that a transaction belongs to.

    ``process`` is the console that continues the redrive; the transaction fails if it is another one by now.
    """

    run: str
    process: str
    cohort: int | None = None

    def named(self, **more: Any) -> dict[str, Any]:
        """Return the argument of an audit log entry."""
        cohort = {} if self.cohort is None else {"cohort": self.cohort}
        return {"run": self.run, "process": self.process, **cohort, **more}


class Begun(Record):
    """The first entry of a redrive. ``members``: its nodes as recorded JSON."""

    id: str
    at: float
    who: str
    label: str
    schema: str
    reason: str
    redrive: dict[str, Any]
    members: bytes = b""
    role: str = ""


class Listed(Record):
    """A redrive in a list.

    ``ended``: the event that ended it. ``revived``: number of nodes.
    """

    begun: Begun
    revived: int
    last_at: float
    ended: dict[str, Any] | None = None


class Entry(Record):
    """A later entry of a redrive: an action, or an event."""

    at: float
    event: dict[str, Any]
    results: tuple[Result, ...]
    is_action: bool


async def guard(transaction: Transaction, fence: Fence) -> None:
    """Take the lock of a redrive for this transaction.

    Raises OvertakenError if another process continues it.
    """
    await _lock(transaction, fence.run)
    last = await _last(transaction, fence.run)
    if last["process"] != fence.process:
        raise OvertakenError(
            f"{who(last)} continues the redrive {fence.run} now, so this console does not.", "Nothing was changed."
        )


async def take_over(database: Database, fence: Fence, entry: AuditLogEntry) -> None:
    """Continue a redrive instead of the process that did. Raises DatabaseError."""
    async with _locked(database, fence.run) as transaction:
        last = await _last(transaction, fence.run)
        if last["process"] != fence.process:
            await audit_log.append(transaction, _named(entry, fence.named(event=RESUME)))
            await transaction.control("COMMIT")


async def entries(database: Database, fence: Fence) -> list[Entry]:
    """Return the entries of a redrive, oldest first.

    Waits until no transaction of it is running. Raises DatabaseError, OvertakenError.
    """
    async with _locked(database, fence.run) as transaction:
        await guard(transaction, fence)
        rows = await transaction.rows(statement("redrive_events"), {"id": fence.run})
    if not all(row["intact"] for row in rows):
        raise DatabaseError(
            f"An entry of the redrive {fence.run} was changed since it was written.",
            "Nothing was changed. `unstick audit --verify` names it.",
        )
    return [decoded(row) for row in rows]


def decoded(row: Mapping[str, Any]) -> Entry:
    """Return an entry from its row."""
    return Entry(
        at=row["at"],
        event=msgspec.json.decode(row["redrive"]),
        results=msgspec.json.decode(row["results"], type=tuple[Result, ...]),
        is_action=row["action"] != NAME,
    )


async def record(database: Database, fence: Fence, entry: AuditLogEntry, event: Mapping[str, Any]) -> None:
    """Write the entry of an event. Raises DatabaseError, OvertakenError."""
    async with _locked(database, fence.run) as transaction:
        await guard(transaction, fence)
        await audit_log.append(transaction, _named(entry, fence.named(**event)))
        await transaction.control("COMMIT")


async def begin(
    database: Database, process: str, entry: AuditLogEntry, event: Mapping[str, Any], members: object
) -> str:
    """Write the first entry of a redrive, and return its id.

    Raises DatabaseError if another redrive of one of these groups has not ended.
    """
    listed = {"members": members}
    digest = hashlib.sha256(msgspec.json.encode(listed)).hexdigest()
    named = {**event, "event": BEGIN, "process": process, "digest": digest}
    async with _locked(database, f"of {entry.schema}") as transaction:
        for other in await _listed(transaction, entry.schema, OPEN):
            if set(other.begun.redrive["groups"]) & set(event["groups"]):
                raise LockedError(
                    f"{other.begun.who} is reviving these dead letters: redrive {other.begun.id},"
                    f" {other.begun.reason!r}.",
                    f"Nothing was changed. `{database.command('redrive', other.begun.id, '--resume')}` continues it,"
                    f" `{database.command('redrive', other.begun.id, '--stop')}` ends it.",
                )
        run = await audit_log.append(transaction, _named(entry, named), listed)
        await transaction.control("COMMIT")
    return run


async def read(database: Database, run: str) -> Begun | None:
    """Return the first entry of a redrive, or None. Raises DatabaseError."""
    if not run.isdecimal() or len(run) > 17:
        return None
    async with database.reading() as transaction:
        rows = await transaction.rows(statement("redrive_begin"), {"id": run})
    if not rows:
        return None
    begun = _begun(rows[0])
    members = (rows[0]["members"] or "").encode()
    if not rows[0]["intact"] or hashlib.sha256(members).hexdigest() != begun.redrive["digest"]:
        raise DatabaseError(f"The list of nodes of the redrive {run} was removed or changed.", "Nothing was changed.")
    return msgspec.structs.replace(begun, members=members)


async def newest(database: Database, most: int) -> list[Listed]:
    """Return redrives, newest first. Raises DatabaseError."""
    async with database.reading() as transaction:
        return await _listed(transaction, None, most)


def who(row: Mapping[str, Any]) -> str:
    """Return the operator of an entry, as in messages."""
    return f"{row['os_user']}@{row['host']} (role {row['role']})"


async def _listed(transaction: Transaction, schema: str | None, most: int) -> list[Listed]:
    rows = await transaction.rows(statement("redrive_list"), {"schema": schema, "page": most})
    return [
        Listed(
            begun=_begun(row),
            revived=row["revived"],
            last_at=row["last_at"],
            ended=None if row["ended"] is None else msgspec.json.decode(row["ended"]),
        )
        for row in rows
    ]


def _begun(row: Mapping[str, Any]) -> Begun:
    redrive = msgspec.json.decode(row["redrive"])
    fields = {name: row[name] for name in ("id", "at", "schema", "reason")}
    return Begun(**fields, who=who(row), label=row["engine"], redrive=redrive, role=row["role"])


def _named(entry: AuditLogEntry, redrive: Mapping[str, Any]) -> AuditLogEntry:
    return msgspec.structs.replace(entry, arguments={**entry.arguments, NAME: dict(redrive)})


async def _last(transaction: Transaction, run: str) -> Mapping[str, Any]:
    rows = await transaction.rows(statement("redrive_last"), {"id": run})
    if not rows:
        raise DatabaseError(f"The audit log has no redrive {run}.", "Nothing was changed.")
    return rows[0]


async def _lock(transaction: Transaction, name: str) -> None:
    """Wait for a lock a short time.

    A statement that fails at a lock would end the transaction. Raises OvertakenError.
    """
    until = time.monotonic() + LOCK_SECONDS
    while not (await transaction.rows(statement("redrive_lock"), {"query": name}))[0]["taken"]:
        if time.monotonic() > until:
            raise OvertakenError(f"Another console is working on the redrive {name}.", "Nothing was changed.")
        await asyncio.sleep(PAUSE_SECONDS)


@asynccontextmanager
async def _locked(database: Database, name: str) -> AsyncIterator[Transaction]:
    """Open a writing transaction that holds a lock.

    Waits for a transaction that an earlier console has left behind.
    """
    until = time.monotonic() + ENDING
    while True:
        async with database.writing() as transaction:
            try:
                await _lock(transaction, name)
            except OvertakenError:
                if time.monotonic() > until:
                    raise
                continue
            yield transaction
            return
