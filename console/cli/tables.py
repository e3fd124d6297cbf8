"""Lines and aligned columns for a terminal or a pipe. `Output` escapes each line."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from console.model.fields.field import WORDS, Context, Field
from console.model.fields.node import NAMED
from console.target import Target
from console.text import formatting
from console.text.spans import Spans
from queries.records.finding import OPEN, Finding, Incident
from queries.records.node import Count, Node, Precision
from queries.text.safe_text import safe_text

Cell = str | tuple[str, str]
"""A text, or a text with its style."""

NODE = [
    NAMED[name]
    for name in ("phase", "title", "status", "revision", "cpu", "poll", "age", "idle", "due", "finding", "id")
]
ALWAYS = ("phase", "id")
HEADINGS = {"title": "title"}
EMPTY = ("", formatting.NONE)
STYLES = {"finding": "$warning", "id": "$faint"}


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


def nodes(
    of: Sequence[tuple[Node, str]], at: float, *, ascii: bool, more: Mapping[str, Sequence[str]] = {}
) -> Iterator[Spans]:
    """Yield nodes, each with its indentation, as aligned lines below a heading.

    A field that none of them has has no column. ``more``: further columns, by heading.
    """
    context = Context(now=at, ascii=ascii)
    columns: list[list[Cell]] = []
    right: list[int] = []
    for field in NODE if of else ():
        cells = [_cell(field, node, context) for node, _ in of]
        if field.name == "title":
            cells = [(indent + text, style) for (text, style), (_, indent) in zip(cells, of, strict=True)]
        elif field.name not in ALWAYS and all(text in EMPTY for text, _ in cells):
            continue
        right += [len(columns)] if field.align == "right" else []
        columns.append([(HEADINGS.get(field.name, field.title or field.name), "$faint"), *cells])
    columns += [[(heading, "$faint"), *texts] for heading, texts in more.items()] if of else []
    return table(zip(*columns, strict=True), right)


def _cell(field: Field[Node], node: Node, context: Context) -> tuple[str, str]:
    """Return words as they are, and numbers and times as on the screen."""
    if field.name == "phase":
        return f"{formatting.glyph(node.phase, context.ascii)} {node.phase}", f"$phase-{node.phase}"
    if field.searched or field.form in WORDS:
        return " ".join(field.texts(node, context)), STYLES.get(field.name, "")
    return field.render(node, context)[0], ""


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
