"""Cached database state. UI-free."""

from __future__ import annotations

from collections.abc import Callable

from console.model.finding_index import FindingIndex
from console.model.incident_list import IncidentHistory
from console.model.timer import PASSES_PER_FINDINGS, Timer
from queries.contract.server_spec import LABEL
from queries.db.errors import DatabaseError
from queries.records.node import Count
from queries.records.snapshot import Part, Snapshot


class DatabaseState:
    """Last state of a database that was read, and how it develops."""

    def __init__(self, timer: Timer, now: Callable[[], float]) -> None:
        self.parts: dict[str, Part] = {}  # of the snapshot, by label, as last read
        self.findings_loaded, self.findings_at = False, 0.0  # True once findings were read, and when
        self.shown = Snapshot(at=0.0, parts=(), incidents=())  # another one if its findings or incidents have changed
        self.findings = FindingIndex()  # those shown; another one if a finding has changed
        self.incident_history = IncidentHistory()
        self.unsampled: dict[str, DatabaseError] = {}  # why the last samples failed, by label
        self.undetected = ""  # why the engines could not be detected again
        self._timer = timer
        self._now = now
        self._server_time: float | None = None
        self._read_at = 0.0

    @property
    def age(self) -> float | None:
        """Seconds since the last successful read; None before the first."""
        return None if self._server_time is None else self._now() - self._read_at

    @property
    def findings_age(self) -> float | None:
        """Seconds since findings were read if two more reads were due, else None."""
        age = self._now() - self.findings_at
        return age if self.findings_loaded and age > 2 * PASSES_PER_FINDINGS * self._timer.interval else None

    @property
    def at(self) -> float:
        """Server time of the last read; 0 before the first."""
        return self._server_time or 0.0

    @property
    def stale_engines(self) -> set[str]:
        """Labels of the engines of which the last reads did not read everything."""
        return {label for label, why in self._errors if why and label not in ("", LABEL)}

    @property
    def error_text(self) -> str:
        """The first error of the last reads, or ""."""
        return next((f"{label}: {why}" if label not in ("", LABEL) else why for label, why in self._errors if why), "")

    @property
    def _errors(self) -> list[tuple[str, str]]:
        uncounted = [(part.label, part.uncounted) for part in self.parts.values()]
        unsampled = [(label, str(error)) for label, error in self.unsampled.items()]
        return [*uncounted, *unsampled, ("", self.undetected), *((p.label, p.error) for p in self.parts.values())]

    @property
    def more(self) -> set[str]:
        """Labels of the engines that may have more findings than were read."""
        return self.stale_engines | self.shown.more

    def counts(self, label: str) -> tuple[Count, ...] | None:
        """Return the counts of an engine as last read; None before the first read."""
        return self.parts[label].counts if label in self.parts else None

    def read(self, at: float) -> None:
        """Record the server time of the latest read."""
        self._server_time, self._read_at = at, self._now()

    def show(self, now: Snapshot) -> None:
        """Replace the findings and the incidents in one step, and note how each develops.

        Indexed here, because the cursor moves more often than findings change.
        """
        before, self.shown = self.shown, now
        if now is not before and now.findings != before.findings:
            self.findings = FindingIndex(now.parts)
        self.incident_history.add(self.at, self.shown.incidents, self.shown.skipped_findings)
