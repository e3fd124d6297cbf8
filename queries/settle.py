"""What became of a transaction whose COMMIT got no answer: the server is asked, never guessed for.

The server remembers a transaction by its id. One trap is in that: a server that crashed forgets ids it had handed out
but not yet written to its log, and hands them out again. So "committed" counts only while the server is the one that
the transaction ran on, without a crash in between; else the ledger's entry, or the rows themselves, must bear it out.
"""

from __future__ import annotations

import asyncio
import time

from queries import ledger
from queries.attempt import Attempt
from queries.database import Database, Transaction
from queries.fault import DatabaseError, LostError, UnreachableError
from queries.files import statement
from queries.model import LedgerEntry, Record

DEADLINE = 30.0  # seconds; a server that lost us breaks our transaction off within its idle timeout
FIRST, MOST = 0.01, 1.0  # seconds between two questions
_FUTURE = "22023"  # "transaction ID ... is in the future"

COMMITTED, ABORTED, UNKNOWN = "committed", "aborted", "unknown"


class Mark(Record):
    """A transaction by which its fate can be asked for later. ``life`` differs after a crash or on another server."""

    xid: str
    life: str
    at: float  # when it began, by the server's clock


async def mark(transaction: Transaction) -> Mark:
    """Take the mark of a transaction under way. Raises DatabaseError."""
    return Mark(**dict((await transaction.rows(statement("xact_id"), {}))[0]))


async def settled(database: Database, mark: Mark, attempt: Attempt, entry: LedgerEntry, *, table: bool) -> str:
    """``committed``, ``aborted`` or ``unknown``. ``table``: whether ``entry`` went into the database's own ledger."""
    deadline, pause = time.monotonic() + DEADLINE, FIRST
    while True:
        try:
            status = await _asked(database, mark, attempt, entry, table=table)
        except (LostError, UnreachableError):
            status = None
        except DatabaseError:
            return UNKNOWN
        if status is not None:
            return status
        if time.monotonic() + pause > deadline:
            return UNKNOWN
        await asyncio.sleep(pause)
        pause = min(pause * 2, MOST)


async def _asked(database: Database, mark: Mark, attempt: Attempt, entry: LedgerEntry, *, table: bool) -> str | None:
    """One question; None where the answer is still to come."""
    try:
        async with database.reading() as transaction:
            row = (await transaction.rows(statement("xact_status"), {"id": mark.xid}))[0]
            if row["status"] == "committed" and row["life"] != mark.life:
                return await _borne_out(transaction, attempt, entry, table=table)
    except DatabaseError as error:
        if error.code != _FUTURE:
            raise
        standby = database.server is not None and database.server.standby
        return None if standby else ABORTED  # a standby may be behind; a primary that never had the id never will
    return None if row["status"] == "in progress" else str(row["status"] or UNKNOWN)


async def _borne_out(transaction: Transaction, attempt: Attempt, entry: LedgerEntry, *, table: bool) -> str:
    if table:
        return COMMITTED if await ledger.holds(transaction, entry) else ABORTED
    return {True: COMMITTED, False: ABORTED, None: UNKNOWN}[await attempt.stands(transaction)]
