"""Look of a tree: gutter, guides and cells.

Text is never read as markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.segment import Segment
from textual.strip import Strip

from console.model.fields.field import Context, Field
from console.model.fields.node import COLUMNS
from console.model.forest import EdgeRow, Row
from console.model.order import Order
from console.text import formatting
from console.text.ascii import TABLE, to_ascii
from console.tui.widgets.columns import GAP, heading, layout
from console.tui.widgets.look import Look, Styles
from queries.records.node import Node
from queries.records.record import Record
from queries.text.safe_text import safe_text

GUTTER = 2
INDENT_CELLS = 2  # cells per level
FOLD_SIGN = 2  # cells of the sign of a row that can be unfolded
ALWAYS = ("title", "status")  # columns that are shown even if they are empty
SIGN = "! "  # before the title of a node with a finding, on a screen that is too narrow to name it


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
CHANGED = "changed"

EDGES = {
    EdgeRow.BEFORE: "more above",
    EdgeRow.MORE: "more",
    EdgeRow.LOADING: "loading",
    EdgeRow.COSTLY: "costly: not read",
}


Run = tuple[str, tuple[str, ...]]
"""Text and the names of its styles."""


class TreeLook(Look[Node]):
    """Columns of nodes; guides and a fold sign are in the first.

    A column is shown from the first row on that has something in it.
    """

    FITTED = True

    def __init__(self, columns: Sequence[Field[Node]] = COLUMNS) -> None:
        self._room = 80
        self.put_columns(columns)

    @property
    def shown(self) -> list[Field[Node]]:
        return [column for column, _ in self._layout]

    def put_columns(self, columns: Sequence[Field[Node]]) -> None:
        """Take the columns of other nodes, of which no row was seen yet."""
        self._used = [column for column in columns if column.name in ALWAYS]
        self._unused = [column for column in columns if column.name not in ALWAYS]
        self._order = columns
        self.fit(self._room, self._room)

    def measure(self, records: Iterable[Node]) -> bool:
        """Note the columns that the records on the screen have something in.

        A column stays until the next ``put_columns``, so that rows that come and go move nothing.
        """
        nodes = list(records) if self._unused else []
        new = [column for column in self._unused if any(self._has(column, node) for node in nodes)]
        if new:
            self._used += new
            self._unused = [column for column in self._unused if column not in new]
            self.fit(self._room, self._room)
        return bool(new)

    def _has(self, column: Field[Node], node: Node) -> bool:
        return column.render(node, self.context)[0] not in ("", formatting.NONE)

    def fit(self, width: int, room: int) -> None:
        self._room = room
        columns = [column for column in self._order if column in self._used]
        self._layout = layout(columns, room - GUTTER)
        dropped = [column for column in columns if column not in self.shown]
        self._sign = next((column for column in dropped if column.name == "finding"), None)
        self._width = GUTTER + sum(cells for _, cells in self._layout) + GAP * (len(self._layout) - 1)

    def header(self, order: Order[Node] | None, styles: Styles) -> Strip:
        segments = [Segment(" " * GUTTER, styles.cell_style(("header",)))]
        for number, (column, cells) in enumerate(self._layout):
            arrow = self.arrow(column.title, order)
            text = heading(column)[: cells - len(arrow)] + arrow
            text = " " * (GAP if number else 0) + formatting.fit(text, cells, column.align, self.context.ascii)
            segments.append(Segment(text, styles.cell_style(("header", "marker") if arrow else ("header",))))
        return Strip(segments, self._width)

    def line(self, row: Row[Node], state: str, changed: frozenset[str], styles: Styles) -> Strip:
        glyphs = ASCII_GLYPHS if self.context.ascii else GLYPHS
        base = tuple(name for name in (state, "marked" if row.marked else "") if name)
        room = self._layout[0][1]
        guides = indent(row, room_for_indent(room), self.context.ascii)
        fold_sign = (glyphs.unfolded if row.expanded else glyphs.folded) if row.expandable else BLANK
        runs = [(self.gutter(state, marked=row.marked), (*base, "marker"))]
        runs += [((guides + fold_sign)[:room], (*base, "guides"))]
        runs += self._cells(row, room - len(guides) - FOLD_SIGN, base, changed)
        if self.context.ascii:
            runs = [(text.translate(TABLE), names) for text, names in runs]
        return Strip(_segments(runs, styles), self._width)

    def title_at(self, x: int) -> str | None:
        end = GUTTER
        for column, cells in self._layout:
            end += cells + GAP
            if x < end:
                return column.title
        return None

    def fold_sign_at(self, row: Row[Node]) -> range:
        start = GUTTER + len(indent(row, room_for_indent(self._layout[0][1])))
        return range(start, start + FOLD_SIGN)

    def _cells(self, row: Row[Node], room: int, base: tuple[str, ...], changed: frozenset[str]) -> list[Run]:
        layout, context = self._layout, self.context
        node = row.record
        if node is None:
            width = room + sum(cells + GAP for _, cells in layout[1:])
            return [(formatting.fit(_edge(row, context), width, ascii=context.ascii), (*base, "edge"))]
        runs: list[Run] = []
        for number, (column, cells) in enumerate(layout):
            text, style = column.render(node, context)
            if not number and self._sign is not None and self._sign.render(node, context)[0]:
                text = SIGN + text  # the column that says which finding it is has no room
            if column.foreign:
                text = safe_text(text[: 4 * cells], context.ascii)
            elif context.ascii:
                text = to_ascii(text)
            names = (*base, "dimmed") if row.dimmed else (*base, style) if style else base
            width = cells if number else room
            if not number and column.foreign and len(text) <= 4 * cells:
                text = formatting.shorten(text, width, context.ascii)
            text = formatting.fit(text, width, column.align, context.ascii)
            if changed and not changed.isdisjoint(column.parts):
                runs += [(" " * GAP, base)] if number else []
                names = (*names, CHANGED)
            elif number:
                text = " " * GAP + text  # merges with the text: a blank without a background has no colour
            runs.append((text, names))
        return runs


def indent(row: Row[Node], room: int, ascii: bool = False) -> str:
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


def room_for_indent(width: int) -> int:
    """Return the maximum number of cells for guides in a title column of this width."""
    return min(width // 2, 40)


def _segments(runs: list[Run], styles: Styles) -> list[Segment]:
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


def _edge(row: Row[Node], context: Context) -> str:
    if row.edge is None:
        return ""
    dots = "" if row.edge is EdgeRow.COSTLY else "..." if context.ascii else "…"
    note = f" ({safe_text(row.note, context.ascii)})" if row.note else ""
    return EDGES[row.edge] + dots + note
