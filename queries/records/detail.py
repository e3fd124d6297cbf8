"""A node's detail."""

from __future__ import annotations

from typing import Any

import msgspec

from queries.records.finding import Finding, SkippedFinding
from queries.records.node import Node, Page, ScanRequired
from queries.records.record import Record


class Payload(Record):
    """First bytes of a stored value.

    ``size`` is the full length in bytes, ``json`` the value if it is whole JSON.
    """

    head: bytes
    size: int
    json: Any = msgspec.UNSET


class Section(Record):
    """One part of a node's detail: a table of values, or a payload.

    ``drawn`` names the drawing that shows the table best, one of `DRAWN`, which lists its columns.
    """

    name: str
    title: str
    drawn: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    payload: Payload | None = None
    scan_required: ScanRequired | None = None


# Columns of a section that is drawn, in any order. A NULL phase is that of the state, if it has only one.
# graph     one row per step: id and name text; parents text[], ids of the preceding steps; state text; phase text;
#           seconds float8, its duration since its parents were done; note text. The last three may be NULL.
# timeline  one row per change, newest first: at float8, seconds since 1970; lane text, the thing that changed; state
#           text, its new value; phase text, or NULL for a moment that begins no state; waited float8, seconds since the
#           previous change; waited_for and note text. The last four may be NULL.
DRAWN = {
    "graph": frozenset({"id", "name", "parents", "state", "phase", "seconds", "note"}),
    "timeline": frozenset({"at", "lane", "state", "phase", "waited", "waited_for", "note"}),
}


class Detail(Record):
    """One node with its detail sections and findings.

    ``children`` is the first page of its children; None for kinds without children.
    """

    node: Node
    at: float
    sections: tuple[Section, ...] = ()
    findings: tuple[Finding, ...] = ()
    children: Page | None = None
    skipped_findings: tuple[SkippedFinding, ...] = ()  # those that could not be looked for
