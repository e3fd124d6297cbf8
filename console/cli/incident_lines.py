"""Incidents as the lines of a command, with the shell commands that act on them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from console.cli import tables
from console.target import Target
from console.text.pages import incidents as pages
from console.text.spans import Spans
from queries.records.finding import Incident


def incident_lines(target: Target, found: Iterable[Incident], cells: int, now: float) -> list[Spans]:
    """Return incidents for a width in cells, as of ``now`` in seconds since 1970."""
    command, helps = partial(tables.incident_command, target), partial(tables.command, target)
    return pages.incidents(found, cells, now=now, command=command, helps=helps)
