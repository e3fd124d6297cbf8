"""Sum of the outcomes of the parts of a run."""

from __future__ import annotations

from collections import Counter

from queries.records.action import Durability, Outcome, Outcomes, Result, RowChange, least_certain


class Total:
    """Outcomes of all parts so far.

    ``audit_log`` is the place of their audit log entries. The rows in ``changes`` are not decoded: an action may change
    many rows, and few of them are shown.
    """

    def __init__(self) -> None:
        self.results: list[Result] = []
        self.changes: list[RowChange] = []
        self.xids: list[str] = []
        self.for_now: list[str] = []
        self.entries: list[str] = []
        self.logged = 0
        self.durability: Durability | None = None
        self.durable: Counter[Durability] = Counter()  # changed nodes
        self.audit_log: str | None = None

    def add(self, part: Outcomes) -> None:
        """Add the outcomes of a part."""
        self.results += part.results
        self.changes += part.changes
        self.xids += [part.xid] if part.xid else []
        self.for_now += part.for_now
        self.entries += part.entries
        self.logged += part.logged
        self.durability = least_certain([self.durability, part.durability])
        if part.durability is not None:
            self.durable[part.durability] += sum(r.outcome is Outcome.CHANGED for r in part.results)
        self.audit_log = part.audit_log or self.audit_log

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
