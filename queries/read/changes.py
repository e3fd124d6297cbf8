"""Changes of several sources in one list, newest first, page by page."""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from queries.db.errors import readable
from queries.read.reader import Reader
from queries.records.audit import AuditLogEntry
from queries.records.change import NOT_READ, ChangeSource, NodeChange
from queries.records.node import Node
from queries.records.record import Record

AUDIT_LOG = "audit log"  # name of the operators' source


class Position(Record):
    """End of a page: its time, and the last place of each part of each source."""

    since: float
    places: dict[str, dict[str, str]] = {}


class Placed(Record):
    """A change, and its place in the part of its source that records it."""

    change: NodeChange
    part: str
    place: str


async def read(
    reader: Reader,
    since: float,
    places: Mapping[str, str],
    limit: int,
    *,
    routine: bool = True,
    allow_scan: bool = False,
) -> tuple[list[Placed], ChangeSource]:
    """Read changes of an engine's nodes since a time, newest first in each part.

    A part is a column or a table of the engine that records times. ``places``: the last place of each part on the
    previous page. Each part has at most ``limit`` changes. ``routine``: with those that say only that work goes on.
    ``allow_scan`` reads them even if this needs a scan.
    """
    await reader.variant.recognise()
    source = ChangeSource(name=reader.label, recorded=reader.engine.changed)
    chosen = reader.variant.select("changed", allow_scan=allow_scan)
    met = reader.detected.met_needs
    scans = chosen is not None and not chosen.needs <= met
    variants = reader.engine.statements.get("changed", ())
    if not scans and any(reader.engine.spec.needs[n].ddl for s in variants for n in s.needs - met):
        source = msgspec.structs.replace(source, scan_required=reader.variant.scan_required("changed"))
    if chosen is None:
        return [], msgspec.structs.replace(source, scope="not searched" if variants else NOT_READ)
    cursor = msgspec.json.encode(dict(places)).decode() if places else None
    async with reader.variant.reading(allow_scan=scans) as transaction:
        rows = await reader.variant.rows(transaction, "changed", chosen, since=since, cursor=cursor, limit=limit)
        every = [row for row in rows if row["id"] is not None]
        named = [row for row in every if routine or not row.get("routine")]
        nodes = (await reader.nodes.among(transaction, list(dict.fromkeys(row["id"] for row in named)))).nodes
    by_id = {node.id: node for node in nodes}
    scope = [row["what"] for row in rows if row["id"] is None]
    scope += ["only rows that policies show are searched"] if reader.detected.policies else []
    with readable("changed.sql"):
        placed = [_placed(reader.label, reader.ids.full(row["id"]), row, by_id) for row in named]
    rest = Counter(row["what"] for row in every) - Counter(row["what"] for row in named)
    return placed, msgspec.structs.replace(source, scope="; ".join(scope), routine=dict(rest))


def _placed(label: str, node_id: str, row: Mapping[str, Any], nodes: Mapping[str, Node]) -> Placed:
    """Return a row of ``changed.sql`` as a change of a node, which may be gone."""
    node = nodes.get(node_id)
    change = NodeChange(
        at=float(row["at"]),
        engine=label,
        id=node_id,
        what=row["what"],
        title=node.title if node else "",
        old=row["old"],
        new=row["new"] if row["new"] is not None or node is None else node.status,
        node=node,
    )
    return Placed(change=change, part=row["part"], place=row["place"])


def acted(entry: AuditLogEntry) -> Placed:
    """Return an entry of the audit log as a change."""
    target = entry.target
    change = NodeChange(
        at=entry.at,
        engine=entry.engine,
        id=target.id if target else "",
        what=entry.action,
        title=target.name if target else "",
        entry=entry,
    )
    return Placed(change=change, part="entry", place=entry.id)


def page(
    sources: Mapping[str, Sequence[Placed]], before: Position, size: int
) -> tuple[tuple[NodeChange, ...], Position | None]:
    """Merge the changes of all sources. Return a page, and its end if there are more.

    A part may record times that are not quite in its own order. It keeps its order, so that no change is lost between
    two pages.
    """
    turns: list[tuple[float, str, Placed]] = []
    for name, rows in sources.items():
        newest: dict[str, float] = {}
        for each in rows:
            turn = newest[each.part] = min(newest.get(each.part, each.change.at), each.change.at)
            turns.append((turn, name, each))
    turns.sort(key=lambda turn: -turn[0])
    places = {name: dict(parts) for name, parts in before.places.items()}
    for _, name, each in turns[:size]:
        places.setdefault(name, {})[each.part] = each.place
    end = Position(since=before.since, places=places) if len(turns) > size else None
    return tuple(each.change for _, _, each in turns[:size]), end


def token(end: Position) -> str:
    """Return a position as a word for the command line."""
    return base64.urlsafe_b64encode(msgspec.json.encode(end)).decode().rstrip("=")


def position(word: str) -> Position | None:
    """Return the position that `token` wrote as this word, or None for another word."""
    try:
        raw = base64.b64decode(word + "=" * (-len(word) % 4), altchars=b"-_", validate=True)
        return msgspec.json.decode(raw, type=Position)
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        return None
