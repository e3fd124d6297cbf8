"""Send COMMIT, and settle one with unknown outcome via ``pg_xact_status``.

A server that crashed may assign transaction ids again that it had not yet written to its WAL. So "committed" is
accepted only from the server process that ran the transaction, without a crash since. Otherwise the audit log entry or
the rows must confirm it.
"""

from __future__ import annotations

import asyncio
import re
import time
from typing import Protocol

from queries.db.database import Database, Server
from queries.db.errors import NO_CONNECTION, ConflictError, DatabaseError, LockedError, LostError, SlowError
from queries.db.query import Query, statement
from queries.db.reads import Reads
from queries.db.transaction import Transaction
from queries.files.statement import Statement
from queries.records.action import Durability
from queries.records.record import Record

STATUS_SECONDS = 30.0  # the server aborts a transaction without a client within its idle timeout
OUTAGE_AFTER_SECONDS = 5.0  # without an answer after which a bulk reports the outage and queries again after it
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.01, 1.0  # between two queries
_FUTURE = "22023"  # "transaction ID ... is in the future"

COMMITTED, ABORTED, UNKNOWN = "committed", "aborted", "unknown"
UNSETTLED = "the connection broke during COMMIT, and the server cannot report the status of transaction {xid}"
ROLLED_BACK = "the connection broke before COMMIT, so the server rolled everything back"
ASK_AGAIN_AFTER = (*NO_CONNECTION, SlowError, LockedError)  # errors of a server that is down or has just started
# A dry run does not reach COMMIT. A failure at COMMIT could not be traced to a node by halving, and the check would run
# there without statement_timeout. Triggers may leave advisory locks.
FIRED = (
    Query(
        Statement(text=f"SET CONSTRAINTS ALL IMMEDIATE; {statement('advisory_unlock').text}", source=""), command=True
    ),
)
"""Fire deferred constraints now, and release the advisory locks of triggers."""


class Provable(Protocol):
    """Proof that a transaction was committed, or was not."""

    async def was_committed(self, transaction: Reads) -> bool | None:
        """Return True or False if that is proven, else None. Raises DatabaseError."""


class TransactionMark(Record):
    """Transaction id and the identity of the server that assigned it.

    ``life`` changes with a crash, a restart or another server. ``history`` changes with a failover (new timeline).
    ``lsn``: place in the WAL, after which its COMMIT is. ``synchronous``: the setting that names the standbys which
    COMMIT waits for, "" if it waits for none. ``standbys``: number of sessions that stream the WAL. ``slots``: number
    of replication slots.
    """

    xid: str
    life: str
    history: str
    at: float  # start of the transaction, by the server's clock
    synchronous: str = ""
    standbys: int = 0
    slots: int = 0
    lsn: str = ""

    @property
    def durability(self) -> Durability:
        """Risk that a failover loses it after COMMIT has returned."""
        if self.synchronous:
            return Durability.SYNCHRONOUS
        if self.standbys:
            return Durability.ASYNCHRONOUS
        return Durability.DETACHED if self.slots or timeline(self.history) != 1 else Durability.LOCAL

    def later(self, history: str) -> int:
        """Return how many timelines later a server's ``history`` is; 0 if unknown."""
        mine, other = timeline(self.history), timeline(history)
        same = self.history.partition("/")[0] == history.partition("/")[0]
        return other - mine if same and mine is not None and other is not None else 0


def timeline(history: str) -> int | None:
    """Return the timeline of a server; None if the role may not read it."""
    number = history.partition("/")[2]
    return int(number) if re.fullmatch(r"[0-9]{1,10}", number) else None


def can_tell(server: Server, mark: TransactionMark) -> bool:
    """Return True if a server that has no such transaction lacks it.

    A standby may lag, unless it is on a later timeline.
    """
    return not server.may_lag or mark.later(server.history) > 0


async def mark_of(transaction: Transaction) -> TransactionMark:
    """Return the mark of a running transaction. Raises DatabaseError."""
    (row,) = await transaction.rows(statement("xact_id"), {})
    return TransactionMark(**row)


async def send_commit(transaction: Transaction) -> str | None:
    """Send COMMIT. Return ``committed`` or ``aborted``, or None without an answer.

    Raises ConflictError, SlowError.
    """
    try:
        answer = await transaction.control("COMMIT")
    except LostError:
        return None
    except SlowError:
        raise
    except DatabaseError as error:
        # A deferred constraint may still fail here. The server has then rolled back.
        raise ConflictError(str(error), code=error.code) from error
    return COMMITTED if answer == "COMMIT" else ABORTED


class CommitStatus(Record):
    """Status of a transaction: ``committed``, ``aborted`` or ``unknown``.

    ``synchronous``: COMMIT waits for a standby, so without an answer no standby may have the transaction yet.
    """

    status: str
    synchronous: bool = False


async def wait_for_status(
    database: Database, mark: TransactionMark, proof: Provable, *, gone: float = STATUS_SECONDS
) -> CommitStatus:
    """Query until the server can report the status.

    ``gone``: seconds without any answer after which the status is reported as unknown.
    """
    deadline, pause = time.monotonic() + STATUS_SECONDS, FIRST_PAUSE_SECONDS
    silent = time.monotonic() + gone
    while True:
        try:
            answer = await _query(database, mark, proof, sure=False)
            silent = time.monotonic() + gone
        except ASK_AGAIN_AFTER:
            answer = None
        if answer is not None:
            return answer
        if time.monotonic() + pause > min(deadline, silent):
            return CommitStatus(status=UNKNOWN)
        await asyncio.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE_SECONDS)


async def status_now(database: Database, mark: TransactionMark, proof: Provable | None, *, sure: bool = False) -> str:
    """Query once the status of a transaction that was sent before.

    ``unknown`` also while it is in progress. ``proof``: None if its row copies are gone. ``sure``: COMMIT was
    acknowledged. Raises an error of ASK_AGAIN_AFTER.
    """
    answer = await _query(database, mark, proof, sure=sure)
    return UNKNOWN if answer is None else answer.status


async def _query(
    database: Database, mark: TransactionMark, proof: Provable | None, *, sure: bool
) -> CommitStatus | None:
    """Query once. Return None while the transaction is in progress.

    Raises an error of ASK_AGAIN_AFTER.
    """
    try:
        async with database.reading() as transaction:
            row = (await transaction.rows(statement("xact_status"), {"id": mark.xid}))[0]
            balanced = database.server is not None and database.server.balanced  # its rows may be those of a standby
            standby = (row["standby"] or balanced) and mark.later(row["history"]) <= 0  # it may lag
            reassigned = row["life"] != mark.life and not (sure and row["history"] == mark.history)
            status = row["status"]
            if status == "in progress" and (standby or row["life"] == mark.life):
                return None
            if status in ("committed", "in progress") and reassigned:
                committed = await proof.was_committed(transaction) if proof else None
                if committed is False and standby:
                    return None
                status = {True: COMMITTED, False: ABORTED, None: UNKNOWN}[committed]
    except ASK_AGAIN_AFTER:
        raise
    except DatabaseError as error:
        if error.code != _FUTURE:
            return CommitStatus(status=UNKNOWN)
        if database.server is not None and not can_tell(database.server, mark):
            return None
        return CommitStatus(status=ABORTED)  # the id was never assigned
    return CommitStatus(status=str(status or UNKNOWN), synchronous=row["synchronous"])
