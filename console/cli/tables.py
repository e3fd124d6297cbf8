"""Lines and aligned columns for a terminal or a pipe. `Output` escapes each line."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from console.text import formatting
from queries.model import OPEN, AuditLogEntry, Count, Finding, Node, Precision, Result, RowChange
from queries.safe_text import safe_text

NODE = ["phase", "title", "status", "age", "idle", "due", "findings", "id"]


def table(rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> Iterator[str]:
    """Yield rows as lines with aligned columns. Columns in ``right`` are right-aligned."""
    shown = [[safe_text(cell) for cell in row] for row in rows]
    columns = max((len(row) for row in shown), default=0)
    widths = [max((formatting.width(row[n]) for row in shown if n < len(row)), default=0) for n in range(columns)]
    for row in shown:
        padded = []
        for n, cell in enumerate(row):
            space = " " * (widths[n] - formatting.width(cell))
            padded.append(space + cell if n in right else cell + space)
        yield "  ".join(padded).rstrip()


def counts(of: Iterable[Count]) -> str:
    """Return counts by phase on one line: ``3 blocked, 12 ready``. Phases with exactly 0 nodes are omitted."""
    parts = [
        f"{formatting.count(count)} {count.phase}"
        for count in of
        if count.n != 0 or count.precision is Precision.CAPPED
    ]
    return ", ".join(parts) or "no nodes"


def node(of: Node, at: float, *, ascii: bool, indent: str = "") -> list[str]:
    """Return a node as cells in the order of ``NODE``."""
    due = formatting.due(None if of.due_at is None else of.due_at - at) if of.due_at is not None else ""
    return [
        f"{formatting.glyph(of.phase, ascii)} {of.phase}",
        indent + of.title,
        of.status or "",
        formatting.age(None if of.created_at is None else at - of.created_at),
        formatting.age(None if of.changed_at is None else at - of.changed_at),
        due,
        " ".join(of.findings),
        of.id,
    ]


def command(of: Finding) -> str:
    """Return the command of a finding's suggested action, quoted for a shell: an id may hold any character."""
    pairs = (f"{name}={value if value == OPEN else shlex.quote(value)}" for name, value in of.arguments.items())
    given = "".join(f" --arg {pair}" for pair in pairs)
    guarded = f" --guard {shlex.quote(of.guard)}" if of.guard else ""
    return f'unstick do {of.action} {shlex.quote(of.node_id)}{given}{guarded} --reason "..."'


def results(of: Iterable[Result], *, would: bool = False) -> Iterator[str]:
    """Outcomes, a node a line."""
    for result in of:
        said = "would be changed" if would and result.outcome == "changed" else result.outcome
        yield f"{said}  {result.id}" + (f"  {result.why}" if result.why else "")


def changes(of: Iterable[RowChange]) -> Iterator[str]:
    """Rows before and after, only what differs; a row that came or went is told whole."""
    for change in of:
        if change.before is None:
            yield f"+ {change.table}  {change.key}"
            yield from _values("    + ", change.after or {})
        elif change.after is None:
            yield f"- {change.table}  {change.key}"
            yield from _values("    - ", change.before)
        else:
            yield f"~ {change.table}  {change.key}"
            for column in dict.fromkeys([*change.before, *change.after]):
                before, after = change.before.get(column), change.after.get(column)
                if before != after:
                    yield f"    {column}: {_value(before)} → {_value(after)}"


def _values(mark: str, row: Mapping[str, Any]) -> Iterator[str]:
    for column, value in row.items():
        yield f"{mark}{column}: {_value(value)}"


def _value(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()


def entry(of: AuditLogEntry) -> str:
    """An audit log entry in one line."""
    tally: dict[str, int] = {}
    for result in of.results:
        tally[result.outcome] = tally.get(result.outcome, 0) + 1
    outcome = ", ".join(f"{n} {outcome}" for outcome, n in tally.items())
    who = f"{of.os_user}@{of.host} as {of.role}"
    asked = "".join(f" {name}={_value(value)}" for name, value in of.arguments.items())
    at = "" if of.origin is None else f"  on {formatting.place(of.origin)}"
    return f"{formatting.instant(of.at)}  {of.engine}  {of.action}{asked}: {outcome}  by {who}: {of.reason}{at}"
