"""Identity of a write transaction, to query its status later."""

from __future__ import annotations

import re
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


MARK = Question([Query(statement("xact_id"))], lambda answers: TransactionMark(**answers[0][0]))
"""The mark of a running transaction."""
