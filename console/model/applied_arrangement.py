"""Filter and order of a list of nodes, as applied to its forest. UI-free."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from console.model.fields.field import Context
from console.model.filter import NODES, Filter, uses_payloads
from console.model.forest import Forest
from console.model.list_model import Arrangement
from queries.read.reader import Reader
from queries.records.node import Node


class AppliedArrangement:
    """The chosen arrangement, as it was applied to the nodes of one forest."""

    def __init__(self, arrangement: Arrangement, forest: Forest[Node], reader: Callable[[], Reader | None]) -> None:
        self.documents: dict[str, Sequence[Any]] = {}  # stored JSON texts that the filter compares, by node id
        self._compared: dict[str, tuple[str, float | None]] = {}  # states of their nodes
        self._filter: Filter | None = None  # of the arrangement, as it was applied
        self._arrangement, self._forest, self._reader = arrangement, forest, reader

    def arrange(self, context: Context, columns: Collection[str]) -> bool:
        """Filter and sort the nodes as the operator has chosen.

        Return True if they were not. ``columns``: titles of those that the engine has; an order by another one is not
        applied.
        """
        chosen = self._arrangement.order
        order = chosen if chosen is not None and chosen.title in columns else None
        filtered, sorted_ = self._filter is self._arrangement.filter, self._forest.order is order
        if not filtered:
            self.filter_again(context)
        if not sorted_:
            self._forest.set_order(order)
        return not (filtered and sorted_)

    def filter_again(self, context: Context) -> None:
        """Test all nodes, as after what they are compared with has changed."""
        chosen = self._filter = self._arrangement.filter
        self._forest.set_filter(None if chosen is None else lambda node: NODES.matches(chosen, node, context))

    async def read_documents(self) -> str:
        """Read the stored texts that the filter compares.

        Only those of nodes that are new or have changed. Return why some are not known. Raises DatabaseError.
        """
        from console.model.selection import stored_documents

        chosen, reader = self._arrangement.filter, self._reader()
        if chosen is None or reader is None or not uses_payloads(chosen):
            self.documents, self._compared = {}, {}
            return ""
        nodes = {node.id: node for node in self._forest.records()}
        states = {id_: (node.version, node.changed_at) for id_, node in nodes.items()}
        fresh = [node for id_, node in nodes.items() if self._compared.get(id_) != states[id_]]
        documents, why, unread = await stored_documents(reader, chosen, fresh)
        self.documents |= documents
        for node in unread:  # asked again at the next refresh
            del states[node.id]
        self._compared = states
        if fresh:
            self._filter = Filter()  # not the chosen one, so that this is applied again
        return why
