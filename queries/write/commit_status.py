"""What became of a transaction whose COMMIT got no answer: the server is asked, never guessed for.

The server remembers a transaction by its id. One trap is in that: a server that crashed forgets ids it had handed out
but not yet written to its log, and hands them out again. So "committed" counts only while the server is the one that
the transaction ran on, without a crash in between; else the audit log entry, or the rows themselves, must confirm it.
"""

from __future__ import annotations

import asyncio
import time

from queries.db.database import Database, Transaction
from queries.db.shared_sql import statement
from queries.errors import DatabaseError, LockedError, LostError, SlowError, UnreachableError
from queries.model import AuditLogEntry, Record
from queries.write import audit_log
from queries.write.action_transaction import ActionTransaction
from queries.write.transaction_mark import TransactionMark

DEADLINE = 30.0  # seconds; a server that lost us breaks our transaction off within its idle timeout
GONE = 5.0  # seconds without an answer after which a bulk reports the outage, and asks again when it is over
FIRST, MOST = 0.01, 1.0  # seconds between two questions
_FUTURE = "22023"  # "transaction ID ... is in the future"

COMMITTED, ABORTED, UNKNOWN = "committed", "aborted", "unknown"
ROLLED_BACK = "the connection broke before the server had committed: it rolled everything back"


AGAIN = (LostError, UnreachableError, SlowError, LockedError)  # a server that has just started is slow, and not silent


class Fate(Record):
    """What became of a transaction: ``committed``, ``aborted`` or ``unknown``.

    ``synchronous``: COMMIT waits for a standby, so a committed one without an answer may be on no standby yet.
    """

    status: str
    synchronous: bool = False


async def settled(
    database: Database,
    mark: TransactionMark,
    action_transaction: ActionTransaction,
    entry: AuditLogEntry,
    *,
    table: bool,
    gone: float = DEADLINE,
) -> Fate:
    """Ask until the server can tell. ``table``: whether ``entry`` went into the database's own audit log.

    ``gone``: seconds without any answer after which the transaction's fate is unknown for now.
    """
    deadline, pause = time.monotonic() + DEADLINE, FIRST
    silent = time.monotonic() + gone
    while True:
        try:
            fate = await _asked(database, mark, action_transaction, entry, table=table, sure=False)
            silent = time.monotonic() + gone
        except AGAIN:
            fate = None
        except DatabaseError:
            return Fate(status=UNKNOWN)
        if fate is not None:
            return fate
        if time.monotonic() + pause > min(deadline, silent):
            return Fate(status=UNKNOWN)
        await asyncio.sleep(pause)
        pause = min(pause * 2, MOST)


async def later(
    database: Database,
    mark: TransactionMark,
    action_transaction: ActionTransaction,
    entry: AuditLogEntry,
    *,
    table: bool,
    sure: bool,
) -> str:
    """Ask once, after the server was replaced. ``sure``: COMMIT was acknowledged then. Raises DatabaseError."""
    fate = await _asked(database, mark, action_transaction, entry, table=table, sure=sure)
    return UNKNOWN if fate is None else fate.status


async def status(database: Database, mark: TransactionMark, entry: AuditLogEntry, *, table: bool) -> str:
    """Ask what became of a transaction of an earlier console, of which no copies of rows are left.

    Raises DatabaseError.
    """
    fate = await _asked(database, mark, None, entry, table=table, sure=False)
    return UNKNOWN if fate is None else fate.status


async def _asked(
    database: Database,
    mark: TransactionMark,
    action_transaction: ActionTransaction | None,
    entry: AuditLogEntry,
    *,
    table: bool,
    sure: bool,
) -> Fate | None:
    """One question; None where the answer is still to come."""
    try:
        async with database.reading() as transaction:
            row = (await transaction.rows(statement("xact_status"), {"id": mark.xid}))[0]
            standby = database.server is not None and database.server.standby
            given_again = row["life"] != mark.life and not (sure and row["history"] == mark.history)
            status = row["status"]
            if status == "in progress" and (standby or row["life"] == mark.life):
                return None
            if status in ("committed", "in progress") and given_again:
                status = await _borne_out(transaction, action_transaction, entry, table=table)
    except DatabaseError as error:
        if error.code != _FUTURE:
            raise
        standby = database.server is not None and database.server.standby
        return None if standby else Fate(status=ABORTED)  # a standby may be behind; a primary never had the id
    return Fate(status=str(status or UNKNOWN), synchronous=row["synchronous"])


async def _borne_out(
    transaction: Transaction, action_transaction: ActionTransaction | None, entry: AuditLogEntry, *, table: bool
) -> str:
    """Return what the audit log's entry or the rows prove: the id may belong to another transaction by now."""
    if table:
        there = await audit_log.holds(transaction, entry)
    else:
        there = await action_transaction.stands(transaction) if action_transaction else None
    return {True: COMMITTED, False: ABORTED, None: UNKNOWN}[there]
