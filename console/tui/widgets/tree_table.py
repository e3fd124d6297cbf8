"""The live tree on the screen: paints a ``Forest`` line by line and turns keys and clicks into moves on it.

It reads nothing: it says by messages what it needs (``Expand``, ``More``), whoever answers changes the forest and calls
``sync``. Only lines that differ are painted again, and nothing moves by itself: a cursor keeps its node and its line of
the screen through every refresh. Ages change only when ``sync`` is given another ``now``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import ClassVar

import msgspec
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from console.model.forest import EdgeRow, Forest, Row
from console.tui.widgets import tree_render
from console.tui.widgets.columns import TASKS, Column
from console.tui.widgets.tree_view import TreeLines


class TreeTable(TreeLines, can_focus=True, inherit_bindings=False):
    """A tree with columns over a forest. Change the forest, then call ``sync``."""

    ALLOW_SELECT = False

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "up", id="table.up", show=False, tooltip="The row above"),
        Binding("down,j", "move(1)", "down", id="table.down", show=False, tooltip="The row below"),
        Binding("pageup,ctrl+b", "page(-1)", "page up", id="table.page_up", show=False, tooltip="One screen up"),
        Binding("pagedown,ctrl+f", "page(1)", "page down", id="table.page_down", show=False, tooltip="One screen down"),
        Binding("home", "edge(-1)", "first", id="table.first", show=False, tooltip="The first row"),
        Binding("end", "edge(1)", "last", id="table.last", show=False, tooltip="The last row; reads on to the end"),
        Binding(
            "right", "unfold", "unfold", id="table.unfold", show=False, tooltip="Show what is below, then go there"
        ),
        Binding("left", "fold", "fold", id="table.fold", show=False, tooltip="Hide what is below, or go up"),
        Binding("e", "unfold_all", "unfold all", id="table.unfold_all", show=False, tooltip="Show all that is loaded"),
        Binding("enter", "open", "open", id="table.open", show=False, tooltip="Everything about the node"),
        Binding("space", "mark", "mark", id="table.mark", show=False, tooltip="Mark the node and go on"),
    ]

    class TableMessage(Message):
        """From a tree table; ``@on`` can select by its id."""

        def __init__(self, table: TreeTable) -> None:
            super().__init__()
            self.table = table

        @property
        def control(self) -> TreeTable:
            """The table it came from."""
            return self.table

    class RowMessage(TableMessage):
        """About one row. ``id`` is a node's, or that of a row for unread nodes."""

        def __init__(self, table: TreeTable, id: str) -> None:
            super().__init__(table)
            self.id = id

    class Cursor(RowMessage):
        """The cursor is on another row."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, TreeTable.Cursor)

    class Open(RowMessage):
        """Somebody wants to see the node whole."""

    class Expand(RowMessage):
        """The node was unfolded and its children were never read."""

    class More(TableMessage):
        """A parent's next page is wanted: ``asked`` for by a key, or because the screen comes near its end. None: the
        roots. ``scan_required``: its children were not read because of their cost. ``before``: the page before the
        loaded rows, which was evicted."""

        def __init__(
            self, table: TreeTable, parent_id: str | None, asked: bool, scan_required: bool, before: bool = False
        ) -> None:
            super().__init__(table)
            self.before = before
            self.parent_id = parent_id
            self.asked = asked
            self.scan_required = scan_required

    class Edge(TableMessage):
        """The first (-1) or last (1) row of all is wanted, and it is not among those held."""

        def __init__(self, table: TreeTable, side: int) -> None:
            super().__init__(table)
            self.side = side

    class Marked(TableMessage):
        """Marks were set or taken away; ``ids`` are all marked now."""

        def __init__(self, table: TreeTable, ids: frozenset[str]) -> None:
            super().__init__(table)
            self.ids = ids

    def __init__(
        self,
        forest: Forest | None = None,
        columns: Sequence[Column] = TASKS,
        *,
        ascii: bool = False,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(Forest() if forest is None else forest, columns, ascii, id, classes)
        self._wanted: set[str] = set()

    # for the screen

    @property
    def cursor(self) -> str | None:
        """The node under the cursor; None where there is none, as on a row for unread nodes."""
        at = self.forest.cursor
        return at if at in self.forest else None

    @property
    def visible_ids(self) -> list[str]:
        """The nodes on the screen, in order: those a refresh should read."""
        return self.forest.ids(self._top, self._top + self._page)

    @property
    def now(self) -> float:
        """The server's clock as ages are told by."""
        return self._look.now

    def show(self, forest: Forest, columns: Sequence[Column] | None = None) -> None:
        """Paint another forest."""
        self.forest = forest
        self._columns = self._columns if columns is None else columns
        self._cells, self._hold = {}, None
        self._lay_out()
        self.sync()
        self._follow()

    def sync(
        self,
        cells: Mapping[str, frozenset[str]] | None = None,
        *,
        now: float | None = None,
        codes: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        """The forest has changed, or the clock (``now``), or the console's own findings (``codes``).

        ``cells`` (``Change.cells``) are shown as changed until the next ``sync`` that brings some or another ``now``.
        """
        if cells is not None or now is not None:
            self._cells = cells or {}
        self._look = msgspec.structs.replace(
            self._look,
            now=self._look.now if now is None else now,
            codes=self._look.codes if codes is None else codes,
        )
        self._wanted.clear()
        self._grow()
        self._anchor()
        self._repaint()
        self._ask()

    def go_to(self, node_id: str) -> bool:
        """Put the cursor on a loaded node, unfolding what is above it. False: not loaded, or the filter hides it."""
        found = self.forest.reveal(node_id)
        if found:
            self._grow()
            self._follow()
            self._repaint()
            self.post_message(self.Cursor(self, node_id))
        return found

    def follow(self) -> None:
        """The cursor was moved: have it on the screen."""
        self._follow()
        self._repaint()

    def mark(self, node_ids: Iterable[str], on: bool = True) -> None:
        """Mark nodes, or take their marks away."""
        self.forest.mark(node_ids, on)
        self._repaint()
        self.post_message(self.Marked(self, frozenset(self.forest.marks)))

    # keys and clicks

    def action_move(self, rows: int) -> None:
        """Cursor down, or up where negative."""
        before = self.forest.cursor
        if self.forest.move(rows) and before is not None:
            self._stale(before)

    def action_page(self, pages: int) -> None:
        """Cursor by screens."""
        self.action_move(pages * max(self._page - 1, 1))

    def action_edge(self, side: int) -> None:
        """Cursor to the first or the last row; where that one is not held, say so."""
        if not len(self.forest):
            return
        row = self.forest.row(0 if side < 0 else len(self.forest) - 1)
        beyond = row.parent_id is None and row.edge is (EdgeRow.BEFORE if side < 0 else EdgeRow.MORE)
        if beyond:
            self._wanted.add(row.id)  # more than the one page there is wanted
        self.action_move(side * len(self.forest))
        if beyond:
            self.post_message(self.Edge(self, side))

    def action_unfold(self) -> None:
        """Unfold; where that is done already go to the first row below; on a leaf, open it."""
        if not len(self.forest):
            return
        row = self._row()
        if row.expanded and row.expandable:
            self.action_move(1)
        elif row.expandable:
            self._unfold(row.id)
        else:
            self.action_open()

    def action_fold(self) -> None:
        """Fold; where that is done already go to the parent."""
        if not len(self.forest):
            return
        row = self._row()
        if row.expanded and row.expandable:
            self.forest.collapse(row.id)
            self._unfolded()
        elif row.parent_id is not None:
            self.forest.move_to(row.parent_id)
            self._stale(row.id)

    def action_unfold_all(self) -> None:
        """Unfold everything loaded below the cursor."""
        if self.cursor is not None:
            self.forest.expand_loaded(self.cursor)
            self._unfolded()

    def action_open(self) -> None:
        """Open the node, or ask for the page that the row stands for."""
        if not len(self.forest):
            return
        row = self._row()
        if row.node is not None:
            self.post_message(self.Open(self, row.id))
        elif row.edge is not EdgeRow.LOADING:
            self.post_message(self._more(row, asked=True))

    def action_mark(self) -> None:
        """Turn the mark of the node under the cursor and go one row down."""
        at = self.cursor
        if at is not None:
            self.mark([at], at not in self.forest.marks)
        self.action_move(1)

    def on_click(self, event: events.Click) -> None:
        """A click puts the cursor there, on the sign it folds or unfolds; a double click opens."""
        index = self._top + event.y - 1
        if event.y < 1 or index >= len(self.forest):
            return
        event.stop()
        row, before = self.forest.row(index), self.forest.cursor
        if row.id != before and self.forest.move_to(row.id) and before is not None:
            self._stale(before)
        if row.expandable and event.x in tree_render.flag_at(row, self._widths):
            if row.expanded:
                self.action_fold()
            else:
                self._unfold(row.id)
        elif event.chain == 2:
            self.action_open()

    # how it is done

    def _unfold(self, row_id: str) -> None:
        unread = self.forest.expand(row_id)
        self._unfolded()
        if unread:
            self.post_message(self.Expand(self, row_id))

    def _unfolded(self) -> None:
        self._grow()
        self._follow()
        self._repaint()
        self._ask()

    def _stale(self, before: str) -> None:
        """The cursor has left ``before``: paint two lines, or all where the screen has to scroll."""
        top = self._top
        self._follow()
        if self._top == top:
            for index in (self.forest.index(before), self._index()):
                if index is not None:
                    self._paint_line(index - top + 1)
        else:
            self._ask()
        at = self.forest.cursor
        if at is not None:
            self.post_message(self.Cursor(self, at))

    def _ask(self) -> None:
        """Ask for pages whose end is within a screen of what is visible, once until the next ``sync``."""
        for row in self.forest.edge_rows(max(self._top - self._page, 0), self._top + 2 * self._page):
            if row.edge in (EdgeRow.MORE, EdgeRow.BEFORE) and not row.note and row.id not in self._wanted:
                self._wanted.add(row.id)
                self.post_message(self._more(row, asked=False))

    def _more(self, row: Row, *, asked: bool) -> More:
        tail = row.edge
        return self.More(
            self, row.parent_id, asked, scan_required=tail is EdgeRow.COSTLY, before=tail is EdgeRow.BEFORE
        )
