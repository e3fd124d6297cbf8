"""What the tree asks for and how it is read: children, next pages, pages that were let go, the way to an end."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from textual import on

from console.model.forest import EdgeRow
from console.model.node_list import NodeList
from console.tui.screens.base import PageScreen
from console.tui.widgets.tree_table import TreeTable
from queries.errors import DatabaseError

if TYPE_CHECKING:
    from console.model.filter import Filter

EAGER = 10  # pages that a filter may have read by itself; then it has to be asked for


class TreePaging(PageScreen):
    """A page with a tree over the list in the foreground."""

    def __init__(self) -> None:
        super().__init__()
        self._filter: Filter | None = None
        self._eager = 0
        self._ending = False  # whether the way to the end is being read
        self._reading: set[tuple[NodeList, str | None]] = set()

    @property
    def table(self) -> TreeTable:
        """The tree."""
        return self.query_one(TreeTable)

    @property
    def node_list(self) -> NodeList | None:
        """The list in the foreground."""
        return None

    @property
    def reading(self) -> bool:
        """True while children or pages are being read in the background."""
        return bool(self._reading)

    @on(TreeTable.Expand)
    def _expand(self, message: TreeTable.Expand) -> None:
        node_list = self.node_list
        if node_list is not None:
            self._fetch(node_list, message.id, node_list.below(message.id))

    @on(TreeTable.More)
    def _more(self, message: TreeTable.More) -> None:
        node_list, parent_id = self.node_list, message.parent_id
        if node_list is None or not node_list.read:
            return
        if message.scan_required:
            from console.tui.screens.confirm_scan import ask

            ask(self, node_list, parent_id)
            return
        if message.before:
            self._fetch(node_list, parent_id, node_list.before(parent_id), before=True)
            return
        if self._filter and not message.asked:
            self._eager += 1
            if self._eager > EAGER:
                node_list.forest.set_tail(parent_id, EdgeRow.MORE, "enter reads on, with the filter")
                self.table.sync()
                return
        self._fetch(node_list, parent_id, node_list.more(parent_id))

    @on(TreeTable.Edge)
    def _edge(self, message: TreeTable.Edge) -> None:
        node_list = self.node_list
        if node_list is not None and node_list.read:
            self._fetch(node_list, None, self._first(node_list) if message.side < 0 else self._last(node_list))

    async def _first(self, node_list: NodeList) -> None:
        await node_list.first()
        self.table.sync()
        self.table.action_edge(-1)

    async def _last(self, node_list: NodeList) -> None:
        """Read on page by page, what is left behind is let go; until the cursor is moved elsewhere."""
        forest, self._ending = node_list.forest, True
        while self._ending and node_list is self.node_list and node_list.has_after(None):
            if await node_list.more(None) is None or not self._ending:
                break
            forest.move(len(forest))
            self.table.sync()
            self.table.follow()
            self.say(f"Reading on to the end: about {node_list.reached(None):,} so far. An arrow key stops here.")
        self.say("")

    def _fetch(
        self, node_list: NodeList, parent_id: str | None, read: Coroutine[Any, Any, object], *, before: bool = False
    ) -> None:
        """Read in the background, each place once at a time."""
        if (node_list, parent_id) in self._reading:
            read.close()
            return
        self._reading.add((node_list, parent_id))
        self.run_worker(self._fetched(node_list, parent_id, read, before), group="read", exit_on_error=True)

    async def _fetched(
        self, node_list: NodeList, parent_id: str | None, read: Coroutine[Any, Any, object], before: bool
    ) -> None:
        try:
            await read
        except DatabaseError as error:
            if before:
                node_list.forest.set_head(parent_id, EdgeRow.BEFORE, "not read; enter tries again")
            else:
                node_list.forest.set_tail(parent_id, EdgeRow.MORE, "not read; enter tries again")
            self.session.failed(error)
            self.say(str(error), "bad")
        finally:
            self._reading.discard((node_list, parent_id))
        if node_list is self.node_list:
            self.table.sync()
            self.renew_place()

    def read_costly(self, node_list: NodeList, parent_id: str | None) -> None:
        """Read children that cost a scan, as the operator wants them."""
        if parent_id is None:
            self.say("This list cannot be read in any other way.", "warn")
        else:
            node_list.forest.set_tail(parent_id, EdgeRow.LOADING)
            self.table.sync()
            self._fetch(node_list, parent_id, node_list.below(parent_id, allow_scan=True))
