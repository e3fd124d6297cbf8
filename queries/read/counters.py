"""Counters of the server over time, and the work per minute that they show.

Work is counted by the table that shows an engine's work. The server also counts rows of transactions that were rolled
back, so all that follows from it is estimated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec

from queries.records.node import Count, Phase, Precision
from queries.records.record import Record

COUNTERS_SECONDS = 600.0  # for which counters are kept
SPAN_SECONDS, RATE_SECONDS = 60.0, 2.0  # over which a rate is measured, at most and at least
UNFINISHED = frozenset({Phase.READY, Phase.RUNNING, Phase.SCHEDULED, Phase.BLOCKED, Phase.HELD})


class RowCounters(Record):
    """Rows of one table that were inserted and deleted so far.

    ``unfinished``: nodes that were counted about then; None if that is not known exactly.
    """

    inserted: int
    deleted: int
    unfinished: int | None = None


class Counters(Record):
    """Counters of the database, and of one table of each engine.

    ``reset``: when they began at 0.
    ``consoles`` are the connections of all consoles. ``own`` and ``own_commits`` count the transactions of this one
    until the read. ``wrote``: when it last changed rows, by the monotonic clock; None if that may not be counted yet.
    """

    deadlocks: int
    commits: int
    rollbacks: int
    consoles: int
    reset: str | None
    labels: tuple[str, ...]
    own: int = 0
    own_commits: int = 0
    wrote: float | None = None
    rows: dict[str, RowCounters] = {}


class Rates(Record):
    """Estimated numbers per minute.

    ``outflow`` is None if it is not recorded. ``minutes``: over which they were measured.
    """

    inflow: float
    outflow: float | None
    minutes: float


class Arrivals(Record):
    """First and last of ``n`` times at which rows came.

    ``longest``: the longest time between two of them.
    """

    first: float
    last: float
    longest: float = 0.0
    n: int = 1

    def and_at(self, at: float) -> Arrivals:
        """Return these with a later one."""
        return Arrivals(first=self.first, last=at, longest=max(self.longest, at - self.last), n=self.n + 1)


class CounterHistory:
    """Counters of the last minutes, and since the first of all when rows came."""

    def __init__(self) -> None:
        self.read: list[tuple[float, Counters]] = []
        self.arrivals: dict[str, Arrivals] = {}

    def add(self, at: float, now: Counters) -> None:
        """Add counters. After a reset, begin again."""
        last = self.read[-1][1].rows if self.read and self.read[-1][1].reset == now.reset else {}
        for label in {*self.arrivals, *now.rows}:
            before, rows, came = last.get(label), now.rows.get(label), self.arrivals.get(label)
            if before is None or rows is None or rows.inserted < before.inserted:
                self.arrivals.pop(label, None)
            elif rows.inserted > before.inserted:
                self.arrivals[label] = came.and_at(at) if came else Arrivals(first=at, last=at)
        kept = ((then, each) for then, each in self.read if each.reset == now.reset and then >= at - COUNTERS_SECONDS)
        self.read = [*kept, (at, now)]

    def note(self, label: str, counts: Iterable[Count]) -> None:
        """Note the nodes of an engine that were counted beside the newest counters."""
        rows = self.read[-1][1].rows if self.read else {}
        if label in rows:
            rows[label] = msgspec.structs.replace(rows[label], unfinished=unfinished(counts))

    def moved(self, label: str) -> float | None:
        """Return a time after which others deleted rows of an engine, or None."""
        for (_, later), (at, earlier) in pairwise(reversed(self.read)):
            now, was = later.rows.get(label), earlier.rows.get(label)
            if now and was and now.deleted > was.deleted and later.wrote == earlier.wrote is not None:
                return at
        return None

    def rates(self, label: str, deletes: bool | None, ago: float = 0.0) -> Rates | None:
        """Return the rates over the minute until ``ago`` seconds; None: not known.

        New work is rows inserted. Finished work is rows deleted if the engine ``deletes`` them, else new work minus the
        growth of unfinished work. ``deletes``: None if work is not counted.
        """
        end = self.read[-1][0] - ago if self.read else 0.0
        read = [(at, each.rows.get(label)) for at, each in self.read if end - SPAN_SECONDS <= at <= end]
        begins = max((place for place, (_, rows) in enumerate(read) if rows is None), default=-1) + 1
        known = [(at, rows) for at, rows in read[begins:] if rows]
        counted = [(at, rows) for at, rows in known if deletes or rows.unfinished is not None]
        inflow, ended = _grown(known, "inserted"), _grown(counted, "deleted" if deletes else "inserted")
        if deletes is None or inflow is None or inflow < 0 or (deletes and (ended or 0) < 0):
            return None  # not counted, read once, or the counters of this table were reset
        if ended is not None and not deletes:
            ended = max(ended - (_grown(counted, "unfinished") or 0), 0)
        return Rates(inflow=inflow, outflow=ended, minutes=(known[-1][0] - known[0][0]) / 60)


def _grown(read: Sequence[tuple[float, RowCounters]], name: str) -> float | None:
    """Return by how much a counter grew in a minute, None if that was not measured."""
    if not read or (seconds := read[-1][0] - read[0][0]) < RATE_SECONDS:
        return None
    grown: float = getattr(read[-1][1], name) - getattr(read[0][1], name)
    return 60 * grown / seconds


def unfinished(counts: Iterable[Count]) -> int | None:
    """Return the number of unfinished nodes; None if it is not known exactly."""
    open_counts = [count for count in counts if count.phase in UNFINISHED]
    if not open_counts or any(count.precision is not Precision.EXACT for count in open_counts):
        return None
    return sum(count.n or 0 for count in open_counts)
