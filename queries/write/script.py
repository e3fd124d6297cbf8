"""Statements of a transaction: the sections of an action, or an undo.

The sections of an action run in one short READ COMMITTED transaction. ``lock`` locks the rows with SKIP LOCKED and
returns their versions. ``refused`` returns nodes that the action does not apply to. The engine's ``images.sql`` (or
``rows.sql``) returns the places of the nodes' rows, which are read before and after ``change``. That changes them and
checks the versions again in its WHERE. A dry run then rolls back. A commit compares the rows with the dry run's. Nodes
that cannot change are skipped, each with its reason; the others continue.

If an action has ``waits``, a ``refused`` row may have ``for_now``: an executor is running the node, and
:mod:`queries.change` can try again. The ``steady`` text of the node's ``lock`` row must not change during that
wait; of an action without ``waits``, it must not change since the dry run.

An action that takes work from an owner may have ``witnesses``: one row for each sign of life or death of the owner,
with ``id, witness, verdict, detail``, where the verdict is ``dead``, ``alive`` or ``unknown``; ``since`` may say when
the owner took the node. The dry run shows them. The commit reads them again, writes them to the audit log, and skips a
node whose owner has shown a sign of life since. ``dry_run`` is the time of the dry run; NULL in the dry run itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from queries.contract import absence
from queries.contract.rows import SHAPES, verify
from queries.contract.spec import Action
from queries.db.errors import DatabaseError
from queries.db.transaction import Transaction
from queries.read.question import Question, Questions, answered, together, value_of
from queries.records.action import Outcome
from queries.write.admit import admit
from queries.write.image_reader import ImageReader, RowsRead
from queries.write.images import StoredImages
from queries.write.nodes import Nodes
from queries.write.request import Request

HIDDEN = "row-level policies on {tables} may hide rows that it needs. A role that sees all rows can do it"


class GuardMissedError(DatabaseError):
    """The change did not reach every locked node; the transaction is rolled back.

    ``whys``: the reason by node, as far as it is known.
    """

    def __init__(self, missed: Sequence[str], whys: Mapping[str, str] | None = None) -> None:
        super().__init__("The change did not reach every node.")
        self.missed, self.whys = missed, whys or {}


class HasImages(Protocol):
    """A log that keeps images."""

    async def images(self, transaction: Transaction, entry: str) -> StoredImages | None:
        """Return the images of an entry, or None. Raises DatabaseError."""


class Script(Protocol):
    """The statements of one transaction.

    ``action``: with the privileges that it needs. ``images``: reads its rows. ``restores``: it compares each row with
    its image.
    """

    action: Action
    nodes: Nodes
    images: ImageReader
    restores: bool

    async def load(self, transaction: Transaction, log: HasImages) -> None:
        """Read what it needs before the first statement. Raises DatabaseError."""

    async def admit(self, transaction: Transaction, then: Questions) -> list[Any]:
        """Lock the rows; skip nodes that it must not change.

        Return the answers to what ``then`` asks about the others, up to the first error. Raises DatabaseError.
        """

    def question(self) -> Question[RowsRead]:
        """Ask for the rows of the remaining nodes."""

    async def rows(self, transaction: Transaction, answer: RowsRead, before: RowsRead | None = None) -> RowsRead:
        """Return the rows of an answer, with those that it lacks.

        ``before``: the rows before the change. Raises DatabaseError, and GuardMissedError if rows are not as they must
        be after the change.
        """

    def digests(self, before: RowsRead) -> dict[str, str]:
        """Return a digest by node.

        Nodes whose rows differ from those of the dry run are skipped.
        """

    async def change(self, transaction: Transaction, then: Questions) -> tuple[set[str], list[Any]]:
        """Change the nodes.

        Return those that were reached, and the answers to what ``then`` asks about all, up to the first error. Raises
        DatabaseError.
        """


class ActionScript:
    """The sections of an action in its engine's folder."""

    restores = False

    def __init__(self, request: Request, nodes: Nodes) -> None:
        self.action, self.nodes = request.action, nodes
        self.images = image_reader(request)
        self._request = request

    async def load(self, transaction: Transaction, log: HasImages) -> None:
        """Read nothing: the folder has the statements."""

    async def admit(self, transaction: Transaction, then: Questions) -> list[Any]:
        """Lock the nodes; skip those that are missing, stale or refused.

        The guard proves only that the node's own row changes. The server skips rows of a second table without an error
        if a policy for UPDATE or DELETE hides them, and a hidden row may be a sign of life.
        """
        own = {kind.table for kind in self.nodes.reader.engine.spec.kinds if kind.name in self.action.kinds}
        others = [name for name in self.nodes.policies if name not in own]
        changes = {f"{word} {name}": name for name in others for word in ("UPDATE", "DELETE")}
        hidden = {name for privilege, name in changes.items() if privilege in self.action.privileges}
        for section, tables in {"refused": others, "change": others, "witnesses": self.nodes.policies}.items():
            hidden.update(*(absence.hidden(part, tables) for part in self._request.sections.get(section, ())))
        if hidden:
            self.nodes.skip_all(Outcome.DENIED, HIDDEN.format(tables=", ".join(sorted(hidden))))
        return await admit(transaction, self._request, self.nodes, then)

    def question(self) -> Question[RowsRead]:
        """Ask for the rows of the nodes."""
        variant = self.nodes.reader.variant
        located = variant.select("images") or variant.select("rows")
        return Question([], lambda _: RowsRead()) if located is None else self.images.question(self.nodes, located)

    async def rows(self, transaction: Transaction, answer: RowsRead, before: RowsRead | None = None) -> RowsRead:
        """Return the rows of an answer, with those that it lacks."""
        return await self.images.completed(transaction, answer)

    def digests(self, before: RowsRead) -> dict[str, str]:
        """Return digests of the nodes' rows.

        If the rows are the guard, nodes with other rows than shown are skipped.
        """
        nodes = self.nodes
        seen = None if self._request.seen is None else self._request.seen.row_digests
        digests = before.digests([i for i in nodes.remaining if seen is None or i in seen], nodes.guarded)
        if self.action.guard == "rows" and seen is not None:
            for node_id in [i for i, digest in digests.items() if seen[i] != digest]:
                nodes.skip(node_id, Outcome.STALE, "rows that this changes were modified since the dry run")
        return digests

    async def change(self, transaction: Transaction, then: Questions = lambda: ()) -> tuple[set[str], list[Any]]:
        """Run the section ``change``. Return the nodes that the last statement reports."""
        parts = self._request.sections["change"]
        changed, *answers = await answered(transaction, [together(*map(self.nodes.question, parts)), *then()])
        rows = value_of(changed)[-1]
        verify(rows, SHAPES[":change"], parts[-1].source)
        return {self.nodes.full(row["id"]) for row in rows}, answers


def image_reader(request: Request) -> ImageReader:
    """Return the reader of the images of the rows that an action changes."""
    reader = request.reader
    columns = {*request.action.overwrites, *reader.engine.spec.undo.counters}  # an undo increases all counters
    return ImageReader(reader.database, reader.detected.schema, sorted(columns))
