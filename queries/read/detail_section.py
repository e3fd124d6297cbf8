"""Sections of a node's detail from the rows of ``detail/*.sql``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from queries.contract.phases import Phases, drawn_phase
from queries.records.detail import DRAWN, Payload, Section
from queries.records.node import ScanRequired


def read(key: str, title: str, rows: Sequence[Mapping[str, Any]], drawn: str, phases: Phases) -> Section | None:
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


def unread(key: str, title: str, why: ScanRequired | str) -> Section:
    """Return a section that was not read, because of its cost or an error."""
    scan_required = (
        why if isinstance(why, ScanRequired) else ScanRequired(need="", why=why.rstrip("."), blocks=0, ddl="")
    )
    return Section(name=_name(key), title=title, scan_required=scan_required)


def _name(key: str) -> str:
    return key.partition("/")[2]
