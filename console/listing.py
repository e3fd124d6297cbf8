"""What one list of nodes shows and how it is read: a system's tree, its unfinished nodes, or what was found by text.

Joins a ``Reader`` with a ``Forest``; knows no widgets. Every method that reads raises DatabaseError and leaves the
forest as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum

from queries.model import Costly, Node, Page, Record
from queries.read import Reader

from .forest import Change, Forest, Tail

PAGE = 100


class Shape(StrEnum):
    """What the roots of a list are."""

    TREE = "tree"
    LIVE = "live"
    FOUND = "found"


class News(Record):
    """What a refresh brought."""

    cells: dict[str, frozenset[str]] = {}
    added: int = 0
    removed: int = 0
    lost: Node | None = None


class Listing:
    """One list of one system's nodes. ``reader`` gives the system as it is connected now."""

    def __init__(self, reader: Callable[[], Reader | None], shape: Shape, text: str = "") -> None:
        self.forest = Forest()
        self.shape = shape
        self.text = text
        self.at = 0.0  # server time of the last read
        self.read = False  # whether the first page has come
        self.costly: dict[str | None, Costly] = {}
        self._reader = reader
        self._cursors: dict[str | None, str] = {}
        self._asked: set[str | None] = set()
        self._turn = 0

    async def first(self) -> Change | None:
        """Read the first page anew: what is not in it goes."""
        page = await self._roots(None)
        if page is None:
            return None
        self.read = True
        return self._put(None, page, self.forest.set_children)

    async def more(self, parent_id: str | None) -> Change | None:
        """Read the next page below a parent (of the roots, for None)."""
        if parent_id is not None and self.forest.children(parent_id) is None:
            return await self.below(parent_id)
        cursor = self._cursors.get(parent_id)
        if cursor is None:
            return None if parent_id is not None else await self.first()
        asked = parent_id in self._asked
        page = await (self._roots(cursor) if parent_id is None else self._children(parent_id, cursor, asked=asked))
        return None if page is None else self._put(parent_id, page, self.forest.append_children)

    async def below(self, parent_id: str, *, asked: bool = False) -> Change | None:
        """Read the first children of a node that was unfolded; ``asked`` reads them whatever it costs."""
        page = await self._children(parent_id, None, asked=asked)
        if asked:
            self._asked.add(parent_id)
        return None if page is None else self._put(parent_id, page, self.forest.set_children)

    async def refresh(self, ids: Sequence[str]) -> News:
        """Read the nodes on the screen again, and one page each of the roots and of one parent on the screen."""
        reader = self._reader()
        if reader is None:
            return News()
        if not self.read:
            change = await self.first()
            return News() if change is None else _news(change)
        changes = []
        if ids:
            page = await reader.nodes(ids)
            self.at = page.at
            changes.append(self.forest.update(page.nodes))
            gone = set(ids) - {node.id for node in page.nodes}
            if gone:
                changes.append(self.forest.remove(gone))
        changes += await self._newcomers(ids)
        return _sum(changes)

    def has_more(self, parent_id: str | None) -> bool:
        """Whether a next page is known to be there."""
        return parent_id in self._cursors

    async def reveal(self, node: Node) -> bool:
        """Have a node in the forest, with its ancestors, wherever in the order of pages it is. False: it is gone."""
        reader = self._reader()
        if reader is None:
            return False
        if not self.read:
            await self.first()
        line = [node]
        while line[0].id not in self.forest and line[0].parent_id is not None:
            page = await reader.nodes([line[0].parent_id])
            if not page.nodes or page.nodes[0] in line:
                return False
            line.insert(0, page.nodes[0])
        for above, below in zip([None, *line[:-1]], line, strict=True):
            if below.id not in self.forest:
                if above is not None and self.forest.children(above.id) is None:
                    await self.below(above.id)
                self._merge(above.id if above is not None else None, [below])
        return node.id in self.forest

    def _dear(self, parent_id: str) -> bool:
        return parent_id in self.costly or parent_id in self._asked

    async def _newcomers(self, ids: Sequence[str]) -> list[Change]:
        changes = []
        page = await self._roots(None) if self.shape is not Shape.FOUND else None
        if page is not None and page.costly is None:
            changes.append(self._merge(None, page.nodes))
        parents = list(dict.fromkeys(p for p in map(self.forest.parent, ids) if p is not None and not self._dear(p)))
        if parents:
            self._turn += 1
            parent = parents[self._turn % len(parents)]
            page = await self._children(parent, None)
            if page is not None and page.costly is None:
                changes.append(self._merge(parent, page.nodes))
        return changes

    async def _roots(self, cursor: str | None) -> Page | None:
        reader = self._reader()
        if reader is None:
            return None
        if self.shape is Shape.FOUND:
            return await reader.find(self.text)
        return await (reader.roots(cursor, PAGE) if self.shape is Shape.TREE else reader.live(cursor, PAGE))

    async def _children(self, parent_id: str, cursor: str | None, *, asked: bool = False) -> Page | None:
        reader = self._reader()
        return None if reader is None else await reader.children(parent_id, cursor, PAGE, asked=asked)

    def _put(
        self, parent_id: str | None, page: Page, put: Callable[[str | None, Sequence[Node], bool], Change]
    ) -> Change:
        self.at = page.at
        if page.costly is not None:
            self.costly[parent_id] = page.costly
            return self.forest.set_tail(parent_id, Tail.COSTLY, page.costly.why)
        self.costly.pop(parent_id, None)
        if page.cursor is None:
            self._cursors.pop(parent_id, None)
        else:
            self._cursors[parent_id] = page.cursor
        change = put(parent_id, page.nodes, page.cursor is None)
        self._leaves(page.nodes)
        return change

    def _merge(self, parent_id: str | None, nodes: Sequence[Node]) -> Change:
        change = self.forest.merge_children(parent_id, nodes)
        self._leaves(nodes)
        return change

    def _leaves(self, nodes: Sequence[Node]) -> None:
        """Say of nodes whose kind has no children that there is nothing to unfold."""
        reader = self._reader()
        parents = {kind.name for kind in reader.system.spec.kinds if kind.children} if reader else set()
        for node in nodes:
            if node.kind not in parents and self.forest.children(node.id) is None:
                self.forest.set_children(node.id, (), complete=True)


def _news(change: Change) -> News:
    return News(cells=change.cells, added=len(change.added), removed=len(change.removed), lost=change.lost)


def _sum(changes: Sequence[Change]) -> News:
    cells: dict[str, frozenset[str]] = {}
    for change in changes:
        cells |= change.cells
    return News(
        cells=cells,
        added=sum(len(change.added) for change in changes),
        removed=sum(len(change.removed) for change in changes),
        lost=next((change.lost for change in changes if change.lost is not None), None),
    )
