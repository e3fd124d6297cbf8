"""Receipts of commits that a failover may lose, kept on this machine.

The audit log table loses an entry together with its change, so only another place can tell. One file for all databases,
JSON lines, next to the local audit log. A later line about the same transaction replaces an earlier one.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from queries.db.database import Database, Server
from queries.files.state_file import open_private, write_all
from queries.records.action import Durability
from queries.records.audit import AuditLogEntry
from queries.records.record import Record
from queries.write import commit_status
from queries.write.audit_log import EntryProof
from queries.write.transaction_mark import TransactionMark

NAME = "commits.jsonl"
RECEIPT_KEPT_SECONDS = 7 * 86400.0  # by the clock of this machine
RECEIPTS_BYTES = 8 << 20  # size of the file from which it is written again without old receipts
RECEIPT_BYTES = 1 << 20  # a receipt is not kept if it is longer
RECEIPTS_QUERIED = 50  # newest receipts of a database whose fate is asked for at a time
LOST = "lost"


class Receipt(Record, omit_defaults=True):
    """A transaction whose COMMIT was answered.

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


class Receipts:
    """The file of receipts."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME

    def add(self, receipt: Receipt) -> None:
        """Append a receipt.

        A disk error only costs the answer after a failover.
        """
        line = b"\n" + msgspec.json.encode(receipt) + b"\n"  # the line before may be incomplete
        if len(line) > RECEIPT_BYTES:
            return
        with contextlib.suppress(OSError):
            file = open_private(self.path, os.O_CREAT | os.O_APPEND | os.O_RDWR)
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                if os.fstat(file).st_size > RECEIPTS_BYTES:
                    receipts = [r for r in self._read() if r.at > time.time() - RECEIPT_KEPT_SECONDS and not r.fate]
                    os.ftruncate(file, 0)
                    for each in receipts[len(receipts) // 2 :]:
                        write_all(file, msgspec.json.encode(each) + b"\n")
                write_all(file, line)
            finally:
                os.close(file)

    def of(self, server: Server) -> list[Receipt]:
        """Return the receipts of this database, oldest first."""
        here = (server.system_identifier, server.database)
        return [
            r
            for r in self._read()
            if (r.system_identifier, r.database) == here and r.at > time.time() - RECEIPT_KEPT_SECONDS
        ]

    def _read(self) -> Iterable[Receipt]:
        receipts: dict[tuple[str, str, str], Receipt] = {}
        with contextlib.suppress(OSError), open(self.path, "rb", opener=open_private) as file:
            while line := file.readline(RECEIPT_BYTES):
                with contextlib.suppress(msgspec.MsgspecError):
                    receipt = msgspec.json.decode(line, type=Receipt)
                    receipts[receipt.key] = receipt
        return receipts.values()

    async def settle(self, database: Database) -> tuple[Receipt, ...]:
        """Ask a server that replaced the one of a receipt for its transaction.

        Return the receipts that are lost, or that no standby has confirmed and whose fate is open. Raises
        DatabaseError.
        """
        server = database.server
        if server is None or not (receipts := self.of(server)):
            return ()
        doubts: list[Receipt] = []
        for receipt in receipts[-RECEIPTS_QUERIED:]:
            settled = receipt
            replaced = receipt.mark.history != server.history
            if replaced and not receipt.fate and not server.standby:  # a standby may lag
                proof = EntryProof(entry=receipt.entry) if receipt.table else None
                status = await commit_status.status_now(database, receipt.mark, proof)
                fate = {commit_status.ABORTED: LOST, commit_status.COMMITTED: commit_status.COMMITTED}.get(status, "")
                if fate:
                    settled = msgspec.structs.replace(receipt, fate=fate)
                    self.add(settled)
            open_fate = not settled.fate and (replaced or settled.durability is Durability.UNCONFIRMED)
            if settled.fate == LOST or open_fate:
                doubts.append(settled)
        return tuple(doubts)
