"""Tree with columns: paints a ``Forest`` and turns keys and clicks into moves.

The table reads nothing. It posts a message when it needs rows (``Expand``, ``More``, ``Edge``); the screen reads them,
changes the forest and calls ``sync``. Only lines that differ are painted again. The cursor keeps its node and its line
of the screen through every refresh. Ages change only when ``sync`` is called with another ``now``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.cache import LRUCache
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip

from console.model.fields.field import Context, Field
from console.model.fields.node import COLUMNS
from console.model.forest import EdgeRow, Forest, Row
from console.model.order import Order
from console.tui.widgets import tree_render
from console.tui.widgets.columns import Layout, layout
from console.tui.widgets.row_view import RowView
from queries.records.node import Node, Phase

# Component classes by the names that `tree_render` and the columns use.
CLASSES = {
    "header": "row-view--header",
    "cursor": "row-view--cursor",
    **{
        name: f"tree-table--{name}"
        for name in (
            *("cursor-blurred", "marked", "marker", "changed", "guides", "dimmed", "muted", "edge"),
            *("late", "finding", "bar"),
            *(f"phase-{phase}" for phase in Phase),
        )
    },
}


class TreeTable(RowView):
    """A tree with columns over a forest. Change the forest, then call ``sync``."""

    DEFAULT_CSS = """
    TreeTable {
        scrollbar-gutter: stable;
        & > .tree-table--cursor-blurred { background: $foreground 10%; }
        & > .tree-table--marked { text-style: bold; }
        & > .tree-table--marker { color: $accent; text-style: bold; }
        & > .tree-table--changed { background: $accent 25%; text-style: bold; }
        & > .tree-table--guides { color: $foreground 35%; }
        & > .tree-table--dimmed { color: $foreground 50%; }
        & > .tree-table--muted { color: $foreground 45%; }
        & > .tree-table--edge { color: $foreground 70%; text-style: italic; }
        & > .tree-table--late, & > .tree-table--finding { color: $phase-blocked; }
        & > .tree-table--bar { color: $phase-scheduled; }
        & > .tree-table--phase-failed { color: $phase-failed; }
        & > .tree-table--phase-blocked { color: $phase-blocked; }
        & > .tree-table--phase-held { color: $phase-held; }
        & > .tree-table--phase-running { color: $phase-running; }
        & > .tree-table--phase-ready { color: $phase-ready; }
        & > .tree-table--phase-scheduled { color: $phase-scheduled; }
        & > .tree-table--phase-unknown { color: $phase-unknown; }
        & > .tree-table--phase-cancelled { color: $phase-cancelled; }
        & > .tree-table--phase-done { color: $phase-done; }
    }
    """
    COMPONENT_CLASSES = set(CLASSES.values())

    class TableMessage(Message):
        """Base of the messages of a tree table. ``@on`` can select by its id."""

        def __init__(self, table: TreeTable) -> None:
            super().__init__()
            self.table = table

        @property
        def control(self) -> TreeTable:
            """The table that posted the message."""
            return self.table

    class RowMessage(TableMessage):
        """Base of the messages about one row. ``id`` is a node's or an edge row's."""

        def __init__(self, table: TreeTable, id: str) -> None:
            super().__init__(table)
            self.id = id

    class Cursor(RowMessage):
        """The cursor is on another row."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, TreeTable.Cursor)

    class Open(RowMessage):
        """The operator wants to open the node."""

    class Expand(RowMessage):
        """The node was unfolded, and its children have to be read."""

    class More(TableMessage):
        """The next page of a parent's children is needed (of the roots, for None).

        ``asked``: the operator pressed a key; else the screen comes near the end of the loaded rows.
        ``scan_required``: the children were not read because this needs a scan.
        ``before``: the page before the loaded rows, which was evicted, is needed instead.
        """

        def __init__(
            self, table: TreeTable, parent_id: str | None, asked: bool, scan_required: bool, before: bool = False
        ) -> None:
            super().__init__(table)
            self.before = before
            self.parent_id = parent_id
            self.asked = asked
            self.scan_required = scan_required

    class Edge(TableMessage):
        """The operator wants the first (-1) or last (1) row, and it is not loaded.

        It is a child of ``parent_id``, or a root.
        """

        def __init__(self, table: TreeTable, side: int, parent_id: str | None) -> None:
            super().__init__(table)
            self.side = side
            self.parent_id = parent_id

    class Marked(TableMessage):
        """Marks have changed. ``ids`` are all marked nodes."""

        def __init__(self, table: TreeTable, ids: frozenset[str]) -> None:
            super().__init__(table)
            self.ids = ids

    def __init__(
        self,
        forest: Forest | None = None,
        columns: Sequence[Field[Node]] = COLUMNS,
        *,
        ascii: bool = False,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.forest = Forest() if forest is None else forest
        self._columns = columns
        self._render_context = Context(ascii=ascii)
        self._changed_cells: Mapping[str, frozenset[str]] = {}
        self._requested: set[str] = set()  # edge rows whose page was requested since the last `sync`
        self._anchor_row: tuple[str, int] | None = None  # a row and its line of the screen, kept through changes
        self._anchored_to_cursor = False  # whether the cursor was on that row
        self._measured = Size(80, 2)  # the size for which the fields below were computed
        self._line_width = 80  # cells of a line: the width without the scrollbar, if there is one
        self._layout: Layout = layout(columns, 80)
        self._strips: LRUCache[tuple[str, str], Strip] = LRUCache(512)  # by row id and cursor state
        self._painted: dict[int, Strip] = {}  # by line of the screen
        self._text_styles: dict[tuple[str, ...], Style] = {}

    # for the screen

    @property
    def cursor(self) -> str | None:
        """The node under the cursor; None if there is none, as on an edge row."""
        at = self.forest.cursor
        return at if at in self.forest else None

    @property
    def visible_ids(self) -> list[str]:
        """The nodes on the screen, in order. A refresh reads these."""
        return self.forest.ids(self.top_row, self.top_row + self.page_rows)

    @property
    def columns(self) -> list[Field[Node]]:
        """The columns that the screen has room for."""
        return [column for column, _ in self._layout]

    @property
    def context(self) -> Context:
        """Input of a cell apart from its node."""
        return self._render_context

    @property
    def now(self) -> float:
        """The server time from which ages are computed."""
        return self._render_context.now

    def show(self, forest: Forest, columns: Sequence[Field[Node]] | None = None) -> None:
        """Paint another forest."""
        self.forest = forest
        self._columns = self._columns if columns is None else columns
        self._changed_cells, self._anchor_row = {}, None
        self._lay_out()
        self.sync()
        self.show_cursor()

    def sync(
        self,
        cells: Mapping[str, frozenset[str]] | None = None,
        *,
        now: float | None = None,
        codes: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        """Paint the forest after it changed.

        ``now`` is the server time, ``codes`` the console's own findings. Highlight ``cells`` (see ``Change.cells``)
        until the next ``sync`` with other cells or another ``now``.
        """
        if cells is not None or now is not None:
            self._changed_cells = cells or {}
        context = self._render_context
        self._render_context = msgspec.structs.replace(
            context, now=context.now if now is None else now, codes=context.codes if codes is None else codes
        )
        self._requested.clear()
        self.fit_rows()
        self._restore_anchor()
        self._repaint()
        self._request_pages()

    def sort(self, order: Order[Node] | None) -> None:
        """Sort the loaded siblings; None restores their own order."""
        self.forest.set_order(order)
        self._paint_header()
        self.sync()

    def go_to(self, node_id: str) -> bool:
        """Move the cursor to a loaded node and unfold its ancestors.

        Return False if the node is not loaded or the filter hides it.
        """
        found = self.forest.reveal(node_id)
        if found:
            self.fit_rows()
            self.follow()
            self.post_message(self.Cursor(self, node_id))
        return found

    def follow(self) -> None:
        """Bring the cursor onto the screen after the forest moved it."""
        self.show_cursor()
        self._repaint()

    def mark(self, node_ids: Iterable[str], on: bool = True) -> None:
        """Mark or unmark nodes."""
        self.forest.mark(node_ids, on)
        self._repaint()
        self.post_message(self.Marked(self, frozenset(self.forest.marks)))

    # keys and clicks

    @property
    def row_count(self) -> int:
        return len(self.forest)

    @property
    def cursor_row(self) -> int:
        at = self.forest.cursor
        return (self.forest.index(at) if at is not None else None) or 0

    def action_move(self, rows: int) -> None:
        before = self.forest.cursor
        if self.forest.move(rows) and before is not None:
            self._cursor_left(before)

    def action_edge(self, side: int) -> None:
        """Move the cursor to the first (-1) or last (1) loaded row.

        If more rows follow, post ``Edge``.
        """
        if not self.row_count:
            return
        row = self.forest.row(0 if side < 0 else self.row_count - 1)
        beyond = row.edge is (EdgeRow.BEFORE if side < 0 else EdgeRow.MORE)
        if beyond:
            self._requested.add(row.id)  # `Edge` asks for all pages; a request for the next one would be too much
        super().action_edge(side)
        if beyond:
            self.post_message(self.Edge(self, side, row.parent_id))

    def action_unfold(self) -> None:
        """Unfold the row; or go to its first child if unfolded; or open a leaf."""
        if not self.row_count:
            return
        row = self._cursor_row()
        if row.expanded and row.expandable:
            self.action_move(1)
        elif row.expandable:
            self._unfold(row.id)
        else:
            self.action_open()

    def action_fold(self) -> None:
        """Fold the row; if it is folded, go to its parent."""
        if not self.row_count:
            return
        row = self._cursor_row()
        if row.expanded and row.expandable:
            self.forest.collapse(row.id)
            self._rows_changed()
        elif row.parent_id is not None:
            self.forest.move_to(row.parent_id)
            self._cursor_left(row.id)

    def action_fold_all(self) -> None:
        """Unfold all loaded nodes, and request the children of the rows on the screen.

        Fold all nodes if there is nothing to unfold.
        """
        unread = [id_ for id_ in self.visible_ids if self.forest.children(id_) is None]
        unread = [id_ for id_ in unread if self.forest.expand(id_)]
        if not self.forest.expand_loaded() and not unread:
            self.forest.collapse_all()
        self._rows_changed()
        for id_ in unread:
            self.post_message(self.Expand(self, id_))

    def action_open(self) -> None:
        """Open the node, or request the page of an edge row."""
        if not self.row_count:
            return
        row = self._cursor_row()
        if row.node is not None:
            self.post_message(self.Open(self, row.id))
        elif row.edge is not EdgeRow.LOADING:
            self.post_message(self._more(row, asked=True))

    def action_mark(self) -> None:
        """Mark or unmark the node under the cursor and go to the next row."""
        at = self.cursor
        if at is not None:
            self.mark([at], at not in self.forest.marks)
        self.action_move(1)

    def action_mark_range(self, step: int) -> None:
        """Mark the node under the cursor, go on in a direction, and mark the node there."""
        before = self.cursor
        self.action_move(step)
        self.mark([id_ for id_ in (before, self.cursor) if id_ is not None])

    def click_heading(self, event: events.Click) -> None:
        column = tree_render.column_at(event.x, self._layout)
        if column is not None:
            self.post_message(self.Heading(column.title))

    def click_row(self, index: int, event: events.Click) -> None:
        """Move the cursor to the row.

        A click on the fold sign folds or unfolds it; a double click opens it.
        """
        row, before = self.forest.row(index), self.forest.cursor
        if row.id != before and self.forest.move_to(row.id) and before is not None:
            self._cursor_left(before)
        if row.expandable and event.x in tree_render.fold_sign_at(row, self._layout):
            if row.expanded:
                self.action_fold()
            else:
                self._unfold(row.id)
        elif event.chain == 2:
            self.action_open()

    def _cursor_row(self) -> Row:
        return self.forest.row(self.cursor_row)

    def _unfold(self, row_id: str) -> None:
        unread = self.forest.expand(row_id)
        self._rows_changed()
        if unread:
            self.post_message(self.Expand(self, row_id))

    def _rows_changed(self) -> None:
        self.fit_rows()
        self.follow()
        self._request_pages()

    def _cursor_left(self, before: str) -> None:
        """Paint the row that the cursor left and the one it is on.

        Everything is painted if the screen has to scroll.
        """
        top = self.top_row
        self.show_cursor()
        if self.top_row == top:
            for index in (self.forest.index(before), self.cursor_row):
                if index is not None:
                    self._paint_line(index - top + 1)
        else:
            self._request_pages()
        at = self.forest.cursor
        if at is not None:
            self.post_message(self.Cursor(self, at))

    def _request_pages(self) -> None:
        """Request pages whose edge row is within a screen of the visible rows.

        Each page is requested once until the next ``sync``. If siblings are sorted, only a key requests a page.
        """
        top, rows = self.top_row, self.page_rows
        if self.forest.order is not None:
            return  # the rows of a page may be anywhere, so that the end of the loaded rows would stay on the screen
        for row in self.forest.edge_rows(max(top - rows, 0), top + 2 * rows):
            if row.edge in (EdgeRow.MORE, EdgeRow.BEFORE) and not row.note and row.id not in self._requested:
                self._requested.add(row.id)
                self.post_message(self._more(row, asked=False))

    def _more(self, row: Row, *, asked: bool) -> More:
        return self.More(
            self,
            row.parent_id,
            asked,
            scan_required=row.edge is EdgeRow.COSTLY,
            before=row.edge is EdgeRow.BEFORE,
        )

    # scrolling

    def show_cursor(self) -> None:
        super().show_cursor()
        self._set_anchor()

    def _set_anchor(self) -> None:
        """Remember the row whose line must not change.

        It is the cursor's row if it is on the screen, else the first.
        """
        top, index = self.top_row, self.cursor_row
        at = self.forest.cursor
        self._anchored_to_cursor = at is not None and top <= index < top + self.page_rows
        if at is not None and self._anchored_to_cursor:
            self._anchor_row = (at, index - top)
        else:
            first = self.forest.rows(top, top + 1)
            self._anchor_row = (first[0].id, 0) if first else None

    def _restore_anchor(self) -> None:
        """Scroll so that the anchor row keeps its line.

        If the row is gone, or the forest has moved a visible cursor, the cursor takes its place.
        """
        if self._anchor_row is not None:
            row_id, line = self._anchor_row
            moved = self._anchored_to_cursor and row_id != self.forest.cursor
            index = None if moved else self.forest.index(row_id)
            top = max((self.cursor_row if index is None else index) - line, 0)
            if top != self.top_row:
                self.scroll_to_row(top)
        self._set_anchor()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._painted.clear()
        self._set_anchor()

    def watch_show_vertical_scrollbar(self) -> None:
        """Lay out again: lines beside a scrollbar are shorter."""
        self._lay_out()

    def on_resize(self, event: events.Resize) -> None:
        """Lay out the columns for the new width. Keep a visible cursor visible."""
        was_visible = self._anchor_row is not None and self._anchor_row[0] == self.forest.cursor
        self._lay_out()
        self.fit_rows()
        if was_visible:
            self.show_cursor()

    def watch_has_focus(self, _has_focus: bool) -> None:
        super().watch_has_focus(_has_focus)
        self._paint_line(self.cursor_row - self.top_row + 1)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._text_styles.clear()
        self._strips.clear()
        self._painted.clear()

    # painting

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the painted lines.

        Textual's own method adds borders and padding, which this widget does not have.
        """
        if self.size != self._measured:
            self._measure()
        painted = self._painted
        strips = [painted[y] if y in painted else self.render_line(y) for y in crop.line_range]
        if crop.column_span != (0, self._measured.width):
            strips = [strip.crop(*crop.column_span) for strip in strips]
        return strips

    def render_line(self, y: int) -> Strip:
        strip = self._painted.get(y)
        if strip is None:
            self._painted[y] = strip = self._line(self.top_row + y - 1) if y else self._header()
        return strip

    def _paint_header(self) -> None:
        self._painted.pop(0, None)
        self.refresh(Region(0, 0, self.size.width, 1))

    def _header(self) -> Strip:
        strip = tree_render.header(self._layout, self._render_context, self._text_style, self.forest.order)
        return strip.adjust_cell_length(self._line_width, self._text_style(("header",)))

    def _line(self, index: int) -> Strip:
        if index >= self.row_count:
            return Strip.blank(self._line_width, self._text_style(()))
        row_id = self.forest.id_at(index)
        state = ""
        if row_id == self.forest.cursor:
            state = "cursor" if self.has_focus else "cursor-blurred"
        strip = self._strips.get((row_id, state))
        if strip is None:
            changed = self._changed_cells.get(row_id, frozenset())
            row = self.forest.row(index)
            strip = tree_render.line(row, self._layout, self._render_context, self._text_style, state, changed)
            strip = strip.adjust_cell_length(self._line_width, self._text_style((state,) if state else ()))
            self._strips[row_id, state] = strip
        return strip

    def _repaint(self) -> None:
        """Compute the visible lines again and send those that differ to the terminal."""
        self._strips.clear()
        for y, before in [(y, strip) for y, strip in self._painted.items() if y]:
            fresh = self._line(self.top_row + y - 1)
            self._painted[y] = fresh
            self.send_difference(y, before, fresh)

    def _paint_line(self, y: int) -> None:
        self._painted.pop(y, None)
        self.send_line(y)

    def _lay_out(self) -> None:
        self._measure()
        self.refresh()

    def _measure(self) -> None:
        self._measured = self.size
        room = self.size.width - self.scrollbar_size_vertical
        self._line_width = room if self.show_vertical_scrollbar else self.size.width
        self._layout = layout(self._columns, room - tree_render.GUTTER)
        self._strips.clear()
        self._painted.clear()

    def _text_style(self, names: tuple[str, ...]) -> Style:
        """Return the text style of these component classes in the terminal's colours."""
        style = self._text_styles.get(names)
        if style is None:
            style = self.get_visual_style(*(CLASSES[name] for name in names)).rich_style
            for line_filter in self.get_line_filters():
                style = line_filter.apply([Segment("", style)], self.background_colors[1])[0].style or style
            self._text_styles[names] = style
        return style
