"""Page with the sessions that lock a node's rows, and those that wait."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from console.text.pages import blockers as pages
from console.text.pages.lines import BLANK, heading, wrapped
from console.text.spans import Spans
from console.tui import keymap
from console.tui.bindings import bindings
from console.tui.screens.base import PageScreen
from console.tui.widgets.line_view import LineView
from queries.model import Blockers
from queries.read.blockers import blockers


class BlockersScreen(PageScreen):
    """Reads the locks at every refresh. ``mode`` is the mode from which it was opened."""

    KEYS = keymap.BLOCKERS
    BINDINGS = bindings(keymap.BLOCKERS)

    def __init__(self, node_id: str, title: str, mode: str) -> None:
        super().__init__()
        self._node_id = node_id
        self._title = title
        self._mode = mode
        self._found: Blockers | None = None

    def body(self) -> Iterable[object]:
        yield LineView(id="page")

    def on_mount(self) -> None:
        self.query_one(LineView).focus()

    def mode(self) -> str:
        return self._mode

    def label(self) -> str | None:
        return self._node_id.partition("/")[0]

    def crumbs(self) -> Sequence[str]:
        return [self.label() or "", self._title, "blockers"]

    async def load(self) -> None:
        workspace = self.session.workspace
        if workspace is not None:
            self._found = await blockers(workspace.database, workspace.engines, [self._node_id])
            self.session.read(self._found.at)

    def show_body(self) -> None:
        self.query_one(LineView).put(self._lines)

    def _lines(self, width: int) -> Sequence[Spans]:
        if self._found is None:
            return [heading(self._node_id), BLANK, *wrapped("Reading …", width)]
        return pages.page(self._found, width)

    # keys

    def action_back(self) -> None:
        self.dismiss()
