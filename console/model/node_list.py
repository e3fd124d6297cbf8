"""List of one engine's nodes: the tree, or the unfinished ones. UI-free."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter

from console.model.applied_arrangement import AppliedArrangement
from console.model.attention_first import AttentionFirst
from console.model.filter import NODES
from console.model.forest import EdgeRow, ForestChange
from console.model.list_model import Arrangement, ListModel
from console.model.node_pages import ListKind, NodePages
from queries.db.errors import NO_CONNECTION, DatabaseError
from queries.read.reader import Reader
from queries.records.node import Node

FAR_LEVELS = 100  # levels above a revealed node beyond which the ancestors' siblings are not read


class NodeList(ListModel[Node, Node]):
    """One list of one engine's nodes.

    ``pages`` reads the nodes into ``forest``, ``attention`` puts first what needs attention, ``applied`` filters and
    sorts. Methods that read may raise DatabaseError.

    Args:
        reader: returns the reader of the current connection, or None.
        arrangement: that of other lists, too; None for one of its own.
    """

    fields = NODES

    def __init__(
        self, reader: Callable[[], Reader | None], kind: ListKind, arrangement: Arrangement | None = None
    ) -> None:
        self.pages = NodePages(reader, kind)
        self.forest = self.pages.forest
        self.key = attrgetter("id")
        self.attention = AttentionFirst(self.pages)
        self.arrangement = arrangement or Arrangement()
        self.applied = AppliedArrangement(self.arrangement, self.forest, reader)
        self._turn = 0  # of the parents below which a refresh looks for new nodes

    async def refresh(self, ids: Sequence[str]) -> ForestChange[Node]:
        """Read the nodes on the screen again, and look for new nodes.

        New nodes come from one page of the roots and one page of one parent.
        """
        if not self.pages.read:
            return await self.pages.first() or ForestChange[Node]()
        fresh: set[str] = set()
        try:
            changes = [await self.pages.page_again(None, ids, fresh)]
            above = dict.fromkeys(map(self.forest.parent, ids))
            parents = [id_ for id_ in above if id_ is not None and not self.pages.needs_scan(id_)]
            if parents:
                self._turn += 1
                changes.append(await self.pages.page_again(parents[self._turn % len(parents)], ids, fresh))
        except NO_CONNECTION:
            raise
        except DatabaseError:  # the nodes on the screen can still be read by id
            await self.pages.nodes_again(ids)
            raise
        changes += await self.pages.nodes_again([id_ for id_ in ids if id_ not in fresh])
        return ForestChange(
            cells={id_: names for change in changes for id_, names in change.cells.items()},
            vanished=next((change.vanished for change in changes if change.vanished is not None), None),
        )

    async def reveal(self, node: Node, go_on: Callable[[int], bool] = lambda levels: True) -> bool:
        """Load a node and its ancestors, wherever in the order of pages they are.

        ``go_on`` takes the number of levels read so far and returns False to stop. Return False if it did, or if the
        node no longer exists or is below a ring of parents. A node whose parent is missing is at the top. Siblings of
        ancestors more than ``FAR_LEVELS`` levels above the node are not read.
        """
        reader = self.pages.reader()
        if reader is None:
            return False
        if not self.pages.read:
            await self.pages.first()
        line, met = [node], {node.id}
        while line[-1].id not in self.forest and line[-1].parent_id is not None:
            above = await reader.nodes.above(line[-1], self.forest)
            met |= {each.id for each in above}
            line += above
            if len(met) < len(line) or not go_on(len(line)):  # a loop in the data, or stopped
                return False
            if not above:
                if not (await reader.nodes.read([node.id])).nodes:
                    return False
                break
        for level in reversed(range(len(line))):
            below, parent_id = line[level], line[level + 1].id if level + 1 < len(line) else None
            if below.id in self.forest:
                continue
            beside = parent_id is not None and self.forest.children(parent_id) is None
            if beside and level < FAR_LEVELS:
                await self.pages.first(parent_id)
            self.pages.pin(parent_id, [below])
            if beside and level >= FAR_LEVELS:
                self.forest.set_tail(parent_id, EdgeRow.MORE, "enter loads the siblings")
        return node.id in self.forest

    @property
    def records(self) -> Sequence[Node]:
        """All loaded nodes, in no order."""
        return self.forest.records()

    def own(self, row: Node) -> list[Node]:
        return [row]

    def marked(self) -> list[Node]:
        """Return the marked nodes as last read, in id order."""
        nodes = map(self.pages.node, sorted(self.forest.marks))
        return [node for node in nodes if node is not None]

    def markable(self) -> list[str]:
        return self.forest.matching()

    def in_view(self) -> set[str]:
        return set(self.forest.matching())

    def numbers(self) -> tuple[int, int]:
        return self.forest.matched, self.forest.loaded
