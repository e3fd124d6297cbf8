"""What one list of nodes shows and how it is read: an engine's tree, its unfinished nodes, or what was found by text.

Joins a ``Reader`` with a ``Forest``; knows no widgets. Every method that reads raises DatabaseError and leaves the
forest as it was. Of the children of each parent (of the roots) it holds a window of some pages: what is far from where
one reads is let go, and read again by its key when one comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from itertools import takewhile

from console.model.forest import Change, EdgeRow, Forest
from console.model.page_window import PAGES, SIFTED, PageWindow
from queries.errors import DatabaseError, LostError, UnreachableError
from queries.model import Node, Page, Record, ScanRequired
from queries.read.reader import Reader

PAGE = 100
FAR = 100  # levels above a node that was looked up; from there on only what leads to it is read
HELD = 20_000  # nodes from which on those below folded ones are let go


class ListKind(StrEnum):
    """What the roots of a list are."""

    TREE = "tree"
    LIVE = "live"
    FOUND = "found"


class RefreshResult(Record):
    """What a refresh brought."""

    cells: dict[str, frozenset[str]] = {}
    added: int = 0
    removed: int = 0
    lost: Node | None = None


class NodeList:
    """One list of one engine's nodes. ``reader`` gives the engine as it is connected now."""

    def __init__(self, reader: Callable[[], Reader | None], shape: ListKind, text: str = "") -> None:
        self.forest = Forest()
        self.shape = shape
        self.text = text
        self.at = 0.0  # server time of the last read
        self.only = ""  # what alone is looked at, where that is not everything
        self.read = False  # whether the first page has come
        self.scan_required: dict[str | None, ScanRequired] = {}
        self._reader = reader
        self._windows: dict[str | None, PageWindow] = {}
        self._asked: set[str | None] = set()
        self._turn = 0

    async def first(self) -> Change | None:
        """Read the first page anew: what is not in it goes."""
        page = await self._roots(None)
        if page is None:
            return None
        self.read = True
        return self._begin(None, page)

    async def more(self, parent_id: str | None) -> Change | None:
        """Read the next page below a parent (of the roots, for None)."""
        if parent_id is not None and self.forest.children(parent_id) is None:
            return await self.below(parent_id)
        window = self._windows.get(parent_id)
        if window is None:
            return await (self.first() if parent_id is None else self._beside(parent_id))
        if window.after is None:
            return None if parent_id is not None else await self.first()
        page = await self._page(parent_id, window.after)
        if page is None:
            return self.forest.set_tail(parent_id, EdgeRow.MORE, "not read; enter tries again")
        if self._scan_required(parent_id, page) and page.scan_required is not None:
            return self.forest.set_tail(parent_id, EdgeRow.COSTLY, page.scan_required.why)
        change = self.forest.append_children(parent_id, page.nodes, page.cursor is None)
        window.append([node.id for node in page.nodes], page.cursor)
        self._leaves(page.nodes)
        gone = window.evict_before(self.forest.children(parent_id) or (), self._pages)
        with self.forest.evicting():
            self.forest.remove(gone)
        if window.low:  # also where all rows of the pages let go have left before
            self.forest.set_head(parent_id, EdgeRow.BEFORE, "enter reads back" if self.forest.filtered else "")
        self._shrink()
        return change

    async def before(self, parent_id: str | None) -> Change | None:
        """Read the page before the first one held again."""
        window = self._windows.get(parent_id)
        if window is None or not window.low:
            return None
        held = set(self.forest.children(parent_id) or ())
        start: str | None = window.start
        nodes: list[Node] = []
        while True:  # where rows have come in between since, it takes more than one page to come up to those held
            page = await self._page(parent_id, start)
            if page is None or page.scan_required is not None:
                return self.forest.set_head(parent_id, EdgeRow.BEFORE, "not read; enter tries again")
            nodes += page.nodes
            start = page.cursor
            if start is None or start == window.first or held.intersection(node.id for node in page.nodes):
                break
        self.at = page.at
        # From the first one held on they are of the pages held, or will be when those are read again.
        nodes = list(takewhile(lambda node: node.id not in held, nodes))
        window.prepend([node.id for node in nodes])
        change = self.forest.prepend_children(parent_id, nodes, not window.low)
        self._leaves(nodes)
        gone = window.evict_after(self.forest.children(parent_id) or (), self._pages)
        with self.forest.evicting():
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
    def _pages(self) -> int:
        """How many pages are held. What a filter hides is little distance: more of them, and only keys read on."""
        return SIFTED if self.forest.filtered else PAGES

    async def below(self, parent_id: str, *, asked: bool = False) -> Change | None:
        """Read the first children of a node that was unfolded; ``asked`` reads them whatever it costs."""
        if asked:
            self._asked.add(parent_id)
        page = await self._children(parent_id, None, asked=asked)
        return None if page is None else self._begin(parent_id, page)

    async def _beside(self, parent_id: str) -> Change | None:
        """Read the first children of a node of which only one is there, as the way to another led over it."""
        page = await self._children(parent_id, None)
        if page is None:
            return None
        if self._scan_required(parent_id, page) and page.scan_required is not None:
            return self.forest.set_tail(parent_id, EdgeRow.COSTLY, page.scan_required.why)
        self._windows[parent_id] = PageWindow([node.id for node in page.nodes], page.cursor)
        self.forest.set_tail(parent_id, EdgeRow.MORE if page.cursor is not None else None)
        return self._merge(parent_id, page.nodes)

    async def refresh(self, ids: Sequence[str]) -> RefreshResult:
        """Read the nodes on the screen again, and one page each of the roots and of one parent on the screen."""
        reader = self._reader()
        if reader is None:
            return RefreshResult()
        if not self.read:
            change = await self.first()
            return RefreshResult() if change is None else _news(change)
        changes: list[Change] = []
        fresh: set[str] = set()
        try:
            await self._newcomers(ids, changes, fresh)
        except (LostError, UnreachableError):
            raise
        except DatabaseError:  # what is on the screen can still be read by its ids
            await self._again(reader, ids, changes)
            raise
        await self._again(reader, [node_id for node_id in ids if node_id not in fresh], changes)
        return _sum(changes)

    async def _again(self, reader: Reader, ids: Sequence[str], changes: list[Change]) -> None:
        """Read these nodes again."""
        if not ids:
            return
        page = await reader.nodes(ids)
        self.at = page.at
        changes.append(self.forest.update(page.nodes))
        gone = set(ids) - {node.id for node in page.nodes}
        if gone:
            changes.append(self.forest.remove(gone))

    def reached(self, parent_id: str | None) -> int:
        """About how far down one has read."""
        window = self._windows.get(parent_id)
        return 0 if window is None else window.reached * PAGE

    def has_after(self, parent_id: str | None) -> bool:
        """Whether a next page is known to be there."""
        window = self._windows.get(parent_id)
        return window is not None and window.after is not None

    def has_more(self, parent_id: str | None) -> bool:
        """Whether there are more than those held, after them or before."""
        window = self._windows.get(parent_id)
        return window is not None and (window.after is not None or window.low > 0)

    async def reveal(self, node: Node, go_on: Callable[[int], bool] = lambda levels: True) -> bool:
        """Have a node in the forest, with its ancestors, wherever in the order of pages it is. False: it is gone, or
        ``go_on``, which is asked with the levels read so far, says no. What is beside ancestors far above is not read.
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
            if not above or len(met) < len(line) or not go_on(len(line)):  # gone, a loop in the data, or enough of it
                return False
        for left in reversed(range(len(line))):
            below, parent_id = line[left], line[left + 1].id if left + 1 < len(line) else None
            if below.id in self.forest:
                continue
            beside = parent_id is not None and self.forest.children(parent_id) is None
            if parent_id is not None and beside and left < FAR:
                await self.below(parent_id)
            self._merge(parent_id, [below])
            if beside and left >= FAR:
                self.forest.set_tail(parent_id, EdgeRow.MORE, "enter reads what is beside it")
        return node.id in self.forest

    def _dear(self, parent_id: str) -> bool:
        return parent_id in self.scan_required or parent_id in self._asked

    async def _newcomers(self, ids: Sequence[str], changes: list[Change], fresh: set[str]) -> None:
        """The pages in which nodes may be new. ``fresh`` are those of them that were held."""
        page = await self._roots(self._start(None, ids)) if self.shape is not ListKind.FOUND else None
        if page is not None and page.scan_required is None:
            self._came(None, page, changes, fresh)
        parents = list(dict.fromkeys(p for p in map(self.forest.parent, ids) if p is not None and not self._dear(p)))
        if parents:
            self._turn += 1
            parent = parents[self._turn % len(parents)]
            page = await self._children(parent, self._start(parent, ids))
            if page is not None and page.scan_required is None:
                self._came(parent, page, changes, fresh)

    def _came(self, parent_id: str | None, page: Page, changes: list[Change], fresh: set[str]) -> None:
        fresh |= {node.id for node in page.nodes} & set(self.forest.children(parent_id) or ())
        changes.append(self._join(parent_id, page.nodes))
        self.at = page.at

    def _join(self, parent_id: str | None, nodes: Sequence[Node]) -> Change:
        """What has come between the nodes held. What follows the last of them belongs to the next page, if there is."""
        held = set(self.forest.children(parent_id) or ())
        known = [place for place, node in enumerate(nodes) if node.id in held]
        if held and self.has_after(parent_id):
            nodes = nodes[: known[-1] + 1] if known else ()
        return self._merge(parent_id, nodes)

    def _start(self, parent_id: str | None, ids: Sequence[str]) -> str | None:
        """Where the page begins that is on the screen."""
        window = self._windows.get(parent_id)
        return None if window is None else window.start_of(ids)

    async def _page(self, parent_id: str | None, cursor: str | None) -> Page | None:
        if parent_id is None:
            return await self._roots(cursor)
        return await self._children(parent_id, cursor, asked=parent_id in self._asked)

    async def _roots(self, cursor: str | None) -> Page | None:
        reader = self._reader()
        if reader is None:
            return None
        if self.shape is ListKind.FOUND:
            return await reader.find(self.text)
        page = await (reader.roots(cursor, PAGE) if self.shape is ListKind.TREE else reader.live(cursor, PAGE))
        self.only = page.only or self.only if cursor else page.only
        return page

    async def _children(self, parent_id: str, cursor: str | None, *, asked: bool = False) -> Page | None:
        reader = self._reader()
        return None if reader is None else await reader.children(parent_id, cursor, PAGE, asked=asked)

    def _begin(self, parent_id: str | None, page: Page) -> Change:
        """This is the first page."""
        if self._scan_required(parent_id, page) and page.scan_required is not None:
            return self.forest.set_tail(parent_id, EdgeRow.COSTLY, page.scan_required.why)
        self._windows[parent_id] = PageWindow([node.id for node in page.nodes], page.cursor)
        with self.forest.evicting():
            change = self.forest.set_children(parent_id, page.nodes, page.cursor is None)
        self._leaves(page.nodes)
        self._shrink()
        return change

    def _scan_required(self, parent_id: str | None, page: Page) -> bool:
        """Whether the page was not read, for what it would cost."""
        self.at = page.at
        if page.scan_required is None:
            self.scan_required.pop(parent_id, None)
            return False
        self.scan_required[parent_id] = page.scan_required
        return True

    def _shrink(self) -> None:
        """Where much is held, let go of what is folded away."""
        forest = self.forest
        if forest.loaded <= HELD:
            return
        with forest.evicting():
            for parent_id in list(self._windows):
                if parent_id is not None and not forest.is_expanded(parent_id):
                    forest.forget_children(parent_id)
                    del self._windows[parent_id]

    def _merge(self, parent_id: str | None, nodes: Sequence[Node]) -> Change:
        change = self.forest.merge_children(parent_id, nodes)
        self._leaves(nodes)
        return change

    def _leaves(self, nodes: Sequence[Node]) -> None:
        """Say of nodes whose kind has no children that there is nothing to unfold."""
        reader = self._reader()
        parents = {kind.name for kind in reader.engine.spec.kinds if kind.children} if reader else set()
        for node in nodes:
            if node.kind not in parents and self.forest.children(node.id) is None:
                self.forest.set_children(node.id, (), complete=True)


def _news(change: Change) -> RefreshResult:
    return RefreshResult(cells=change.cells, added=len(change.added), removed=len(change.removed), lost=change.lost)


def _sum(changes: Sequence[Change]) -> RefreshResult:
    cells: dict[str, frozenset[str]] = {}
    for change in changes:
        cells |= change.cells
    return RefreshResult(
        cells=cells,
        added=sum(len(change.added) for change in changes),
        removed=sum(len(change.removed) for change in changes),
        lost=next((change.lost for change in changes if change.lost is not None), None),
    )
