"""What the rows of a ``detail/*.sql`` become on a node's page; or why there are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from queries.model import DRAWN, Payload, ScanRequired, Section


def read(key: str, title: str, rows: Sequence[Mapping[str, Any]], drawn: str) -> Section:
    """A payload or a table, drawn where it has the columns for it. ``rows`` are some."""
    if "payload" in rows[0]:
        payload = Payload(head=rows[0]["payload"], size=rows[0]["size"])
        return Section(name=_name(key), title=title, payload=payload)
    columns = tuple(rows[0].keys())
    values = tuple(tuple(row.values()) for row in rows)
    drawn = drawn if drawn and DRAWN[drawn] == frozenset(columns) else ""
    return Section(name=_name(key), title=title, drawn=drawn, columns=columns, rows=values)


def unread(key: str, title: str, why: ScanRequired | str) -> Section:
    """One that was not read, for what it would cost; or for what the server said."""
    scan_required = (
        why if isinstance(why, ScanRequired) else ScanRequired(need="", why=why.rstrip("."), pages=0, ddl="")
    )
    return Section(name=_name(key), title=title, scan_required=scan_required)


def _name(key: str) -> str:
    return key.partition("/")[2]
