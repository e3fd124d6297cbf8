"""Lines and aligned columns for a terminal or a pipe. `Output` escapes each line."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from console.target import Target
from console.text import formatting
from console.text.spans import Spans
from queries.records.finding import OPEN, Finding, Incident
from queries.records.node import Count, Node, Precision
from queries.text.safe_text import safe_text

Cell = str | tuple[str, str]
"""A text, or a text with its style."""

NODE: list[Cell] = [(name, "$faint") for name in ("phase", "title", "status", "age", "idle", "due", "findings", "id")]


def table(rows: Iterable[Sequence[Cell]], right: Sequence[int] = ()) -> Iterator[Spans]:
    """Yield rows as aligned lines. Columns in ``right`` are right-aligned."""
    shown = [[(cell, "") if isinstance(cell, str) else cell for cell in row] for row in rows]
    safe = [[(safe_text(cell), style) for cell, style in row] for row in shown]
    columns = max((len(row) for row in safe), default=0)
    widths = [max((formatting.width(row[n][0]) for row in safe if n < len(row)), default=0) for n in range(columns)]
    for row in safe:
        line: Spans = []
        for n, (cell, style) in enumerate(row):
            space = (" " * (widths[n] - formatting.width(cell)), "")
            line += [*([("  ", "")] if n else []), *([space, (cell, style)] if n in right else [(cell, style), space])]
        yield line


def counts(of: Iterable[Count]) -> str:
    """Return counts by phase on one line: ``3 blocked, 12 ready``. Omits empty phases."""
    parts = [
        f"{formatting.count(count)} {count.phase}"
        for count in of
        if count.n != 0 or count.precision is Precision.CAPPED
    ]
    return ", ".join(parts) or "no nodes"


def node(of: Node, at: float, *, ascii: bool, indent: str = "") -> list[Cell]:
    """Return a node as cells in the order of ``NODE``."""
    due = formatting.due(None if of.due_at is None else of.due_at - at) if of.due_at is not None else ""
    return [
        (f"{formatting.glyph(of.phase, ascii)} {of.phase}", f"$phase-{of.phase}"),
        indent + of.title,
        of.status or "",
        formatting.age(None if of.created_at is None else at - of.created_at),
        formatting.age(None if of.changed_at is None else at - of.changed_at),
        due,
        (" ".join(of.findings), "$warning"),
        (of.id, "$faint"),
    ]


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
