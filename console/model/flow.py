"""Work per minute that enters and leaves each engine. UI-free.

It is calculated from counters and counts that the console reads for other purposes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from queries.read.server_findings import RowCounters
from queries.records.node import Count, Phase, Precision
from queries.records.record import Record

SPAN_SECONDS = 60.0  # seconds over which a rate is measured
RATE_SECONDS = 5.0  # seconds between two samples that are enough for a rate
UNFINISHED = frozenset({Phase.READY, Phase.RUNNING, Phase.SCHEDULED, Phase.BLOCKED, Phase.HELD})


class Rates(Record):
    """Estimated numbers per minute; None if not recorded."""

    inflow: float | None = None
    outflow: float | None = None


class Sample(Record):
    """Counters of an engine at one time.

    ``unfinished`` is None if it is not known exactly.
    """

    at: float
    inserted: int
    deleted: int
    unfinished: int | None


class Flow:
    """Samples of the last minute, by engine.

    New work is rows inserted, as the server counts them. Finished work is rows deleted, or, if rows are kept, new work
    minus the growth of unfinished work. The server also counts rows of transactions that were rolled back.
    """

    def __init__(self) -> None:
        self._samples: dict[str, deque[Sample]] = {}

    def add(self, label: str, sample: Sample | None) -> None:
        """Add the sample of one refresh.

        Without one, or after a reset of the counters, begin again.
        """
        samples = self._samples.setdefault(label, deque())
        last = samples[-1] if samples else None
        if sample is None or (last and (sample.inserted < last.inserted or sample.deleted < last.deleted)):
            samples.clear()
        if sample is None or (last and sample.at <= last.at):
            return
        samples.append(sample)
        while len(samples) > 2 and sample.at - samples[1].at >= SPAN_SECONDS:
            samples.popleft()

    def note(self, label: str, read: tuple[float, RowCounters] | None, counts: Iterable[Count]) -> None:
        """Add a sample of the counters and the counts that were just read."""
        if read is None:
            self.add(label, None)
        else:
            at, rows = read
            self.add(label, Sample(at=at, inserted=rows.inserted, deleted=rows.deleted, unfinished=unfinished(counts)))

    def rates(self, label: str, deletes: bool | None) -> Rates | None:
        """Return the rates over the last minute; None before there are two samples.

        ``deletes``: the rows of finished work are deleted. None if work is not counted.
        """
        samples = self._samples.get(label)
        if deletes is None or not samples or (seconds := samples[-1].at - samples[0].at) < RATE_SECONDS:
            return None
        first, last = samples[0], samples[-1]
        inflow = last.inserted - first.inserted
        outflow: int | None = last.deleted - first.deleted
        if not deletes:
            counted = first.unfinished is not None and last.unfinished is not None
            outflow = max(inflow - (last.unfinished or 0) + (first.unfinished or 0), 0) if counted else None
        return Rates(
            inflow=60 * inflow / seconds,
            outflow=None if outflow is None else 60 * outflow / seconds,
        )


def unfinished(counts: Iterable[Count]) -> int | None:
    """Return the number of unfinished nodes; None if it is not known exactly."""
    open_counts = [count for count in counts if count.phase in UNFINISHED]
    if not open_counts or any(count.precision is not Precision.EXACT for count in open_counts):
        return None
    return sum(count.n or 0 for count in open_counts)
