"""Lines and aligned columns for a terminal or a pipe. `Output` escapes each line."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence

from console.text import formatting, spans
from console.text.pages import row_diff
from queries.model import OPEN, AuditLogEntry, Count, Finding, Node, Precision, Result, RowChange
from queries.safe_text import safe_text

NODE = ["phase", "title", "status", "age", "idle", "due", "findings", "id"]


def table(rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> Iterator[str]:
    """Yield rows as aligned lines. Columns in ``right`` are right-aligned."""
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
    """Return counts by phase on one line: ``3 blocked, 12 ready``. Omits empty phases."""
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
    """Return the shell command of a finding's suggested action."""
    pairs = (f"{name}={value if value == OPEN else shlex.quote(value)}" for name, value in of.arguments.items())
    given = "".join(f" --arg {pair}" for pair in pairs)
    guarded = f" --guard {shlex.quote(of.guard)}" if of.guard else ""
    return f'unstick do {of.action} {shlex.quote(of.node_id)}{given}{guarded} --reason "..."'


def results(of: Iterable[Result], *, would: bool = False) -> Iterator[str]:
    """Yield outcomes, one node per line. ``would`` is for a dry run."""
    for result in of:
        word = "will change" if would and result.outcome == "changed" else result.outcome
        yield f"{word}  {result.id}" + (f"  {result.why}" if result.why else "")


def changes(of: Iterable[RowChange]) -> Iterator[str]:
    """Yield changed rows with their differing columns, before and after."""
    rows = list(of)
    yield from map(spans.text, row_diff.differences(rows, limit=len(rows)))


def entry(of: AuditLogEntry) -> str:
    """Return an audit log entry on one line."""
    outcome = spans.text(row_diff.tally(of.results)).replace(" · ", ", ")
    who = f"{of.os_user}@{of.host} as {of.role}"
    arguments = "".join(f" {name}={formatting.scalar(value)}" for name, value in of.arguments.items())
    at = "" if of.origin is None else f"  on {formatting.place(of.origin)}"
    return f"{formatting.instant(of.at)}  {of.engine}  {of.action}{arguments}: {outcome}  by {who}: {of.reason}{at}"
