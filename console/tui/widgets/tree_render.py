"""Rendering of a tree line: gutter, guides and cells.

Text is never read as markup.
"""

from __future__ import annotations

from collections.abc import Callable

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from console.model.fields.field import Context, Field
from console.model.forest import EdgeRow, Row
from console.model.order import Order
from console.text import formatting
from console.text.ascii import TABLE
from console.tui.widgets.columns import GAP, Layout, heading
from queries.records.node import Node
from queries.records.record import Record
from queries.text.safe_text import safe_text

GUTTER = 2
INDENT_CELLS = 2  # cells per level
FOLD_SIGN = 2  # cells of the sign of a row that can be unfolded


class Glyphs(Record, kw_only=False):
    """Characters of guides and signs. All except the last three are two cells wide."""

    guide: str
    branch: str
    last: str
    folded: str
    unfolded: str
    cursor: str
    mark: str
    ellipsis: str


GLYPHS = Glyphs("│ ", "├ ", "└ ", "▸ ", "▾ ", "▌", "●", "…")
ASCII_GLYPHS = Glyphs("| ", "|-", "`-", "+ ", "- ", ">", "*", "~")
BLANK = "  "
CHANGED = "changed"

EDGES = {
    EdgeRow.BEFORE: "more above",
    EdgeRow.MORE: "more",
    EdgeRow.LOADING: "loading",
    EdgeRow.COSTLY: "costly: not read",
}

StyleOf = Callable[[tuple[str, ...]], Style]
"""Return the combined style of these names."""


def indent(row: Row, room: int, ascii: bool = False) -> str:
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


def fold_sign_at(row: Row, layout: Layout) -> range:
    """Return the cells of a line in which a click folds or unfolds the row."""
    start = GUTTER + len(indent(row, room_for_indent(layout[0][1])))
    return range(start, start + FOLD_SIGN)


def header(layout: Layout, context: Context, style_of: StyleOf, order: Order[Node] | None) -> Strip:
    """Render the headings of the columns. An arrow shows the order of siblings."""
    segments = [Segment(" " * GUTTER, style_of(("header",)))]
    for number, (column, cells) in enumerate(layout):
        by_it = order is not None and order.title == column.title
        arrow = ("v^" if context.ascii else "▼▲")[order.reverse] if order is not None and by_it else ""
        text = heading(column)[: cells - len(arrow)] + arrow
        text = " " * (GAP if number else 0) + formatting.fit(text, cells, column.align, context.ascii)
        segments.append(Segment(text, style_of(("header", "marker") if by_it else ("header",))))
    return Strip(segments, _width(layout))


def column_at(x: int, layout: Layout) -> Field[Node] | None:
    """Return the column at a cell of a line."""
    end = GUTTER
    for column, cells in layout:
        end += cells + GAP
        if x < end:
            return column
    return None


def line(row: Row, layout: Layout, context: Context, style_of: StyleOf, state: str, changed: frozenset[str]) -> Strip:
    """Render a row.

    ``state`` is the style of the cursor, if it is on the row; ``changed`` are fields to highlight.
    """
    glyphs = ASCII_GLYPHS if context.ascii else GLYPHS
    base = tuple(name for name in (state, "marked" if row.marked else "") if name)
    gutter = (glyphs.cursor if state else " ") + (glyphs.mark if row.marked else " ")
    room = layout[0][1]
    guides = indent(row, room_for_indent(room), context.ascii)
    fold_sign = (glyphs.unfolded if row.expanded else glyphs.folded) if row.expandable else BLANK
    runs = [(gutter, (*base, "marker")), ((guides + fold_sign)[:room], (*base, "guides"))]
    runs += _cells(row, layout, room - len(guides) - FOLD_SIGN, context, base, changed)
    if context.ascii:
        runs = [(text.translate(TABLE), names) for text, names in runs]
    return Strip(_segments(runs, style_of), _width(layout))


def _width(layout: Layout) -> int:
    return GUTTER + sum(cells for _, cells in layout) + GAP * (len(layout) - 1)


Run = tuple[str, tuple[str, ...]]
"""Text and the names of its styles."""


def _segments(runs: list[Run], style_of: StyleOf) -> list[Segment]:
    """Return the segments of a line, merging neighbours that context the same.

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
            segments.append(Segment(text, style_of(before)))
            text, before, blank = more, names, more.isspace()
        elif more.isspace():
            text += more
        elif blank:
            text, before, blank = text + more, names, False
        else:
            segments.append(Segment(text, style_of(before)))
            text, before = more, names
    segments.append(Segment(text, style_of(before)))
    return segments


def _cells(
    row: Row, layout: Layout, room: int, context: Context, base: tuple[str, ...], changed: frozenset[str]
) -> list[Run]:
    node = row.node
    if node is None:
        width = room + sum(cells + GAP for _, cells in layout[1:])
        return [(formatting.fit(_edge(row, context), width, ascii=context.ascii), (*base, "edge"))]
    runs: list[Run] = []
    for number, (column, cells) in enumerate(layout):
        text, style = column.render(node, context)
        if column.foreign:
            text = safe_text(text[: 4 * cells], context.ascii)
        elif context.ascii:
            text = formatting.plain(text)
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


def _edge(row: Row, context: Context) -> str:
    if row.edge is None:
        return ""
    dots = "" if row.edge is EdgeRow.COSTLY else "..." if context.ascii else "…"
    note = f" ({safe_text(row.note, context.ascii)})" if row.note else ""
    return EDGES[row.edge] + dots + note
