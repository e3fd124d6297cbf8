"""Look of a list: columns that are as wide as what is in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from textual.content import Content
from textual.strip import Strip
from textual.style import Style

from console.model.fields.field import Field
from console.model.forest import Row
from console.model.order import Order
from console.model.tree_entry import Listed
from console.text import formatting
from console.text.spans import Spans
from console.tui.widgets.look import Look, Styles
from queries.text.safe_text import safe_text

T = TypeVar("T", bound=Listed)

FOLD_SIGN = 2  # cells of the sign at the beginning of a group's first column
TITLE_CELLS = 40  # of the column without a width: wide columns make room for as many on a narrow screen
LENT_DOWN_TO_CELLS = 16  # that a wide column keeps then


class ColumnLook(Look[T]):
    """Columns of texts. A cell before them shows marks, if there are ``marks``.

    ``cell`` returns the text of a record in a column. A column is omitted if the table is narrower than it ``needs``.
    It is as wide as its widest cell if there is room, and never wider.
    """

    def __init__(
        self, cell: Callable[[Field[Any], T], Spans], columns: Sequence[Field[Any]] = (), *, marks: bool = True
    ) -> None:
        self._cell = cell
        self._columns = columns
        self._marks = marks
        self._width = 80
        self._widest: dict[str, int] = {}  # cells of the widest value of each column since the last resize

    @property
    def shown(self) -> list[Field[Any]]:
        return [column for column, _, _ in self._places()]

    def put_columns(self, columns: Sequence[Field[Any]]) -> None:
        """Take other columns of the same records."""
        if columns != self._columns:
            self._columns = columns
            self._widest.clear()

    def fit(self, width: int, room: int) -> None:
        if width != self._width:
            self._width = width
            self._widest.clear()

    def measure(self, records: Iterable[T]) -> bool:
        """Note the widest cells on the screen.

        Columns never become narrower before the next resize, so that rows that come and go move nothing.
        """
        before = dict(self._widest)
        for record in records:
            for column in self._columns:
                cells = self._content(column, record).cell_length
                if cells > self._widest.get(column.title, 0):
                    self._widest[column.title] = cells
        return self._widest != before

    def header(self, order: Order[T] | None, styles: Styles) -> Strip:
        titles = [Content.assemble(c.title, (self.arrow(c.title, order), "$primary")) for c in self._columns]
        return self._strip(self.gutter("", marked=False), titles, styles.content_style(("header",)))

    def line(self, row: Row[T], state: str, changed: frozenset[str], styles: Styles) -> Strip:
        record = row.record
        cells = [Content("") if record is None else self._content(column, record) for column in self._columns]
        style = styles.content_style((state,) if state else ())
        return self._strip(self.gutter(state, marked=row.marked), cells, style)

    def title_at(self, x: int) -> str | None:
        return next((column.title for column, start, room in self._places() if start <= x < start + room), None)

    def fold_sign_at(self, row: Row[T]) -> range:
        start = 1 + self._marks
        return range(start, start + FOLD_SIGN)

    def _content(self, column: Field[Any], record: T) -> Content:
        return Content.assemble(*((safe_text(text), style) for text, style in self._cell(column, record)))

    def _places(self) -> list[tuple[Field[Any], int, int]]:
        """Return the columns that are shown, each with its first cell and its width."""
        shown = [column for column in self._columns if self._width >= column.needs]
        start = 1 + self._marks
        room = self._width - 2 * (len(shown) - 1) - start - 1
        wanted = [max(self._widest.get(column.title, 0), formatting.width(column.title) + 1) for column in shown]
        widths = [min(column.width, cells) for column, cells in zip(shown, wanted, strict=True)]
        rest = next((n for n, column in enumerate(shown) if column.width == 0), None)
        if rest is not None:
            free = room - sum(widths) + widths[rest]
            title = min(wanted[rest], TITLE_CELLS)
            for n, cells in enumerate(widths):
                lent = max(min(title - free, cells - LENT_DOWN_TO_CELLS), 0) if n != rest else 0
                widths[n], free = cells - lent, free + lent
            widths[rest] = max(min(free, wanted[rest], max(room // 2, TITLE_CELLS)), 1)
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

    def _strip(self, gutter: str, cells: Sequence[Content], style: Style) -> Strip:
        by_column = dict(zip(map(id, self._columns), cells, strict=True))
        parts: list[Content] = []
        for column, _, room in self._places():
            cell = by_column[id(column)]
            cell = _shortened(cell, room) if cell.cell_length > room else cell
            space = room - cell.cell_length
            parts.append(cell.pad_left(space) if column.align == "right" else cell.pad_right(space))
        before = gutter[: 1 + self._marks]
        line = Content.assemble((before, "bold $primary"), Content("  ").join(parts), " ")
        return Strip(line.render_segments(style))


def _shortened(cell: Content, room: int) -> Content:
    """Shorten a cell as ``formatting.shorten`` does, and keep its styles."""
    end = formatting.ending(cell.plain, room)
    head, *tail = cell.divide([len(cell.plain) - len(end)])
    return Content.assemble(head.truncate(room - len(end), ellipsis=True), *(tail if end else ()))
