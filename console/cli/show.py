"""``show``: one node in full."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from console.cli import tables
from console.cli.output import Whole, output_for, say
from console.cli.target import opened
from console.target import Target
from console.text import drawings, formatting
from console.text.payload import describe, render
from queries.model import Detail, Node, ScanRequired, Section
from queries.read.reader import Reader

WIDTH = 100  # cells of stored values, without a terminal
TIMES = ("created_at", "changed_at", "due_at", "heartbeat_at")
SPANS = ("cpu", "poll")
MEASURES = ("revision", "attempts", "max_attempts", "owner", "error")


async def show(target: Target, node_id: str, size: int) -> int:
    """Show a node. Return the exit code: 3 if it does not exist."""
    async with opened(target) as workspace:
        reader = workspace.reader(node_id)
        detail = await reader.detail(node_id, size)
        if detail is None:
            hidden = ", or a row-level policy hides it" if reader.found.policies else ""
            say(f"{node_id} was not found. It may have been deleted{hidden}.")
            return 3
        entries, unreadable = await workspace.done(detail.node.id, 5)
    actions = list(_actions(reader, detail.node))
    history = [*([unreadable] if unreadable else ()), *map(tables.entry, entries)]
    output = output_for(target)
    width = (output.width or WIDTH + 2) - 2
    output.answer(detail, lambda: _lines(detail, reader, actions, history, max(width, 10), output.ascii))
    return 0


def _lines(
    detail: Detail, reader: Reader, actions: list[list[str]], history: list[str], width: int, ascii: bool
) -> Iterator[str]:
    node = detail.node
    yield f"{formatting.glyph(node.phase, ascii)} {node.phase}  {node.title}  {node.id}"
    for finding in detail.findings:
        yield ""
        since = "" if finding.since is None else f", since {formatting.instant(finding.since)}"
        assumed = " (assumed)" if finding.proof == "assumed" else ""
        yield f"stuck: {finding.title}{since}"
        yield f"  {finding.sentence}{assumed}"
        if finding.action:
            yield Whole(f"  → {tables.command(finding)}")
    yield ""
    yield from tables.table(_columns(node, reader, detail.at))
    for section in detail.sections:
        yield ""
        yield from _section(section, width, detail.at, ascii)
    for title, rows in (("Actions", list(tables.table(actions))), ("Audit log", history)):
        if rows:
            yield ""
            yield title
            yield from (f"  {row}" for row in rows)


def _columns(node: Node, reader: Reader, at: float) -> Iterator[list[str]]:
    """Yield every recorded column, then the names of columns that are not recorded."""
    yield ["  status", node.status or formatting.NONE]
    for name in ("job_id", "parent_id"):
        if (value := getattr(node, name)) is not None:
            yield [f"  {name}", value]
    for name in TIMES:
        if (value := getattr(node, name)) is not None:
            yield [f"  {name}", formatting.instant(value), _ago(value, at)]
    for name in SPANS:
        if (value := getattr(node, name)) is not None:
            yield [f"  {name}", formatting.duration(value)]
    for name in MEASURES:
        if (value := getattr(node, name)) is not None:
            yield [f"  {name}", str(value)]
    kind = reader.engine.kind(node.kind)
    if kind is not None and kind.not_recorded:
        yield ["  not recorded", ", ".join(kind.not_recorded)]


def _ago(value: float, at: float) -> str:
    return f"{formatting.age(at - value)} ago" if value <= at else formatting.due(value - at)


def _section(section: Section, width: int, now: float, ascii: bool) -> Iterator[str]:
    if section.scan_required is not None:
        yield section.title
        yield from (f"  {line}" for line in _scan_required(section.scan_required))
    elif section.payload is not None:
        yield f"{section.title}: {describe(section.payload)}"
        if section.payload.head:
            yield from (f"  {line}" for line in render(section.payload, width))
    elif section.drawn:
        note, drawn = drawings.draw(section, width, now, ascii=ascii)
        yield f"{section.title}: {note}" if note else section.title
        yield from ("".join(text for text, _ in line).rstrip() for line in drawn)
    else:
        yield section.title
        rows = [list(section.columns), *([_cell(value) for value in row] for row in section.rows)]
        yield from (f"  {line}" for line in tables.table(rows))


def _scan_required(scan_required: ScanRequired) -> Iterator[str]:
    if not scan_required.need:
        yield f"not read: {scan_required.why}"
        return
    yield f"not read: {scan_required.why} (about {scan_required.pages} blocks to scan)"
    yield scan_required.ddl


def _cell(value: Any) -> str:
    return formatting.NONE if value is None else str(value)


def _actions(reader: Reader, node: Node) -> Iterator[list[str]]:
    for action in reader.actions(node.kind):
        available = reader.availability(action, node)
        yield [action.name, action.effect if available.ok else f"not available: {available.why}"]
