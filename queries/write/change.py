"""The steps of a change: admit, copy, change, copy again, compare, gate.

A dry run then rolls back. A commit writes the entry and commits. What is changed is a :class:`Script`; who compares the
rows, this console or the server, is a :class:`Copies`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from queries.db.database import FIRE
from queries.db.errors import ConflictError, DatabaseError, DeniedError, LockedError, LostError, SlowError, table_locks
from queries.db.transaction import Transaction
from queries.records.action import OtherRows, RowChange
from queries.records.audit import AuditLogEntry
from queries.records.record import Record
from queries.text.json_text import decoded
from queries.write import gate
from queries.write.blast_radius import Measured
from queries.write.images import Images
from queries.write.script import GuardMissedError, Script


class Effect(Record):
    """Everything that a transaction did.

    ``nodes``: ids that it reached. ``copies``: changed rows as JSON text of the server, which the audit log stores
    without decoding. ``others``: rows that the copies do not have. ``counted`` False: the server does not count rows,
    so there may be others. ``held``: seconds that its statements took, with row locks.
    """

    nodes: tuple[str, ...] = ()
    copies: tuple[RowChange, ...] = ()
    images: Images | None = None
    row_digests: dict[str, str] = {}
    others: tuple[OtherRows, ...] = ()
    counted: bool = True
    measured: Measured | None = None
    held: float = 0.0


class Copies(Protocol):
    """Copies of the rows before and after a change, and their comparison."""

    async def before(self, transaction: Transaction) -> dict[str, str]:
        """Copy the rows. Return their digests by node.

        Nodes whose rows are not those of the dry run are skipped. Raises DatabaseError.
        """

    async def after(self, transaction: Transaction, written: gate.Written) -> Effect:
        """Copy the rows again, and compare them.

        ``written``: what the session had written before. Raises DatabaseError.
        """

    async def log(self, transaction: Transaction, entry: AuditLogEntry, effect: Effect) -> str:
        """Write the entry to the audit log table.

        Return its id, or "" without images. Raises DatabaseError.
        """


async def change(transaction: Transaction, script: Script, copies: Copies) -> Effect:
    """Change the nodes of a script, up to COMMIT or ROLLBACK. Raises DatabaseError."""
    began = time.monotonic()
    nodes, found = script.nodes, script.nodes.reader.found
    written = await gate.written(transaction, found.schema, found.relations)
    nodes.policies = written.policies
    with table_locks():
        await script.admit(transaction)
        digests = await copies.before(transaction)
    if not nodes.live:
        return Effect(counted=written.counted)
    await apply(transaction, script)
    effect = await copies.after(transaction, written)
    measured = 0.0 if effect.measured is None else effect.measured.seconds
    held = time.monotonic() - began - measured
    return msgspec.structs.replace(
        effect, nodes=tuple(nodes.live), row_digests=digests, counted=written.counted, held=held
    )


async def apply(transaction: Transaction, script: Script) -> None:
    """Change the nodes, and check that all were changed. Raises DatabaseError."""
    changed = await script.change(transaction)
    missed = [i for i in script.nodes.live if i not in changed]
    if missed:
        raise GuardMissedError(missed)
    await _fire(transaction)


async def _fire(transaction: Transaction) -> None:
    """Check deferred constraints before COMMIT.

    Raises ConflictError, also for any error of a trigger. A dry run does not reach COMMIT. A failure at COMMIT could
    not be traced to a node by halving, and the check would run there without statement_timeout.
    """
    try:
        await transaction.control(FIRE)
    except (LockedError, ConflictError, DeniedError, LostError, SlowError):
        raise
    except DatabaseError as error:
        raise ConflictError(str(error), code=error.code) from error


class RowProof:
    """Proof by the rows that a transaction was committed, or was not.

    ``nodes``: those that it reached.
    """

    def __init__(self, script: Script, effect: Effect) -> None:
        self.nodes: Sequence[str] = effect.nodes
        self._script, self._copies = script, effect.copies

    async def was_committed(self, transaction: Transaction) -> bool | None:
        """Return True or False if the rows prove a commit or its absence, else None.

        A transaction commits as a whole, so one row in its state before or after the change is proof. A missing row
        proves little, because engines delete rows too.
        """
        if not self._copies:
            return None
        with self._script.nodes.only(self.nodes):
            now = (await self._script.copy(transaction)).rows
        rows_now = [(_decoded(now.get((c.id, c.table, c.key))), c.read()) for c in self._copies]
        for rows in ([(row, c) for row, c in rows_now if row is not None], rows_now):
            left, found = any(row == c.after for row, c in rows), any(row == c.before for row, c in rows)
            if left != found:
                return left
            if left:
                return None
        return None


def _decoded(row: Any) -> Any:
    return None if row is None else decoded(row)
