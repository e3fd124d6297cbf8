"""Records as CSV and Markdown, with the columns of their fields.

Text of the database is neither a formula for a spreadsheet nor markup in a page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar

from console.model.fields import audit_entry
from console.model.fields.field import NOTHING, Field
from console.text import spans
from console.text.views.audit_entry import UNREADABLE
from queries.records.action import Outcome, Result
from queries.records.audit import AuditLogEntry
from queries.text.safe_text import safe_text

T = TypeVar("T")

MARKDOWN: Final = [audit_entry.NAMED[name] for name in ("age", "who", "role", "action", "target", "outcome", "reason")]
"""Columns of entries in Markdown."""

_FORMULA = tuple("=+-@|%＝＋－＠\t\r")
MARKS = re.compile(r"([\\`*_\[\]<>|~&#!])")


def csv(cells: Iterable[str]) -> str:
    """Return a line of CSV with all cells quoted."""
    return ",".join('"' + _plain(cell).replace('"', '""') + '"' for cell in cells)


def markdown(cells: Iterable[str]) -> str:
    """Return a row of a Markdown table. Text in cells has no markup."""
    return "| " + " | ".join(MARKS.sub(r"\\\1", safe_text(cell.strip())) for cell in cells) + " |"


def csv_head() -> str:
    """Return the headings of the lines about nodes of entries."""
    return csv(map(_heading, audit_entry.RESULTS))


def csv_rows(entry: AuditLogEntry) -> Iterator[str]:
    """Yield a line for each node of an entry.

    An entry that cannot be read has one line if it has no nodes.
    """
    why = f"{UNREADABLE}: {entry.unreadable}"
    for result in entry.results or [Result(id="", outcome=Outcome.UNKNOWN, why=why)] * bool(entry.unreadable):
        yield csv(_cells(audit_entry.RESULTS, (entry, result)))


def markdown_table(fields: Sequence[Field[T]], records: Iterable[T]) -> Iterator[str]:
    """Yield the lines of a table, its head first."""
    yield from markdown_head(fields)
    yield from markdown_rows(fields, records)


def markdown_rows(fields: Sequence[Field[T]], records: Iterable[T]) -> Iterator[str]:
    """Yield records as rows of a table."""
    return (markdown(_cells(fields, record)) for record in records)


def markdown_head(fields: Sequence[Field[Any]]) -> Iterator[str]:
    """Yield the lines of the head of a table."""
    yield from (markdown(map(_heading, fields)), "|" + " --- |" * len(fields))


def _heading(field: Field[Any]) -> str:
    return field.absolute or field.printed or field.title or field.name


def _cells(fields: Iterable[Field[T]], record: T) -> Iterator[str]:
    return (spans.text(field.shown(record, NOTHING)) for field in fields)


def _plain(cell: str) -> str:
    """Return a cell that a spreadsheet reads as text.

    The apostrophe is the spreadsheets' own mark for text.
    """
    cell = safe_text(cell)
    return f"'{cell}" if cell.lstrip().startswith(_FORMULA) else cell
