"""Walk over the tree of an engine, for commands and filters. UI-free."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from math import inf
from typing import NamedTuple, TypeVar

from console.model.attention import line, rank, with_ancestors
from queries.read.nodes import PAGE_NODES
from queries.read.reader import Reader
from queries.records.dead_letter import DeadLetters
from queries.records.node import Node, Page

STEP_NODES = 10_000  # nodes that are read at once; of others the children are not read
PARENTS_AT_ONCE = 100  # whose children are read in one transaction


P = TypeVar("P", Page, DeadLetters)


async def all_pages(read: Callable[[str | None, int], Awaitable[P]], at_once: int) -> AsyncGenerator[P]:
    """Yield pages from the first to the last. Raises DatabaseError."""
    cursor: str | None = None
    while True:
        page = await read(cursor, at_once)
        yield page
        cursor = page.cursor
        if cursor is None:
            return


async def dead_letters(reader: Reader, at_once: int) -> AsyncGenerator[Page]:
    """Yield the pages of dead letters, as nodes.

    Raises DatabaseError.
    """
    async for dead in all_pages(reader.pages.dead, at_once):
        nodes = tuple(each.node for each in dead.dead_letters)
        yield Page(nodes=nodes, at=dead.at, cursor=dead.cursor, scope=dead.scope, scan_required=dead.scan_required)


class TreeRow(NamedTuple):
    """A node and its depth in the tree, 0 at the top."""

    node: Node
    depth: int


class Walk:
    """One walk over an engine's tree.

    ``note`` gets each page and its parent, None at the top. ``levels``: how deep. ``limit``: of nodes at the top, and
    of children of one node. ``allow_scan``: read children also where that needs a full scan. ``unfinished_first``: if
    there is more than a page at the top, begin with those nodes that have the most urgent unfinished ones below.
    Afterwards ``cut`` is True if there is more at the top, ``below`` are the nodes that may have more children, and
    ``deeper`` is True if nodes of the last level may have children.
    """

    def __init__(
        self,
        reader: Reader,
        note: Callable[[Page, Node | None], object],
        *,
        levels: float = inf,
        limit: int,
        allow_scan: bool = False,
        unfinished_first: bool = False,
    ) -> None:
        self.cut = self.deeper = False
        self.below: list[str] = []
        self._reader, self._note, self._levels, self._limit = reader, note, levels, limit
        self._allow_scan = allow_scan
        self._unfinished_first = unfinished_first
        self._with_children = reader.engine.spec.parents
        self._seen: set[str] = set()

    async def steps(self) -> AsyncGenerator[list[TreeRow]]:
        """Yield nodes of the top with all below them, in tree order, each node once.

        A tree may be deeper than the stack or hold cycles. Raises DatabaseError.
        """
        cursor, room = None, self._limit
        while room > 0:
            reads = [self._reader.pages.roots(cursor, min(room, PAGE_NODES))]
            if self._unfinished_first and cursor is None:  # to go with it, whether or not there is more at the top
                reads.append(self._reader.pages.live(None, PAGE_NODES))
            page, *live = await self._reader.database.together(*reads)
            self._note(page, None)
            urgent = await self._urgent(page, live[0]) if live else []
            nodes = [*urgent, *page.nodes][:room]
            cursor, room = page.cursor, room - len(nodes)
            top = [node for node in nodes if node.id not in self._seen]
            self._seen.update(node.id for node in top)
            yield in_order(top, await self._read_below(top))
            if cursor is None:
                return
        self.cut = True

    async def _urgent(self, page: Page, live: Page) -> list[Node]:
        """Return the tops of the most urgent unfinished nodes.

        Those on the first page are not among them.
        """
        if page.cursor is None:
            return []
        tops = {node.id: node for node in page.nodes}
        nodes = await with_ancestors(self._reader, live.nodes, tops)
        kinds = {node.kind for node in page.nodes}
        ways = (line(node.id, nodes, kinds) for node in live.nodes)
        return list({way[0].id: way[0] for way in ways if way and way[0].id not in tops}.values())

    async def _read_below(self, top: Sequence[Node]) -> dict[str, list[Node]]:
        children: dict[str, list[Node]] = {}
        level, depth, room = list(top), 1, STEP_NODES - len(top)
        while level and depth < self._levels:
            parents = [node for node in level if node.kind in self._with_children]
            level = []
            for start in range(0, len(parents), PARENTS_AT_ONCE):
                some = parents[start : start + PARENTS_AT_ONCE]
                if room <= 0:
                    self.below += [node.id for node in some]
                    continue
                for parent, page in zip(some, await self._pages(some), strict=True):
                    nodes = await self._all(parent, page, room)
                    children[parent.id] = fresh = [node for node in nodes if node.id not in self._seen]
                    self._seen.update(node.id for node in fresh)
                    level += fresh
                    room -= len(fresh)
            depth += 1
        self.deeper = self.deeper or any(node.kind in self._with_children for node in level)
        return children

    async def _pages(self, parents: Sequence[Node]) -> list[Page]:
        at_once = min(self._limit, PAGE_NODES)
        return await self._reader.pages.below([node.id for node in parents], at_once, allow_scan=self._allow_scan)

    async def _all(self, parent: Node, page: Page, most: int) -> list[Node]:
        self._note(page, parent)
        nodes, most = [*page.nodes], min(most, self._limit)
        while page.cursor is not None and len(nodes) < most:
            at_once = min(self._limit - len(nodes), PAGE_NODES)
            page = await self._reader.pages.children(parent.id, page.cursor, at_once, allow_scan=self._allow_scan)
            self._note(page, parent)
            nodes += page.nodes
        if page.cursor is not None:
            self.below.append(parent.id)
        return nodes


def in_order(top: Sequence[Node], children: dict[str, list[Node]]) -> list[TreeRow]:
    """Return nodes and all below them, in tree order.

    Takes the nodes from ``children``, so that a loop in the data ends.
    """
    rows: list[TreeRow] = []
    waiting = [TreeRow(node, 0) for node in reversed(top)]
    while waiting:
        row = waiting.pop()
        rows.append(row)
        waiting += [TreeRow(node, row.depth + 1) for node in reversed(children.pop(row.node.id, ()))]
    return rows


def attention_first(rows: Sequence[TreeRow]) -> list[TreeRow]:
    """Return the rows of a tree in the order of the screen: see ``attention.rank``."""
    worst: dict[str, int] = {}
    children: dict[str, list[Node]] = {}
    way: list[str] = []
    for node, depth in rows:
        del way[depth:]
        children.setdefault(way[-1] if way else "", []).append(node)
        way.append(node.id)
        if node.findings:
            worst |= dict.fromkeys(way, 0)
    for siblings in children.values():
        siblings.sort(key=lambda node: rank(node, worst))
    return in_order(children.pop("", []), children)
