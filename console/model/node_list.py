"""List of one engine's nodes: the tree, or the unfinished ones. UI-free.

The children of a node (and the roots) are read page by page, up to ``MAX_CHILDREN``. A refresh reads the nodes on the
screen and their pages again; it removes only nodes that it has asked for and that no longer exist. The nodes of a page
of the tree are sorted by ``attention.rank`` when they are read, and keep their places.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import Any

from console.model.attention import NOTHING, line, rank, with_ancestors
from console.model.fields.field import Context
from console.model.filter import NODES, Filter, uses_payloads
from console.model.flat_list import FULL, MAX_CHILDREN, MAX_ROWS, NOT_READ, ON_ENTER, Cells, EdgeRow, FlatList, Order
from queries.db.errors import NO_CONNECTION, DatabaseError
from queries.read.nodes import PAGE_NODES
from queries.read.reader import Reader
from queries.records.node import Node, Page, Phase, ScanRequired

FAR_LEVELS = 100  # levels above a revealed node beyond which the ancestors' siblings are not read
UNHEALTHY_NODES = 50  # nodes that need attention, to which a tree is unfolded
SIBLINGS_READ = 8  # nodes that are read beside them


class ListKind(StrEnum):
    """Kind of a list: what its roots are."""

    TREE = "tree"
    LIVE = "live"


class NodeList(FlatList[Node]):
    """One list of one engine's nodes. Methods that read may raise DatabaseError.

    Args:
        reader: returns the reader of the current connection, or None.
    """

    fields = NODES

    def __init__(self, reader: Callable[[], Reader | None], kind: ListKind) -> None:
        super().__init__(leaf=self._has_no_children)
        self.reader = reader
        self.kind = kind
        self.at = 0.0  # server time of the last read
        self.scope = ""  # the part of the list that was read, if not all of it
        self.scan_required: dict[str | None, ScanRequired] = {}
        self.documents: dict[str, Sequence[Any]] = {}  # stored JSON texts that the filter compares, by node id
        self.filter: Filter | None = None  # as it was applied
        self.visit: tuple[int, bool] | None = None  # of the last call of `bring`
        self.ordered = False  # True if each node that needs attention, runs or waits is before those that ended
        self._keys: dict[str | None, list[str | None]] = {}  # of the pages that were read, by parent; the first is None
        self._after: dict[str | None, str | None] = {}  # key of the next page
        self._pages: dict[str, int] = {}  # number of a node's page
        self._pinned: set[str] = set()  # nodes that no page has brought
        self._dates: dict[str, float] = {}  # of the last read of each node
        self._scan_allowed: set[str | None] = set()
        self._turn = 0  # of the parents below which a refresh looks for new nodes
        self._worst: Mapping[str, int] = NOTHING  # places of nodes that need attention, and of their ancestors
        self._brought: set[str] = set()  # nodes to which the tree was unfolded
        self._compared: dict[str, tuple[str, float | None]] = {}  # states of the nodes whose texts were read

    def _has_no_children(self, node: Node) -> bool:
        reader = self.reader()
        return reader is None or node.kind not in reader.engine.spec.parents

    # what is loaded

    @property
    def read(self) -> bool:
        """True once the first page of the roots was read."""
        return None in self._keys or None in self.scan_required

    @property
    def partial(self) -> bool:
        """True if siblings of loaded nodes are not loaded."""
        return bool(self.scope) or any(self._after.values())

    def more(self, parent_id: str | None = None) -> bool:
        """Return True if a parent has more children than are loaded."""
        return self._after.get(parent_id) is not None

    def full(self, parent_id: str | None) -> bool:
        """Return True if no more children of a parent are loaded."""
        return len(self.children(parent_id) or ()) >= MAX_CHILDREN or self.loaded >= MAX_ROWS

    def oldest(self, ids: Iterable[str]) -> float:
        """Return the earliest read of these nodes; without any, that of the last page."""
        return min((self._dates.get(id_, 0.0) for id_ in ids), default=self.at)

    # filter and order

    def arrange_as(
        self, filter: Filter | None, order: Order[Node] | None, context: Context, columns: Collection[str]
    ) -> bool:
        """Filter and sort as the operator has chosen. Return True if the list was not.

        ``columns``: titles of those that the engine has; an order by another one is not applied.
        """
        order = order if order is not None and order.title in columns else None
        same = filter is self.filter, order is self.order
        if not same[0]:
            self.filter = filter
            self.filter_again(context)
        if not same[1]:
            self.sort(order)
        return not all(same)

    def filter_again(self, context: Context) -> None:
        """Test all nodes, as after what they are compared with has changed."""
        self.sift(None if self.filter is None else NODES.matches(self.filter, context))

    async def read_documents(self, filter: Filter | None) -> str:
        """Read the stored texts that the filter compares, of new and changed nodes.

        Return why some are not known.
        """
        from console.model.selection import stored_documents

        reader = self.reader()
        if filter is None or reader is None or not uses_payloads(filter):
            self.documents, self._compared = {}, {}
            return ""
        nodes: dict[str, Node] = {node.id: node for node in self.records}
        states = {id_: (node.version, node.changed_at) for id_, node in nodes.items()}
        fresh = [node for id_, node in nodes.items() if self._compared.get(id_) != states[id_]]
        documents, why, unread = await stored_documents(reader, filter, fresh)
        self.documents |= documents
        for node in unread:  # asked again at the next refresh
            del states[node.id]
        self._compared = states
        if fresh:
            self.filter = Filter()  # not the chosen one, so that this is applied again
        return why

    # reading pages

    async def first(self, parent_id: str | None = None, *, allow_scan: bool = False) -> None:
        """Read the first page below a parent (of the roots, for None).

        ``allow_scan`` reads it even if this needs a scan.
        """
        if allow_scan:
            self._scan_allowed.add(parent_id)
        if parent_id not in self._keys and self._is_full(parent_id):
            return
        page = await self._page(parent_id, None)
        if page is not None:
            self._take_page(parent_id, page, None)

    async def next(self, parent_id: str | None) -> None:
        """Read the next page below a parent, or of the roots, if there is room for it."""
        if self.children(parent_id) is None or parent_id not in self._keys:
            await self.first(parent_id)
        elif (key := self._after[parent_id]) is not None and not self._is_full(parent_id):
            page = await self._page(parent_id, key)
            if page is None:
                self.edge(parent_id, EdgeRow.MORE, NOT_READ)
            elif self._after.get(parent_id) == key:  # else another read was faster
                self._take_page(parent_id, page, key)

    def _take_page(self, parent_id: str | None, page: Page, key: str | None) -> None:
        """Take the page of a key. Nodes that were read without their page stay on top."""
        self._date(page)
        if parent_id is not None and parent_id not in self:
            return
        if page.scan_required is not None:
            self.scan_required[parent_id] = page.scan_required
            self.edge(parent_id, EdgeRow.COSTLY, page.scan_required.why)
            return
        self.scan_required.pop(parent_id, None)
        keys = self._keys.setdefault(parent_id, [])
        if key not in keys:
            keys.append(key)
            self._after[parent_id] = page.cursor
        self._pinned.difference_update(node.id for node in page.nodes)
        self._pages |= {n.id: keys.index(key) for n in page.nodes if n.id not in self or n.id not in self._pages}
        if key is None:
            self.merge(parent_id, self._ranked(page.nodes))
            self.edge(parent_id, EdgeRow.MORE if self.more(parent_id) else None)
        else:
            self.append(parent_id, self._ranked(page.nodes), complete=not self.more(parent_id))
        self._is_full(parent_id)

    def _is_full(self, parent_id: str | None) -> bool:
        """Make room. If there is none, say so after the children and return True."""
        if self.shrink():
            self._forget_pages()
        if len(self._dates) > 2 * MAX_ROWS:
            self._dates = {id_: at for id_, at in self._dates.items() if id_ in self}
            self._pages = {id_: number for id_, number in self._pages.items() if id_ in self}
        full = self.full(parent_id) and (self.more(parent_id) or parent_id not in self._keys)
        if full:
            number = MAX_CHILDREN if self.loaded < MAX_ROWS else MAX_ROWS
            self.edge(parent_id, EdgeRow.MORE, FULL.format(f"{number:,}"))
        return full

    def _forget_pages(self) -> None:
        """Forget the pages below nodes whose children are no longer loaded."""
        for id_ in [id_ for id_ in self._keys if id_ is not None and self.children(id_) is None]:
            del self._keys[id_], self._after[id_]

    async def refresh(self, ids: Sequence[str]) -> Cells:
        """Read the nodes on the screen again, and look for new nodes.

        New nodes come from one page of the roots and one page of one parent.
        """
        if not self.read:
            await self.first()
            return {}
        fresh: set[str] = set()
        try:
            cells = await self._page_again(None, ids, fresh)
            above = dict.fromkeys(map(self.parent, ids))
            parents = [i for i in above if i and i not in self.scan_required and i not in self._scan_allowed]
            if parents:
                self._turn += 1
                cells |= await self._page_again(parents[self._turn % len(parents)], ids, fresh)
        except NO_CONNECTION:
            raise
        except DatabaseError:  # the nodes on the screen can still be read by id
            await self._again(ids)
            raise
        return cells | await self._again([id_ for id_ in ids if id_ not in fresh])

    async def _page_again(self, parent_id: str | None, ids: Sequence[str], fresh: set[str]) -> Cells:
        """Read the page of the first known id again, and insert its new nodes.

        Add the ids of loaded nodes that it contains to ``fresh``. If there is a page after the loaded ones, nodes after
        the last loaded one belong to it.
        """
        keys = self._keys.get(parent_id, [None])
        number = next((self._pages[id_] for id_ in ids if id_ in self._pages and self.parent(id_) == parent_id), 0)
        number = min(number, len(keys) - 1)
        page = await self._page(parent_id, keys[number])
        if page is None or page.scan_required is not None or keys is not self._keys.get(parent_id, keys):
            return {}
        self._date(page)
        loaded, nodes = set(self.children(parent_id) or ()), page.nodes
        fresh |= {node.id for node in nodes} & loaded
        if self.more(parent_id):
            places = [place for place, node in enumerate(nodes) if node.id in loaded - self._pinned]
            nodes = nodes[: places[-1] + 1] if places else ()
        for node in nodes:
            self._pages.setdefault(node.id, number)
        cells = self.merge(parent_id, self._ranked(nodes))
        if number == len(keys) - 1 and page.cursor and not self.more(parent_id):  # the last page has grown
            self._after[parent_id] = page.cursor
            self.edge(parent_id, EdgeRow.MORE)
        return cells

    async def _again(self, ids: Sequence[str]) -> Cells:
        reader = self.reader()
        if reader is None or not ids:
            return {}
        page = await reader.nodes.read(ids)
        self._date(page)
        if gone := set(ids) - {node.id for node in page.nodes}:
            self.remove(gone)
            self._forget_pages()
        return self.update(page.nodes)

    async def _page(self, parent_id: str | None, key: str | None) -> Page | None:
        reader = self.reader()
        if reader is None:
            return None
        if parent_id is not None:
            allow_scan = parent_id in self._scan_allowed
            return await reader.pages.children(parent_id, key, PAGE_NODES, allow_scan=allow_scan)
        page = await (reader.pages.roots if self.kind is ListKind.TREE else reader.pages.live)(key, PAGE_NODES)
        self.scope = page.scope or self.scope if key else page.scope
        return page

    def _date(self, page: Page) -> None:
        self.at = page.at
        self._dates |= {node.id: page.at for node in page.nodes}

    def _ranked(self, nodes: Sequence[Node]) -> Sequence[Node]:
        return sorted(nodes, key=lambda node: rank(node, self._worst)) if self.kind is ListKind.TREE else nodes

    # nodes wherever their pages are

    def _pin(self, parent_id: str | None, nodes: Iterable[Node]) -> None:
        """Load nodes below a parent without their page."""
        new = [node for node in nodes if node.id not in self]
        self._dates |= {node.id: self.at for node in new}  # at least
        self._pages |= {node.id: 0 for node in new}
        self._pinned |= {node.id for node in new}
        self.merge(parent_id, new)

    async def load(self, node: Node, go_on: Callable[[int], bool] = lambda levels: True) -> bool:
        """Load a node and its ancestors, wherever in the order of pages they are.

        ``go_on`` takes the number of levels read so far and returns False to stop. Return False if it did, or if the
        node no longer exists or is below a ring of parents. A node whose parent is missing is at the top. Siblings of
        ancestors more than ``FAR_LEVELS`` levels above the node are not read.
        """
        reader = self.reader()
        if reader is None:
            return False
        if not self.read:
            await self.first()
        way, met = [node], {node.id}
        while way[-1].id not in self and way[-1].parent_id is not None:
            above = await reader.nodes.above(way[-1], self)
            met |= {each.id for each in above}
            way += above
            if len(met) < len(way) or not go_on(len(way)):  # a loop in the data, or stopped
                return False
            if not above:
                if not (await reader.nodes.read([node.id])).nodes:
                    return False
                break
        for level in reversed(range(len(way))):
            below, parent_id = way[level], way[level + 1].id if level + 1 < len(way) else None
            if below.id in self:
                continue
            beside = parent_id is not None and self.children(parent_id) is None
            if beside and level < FAR_LEVELS:
                await self.first(parent_id)
            self._pin(parent_id, [below])
            if beside and level >= FAR_LEVELS:
                self.edge(parent_id, EdgeRow.MORE, "enter loads the siblings")
        return node.id in self

    # what needs attention

    async def bring(self, unhealthy: Sequence[str], visit: tuple[int, bool]) -> None:
        """Put first what needs attention and what is unfinished. Only in a tree.

        This happens once for each visit, and again as soon as the findings are known. A row that keeps its place is
        easier to follow than one that is in order. Of more unfinished nodes than a page has, only those that run are
        put first. The way to the worst nodes is unfolded once.

        Args:
            unhealthy: ids of the nodes that need attention, the worst first.
            visit: number of the visit, and if the findings are known.
        """
        reader = self.reader()
        if self.visit == visit or reader is None or self.kind is not ListKind.TREE:
            return
        self.visit = visit
        worst = unhealthy[:UNHEALTHY_NODES]
        new = [id_ for id_ in worst if id_ not in self._brought]
        live, asked = await reader.database.together(reader.pages.live(None, PAGE_NODES), reader.nodes.read(new))
        complete = not (live.cursor or live.scope or live.scan_required)
        self.ordered = complete and len(unhealthy) <= UNHEALTHY_NODES
        busy = [node for node in live.nodes if complete or node.phase is Phase.RUNNING]
        nodes = await with_ancestors(reader, [*asked.nodes, *busy], {node.id: node for node in self.records})
        tops = {top.kind for top in map(self.record, self.children(None) or ()) if top is not None}
        lines = {id_: way for id_ in unhealthy if (way := line(id_, nodes, tops))}
        places: dict[str, int] = {}
        for place, way in enumerate(lines.values()):
            for node in way:
                places.setdefault(node.id, place)
        self._worst = places
        ways = [*(lines[id_] for id_ in worst if id_ in lines), *(line(node.id, nodes, tops) for node in busy)]
        self._pin(None, [way[0] for way in ways if way])
        self.settle(None)
        await self._unfold(reader, [lines[id_] for id_ in new if id_ in lines])
        self._brought.update(new)

    async def _unfold(self, reader: Reader, ways: Sequence[Sequence[Node]]) -> None:
        below: dict[str, dict[str, Node]] = {}
        for way in ways:
            for parent, child in pairwise(way):
                below.setdefault(parent.id, {})[child.id] = child
        unread = [id_ for id_ in below if self.children(id_) is None]
        first = dict(zip(unread, await reader.pages.below(unread, SIBLINGS_READ) if unread else (), strict=True))
        for parent_id, children in below.items():  # each after the one that it is below
            page = first.get(parent_id)
            if page is not None:
                self._take_page(parent_id, page, None)
            self._pin(parent_id, children.values())
            if page is not None and page.scan_required is not None:
                self.edge(parent_id, EdgeRow.COSTLY, page.scan_required.why)
            elif page is not None and page.cursor is not None:
                self.edge(parent_id, EdgeRow.MORE, ON_ENTER)
            self.settle(parent_id)
            self.expand(parent_id)

    def settle(self, parent_id: str | None) -> None:
        """Sort the loaded pages below a parent, each by itself."""
        self.arrange(parent_id, lambda node: (self._pages.get(node.id, 0), rank(node, self._worst)))
