"""How one line of the tree is put together: gutter, guides, cells. Text goes in as text, never as markup."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from console import words
from console.forest import Row, Tail

from .columns import GAP, Layout, Look

GUTTER = 2
STEP = 2  # cells a level
FLAG = 2  # cells of the sign that says whether a row unfolds


class Signs(NamedTuple):
    """What lines are drawn with; all but the last three are two cells wide."""

    rail: str
    branch: str
    last: str
    folded: str
    unfolded: str
    cursor: str
    mark: str
    ellipsis: str


SIGNS = Signs("│ ", "├ ", "└ ", "▸ ", "▾ ", "▌", "●", "…")
ASCII_SIGNS = Signs("| ", "|-", "`-", "+ ", "- ", ">", "*", "~")
NOTHING = "  "

TAILS = {Tail.MORE: "more", Tail.LOADING: "loading", Tail.COSTLY: "costly: not read"}

Ink = Callable[[tuple[str, ...]], Style]
"""The style that component classes (without the widget's prefix) make together."""


def indent(row: Row, room: int, ascii: bool = False) -> str:
    """The guides of a row in at most ``room`` cells; a row too deep for that says its depth as a number."""
    signs = ASCII_SIGNS if ascii else SIGNS
    if row.depth == 0:
        return ""
    elbow = signs.last if row.last else signs.branch
    levels = max(room // STEP - 1, 2)
    if row.depth > levels or len(row.rails) < row.depth - 1:
        return f"{signs.ellipsis}{row.depth}".ljust(levels * STEP - len(elbow)) + elbow
    return "".join(signs.rail if goes_on else NOTHING for goes_on in row.rails) + elbow


def room_for_indent(width: int) -> int:
    """How many cells of a title column of this width guides may take."""
    return min(width // 2, 40)


def flag_at(row: Row, layout: Layout) -> range:
    """The cells of a line in which a click folds or unfolds the row."""
    start = GUTTER + len(indent(row, room_for_indent(layout[0][1])))
    return range(start, start + FLAG)


def header(layout: Layout, ink: Ink, width: int) -> Strip:
    """The titles of the columns."""
    texts = [words.fit(column.title, cells, column.align) for column, cells in layout]
    line = " " * GUTTER + (" " * GAP).join(texts)
    return Strip([Segment(line, ink(("header",)))]).adjust_cell_length(width, ink(("header",)))


def line(row: Row, layout: Layout, look: Look, ink: Ink, state: str, changed: frozenset[str]) -> Strip:
    """A row. ``state`` is the style of a row under the cursor, or empty; ``changed``, the node's fields that differ."""
    signs = ASCII_SIGNS if look.ascii else SIGNS
    base = tuple(name for name in (state, "marked" if row.marked else "") if name)
    gutter = (signs.cursor if state else " ") + (signs.mark if row.marked else " ")
    room = layout[0][1]
    guides = indent(row, room_for_indent(room), look.ascii)
    flag = (signs.unfolded if row.expanded else signs.folded) if row.expandable else NOTHING
    segments = [Segment(gutter, ink((*base, "marker"))), Segment((guides + flag)[:room], ink((*base, "guides")))]
    segments += _cells(row, layout, room - len(guides) - FLAG, look, ink, base, changed)
    return Strip(segments).simplify()


def _cells(
    row: Row, layout: Layout, room: int, look: Look, ink: Ink, base: tuple[str, ...], changed: frozenset[str]
) -> list[Segment]:
    node = row.node
    if node is None:
        width = room + sum(cells + GAP for _, cells in layout[1:])
        return [Segment(words.fit(_tail(row, look), width, ascii=look.ascii), ink((*base, "tail")))]
    segments: list[Segment] = []
    for number, (column, cells) in enumerate(layout):
        text, style = column.render(node, look)
        if column.foreign:
            text = words.visible(text[: 4 * cells], look.ascii)
        elif look.ascii:
            text = words.plain(text)
        names = ("dimmed",) if row.dimmed else (style,) if style else ()
        if not changed.isdisjoint(column.fields):
            names = (*names, "changed")
        if number:
            segments.append(Segment(" " * GAP, ink(base)))
        width = cells if number else room
        if not number and column.foreign and len(text) <= 4 * cells:
            text = words.shorten(text, width, look.ascii)
        segments.append(Segment(words.fit(text, width, column.align, look.ascii), ink((*base, *names))))
    return segments


def _tail(row: Row, look: Look) -> str:
    if row.tail is None:
        return ""
    dots = "" if row.tail is Tail.COSTLY else "..." if look.ascii else "…"
    note = f" ({words.visible(row.note, look.ascii)})" if row.note else ""
    return TAILS[row.tail] + dots + note
