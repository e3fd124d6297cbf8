"""What the tree asks for and how it is read: children, next pages, pages that were let go, the way to an end."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from textual import on

from console.model.forest import Tail
from console.model.node_list import Listing
from console.tui.screens.base import Frame
from console.tui.widgets.tree_table import TreeTable
from queries.errors import DatabaseError

if TYPE_CHECKING:
    from console.model.filter import Filter

EAGER = 10  # pages that a filter may have read by itself; then it has to be asked for


class Reading(Frame):
    """A page with a tree over the list in the foreground."""

    def __init__(self) -> None:
        super().__init__()
        self._filter: Filter | None = None
        self._eager = 0
        self._ending = False  # whether the way to the end is being read
        self._reading: set[tuple[Listing, str | None]] = set()

    @property
    def table(self) -> TreeTable:
        """The tree."""
        return self.query_one(TreeTable)

    @property
    def listing(self) -> Listing | None:
        """The list in the foreground."""
        return None

    @on(TreeTable.Expand)
    def _expand(self, message: TreeTable.Expand) -> None:
        listing = self.listing
        if listing is not None:
            self._fetch(listing, message.id, listing.below(message.id))

    @on(TreeTable.More)
    def _more(self, message: TreeTable.More) -> None:
        listing, parent_id = self.listing, message.parent_id
        if listing is None or not listing.read:
            return
        if message.costly:
            from console.tui.screens.confirm_scan import ask

            ask(self, listing, parent_id)
            return
        if message.before:
            self._fetch(listing, parent_id, listing.before(parent_id), before=True)
            return
        if self._filter and not message.asked:
            self._eager += 1
            if self._eager > EAGER:
                listing.forest.set_tail(parent_id, Tail.MORE, "enter reads on, with the filter")
                self.table.sync()
                return
        self._fetch(listing, parent_id, listing.more(parent_id))

    @on(TreeTable.Edge)
    def _edge(self, message: TreeTable.Edge) -> None:
        listing = self.listing
        if listing is not None and listing.read:
            self._fetch(listing, None, self._first(listing) if message.side < 0 else self._last(listing))

    async def _first(self, listing: Listing) -> None:
        await listing.first()
        self.table.sync()
        self.table.action_edge(-1)

    async def _last(self, listing: Listing) -> None:
        """Read on page by page, what is left behind is let go; until the cursor is moved elsewhere."""
        forest, self._ending = listing.forest, True
        while self._ending and listing is self.listing and listing.has_after(None):
            if await listing.more(None) is None or not self._ending:
                break
            forest.move(len(forest))
            self.table.sync()
            self.table.follow()
            self.say(f"Reading on to the end: about {listing.reached(None):,} so far. An arrow key stops here.")
        self.say("")

    def _fetch(
        self, listing: Listing, parent_id: str | None, read: Coroutine[Any, Any, object], *, before: bool = False
    ) -> None:
        """Read in the background, each place once at a time."""
        if (listing, parent_id) in self._reading:
            read.close()
            return
        self._reading.add((listing, parent_id))
        self.run_worker(self._fetched(listing, parent_id, read, before), group="read", exit_on_error=True)

    async def _fetched(
        self, listing: Listing, parent_id: str | None, read: Coroutine[Any, Any, object], before: bool
    ) -> None:
        try:
            await read
        except DatabaseError as error:
            if before:
                listing.forest.set_head(parent_id, Tail.BEFORE, "not read; enter tries again")
            else:
                listing.forest.set_tail(parent_id, Tail.MORE, "not read; enter tries again")
            self.session.failed(error)
            self.say(str(error), "bad")
        finally:
            self._reading.discard((listing, parent_id))
        if listing is self.listing:
            self.table.sync()
            self.renew_place()

    def read_costly(self, listing: Listing, parent_id: str | None) -> None:
        """Read children that cost a scan, as the operator wants them."""
        if parent_id is None:
            self.say("This list cannot be read in any other way.", "warn")
        else:
            listing.forest.set_tail(parent_id, Tail.LOADING)
            self.table.sync()
            self._fetch(listing, parent_id, listing.below(parent_id, asked=True))
