"""List of records with columns.

The cursor stays on its record while other records come and go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from textual import events
from textual.content import Content
from textual.message import Message
from textual.strip import Strip
from textual.style import Style

from console.model.fields.field import Field
from console.text import formatting
from console.text.spans import Spans
from console.tui.widgets.row_view import RowView
from queries.text.safe_text import safe_text

T = TypeVar("T")

NEAR_END = 20  # rows before the end at which more records are requested


class Table(RowView, Generic[T]):
    """Rows of records.

    ``key`` returns the id of a record, ``cell`` its cell in a column. A column is omitted if the table is narrower than
    it ``needs``. It is as wide as its widest cell if there is room, and never wider.
    """

    @dataclass
    class Highlighted(Message):
        """The cursor is on another record, or the record under it has changed."""

        key: str | None

    @dataclass
    class Chosen(Message):
        """The operator pressed Enter or double-clicked on a record."""

        key: str

    class NearEnd(Message):
        """The cursor is near the end: more records are needed."""

    def __init__(
        self,
        columns: Sequence[Field[Any]],
        key: Callable[[T], str],
        cell: Callable[[Field[Any], T], Spans],
        id: str | None = None,
        *,
        ascii: bool = False,
        marked: Callable[[T], bool] | None = None,
    ) -> None:
        super().__init__(id=id)
        self._marker = ">" if ascii else "▌"
        self._mark = "*" if ascii else "●"
        self._arrows = ("v", "^") if ascii else ("▼", "▲")
        self._marked = marked
        self._sorted: tuple[str, bool] | None = None
        self._columns = columns
        self._key = key
        self._cell = cell
        self._items: Sequence[T] = ()
        self._positions: dict[str, int] = {}
        self._at = 0
        self._widest: dict[str, int] = {}  # cells of the widest value of each column since the last resize
        self._painted: dict[int, Strip] = {}  # lines as they were last sent to the terminal

    @property
    def row_count(self) -> int:
        return len(self._items)

    @property
    def cursor_row(self) -> int:
        return self._at

    @property
    def current(self) -> T | None:
        """The record under the cursor."""
        return self._items[self._at] if self._items else None

    def item(self, key: str) -> T | None:
        """Return the record with this id."""
        position = self._positions.get(key)
        return None if position is None else self._items[position]

    @property
    def columns(self) -> list[Field[Any]]:
        """The columns for which the table is wide enough."""
        return [column for column, _, _ in self._places(self.size.width)]

    def put_columns(self, columns: Sequence[Field[Any]]) -> None:
        """Show other columns of the same records."""
        if columns != self._columns:
            self._columns = columns
            self._widest.clear()
            self.refresh()

    def around(self, rows: int = 50) -> Sequence[T]:
        """Return the records within this number of rows from the cursor."""
        return self._items[max(self._at - rows, 0) : self._at + rows]

    def put(self, items: Sequence[T], *, filling: bool = False) -> None:
        """Show these records.

        The cursor keeps its record and its line of the screen; if the record is gone, its row index. While the list is
        still ``filling``, a cursor on the first row stays there.
        """
        before = self.current
        offset = self._at - self.top_row
        if list(items) == list(self._items):
            return
        old = self._key(before) if before is not None and not (filling and self._at == 0) else None
        self._items = items
        self._positions = {self._key(item): position for position, item in enumerate(items)}
        self._at = self._positions.get(old, min(self._at, max(len(items) - 1, 0))) if old is not None else 0
        self.fit_rows()
        self.scroll_to_row(self._at - offset)
        self.repaint()
        self.post_message(self.Highlighted(self._current_key()))

    def select(self, key: str) -> None:
        """Move the cursor to the record with this id, if it is in the list."""
        position = self._positions.get(key)
        if position is not None:
            self._move_to(position)

    def sorted_by(self, title: str | None, *, reverse: bool = False) -> None:
        """Mark the column by which the rows are sorted; None for the natural order."""
        self._sorted = None if title is None else (title, reverse)
        self.refresh()

    def repaint(self) -> None:
        """Paint the lines that differ, for example because ages have changed."""
        # A resize event may come after the painting for its size: then the painted lines are not known.
        if self._measure() or len(self._painted) < self.size.height:
            self.refresh()
            return
        for y, before in self._painted.items():
            self.send_difference(y, before, self._line(y))

    # keys and mouse

    def action_move(self, rows: int) -> None:
        self._move_to(self._at + rows)

    def choose(self) -> None:
        """Choose the record under the cursor, as Enter does."""
        key = self._current_key()
        if key is not None:
            self.post_message(self.Chosen(key))

    def click_heading(self, event: events.Click) -> None:
        for column, start, room in self._places(self.size.width):
            if start <= event.x < start + room:
                self.post_message(self.Heading(column.title))

    def click_row(self, index: int, event: events.Click) -> None:
        self._move_to(index)
        if event.chain == 2:
            self.choose()

    def _move_to(self, index: int) -> None:
        if not self._items:
            return
        index = min(max(index, 0), len(self._items) - 1)
        if index >= len(self._items) - NEAR_END:
            self.post_message(self.NearEnd())
        if index == self._at:
            return
        before, self._at = self._at, index
        for row in (before, index):
            self.send_line(row - self.top_row + 1)
        self.show_cursor()
        if self._measure():
            self.refresh()
        self.post_message(self.Highlighted(self._current_key()))

    def _current_key(self) -> str | None:
        current = self.current
        return None if current is None else self._key(current)

    # painting

    def on_resize(self) -> None:
        self.fit_rows()
        self._painted.clear()
        self._widest.clear()
        self._measure()

    def _measure(self) -> bool:
        """Note the widest cells on the screen. Return True if a column needs more room.

        Columns never become narrower before the next resize, so that rows that come and go move nothing.
        """
        before = dict(self._widest)
        for item in self._items[self.top_row : self.top_row + self.page_rows]:
            for column in self._columns:
                cells = self._content(column, item).cell_length
                if cells > self._widest.get(column.title, 0):
                    self._widest[column.title] = cells
        return self._widest != before

    def render_line(self, y: int) -> Strip:
        self._painted[y] = strip = self._line(y)
        return strip

    def _line(self, y: int) -> Strip:
        width = self.size.width
        if y == 0:
            titles = [self._title(column) for column in self._columns]
            return self._strip(" ", "", titles, width, self.get_visual_style("row-view--header"))
        index = self.top_row + y - 1
        if index >= len(self._items):
            return Strip.blank(width, self.visual_style.rich_style)
        item = self._items[index]
        cells = [self._content(column, item) for column in self._columns]
        mark = self._mark if self._marked is not None and self._marked(item) else ""
        if index == self._at:
            return self._strip(self._marker, mark, cells, width, self.get_visual_style("row-view--cursor"))
        return self._strip(" ", mark, cells, width, self.visual_style)

    def _content(self, column: Field[Any], item: T) -> Content:
        return Content.assemble(*((safe_text(text), style) for text, style in self._cell(column, item)))

    def _title(self, column: Field[Any]) -> Content:
        if self._sorted is None or self._sorted[0] != column.title:
            return Content(column.title)
        return Content.assemble(column.title, (self._arrows[self._sorted[1]], "$accent"))

    def _places(self, width: int) -> list[tuple[Field[Any], int, int]]:
        """Return the columns that are shown, each with its first cell and its width."""
        shown = [column for column in self._columns if width >= column.needs]
        start = 1 + (self._marked is not None)
        room = width - 2 * (len(shown) - 1) - start - 1
        wanted = [max(self._widest.get(column.title, 0), formatting.width(column.title) + 1) for column in shown]
        widths = [min(column.width, cells) for column, cells in zip(shown, wanted, strict=True)]
        rest = next((n for n, column in enumerate(shown) if column.width == 0), None)
        if rest is not None:
            free = room - sum(widths) + widths[rest]
            widths[rest] = max(min(free, wanted[rest], max(room // 2, widths[rest])), 1)
        left = room - sum(widths)
        for n, cells in enumerate(wanted):
            more = max(min(cells - widths[n], left), 0)
            widths[n], left = widths[n] + more, left - more
        if rest is not None:
            widths[rest] += max(left, 0)
        places = []
        for column, cells in zip(shown, widths, strict=True):
            places.append((column, start, cells))
            start += cells + 2
        return places

    def _strip(self, marker: str, mark: str, cells: Sequence[Content], width: int, style: Style) -> Strip:
        by_column = dict(zip(map(id, self._columns), cells, strict=True))
        parts: list[Content] = []
        for column, _, room in self._places(width):
            cell = by_column[id(column)]
            cell = _shortened(cell, room) if cell.cell_length > room else cell
            space = room - cell.cell_length
            parts.append(cell.pad_left(space) if column.align == "right" else cell.pad_right(space))
        marks = (mark or " ") if self._marked is not None else ""
        line = Content.assemble((marker, "bold $accent"), (marks, "bold $accent"), Content("  ").join(parts), " ")
        return Strip(line.render_segments(style)).adjust_cell_length(width, style.rich_style)


def _shortened(cell: Content, room: int) -> Content:
    """Shorten a cell as ``formatting.shorten`` does, and keep its styles."""
    end = formatting.ending(cell.plain, room)
    head, *tail = cell.divide([len(cell.plain) - len(end)])
    return Content.assemble(head.truncate(room - len(end), ellipsis=True), *(tail if end else ()))
