"""Screen with the newest records of a log, whose end loads older ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from textual import on

from console.model.flat_list import MAX_ROWS, NOT_READ, WITH_FILTER
from console.model.newest import Logged, Newest
from console.model.record_list import Ends
from console.tui.screens.list_screen import ListScreen
from console.tui.widgets.list_table import ListTable
from queries.workspace import Workspace

GAP = "too many came at once; Enter reads those between"

T = TypeVar("T", bound=Logged)


class LogScreen(ListScreen[T]):
    """Shows the newest records first."""

    PREVIEW = False

    def __init__(self) -> None:
        super().__init__()
        self.newest = Newest(self.listed.key)
        self._fetching = False
        self._failed: str | None = None  # key of the page that could not be read

    async def older(self, workspace: Workspace, cursor: str) -> tuple[Iterable[T], str | None]:
        """Return a page of records and the next cursor. Raises DatabaseError."""
        raise NotImplementedError

    def more(self) -> bool:
        return self.newest.after is not None

    def ends(self) -> Ends:
        unread = self._failed == self.newest.after and not self._fetching
        note = NOT_READ if unread else WITH_FILTER if self.filter else GAP if self.newest.gap else ""
        note = f"{MAX_ROWS:,} are loaded, and no more" if self._full else note
        return {None: note} if self.more() else {}

    @property
    def _full(self) -> bool:
        return len(self.newest.records) >= MAX_ROWS

    @property
    def loaded(self) -> bool:
        return self.newest.read

    def records(self) -> Sequence[T]:
        return self.newest.records

    @on(ListTable.More)
    def _read_on(self) -> None:
        self.begin(self.read_more(), "more")

    async def read_more(self) -> None:
        """Read older records, one page at a time. Raises DatabaseError."""
        workspace, newest, cursor = self.session.workspace, self.newest, self.newest.after
        if cursor is None or workspace is None or self._fetching or self._full:
            return
        self._fetching, self._failed = True, cursor
        try:
            page = await self.older(workspace, cursor)
            self._failed = None
        finally:
            self._fetching = False
            if self._failed is not None:
                self.renew()
        if newest is self.newest and cursor == newest.after:
            newest.add(*page)
            self.renew()
