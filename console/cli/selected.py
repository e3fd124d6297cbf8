"""Options that select the nodes of a change, and what they select."""

from __future__ import annotations

from collections.abc import Mapping

from queries.records.record import Record

STDIN = "-"  # id that means: ids are on stdin, one per line


class Source(Record):
    """Options that select nodes, or dead letters. One of the first four is given."""

    ids: tuple[str, ...] = ()
    incident: str | None = None
    filter: str | None = None
    group: str | None = None
    engine: str | None = None  # of ``do`` only with ``filter``
    limit: int | None = None


class Selected(Record):
    """Ids of nodes, guards by id, and arguments that the selection suggests."""

    ids: tuple[str, ...]
    guards: Mapping[str, str] = {}
    arguments: tuple[str, ...] = ()
