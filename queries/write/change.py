"""The steps of a change: admit, read rows, change, read again, gate.

A dry run then rolls back. A commit writes the entry and commits. What is changed is a :class:`Script`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import msgspec

from queries.db.database import TableName
from queries.db.errors import ConflictError, DatabaseError, DeniedError, LockedError, LostError, SlowError, table_locks
from queries.db.transaction import Transaction
from queries.read.question import Question, value_of
from queries.records.action import OtherRows, RowChange
from queries.records.record import Record
from queries.write import gate
from queries.write.blast_radius import Measured, Measurement
from queries.write.compare import Contract, Had
from queries.write.deferred import FIRED
from queries.write.image_reader import RowPair, RowsRead, RowText
from queries.write.images import Images
from queries.write.request import Request
from queries.write.script import GuardMissedError, Script


class Effect(Record):
    """Everything that a transaction did.

    ``nodes``: ids that it reached. ``pairs``: changed rows as text; ``changes``: as JSON, which the audit log stores
    without decoding. ``images``: what an undo needs; None if none are kept. ``others``: rows that the images do not
    have. ``counted`` False: the server does not count rows, so there may be others. ``held``: seconds that its
    statements took, with row locks.
    """

    nodes: tuple[str, ...] = ()
    pairs: tuple[RowPair, ...] = ()
    changes: tuple[RowChange, ...] = ()
    images: Images | None = None
    row_digests: dict[str, str] = {}
    others: tuple[OtherRows, ...] = ()
    counted: bool = True
    measured: Measured | None = None
    held: float = 0.0


async def change(
    transaction: Transaction,
    request: Request,
    script: Script,
    written: gate.WrittenRows,
    at: float,
    measurement: Measurement | None = None,
) -> Effect:
    """Change the nodes of a script, up to COMMIT or ROLLBACK.

    ``written``: what the session has written before. ``at``: ``now()``. ``measurement``: of the blast radius. Raises
    DatabaseError.
    """
    began = time.monotonic()
    nodes, detected = script.nodes, script.nodes.reader.detected
    nodes.policies = written.policies

    def related() -> list[Question[Any]]:
        return [measurement.related(nodes.remaining)] if measurement and nodes.remaining else []

    with table_locks():
        first, *reach = await script.admit(transaction, lambda: [script.question(), *related()])
        before = await script.rows(transaction, value_of(first))
        digests = script.digests(before)
        if measurement and nodes.remaining:
            await measurement.before(transaction, nodes.remaining, *reach)
    if not nodes.remaining:
        return Effect(counted=written.counted)
    sent = time.monotonic()
    changed, answers = await script.change(
        transaction,
        lambda: [
            FIRED,
            script.question(),
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
    now = value_of(answers[2])
    after = await script.rows(transaction, value_of(answers[1]), before)
    effect = await _compared(
        transaction, request, script, before, after, now.since(written) if written.counted else None, at
    )
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


async def _compared(
    transaction: Transaction,
    request: Request,
    script: Script,
    before: RowsRead,
    after: RowsRead,
    server: Mapping[TableName, gate.Counts] | None,
    at: float,
) -> Effect:
    """Return the rows that differ, and pass the gate.

    ``server``: the rows that it has counted; None: it does not count. Raises MiscountedError, DeniedError, and in a
    commit UnshownError.
    """
    nodes, seen, reader, detected = script.nodes, request.seen, script.images, request.reader.detected
    shown, remaining = None if seen is None else seen.nodes, set(nodes.remaining)

    def updated(table: str) -> int | None:
        return None if server is None else server.get(gate.qualified(table, detected.schema), gate.NONE).updated

    async def differing() -> list[RowPair]:
        pairs = await reader.pairs(transaction, before, after, updated)
        return [pair for pair in pairs if not remaining.isdisjoint(pair.ids)]

    pairs = await differing()
    imaged = gate.imaged(pairs, detected.schema)
    if server != imaged:  # nothing may lead to a row any more
        after = await reader.with_missing(transaction, before, after)
        pairs = await differing()
        imaged = gate.imaged(pairs, detected.schema)
    changes = tuple(
        reader.change(pair, node, whole=shown is None or node in shown)
        for pair in pairs
        for node in pair.ids
        if node in remaining
    )
    if seen is not None:
        keys = {table: layout.key for table, layout in reader.layouts.items()}
        names = request.operator.name, seen.operator
        contract = Contract(request.reader.engine.spec.varies, keys, names)
        had = None if script.restores else _had(script, before)
        gate.compare_rows(changes, seen, nodes.remaining, contract, at, had)
    others: tuple[OtherRows, ...] = ()
    if server is not None:
        more = gate.unimaged(server, imaged)
        others = await gate.others(transaction, more, server, detected.schema, detected.relations)
        gate.hidden(others, nodes.policies, detected.schema)
        if seen is not None:
            gate.compare(others, seen, nodes.remaining)
    images = None
    if not request.no_images:
        local = nodes.reader.ids.local
        images = reader.collect(pairs, local, remaining).without(
            map(local, nodes.remaining), _unimaged(changes, others)
        )
    return Effect(pairs=tuple(pairs), changes=changes, images=images, others=others)


def _had(script: Script, before: RowsRead) -> Had:
    values: set[tuple[str, str, bytes]] = set()

    def had(node: str, name: str, value: bytes) -> bool:
        if not values:
            for place, row in before.rows.items():
                texts = script.images.layouts[place[0]].json(row)
                values.update((i, n, bytes(text)) for n, text in texts.items() for i in before.ids[place])
        return (node, name, value) in values

    return had


def _unimaged(changes: tuple[RowChange, ...], others: tuple[OtherRows, ...]) -> str:
    """Return why an undo could not restore all rows of the engine, or ""."""
    shown = {change.table for change in changes}
    for other in others:
        name = other.table.rpartition(".")[2]
        if other.own and (other.deleted or (other.updated and name not in shown)):
            return f"it has also {other.words} of {name} without a copy ({other.cause})"
    return ""


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
        self._script, self._nodes, self._pairs = script, effect.nodes, effect.pairs

    async def was_committed(self, transaction: Transaction) -> bool | None:
        """Return True or False if the rows prove a commit or its absence, else None.

        A transaction commits as a whole, so one row in its state before or after the change is proof. A missing row
        proves little, because engines delete rows too.
        """
        if not self._pairs:
            return None
        before = RowsRead()
        for pair in self._pairs:
            if row := pair.was or pair.now:
                before.add(pair.ids[0], self._script.images.layouts[pair.table], row)
        with self._script.nodes.only(self._nodes):
            answer = await self._script.question().answer(transaction)
            read = await self._script.images.completed(transaction, answer)
            now = (await self._script.images.with_missing(transaction, before, read)).rows
        rows_now = [(now.get((pair.table, pair.key)), pair) for pair in self._pairs]
        for rows in ([(row, pair) for row, pair in rows_now if row is not None], rows_now):
            after = any(_is(row, pair.now) for row, pair in rows)
            if after is not any(_is(row, pair.was) for row, pair in rows):
                return after
            if after:
                return None
        return None


def _is(row: RowText | None, other: RowText | None) -> bool:
    return row is other is None or (row is not None and other is not None and row.equals(other))
