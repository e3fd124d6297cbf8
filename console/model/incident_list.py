"""Development of incidents over time. UI-free."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from enum import StrEnum

from queries.records.finding import EVERY_CHECK, HIDDEN_ROWS, Incident, ManySchemas, SkippedFinding

KEPT_SECONDS = 900.0  # seconds of the history that is kept
SAMPLES_KEPT = 60  # at most, for each incident


class Trend(StrEnum):
    """Development of an incident since it was first seen, or over the last 15 minutes."""

    NEW = "new"
    GROWING = "growing"
    STEADY = "steady"
    SHRINKING = "shrinking"


class IncidentHistory:
    """Number of nodes of each incident over the last 15 minutes of server time."""

    def __init__(self) -> None:
        self._seen: dict[str, deque[tuple[float, int]]] = {}
        self._last: dict[str, Incident] = {}
        self.resolved: dict[str, tuple[str, float]] = {}  # key -> title, and when it was no longer found

    def add(self, at: float, incidents: Sequence[Incident], skipped: Iterable[SkippedFinding] = ()) -> None:
        """Add the incidents of one refresh.

        ``skipped``: checks that were not made. An incident that may be hidden, or was not looked for, is not resolved.
        One that was not read has no sample.
        """
        now = {incident.key: incident for incident in incidents}
        unread = {(each.engine, each.code) for each in skipped}
        for key, was in [(key, was) for key, was in self._last.items() if key not in now]:
            if unread.isdisjoint((was.engine, code) for code in (was.code, HIDDEN_ROWS, EVERY_CHECK)):
                self.resolved[key] = self._last.pop(key).title, at
                self._seen.pop(key, None)
        for key, incident in now.items():
            self.resolved.pop(key, None)
            self._last[key] = incident
            if incident.read_at is None:
                thin(self._seen.setdefault(key, deque()), at, incident.n)
        self.resolved = {
            key: (title, since) for key, (title, since) in self.resolved.items() if at - since < KEPT_SECONDS
        }

    def trend(self, incident: Incident) -> Trend:
        """Return the development of an incident."""
        more = self.growth([incident]).get(incident.key)
        if more is None:
            return Trend.NEW
        return Trend.GROWING if more > 0 else Trend.SHRINKING if more < 0 else Trend.STEADY

    def growth(self, incidents: Iterable[Incident]) -> dict[str, int]:
        """Return how many nodes incidents have more than in their first sample, by key.

        Without those that are new. A cause in many schemas has the samples of each.
        """
        samples = {each.key: [s for s in self._samples(each) if len(s) > 1] for each in incidents}
        return {key: sum(each[-1][1] - each[0][1] for each in some) for key, some in samples.items() if some}

    def first_seen(self, incident: Incident) -> float | None:
        """Return when the incident was first seen in the kept history, server time."""
        return min((samples[0][0] for samples in self._samples(incident) if samples), default=None)

    def _samples(self, incident: Incident) -> list[deque[tuple[float, int]]]:
        keys = [incident.key]
        if isinstance(incident, ManySchemas):
            keys = [f"{label}/{incident.key.partition('/')[2]}" for label in incident.labels]
        return [self._seen[key] for key in keys if key in self._seen]


def thin(samples: deque[tuple[float, int]], at: float, number: int) -> None:
    """Add a sample; it replaces the last one if that is recent, so that few are kept."""
    if len(samples) > 1 and at - samples[-2][0] < KEPT_SECONDS / SAMPLES_KEPT:
        samples.pop()
    samples.append((at, number))
    while samples and at - samples[0][0] > KEPT_SECONDS:
        samples.popleft()
