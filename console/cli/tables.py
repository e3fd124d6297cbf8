"""Records as lines, and commands to type. `Output` escapes each line."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from console.model.fields.field import NOTHING, Context, Field
from console.target import Target
from console.text import formatting, spans
from console.text.pages.lines import Cell, aligned
from console.text.spans import Spans
from queries.records.finding import OPEN, Finding, Incident
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
    fields: Iterable[Field[T]], records: Sequence[T], context: Context = NOTHING, indents: Sequence[str] = ()
) -> Iterator[Spans]:
    """Yield records as aligned lines below a heading.

    A field that none of them has has no column. ``indents``: of each record's title.
    """
    columns: list[list[Cell]] = []
    right: list[int] = []
    for field in (field for field in fields if field.printed and records):
        cells = [field.shown(record, context) for record in records]
        if all(spans.text(cell) in EMPTY for cell in cells):
            continue
        if field.name == "title" and indents:
            cells = [[(indent, ""), *cell] for indent, cell in zip(indents, cells, strict=True)]
        right += [len(columns)] if field.align == "right" else []
        columns.append([[(field.printed, "$faint")], *cells])
    return aligned(zip(*columns, strict=True), right)


def incident_command(target: Target, of: Incident) -> str:
    """Return the shell command of an incident's suggested action, for all its nodes."""
    return _do(target, of.action, "--incident", of.key, *_given(of.arguments))


def command(target: Target, of: Finding) -> str:
    """Return the shell command of a finding's suggested action."""
    guard = ("--guard", of.guard) if of.guard else ()
    return _do(target, of.action, of.node_id, *_given(of.arguments), *guard)


def session_command(target: Target, session_id: str) -> str:
    """Return the shell command that ends a session."""
    return _do(target, "end_session", session_id)


def _do(target: Target, action: str | None, *words: str) -> str:
    """Return a command that needs only the reason, and what the operator must choose."""
    selected = f" {shlex.join(target.words)}" if target.words else ""
    return f'unstick do {action} {shlex.join(words)} --reason "{OPEN}"{selected}'


def _given(arguments: Mapping[str, str]) -> Iterator[str]:
    """Yield the words of arguments.

    By typing the command the operator confirms a flag that is left to them.
    """
    for name, value in arguments.items():
        yield from ("--arg", f"{name}={'true' if value == OPEN else value}")
