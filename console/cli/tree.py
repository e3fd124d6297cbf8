"""``tree``: nodes as a tree or a flat list, optionally filtered."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Container, Iterator
from typing import Any

import click

from console.cli import tables
from console.cli.output import output_for, say
from console.cli.repeat import repeat
from console.cli.target import access_warnings, declined_engines, opened, select_readers
from console.model.fields.field import Context
from console.model.fields.node import FIELDS
from console.model.filter import NODES, Fields, Filter, FilterError, parse
from console.model.selection import (
    COMPARED_NODES,
    finding_terms,
    may_match,
    select,
    with_findings,
)
from console.model.walk import NODES_AT_ONCE, Row, Walk, attention_first, in_order, unfinished
from console.target import Target
from console.text import formatting
from console.text.spans import Spans
from queries.db.errors import DatabaseError, attempted
from queries.read.reader import Reader
from queries.records.node import Node, Page, ScanRequired
from queries.records.record import Record

LEVELS = 2  # of the tree that are shown without a filter


class Rows:
    """Rows of all engines in tree order, and notes on what was not read."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.at = 0.0
        self.scan_required: dict[tuple[str, str], ScanRequired] = {}  # by engine and kind of parent ("" for the top)
        self.scope: dict[str, str] = {}  # note on a truncated read, by engine
        self.more: list[str] = []  # places with more nodes than the limit
        self.below: list[str] = []  # nodes with more children than the limit
        self.deeper = 0  # number of levels that are shown, if there may be more
        self.failed: list[str] = []  # what could not be read
        self.unread: list[str] = []  # what was not compared with the filter

    def note(self, page: Page, label: str, kind: str = "") -> None:
        """Keep the server time and the notes of a page."""
        self.at = max(self.at, page.at)
        if page.scan_required is not None:
            self.scan_required[label, kind] = page.scan_required
        if page.scope:
            self.scope[label] = formatting.scope_note(page.scope)

    def add(self, part: Rows) -> None:
        """Add the rows of another engine."""
        self.at = max(self.at, part.at)
        self.scan_required |= part.scan_required
        self.scope |= part.scope
        self.deeper = max(self.deeper, part.deeper)
        for name in ("rows", "more", "below", "failed", "unread"):
            getattr(self, name).extend(getattr(part, name))

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


class Tree(Record):
    """Nodes in tree order.

    ``complete`` is False if nodes may be missing; ``notes`` say which and why.
    """

    nodes: tuple[Node, ...]
    at: float
    complete: bool
    notes: tuple[str, ...] = ()
    scope: str = ""
    scan_required: ScanRequired | None = None


async def tree(
    target: Target,
    text: str,
    *,
    engine: str | None,
    depth: int | None,
    limit: int,
    live: bool,
    allow_scan: bool,
    watch: bool,
) -> int:
    """Show nodes. Return the exit code."""
    narrowed = parsed(text, target)
    levels = depth or (COMPARED_NODES if narrowed.terms else LEVELS)
    output = output_for(target)
    async with opened(target) as workspace:
        readers = list(select_readers(workspace, engine))

        async def once() -> int:
            found = Rows()

            async def of_engine(reader: Reader) -> Rows:
                part = Rows()
                read = await attempted(_rows(reader, narrowed, levels, limit, live, allow_scan, part))
                if isinstance(read, DatabaseError):
                    why = str(read)
                else:
                    rows, why = read
                    part.rows = rows if live else attention_first(rows)
                part.failed = access_warnings(workspace, [reader]) + ([f"{reader.label}: {why}"] if why else [])
                return part

            asked = [reader for reader in readers if may_match(narrowed, reader.label)]
            for part in await workspace.database.together(*map(of_engine, asked)):
                found.add(part)
            found.failed += [f"{name}: {why}" for name, why in declined_engines(workspace, engine).items()]
            notes = [*found.failed, *found.unread, *found.skipped()]
            answer = Tree(
                nodes=tuple(row.node for row in found.rows),
                at=found.at,
                complete=not notes,
                notes=tuple(notes),
                scope="; ".join(f"{label}: {what}" for label, what in found.scope.items()),
                scan_required=next(iter(found.scan_required.values()), None),
            )
            output.answer(answer, lambda: _lines(found, output.ascii))
            say(*notes)
            if found.deeper and depth is None and not target.json:
                say(f"There may be more below these {found.deeper} levels: --depth {found.deeper + 1} shows more.")
            if narrowed.terms and not found.rows and not target.json:
                say(f"No node matches {narrowed}. Searched: {', '.join(reader.label for reader in readers)}.")
            elif not (found.rows or notes or target.json):
                none = "Nothing is unfinished" if live else "There are no jobs"
                say(f"{none} in {', '.join(reader.label for reader in readers)}.")
            return int(bool(found.failed))

        return await repeat(workspace, output, target.interval, once) if watch else await once()


def parsed(text: str, target: Target, fields: Fields[Any] = NODES) -> Filter:
    """Parse a filter, with the saved filters of the settings. Raises UsageError."""
    try:
        return parse(text, fields, saved=target.config.filters)
    except FilterError as error:
        raise click.UsageError(f"Filter: {error.message} (at character {error.position + 1})") from None


async def _rows(
    reader: Reader, narrowed: Filter, depth: int, limit: int, live: bool, allow_scan: bool, found: Rows
) -> tuple[list[Row], str]:
    """Return the rows of one engine, and why findings could not be checked.

    With a filter, at most ``limit`` rows match, and others are only above them.
    """
    if finding_terms(narrowed) and not live:
        return await _with_ancestors(reader, narrowed, limit, found), ""
    most = COMPARED_NODES if narrowed.terms else limit
    reading = _flat(reader, most, found) if live else _deep(reader, depth, most, allow_scan, found)
    if narrowed.terms:
        rows = await _matching(reader, reading, narrowed, limit, found, live=live)
    else:
        rows = [row async for some in reading for row in some]
    nodes, why = await with_findings(reader, [row.node for row in rows])
    return [Row(node, row.depth) for node, row in zip(nodes, rows, strict=True)], why


async def _matching(
    reader: Reader, reading: AsyncGenerator[list[Row]], narrowed: Filter, limit: int, found: Rows, *, live: bool
) -> list[Row]:
    """Return the rows that match, with their ancestors.

    Reads until more than ``limit`` rows match.
    """
    walked: list[Row] = []

    async def pages() -> AsyncGenerator[Page]:
        async with contextlib.aclosing(reading):
            async for rows in reading:
                walked.extend(rows)
                yield Page(nodes=tuple(row.node for row in rows), at=found.at)

    around = "" if live else "--live compares the unfinished ones"
    async with contextlib.aclosing(pages()) as compared:
        selection = await select(reader, narrowed, limit, pages=compared, around=around)
    if selection.cut:
        found.more.append(f"in {reader.label} that matches")
    found.unread += [f"{why[:1].upper()}{why[1:]}." for why in selection.missing]
    return _with_those_above(walked, {node.id for node in selection.nodes})


async def _with_ancestors(reader: Reader, narrowed: Filter, limit: int, found: Rows) -> list[Row]:
    """Return the nodes that have the findings of the filter, below their ancestors."""
    selection = await select(reader, narrowed, limit)
    found.at = max(found.at, selection.at)
    if selection.cut:
        found.more.append(f"in {reader.label} that matches")
    found.unread += [f"{reader.label}: {why}." for why in selection.missing]
    matching = {node.id: node for node in selection.nodes}
    below: dict[str, dict[str, Node]] = {}
    for node in selection.nodes:
        parent = ""
        for each in (*reversed(await reader.above(node)), node):
            below.setdefault(parent, {})[each.id] = matching.get(each.id, each)
            parent = each.id
    children = {parent: list(nodes.values()) for parent, nodes in below.items()}
    return in_order(children.pop("", []), children)


async def _flat(reader: Reader, limit: int, found: Rows) -> AsyncGenerator[list[Row]]:
    left = limit
    async for page in unfinished(reader, min(limit, NODES_AT_ONCE)):
        found.note(page, reader.label)
        yield [Row(node, 0) for node in page.nodes[:left]]
        left -= len(page.nodes)
        if left < 0 or (left == 0 and page.cursor is not None):
            found.more.append(f"unfinished in {reader.label}")
            return


async def _deep(reader: Reader, levels: int, limit: int, allow_scan: bool, found: Rows) -> AsyncGenerator[list[Row]]:
    """Yield the nodes of the tree, in tree order."""

    def note(page: Page, parent: Node | None) -> None:
        found.note(page, reader.label, "" if parent is None else parent.kind)

    walk = Walk(
        reader, note, levels=levels, limit=limit, allow_scan=allow_scan, unfinished_first=limit < COMPARED_NODES
    )
    async with contextlib.aclosing(walk.steps()) as steps:
        async for rows in steps:
            yield rows
    found.below += walk.below
    found.more += [f"at the top of {reader.label}"] * walk.cut
    found.deeper = levels if walk.deeper else 0


def _with_those_above(rows: list[Row], ids: Container[str]) -> list[Row]:
    """Return the rows of these nodes and of their ancestors."""
    kept: list[Row] = []
    above = -1  # depth of the nearest kept row below whose ancestors are not yet kept
    for row in reversed(rows):
        if row.depth < above or row.node.id in ids:
            kept.append(row)
            above = row.depth
        elif row.depth == 0:
            above = -1
    kept.reverse()
    return kept


def _lines(found: Rows, ascii: bool) -> Iterator[Spans]:
    indents = ["  " * row.depth for row in found.rows]
    context = Context(now=found.at, ascii=ascii)
    return tables.listed(FIELDS, [row.node for row in found.rows], context, indents)
