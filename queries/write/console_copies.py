"""Copies of the rows that this console compares.

It is the way of every dry run, and of every commit whose rows are compared with those of a dry run.
"""

from __future__ import annotations

from collections.abc import Mapping

from queries.db.database import TableName
from queries.db.transaction import Transaction
from queries.read.question import Question
from queries.records.action import OtherRows, RowChange
from queries.write import gate, row_copies
from queries.write.change import Effect
from queries.write.images import ImageReader, Images, RowKey, RowText
from queries.write.request import Request
from queries.write.row_copies import Copy
from queries.write.script import AFTER, BEFORE, Script


class ConsoleCopies:
    """Copies of the rows of one transaction, decoded as far as they are shown."""

    def __init__(self, request: Request, script: Script) -> None:
        self._request, self._script = request, script
        self._before = Copy()
        self._texts: Mapping[RowKey, RowText] = {}  # images of the rows before

    @property
    def images(self) -> ImageReader | None:
        """Reader of the rows' images; None if none are kept."""
        return self._script.images

    def question_before(self) -> Question[Copy]:
        """Ask for the rows."""
        return self._script.copied(BEFORE)

    async def before(self, transaction: Transaction, rows: Copy) -> dict[str, str]:
        """Return digests of the rows by node."""
        self._before = rows
        digests = self._script.digests(rows)
        if self._script.nodes.remaining and self.images is not None:
            self._texts = await self.images.completed(transaction, rows.places, rows.texts)
        return digests

    def question_after(self) -> Question[Copy]:
        """Ask for the rows."""
        return self._script.copied(AFTER)

    async def after(
        self, transaction: Transaction, after: Copy, server: Mapping[TableName, gate.Counts] | None
    ) -> Effect:
        """Compare the rows, and pass the gate.

        Raises MiscountedError, DeniedError, and in a commit UnshownError.
        """
        nodes, seen, detected = self._script.nodes, self._request.seen, self._request.reader.detected
        copies = tuple(row_copies.differences(set(nodes.remaining), self._before, after))
        if seen is not None:
            gate.compare_rows(copies, seen, nodes.remaining, self._request.operator.name)
        others: tuple[OtherRows, ...] = ()
        if server is not None:
            more = gate.uncopied(server, gate.copied(copies, detected.schema))
            others = await gate.others(transaction, more, server, detected.schema, detected.relations)
            gate.hidden(others, nodes.policies, detected.schema)
            if seen is not None:
                gate.compare(others, seen, nodes.remaining)
        images = await self._images(transaction, copies, after, others)
        return Effect(copies=copies, images=images, others=others)

    async def _images(
        self,
        transaction: Transaction,
        copies: tuple[RowChange, ...],
        after: Copy,
        others: tuple[OtherRows, ...],
    ) -> Images | None:
        """Return the images of the changed rows."""
        reader, nodes = self.images, self._script.nodes
        if reader is None:
            return None
        # Inserted rows need their values.
        texts = {place: text for place, text in after.texts.items() if place in self._texts or text.texts}
        now = await reader.completed(transaction, after.places, texts)
        images = reader.collect(copies, self._texts, now, nodes.reader.ids.local)
        return images.without(map(nodes.reader.ids.local, nodes.remaining), _uncopied(copies, others))


def _uncopied(copies: tuple[RowChange, ...], others: tuple[OtherRows, ...]) -> str:
    """Return why an undo could not restore all rows of the engine, or ""."""
    shown = {copy.table for copy in copies}
    for other in others:
        name = other.table.rpartition(".")[2]
        if other.own and (other.deleted or (other.updated and name not in shown)):
            return f"it has also {other.words} of {name} without a copy ({other.cause})"
    return ""
