"""What can be asked of a forest: which nodes are loaded, which rows are visible. Nothing here changes it."""

from __future__ import annotations

from collections.abc import Callable

from console.model.entry import Entry, Row, edge_of
from console.model.visible_rows import VisibleRows
from queries.model import Node

Predicate = Callable[[Node], bool]


class Held:
    """Loaded nodes, their order, and the rows a screen shows of them."""

    def __init__(self) -> None:
        self.marks: set[str] = set()
        self._away: dict[str, Node] = {}  # marked nodes that were let go, as last read
        self.matched = 0  # loaded nodes that the filter lets through, ancestors kept for them not counted
        self._entries: dict[str, Entry] = {}
        self._predicate: Predicate | None = None
        self._plant()

    def _plant(self) -> None:
        self._root = Entry("", None, None)
        self._root.expanded = True
        self._display = VisibleRows(self._root)
        self._rows = self._display.rows

    # what is there

    def __len__(self) -> int:
        """How many rows are visible."""
        return len(self._rows)

    def __contains__(self, node_id: object) -> bool:
        return node_id in self._entries

    @property
    def loaded(self) -> int:
        """How many nodes are known."""
        return len(self._entries)

    @property
    def cursor(self) -> str | None:
        """The id of the row the cursor is on (a node's, or a tail's); None only while there are no rows."""
        at = self._display.cursor
        return None if at is None else at.id

    def node(self, node_id: str) -> Node | None:
        """The node as last read; None for ids that are not loaded and for tails."""
        entry = self._entries.get(node_id)
        return None if entry is None else entry.node

    def parent(self, row_id: str) -> str | None:
        """The id of a row's parent; None for roots."""
        entry = self._find(row_id)
        return None if entry is None or entry.parent is None else entry.parent.id or None

    def ancestors(self, row_id: str) -> list[str]:
        """The ids of what is above a row, from its parent up."""
        entry = self._find(row_id)
        return [] if entry is None else [above.id for above in entry.ancestors()]

    @property
    def filtered(self) -> bool:
        """Whether a filter is on."""
        return self._predicate is not None

    def children(self, parent_id: str | None) -> tuple[str, ...] | None:
        """Ids of the loaded children (of the roots, for None) in order; None where they were never read."""
        entry = self._find(parent_id or "")
        return None if entry is None or entry.children is None else tuple(child.id for child in entry.children)

    def is_expanded(self, node_id: str) -> bool:
        """Whether its children are unfolded (they are visible only where its ancestors are too)."""
        entry = self._find(node_id)
        return entry is not None and entry.expanded

    def index(self, row_id: str) -> int | None:
        """The row of an id; None where it is not visible."""
        entry = self._find(row_id)
        return None if entry is None or entry.block is None else self._rows.index(entry)

    def row(self, index: int) -> Row:
        """The row at ``index``. IndexError beyond the end."""
        return self._rows[index].row(self.marks)

    def id_at(self, index: int) -> str:
        """The id of the row at ``index``. IndexError beyond the end."""
        return self._rows[index].id

    def rows(self, start: int, stop: int) -> list[Row]:
        """The rows from ``start`` to ``stop`` (exclusive), as many as there are."""
        return [entry.row(self.marks) for entry in self._rows.between(start, stop)]

    def ids(self, start: int, stop: int) -> list[str]:
        """The node ids of the rows ``start`` to ``stop``: what a refresh of the screen asks for. Tails have none."""
        return [entry.id for entry in self._rows.between(start, stop) if entry.node is not None]

    def tails(self, start: int, stop: int) -> list[Row]:
        """Those of the rows that stand for unread nodes."""
        return [entry.row(self.marks) for entry in self._rows.between(start, stop) if entry.node is None]

    def marked(self) -> list[Node]:
        """The marked nodes as last read, also those that were let go, in the order of their ids."""
        found = (self.node(node_id) or self._away.get(node_id) for node_id in sorted(self.marks))
        return [node for node in found if node is not None]

    def matching(self) -> list[str]:
        """The ids of all visible rows that match the filter themselves, in the order of the screen."""
        return [entry.id for entry in self._rows.since(0) if entry.node is not None and entry.matched]

    def _find(self, row_id: str) -> Entry | None:
        if not row_id:
            return self._root
        edge = edge_of(row_id)
        if edge is None:
            return self._entries.get(row_id)
        parent = self._find(edge[0])
        return None if parent is None else parent.head if edge[1] else parent.tail
