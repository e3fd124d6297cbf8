"""Field of a record, for filters, columns, sorting and help. UI-free."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

from console.text.formatting import Align
from queries.records.record import Record

T = TypeVar("T")

Cell = tuple[str, str]
"""Text and the name of its style (empty for none)."""


class Form(StrEnum):
    """Way in which a filter compares a value."""

    BEGINNING = "beginning"  # of a word
    PART = "part"  # of a text
    AGE = "age"  # seconds since a time
    SECONDS = "seconds"
    NUMBER = "number"


WORDS = (Form.BEGINNING, Form.PART)
DURATIONS = (Form.AGE, Form.SECONDS)


class Context(Record):
    """Input of a value or a cell apart from the record."""

    now: float = 0.0  # server time
    ascii: bool = False
    codes: Mapping[str, Collection[str]] = {}  # codes of the console's own findings, by node id


NOTHING = Context()


@dataclass(frozen=True)
class Field(Generic[T]):
    """Value that is known of a record.

    Args:
        name: its name in filters and in the order of columns.
        get: its value: a text, several texts, a number, seconds, or a time in seconds since 1970; None: not recorded.
        form: how a filter compares it; None: by a bare word only.
        about: one line for help.
        searched: True if a bare word is looked for in it.
        column: column of nodes.sql on which the server can compare it.
        title: heading of its column; "" without one.
        width: of its column, in cells.
        cell: its text and style.
        parts: fields of the record whose change highlights the cell.
        align: of its column.
        keep: on a narrow screen the column with the lowest is dropped first.
        flex: share of the remaining width.
        foreign: True if the text comes from the database and has to be escaped.
        absolute: heading of a column of times, if they are not relative.
        order: what the column is sorted by; default: the value.
    """

    name: str
    get: Callable[[T, Context], Any]
    form: Form | None = None
    about: str = ""
    searched: bool = False
    column: str = ""
    title: str = ""
    width: int = 0
    cell: Callable[[T, Context], Cell] | None = None
    parts: frozenset[str] = frozenset()
    align: Align = "left"
    keep: int = 0
    flex: int = 0
    foreign: bool = False
    absolute: str = ""
    order: Callable[[T, Context], Any] | None = None

    def texts(self, record: T, context: Context) -> list[str]:
        """Return the texts of a field with words."""
        value = self.get(record, context)
        if isinstance(value, str):
            return [value] if value else []
        if value is None:
            return []
        return [text for text in value if text]

    def render(self, record: T, context: Context) -> Cell:
        """Return the text of the record's cell and its style."""
        if self.cell is not None:
            return self.cell(record, context)
        return " ".join(self.texts(record, context)), ""

    def sorted_by(self, record: T, context: Context) -> Any:
        """Return what a list is sorted by."""
        return (self.order or self.get)(record, context)
