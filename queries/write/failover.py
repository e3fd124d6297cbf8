"""Ask again about committed transactions after the server was replaced: a failover may have lost them.

WAL is a sequence. Where a transaction is there, all that were acknowledged before its COMMIT was sent are there; where
one is lost, all whose COMMIT was sent after its acknowledgement are lost. So the newest are asked about first, and
mostly that is one question.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Sequence

import msgspec

from queries.db.database import Database
from queries.errors import DatabaseError
from queries.model import Outcome, Result
from queries.write import audit_log, commit_status
from queries.write.action_transaction import Committed

LOST = "lost in failover: it was committed, but the server that answers now does not have it. The change is gone"
NOT_TOLD = (
    "the server was replaced since (crash or failover), and neither the audit log nor the rows tell whether it still "
    "has transaction {xid}"
)


class Journal:
    """Transactions of this console since it was opened, and what was found out about them later.

    ``corrected`` has results that replace earlier ones, in the order of finding.
    """

    def __init__(self, database: Database, file: audit_log.File) -> None:
        self.corrected: list[Result] = []
        self._database = database
        self._file = file
        self._all: list[Committed] = []
        self._turn = asyncio.Lock()

    @property
    def place(self) -> str:
        """The file that corrections are noted in."""
        return str(self._file.path)

    def add(self, committed: Committed) -> None:
        """Remember a transaction."""
        self._all.append(committed)

    @property
    def doubtful(self) -> bool:
        """Return True if the server may not be the one that committed: a crash, a restart or a failover since."""
        lives = {c.mark.life for c in self._all}
        if self._database.server is not None:
            lives.add(self._database.server.life)
        return len(lives) > 1 or (bool(self._all) and not all(c.settled for c in self._all))

    async def check(self) -> None:
        """Ask again where that may tell something new. Raises DatabaseError if the server cannot be asked now."""
        async with self._turn:
            if not self.doubtful:
                return
            await self._database.batch(())
            server = self._database.server
            if server is None or server.standby:  # a standby may be behind
                return
            asked = [c for c in self._all if c.mark.life != server.life or not c.settled]
            there, gone = -math.inf, math.inf  # sent before this: committed; answered after that: lost
            unclear: list[Committed] = []
            fates: list[tuple[Committed, str]] = []  # used only when all are known: a lost server may end this check
            for one in sorted(asked, key=lambda c: c.sent, reverse=True):
                fate = commit_status.COMMITTED if one.answered < there else await self._fate(one)
                if fate == commit_status.COMMITTED:
                    there = max(there, one.sent)
                    fates.append((one, fate))
                elif fate == commit_status.ABORTED:
                    gone = min(gone, one.answered)
                    fates.append((one, fate))
                else:
                    unclear.append(one)
            for one in unclear:
                known = (
                    commit_status.COMMITTED
                    if one.answered < there
                    else commit_status.ABORTED
                    if one.sent > gone
                    else ""
                )
                fates.append((one, known or commit_status.UNKNOWN))
            for one, fate in fates:
                self._found(one, fate)
            for one in asked:
                one.mark = msgspec.structs.replace(one.mark, life=server.life, history=server.history)

    async def _fate(self, one: Committed) -> str:
        try:
            return await commit_status.later(
                self._database, one.mark, one.action_transaction, one.entry, table=one.table, sure=one.settled
            )
        except commit_status.AGAIN:
            raise
        except DatabaseError:
            return commit_status.UNKNOWN

    def _found(self, one: Committed, fate: str) -> None:
        """Take what was found out about a transaction, and correct what was reported of it."""
        was, one.settled, one.fate = one.settled, True, fate
        if fate == commit_status.COMMITTED and was:
            return
        if fate == commit_status.COMMITTED:
            results = [Result(id=i, outcome=Outcome.CHANGED) for i in one.action_transaction.touched]
        elif fate == commit_status.ABORTED:
            outcome, why = (Outcome.LOST, LOST) if was else (Outcome.REFUSED, commit_status.ROLLED_BACK)
            results = [Result(id=i, outcome=outcome, why=why) for i in one.action_transaction.touched]
        elif was:
            why = NOT_TOLD.format(xid=one.mark.xid)
            results = [Result(id=i, outcome=Outcome.UNKNOWN, why=why) for i in one.action_transaction.touched]
        else:
            results = []  # it stays unknown
        if fate != commit_status.COMMITTED:
            self._all.remove(one)
        if not one.awaited:
            self.corrected += results
        if results:
            self._note(one, results)

    def _note(self, one: Committed, results: Sequence[Result]) -> None:
        """Append the correction to the local audit file: of a lost transaction the table has no entry any more."""
        corrected = {r.id: r for r in results}
        entry = msgspec.structs.replace(
            one.entry, results=tuple(corrected.get(r.id, r) for r in one.entry.results), xid=one.mark.xid
        )
        with contextlib.suppress(DatabaseError):
            self._file.append(entry, intended=False)
