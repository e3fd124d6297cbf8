"""Nodes that the operator watches. UI-free."""

from __future__ import annotations

from collections.abc import Mapping

from queries.db.errors import DatabaseError, attempted
from queries.read.reader import Reader
from queries.records.node import Node
from queries.text.safe_text import safe_text


class Pins:
    """Pinned nodes as last read, those that have changed first."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}

    def turn(self, node: Node) -> bool:
        """Pin a node, or take the pin away. Return True if it is pinned now."""
        if self._nodes.pop(node.id, None) is None:
            self._nodes[node.id] = node
        return node.id in self._nodes

    def next(self) -> Node | None:
        """Return the first pinned node, which is the last one from now on."""
        if (node := next(iter(self._nodes.values()), None)) is not None:
            self._nodes[node.id] = self._nodes.pop(node.id)
        return node

    async def read(self, readers: Mapping[str, Reader]) -> list[str]:
        """Read the nodes again. Return a text for each that has changed or is gone."""
        said: list[str] = []
        for label in {id_.partition("/")[0] for id_ in self._nodes} & readers.keys():
            before = {id_: node for id_, node in self._nodes.items() if node.engine == label}
            page = await attempted(readers[label].nodes.read([*before]))
            now = before if isinstance(page, DatabaseError) else {node.id: node for node in page.nodes}
            for id_, old in before.items():
                status = (now[id_].status or now[id_].phase) if id_ in now else "gone"
                if status == (old.status or old.phase) or self._nodes.pop(id_, None) is None:
                    continue
                said.append(safe_text(f"{old.title}: {old.status or old.phase} → {status}"))
                self._nodes = {id_: now[id_], **self._nodes} if id_ in now else self._nodes
        return said
