"""``tree``: nodes as a tree or a flat list, optionally filtered."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import NamedTuple

import click
import msgspec

from console.cli import tables
from console.cli.output import output_for, say
from console.cli.target import access_warnings, opened, select_readers
from console.model.filter import Filter, FilterError, matches, parse
from console.target import Target
from console.text import formatting
from console.text.spans import Spans
from queries.errors import DatabaseError, LostError
from queries.model import Node, Page, ScanRequired
from queries.read.reader import Reader

PAGE = 100  # nodes read at a time


class Row(NamedTuple):
    """A node and its depth in the tree, 0 at the top."""

    node: Node
    depth: int


class Rows:
    """Rows of all engines in tree order, and notes on what was not read."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.at = 0.0
        self.scan_required: dict[tuple[str, str], ScanRequired] = {}  # by engine and kind of parent ("" for the top)
        self.scope: dict[str, str] = {}  # note on a truncated read, by engine
        self.more: list[str] = []  # places with more nodes than the limit
        self.below: list[str] = []  # nodes with more children than the limit

    def note(self, page: Page, label: str, kind: str = "") -> None:
        """Keep the server time and the notes of a page."""
        self.at = max(self.at, page.at)
        if page.scan_required is not None:
            self.scan_required[label, kind] = page.scan_required
        if page.scope:
            self.scope[label] = formatting.scope_note(page.scope)

    def skipped(self) -> Iterator[str]:
        """Yield what was not read and how to read it."""
        for scan_required in dict.fromkeys(self.scan_required.values()):
            yield f"Not read: {scan_required.why}. --allow-scan reads it; this index would make the read cheap:"
            yield f"  {scan_required.ddl}"
        for label, scope in self.scope.items():
            yield f"There may be more in {label}: {scope}."
        below = [f"below {self.below[0]}" if len(self.below) == 1 else f"below {len(self.below)} nodes"]
        for place in self.more + (below if self.below else []):
            yield f"There is more {place}: --limit shows more."


async def tree(
    target: Target, text: str, *, engine: str | None, depth: int, limit: int, live: bool, allow_scan: bool
) -> int:
    """Show nodes. Return the exit code."""
    try:
        narrowed = parse(text)
    except FilterError as error:
        raise click.UsageError(f"Filter: {error.message} (at character {error.position + 1})") from None
    found, code = Rows(), 0
    async with opened(target) as workspace:
        for reader in select_readers(workspace, engine):
            reading = _flat(reader, limit, found) if live else _deep(reader, depth, limit, allow_scan, found)
            try:
                rows = [row async for row in reading]
                rows, why = await _with_findings(reader, rows)
                found.rows += _narrow(rows, narrowed, found.at)
            except LostError:
                raise
            except DatabaseError as error:
                why = str(error)
            lines = access_warnings(workspace, reader) + ([f"{reader.label}: {why}"] if why else [])
            say(*lines)
            code = code or int(bool(lines))
    scan_required = next(iter(found.scan_required.values()), None)
    scope = "; ".join(f"{label}: {what}" for label, what in found.scope.items())
    page = Page(nodes=tuple(row.node for row in found.rows), at=found.at, scope=scope, scan_required=scan_required)
    output = output_for(target)
    output.answer(page, lambda: _lines(found, output.ascii))
    for line in found.skipped():
        say(line)
    return code


async def _flat(reader: Reader, limit: int, found: Rows) -> AsyncIterator[Row]:
    cursor, left = None, limit
    while left > 0:
        page = await reader.live(cursor, min(left, PAGE))
        found.note(page, reader.label)
        for node in page.nodes:
            yield Row(node, 0)
        cursor, left = page.cursor, left - len(page.nodes)
        if cursor is None:
            return
    found.more.append(f"unfinished in {reader.label}")


async def _deep(reader: Reader, depth: int, limit: int, allow_scan: bool, found: Rows) -> AsyncIterator[Row]:
    """Yield nodes depth-first, each once.

    Without recursion: a tree may be deeper than the stack or hold cycles.
    """
    seen: set[str] = set()
    with_children = {kind.name for kind in reader.engine.spec.kinds if kind.children}
    waiting: list[Row] = []
    cursor, left = None, limit
    while left > 0:
        page = await reader.roots(cursor, min(left, PAGE))
        found.note(page, reader.label)
        cursor, left = page.cursor, left - len(page.nodes)
        waiting = [Row(node, 0) for node in reversed(page.nodes)]
        while waiting:
            row = waiting.pop()
            if row.node.id in seen:
                continue
            seen.add(row.node.id)
            yield row
            if row.depth + 1 < depth and row.node.kind in with_children:
                children = await _children(reader, row.node, limit, allow_scan, found)
                waiting += [Row(node, row.depth + 1) for node in reversed(children)]
        if cursor is None:
            return
    found.more.append(f"at the top of {reader.label}")


async def _children(reader: Reader, parent: Node, limit: int, allow_scan: bool, found: Rows) -> list[Node]:
    """Return at most ``limit`` children of a node.

    Returns none if that needs a scan that is not allowed.
    """
    nodes: list[Node] = []
    if (reader.label, parent.kind) in found.scan_required:
        return nodes
    cursor = None
    while len(nodes) < limit:
        page = await reader.children(parent.id, cursor, min(limit - len(nodes), PAGE), allow_scan=allow_scan)
        found.note(page, reader.label, parent.kind)
        nodes += page.nodes
        cursor = page.cursor
        if cursor is None:
            return nodes
    found.below.append(parent.id)
    return nodes


async def _with_findings(reader: Reader, rows: list[Row]) -> tuple[list[Row], str]:
    """Return the rows with their finding codes, and a warning or "".

    The warning says why some findings could not be checked.
    """
    why = ""
    codes: dict[str, list[str]] = {}
    for start in range(0, len(rows), PAGE * 5):
        ids = [row.node.id for row in rows[start : start + PAGE * 5]]
        found = await reader.findings(ids, page=len(ids))
        why = why or next(
            (f"{each.code} was not checked: {each.why}" for each in found.skipped_findings if each.failed), ""
        )
        for finding in found.found:
            codes.setdefault(finding.node_id, []).append(finding.code)
    marked = [
        Row(msgspec.structs.replace(row.node, findings=tuple(codes[row.node.id])), row.depth)
        if row.node.id in codes
        else row
        for row in rows
    ]
    return marked, why


def _narrow(rows: list[Row], narrowed: Filter, at: float) -> list[Row]:
    """Return the matching rows and their ancestors."""
    if not narrowed.terms:
        return rows
    kept: list[Row] = []
    above = -1  # depth of the nearest kept row below whose ancestors are not yet kept
    for row in reversed(rows):
        if row.depth < above or matches(narrowed, row.node, at, {}):
            kept.append(row)
            above = row.depth
        elif row.depth == 0:
            above = -1
    kept.reverse()
    return kept


def _lines(found: Rows, ascii: bool) -> Iterator[Spans]:
    cells = [tables.NODE] if found.rows else []
    cells += [tables.node(row.node, found.at, ascii=ascii, indent="  " * row.depth) for row in found.rows]
    return tables.table(cells, right=(3, 4))
