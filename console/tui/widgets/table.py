"""List of records with columns.

The cursor stays on its record while other records come and go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from textual import events
from textual.content import Content
from textual.message import Message
from textual.strip import Strip
from textual.style import Style

from console.text import formatting
from console.tui.widgets.row_view import RowView

T = TypeVar("T")

NEAR_END = 20  # rows before the end at which more records are requested


class Column(NamedTuple, Generic[T]):
    """One column. A column is omitted if the table is narrower than ``needs`` cells."""

    title: str
    width: int  # in cells; 0 for the column that takes the rest
    cell: Callable[[T], Content]
    needs: int = 0
    right: bool = False  # align right
    spare: bool = False  # takes the rest if the column of width 0 is omitted


class Table(RowView, Generic[T]):
    """Rows of records. ``key`` returns the id of a record."""

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
        self, columns: Sequence[Column[T]], key: Callable[[T], str], id: str | None = None, *, ascii: bool = False
    ) -> None:
        super().__init__(id=id)
        self._marker = ">" if ascii else "▌"
        self._columns = columns
        self._key = key
        self._items: Sequence[T] = ()
        self._positions: dict[str, int] = {}
        self._at = 0

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
        self.refresh()
        self.post_message(self.Highlighted(self._current_key()))

    def select(self, key: str) -> None:
        """Move the cursor to the record with this id, if it is in the list."""
        position = self._positions.get(key)
        if position is not None:
            self._move_to(position)

    def repaint(self) -> None:
        """Paint the same records again, for example because their ages changed."""
        self.refresh()

    # keys and mouse

    def action_move(self, rows: int) -> None:
        self._move_to(self._at + rows)

    def choose(self) -> None:
        """Choose the record under the cursor, as Enter does."""
        key = self._current_key()
        if key is not None:
            self.post_message(self.Chosen(key))

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
        self.post_message(self.Highlighted(self._current_key()))

    def _current_key(self) -> str | None:
        current = self.current
        return None if current is None else self._key(current)

    # painting

    def on_resize(self) -> None:
        self.fit_rows()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y == 0:
            titles = [Content(column.title) for column in self._columns]
            return self._strip(" ", titles, width, self.get_visual_style("row-view--header"))
        index = self.top_row + y - 1
        if index >= len(self._items):
            return Strip.blank(width, self.rich_style)
        cells = [column.cell(self._items[index]) for column in self._columns]
        if index == self._at:
            return self._strip(self._marker, cells, width, self.get_visual_style("row-view--cursor"))
        return self._strip(" ", cells, width, self.visual_style)

    def _strip(self, marker: str, cells: Sequence[Content], width: int, style: Style) -> Strip:
        shown = [(column, cell) for column, cell in zip(self._columns, cells, strict=True) if width >= column.needs]
        spare = not any(column.width == 0 for column, _ in shown)
        fixed = sum(c.width for c, _ in shown if not (spare and c.spare)) + 2 * (len(shown) - 1) + 2
        parts: list[Content] = []
        for column, cell in shown:
            room = max(width - fixed, 1) if column.width == 0 or (spare and column.spare) else column.width
            cell = _shortened(cell, room) if cell.cell_length > room else cell
            space = room - cell.cell_length
            parts.append(cell.pad_left(space) if column.right else cell.pad_right(space))
        line = Content.assemble((marker, "bold $accent"), Content("  ").join(parts), " ")
        return Strip(line.render_segments(style)).adjust_cell_length(width, style.rich_style)


def _shortened(cell: Content, room: int) -> Content:
    """Shorten a cell as ``formatting.shorten`` does, and keep its styles."""
    end = formatting.ending(cell.plain, room)
    head, *tail = cell.divide([len(cell.plain) - len(end)])
    return Content.assemble(head.truncate(room - len(end), ellipsis=True), *(tail if end else ()))
