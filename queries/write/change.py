"""The steps of a change: admit, copy, change, copy again, compare, gate.

A dry run then rolls back. A commit writes the entry and commits. What is changed is a :class:`Script`; who compares the
rows, this console or the server, is a :class:`Copies`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from queries.db.database import TableName
from queries.db.errors import ConflictError, DatabaseError, DeniedError, LockedError, LostError, SlowError, table_locks
from queries.db.query import Query
from queries.db.shared_sql import statement
from queries.db.transaction import Transaction
from queries.files.statement import Statement
from queries.read.question import Question, value_of
from queries.records.action import OtherRows, RowChange, is_same
from queries.records.record import Record
from queries.text.json_text import decoded
from queries.write import gate
from queries.write.blast_radius import Measured, Measurement
from queries.write.images import ImageReader, Images
from queries.write.script import GuardMissedError, Script


class Effect(Record):
    """Everything that a transaction did.

    ``nodes``: ids that it reached. ``copies``: changed rows as JSON text of the server, which the audit log stores
    without decoding. ``compared``: JSON instead of ``copies`` if the server compared the rows; ``images`` are JSON
    then. ``others``: rows that the copies do not have. ``counted`` False: the server does not count rows, so there may
    be others. ``held``: seconds that its statements took, with row locks.
    """

    nodes: tuple[str, ...] = ()
    copies: tuple[RowChange, ...] = ()
    compared: msgspec.Raw | None = None
    images: Images | msgspec.Raw | None = None
    row_digests: dict[str, str] = {}
    others: tuple[OtherRows, ...] = ()
    counted: bool = True
    measured: Measured | None = None
    held: float = 0.0


class Copies(Protocol):
    """Copies of the rows before and after a change, and their comparison."""

    @property
    def images(self) -> ImageReader | None:
        """Reader of the rows' images. It must know their columns before the first copy."""

    def question_before(self) -> Question[Any]:
        """Ask for the rows of the remaining nodes before the change."""

    async def before(self, transaction: Transaction, rows: Any) -> dict[str, str]:
        """Read the answer to `asked_before`. Return digests of the rows by node.

        Nodes whose rows are not those of the dry run are skipped. Raises DatabaseError.
        """

    def question_after(self) -> Question[Any]:
        """Ask for the rows after the change."""

    async def after(
        self, transaction: Transaction, rows: Any, server: Mapping[TableName, gate.Counts] | None
    ) -> Effect:
        """Read the answer to `asked_after`, compare the rows, and pass the gate.

        ``server``: the rows that it has counted; None: it does not count. Raises DatabaseError.
        """


async def change(
    transaction: Transaction,
    script: Script,
    copies: Copies,
    written: gate.WrittenRows,
    measurement: Measurement | None = None,
) -> Effect:
    """Change the nodes of a script, up to COMMIT or ROLLBACK.

    ``written``: what the session has written before. ``measurement``: of the blast radius. Raises DatabaseError.
    """
    began = time.monotonic()
    nodes, detected = script.nodes, script.nodes.reader.detected
    nodes.policies = written.policies

    def related() -> list[Question[Any]]:
        return [measurement.related(nodes.remaining)] if measurement and nodes.remaining else []

    with table_locks():
        before, *reach = await script.admit(transaction, lambda: [copies.question_before(), *related()])
        digests = await copies.before(transaction, value_of(before))
        if measurement and nodes.remaining:
            await measurement.before(transaction, nodes.remaining, *reach)
    if not nodes.remaining:
        return Effect(counted=written.counted)
    sent = time.monotonic()
    changed, answers = await script.change(
        transaction,
        lambda: [
            _FIRED,
            copies.question_after(),
            gate.written(detected.schema, detected.relations),
            *related(),
            *(measurement.again() if measurement else ()),
        ],
    )
    ended = time.monotonic()
    missed = [i for i in nodes.remaining if i not in changed]
    if missed:
        raise GuardMissedError(missed)
    _check_fired(answers[0])
    after, now = value_of(answers[1]), value_of(answers[2])
    effect = await copies.after(transaction, after, now.since(written) if written.counted else None)
    measured = None
    if measurement:
        # In the same message, after the server's counts. A clock that was set meanwhile says little.
        spent = min(max(ended - began - (now.at - written.at), 0.0), ended - sent)
        measured = await measurement.after(transaction, spent, *answers[3:])
    held = time.monotonic() - began - (measured.seconds if measured else 0.0)
    return msgspec.structs.replace(
        effect,
        nodes=tuple(nodes.remaining),
        row_digests=digests,
        counted=written.counted,
        measured=measured,
        held=held,
    )


# Deferred constraints are checked before COMMIT, which a dry run does not reach. A failure at COMMIT could not be
# traced to a node by halving, and the check would run there without statement_timeout. Triggers may leave advisory
# locks.
_FIRED = Question(
    [Query(Statement(text="SET CONSTRAINTS ALL IMMEDIATE", source="")), Query(statement("advisory_unlock"))],
    lambda _: None,
)


def _check_fired(answer: DatabaseError | None) -> None:
    """Raise ConflictError if the check of deferred constraints failed.

    Also for any error of a trigger.
    """
    try:
        value_of(answer)
    except (LockedError, ConflictError, DeniedError, LostError, SlowError):
        raise
    except DatabaseError as error:
        raise ConflictError(str(error), code=error.code) from error


class RowProof:
    """Proof by the rows that a transaction was committed, or was not."""

    def __init__(self, script: Script, effect: Effect) -> None:
        self._script, self._nodes, self._copies = script, effect.nodes, effect.copies

    async def was_committed(self, transaction: Transaction) -> bool | None:
        """Return True or False if the rows prove a commit or its absence, else None.

        A transaction commits as a whole, so one row in its state before or after the change is proof. A missing row
        proves little, because engines delete rows too.
        """
        if not self._copies:
            return None
        with self._script.nodes.only(self._nodes):
            now = (await self._script.copied().answer(transaction)).rows
        rows_now = [(_decoded(now.get((c.id, c.table, c.key))), c.read()) for c in self._copies]
        for rows in ([(row, c) for row, c in rows_now if row is not None], rows_now):
            after = any(is_same(row, c.after) for row, c in rows)
            if after is not any(is_same(row, c.before) for row, c in rows):
                return after
            if after:
                return None
        return None


def _decoded(row: Any) -> Any:
    return None if row is None else decoded(row)
