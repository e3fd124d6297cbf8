"""Identity of a write transaction, to query its status later."""

from __future__ import annotations

from typing import Protocol

from queries.db.query import Query
from queries.db.shared_sql import statement
from queries.db.transaction import Transaction
from queries.read.question import Question
from queries.records.action import Durability
from queries.records.record import Record


class Provable(Protocol):
    """Proof that a transaction was committed, or was not."""

    async def was_committed(self, transaction: Transaction) -> bool | None:
        """Return True or False if that is proven, else None. Raises DatabaseError."""


class TransactionMark(Record):
    """Transaction id and the identity of the server that assigned it.

    ``life`` changes with a crash, a restart or another server. ``history`` changes with a failover (new timeline).
    ``synchronous``: the setting that names the standbys which COMMIT waits for, "" if it waits for none. ``standbys``:
    number of sessions that stream the WAL.
    """

    xid: str
    life: str
    history: str
    at: float  # start of the transaction, by the server's clock
    synchronous: str = ""
    standbys: int = 0

    @property
    def durability(self) -> Durability:
        """Risk that a failover loses it after COMMIT has returned."""
        if self.synchronous:
            return Durability.SYNCHRONOUS
        return Durability.ASYNCHRONOUS if self.standbys else Durability.LOCAL


MARK = Question([Query(statement("xact_id"))], lambda answers: TransactionMark(**answers[0][0]))
"""The mark of a running transaction."""
