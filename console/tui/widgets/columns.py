"""Widths of the columns of the tree and of lists, and what is omitted first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from console.model.fields.field import Field
from console.text import formatting
from queries.records.node import Node

T = TypeVar("T")

GAP_CELLS, LIST_GAP_CELLS = 1, 2  # cells between two columns of the tree, and of another list
ALWAYS = ("title", "status")  # columns of the tree that are shown even if they are empty
GLYPH_CELLS = 2  # cells of a phase's glyph, before a status
TITLE_KEPT_CELLS = 20  # cells that the first column keeps while another column can be dropped
TITLE_CELLS = 40  # of a list's column without a width: wide columns make room for as many on a narrow screen
FOLD_CELLS = 2  # of the sign before the first cell of a list that folds
LENT_DOWN_TO_CELLS = 16  # that a wide column keeps then


def recorded(
    columns: Sequence[Field[Node]], missing: Collection[str], statuses: Iterable[str] = ()
) -> list[Field[Node]]:
    """Return an engine's columns, without the ``missing`` fields it does not record.

    The status gets a share of the remaining width if some of the engine's ``statuses`` are long.
    """
    empty = set(missing) - {"status"}  # a missing status is replaced by the phase
    long = max(map(formatting.width, statuses), default=0) + GLYPH_CELLS
    return [
        replace(column, flex=2) if column.name == "status" and long > column.width else timed(column)
        for column in columns
        if not column.parts & empty
    ]


def timed(column: Field[T]) -> Field[T]:
    """Return a column with the width for the chosen form of times."""
    return replace(column, width=formatting.time_width(column.width)) if column.absolute else column


def heading(column: Field[Any]) -> str:
    """Return a column's heading, which for times that are not relative is another."""
    return column.absolute if column.absolute and formatting.time_width(0) else column.title


Layout = tuple[tuple[Field[Any], int], ...]


def layout(columns: Sequence[Field[Node]], width: int) -> Layout:
    """Return the columns of the tree that fit into ``width`` cells.

    Each has its width. The first column is never dropped.
    """
    kept = list(columns)
    while len(kept) > 1 and _needed(kept) > width:
        kept.remove(min(kept[1:], key=lambda column: column.keep))
    spare = max(width - _needed(kept), 0)
    shares = sum(column.flex for column in kept)
    widths = [column.width + (spare * column.flex // shares if shares else 0) for column in kept]
    widths[0] = max(width - sum(widths[1:]) - GAP_CELLS * (len(kept) - 1), 1)
    return tuple(zip(kept, widths, strict=True))


def _needed(columns: Sequence[Field[Node]]) -> int:
    first, *rest = columns
    return min(first.width, TITLE_KEPT_CELLS) + sum(column.width + GAP_CELLS for column in rest)


def fitted(columns: Sequence[Field[Any]], width: int, widest: Mapping[str, int]) -> Layout:
    """Return the columns of a list in ``width`` cells, with their widths.

    Each is as wide as its widest text, if there is room. The one without a width has the rest.
    """
    room = width - LIST_GAP_CELLS * (len(columns) - 1)
    needs = [max(widest.get(column.name, 0), formatting.width(heading(column)) + 1) for column in columns]
    widths = [min(column.width, cells) for column, cells in zip(columns, needs, strict=True)]
    if columns and columns[0].absolute:
        widths[0] = min(columns[0].width + FOLD_CELLS, needs[0])  # a time that is cut has no zone
    rest = next((n for n, column in enumerate(columns) if column.width == 0), None)
    if rest is not None:
        free = room - sum(widths) + widths[rest]
        title = min(needs[rest], TITLE_CELLS)
        for n, cells in enumerate(widths):
            lent = max(min(title - free, cells - LENT_DOWN_TO_CELLS), 0) if n != rest else 0
            widths[n], free = cells - lent, free + lent
        widths[rest] = max(min(free, needs[rest], max(room // 2, TITLE_CELLS)), 1)
    spare = room - sum(widths)
    for n, cells in enumerate(needs):
        more = max(min(cells - widths[n], spare), 0)
        widths[n], spare = widths[n] + more, spare - more
    if rest is not None:
        widths[rest] += max(spare, 0)
    return tuple(zip(columns, widths, strict=True))
