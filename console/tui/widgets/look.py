"""Look of the lines of a list: gutter, guides, cells.

Text is never read as markup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Generic, Protocol, TypeVar

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.strip import Strip

from console.model.fields.field import NOTHING, Context, Field
from console.model.fields.node import error_line
from console.model.flat_list import EdgeRow, Listed, Order, Row
from console.text import formatting, spans
from console.text.ascii import TABLE
from console.text.formatting import Align
from console.text.spans import Spans
from console.tui.widgets.columns import ALWAYS, GAP_CELLS, LIST_GAP_CELLS, fitted, heading, layout
from queries.records.node import Phase, split_id
from queries.records.record import Record
from queries.text.safe_text import safe_text

T = TypeVar("T", bound=Listed)

GUTTER_CELLS = 2  # cells of the signs of the cursor and of a mark
INDENT_CELLS = 2  # cells per level
FOLD_SIGN_CELLS = 2  # cells of the sign of a row that can be unfolded
FINDING_SIGN = "! "  # before the title of a node with a finding, on a screen that is too narrow to name it
CHANGED = "changed"

# Component classes by the names that looks and fields use.
CLASSES = {
    name: f"list-table--{name}"
    for name in (
        *("header", "cursor", "cursor-blurred", "marked", "marker", CHANGED, "guides", "dimmed", "muted", "edge"),
        *("late", "finding", "bar"),
        *(f"phase-{phase}" for phase in Phase),
    )
}


ERROR_CELLS = 12  # of a row at least, for the begin of an error beside its title


class Glyphs(Record, kw_only=False):
    """Characters of guides and signs. All except the last are two cells wide."""

    guide: str
    branch: str
    last: str
    folded: str
    unfolded: str
    ellipsis: str


GLYPHS = Glyphs("│ ", "├ ", "└ ", "▸ ", "▾ ", "…")
ASCII_GLYPHS = Glyphs("| ", "|-", "`-", "+ ", "- ", "~")
BLANK = "  "

EDGES = {
    EdgeRow.MORE: "more",
    EdgeRow.LOADING: "loading",
    EdgeRow.COSTLY: "costly: not read",
}


Run = tuple[str, tuple[str, ...]]
"""Text and the names of its styles."""


class Styles(Protocol):
    """Combined styles of component classes and of spans."""

    def cell_style(self, names: tuple[str, ...]) -> RichStyle:
        """Return the style of a segment, in the terminal's colours."""


class Look(Generic[T]):
    """Look of the lines: the columns, and what is before the first one.

    Args:
        columns: the columns that the records have.
        cell: returns the text of a record in a column; default: that of the field.
        tree: True if a column has its own width, and is shown from the first row on that has something in it. In other
            lists a column is as wide as what is in it.
        context: what cells need apart from the record; a screen replaces it.
    """

    def __init__(
        self,
        columns: Sequence[Field[Any]] = (),
        cell: Callable[[Field[Any], T], Spans] | None = None,
        *,
        tree: bool = False,
        context: Context = NOTHING,
    ) -> None:
        self.context = context
        self._cell = cell or self._rendered
        self._tree = tree
        self._width = 80
        self.put_columns(columns)

    @property
    def shown(self) -> list[Field[Any]]:
        """The columns that the screen has room for."""
        return [column for column, _, _ in self._places]

    def put_columns(self, columns: Sequence[Field[Any]], *, folds: bool = False) -> None:
        """Take other columns, of which no row was seen yet.

        ``folds``: guides and a fold sign are before the first one, as always in a tree.
        """
        self.columns = columns
        self.folds = folds or self._tree
        self._titled: dict[tuple[str | None, str], str] = {}  # the first row of a tree with a title, by its parent
        self._alike: set[tuple[str | None, str]] = set()  # titles that several rows have: each shows its id
        self._seen: dict[tuple[str | None, ...], Row[T]] = {}  # the first row of another list with these texts
        self._differs: dict[str, Field[Any]] = {}  # of rows that look alike: the first that differs, by id
        self._widest: dict[str, int] = {}  # cells of the widest text of each column that has one
        self._lay_out()

    def fit(self, width: int) -> None:
        """Lay out the columns in a table of this width.

        Forget the rows that were seen, except in a tree.
        """
        if width != self._width:
            self._width = width
            if not self._tree:
                for seen in (self._widest, self._seen, self._differs):
                    seen.clear()
            self._lay_out()

    def measure(self, rows: Iterable[Row[T]]) -> bool:
        """Note what the rows on the screen need.

        Return True if the columns were laid out again. No column vanishes or becomes narrower because of rows that come
        and go, so that these move nothing.
        """
        rows = list(rows)
        before, alike = dict(self._widest), len(self._alike) + len(self._differs)
        for row in rows if self._tree else ():
            record: Any = row.record
            if record is not None and self._titled.setdefault((row.parent_id, record.title), row.id) != row.id:
                self._alike.add((row.parent_id, record.title))
        columns = [column for column in self.columns if not (self._tree and column.name in before)]
        for row in rows if columns else ():
            if row.record is None:
                continue
            texts = {column.name: spans.text(self._cell(column, row.record)) for column in columns}
            beside = 0 if self._tree else self._tell_apart(row, texts)
            for column in columns:
                if (text := texts[column.name]) not in ("", formatting.NONE):
                    cells = formatting.width(safe_text(text, self.context.ascii))
                    cells += len(self._before(row)) + beside if column is self.columns[0] else 0
                    self._widest[column.name] = max(self._widest.get(column.name, 0), cells)
        if self._widest == before:
            return len(self._alike) + len(self._differs) > alike
        self._lay_out()
        return True

    def _tell_apart(self, row: Row[T], texts: Mapping[str, str]) -> int:
        """Find what differs if another row has the same texts. Return its cells."""
        shown = self.shown
        looks = [texts[column.name] for column in shown if not column.absolute]
        first = self._seen.setdefault((row.parent_id, *looks), row)
        other = first.record if first.id != row.id else None
        for column in self.columns:
            if other and column not in shown and texts[column.name] != spans.text(self._cell(column, other)):
                self._differs[first.id] = self._differs[row.id] = column
                break
        return 0 if row.id not in self._differs else formatting.width(texts[self._differs[row.id].name]) + 2

    def _lay_out(self) -> None:
        room = self._width - 1 - GUTTER_CELLS
        if self._tree:
            columns = [column for column in self.columns if column.name in ALWAYS or column.name in self._widest]
            sized, gap = layout(columns, room), GAP_CELLS
        else:
            columns = [column for column in self.columns if self._width >= column.needs]
            sized, gap = fitted(columns, room, self._widest), LIST_GAP_CELLS
        start = GUTTER_CELLS
        self._places: list[tuple[Field[Any], int, int]] = []  # each with its first cell and its width
        for column, cells in sized:
            self._places.append((column, start, cells))
            start += cells + gap
        self._end = start - gap if sized else start
        self._first = sized[0][1] if sized else 0
        dropped = [column for column in columns if column not in self.shown]
        self._unnamed = next((column for column in dropped if column.name == "finding"), None)

    def header(self, order: Order[T] | None, styles: Styles) -> Strip:
        """Return the headings; an arrow shows the order."""
        runs: list[Run] = []
        end = 0
        for column, start, cells in self._places:
            arrow = self._arrow(column, order)
            text = formatting.fit(heading(column)[: cells - len(arrow)] + arrow, cells, column.align)
            runs.append((" " * (start - end) + text, ("header", "marker") if arrow else ("header",)))
            end = start + cells
        return Strip(_segments(runs, styles) if runs else [], self._end)

    def _arrow(self, column: Field[Any], order: Order[T] | None) -> str:
        if order is None or order.title != column.title:
            return ""
        upwards = order.reverse != (column.align == "left")  # of numbers and ages the largest are first
        return ("v^" if self.context.ascii else "▼▲")[upwards]

    def line(self, row: Row[T], state: str, changed: frozenset[str], styles: Styles) -> Strip:
        """Return the line of a row.

        ``state`` is the style of the cursor, if it is on the row; ``changed`` are fields to highlight.
        """
        base = tuple(name for name in (state, "marked" if row.marked else "") if name)
        before = self._before(row)
        cursor, mark = ">*" if self.context.ascii else "▌●"
        gutter = (cursor if state else " ") + (mark if row.marked else " ")
        runs = [(gutter, (*base, "marker")), (before[: self._first], (*base, "guides"))]
        if row.record is None:
            text = formatting.fit(_edge(row, self.context), self._end - GUTTER_CELLS - len(before))
            runs.append((text, (*base, "edge")))
        else:
            runs += self._cells(row, row.record, self._first - len(before), base, changed)
        if self.context.ascii:
            runs = [(text.translate(TABLE), names) for text, names in runs]
        return Strip(_segments(runs, styles), self._end)

    def title_at(self, x: int) -> str | None:
        """Return the title of the column at a cell."""
        return next((column.title for column, start, cells in self._places if x <= start + cells), None)

    def fold_sign_at(self, row: Row[T]) -> range:
        """Return the cells of a line in which a click folds or unfolds the row."""
        start = GUTTER_CELLS + max(len(self._before(row)) - FOLD_SIGN_CELLS, 0)
        return range(start, start + FOLD_SIGN_CELLS)

    def _rendered(self, column: Field[Any], record: T) -> Spans:
        return [column.render(record, self.context)]

    def _before(self, row: Row[T]) -> str:
        if not self.folds:
            return ""
        glyphs = ASCII_GLYPHS if self.context.ascii else GLYPHS
        fold_sign = (glyphs.unfolded if row.expanded else glyphs.folded) if row.expandable else BLANK
        return indent(row, min(self._first // 2, 40), self.context.ascii) + fold_sign

    def _beside(self, row: Row[T], record: Any, title: Spans, room: int) -> Spans:
        """Return a title with its id if others look alike, and a failed node's error.

        What there is no room for is omitted.
        """
        key, error, left = split_id(row.id)[2], error_line(record), room - spans.width(title)
        short = formatting.short_id(key, min(left - 2, formatting.ID_CELLS))
        if (row.parent_id, record.title) in self._alike and key not in record.title and short:
            title, left = [*title, (f"  {short}", "muted")], left - len(short) - 2
        if error and left > ERROR_CELLS:
            title = [*title, (f"  {formatting.crop(safe_text(error), left - 2)}", "muted")]
        return title

    def _cells(self, row: Row[T], record: T, room: int, base: tuple[str, ...], changed: frozenset[str]) -> list[Run]:
        runs: list[Run] = []
        end = GUTTER_CELLS
        for column, start, cells in self._places:
            line = self._cell(column, record)
            if self._unnamed is not None and start == GUTTER_CELLS and spans.text(self._cell(self._unnamed, record)):
                line = [(FINDING_SIGN + line[0][0], line[0][1])]  # the column that says which finding it is has no room
            if self._tree and column.name == "title":
                line = self._beside(row, record, line, room)
            elif start == GUTTER_CELLS and row.id in self._differs:
                apart = f"  {formatting.crop(spans.text(self._cell(self._differs[row.id], record)), room // 2)}"
                line = [*spans.crop(line, room - formatting.width(apart)), (apart, "muted")]
            names = (*base, CHANGED) if not changed.isdisjoint(column.parts) else base
            if start > end:
                runs.append((" " * (start - end), base))
            for text, style in _fitted(
                line, room if start == GUTTER_CELLS else cells, column.align, self.context.ascii
            ):
                runs.append((text, (*names, "dimmed" if row.dimmed else style) if row.dimmed or style else names))
            end = start + cells
        return runs


def indent(row: Row[Any], room: int, ascii: bool = False) -> str:
    """Return the guides of a row in at most ``room`` cells.

    A row too deep for that shows its depth as a number.
    """
    glyphs = ASCII_GLYPHS if ascii else GLYPHS
    if row.depth == 0:
        return ""
    elbow = glyphs.last if row.last else glyphs.branch
    levels = max(room // INDENT_CELLS - 1, 2)
    if row.depth > levels or len(row.guides) < row.depth - 1:
        return f"{glyphs.ellipsis}{row.depth}".ljust(levels * INDENT_CELLS - len(elbow)) + elbow
    return "".join(glyphs.guide if goes_on else BLANK for goes_on in row.guides) + elbow


def _fitted(line: Spans, cells: int, align: Align, ascii: bool) -> Spans:
    """Crop or pad a text to ``cells``.

    A number at its end is kept: ``send_confirm… +2``.
    """
    if len(line) != 1:
        line = [part for part in line if part[0]] or [("", "")]
    if len(line) == 1:
        ((text, style),) = line
        return [(_text(text if len(text) <= 4 * cells else text[: 4 * cells] + "…", cells, align, ascii), style)]
    parts = [(safe_text(text, ascii), style) for text, style in line]
    space = " " * (cells - spans.width(parts))
    if spans.width(parts) > cells:
        end = formatting.ending(spans.text(parts), cells)
        parts = [*spans.crop(parts, cells - len(end)), (end, parts[-1][1])]
        space = " " * (cells - spans.width(parts))  # half of a wide character
    return [(space, ""), *parts] if align == "right" else [*parts, (space, "")]


@lru_cache(4096)
def _text(text: str, cells: int, align: Align, ascii: bool) -> str:
    return formatting.fit(formatting.shorten(safe_text(text, ascii), cells), cells, align)


def _segments(runs: Sequence[Run], styles: Styles) -> list[Segment]:
    """Return the segments of a line, merging neighbours that look the same.

    Textual handles each segment several times, so fewer are faster. A blank looks the same in any style without a
    background of its own.
    """
    segments: list[Segment] = []
    text, before = runs[0]
    blank = text.isspace()
    for more, names in runs[1:]:
        if names == before:
            text += more
            blank = blank and more.isspace()
        elif CHANGED in before or CHANGED in names:
            segments.append(Segment(text, styles.cell_style(before)))
            text, before, blank = more, names, more.isspace()
        elif more.isspace():
            text += more
        elif blank:
            text, before, blank = text + more, names, False
        else:
            segments.append(Segment(text, styles.cell_style(before)))
            text, before = more, names
    segments.append(Segment(text, styles.cell_style(before)))
    return segments


def _edge(row: Row[Any], context: Context) -> str:
    if row.edge is None:
        return ""
    dots = "" if row.edge is EdgeRow.COSTLY else "..." if context.ascii else "…"
    note = f" ({safe_text(row.note, context.ascii)})" if row.note else ""
    return EDGES[row.edge] + dots + note
