"""Paging of a list of nodes into a forest.

The list is a tree or the unfinished nodes. UI-free. The nodes of a tree's page are sorted by ``attention.rank`` when
they are read, and keep their places. Every method that reads may raise DatabaseError; the forest then stays as it was.
For each parent, and for the roots, a window of some pages is loaded. Pages far from the reading position are evicted,
and read again by their key when the operator scrolls back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import pairwise, takewhile
from operator import attrgetter

from console.model.applied_arrangement import AppliedArrangement
from console.model.attention import Rank, line, rank, with_ancestors
from console.model.filter import NODES
from console.model.forest import EdgeRow, Forest, ForestChange
from console.model.list_model import NOT_READ, ON_ENTER, Arrangement, ListModel
from console.model.page_window import MAX_FILTERED_PAGES, MAX_PAGES, PageWindow
from queries.db.errors import NO_CONNECTION, DatabaseError
from queries.read.reader import PAGE_NODES, Reader
from queries.records.node import Node, Page, Phase, ScanRequired

FAR_LEVELS = 100  # levels above a revealed node beyond which the ancestors' siblings are not read
UNHEALTHY_NODES = 50  # nodes that need attention, to which a tree is unfolded
SIBLINGS_READ = 8  # nodes that are read beside them
MAX_NODES = 20_000  # loaded nodes beyond which children of folded nodes are unloaded


class ListKind(StrEnum):
    """Kind of a list: what its roots are."""

    TREE = "tree"
    LIVE = "live"


class NodeList(ListModel[Node, Node]):
    """One list of one engine's nodes.

    Args:
        reader: returns the reader of the current connection, or None.
        arrangement: that of other lists, too; None for one of its own.
    """

    fields = NODES

    def __init__(
        self, reader: Callable[[], Reader | None], kind: ListKind, arrangement: Arrangement | None = None
    ) -> None:
        self.forest = Forest[Node](leaf=self._is_leaf)
        self.key = attrgetter("id")
        self.arrangement = arrangement or Arrangement()
        self.applied = AppliedArrangement(self.arrangement, self.forest, reader)
        self.kind = kind
        self.at = 0.0  # server time of the last read
        self.scope = ""  # the part of the list that was read, if not all of it
        self.read = False  # True once the first page was read
        self.scan_required: dict[str | None, ScanRequired] = {}
        self._reader = reader
        self._windows: dict[str | None, PageWindow] = {}
        self._scan_allowed: set[str | None] = set()
        self._next_parent = 0
        self._worst: dict[str, int] = {}  # places of nodes that need attention, and of their ancestors
        self._pinned: set[str] = set()  # loaded nodes that were read without their page
        self._brought: set[str] = set()  # nodes to which the tree was unfolded
        self.visit: tuple[int, bool] | None = None  # the visit for which `bring` was called, and if findings were known
        self.ordered = False  # True if each node that needs attention, runs or waits is before those that ended
        self._evicted: dict[str, Node] = {}  # nodes that were marked at the last eviction

    def window(self, parent_id: str | None) -> PageWindow | None:
        """Return the window of loaded pages below a parent (of the roots, for None)."""
        return self._windows.get(parent_id)

    async def first(self) -> ForestChange[Node] | None:
        """Read the first page again. Nodes that are not in it are unloaded."""
        page = await self._roots(None)
        if page is None:
            return None
        self.read = True
        return self._start_window(None, page)

    async def more(self, parent_id: str | None) -> ForestChange[Node] | None:
        """Read the next page below a parent (of the roots, for None)."""
        window = self._windows.get(parent_id)
        if parent_id is not None and (window is None or self.forest.children(parent_id) is None):
            return await self.below(parent_id)
        if window is None or window.after is None:
            return await self.first() if parent_id is None else None
        page = await self._page(parent_id, window.after)
        if page is None:
            return self.forest.set_tail(parent_id, EdgeRow.MORE, NOT_READ)
        if costly := self._costly(parent_id, page):
            return costly
        change = self.forest.append_children(parent_id, self._ranked(page.nodes), page.cursor is None)
        window.append([node.id for node in page.nodes], page.cursor)
        gone = window.evict_before(self._paged(parent_id), self._max_pages)
        with self._evicting():
            self.forest.remove(gone)
        if window.low:  # even if the evicted pages had no rows any more
            self.forest.set_head(parent_id, EdgeRow.BEFORE, "enter reads back" if self.forest.filtered else "")
        self._shrink()
        return change

    async def before(self, parent_id: str | None) -> ForestChange[Node] | None:
        """Read the page before the loaded ones again."""
        window = self._windows.get(parent_id)
        if window is None or not window.low:
            return None
        loaded = set(self._paged(parent_id))
        start: str | None = window.start
        nodes: list[Node] = []
        while True:  # rows inserted since then may take more than one page up to the loaded ones
            page = await self._page(parent_id, start)
            if page is None or page.scan_required is not None:
                return self.forest.set_head(parent_id, EdgeRow.BEFORE, NOT_READ)
            nodes += page.nodes
            start = page.cursor
            if start is None or start == window.first or loaded.intersection(node.id for node in page.nodes):
                break
        self.at = page.at
        # Nodes from the first loaded one on belong to the loaded pages, or will after the next refresh.
        nodes = list(takewhile(lambda node: node.id not in loaded, nodes))
        window.prepend([node.id for node in nodes])
        change = self.forest.prepend_children(parent_id, self._ranked(nodes), not window.low)
        self._arrange(parent_id)
        gone = window.evict_after(self._paged(parent_id), self._max_pages)
        with self._evicting():
            self.forest.remove(gone)
        filtered = self.forest.filtered
        if window.low and filtered:
            self.forest.set_head(parent_id, EdgeRow.BEFORE, "enter reads back")
        if window.after is not None:
            self.forest.set_tail(
                parent_id, EdgeRow.MORE, "enter reads on, with the filter" if filtered and gone else ""
            )
        return change

    @property
    def _max_pages(self) -> int:
        """Maximum number of loaded pages.

        A filter leaves few rows of each page, so more pages are allowed.
        """
        return MAX_FILTERED_PAGES if self.forest.filtered else MAX_PAGES

    async def below(self, parent_id: str, *, allow_scan: bool = False) -> ForestChange[Node] | None:
        """Read the first page of a node's children. Those that were read without it stay.

        ``allow_scan`` reads them even if this needs a scan.
        """
        if allow_scan:
            self._scan_allowed.add(parent_id)
        page = await self._children(parent_id, None, allow_scan=allow_scan)
        return None if page is None else self._start_window(parent_id, page)

    async def bring(self, unhealthy: Sequence[str]) -> None:
        """Put first what needs attention and what is unfinished, wherever its page is.

        Of more unfinished nodes than a page has, only those that run are put first. Unfold the way to the worst nodes
        once. Does nothing for a list that is not a tree.

        Args:
            unhealthy: ids of the nodes that need attention, the worst first.
        """
        reader = self._reader()
        if reader is None or self.kind is not ListKind.TREE:
            return
        worst = unhealthy[:UNHEALTHY_NODES]
        new = [id_ for id_ in worst if id_ not in self._brought]
        live, asked = await reader.database.together(reader.live(None, PAGE_NODES), reader.nodes(new))
        complete = not (live.cursor or live.scope or live.scan_required)
        self.ordered = complete and len(unhealthy) <= UNHEALTHY_NODES
        busy = [node for node in live.nodes if complete or node.phase is Phase.RUNNING]
        loaded = {node.id: node for node in self.forest.records()}
        nodes = await with_ancestors(reader, [*asked.nodes, *busy], loaded)
        tops = {top.kind for top in map(self.forest.record, self.forest.children(None) or ()) if top is not None}
        lines = {id_: way for id_ in unhealthy if (way := line(id_, nodes, tops))}
        self._worst = {}
        for place, way in enumerate(lines.values()):
            for node in way:
                self._worst.setdefault(node.id, place)
        ways = [*(lines[id_] for id_ in worst if id_ in lines), *(line(node.id, nodes, tops) for node in busy)]
        self._pin(None, [way[0] for way in ways if way])
        self._arrange(None)
        await self._unfold(reader, [lines[id_] for id_ in new if id_ in lines])
        self._brought.update(new)

    async def _unfold(self, reader: Reader, lines: Sequence[Sequence[Node]]) -> None:
        """Unfold the ways to nodes. Of the nodes beside each, read a few."""
        below: dict[str, dict[str, Node]] = {}
        for way in lines:
            for parent, child in pairwise(way):
                below.setdefault(parent.id, {})[child.id] = child
        unread = [id_ for id_ in below if self.forest.children(id_) is None]
        pages = dict(zip(unread, await reader.below(unread, SIBLINGS_READ) if unread else (), strict=True))
        for parent_id, children in below.items():  # each after the one that it is below
            page = pages.get(parent_id)
            if page is not None and page.scan_required is None:
                self._start_window(parent_id, page)
                if page.cursor is not None:
                    self.forest.set_tail(parent_id, EdgeRow.MORE, ON_ENTER)
            self._pin(parent_id, children.values())
            if page is not None:
                self._costly(parent_id, page)
            self._arrange(parent_id)
            self.forest.expand(parent_id)

    def _pin(self, parent_id: str | None, nodes: Iterable[Node]) -> None:
        """Load nodes below a parent without their page."""
        new = [node for node in nodes if node.id not in self.forest]
        self._pinned.update(node.id for node in new)
        self.forest.merge_children(parent_id, new)

    def _paged(self, parent_id: str | None) -> list[str]:
        """Return the loaded children that were read with their page."""
        return [id_ for id_ in self.forest.children(parent_id) or () if id_ not in self._pinned]

    def _ranked(self, nodes: Sequence[Node]) -> Sequence[Node]:
        """Return the nodes of a page in the order of the list."""
        return sorted(nodes, key=self._rank) if self.kind is ListKind.TREE else nodes

    def _rank(self, node: Node) -> Rank:
        return rank(node, self._worst)

    def _arrange(self, parent_id: str | None) -> None:
        """Sort the loaded pages below a parent, each by itself.

        Nodes without a page are sorted with those of the first one.
        """
        window = self._windows.get(parent_id)
        places = {} if window is None else window.places()
        if self.kind is not ListKind.TREE:
            return
        at, numbers = 0, dict[str, int]()
        for id_ in self.forest.children(parent_id) or ():
            at = places.get(id_, at)
            numbers[id_] = 0 if id_ in self._pinned or window is None or at == window.low else at
        self.forest.arrange(parent_id, lambda node: (numbers[node.id], self._rank(node)))

    async def refresh(self, ids: Sequence[str]) -> ForestChange[Node]:
        """Read the nodes on the screen again, and look for new nodes.

        New nodes come from one page of the roots and one page of one parent.
        """
        reader = self._reader()
        if reader is None:
            return ForestChange[Node]()
        if not self.read:
            return await self.first() or ForestChange[Node]()
        changes: list[ForestChange[Node]] = []
        fresh: set[str] = set()
        try:
            await self._read_new(ids, changes, fresh)
        except NO_CONNECTION:
            raise
        except DatabaseError:  # the nodes on the screen can still be read by id
            await self._read_again(reader, ids, changes)
            raise
        await self._read_again(reader, [node_id for node_id in ids if node_id not in fresh], changes)
        return _summed(changes)

    async def _read_again(self, reader: Reader, ids: Sequence[str], changes: list[ForestChange[Node]]) -> None:
        """Read these nodes by id. Remove the nodes that no longer exist."""
        if not ids:
            return
        page = await reader.nodes(ids)
        self.at = page.at
        changes.append(self.forest.update(page.nodes))
        gone = set(ids) - {node.id for node in page.nodes}
        if gone:
            changes.append(self.forest.remove(gone))

    @property
    def records(self) -> Sequence[Node]:
        """All loaded nodes, in no order."""
        return self.forest.records()

    def own(self, row: Node) -> list[Node]:
        return [row]

    def marked(self) -> list[Node]:
        """Return the marked nodes as last read, in id order."""
        nodes = (self.forest.record(id_) or self._evicted.get(id_) for id_ in sorted(self.forest.marks))
        return [node for node in nodes if node is not None]

    @contextlib.contextmanager
    def _evicting(self) -> Iterator[None]:
        """Keep the marks of nodes that are evicted inside this block, and these nodes."""
        self._evicted = {node.id: node for node in self.marked()}
        with self.forest.evicting():
            yield

    def markable(self) -> list[str]:
        return self.forest.matching()

    def numbers(self) -> tuple[int, int]:
        return self.forest.matched, self.forest.loaded

    def reached(self, parent_id: str | None) -> int:
        """Return about how many nodes precede the end of the loaded pages."""
        window = self._windows.get(parent_id)
        return 0 if window is None else window.reached * PAGE_NODES

    def has_after(self, parent_id: str | None) -> bool:
        """Return True if there is a page after the loaded ones."""
        window = self._windows.get(parent_id)
        return window is not None and window.after is not None

    def has_more(self, parent_id: str | None) -> bool:
        """Return True if there are pages before or after the loaded ones."""
        window = self._windows.get(parent_id)
        return window is not None and (window.after is not None or window.low > 0)

    @property
    def partial(self) -> bool:
        """True if siblings of loaded nodes are not loaded."""
        return bool(self.scope) or any(self.has_more(parent_id) for parent_id in self._windows)

    async def reveal(self, node: Node, go_on: Callable[[int], bool] = lambda levels: True) -> bool:
        """Load a node and its ancestors, wherever in the order of pages they are.

        ``go_on`` takes the number of levels read so far and returns False to stop. Return False if it did, or if the
        node no longer exists. Siblings of ancestors more than ``FAR_LEVELS`` levels above the node are not read.
        """
        reader = self._reader()
        if reader is None:
            return False
        if not self.read:
            await self.first()
        line, met = [node], {node.id}
        while line[-1].id not in self.forest and line[-1].parent_id is not None:
            above = await reader.above(line[-1], self.forest)
            met |= {each.id for each in above}
            line += above
            if not above or len(met) < len(line) or not go_on(len(line)):  # gone, a loop in the data, or stopped
                return False
        for level in reversed(range(len(line))):
            below, parent_id = line[level], line[level + 1].id if level + 1 < len(line) else None
            if below.id in self.forest:
                continue
            beside = parent_id is not None and self.forest.children(parent_id) is None
            if parent_id is not None and beside and level < FAR_LEVELS:
                await self.below(parent_id)
            self._pin(parent_id, [below])
            if beside and level >= FAR_LEVELS:
                self.forest.set_tail(parent_id, EdgeRow.MORE, "enter loads the siblings")
        return node.id in self.forest

    def _needs_scan(self, parent_id: str) -> bool:
        return parent_id in self.scan_required or parent_id in self._scan_allowed

    async def _read_new(self, ids: Sequence[str], changes: list[ForestChange[Node]], fresh: set[str]) -> None:
        """Read the pages on the screen that may have new nodes.

        These are pages of the roots, and of the parents in turn. Add the ids of loaded nodes that these pages contain
        to ``fresh``.
        """
        page = await self._roots(self._start(None, ids))
        if page is not None and page.scan_required is None:
            self._merge_page(None, page, changes, fresh)
        parents = list(
            dict.fromkeys(p for p in map(self.forest.parent, ids) if p is not None and not self._needs_scan(p))
        )
        if parents:
            self._next_parent += 1
            parent = parents[self._next_parent % len(parents)]
            page = await self._children(parent, self._start(parent, ids))
            if page is not None and page.scan_required is None:
                self._merge_page(parent, page, changes, fresh)

    def _merge_page(
        self, parent_id: str | None, page: Page, changes: list[ForestChange[Node]], fresh: set[str]
    ) -> None:
        fresh |= {node.id for node in page.nodes} & set(self.forest.children(parent_id) or ())
        changes.append(self._merge_loaded(parent_id, page.nodes))
        self.at = page.at

    def _merge_loaded(self, parent_id: str | None, nodes: Sequence[Node]) -> ForestChange[Node]:
        """Merge nodes into the loaded pages.

        If there is a next page, nodes after the last loaded one belong to it.
        """
        loaded = set(self._paged(parent_id))
        places = [place for place, node in enumerate(nodes) if node.id in loaded]
        if loaded and self.has_after(parent_id):
            nodes = nodes[: places[-1] + 1] if places else ()
        return self.forest.merge_children(parent_id, self._ranked(nodes))

    def _start(self, parent_id: str | None, ids: Sequence[str]) -> str | None:
        """Return the key of the page that is on the screen."""
        window = self._windows.get(parent_id)
        return None if window is None else window.start_of(ids)

    async def _page(self, parent_id: str | None, cursor: str | None) -> Page | None:
        if parent_id is None:
            return await self._roots(cursor)
        return await self._children(parent_id, cursor, allow_scan=parent_id in self._scan_allowed)

    async def _roots(self, cursor: str | None) -> Page | None:
        reader = self._reader()
        if reader is None:
            return None
        page = await (
            reader.roots(cursor, PAGE_NODES) if self.kind is ListKind.TREE else reader.live(cursor, PAGE_NODES)
        )
        self.scope = page.scope or self.scope if cursor else page.scope
        return page

    async def _children(self, parent_id: str, cursor: str | None, *, allow_scan: bool = False) -> Page | None:
        reader = self._reader()
        return None if reader is None else await reader.children(parent_id, cursor, PAGE_NODES, allow_scan=allow_scan)

    def _start_window(self, parent_id: str | None, page: Page) -> ForestChange[Node]:
        """Take a first page. It replaces the pages that were loaded."""
        if costly := self._costly(parent_id, page):
            return costly
        paged = parent_id is None or parent_id in self._windows
        self._windows[parent_id] = PageWindow([node.id for node in page.nodes], page.cursor)
        if paged:
            with self._evicting():
                change = self.forest.set_children(parent_id, self._ranked(page.nodes), page.cursor is None)
        else:
            change = self.forest.merge_children(parent_id, self._ranked(page.nodes))
            self.forest.set_tail(parent_id, EdgeRow.MORE if page.cursor is not None else None)
        self._shrink()
        return change

    def _costly(self, parent_id: str | None, page: Page) -> ForestChange[Node] | None:
        """Say so after the children if the page was not read because this needs a scan.

        Return None if it was read.
        """
        self.at = page.at
        if page.scan_required is None:
            self.scan_required.pop(parent_id, None)
            return None
        self.scan_required[parent_id] = page.scan_required
        return self.forest.set_tail(parent_id, EdgeRow.COSTLY, page.scan_required.why)

    def _shrink(self) -> None:
        """Unload the children of folded nodes if too many nodes are loaded."""
        forest = self.forest
        if forest.loaded <= MAX_NODES:
            return
        with self._evicting():
            for parent_id in list(self._windows):
                if parent_id is not None and not forest.is_expanded(parent_id):
                    forest.forget_children(parent_id)
                    del self._windows[parent_id]

    def _is_leaf(self, node: Node) -> bool:
        """Return True if nodes of this kind have no children."""
        reader = self._reader()
        return reader is None or node.kind not in reader.engine.spec.parents


def _summed(changes: Sequence[ForestChange[Node]]) -> ForestChange[Node]:
    return ForestChange(
        cells={id_: names for change in changes for id_, names in change.cells.items()},
        vanished=next((change.vanished for change in changes if change.vanished is not None), None),
    )
