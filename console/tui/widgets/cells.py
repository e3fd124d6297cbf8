"""Cells of a list whose rows have one record, or several of a group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from textual.content import Content

from console.model.fields.field import NOTHING, Field
from console.model.row_list import Row
from console.tui.widgets.table import Column
from queries.text.safe_text import safe_text

T = TypeVar("T")


def common(get: Callable[[T], Any]) -> Callable[[Row[T]], Any]:
    """Return what the records of a row have in common, or None."""

    def value(row: Row[T]) -> Any:
        found = {get(record) for record in row.records}
        return found.pop() if len(found) == 1 else None

    return value


def text_column(field: Field[T], width: int, needs: int = 0, *, title: str = "", style: str = "") -> Column[Row[T]]:
    """Return a column with the text that the records of a row have in common."""

    def text(record: T) -> str:
        return field.render(record, NOTHING)[0]

    def cell(row: Row[T]) -> Content:
        return Content.styled(safe_text(value(row) or ""), style)

    value = common(text)
    return Column(title or field.name, width, cell, needs, value=value)
