"""The engine whose tree is shown first, and the nodes at its beginning. UI-free."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from console.model.attention import line, with_ancestors
from console.model.forest import EdgeRow
from console.model.list_model import ON_ENTER
from console.model.node_pages import ListKind, NodePages
from queries.read.nodes import PAGE_NODES
from queries.read.reader import Reader
from queries.records.finding import Incident
from queries.records.node import Node, Phase

if TYPE_CHECKING:
    from console.config import Context

UNHEALTHY_NODES = 50  # nodes that need attention, to which a tree is unfolded
SIBLINGS_READ = 8  # nodes that are read beside them


def in_front(engines: Mapping[str, Reader], context: Context | None, incidents: Iterable[Incident] = ()) -> str | None:
    """Return the label of the engine shown first.

    That is the context's, else that of the worst of these incidents, else the first one.
    """
    name = context.engine if context else ""
    forms = {label: (label, reader.detected.full, reader.engine.name) for label, reader in engines.items()}
    worst = (incident.engine for incident in incidents if incident.engine in engines)
    chosen = (label for label in engines if name in forms[label])
    return next(chosen, next(worst, next(iter(engines), None)))


class AttentionFirst:
    """Brings the nodes of one tree that need attention to its beginning."""

    def __init__(self, pages: NodePages) -> None:
        self.visit: tuple[int, bool] | None = None  # of the last call of `bring`; None: the next call is the first
        self.ordered = False  # True if each node that needs attention, runs or waits is before those that ended
        self._pages = pages
        self._brought: set[str] = set()  # nodes to which the tree was unfolded

    async def bring(self, unhealthy: Iterable[str], visit: tuple[int, bool]) -> None:
        """Put first what needs attention and what is unfinished, wherever its page is.

        This happens once for each visit, and again as soon as the findings are known. A row that keeps its place is
        easier to follow than one that is in order. Does nothing for a list that is not a tree. Raises DatabaseError.

        Args:
            unhealthy: ids of the nodes that need attention, the worst first.
            visit: number of the visit, and if the findings are known.
        """
        if self.visit != visit:
            self.visit = visit
            await self._bring(list(unhealthy))

    async def _bring(self, unhealthy: Sequence[str]) -> None:
        """Put these nodes and the unfinished ones first.

        Of more unfinished nodes than a page has, only those that run are put first. Unfold the way to the worst nodes
        once.
        """
        pages, forest, reader = self._pages, self._pages.forest, self._pages.reader()
        if reader is None or pages.kind is not ListKind.TREE:
            return
        worst = unhealthy[:UNHEALTHY_NODES]
        new = [id_ for id_ in worst if id_ not in self._brought]
        live, asked = await reader.database.together(reader.pages.live(None, PAGE_NODES), reader.nodes.read(new))
        complete = not (live.cursor or live.scope or live.scan_required)
        self.ordered = complete and len(unhealthy) <= UNHEALTHY_NODES
        busy = [node for node in live.nodes if complete or node.phase is Phase.RUNNING]
        loaded = {node.id: node for node in forest.records()}
        nodes = await with_ancestors(reader, [*asked.nodes, *busy], loaded)
        tops = {top.kind for top in map(forest.record, forest.children(None) or ()) if top is not None}
        lines = {id_: way for id_ in unhealthy if (way := line(id_, nodes, tops))}
        places: dict[str, int] = {}
        for place, way in enumerate(lines.values()):
            for node in way:
                places.setdefault(node.id, place)
        pages.worst = places
        ways = [*(lines[id_] for id_ in worst if id_ in lines), *(line(node.id, nodes, tops) for node in busy)]
        pages.pin(None, [way[0] for way in ways if way])
        pages.sort(None)
        await self._unfold(reader, [lines[id_] for id_ in new if id_ in lines])
        self._brought.update(new)

    async def _unfold(self, reader: Reader, lines: Sequence[Sequence[Node]]) -> None:
        """Unfold the ways to nodes. Of the nodes beside each, read a few."""
        forest = self._pages.forest
        below: dict[str, dict[str, Node]] = {}
        for way in lines:
            for parent, child in pairwise(way):
                below.setdefault(parent.id, {})[child.id] = child
        unread = [id_ for id_ in below if forest.children(id_) is None]
        first = dict(zip(unread, await reader.pages.below(unread, SIBLINGS_READ) if unread else (), strict=True))
        for parent_id, children in below.items():  # each after the one that it is below
            page = first.get(parent_id)
            if page is not None and page.scan_required is None:
                self._pages.start(parent_id, page)
                if page.cursor is not None:
                    forest.set_tail(parent_id, EdgeRow.MORE, ON_ENTER)
            self._pages.pin(parent_id, children.values())
            if page is not None:
                self._pages.costly(parent_id, page)
            self._pages.sort(parent_id)
            forest.expand(parent_id)
