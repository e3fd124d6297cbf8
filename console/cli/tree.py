"""``tree``: nodes as a tree or a flat list, optionally filtered."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Container, Iterator, Sequence
from typing import Any

import click

from console.cli import tables
from console.cli.grouped import field_named, print_counts
from console.cli.output import output_for, say
from console.cli.repeat import repeat
from console.cli.target import access_warnings, declined_engines, opened, select_readers
from console.model.fields.field import Context, Field
from console.model.fields.node import FIELDS
from console.model.filter import NODES, Fields, Filter, FilterError, parse
from console.model.selection import (
    COMPARED_NODES,
    Selection,
    finding_terms,
    may_match,
    select,
    with_findings,
)
from console.model.walk import TreeRow, Walk, all_pages, attention_first, in_order
from console.target import Target
from console.text import formatting
from console.text.formatting import scan_offer
from console.text.spans import Spans
from queries.db.errors import DatabaseError, attempted
from queries.read.nodes import PAGE_NODES
from queries.read.reader import Reader
from queries.records.node import Node, Page, ScanRequired
from queries.records.record import Record

LEVELS_SHOWN = 2  # of the tree that are shown without a filter


class TreePart:
    """Rows of one engine in tree order, and notes on what was not read."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.rows: list[TreeRow] = []
        self.at = 0.0
        self.scan_required: dict[str, ScanRequired] = {}  # by kind of parent ("" for the top)
        self.scope = ""  # note on a truncated read
        self.more: list[str] = []  # places with more nodes than the limit
        self.below: list[str] = []  # nodes with more children than the limit
        self.deeper = False  # there may be more levels
        self.error = ""  # why the engine, or its findings, could not be read
        self.unread: list[str] = []  # what was not compared with the filter

    def note(self, page: Page, kind: str = "") -> None:
        """Keep the server time and the notes of a page."""
        self.at = max(self.at, page.at)
        if page.scan_required is not None:
            self.scan_required[kind] = page.scan_required
        if page.scope:
            self.scope = formatting.scope_note(page.scope)

    def compared(self, selection: Selection) -> None:
        """Keep the notes of what was compared with the filter."""
        self.more += [f"in {self.label} that matches"] * selection.cut
        self.unread += [f"{self.label}: {why}." for why in selection.missing]


def _skipped(parts: Sequence[TreePart]) -> Iterator[str]:
    for need in dict.fromkeys(need for part in parts for need in part.scan_required.values()):
        yield f"Not read: {need.note}. {scan_offer(need, '--allow-scan')}"
    for part in parts:
        if part.scope:
            yield f"There may be more in {part.label}: {part.scope}."
    below = [place for part in parts for place in part.below]
    places = [place for part in parts for place in part.more]
    for place in (*places, *([f"below {below[0] if len(below) == 1 else f'{len(below)} nodes'}"] if below else [])):
        yield f"There is more {place}: --limit shows more."


class Tree(Record):
    """Nodes in tree order.

    ``complete`` is False if nodes may be missing; ``notes`` say which and why. ``at`` is None if nothing was read.
    """

    nodes: tuple[Node, ...]
    at: float | None
    complete: bool
    notes: tuple[str, ...] = ()
    scope: str = ""
    scan_required: ScanRequired | None = None


async def tree(
    target: Target,
    words: Sequence[str],
    *,
    filters: Sequence[str],
    engine: str | None,
    depth: int | None,
    limit: int,
    live: bool,
    allow_scan: bool,
    watch: bool,
    group_by: str | None,
) -> int:
    """Show nodes. Return the exit code."""
    narrowed = parsed(" ".join((*words, *filters)), target)
    if group_by is not None:
        return await _counted(target, narrowed, engine, field_named(group_by))
    levels = depth or (COMPARED_NODES if narrowed.terms else LEVELS_SHOWN)
    output = output_for(target)
    async with opened(target) as workspace:
        readers = list(select_readers(workspace, engine))

        async def once() -> int:
            async def of_engine(reader: Reader) -> TreePart:
                part = TreePart(reader.label)
                read = await attempted(_rows(reader, narrowed, levels, limit, live, allow_scan, part))
                if isinstance(read, DatabaseError):
                    part.error = read.line
                else:
                    rows, part.error = read
                    part.rows = rows if live else attention_first(rows)
                return part

            asked = [reader for reader in readers if may_match(narrowed, reader.label)]
            parts = await workspace.database.together(*map(of_engine, asked))
            rows = [row for part in parts for row in part.rows]
            failed = access_warnings(workspace, asked) + [f"{part.label}: {part.error}" for part in parts if part.error]
            failed += [f"{name}: {why}" for name, why in declined_engines(workspace, engine).items()]
            notes = [*failed, *(why for part in parts for why in part.unread), *_skipped(parts)]
            more = f"There may be more below these {levels} levels: --depth {levels + 1} shows more."
            deeper = [more] if any(part.deeper for part in parts) else []
            at = max((part.at for part in parts), default=0.0)
            answer = Tree(
                nodes=tuple(row.node for row in rows),
                at=at or None,
                complete=not (notes or deeper),
                notes=(*notes, *deeper),
                scope="; ".join(f"{part.label}: {part.scope}" for part in parts if part.scope),
                scan_required=next((need for part in parts for need in part.scan_required.values()), None),
            )
            output.answer(answer, lambda: _lines(rows, at, output.ascii))
            say(*notes)
            if depth is None and not target.json:
                say(*deeper)
            if narrowed.terms and not rows and not target.json:
                say(f"No node matches {narrowed}. Searched: {', '.join(reader.label for reader in readers)}.")
            elif not (rows or notes or target.json):
                none = "Nothing is unfinished" if live else "There are no jobs"
                say(f"{none} in {', '.join(reader.label for reader in readers)}.")
            return int(bool(failed))

        return await repeat(workspace, output, target.interval, once) if watch else await once()


async def _counted(target: Target, narrowed: Filter, engine: str | None, field: Field[Node]) -> int:
    """Print how many of the nodes that match have each value of a field."""
    async with opened(target) as workspace:
        readers = [each for each in select_readers(workspace, engine) if may_match(narrowed, each.label)]
        chosen = [await select(reader, narrowed) for reader in readers]
        notes = access_warnings(workspace, readers) + [why for each in chosen for why in each.missing]
        nodes = [(reader, (each.at, each.nodes)) for reader, each in zip(readers, chosen, strict=True)]
        return await print_counts(target, field, nodes, notes)


def parsed(text: str, target: Target, fields: Fields[Any] = NODES) -> Filter:
    """Parse a filter, with the saved filters of the settings. Raises UsageError."""
    try:
        return parse(text, fields, saved=target.config.filters)
    except FilterError as error:
        raise click.UsageError(f"Filter: {error.message} (at character {error.position + 1})") from None


async def _rows(
    reader: Reader, narrowed: Filter, depth: int, limit: int, live: bool, allow_scan: bool, part: TreePart
) -> tuple[list[TreeRow], str]:
    """Return the rows of one engine, and why findings could not be checked.

    With a filter, at most ``limit`` rows match, and others are only above them.
    """
    if finding_terms(narrowed) and not live:
        return await _with_ancestors(reader, narrowed, limit, part), ""
    most = COMPARED_NODES if narrowed.terms else limit
    reading = _flat(reader, most, part) if live else _deep(reader, depth, most, allow_scan, part)
    if narrowed.terms:
        rows = await _matching(reader, reading, narrowed, limit, part, live=live)
    else:
        rows = [row async for some in reading for row in some]
    nodes, why = await with_findings(reader, [row.node for row in rows])
    return [TreeRow(node, row.depth) for node, row in zip(nodes, rows, strict=True)], why


async def _matching(
    reader: Reader, reading: AsyncGenerator[list[TreeRow]], narrowed: Filter, limit: int, part: TreePart, *, live: bool
) -> list[TreeRow]:
    """Return the rows that match, with their ancestors.

    Reads until more than ``limit`` rows match.
    """
    walked: list[TreeRow] = []

    async def pages() -> AsyncGenerator[Page]:
        async with contextlib.aclosing(reading):
            async for rows in reading:
                walked.extend(rows)
                yield Page(nodes=tuple(row.node for row in rows), at=part.at)

    around = "" if live else "--live compares the unfinished ones"
    async with contextlib.aclosing(pages()) as compared:
        selection = await select(reader, narrowed, limit, pages=compared, around=around)
    part.compared(selection)
    return _with_those_above(walked, {node.id for node in selection.nodes})


async def _with_ancestors(reader: Reader, narrowed: Filter, limit: int, part: TreePart) -> list[TreeRow]:
    """Return the nodes that have the findings of the filter, below their ancestors."""
    selection = await select(reader, narrowed, limit)
    part.at = max(part.at, selection.at)
    part.compared(selection)
    matching = {node.id: node for node in selection.nodes}
    below: dict[str, dict[str, Node]] = {}
    for node in selection.nodes:
        parent = ""
        for each in (*reversed(await reader.nodes.above(node)), node):
            below.setdefault(parent, {})[each.id] = matching.get(each.id, each)
            parent = each.id
    children = {parent: list(nodes.values()) for parent, nodes in below.items()}
    return in_order(children.pop("", []), children)


async def _flat(reader: Reader, limit: int, part: TreePart) -> AsyncGenerator[list[TreeRow]]:
    room = limit
    async for page in all_pages(reader.pages.live, min(limit, PAGE_NODES)):
        part.note(page)
        yield [TreeRow(node, 0) for node in page.nodes[:room]]
        room -= len(page.nodes)
        if room < 0 or (room == 0 and page.cursor is not None):
            part.more.append(f"unfinished in {reader.label}")
            return


async def _deep(
    reader: Reader, levels: int, limit: int, allow_scan: bool, part: TreePart
) -> AsyncGenerator[list[TreeRow]]:
    def note(page: Page, parent: Node | None) -> None:
        part.note(page, "" if parent is None else parent.kind)

    walk = Walk(
        reader, note, levels=levels, limit=limit, allow_scan=allow_scan, unfinished_first=limit < COMPARED_NODES
    )
    async with contextlib.aclosing(walk.steps()) as steps:
        async for rows in steps:
            yield rows
    part.below += walk.below
    part.more += [f"at the top of {reader.label}"] * walk.cut
    part.deeper = bool(walk.deeper)


def _with_those_above(rows: list[TreeRow], ids: Container[str]) -> list[TreeRow]:
    family: list[TreeRow] = []
    above = -1  # depth of the nearest kept row below whose ancestors are not yet kept
    for row in reversed(rows):
        if row.depth < above or row.node.id in ids:
            family.append(row)
            above = row.depth
        elif row.depth == 0:
            above = -1
    family.reverse()
    return family


def _lines(rows: Sequence[TreeRow], at: float, ascii: bool) -> Iterator[Spans]:
    indents = ["  " * row.depth for row in rows]
    return tables.listed(FIELDS, [row.node for row in rows], Context(now=at, ascii=ascii), indents)
