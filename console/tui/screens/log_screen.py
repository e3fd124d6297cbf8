"""Screen with the newest records of a log, whose end loads older ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from textual import on

from console.model.list_model import NOT_READ, WITH_FILTER
from console.model.newest import Logged, Newest
from console.model.page_window import PageWindow
from console.model.row_list import Ends
from console.tui.screens.records_screen import RecordsScreen
from console.tui.widgets.list_table import ListTable
from queries.workspace import Workspace

T = TypeVar("T", bound=Logged)


class LogScreen(RecordsScreen[T]):
    """Shows the newest records first."""

    PREVIEW = False

    def __init__(self) -> None:
        super().__init__()
        self.newest = Newest(self.list.key)
        self._fetching = False
        self._failed: PageWindow | None = None  # the pages after which none could be read

    async def older(self, workspace: Workspace, cursor: str) -> tuple[Iterable[T], str | None]:
        """Return a page of records and the next cursor. Raises DatabaseError."""
        raise NotImplementedError

    def more(self) -> bool:
        return self.newest.pages.after is not None

    def ends(self) -> Ends:
        unread = self._failed is self.newest.pages and not self._fetching
        note = NOT_READ if unread else WITH_FILTER if self.filter else ""
        return {None: note} if self.more() else {}

    @property
    def loaded(self) -> bool:
        return self.newest.pages.read

    def records(self) -> Sequence[T]:
        return self.newest.records

    @on(ListTable.More)
    @on(ListTable.Edge)
    def _read_on(self) -> None:
        self.begin(self.read_more(), "more")

    async def read_more(self) -> None:
        """Read older records, one page at a time. Raises DatabaseError."""
        workspace, newest, pages = self.session.workspace, self.newest, self.newest.pages
        cursor = pages.after
        if cursor is None or workspace is None or self._fetching:
            return
        self._fetching, self._failed = True, pages
        try:
            page = await self.older(workspace, cursor)
            self._failed = None
        finally:
            self._fetching = False
            if self._failed is not None:
                self.renew()
        if pages is self.newest.pages:
            newest.add(*page)
            self.renew()
