"""Records as aligned lines. `Output` escapes each line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from console.model.fields.field import NOTHING, Bundle, Context, Field
from console.text import formatting, spans
from console.text.spans import Spans
from console.text.views.lines import Cell, aligned
from queries.records.node import Count, Precision

T = TypeVar("T")
EMPTY = ("", formatting.NONE)


def counts(of: Iterable[Count]) -> str:
    """Return counts by phase on one line: ``3 blocked, 12 ready``. Omits empty phases."""
    parts = [
        f"{formatting.count(count)} {count.phase}"
        for count in of
        if count.n != 0 or count.precision is Precision.CAPPED
    ]
    return ", ".join(parts) or "no nodes"


def listed(
    fields: Iterable[Field[T]],
    records: Sequence[T | Bundle[T]],
    context: Context = NOTHING,
    indents: Sequence[str] = (),
) -> Iterator[Spans]:
    """Yield records, or groups of them, as aligned lines below a heading.

    A field that none of them has has no column. ``indents``: of each record's title.
    """
    columns: list[list[Cell]] = []
    right: list[int] = []
    for field in (field for field in fields if field.printed and records):
        cells = [
            field.shown_in(record, context) if isinstance(record, Bundle) else field.shown(record, context)
            for record in records
        ]
        if all(spans.text(cell) in EMPTY for cell in cells):
            continue
        if field.name == "title" and indents:
            cells = [[(indent, ""), *cell] for indent, cell in zip(indents, cells, strict=True)]
        right += [len(columns)] if field.align == "right" else []
        columns.append([[(field.printed, "$faint")], *cells])
    return aligned(zip(*columns, strict=True), right)
