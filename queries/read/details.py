"""A node's detail: its sections, stored texts, findings and first children."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from queries.contract.rows import Phases, drawn_phase
from queries.db.errors import DatabaseError, attempted, readable
from queries.db.query import Query
from queries.db.reads import IN_STEP, Reads, lockstep
from queries.read.holders import holders
from queries.read.reader import Reader
from queries.read.sentence import in_text
from queries.records.detail import DRAWN, Detail, Payload, Section
from queries.records.finding import codes_by_node
from queries.records.node import Node, Page, Phase, ScanRequired, marked, split_id

PAYLOAD_HEAD_BYTES = 65536  # bytes of a payload that are read by default
CHILDREN_READ = 20  # children in a node's detail
WHY = "What a worker asks before it takes it"
HOLDERS = "What keeps it waiting"
WAITING = (Phase.READY, Phase.SCHEDULED, Phase.BLOCKED, Phase.HELD, Phase.UNKNOWN)


async def read(reader: Reader, node_id: str, size: int = PAYLOAD_HEAD_BYTES) -> Detail | None:
    """Read a node with its sections and findings; None if it does not exist.

    ``size``: bytes to read of each payload. All is of one snapshot.
    """
    (detail,) = await reader.database.together(_detail(reader, node_id, size))
    return detail  # type: ignore[no-any-return]


async def _detail(reader: Reader, node_id: str, size: int) -> Detail | None:
    local = reader.ids.local(node_id)
    kind = split_id(node_id)[1]
    keys = sorted(
        key for key, s in reader.engine.statements.items() if key.startswith("detail/") and kind in s[0].kinds
    )
    async with reader.variant.reading() as transaction:
        page = await reader.nodes.among(transaction, [local])
        if not page.nodes:
            return None
        node_id = page.nodes[0].id
        local = reader.ids.local(node_id)
        sections = await _sections(reader, transaction, keys, local, size)
    sections += reader.samples.sections(node_id)
    children = await _few_children(reader, page.nodes[0])
    ids = [node_id, *(child.id for child in children.nodes)] if children else [node_id]
    shown = page.nodes[0]
    found, why = await reader.database.together(reader.findings.read(ids, offer=shown), _why(reader, shown))
    read = reader.findings.with_samples(found)
    codes = codes_by_node(read.findings)
    (node,) = marked(page.nodes, codes)
    return Detail(
        node=node,
        at=page.at,
        sections=tuple(s for s in (*why, *sections) if s),
        findings=tuple(f for f in read.findings if f.node_id == node_id),
        children=children and msgspec.structs.replace(children, nodes=marked(children.nodes, codes)),
        skipped_findings=read.skipped_findings,
    )


async def payloads(reader: Reader, nodes: Iterable[Node], size: int) -> dict[str, list[Payload]]:
    """Read at most ``size`` bytes of each stored text of these nodes, by node id.

    Raises DatabaseError, also if a text cannot be read without a scan.
    """
    queries: list[tuple[str, Query]] = []
    payloads: dict[str, list[Payload]] = {}
    for node in nodes:
        payloads[node.id] = []
        values = reader.variant.parameters(id=reader.ids.local(node.id), bytes=size)
        for key in _payload_sections(reader, node.kind):
            statement = reader.variant.select(key)
            if statement is None:
                title = reader.engine.statements[key][0].title
                raise DatabaseError(f"{title}: {reader.variant.scan_required(key).why}")
            queries.append((node.id, Query(statement, values)))
    async with reader.variant.reading() as transaction:
        answers = await transaction.batch([query for _, query in queries])
    for (node_id, _), rows in zip(queries, answers, strict=True):
        payloads[node_id] += [
            Payload(head=row["payload"], size=row["size"]) for row in rows if row["payload"] is not None
        ]
    return payloads


async def _sections(
    reader: Reader, transaction: Reads, keys: Sequence[str], local: str, size: int
) -> list[Section | None]:
    """Read sections of a node's detail. One that cannot be read says why."""
    titles = [reader.engine.statements[key][0].title for key in keys]
    reads = [_section(reader, key, title, local, size) for key, title in zip(keys, titles, strict=True)]
    return [
        _unread(key, title, answer.line) if isinstance(answer, DatabaseError) else answer
        for key, title, answer in zip(keys, titles, await lockstep(transaction, reads), strict=True)
    ]


async def _section(reader: Reader, key: str, title: str, local: str, size: int) -> Section | None:
    chosen = reader.variant.select(key)
    if chosen is None:
        return _unread(key, title, reader.variant.scan_required(key))
    rows = await IN_STEP.rows(chosen, reader.variant.parameters(id=local, bytes=size))
    with readable(f"{key}.sql"):
        return _section_of(key, title, rows, chosen.drawn, reader.nodes.phases) if rows else None


def _payload_sections(reader: Reader, kind: str) -> list[str]:
    """Return the statements of the detail sections of a kind that have a stored text."""
    return [
        key
        for key, (statement, *_) in reader.engine.statements.items()
        if key.startswith("detail/") and kind in statement.kinds and "bytes" in statement.parameters
    ]


async def _why(reader: Reader, node: Node) -> list[Section]:
    """Read the conditions of a waiting node and their holders."""
    if node.phase not in WAITING or node.kind not in reader.claims.kinds:
        return []
    read = await attempted(reader.claims.why([node.id], place=False))
    if isinstance(read, DatabaseError):
        return [_unread("why", WHY, read.line)]
    rows = tuple((each.mark, each.words, in_text(each.shows)) for why in read for each in why.conditions)
    sections = [Section(name="why", title=WHY, columns=("", "condition", "value"), rows=rows)] if rows else []
    behind = await attempted(holders(reader, read))
    if isinstance(behind, DatabaseError):
        return [*sections, _unread("holders", HOLDERS, behind.line)]
    kept = tuple((each.waiter, each.condition, each.node_id, each.problems) for each in behind)
    columns = ("node", "condition", "because of", "its problems")
    return sections + [Section(name="holders", title=HOLDERS, columns=columns, rows=kept)] * bool(kept)


async def _few_children(reader: Reader, node: Node) -> Page | None:
    """Read the first children of a node, or why they cannot be read.

    None for kinds without children.
    """
    if node.kind not in reader.engine.spec.parents:
        return None
    children = await attempted(reader.pages.children(node.id, limit=CHILDREN_READ))
    if isinstance(children, DatabaseError):
        return Page(nodes=(), at=0.0, scan_required=ScanRequired(need="", why=children.line, blocks=0, ddl=""))
    return children


def _section_of(key: str, title: str, rows: Sequence[Mapping[str, Any]], drawn: str, phases: Phases) -> Section | None:
    """Return rows (at least one) as a payload, a drawing or a table.

    None for a payload that is NULL. ``phases``: of each status of the engine.
    """
    if "payload" in rows[0]:
        if rows[0]["payload"] is None:
            return None
        payload = Payload(head=rows[0]["payload"], size=rows[0]["size"])
        return Section(name=_name(key), title=title, payload=payload)
    columns = tuple(rows[0].keys())
    drawn = drawn if drawn and DRAWN[drawn] == frozenset(columns) else ""
    if drawn:
        rows = [{**row, "phase": drawn_phase(row, phases)} for row in rows]
    values = tuple(tuple(row.values()) for row in rows)
    return Section(name=_name(key), title=title, drawn=drawn, columns=columns, rows=values)


def _unread(key: str, title: str, why: ScanRequired | str) -> Section:
    scan = why if isinstance(why, ScanRequired) else ScanRequired(need="", why=why.rstrip("."), blocks=0, ddl="")
    return Section(name=_name(key), title=title, scan_required=scan)


def _name(key: str) -> str:
    return key.partition("/")[2]
