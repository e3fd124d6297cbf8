"""Cached database state. UI-free."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from console.model.finding_index import FindingIndex
from console.model.flow import Flow
from console.model.incident_list import IncidentHistory, Load
from console.model.refresh_clock import RefreshClock, RefreshClocks
from queries.records.node import Count
from queries.records.snapshot import Part, Snapshot


class DatabaseState:
    """Last state of a database that was read, and how it develops.

    ``now`` is a monotonic clock in seconds.
    """

    def __init__(self, clocks: RefreshClocks, now: Callable[[], float]) -> None:
        self.parts: dict[str, Part] = {}  # of the snapshot, by label, as last read
        self.findings_loaded = False  # True once findings were read
        self.pending: tuple[str, ...] = ()  # what the first read of findings is still missing
        self.shown = Snapshot(at=0.0, parts=(), incidents=())  # another one if its findings or incidents have changed
        self.findings = FindingIndex()  # those shown; another one if a finding has changed
        self.incident_history = IncidentHistory()
        self.load = Load()
        self.flow = Flow()
        self.unread: dict[RefreshClock, set[str]] = {}  # labels of engines with a failed read, by its poll
        self._clocks = clocks
        self._now = now
        self._server_time: float | None = None
        self._read_at = 0.0
        self._findings_at = 0.0

    @property
    def age(self) -> float | None:
        """Seconds since the last successful poll; None before the first."""
        return None if self._server_time is None else self._now() - self._read_at

    @property
    def findings_age(self) -> float | None:
        """Seconds since findings were read if they are late, else None.

        They are late after two of their intervals.
        """
        age = self._now() - self._findings_at
        return age if self.findings_loaded and age > 2 * self._clocks.findings.interval else None

    @property
    def at(self) -> float:
        """Server time of the last poll; 0 before the first."""
        return self._server_time or 0.0

    @property
    def stale_engines(self) -> set[str]:
        """Labels of the engines of which the last poll did not read everything."""
        return set().union(*self.unread.values())

    @property
    def more(self) -> set[str]:
        """Labels of the engines that may have more findings than were read."""
        return self.stale_engines | self.shown.more

    def counts(self, label: str) -> tuple[Count, ...] | None:
        """Return the counts of an engine as last read; None before the first read."""
        part = self.parts.get(label)
        return None if part is None else part.counts

    def read(self, at: float) -> None:
        """Record the server time of the latest read."""
        self._server_time, self._read_at = at, self._now()

    def note_findings(self) -> None:
        """Record that findings were read now."""
        self.findings_loaded, self._findings_at = True, self._now()

    def show(self, now: Snapshot, labels: Iterable[str]) -> None:
        """Replace the findings and the incidents in one step, and note how each develops.

        Indexed here, because the cursor moves more often than findings change. ``labels``: of all engines.
        """
        before, self.shown = self.shown.findings, now
        if now.findings != before:
            self.findings = FindingIndex(now.parts)
        self.watch(labels)

    def watch(self, labels: Iterable[str]) -> None:
        """Note how the incidents develop."""
        if not self.pending:  # a part of them shows no trend
            self.incident_history.add(self.at, self.shown.incidents, self.shown.skipped_findings)
            unread = self.shown.unread
            numbers = {label: len(self.findings.severities.get(label, ())) for label in labels}
            self.load.add(self.at, {label: None if label in unread else n for label, n in numbers.items()})
