"""Copies of the rows that this console compares.

It is the way of every dry run, and of every commit whose rows are compared with those of a dry run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from queries.db.database import Table
from queries.db.transaction import Transaction
from queries.read.asked import Asked, known
from queries.records.action import OtherRows, RowChange
from queries.records.audit import AuditLogEntry
from queries.write import audit_log, gate, row_copies
from queries.write.blast_radius import Measurement
from queries.write.change import Effect
from queries.write.images import Images, Place, RowText
from queries.write.request import Request
from queries.write.row_copies import Copy
from queries.write.script import AFTER, BEFORE, Script


class ConsoleCopies:
    """Copies of the rows of one transaction, decoded as far as they are shown."""

    def __init__(self, request: Request, script: Script) -> None:
        self._request, self._script = request, script
        self._measurement = Measurement(request.reader) if request.measures else None
        self._before = Copy()
        self._texts: Mapping[Place, RowText] = {}  # images of the rows before

    def asked_before(self) -> Sequence[Asked[Any]]:
        """Ask for the rows, and for what is related to the nodes."""
        return [self._script.copied(BEFORE), *self._related()]

    async def before(self, transaction: Transaction, answers: Sequence[Any]) -> dict[str, str]:
        """Return digests of the rows by node."""
        copy, *related = answers
        self._before = known(copy)
        digests = self._script.digests(self._before)
        live, reader = self._script.nodes.live, self._script.images
        if live and self._measurement is not None:
            await self._measurement.before(transaction, live, *related)
        if live and reader is not None:
            self._texts = await reader.completed(transaction, self._before.places, self._before.texts)
        return digests

    def asked_after(self) -> Sequence[Asked[Any]]:
        """Ask for the rows, what was written, and what is related to the nodes."""
        found = self._request.reader.found
        return [self._script.copied(AFTER), gate.written(found.schema, found.relations), *self._related()]

    def _related(self) -> Sequence[Asked[Any]]:
        live = self._script.nodes.live
        return [self._measurement.related(live)] if live and self._measurement is not None else []

    async def after(self, transaction: Transaction, written: gate.Written, answers: Sequence[Any]) -> Effect:
        """Compare the rows, and pass the gate."""
        copy, *more = answers
        after = await self._script.completed(transaction, known(copy), AFTER)
        copies = tuple(row_copies.differences(set(self._script.nodes.live), self._before, after))
        now, *related = more
        server = known(now).since(written) if written.counted else None
        others = await self._checked(transaction, copies, server, written.policies)
        measured = None if self._measurement is None else await self._measurement.after(transaction, *related)
        images = await self._images(transaction, copies, after, others)
        return Effect(copies=copies, images=images, others=others, measured=measured)

    async def log(self, transaction: Transaction, entry: AuditLogEntry, effect: Effect) -> str:
        """Write the entry to the audit log table. Return its id, or "" without images."""
        return await audit_log.append(transaction, entry, effect.images)

    async def _checked(
        self,
        transaction: Transaction,
        copies: tuple[RowChange, ...],
        server: Mapping[Table, gate.Counts] | None,
        policies: Sequence[str],
    ) -> tuple[OtherRows, ...]:
        """Pass the gate. Return the rows that the copies do not have.

        ``server``: the rows that it has counted; None: it does not count. Raises MiscountedError, DeniedError, and in
        a commit UnshownError.
        """
        found, seen, nodes = self._request.reader.found, self._request.seen, self._script.nodes
        if seen is not None:
            gate.compare_rows(copies, seen, nodes.live, self._request.order.operator.name)
        if server is None:
            return ()
        more = gate.uncopied(server, gate.copied(copies, found.schema))
        others = await gate.others(transaction, more, server, found.schema, found.relations)
        gate.hidden(others, policies, found.schema)
        if seen is not None:
            gate.compare(others, seen, nodes.live)
        return others

    async def _images(
        self,
        transaction: Transaction,
        copies: tuple[RowChange, ...],
        after: Copy,
        others: tuple[OtherRows, ...],
    ) -> Images | None:
        """Return the images of the changed rows."""
        reader, nodes = self._script.images, self._script.nodes
        if reader is None:
            return None
        # Inserted rows need their values.
        known = {place: text for place, text in after.texts.items() if place in self._texts or text.texts}
        texts = await reader.completed(transaction, after.places, known)
        found = reader.collect(copies, self._texts, texts, nodes.reader.local)
        return found.without(map(nodes.reader.local, nodes.live), _uncopied(copies, others))


def _uncopied(copies: tuple[RowChange, ...], others: tuple[OtherRows, ...]) -> str:
    """Return why an undo could not restore all rows of the engine, or ""."""
    shown = {copy.table for copy in copies}
    for other in others:
        name = other.table.rpartition(".")[2]
        if other.own and (other.deleted or (other.updated and name not in shown)):
            return f"it has also {other.words} of {name} without a copy ({other.cause})"
    return ""
