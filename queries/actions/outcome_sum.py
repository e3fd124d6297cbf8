"""Sum of the outcomes of an action's chunks."""

from __future__ import annotations

from collections.abc import Iterable

from queries.records.action import Durability, Outcomes, Result, RowChange
from queries.write.failover import Journal


def least_certain(durabilities: Iterable[Durability | None]) -> Durability | None:
    """Return the least certain durability; None if nothing was committed."""
    order = [*Durability]
    return max(filter(None, durabilities), key=order.index, default=None)


class OutcomeSum:
    """Outcomes of all chunks so far.

    ``audit_log`` is the place of their audit log entries. The rows in ``changes`` are not decoded: an action may change
    many rows, and few of them are shown.
    """

    def __init__(self, journal: Journal) -> None:
        self.results: list[Result] = []
        self.changes: list[RowChange] = []
        self.xids: list[str] = []
        self.for_now: list[str] = []
        self.entries: list[str] = []
        self.logged = 0
        self.durability: Durability | None = None
        self.audit_log: str | None = None
        self._journal = journal
        self._start = len(journal.corrected)

    def add(self, chunk: Outcomes) -> None:
        """Add the outcomes of a chunk."""
        self.results += chunk.results
        self.changes += chunk.changes
        self.xids += [chunk.xid] if chunk.xid else []
        self.for_now += chunk.for_now
        self.entries += chunk.entries
        self.logged += chunk.logged
        self.durability = least_certain([self.durability, chunk.durability])
        self.audit_log = chunk.audit_log or self.audit_log

    def correct(self) -> int:
        """Apply the journal's corrections, for example after a failover.

        Return how many results changed. All corrections since the start are applied each time: one may be recorded
        before its result is added.
        """
        corrections = {result.id: result for result in self._journal.corrected[self._start :]}
        before, self.results = self.results, [corrections.get(result.id, result) for result in self.results]
        return sum(one != other for one, other in zip(before, self.results, strict=True))

    def outcomes(self) -> Outcomes:
        """Return the sum, with decoded rows."""
        return Outcomes(
            results=tuple(self.results),
            changes=tuple(change.read() for change in self.changes),
            xid=" ".join(self.xids) or None,
            audit_log=self.audit_log,
            for_now=tuple(self.for_now),
            entries=tuple(self.entries),
            logged=self.logged,
            durability=self.durability,
        )
