"""Changes of several sources in one list, newest first, page by page."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from queries.records.audit import AuditLogEntry
from queries.records.change import Change
from queries.records.node import Node
from queries.records.record import Record

AUDIT_LOG = "audit log"  # name of the operators' source


class Position(Record):
    """End of a page: its time, and the last place of each part of each source."""

    since: float
    places: dict[str, dict[str, str]] = {}


class Placed(Record):
    """A change, and its place in the part of its source that records it."""

    change: Change
    part: str
    place: str


def placed(label: str, node_id: str, row: Mapping[str, Any], nodes: Mapping[str, Node]) -> Placed:
    """Return a row of ``changed.sql`` as a change of a node, which may be gone."""
    node = nodes.get(node_id)
    change = Change(
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
    change = Change(
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
) -> tuple[tuple[Change, ...], Position | None]:
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
