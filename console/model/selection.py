"""Nodes of an engine that match a filter, and what was not looked at. UI-free.

A filter that names findings reads the nodes that have them. Conditions on columns are a part of the statement, if the
engine's statements can take them. Any other filter is compared with each node of the tree and with each dead letter, up
to `COMPARED_NODES`. If a number of nodes is enough, the unfinished ones are compared first.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from functools import partial
from typing import Any

import msgspec

from console.model.conditions import COMPARED_FIELDS, compares_more, conditions
from console.model.fields.field import Context
from console.model.fields.payload import documents_of, is_whole
from console.model.filter import ANY, NODES, Filter, Term, Value, allows, uses_payloads
from console.model.walk import Walk, all_pages, dead_letters
from queries.db.errors import DatabaseError, attempted
from queries.read import details
from queries.read.nodes import NODES_AT_ONCE
from queries.read.reader import Reader
from queries.records.finding import Findings, codes_by_node
from queries.records.node import Node, Page, marked
from queries.records.record import Record

COMPARED_NODES = 10_000  # nodes of an engine that are compared with a filter
SELECTED_NODES = 100_000  # nodes of an engine that a selection has
SELECTION_PAGES = 500  # of a selection by conditions: each of 20,000 rows, or of `NODES_AT_ONCE` nodes
SELECTED_FINDING_NODES = 2000  # nodes with each finding that are read to select nodes
TEXTS_AT_ONCE = 100  # nodes whose stored texts are read at a time
TEXT_BYTES = 8192  # of a stored text; a longer one is not compared


class Selection(Record):
    """Matching nodes, read at ``at`` (server clock).

    ``missing``: why nodes that match may be missing. ``cut``: reading ended at the wanted number.
    """

    nodes: tuple[Node, ...]
    at: float
    missing: tuple[str, ...] = ()
    cut: bool = False


async def select(
    reader: Reader,
    filter: Filter,
    most: int | None = None,
    kinds: Collection[str] = (),
    *,
    pages: AsyncIterator[Page] | None = None,
    around: str = "",
) -> Selection:
    """Return at most ``most`` nodes that match, of these ``kinds`` if there are any.

    ``pages``: the nodes to compare, if they are not those that the filter needs. ``around``: the way around the limit
    of compared nodes then.
    """
    missing: list[str] = []
    nodes: dict[str, Node] = {}
    at = 0.0
    looked = 0
    by_conditions = pages is None and not finding_terms(filter) and reader.pages.matches_conditions
    reading: AsyncIterator[Page]
    if pages is not None:
        reading = (await _complete(reader, filter, missing, page) async for page in pages)
    elif finding_terms(filter):
        reading = _of_findings(reader, filter, missing)
    elif by_conditions:
        reading = _by_conditions(reader, filter, missing, live_first=most is not None)
    else:
        reading = _every(reader, filter, missing, live_first=most is not None)
    async for page in reading:
        at = max(at, page.at)
        texts, why, _ = await stored_documents(reader, filter, page.nodes)
        missing += [why] if why else []
        matches = NODES.matches(filter, Context(now=at, documents=texts))
        for node in page.nodes:
            wished = node.id not in nodes and (not kinds or node.kind in kinds)
            if wished and matches(node):
                if most is not None and len(nodes) >= most:
                    return Selection(nodes=tuple(nodes.values()), at=at, cut=True)
                nodes[node.id] = node
        looked += len(page.nodes)
        if (looked - len(nodes) if by_conditions else looked) >= COMPARED_NODES or len(nodes) >= SELECTED_NODES:
            only = f"only the first {looked} nodes of {reader.label} were compared with the filter"
            missing.append(f"{only}: {around or _around(filter, by_conditions)}")
            break
    return Selection(nodes=tuple(nodes.values()), at=at, missing=tuple(dict.fromkeys(missing)))


def _around(filter: Filter, by_conditions: bool) -> str:
    if by_conditions and compares_more(filter):
        names = ", ".join(f"{name}:" for name in COMPARED_FIELDS)
        return f"a term such as {names} is compared by the server, without that limit"
    return "a filter that names a finding reads its nodes alone, and `do --incident` acts on those of one cause"


def finding_terms(filter: Filter) -> list[Term]:
    """Return the terms that only nodes with certain findings match."""
    return [
        term
        for term in filter.terms
        if term.field == "finding"
        and not term.negated
        and all(value.text.casefold() != "none" for value in term.values)
    ]


def may_match(filter: Filter, label: str) -> bool:
    """Return False if the filter names other engines."""
    named = (term for term in filter.terms if term.field == "engine" and not term.negated)
    return all(any(_names(value, label) for value in term.values) for term in named)


def _names(value: Value, label: str) -> bool:
    text, label = value.text.casefold(), label.casefold()
    return label == text if value.op == "=" else label.startswith(text) or text == ANY


async def with_findings(reader: Reader, nodes: Sequence[Node]) -> tuple[list[Node], str]:
    """Return the nodes with their findings, and why some were not checked."""
    starts = range(0, len(nodes), NODES_AT_ONCE)
    parts = [[node.id for node in nodes[start : start + NODES_AT_ONCE]] for start in starts]
    reads = (reader.findings.read(ids, limit=len(ids), offer=False) for ids in parts)
    answers: list[Findings] = await reader.database.together(*reads)
    codes = codes_by_node(finding for read in answers for finding in read.findings)
    failed = (each for read in answers for each in read.skipped_findings if each.failed)
    return list(marked(nodes, codes)), next((f"{each.code} was not checked: {each.why}" for each in failed), "")


async def stored_documents(
    reader: Reader, filter: Filter, nodes: Iterable[Node]
) -> tuple[dict[str, Sequence[Any]], str, Sequence[Node]]:
    """Return stored JSON texts by node id, why some are unknown, and nodes not asked.

    None are read if the filter does not compare them.
    """
    return await _documents(reader, list(nodes)) if uses_payloads(filter) else ({}, "", ())


async def read_documents(reader: Reader, nodes: Sequence[Node]) -> tuple[dict[str, Sequence[Any]], str]:
    """Return stored JSON texts by node id, and why some are unknown."""
    documents, why, _ = await _documents(reader, nodes)
    return documents, why


async def _documents(reader: Reader, unread: Sequence[Node]) -> tuple[dict[str, Sequence[Any]], str, Sequence[Node]]:
    documents: dict[str, Sequence[Any]] = {}
    cut, why = 0, ""
    for start in range(0, len(unread), TEXTS_AT_ONCE):
        read = await attempted(details.payloads(reader, unread[start : start + TEXTS_AT_ONCE], TEXT_BYTES))
        if isinstance(read, DatabaseError):
            return documents, f"stored texts were not read: {read.line}", unread[start:]
        documents |= {id_: documents_of(payloads) for id_, payloads in read.items() if all(map(is_whole, payloads))}
        cut += sum(not all(map(is_whole, payloads)) for payloads in read.values())
    if cut:
        why = f"nodes of {reader.label} with a stored text above {TEXT_BYTES // 1024} kB were not compared: {cut}"
    return documents, why, ()


async def _of_findings(reader: Reader, filter: Filter, missing: list[str]) -> AsyncIterator[Page]:
    values = finding_terms(filter)[0].values
    read = reader.findings.with_samples(await reader.findings.read(limit=SELECTED_FINDING_NODES))
    codes = codes_by_node(read.findings)
    named = [value.text.casefold() for value in values if value.text.casefold() != "any"]

    def concerns(code: str) -> bool:
        return len(named) < len(values) or any(code.startswith(name) for name in named)

    missing += [f"only {SELECTED_FINDING_NODES} nodes with {code} were read" for code in read.capped if concerns(code)]
    missing += [f"{each.code} was not checked: {each.why}" for each in read.skipped_findings if concerns(each.code)]
    for spec in reader.engine.spec.findings:
        if spec.sampled and any(spec.code.startswith(name) for name in named):
            missing.append(f"{spec.code} needs several samples")
    ids = [node_id for node_id, of_node in codes.items() if any(map(concerns, of_node))]
    for start in range(0, len(ids), NODES_AT_ONCE):
        page = await reader.nodes.read(ids[start : start + NODES_AT_ONCE])
        yield msgspec.structs.replace(page, nodes=marked(page.nodes, codes))


async def _complete(reader: Reader, filter: Filter, missing: list[str], page: Page) -> Page:
    """Return a page with the findings that the filter compares.

    Adds what may be missing.
    """
    if page.scan_required is not None:
        missing.append(page.scan_required.note)
    if page.scope:
        missing.append(f"only {page.scope} of {reader.label} were read")
    if all(term.field != "finding" for term in filter.terms):
        return page
    nodes, why = await with_findings(reader, page.nodes)
    missing.extend([why] if why else [])
    return msgspec.structs.replace(page, nodes=tuple(nodes))


async def _live(reader: Reader, filter: Filter, missing: list[str]) -> AsyncIterator[Page]:
    """Yield the unfinished nodes, the most urgent first.

    They are at most half of `COMPARED_NODES`.
    """
    looked = 0
    async for live in all_pages(reader.pages.live, NODES_AT_ONCE):
        page = msgspec.structs.replace(live, scope="", scan_required=None)  # the tree has them all
        yield await _complete(reader, filter, missing, page)
        looked += len(live.nodes)
        if looked >= COMPARED_NODES // 2:
            return


async def _by_conditions(
    reader: Reader, filter: Filter, missing: list[str], *, live_first: bool
) -> AsyncIterator[Page]:
    """Yield the nodes that match the filter's conditions, by kind and key.

    ``live_first``: unfinished nodes come before them.
    """
    if live_first:
        async for page in _live(reader, filter, missing):
            yield page
    named = [term for term in filter.terms if term.field == "kind"]
    rest = SELECTION_PAGES
    for kind in reader.engine.spec.kinds:
        if not rest or not all(allows(term, kind.name) for term in named):
            continue
        async for page in all_pages(partial(reader.pages.matching, kind.name, conditions(filter)), NODES_AT_ONCE):
            yield await _complete(reader, filter, missing, page)
            rest -= 1
            if not rest:
                break
    if not rest:
        missing.append(
            f"the tables of {reader.label} have more rows than {SELECTION_PAGES} pages look at: "
            "--limit acts on the first"
        )


async def _every(reader: Reader, filter: Filter, missing: list[str], *, live_first: bool) -> AsyncIterator[Page]:
    """Yield the nodes of the tree, then the dead letters.

    ``live_first``: unfinished nodes come before them, the most urgent first, up to half of `COMPARED_NODES`.
    """
    seen: set[str] = set()
    if live_first:
        async for page in _live(reader, filter, missing):
            seen.update(node.id for node in page.nodes)
            yield page
    pages: list[Page] = []
    walk = Walk(reader, lambda page, parent: pages.append(page), limit=COMPARED_NODES + 1)
    async with contextlib.aclosing(walk.steps()) as steps:
        async for rows in steps:
            for page in pages:  # adds what they lack
                await _complete(reader, filter, missing, msgspec.structs.replace(page, nodes=()))
            at = max(page.at for page in pages)
            pages.clear()
            nodes = tuple(row.node for row in rows if row.node.id not in seen)
            seen.update(node.id for node in nodes)
            yield await _complete(reader, filter, missing, Page(nodes=nodes, at=at))
    if walk.below:
        missing.append(f"{len(walk.below)} nodes of {reader.label} have more children than were read")
    async for dead in dead_letters(reader, NODES_AT_ONCE):
        nodes = tuple(node for node in dead.nodes if node.id not in seen)
        yield await _complete(reader, filter, missing, msgspec.structs.replace(dead, nodes=nodes))
