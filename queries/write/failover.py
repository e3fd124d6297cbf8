"""Committed transactions, which a failover may lose.

WAL is a sequence. If a transaction exists, all that were acknowledged before its COMMIT was sent exist too. If it is
lost, all whose COMMIT was sent after its acknowledgement are lost. So the newest is queried first, and one query is
usually enough.

The audit log table loses an entry together with its change, so only another place can tell. Receipts of what a failover
may lose are in one file for all databases, JSON lines, next to the local audit log. A later line about the same
transaction replaces an earlier one. The clocks of two processes do not tell the order of their transactions.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import math
import os
import time
from collections.abc import Iterable

import msgspec

from queries.db.database import Database
from queries.db.errors import DatabaseError
from queries.files.state_file import open_private, write_all
from queries.records.action import Durability, Outcome, Result
from queries.records.audit import AuditLogEntry
from queries.records.record import Record
from queries.write import audit_log, commit_status
from queries.write.audit_log import EntryProof
from queries.write.commit_status import ABORTED, COMMITTED, UNKNOWN
from queries.write.transaction_mark import Provable, TransactionMark

CHECK_SECONDS = 2.0  # for a check at the end of a run, which the next one repeats
RECEIPTS = "commits.jsonl"
RECEIPT_KEPT_SECONDS = 7 * 86400.0  # by the clock of this machine
RECEIPTS_BYTES = 8 << 20  # size of the file from which it is written again without old receipts
RECEIPT_BYTES = 1 << 20  # a receipt is not kept if it is longer
RECEIPTS_QUERIED = 50  # newest receipts of a database whose fate is asked for at a time
COMMIT_LOST = "lost in a failover: it was committed, but the present server does not have it"
LOST = f"{COMMIT_LOST}. The change is gone"
UNCONFIRMED = (
    "the server was replaced (crash or failover), and neither the audit log nor the rows show if it still has "
    "transaction {xid}"
)


class Committed(msgspec.Struct, kw_only=True, eq=False):
    """A transaction whose COMMIT was sent.

    ``proof``: None if nothing proves it. ``sent`` and ``answered`` are monotonic times of this process. ``run``: the
    run that it is a part of, or "". ``settled`` False: the server could not report whether it was committed.
    """

    mark: TransactionMark
    proof: Provable | None
    entry: AuditLogEntry
    durability: Durability
    sent: float = -math.inf
    answered: float = math.inf
    run: str = ""
    settled: bool = True

    def results(self, outcome: Outcome, why: str = "") -> list[Result]:
        """Return a result for each node that it reached."""
        reached = (each.id for each in self.entry.results if each.outcome is Outcome.CHANGED)
        return [Result(id=i, outcome=outcome, why=why) for i in reached]


class Receipt(Record, omit_defaults=True):
    """A transaction whose COMMIT was answered, in the file.

    ``entry`` has no rows. ``fate``: "", "committed" or "lost"; known after the server was replaced. ``at``: by the
    clock of this machine.
    """

    mark: TransactionMark
    entry: AuditLogEntry
    database: str
    system_identifier: str
    table: bool
    durability: Durability
    at: float
    fate: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """Identity of the transaction."""
        return self.system_identifier, self.mark.history, self.mark.xid

    def committed(self) -> Committed:
        """Return the transaction, of whose order nothing is known."""
        proof = EntryProof(entry=self.entry) if self.table else None
        return Committed(mark=self.mark, proof=proof, entry=self.entry, durability=self.durability)


async def fates(database: Database, transactions: Iterable[Committed]) -> list[tuple[Committed, str]]:
    """Return what became of transactions: ``committed``, ``aborted`` or ``unknown``.

    Raises DatabaseError if the server cannot be queried now.
    """
    exists, lost = -math.inf, math.inf  # answered before `exists`: committed; sent after `lost`: lost
    answers: list[tuple[Committed, str]] = []
    for one in sorted(transactions, key=lambda c: c.sent, reverse=True):
        fate = COMMITTED
        if one.answered >= exists:
            fate = await commit_status.status_now(database, one.mark, one.proof, sure=one.settled)
        if fate == COMMITTED:
            exists = max(exists, one.sent)
        elif fate == ABORTED:
            lost = min(lost, one.answered)
        answers.append((one, fate))
    return [(one, ABORTED if fate == UNKNOWN and one.sent > lost else fate) for one, fate in answers]


class Journal:
    """Write transactions of this session, and receipts of earlier ones.

    ``corrected``: results that replace earlier ones, in order.
    """

    def __init__(self, database: Database, file: audit_log.File) -> None:
        self.corrected: list[Result] = []
        self._database = database
        self._file = file
        self._receipts = file.path.parent / RECEIPTS
        self._all: list[Committed] = []
        self._turn = asyncio.Lock()
        self._running: set[str] = set()  # runs, which read their own entries again after a failover

    @property
    def place(self) -> str:
        """Path of the file that records corrections."""
        return str(self._file.path)

    def add(self, one: Committed) -> None:
        """Add a transaction, and keep a receipt of it if a failover may lose it."""
        self._all.append(one)
        server = self._database.server
        if one.settled and one.durability.losable and server is not None:
            receipt = Receipt(
                mark=one.mark,
                entry=msgspec.structs.replace(one.entry, changes=()),
                database=server.database,
                system_identifier=server.system_identifier,
                table=isinstance(one.proof, EntryProof),
                durability=one.durability,
                at=time.time(),
            )
            self._append(receipt)

    def begin(self, run: str) -> None:
        """Record no corrections for the transactions of a run until its end."""
        self._running.add(run)

    async def end(self, run: str) -> None:
        """Drop what a failover has undone during a run, which may have done it again."""
        with contextlib.suppress(DatabaseError, TimeoutError):
            async with asyncio.timeout(CHECK_SECONDS):
                await self.check()
        self._running.discard(run)

    @property
    def doubtful(self) -> bool:
        """Return True if the server that committed may have been replaced.

        A crash, a restart or a failover replaces it.
        """
        lives = {c.mark.life for c in self._all}
        if self._database.server is not None:
            lives.add(self._database.server.life)
        return len(lives) > 1 or not all(c.settled for c in self._all)

    async def check(self) -> None:
        """Check transactions again if the server was replaced.

        Raises DatabaseError if it cannot be queried now.
        """
        async with self._turn:
            if not self.doubtful:
                return
            await self._database.renew()
            server = self._database.server
            if server is None or server.standby:  # a standby may lag
                return
            checked = [c for c in self._all if c.mark.life != server.life or not c.settled]
            for one, fate in await fates(self._database, checked):
                self._apply(one, fate)
            for one in checked:
                one.mark = msgspec.structs.replace(one.mark, life=server.life, history=server.history)

    def _apply(self, one: Committed, fate: str) -> None:
        """Apply the status of a transaction, and correct its reported results."""
        was, one.settled = one.settled, True
        if fate == COMMITTED and was:
            return
        if fate == COMMITTED:
            results = one.results(Outcome.CHANGED)
        elif fate == ABORTED:
            results = one.results(Outcome.LOST, LOST) if was else one.results(Outcome.UNSENT, commit_status.ROLLED_BACK)
        elif was:
            results = one.results(Outcome.UNKNOWN, UNCONFIRMED.format(xid=one.mark.xid))
        else:
            results = []  # it stays unknown
        if fate != COMMITTED:
            self._all.remove(one)
        if one.run not in self._running:
            self.corrected += results
        if results:
            # The audit log table lost the entry together with the transaction.
            audit_log.correct(self._file, one.entry, results)

    async def receipts(self) -> tuple[Receipt, ...]:
        """Return the receipts of transactions that are lost, or may be lost.

        A server that replaced the one of a receipt is asked for its transaction. Raises DatabaseError.
        """
        server = self._database.server
        if server is None:
            return ()
        here = (server.system_identifier, server.database)
        own = [r for r in self._read() if (r.system_identifier, r.database) == here][-RECEIPTS_QUERIED:]
        receipts, replaced = {r.key: r for r in own}, [r for r in own if r.mark.history != server.history]
        asked = {r.committed(): r for r in replaced if not (r.fate or server.standby)}  # a standby may lag
        for one, fate in await fates(self._database, asked):
            if fate != UNKNOWN:
                receipt = msgspec.structs.replace(asked[one], fate=Outcome.LOST if fate == ABORTED else fate)
                receipts[receipt.key] = receipt
                self._append(receipt)
        return tuple(
            r
            for r in receipts.values()
            if r.fate == Outcome.LOST or (not r.fate and (r in replaced or r.durability is Durability.UNCONFIRMED))
        )

    def _append(self, receipt: Receipt) -> None:
        """Append a receipt to the file.

        A disk error only costs the answer after a failover.
        """
        line = b"\n" + msgspec.json.encode(receipt) + b"\n"  # the line before may be incomplete
        if len(line) > RECEIPT_BYTES:
            return
        with contextlib.suppress(OSError):
            file = open_private(self._receipts, os.O_CREAT | os.O_APPEND | os.O_RDWR)
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                if os.fstat(file).st_size > RECEIPTS_BYTES:
                    receipts = [r for r in self._read() if not r.fate]
                    os.ftruncate(file, 0)
                    for each in receipts[len(receipts) // 2 :]:
                        write_all(file, msgspec.json.encode(each) + b"\n")
                write_all(file, line)
            finally:
                os.close(file)

    def _read(self) -> list[Receipt]:
        """Return the receipts of all databases, oldest first, unless they are too old."""
        receipts: dict[tuple[str, str, str], Receipt] = {}
        with contextlib.suppress(OSError), open(self._receipts, "rb", opener=open_private) as file:
            while line := file.readline(RECEIPT_BYTES):
                with contextlib.suppress(msgspec.MsgspecError):
                    receipt = msgspec.json.decode(line, type=Receipt)
                    receipts[receipt.key] = receipt
        return [r for r in receipts.values() if r.at > time.time() - RECEIPT_KEPT_SECONDS]
