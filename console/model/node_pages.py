"""Paging of a list of nodes into a forest. UI-free.

For each parent, and for the roots, a window of some pages is loaded. Pages far from the reading position are evicted,
and read again by their key when the operator scrolls back. The nodes of a tree's page are sorted by ``attention.rank``
when they are read, and keep their places.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import takewhile

from console.model.attention import NOTHING, Rank, rank
from console.model.forest import EdgeRow, Forest, ForestChange
from console.model.list_model import NOT_READ
from console.model.page_window import MAX_FILTERED_PAGES, MAX_PAGES, UNREAD, PageWindow
from queries.read.nodes import PAGE_NODES
from queries.read.reader import Reader
from queries.records.node import Node, Page, ScanRequired

MAX_NODES = 20_000  # loaded nodes beyond which children of folded nodes are unloaded


class ListKind(StrEnum):
    """Kind of a list: what its roots are."""

    TREE = "tree"
    LIVE = "live"


class NodePages:
    """Loaded pages of one engine's nodes.

    Every method that reads may raise DatabaseError; the forest then stays as it was.

    Args:
        reader: returns the reader of the current connection, or None.
    """

    def __init__(self, reader: Callable[[], Reader | None], kind: ListKind) -> None:
        self.forest = Forest[Node](leaf=self._is_leaf)
        self.reader = reader
        self.kind = kind
        self.at = 0.0  # server time of the last read
        self.scope = ""  # the part of the list that was read, if not all of it
        self.scan_required: dict[str | None, ScanRequired] = {}
        self.worst: Mapping[str, int] = NOTHING  # places of nodes that need attention, and of their ancestors
        self._dates: dict[str, float] = {}  # of the last read of each node
        self._windows: dict[str | None, PageWindow] = {}
        self._scan_allowed: set[str | None] = set()
        self._pinned: set[str] = set()  # loaded nodes that were read without their page
        self._evicted: dict[str, Node] = {}  # nodes that were marked at the last eviction

    # what is loaded

    @property
    def read(self) -> bool:
        """True once the first page of the roots was read."""
        return self.window(None).read or None in self.scan_required

    @property
    def partial(self) -> bool:
        """True if siblings of loaded nodes are not loaded."""
        return bool(self.scope) or any(window.partial for window in self._windows.values())

    def window(self, parent_id: str | None) -> PageWindow:
        """Return the window of loaded pages below a parent (of the roots, for None)."""
        return self._windows.get(parent_id, UNREAD)

    def oldest(self, ids: Iterable[str]) -> float:
        """Return the earliest read of these nodes; without any, that of the last page."""
        return min((self._dates.get(id_, 0.0) for id_ in ids), default=self.at)

    def node(self, id_: str) -> Node | None:
        """Return a node as last read, also if it was marked and is evicted."""
        return self.forest.record(id_) or self._evicted.get(id_)

    def needs_scan(self, parent_id: str) -> bool:
        """Return True if reading the children of a node needs a scan."""
        return parent_id in self.scan_required or parent_id in self._scan_allowed

    # reading

    async def first(self, parent_id: str | None = None, *, allow_scan: bool = False) -> ForestChange[Node] | None:
        """Read the first page below a parent (of the roots, for None) again.

        ``allow_scan`` reads it even if this needs a scan.
        """
        if allow_scan:
            self._scan_allowed.add(parent_id)
        page = await self._page(parent_id, None, allow_scan=allow_scan)
        return None if page is None else self.start(parent_id, page)

    async def more(self, parent_id: str | None) -> ForestChange[Node] | None:
        """Read the next page below a parent (of the roots, for None).

        Return None if there is none, or if the pages there were read again meanwhile.
        """
        window = self.window(parent_id)
        if not window.read or self.forest.children(parent_id) is None:
            return await self.first(parent_id)
        if window.after is None:
            return await self.first() if parent_id is None else None
        page = await self._page(parent_id, window.after, allow_scan=parent_id in self._scan_allowed)
        if window is not self.window(parent_id):
            return None
        if page is None:
            return self.forest.set_tail(parent_id, EdgeRow.MORE, NOT_READ)
        if costly := self.costly(parent_id, page):
            return costly
        change = self.forest.append_children(parent_id, self._ranked(page.nodes), page.cursor is None)
        self._windows[parent_id] = window.append([node.id for node in page.nodes], page.cursor)
        self._evict(parent_id, top=True)
        if self.window(parent_id).low:  # even if the evicted pages had no rows any more
            self.forest.set_head(parent_id, EdgeRow.BEFORE, "enter reads back" if self.forest.filtered else "")
        self._shrink()
        return change

    async def before(self, parent_id: str | None) -> ForestChange[Node] | None:
        """Read the page before the loaded ones again.

        Return None if there is none, or if the pages there were read again meanwhile.
        """
        window = self.window(parent_id)
        if not window.low:
            return None
        loaded = set(self._paged(parent_id))
        start: str | None = window.start
        nodes: list[Node] = []
        while True:  # rows inserted since then may take more than one page up to the loaded ones
            page = await self._page(parent_id, start, allow_scan=parent_id in self._scan_allowed)
            if window is not self.window(parent_id):
                return None
            if page is None or page.scan_required is not None:
                return self.forest.set_head(parent_id, EdgeRow.BEFORE, NOT_READ)
            nodes += page.nodes
            start = page.cursor
            if start is None or start == window.first or loaded.intersection(node.id for node in page.nodes):
                break
        self._date(page)
        # Nodes from the first loaded one on belong to the loaded pages, or will after the next refresh.
        nodes = list(takewhile(lambda node: node.id not in loaded, nodes))
        window = self._windows[parent_id] = window.prepend([node.id for node in nodes])
        change = self.forest.prepend_children(parent_id, self._ranked(nodes), not window.low)
        self.sort(parent_id)
        gone = self._evict(parent_id, top=False)
        filtered = self.forest.filtered
        if window.low and filtered:
            self.forest.set_head(parent_id, EdgeRow.BEFORE, "enter reads back")
        if self.window(parent_id).after is not None:
            self.forest.set_tail(
                parent_id, EdgeRow.MORE, "enter reads on, with the filter" if filtered and gone else ""
            )
        return change

    async def page_again(self, parent_id: str | None, ids: Sequence[str], fresh: set[str]) -> ForestChange[Node]:
        """Read the page of the first known id again, and insert its new nodes.

        Add the ids of loaded nodes that it contains to ``fresh``. If there is a page after the loaded ones, nodes after
        the last loaded one belong to it.
        """
        window = self.window(parent_id)
        page = await self._page(parent_id, window.start_of(ids))
        if page is None or page.scan_required is not None or window is not self.window(parent_id):
            return ForestChange[Node]()
        self._date(page)
        fresh |= {node.id for node in page.nodes} & set(self.forest.children(parent_id) or ())
        loaded, nodes = set(self._paged(parent_id)), page.nodes
        if loaded and window.after is not None:
            places = [place for place, node in enumerate(nodes) if node.id in loaded]
            nodes = nodes[: places[-1] + 1] if places else ()
        return self.forest.merge_children(parent_id, self._ranked(nodes))

    async def nodes_again(self, ids: Sequence[str]) -> Sequence[ForestChange[Node]]:
        """Read these nodes by id. Remove the nodes that no longer exist."""
        reader = self.reader()
        if reader is None or not ids:
            return ()
        page = await reader.nodes.read(ids)
        self._date(page)
        return self.forest.update(page.nodes), self.forest.remove(set(ids) - {node.id for node in page.nodes})

    async def _page(self, parent_id: str | None, cursor: str | None, *, allow_scan: bool = False) -> Page | None:
        reader = self.reader()
        if reader is None:
            return None
        if parent_id is not None:
            return await reader.pages.children(parent_id, cursor, PAGE_NODES, allow_scan=allow_scan)
        page = await (reader.pages.roots if self.kind is ListKind.TREE else reader.pages.live)(cursor, PAGE_NODES)
        self.scope = page.scope or self.scope if cursor else page.scope
        return page

    # what was read

    def _date(self, page: Page) -> None:
        self.at = page.at
        self._dates |= {node.id: page.at for node in page.nodes}

    def start(self, parent_id: str | None, page: Page) -> ForestChange[Node]:
        """Take a first page.

        It replaces the pages that were loaded. Nodes that were read without their page stay if none was.
        """
        if costly := self.costly(parent_id, page):
            return costly
        paged = parent_id is None or self.window(parent_id).read
        self._windows[parent_id] = UNREAD.append([node.id for node in page.nodes], page.cursor)
        if paged:
            with self._evicting():
                change = self.forest.set_children(parent_id, self._ranked(page.nodes), page.cursor is None)
        else:
            change = self.forest.merge_children(parent_id, self._ranked(page.nodes))
            self.forest.set_tail(parent_id, EdgeRow.MORE if page.cursor is not None else None)
        self._shrink()
        return change

    def costly(self, parent_id: str | None, page: Page) -> ForestChange[Node] | None:
        """Say so after the children if the page was not read because this needs a scan.

        Return None if it was read.
        """
        self._date(page)
        if page.scan_required is None:
            self.scan_required.pop(parent_id, None)
            return None
        self.scan_required[parent_id] = page.scan_required
        return self.forest.set_tail(parent_id, EdgeRow.COSTLY, page.scan_required.why)

    def pin(self, parent_id: str | None, nodes: Iterable[Node]) -> None:
        """Load nodes below a parent without their page."""
        new = [node for node in nodes if node.id not in self.forest]
        self._pinned.update(node.id for node in new)
        self._dates |= {node.id: self.at for node in new}  # at least
        self.forest.merge_children(parent_id, new)

    def sort(self, parent_id: str | None) -> None:
        """Sort the loaded pages below a parent, each by itself.

        Nodes without a page are sorted with those of the first one.
        """
        if self.kind is not ListKind.TREE:
            return
        window = self.window(parent_id)
        places = window.places
        at, numbers = window.low, dict[str, int]()
        for id_ in self.forest.children(parent_id) or ():
            at = places.get(id_, at)
            numbers[id_] = window.low if id_ in self._pinned else at
        self.forest.arrange(parent_id, lambda node: (numbers[node.id], self._rank(node)))

    def _paged(self, parent_id: str | None) -> list[str]:
        return [id_ for id_ in self.forest.children(parent_id) or () if id_ not in self._pinned]

    def _ranked(self, nodes: Sequence[Node]) -> Sequence[Node]:
        return sorted(nodes, key=self._rank) if self.kind is ListKind.TREE else nodes

    def _rank(self, node: Node) -> Rank:
        return rank(node, self.worst)

    # eviction

    def _evict(self, parent_id: str | None, *, top: bool) -> bool:
        """Unload the first or last pages beyond the limit.

        A filter leaves few rows of each page, so more pages are allowed. Return False if no node was unloaded.
        """
        most = MAX_FILTERED_PAGES if self.forest.filtered else MAX_PAGES
        self._windows[parent_id], gone = self.window(parent_id).evict(self._paged(parent_id), most, top=top)
        with self._evicting():
            self.forest.remove(gone)
        return bool(gone)

    @contextlib.contextmanager
    def _evicting(self) -> Iterator[None]:
        """Keep the marks of nodes that are evicted inside this block, and these nodes."""
        nodes = map(self.node, self.forest.marks)
        self._evicted = {node.id: node for node in nodes if node is not None}
        with self.forest.evicting():
            yield

    def _shrink(self) -> None:
        """Unload the children of folded nodes if too many nodes are loaded."""
        forest = self.forest
        if len(self._dates) > 2 * MAX_NODES:
            self._dates = {id_: at for id_, at in self._dates.items() if id_ in forest}
        if forest.loaded <= MAX_NODES:
            return
        with self._evicting():
            for parent_id in list(self._windows):
                if parent_id is not None and not forest.is_expanded(parent_id):
                    forest.forget_children(parent_id)
                    del self._windows[parent_id]

    def _is_leaf(self, node: Node) -> bool:
        reader = self.reader()
        return reader is None or node.kind not in reader.engine.spec.parents
