"""Receipts of this user's commits, and the changes that the server lacks.

The audit log table loses an entry together with its change, so only another place can tell. A receipt of each commit is
a line of one file for all databases, next to the local audit log: a server without standbys may have been replaced
without its knowledge. Without the table the entries of the local audit log are the receipts.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec

from queries.db.database import Database, Server
from queries.db.query import statement
from queries.files.json_lines import JsonLines
from queries.log import settle
from queries.log.audit_log import EntryProof, Subject, is_table_id
from queries.log.log_file import LogFile
from queries.log.settle import ABORTED, COMMITTED, UNKNOWN, Provable, TransactionMark, timeline
from queries.records.action import Outcome, Result
from queries.records.audit import AuditLogEntry
from queries.records.record import Record
from queries.text.instant import instant

RECEIPTS = "commits.jsonl"
RECEIPT_SECONDS = 86400.0  # for which a commit is asked for, by the clock of this machine
RECEIPTS_BYTES = 8 << 20  # size of the file from which it is written again without old receipts
ELSEWHERE, MISSING = "elsewhere", "missing"  # fates, beside lost and unknown
COMMIT_LOST = "lost in a failover: it was committed, but the present server does not have it"
LOST = f"{COMMIT_LOST}. The change is gone"
OUTCOMES = {COMMITTED: (Outcome.CHANGED, ""), ABORTED: (Outcome.UNSENT, settle.ROLLED_BACK)}
SENTENCES = {
    Outcome.LOST: "Lost in a failover: {what} was committed, but this server does not have it. The change is gone.",
    ELSEWHERE: "Another server was promoted (timeline {timeline}): {what} was committed there, and is not here.",
    MISSING: "The entry is missing from the audit log: the change may still be there. {what} was committed: look at its"
    " rows.",
    COMMITTED: "Settled: {what} was committed.",
    ABORTED: "Settled: {what} was rolled back, so it changed nothing.",
    Outcome.UNKNOWN: "Unknown: the server cannot tell if it has {what}. Look at its rows.",
}


class Receipt(Record, omit_defaults=True):
    """A change of this user whose COMMIT was sent.

    ``entry`` has no rows, and the id of the entry in the audit log. ``answered`` False: it is not known if it was
    committed. ``at``: by the clock of this machine. ``fate``: on the present server.
    """

    mark: TransactionMark
    entry: AuditLogEntry
    database: str
    system_identifier: str
    at: float
    context: str = ""
    answered: bool = True
    fate: str = ""

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
        """Ids of the nodes that it changed, or may have changed."""
        return frozenset(r.id for r in self.entry.results if r.outcome in (Outcome.CHANGED, Outcome.UNKNOWN))

    @property
    def present(self) -> AuditLogEntry:
        """The entry with the results as they are known now."""
        if not self.lost:
            return self.entry
        lost, ids = {"outcome": Outcome.LOST, "why": LOST}, self.changed
        results = (msgspec.structs.replace(r, **lost) if r.id in ids else r for r in self.entry.results)
        return msgspec.structs.replace(self.entry, results=tuple(results))

    def sentence(self, node_id: str = "") -> str:
        """Return a sentence about the change, and the node that it names."""
        entry, mark = self.entry, self.mark
        what = f"{entry.action} of {entry.named(node_id)} at {instant(entry.at)} "
        what += f"(entry {entry.id}, transaction {mark.xid})"
        return SENTENCES[self.fate].format(what=what, timeline=timeline(mark.history))


class Receipts:
    """Receipts of this user in the open database.

    ``in_table``: its entries are in the audit log table.
    """

    def __init__(self, database: Database, file: LogFile, context: str = "") -> None:
        self._database, self._file, self._context = database, file, context
        self._lines = JsonLines(file.path.parent / RECEIPTS, Receipt, RECEIPTS_BYTES)
        self._proofs: dict[str, Provable] = {}  # by entry of the local file: of this process, not answered yet

    def add(
        self, mark: TransactionMark, entry: AuditLogEntry, proof: Provable, *, answered: bool, in_table: bool
    ) -> None:
        """Keep a receipt of a transaction, after the answer to its COMMIT or without one."""
        server = self._database.server
        if in_table and server is not None:
            without_rows = msgspec.structs.replace(entry, changes=())
            self._lines.append(_receipt(server, without_rows, mark, time.time(), self._context, answered=answered))
        elif not answered:
            self._proofs[entry.id] = proof

    async def lacking(self, node: Subject | None, *, in_table: bool) -> list[Receipt]:
        """Return those that the server lacks or may lack, each with its fate.

        The oldest is the first. Those without an answer are settled before. Without the table nothing proves after a
        failover that the server still has a change. ``node``: only those about it. Raises DatabaseError.
        """
        server, since = self._database.server, time.time() - settle.STATUS_SECONDS
        assert server is not None
        every = [
            r if r.answered else await self._settled(r, in_table=in_table)
            for r in self._own(server, in_table=in_table)
            if node is None or (r.entry.schema == node.schema and not r.changed.isdisjoint(node.ids))
        ]
        fates = [r for r in every if r.fate and (r.fate != UNKNOWN or r.at < since)]  # one under way is no news
        asked = [r for r in every if not r.fate and settle.can_tell(server, r.mark)]
        if not in_table:
            replaced = (r for r in asked if r.mark.life != server.life and r.mark.history != server.history)
            fates += (msgspec.structs.replace(r, fate=Outcome.UNKNOWN) for r in replaced)
        elif asked:
            fates += await self._missing(server, asked)
        return [r if node is None else msgspec.structs.replace(r, entry=node.named(r.entry)) for r in fates]

    def _own(self, server: Server, *, in_table: bool) -> list[Receipt]:
        """Return the receipts of the last day, oldest first. Raises DatabaseError.

        A database that another context names may be a copy of it, with the same identifier.
        """
        here, since = (server.system_identifier, server.database), time.time() - RECEIPT_SECONDS
        receipts = [r for r in self._lines.read() if r.at > since and (r.system_identifier, r.database) == here]
        if not in_table:
            receipts = [_of_line(server, entry, mark) for entry, mark in self._file.changes(since)][::-1]
        return [
            msgspec.structs.replace(r, fate="")
            for r in receipts
            if is_table_id(r.entry.id) is in_table and r.fate != ABORTED and r.changed
            if not (r.context and self._context) or r.context == self._context
        ]

    async def _missing(self, server: Server, receipts: Sequence[Receipt]) -> list[Receipt]:
        """Ask which entries the table lacks. Raises DatabaseError."""
        entries = [
            {"id": e.id, "xid": r.mark.xid, "action": e.action, "reason": e.reason, "node": e.results[0].id}
            for r in receipts
            for e in [r.entry]
        ]
        async with self._database.reading() as transaction:
            rows = await transaction.rows(statement("audit_log_lacks"), {"args": msgspec.json.encode(entries).decode()})
        places = {row["place"] for row in rows}
        has = {(r.entry.run, i) for n, r in enumerate(receipts) if n not in places and r.entry.run for i in r.changed}
        return [
            msgspec.structs.replace(r, fate=_fate(server, r.mark))
            for n, r in enumerate(receipts)
            if n in places and not all((r.entry.run, i) in has for i in r.changed)  # else a run has changed them again
        ]

    async def _settled(self, receipt: Receipt, *, in_table: bool) -> Receipt:
        """Ask for a transaction without an answer, and keep the answer.

        Raises DatabaseError.
        """
        entry = receipt.entry
        proof = EntryProof(entry=entry) if in_table else self._proofs.get(entry.id)
        status = await settle.status_now(self._database, receipt.mark, proof)
        fate = msgspec.structs.replace(receipt, fate=status)
        if in_table and status != UNKNOWN:
            self._lines.append(msgspec.structs.replace(fate, answered=True))
        elif status != UNKNOWN:
            outcome, why = OUTCOMES[status]
            self._file.settle(entry, [Result(id=i, outcome=outcome, why=why) for i in receipt.changed])
        return fate


def _receipt(
    server: Server, entry: AuditLogEntry, mark: TransactionMark, at: float, context: str, *, answered: bool
) -> Receipt:
    return Receipt(
        mark=mark,
        entry=msgspec.structs.replace(entry, changes=()) if answered else entry,
        database=server.database,
        system_identifier=server.system_identifier,
        at=at,
        context=context,
        answered=answered,
    )


def _of_line(server: Server, entry: AuditLogEntry, mark: TransactionMark) -> Receipt:
    """Return the receipt of an entry of the local file.

    It keeps the rows until there is an outcome.
    """
    answered = all(r.outcome is not Outcome.UNKNOWN for r in entry.results)
    context = "" if entry.origin is None else entry.origin.context
    return _receipt(server, entry, mark, entry.at, context, answered=answered)


def _fate(server: Server, mark: TransactionMark) -> str:
    """Return why a server lacks the entry of a transaction."""
    if mark.later(server.history) < 0:
        return ELSEWHERE
    return Outcome.LOST if server.life != mark.life or mark.later(server.history) > 0 else MISSING
