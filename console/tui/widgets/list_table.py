"""Table of every list: paints a ``FlatList`` and turns keys and clicks into moves.

The table reads nothing. It posts a message when it needs rows (``Expand``, ``More``); the screen reads
them, changes the list and calls ``sync``. How a line looks is the business of a ``Look``. Only lines that
differ are painted again. A cursor that the operator has moved keeps its record and its line of the screen through every
refresh; one that was never moved stays on the first row. Ages change only when ``sync`` is called with another context.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual.cache import LRUCache
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollDown, ScrollTo, ScrollUp
from textual.strip import Strip

from console.model.fields.field import Context
from console.model.flat_list import Cells, EdgeRow, FlatList, Listed, Row
from console.tui import keymap
from console.tui.bindings import bindings
from console.tui.widgets.look import CLASSES, Look

T = TypeVar("T", bound=Listed)

WHEEL_ROWS = 3  # of one step of the mouse wheel
NEAR_ROWS = 50  # rows before and after the cursor that are near it
STRIPS_KEPT = 512
CURSOR = ("cursor", "cursor-blurred", "marked", "marker")  # styles that rows of a lost connection keep


class ListTable(ScrollView, Generic[T], can_focus=True, inherit_bindings=False):
    """Rows with a cursor, painted line by line. Change the list, then call ``sync``.

    Line 0 is the header; line 1 shows the row at the scroll position.
    """

    DEFAULT_CSS = """
    ListTable {
        height: 1fr;
        width: 1fr;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        scrollbar-gutter: stable;
        background: $background;
        color: $foreground;
        & > .list-table--header { color: $foreground 60%; text-style: bold; }
        & > .list-table--cursor { background: $primary 25%; text-style: bold; }
        & > .list-table--cursor-blurred { background: $foreground 10%; }
        & > .list-table--marked { text-style: bold; }
        & > .list-table--marker { color: $primary; text-style: bold; }
        & > .list-table--changed { background: $accent 25%; text-style: bold; }
        & > .list-table--guides { color: $foreground 35%; }
        & > .list-table--dimmed { color: $foreground 50%; }
        & > .list-table--muted { color: $foreground 45%; }
        & > .list-table--edge { color: $foreground 70%; text-style: italic; }
        & > .list-table--late, & > .list-table--finding { color: $warning; }
        & > .list-table--bar { color: $phase-scheduled; }
        & > .list-table--phase-failed { color: $phase-failed; }
        & > .list-table--phase-blocked { color: $phase-blocked; }
        & > .list-table--phase-held { color: $phase-held; }
        & > .list-table--phase-running { color: $phase-running; }
        & > .list-table--phase-ready { color: $phase-ready; }
        & > .list-table--phase-scheduled { color: $phase-scheduled; }
        & > .list-table--phase-unknown { color: $phase-unknown; }
        & > .list-table--phase-cancelled { color: $phase-cancelled; }
        & > .list-table--phase-done { color: $phase-done; }
    }
    """
    COMPONENT_CLASSES = set(CLASSES.values())
    ALLOW_SELECT = False
    BINDINGS = bindings(keymap.LIST)

    @dataclass
    class Cursor(Message):
        """The operator has moved the cursor to another row, a record's or an edge row's."""

        id: str

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, ListTable.Cursor)

    class Renewed(Message):
        """The cursor's row or the number of rows is another without a move."""

    @dataclass
    class Open(Message):
        """The operator wants to open the record."""

        id: str

    @dataclass
    class Expand(Message):
        """The record was unfolded, and its children have to be read."""

        id: str

    @dataclass
    class More(Message):
        """The next page of a parent's children is needed (of the roots, for None).

        ``asked``: the operator pressed a key; else the screen comes near the end of the loaded rows.
        ``scan_required``: the children were not read because this needs a scan.
        """

        parent_id: str | None
        asked: bool
        scan_required: bool

    @dataclass
    class Marked(Message):
        """Marks have changed. ``ids`` are all of them."""

        ids: frozenset[str]

    @dataclass
    class Heading(Message):
        """The operator clicked on the heading of a column."""

        title: str

    def __init__(
        self,
        rows: FlatList[T],
        look: Look[T],
        *,
        above: Callable[[Sequence[T]], str] = lambda records: f"{len(records)} more above",
        id: str | None = None,
    ) -> None:
        """Take the rows and their look. ``above`` says what came in above the screen."""
        super().__init__(id=id)
        self.rows = rows
        self.look = look
        self._changed_cells: Cells = {}
        self._requested: set[str] = set()  # edge rows whose page was requested since the last `sync`
        self._anchor_row: tuple[str, int] | None = None  # a row and its line of the screen, kept through changes
        self._anchored_to_cursor = False  # whether the cursor was on that row
        self._known: tuple[str | None, T | None, int] = None, None, 0  # of which the screen knows
        self._above = above
        self._old = False  # whether the rows are those of a lost connection, and grey
        self._came: list[str] = []  # rows that came in above the screen since the operator was there
        self._passed: set[str] = set()  # the other rows above the screen
        self._expected = False  # whether the operator has asked for the rows of the next `sync`
        self._measured = Size(80, 2)  # the size for which the fields below were computed
        self._line_width = 80  # cells of a line: the width without the scrollbar, if there is one
        self._strips: LRUCache[tuple[str, str], Strip] = LRUCache(STRIPS_KEPT)  # by row id and cursor state
        self._painted: dict[int, Strip] = {}  # by line of the screen
        self._styles: dict[tuple[str, ...], RichStyle] = {}

    # for the screen

    @property
    def cursor(self) -> str | None:
        """Id of the record under the cursor; None if there is none, as on an edge row."""
        at = self.rows.cursor
        return at if at in self.rows else None

    @property
    def visible_ids(self) -> list[str]:
        """The records on the screen, in order. A refresh reads these."""
        return [record.id for record in self.rows.shown(self.top_row, self.top_row + self.rows_in_view)]

    @property
    def around(self) -> list[T]:
        """The records of the rows near the cursor."""
        return self.rows.shown(self.cursor_row - NEAR_ROWS, self.cursor_row + NEAR_ROWS)

    def show(self, rows: FlatList[T]) -> None:
        """Paint another list, or other columns of the look."""
        self.rows = rows
        self._changed_cells, self._anchor_row = {}, None
        self._came, self._expected = [], True
        self._lay_out()
        self.sync()
        self.show_cursor()

    def sync(self, cells: Cells | None = None, *, context: Context | None = None) -> None:
        """Paint the list after it changed.

        ``context``: of the look from now on. Highlight ``cells`` until the next
        ``sync`` with other cells.
        """
        self._changed_cells = self._changed_cells if cells is None else cells
        self.look.context = context or self.look.context
        self._requested.clear()
        if not self.rows.touched:
            self.rows.move(-len(self.rows))
        self.fit_rows()
        self._restore_anchor()
        self._note_above()
        self._repaint()
        self._request_pages()
        self._notice()

    def fade(self, old: bool) -> None:
        """Make all rows grey while they cannot be read again."""
        if old != self._old:
            self._old = old
            self.notify_style_update()
            self.refresh()

    def expect(self) -> None:
        """Take no row of the next ``sync`` as one that came in by itself."""
        self._expected = True

    def go_to(self, id_: str) -> bool:
        """Move the cursor to a loaded record and unfold its ancestors.

        Return False if the record is not loaded or the filter hides it.
        """
        is_loaded = self.rows.reveal(id_)
        if is_loaded:
            self.fit_rows()
            self.follow()
            self._moved(id_)
        return is_loaded

    def follow(self) -> None:
        """Bring the cursor onto the screen after the list moved it."""
        self.show_cursor()
        self._repaint()

    def mark(self, row_ids: Iterable[str], on: bool | None = True) -> None:
        """Mark or unmark rows; None unmarks them if all are marked."""
        self.rows.mark(row_ids, on)
        self._marks_changed()

    def unmark(self) -> None:
        """Clear all marks."""
        self.rows.marks = set()
        self._marks_changed()

    # keys and clicks

    @property
    def row_count(self) -> int:
        """Number of rows, without the header."""
        return len(self.rows)

    @property
    def cursor_row(self) -> int:
        """Index of the row under the cursor; 0 if there are no rows."""
        return self.rows.cursor_row

    def action_move(self, rows: int) -> None:
        """Move the cursor down (up, if negative), at most to the edge."""
        before = self.rows.cursor
        if self.rows.move(rows) and before is not None:
            self._cursor_left(before)

    def action_screenful(self, number: int) -> None:
        """Move the cursor by screens."""
        self.action_move(number * max(self.rows_in_view - 1, 1))

    def action_edge(self, side: int) -> None:
        """Move the cursor to the first (-1) or last (1) row; there, load more."""
        if not self.row_count:
            return
        row = self._cursor_row()
        self.action_move(side * self.row_count)
        self.rows.touched = side > 0
        if side > 0 and row.edge is EdgeRow.MORE and row.id == self.rows.cursor:
            self.post_message(self._more(row, asked=False))

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
            self.rows.collapse(row.id)
            self._rows_changed()
        elif row.parent_id is not None:
            self.rows.move_to(row.parent_id)
            self._cursor_left(row.id)

    def fold_or_unfold(self) -> None:
        """Fold or unfold the row under the cursor."""
        row = self._cursor_row()
        if row.expanded:
            self.action_fold()
        else:
            self._unfold(row.id)

    def action_fold_all(self) -> None:
        """Unfold all loaded records, and request the children of the rows on the screen.

        Fold all records if there is nothing to unfold.
        """
        unread = self.rows.expand(*(id_ for id_ in self.visible_ids if self.rows.children(id_) is None))
        if not self.rows.expand_loaded() and not unread:
            self.rows.collapse_all()
        self._rows_changed()
        for id_ in unread:
            self.post_message(self.Expand(id_))

    def action_open(self) -> None:
        """Open the record, or request the page of an edge row."""
        if not self.row_count:
            return
        row = self._cursor_row()
        self.rows.touched = True
        if row.record is not None:
            self.post_message(self.Open(row.id))
        elif row.edge is not EdgeRow.LOADING:
            self.post_message(self._more(row, asked=True))

    def action_mark(self) -> None:
        """Mark or unmark the row under the cursor and go to the next one."""
        at = self.cursor
        if at is not None:
            self.mark([at], on=None)
        self.action_move(1)

    def action_mark_range(self, step: int) -> None:
        """Mark the row under the cursor, go on in a direction, and mark the row there."""
        before = self.cursor
        self.action_move(step)
        self.mark([id_ for id_ in (before, self.cursor) if id_ is not None])

    def on_click(self, event: events.Click) -> None:
        index = self.top_row + event.y - 1
        if event.y == 0:
            event.stop()
            title = self.look.title_at(event.x)
            if title is not None:
                self.post_message(self.Heading(title))
        elif index < self.row_count:
            event.stop()
            self._click_row(self.rows.row(index), event)

    def _click_row(self, row: Row[T], event: events.Click) -> None:
        """Move the cursor to the row.

        A click on the fold sign folds or unfolds it; a double click opens it.
        """
        before = self.rows.cursor
        if row.id != before and self.rows.move_to(row.id) and before is not None:
            self._cursor_left(before)
        if row.expandable and event.x in self.look.fold_sign_at(row):
            self.fold_or_unfold()
        elif event.chain == 2:
            self.action_open()

    def _cursor_row(self) -> Row[T]:
        return self.rows.row(self.cursor_row)

    def _unfold(self, row_id: str) -> None:
        unread = self.rows.expand(row_id)
        self._rows_changed()
        if unread:
            self.post_message(self.Expand(row_id))

    def _rows_changed(self) -> None:
        self.rows.touched = True
        self.fit_rows()
        self.follow()
        self._pass(0)
        self._request_pages()
        self._notice()

    def _marks_changed(self) -> None:
        self.rows.touched = True
        self._repaint()
        self.post_message(self.Marked(frozenset(self.rows.marks)))

    def _cursor_left(self, before: str) -> None:
        """Paint the row that the cursor left and the one it is on.

        Everything is painted if the screen has to scroll.
        """
        top = self.top_row
        self.show_cursor()
        if self.top_row == top:
            for index in (self.rows.index(before), self.cursor_row):
                if index is not None:
                    self._paint_line(index - top + 1)
        else:
            self._request_pages()
        at = self.rows.cursor
        if at is not None:
            self._moved(at)

    def _moved(self, at: str) -> None:
        self.rows.touched = True
        self._known = at, self.rows.current, self.row_count
        self.post_message(self.Cursor(at))

    def _notice(self) -> None:
        """Tell the screen if the cursor's row or the number of rows is another."""
        known = self.rows.cursor, self.rows.current, self.row_count
        if known != self._known:
            self._known = known
            self.post_message(self.Renewed())

    def _request_pages(self) -> None:
        """Request pages whose edge row is within a screen of the visible rows.

        Each page is requested once until the next ``sync``. If siblings are sorted, only a key requests a page.
        """
        top, rows = self.top_row, self.rows_in_view
        if self.rows.order is not None:
            return  # the rows of a page may be anywhere, so that the end of the loaded rows would stay on the screen
        for row in self.rows.between(top - rows, top + 2 * rows):
            if row.edge is EdgeRow.MORE and not row.note and row.id not in self._requested:
                self._requested.add(row.id)
                self.post_message(self._more(row, asked=False))

    def _more(self, row: Row[T], *, asked: bool) -> More:
        return self.More(row.parent_id, asked, row.edge is EdgeRow.COSTLY)

    # scrolling

    @property
    def top_row(self) -> int:
        """Index of the first row on the screen."""
        return round(self.scroll_y)

    @property
    def rows_in_view(self) -> int:
        """Number of rows that fit on the screen."""
        return max(self.size.height - 1, 1)

    def fit_rows(self) -> None:
        """Adapt the scroll range to the number of rows.

        The screen is laid out, and sent as a whole, only if the scrollbar comes or goes.
        """
        before, after, room = self.virtual_size, Size(self.size.width, self.row_count + 1), self.size.height
        if before.width == after.width and (before.height > room) == (after.height > room):
            self.set_reactive(ListTable.virtual_size, after)
            if self.show_vertical_scrollbar:
                self.vertical_scrollbar.window_virtual_size = after.height
        else:
            self.virtual_size = after
            if room:
                self.show_vertical_scrollbar = after.height > room  # now, or the screen would be laid out twice

    def scroll_to_row(self, index: int) -> None:
        """Scroll so that this row is the first on the screen."""
        self.scroll_to(y=max(index, 0), animate=False, force=True)

    def show_cursor(self) -> None:
        """Scroll by the least number of rows that brings the cursor onto the screen."""
        index, top = self.cursor_row, self.top_row
        target = min(max(top, index - self.rows_in_view + 1), index)
        if target != top:
            self.scroll_to_row(target)
            self._pass(top)
        self._set_anchor()

    # the wheel and the scrollbar take the cursor along, so that keys act on a row that is visible

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._turn(event, self.top_row + WHEEL_ROWS)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._turn(event, self.top_row - WHEEL_ROWS)

    def on_scroll_down(self, event: ScrollDown) -> None:
        self._turn(event, self.top_row + self.rows_in_view)

    def on_scroll_up(self, event: ScrollUp) -> None:
        self._turn(event, self.top_row - self.rows_in_view)

    def on_scroll_to(self, event: ScrollTo) -> None:
        if event.y is not None:
            self._turn(event, round(event.y))

    def _turn(self, event: Message, top: int) -> None:
        event.stop()
        event.prevent_default()  # Textual would leave the cursor behind
        top, before = max(min(top, round(self.max_scroll_y)), 0), self.top_row
        self.scroll_to(y=top, animate=False, force=True, immediate=True)
        self._pass(before)
        nearest = max(min(self.cursor_row, top + self.rows_in_view - 1), top)
        if self.row_count and nearest != self.cursor_row:
            self.action_move(nearest - self.cursor_row)

    def _set_anchor(self) -> None:
        """Remember the row whose line must not change.

        It is the cursor's row if it is on the screen, else the first.
        """
        top, index = self.top_row, self.cursor_row
        if self.has_focus:  # a braille display shows the line with the terminal's cursor
            self.app.cursor_position = self.region.offset + Offset(0, index - top + 1)
        at = self.rows.cursor
        self._anchored_to_cursor = at is not None and top <= index < top + self.rows_in_view
        if at is not None and self._anchored_to_cursor:
            self._anchor_row = (at, index - top)
        else:
            first = self.rows.between(top, top + 1)
            self._anchor_row = (first[0].id, 0) if first else None

    def _restore_anchor(self) -> None:
        """Scroll so that the anchor row keeps its line.

        If the row is gone, or the list has moved a visible cursor, the cursor takes its place.
        """
        if self._anchor_row is not None:
            row_id, line = self._anchor_row
            moved = self._anchored_to_cursor and row_id != self.rows.cursor
            index = None if moved else self.rows.index(row_id)
            top = max((self.cursor_row if index is None else index) - line, 0)
            if top != self.top_row:
                self.scroll_to_row(top)
        self._set_anchor()

    # rows that came in above the screen

    def _note_above(self) -> None:
        """Note the rows above the screen that were not there when the operator was."""
        rows = [record.id for record in self.rows.shown(0, self.top_row)]
        came = [] if self._expected else [id_ for id_ in rows if id_ not in self._passed]
        self._passed, self._expected = set(rows), False
        self._came = [id_ for id_ in self._came if id_ in self._passed] + came

    def _pass(self, top: int) -> None:
        """Take the rows that the operator has scrolled by as known."""
        self._passed.update(record.id for record in self.rows.shown(top, self.top_row))
        self._came = [id_ for id_ in self._came if (at := self.rows.index(id_)) is not None and at < self.top_row]

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._painted.clear()
        self._set_anchor()
        self._measure_rows()

    def watch_show_vertical_scrollbar(self) -> None:
        """Lay out again: lines beside a scrollbar are shorter."""
        self._lay_out()

    def on_resize(self, event: events.Resize) -> None:
        """Lay out the columns for a new width. Keep a visible cursor visible."""
        was_visible = self._anchor_row is not None and self._anchor_row[0] == self.rows.cursor
        if event.size.width != self._measured.width:
            self._lay_out()
        else:
            self._measure_rows()
        self.fit_rows()
        if was_visible:
            self.show_cursor()

    def watch_has_focus(self, _has_focus: bool) -> None:
        super().watch_has_focus(_has_focus)
        self._paint_line(self.cursor_row - self.top_row + 1)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles.clear()
        self._strips.clear()
        self._painted.clear()

    # painting

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the painted lines. Textual's own method adds borders and padding."""
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

    def _header(self) -> Strip:
        header = self._whole(self.look.header(self.rows.order, self), ("header",))
        came = [record for id_ in self._came if (record := self.rows.record(id_)) is not None]
        if not came:
            return header
        sign = "^" if self.look.context.ascii else "▲"
        note = Strip([Segment(f" {sign} {self._above(came)} ", self.cell_style(("header", "late")))])
        return Strip.join([header.crop(0, max(self._line_width - note.cell_length, 0)), note])

    def _line(self, index: int) -> Strip:
        if index >= self.row_count:
            return self._whole(Strip([]), ())
        row_id = self.rows.ids[index]
        state = ""
        if row_id == self.rows.cursor:
            state = "cursor" if self.has_focus else "cursor-blurred"
        strip = self._strips.get((row_id, state))
        if strip is None:
            changed = self._changed_cells.get(row_id, frozenset())
            strip = self.look.line(self.rows.row(index), state, changed, self)
            strip = self._strips[row_id, state] = self._whole(strip, (state,) if state else ())
        return strip

    def _whole(self, strip: Strip, names: tuple[str, ...]) -> Strip:
        return strip.adjust_cell_length(self._line_width, self.cell_style(names))

    def _repaint(self) -> None:
        self._strips.clear()
        if self._measure_rows():
            return
        for y, before in list(self._painted.items()):
            fresh = self._painted[y] = self._line(self.top_row + y - 1) if y else self._header()
            if before != fresh:
                self.refresh(Region(0, y, self.size.width, 1))

    def _paint_line(self, y: int) -> None:
        self._painted.pop(y, None)
        if 0 < y <= self.rows_in_view:
            self.refresh(Region(0, y, self.size.width, 1))

    def _lay_out(self) -> None:
        self._measure()
        self._measure_rows()
        self.refresh()

    def _measure(self) -> None:
        self._measured = self.size
        room = self.size.width - self.scrollbar_size_vertical
        self._line_width = room if self.show_vertical_scrollbar else self.size.width
        self.look.fit(self.size.width)
        self._strips.clear()
        self._painted.clear()

    def _measure_rows(self) -> bool:
        """Lay out again if the rows on the screen need more room. Return True if so."""
        rows = range(self.top_row, min(self.top_row + self.rows_in_view, self.row_count))
        if not self.look.measure(map(self.rows.row, rows)):
            return False
        self._strips.clear()
        self._painted.clear()
        self.refresh()
        return True

    def cell_style(self, names: tuple[str, ...]) -> RichStyle:
        style = self._styles.get(names)
        if style is None:
            of = names
            names = (*(each for each in names if each in CURSOR), "dimmed") if self._old else names
            visual = self.get_visual_style(*(CLASSES[name] for name in names if name in CLASSES))
            parse = self.app.stylesheet.parse_style  # `Style.parse` knows no variables in a task without an active app
            style = sum((parse(name) for name in names if name not in CLASSES), start=visual).rich_style
            for line_filter in self.get_line_filters():
                style = line_filter.apply([Segment("", style)], self.background_colors[1])[0].style or style
            self._styles[of] = style
        return style
