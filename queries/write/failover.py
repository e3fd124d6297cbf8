"""Committed transactions, which a failover may lose.

WAL is a sequence. If a transaction exists, all that were acknowledged before its COMMIT was sent exist too. If it is
lost, all whose COMMIT was sent after its acknowledgement are lost. So the newest is queried first, and one query is
usually enough.

The audit log table loses an entry together with its change, so only another place can tell. Receipts of all commits are
in one file for all databases, next to the local audit log: a server without standbys may have been replaced without its
knowledge. The clocks of two processes do not tell the order of their transactions.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from queries.db.database import Database, Server
from queries.db.errors import DatabaseError
from queries.db.known_servers import KnownServers
from queries.files.json_lines import JsonLines
from queries.records.action import Durability, Outcome, Result
from queries.records.audit import AuditLogEntry
from queries.records.record import Record
from queries.write import audit_log, commit_status
from queries.write.audit_log import EntryProof
from queries.write.commit_status import ABORTED, COMMITTED, UNKNOWN
from queries.write.transaction_mark import Provable, TransactionMark, timeline

CHECK_SECONDS = 2.0  # for a check at the end of a run, which the next one repeats
RECEIPTS = "commits.jsonl"
RECEIPT_KEPT_SECONDS = 7 * 86400.0  # by the clock of this machine
RECEIPTS_BYTES = 8 << 20  # size of the file from which it is written again without old receipts
LAST_SECOND = 253_402_300_799  # of the year 9999; a file may hold any number
RECEIPTS_QUERIED = 50  # newest receipts of a database whose fate is asked for at a time
PROMOTED = "Another server was promoted"
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

    ``entry`` has no rows, and the id of the entry in the audit log. ``fate``: "", "committed" or "lost"; known after
    the server was replaced, and ``asked`` is the history of that server. ``at``: by the clock of this machine.
    """

    mark: TransactionMark
    entry: AuditLogEntry
    database: str
    system_identifier: str
    table: bool
    durability: Durability
    at: float
    fate: str = ""
    asked: str = ""
    context: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """Identity of the transaction."""
        return self.system_identifier, self.mark.history, self.mark.xid

    @property
    def lost(self) -> bool:
        """Return True if a failover has lost it."""
        return self.fate == Outcome.LOST

    @property
    def changed(self) -> frozenset[str]:
        """Ids of the nodes that it changed."""
        return frozenset(r.id for r in self.entry.results if r.outcome is Outcome.CHANGED)

    @property
    def present(self) -> AuditLogEntry:
        """The entry with the results as they are known now."""
        if not self.lost:
            return self.entry
        lost, ids = {"outcome": Outcome.LOST, "why": LOST}, self.changed
        results = (msgspec.structs.replace(r, **lost) if r.id in ids else r for r in self.entry.results)
        return msgspec.structs.replace(self.entry, results=tuple(results))

    def sentence(self, history: str, node_id: str = "") -> str:
        """Return a sentence about the commit for a server of this ``history``."""
        entry, mark = self.entry, self.mark
        at = f"{datetime.fromtimestamp(min(max(entry.at, 0), LAST_SECOND), UTC):%Y-%m-%dT%H:%M:%SZ}"
        what = f"{entry.action} of {entry.named(node_id)} at {at} (entry {entry.id}, transaction {mark.xid})"
        if self.lost and mark.history == history != self.asked:
            return f"{PROMOTED} (timeline {timeline(self.asked)}): {what} was committed here, and is not there."
        if self.lost:
            return f"Lost in a failover: {what} was committed, but this server does not have it. The change is gone."
        if mark.later(history) < 0:
            return f"{PROMOTED} (timeline {timeline(mark.history)}): {what} was committed there, and is not here."
        if mark.history == history:
            return (
                f"Not confirmed by a synchronous standby ({mark.synchronous or '?'}): {what}. A failover may lose it."
            )
        return f"Unknown: {what} was committed before a failover. This server cannot tell if it still has it."

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

    def __init__(self, database: Database, file: audit_log.File, context: str = "") -> None:
        self.corrected: list[Result] = []
        self.servers = KnownServers(file.path.parent)
        self._database = database
        self._file, self._context = file, context
        self._receipts = JsonLines(file.path.parent / RECEIPTS, Receipt, RECEIPTS_BYTES)
        self.news: list[Receipt] = []  # lost ones that the server has just been asked for
        self._kept: tuple[str, tuple[Receipt, ...]] | None = None  # of the server with that history
        self._all: list[Committed] = []
        self._turn = asyncio.Lock()
        self._running: set[str] = set()  # runs, which read their own entries again after a failover

    @property
    def place(self) -> str:
        """Path of the file that records corrections."""
        return str(self._file.path)

    def durability(self, mark: TransactionMark, *, several: bool = False) -> Durability:
        """Return the risk of a commit, with what this machine knows of standbys.

        ``several``: the connection string has several hosts.
        """
        if mark.durability is not Durability.LOCAL:
            return mark.durability
        cluster = several or self.servers.had_standby(mark.history.partition("/")[0])
        return Durability.DETACHED if cluster else Durability.LOCAL

    def add(self, one: Committed, entry_id: str = "") -> None:
        """Add a transaction, and keep a receipt of it.

        ``entry_id``: of its entry in the table, if the server returned it.
        """
        self._all.append(one)
        server = self._database.server
        if one.settled and server is not None:
            receipt = Receipt(
                mark=one.mark,
                entry=msgspec.structs.replace(one.entry, id=entry_id or one.entry.id, changes=()),
                database=server.database,
                system_identifier=server.system_identifier,
                table=isinstance(one.proof, EntryProof),
                durability=one.durability,
                at=time.time(),
                context=self._context,
            )
            self._receipts.append(receipt)
            self._kept = None

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
            if server is None:
                return
            checked = [
                c for c in self._all if (c.mark.life != server.life or not c.settled) and _can_tell(server, c.mark)
            ]
            answers = await fates(self._database, checked)
            known = {one.mark: fate for one, fate in answers if fate != UNKNOWN}
            for receipt in self.own() if known else ():
                if receipt.mark in known:
                    self._keep(receipt, known[receipt.mark], server.history)
                    self._kept = None
            for one, fate in answers:
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
        if self._kept is None or self._kept[0] != server.history:
            self._kept = server.history, await self._asked(server)
        return self._kept[1]

    async def _asked(self, server: Server) -> tuple[Receipt, ...]:
        here, own = server.history, {r.key: r for r in self.own()}
        replaced = [r for r in own.values() if here not in (r.mark.history, r.asked)]
        asked = {r.committed(): r for r in replaced[-RECEIPTS_QUERIED:] if _can_tell(server, r.mark)}
        for one, fate in await fates(self._database, asked):
            if fate != UNKNOWN or not asked[one].table:
                known = own[asked[one].key] = self._keep(asked[one], fate, here)
                self.news += [known] if known.lost else []
        again = {(r.entry.run, i) for r in own.values() if r.entry.run and not r.lost for i in r.changed}
        return tuple(
            r
            for r in own.values()
            if (r.lost and not all((r.entry.run, i) in again for i in r.changed))  # a run has changed them again
            or (not r.lost and r.mark.history != here and not (r.fate and r.asked == here))
            or (r.durability is Durability.UNCONFIRMED and not r.fate)
        )

    def _keep(self, receipt: Receipt, fate: str, history: str) -> Receipt:
        """Keep the fate of a commit, as a server reports it."""
        unknown = receipt.fate if receipt.lost else ""
        fate = {ABORTED: Outcome.LOST, COMMITTED: COMMITTED}.get(fate, unknown)
        known = msgspec.structs.replace(receipt, fate=fate, asked=history)
        self._receipts.append(known)
        return known

    def own(self) -> list[Receipt]:
        """Return the receipts of this database, oldest first, unless they are too old.

        A database that another context names may be a copy of it, with the same identifier.
        """
        server = self._database.server
        if server is None:
            return []
        here, since = (server.system_identifier, server.database), time.time() - RECEIPT_KEPT_SECONDS
        return [
            r
            for r in self._receipts.read()
            if (r.system_identifier, r.database) == here and r.at > since
            if not (r.context and self._context) or r.context == self._context
        ]


def _can_tell(server: Server, mark: TransactionMark) -> bool:
    """Return True if a server that has no such transaction has lost it.

    A standby may lag until it follows a later timeline. A server of an earlier timeline was replaced itself.
    """
    later = mark.later(server.history)
    return later > 0 or (later == 0 and not server.standby)
