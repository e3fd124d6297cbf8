"""How one line of the tree is put together: gutter, guides, cells. Text goes in as text, never as markup."""

from __future__ import annotations

from collections.abc import Callable

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from console.model.forest import EdgeRow, Row
from console.text import formatting
from console.text.ascii import TABLE
from console.tui.widgets.columns import GAP, Layout, RenderContext
from queries.model import Record
from queries.safe_text import safe_text

GUTTER = 2
STEP = 2  # cells a level
FLAG = 2  # cells of the sign that says whether a row unfolds


class Glyphs(Record, kw_only=False):
    """What lines are drawn with; all but the last three are two cells wide."""

    rail: str
    branch: str
    last: str
    folded: str
    unfolded: str
    cursor: str
    mark: str
    ellipsis: str


SIGNS = Glyphs("│ ", "├ ", "└ ", "▸ ", "▾ ", "▌", "●", "…")
ASCII_SIGNS = Glyphs("| ", "|-", "`-", "+ ", "- ", ">", "*", "~")
NOTHING = "  "
CHANGED = "changed"

TAILS = {
    EdgeRow.BEFORE: "more above",
    EdgeRow.MORE: "more",
    EdgeRow.LOADING: "loading",
    EdgeRow.COSTLY: "costly: not read",
}

Ink = Callable[[tuple[str, ...]], Style]
"""The style that those of these names make together."""


def indent(row: Row, room: int, ascii: bool = False) -> str:
    """The guides of a row in at most ``room`` cells; a row too deep for that says its depth as a number."""
    signs = ASCII_SIGNS if ascii else SIGNS
    if row.depth == 0:
        return ""
    elbow = signs.last if row.last else signs.branch
    levels = max(room // STEP - 1, 2)
    if row.depth > levels or len(row.guides) < row.depth - 1:
        return f"{signs.ellipsis}{row.depth}".ljust(levels * STEP - len(elbow)) + elbow
    return "".join(signs.rail if goes_on else NOTHING for goes_on in row.guides) + elbow


def room_for_indent(width: int) -> int:
    """How many cells of a title column of this width guides may take."""
    return min(width // 2, 40)


def flag_at(row: Row, layout: Layout) -> range:
    """The cells of a line in which a click folds or unfolds the row."""
    start = GUTTER + len(indent(row, room_for_indent(layout[0][1])))
    return range(start, start + FLAG)


def header(layout: Layout, look: RenderContext, ink: Ink) -> Strip:
    """The titles of the columns."""
    texts = [formatting.fit(column.title, cells, column.align, look.ascii) for column, cells in layout]
    return Strip([Segment(" " * GUTTER + (" " * GAP).join(texts), ink(("header",)))], _width(layout))


def line(row: Row, layout: Layout, look: RenderContext, ink: Ink, state: str, changed: frozenset[str]) -> Strip:
    """A row. ``state`` is the style of a row under the cursor, or empty; ``changed``, the node's fields that differ."""
    signs = ASCII_SIGNS if look.ascii else SIGNS
    base = tuple(name for name in (state, "marked" if row.marked else "") if name)
    gutter = (signs.cursor if state else " ") + (signs.mark if row.marked else " ")
    room = layout[0][1]
    guides = indent(row, room_for_indent(room), look.ascii)
    flag = (signs.unfolded if row.expanded else signs.folded) if row.expandable else NOTHING
    runs = [(gutter, (*base, "marker")), ((guides + flag)[:room], (*base, "guides"))]
    runs += _cells(row, layout, room - len(guides) - FLAG, look, base, changed)
    if look.ascii:
        runs = [(text.translate(TABLE), names) for text, names in runs]
    return Strip(_segments(runs, ink), _width(layout))


def _width(layout: Layout) -> int:
    return GUTTER + sum(cells for _, cells in layout) + GAP * (len(layout) - 1)


Run = tuple[str, tuple[str, ...]]
"""Text, and the names of its styles."""


def _segments(runs: list[Run], ink: Ink) -> list[Segment]:
    """Neighbours that look alike become one: each segment is handled several times on its way to the terminal.

    A blank looks the same in any ink of its row, as long as that has no background of its own.
    """
    segments: list[Segment] = []
    text, before = runs[0]
    blank = text.isspace()
    for more, names in runs[1:]:
        if names == before:
            text += more
            blank = blank and more.isspace()
        elif CHANGED in before or CHANGED in names:
            segments.append(Segment(text, ink(before)))
            text, before, blank = more, names, more.isspace()
        elif more.isspace():
            text += more
        elif blank:
            text, before, blank = text + more, names, False
        else:
            segments.append(Segment(text, ink(before)))
            text, before = more, names
    segments.append(Segment(text, ink(before)))
    return segments


def _cells(
    row: Row, layout: Layout, room: int, look: RenderContext, base: tuple[str, ...], changed: frozenset[str]
) -> list[Run]:
    node = row.node
    if node is None:
        width = room + sum(cells + GAP for _, cells in layout[1:])
        return [(formatting.fit(_tail(row, look), width, ascii=look.ascii), (*base, "tail"))]
    runs: list[Run] = []
    for number, (column, cells) in enumerate(layout):
        text, style = column.render(node, look)
        if column.foreign:
            text = safe_text(text[: 4 * cells], look.ascii)
        elif look.ascii:
            text = formatting.plain(text)
        names = (*base, "dimmed") if row.dimmed else (*base, style) if style else base
        width = cells if number else room
        if not number and column.foreign and len(text) <= 4 * cells:
            text = formatting.shorten(text, width, look.ascii)
        text = formatting.fit(text, width, column.align, look.ascii)
        if changed and not changed.isdisjoint(column.fields):
            runs += [(" " * GAP, base)] if number else []
            names = (*names, CHANGED)
        elif number:
            text = " " * GAP + text  # a blank without a background of its own looks the same in any ink
        runs.append((text, names))
    return runs


def _tail(row: Row, look: RenderContext) -> str:
    if row.edge is None:
        return ""
    dots = "" if row.edge is EdgeRow.COSTLY else "..." if look.ascii else "…"
    note = f" ({safe_text(row.note, look.ascii)})" if row.note else ""
    return TAILS[row.edge] + dots + note
