"""Options that select the nodes of a change, and what they select."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Mapping

from console.cli.options import option_value
from console.interrupts import ctrl_c_raises
from queries.records.record import Record
from queries.text.shell import typed_id

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


def typed_ids(ids: Iterable[str]) -> Iterable[str]:
    """Yield ids as typed, with those on stdin."""
    for id_ in ids:
        if id_ != STDIN:
            yield id_
            continue
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(newline="\n")  # a key may have another line break
        with ctrl_c_raises():
            lines = [line.removesuffix("\n") for line in sys.stdin]
        yield from (option_value("-", typed_id, line) for line in lines if line)
