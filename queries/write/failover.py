"""Check committed transactions again after a failover, which may lose them.

WAL is a sequence. If a transaction exists, all that were acknowledged before its COMMIT was sent exist too. If it is
lost, all whose COMMIT was sent after its acknowledgement are lost. So the newest is queried first, and one query is
usually enough.
"""

from __future__ import annotations

import asyncio
import contextlib
import math

import msgspec

from queries.db.database import Database
from queries.db.errors import DatabaseError
from queries.records.action import Outcome, Result
from queries.records.audit import AuditLogEntry
from queries.write import audit_log, commit_status
from queries.write.transaction_mark import Provable, TransactionMark

CHECK_SECONDS = 2.0  # for a check at the end of a run, which the next one repeats
COMMIT_LOST = "lost in a failover: it was committed, but the present server does not have it"
LOST = f"{COMMIT_LOST}. The change is gone"
UNCONFIRMED = (
    "the server was replaced (crash or failover), and neither the audit log nor the rows show if it still has "
    "transaction {xid}"
)


class Committed(msgspec.Struct, kw_only=True, eq=False):
    """A transaction whose COMMIT was sent.

    ``sent`` and ``answered`` are monotonic times. ``run``: the run that it is a part of, or "". ``settled`` False: the
    server could not report whether it was committed.
    """

    mark: TransactionMark
    proof: Provable
    entry: AuditLogEntry
    sent: float
    answered: float
    run: str
    settled: bool

    def results(self, outcome: Outcome, why: str = "") -> list[Result]:
        """Return a result for each node that it reached."""
        reached = (each.id for each in self.entry.results if each.outcome is Outcome.CHANGED)
        return [Result(id=i, outcome=outcome, why=why) for i in reached]


class Journal:
    """Write transactions of this session.

    ``corrected``: results that replace earlier ones, in order.
    """

    def __init__(self, database: Database, file: audit_log.File) -> None:
        self.corrected: list[Result] = []
        self._database = database
        self._file = file
        self._all: list[Committed] = []
        self._turn = asyncio.Lock()
        self._running: set[str] = set()  # runs, which read their own entries again after a failover

    @property
    def place(self) -> str:
        """Path of the file that records corrections."""
        return str(self._file.path)

    def add(self, committed: Committed) -> None:
        """Add a transaction."""
        self._all.append(committed)

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
        return len(lives) > 1 or (bool(self._all) and not all(c.settled for c in self._all))

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
            exists, lost = -math.inf, math.inf  # answered before `exists`: committed; sent after `lost`: lost
            unclear: list[Committed] = []
            fates: list[tuple[Committed, str]] = []  # applied after all queries, because each may lose the server
            for one in sorted(checked, key=lambda c: c.sent, reverse=True):
                fate = commit_status.COMMITTED
                if one.answered >= exists:
                    fate = await commit_status.status_now(self._database, one.mark, one.proof, sure=one.settled)
                if fate == commit_status.COMMITTED:
                    exists = max(exists, one.sent)
                    fates.append((one, fate))
                elif fate == commit_status.ABORTED:
                    lost = min(lost, one.answered)
                    fates.append((one, fate))
                else:
                    unclear.append(one)
            fates += ((one, commit_status.ABORTED if one.sent > lost else commit_status.UNKNOWN) for one in unclear)
            for one, fate in fates:
                self._apply(one, fate)
            for one in checked:
                one.mark = msgspec.structs.replace(one.mark, life=server.life, history=server.history)

    def _apply(self, one: Committed, fate: str) -> None:
        """Apply the status of a transaction, and correct its reported results."""
        was, one.settled = one.settled, True
        if fate == commit_status.COMMITTED and was:
            return
        if fate == commit_status.COMMITTED:
            results = one.results(Outcome.CHANGED)
        elif fate == commit_status.ABORTED:
            results = one.results(Outcome.LOST, LOST) if was else one.results(Outcome.UNSENT, commit_status.ROLLED_BACK)
        elif was:
            results = one.results(Outcome.UNKNOWN, UNCONFIRMED.format(xid=one.mark.xid))
        else:
            results = []  # it stays unknown
        if fate != commit_status.COMMITTED:
            self._all.remove(one)
        if one.run not in self._running:
            self.corrected += results
        if results:
            # The audit log table lost the entry together with the transaction.
            audit_log.correct(self._file, one.entry, results)
