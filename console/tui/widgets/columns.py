"""Columns of the tree: widths, and the order in which they are omitted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from console.model.fields.field import Field
from console.text import formatting
from queries.records.node import Node

T = TypeVar("T")

GAP = 1
GLYPH = 2  # cells of a phase's glyph, before a status
MIN_TITLE = 20  # cells that the first column keeps while another column can be dropped


def recorded(
    columns: Sequence[Field[Node]], missing: Collection[str], statuses: Iterable[str] = ()
) -> list[Field[Node]]:
    """Return an engine's columns, without the ``missing`` fields it does not record.

    The status gets a share of the remaining width if some of the engine's ``statuses`` are long.
    """
    empty = set(missing) - {"status"}  # a missing status is replaced by the phase
    long = max(map(formatting.width, statuses), default=0) + GLYPH
    return [
        replace(column, flex=2) if column.name == "status" and long > column.width else timed(column)
        for column in columns
        if not column.parts & empty
    ]


def timed(column: Field[T]) -> Field[T]:
    """Return a column with the width for the chosen form of times."""
    return replace(column, width=formatting.time_width(column.width)) if column.absolute else column


def heading(column: Field[Node]) -> str:
    """Return a column's heading, which for times that are not relative is another."""
    return column.absolute if column.absolute and formatting.time_width(0) else column.title


Layout = tuple[tuple[Field[Node], int], ...]


def layout(columns: Sequence[Field[Node]], width: int) -> Layout:
    """Return the columns that fit into ``width`` cells, each with its width.

    The first column is never dropped.
    """
    kept = list(columns)
    while len(kept) > 1 and _needed(kept) > width:
        kept.remove(min(kept[1:], key=lambda column: column.keep))
    spare = max(width - _needed(kept), 0)
    shares = sum(column.flex for column in kept)
    widths = [column.width + (spare * column.flex // shares if shares else 0) for column in kept]
    widths[0] = max(width - sum(widths[1:]) - GAP * (len(kept) - 1), 1)
    return tuple(zip(kept, widths, strict=True))


def _needed(columns: Sequence[Field[Node]]) -> int:
    first, *rest = columns
    return min(first.width, MIN_TITLE) + sum(column.width + GAP for column in rest)
