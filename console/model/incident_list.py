"""Incidents as rows of a list, and how each one develops. UI-free."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from queries.contract.server_spec import LABEL
from queries.model import Finding, Incident, Record

SPAN = 900.0  # seconds of the history that is kept
SAMPLES = 60  # at most, for each incident or engine


class Row(Record):
    """An incident, or one of its findings below it."""

    incident: Incident
    finding: Finding | None = None
    open: bool = False

    @property
    def key(self) -> str:
        """Id of the row, independent of the rows around it."""
        if self.finding is None:
            return self.incident.key
        return f"{self.incident.key} {self.finding.node_id} {self.finding.code}"

    @property
    def only(self) -> Finding | None:
        """The finding of the row; of an incident, its finding if it has just one."""
        if self.finding is None and foldable(self.incident):
            return None
        return self.finding or self.incident.findings[0]

    @property
    def node_ids(self) -> tuple[str, ...]:
        """Ids of the nodes that an action on this row is about."""
        ids = self.incident.node_ids if self.finding is None else (self.finding.node_id,)
        return tuple(id_ for id_ in ids if not id_.startswith(f"{LABEL}/"))


def foldable(incident: Incident) -> bool:
    """Return True if there is something to show below the incident."""
    return len(incident.findings) + len(incident.explained) > 1


def rows(incidents: Iterable[Incident], unfolded: set[str]) -> list[Row]:
    """Return the incidents, each followed by its findings if it is unfolded."""
    found: list[Row] = []
    for incident in incidents:
        opened = incident.key in unfolded and foldable(incident)
        found.append(Row(incident=incident, open=opened))
        if opened:
            found += [Row(incident=incident, finding=f) for f in (*incident.findings, *incident.explained)]
    return found


class Trend(StrEnum):
    """Development of an incident since it was first seen, or over the last 15 minutes."""

    NEW = "new"
    GROWING = "growing"
    STEADY = "steady"
    SHRINKING = "shrinking"


class History:
    """Number of nodes of each incident over the last 15 minutes of server time."""

    def __init__(self) -> None:
        self._seen: dict[str, deque[tuple[float, int]]] = {}
        self._titles: dict[str, str] = {}
        self.resolved: dict[str, tuple[str, float]] = {}  # key -> title, and when it was no longer found

    def add(self, at: float, incidents: Sequence[Incident]) -> None:
        """Add the incidents of one refresh."""
        now = {incident.key: incident for incident in incidents}
        for key in [key for key in self._seen if key not in now]:
            self.resolved[key] = self._titles.pop(key), at
            del self._seen[key]
        for key, incident in now.items():
            self.resolved.pop(key, None)
            self._titles[key] = incident.title
            thin(self._seen.setdefault(key, deque()), at, incident.n)
        self.resolved = {key: (title, since) for key, (title, since) in self.resolved.items() if at - since < SPAN}

    def trend(self, key: str) -> Trend:
        """Return the development of an incident."""
        samples = self._seen.get(key)
        if samples is None or len(samples) < 2:
            return Trend.NEW
        first, last = samples[0][1], samples[-1][1]
        return Trend.GROWING if last > first else Trend.SHRINKING if last < first else Trend.STEADY

    def first_seen(self, key: str) -> float | None:
        """Return when the incident was first seen in the kept history, server time."""
        samples = self._seen.get(key)
        return samples[0][0] if samples else None


class Load:
    """Number of stuck nodes of each engine over the last 15 minutes."""

    def __init__(self) -> None:
        self._samples: dict[str, deque[tuple[float, int]]] = {}

    def add(self, at: float, numbers: Mapping[str, int]) -> None:
        """Add the numbers of one refresh."""
        for label, number in numbers.items():
            thin(self._samples.setdefault(label, deque()), at, number)

    def samples(self, label: str) -> tuple[int, ...]:
        """Return the numbers of an engine, oldest first."""
        return tuple(number for _, number in self._samples.get(label, ()))


def thin(samples: deque[tuple[float, int]], at: float, number: int) -> None:
    """Add a sample; it replaces the last one if that is recent, so that few are kept."""
    if len(samples) > 1 and at - samples[-2][0] < SPAN / SAMPLES:
        samples.pop()
    samples.append((at, number))
    while samples and at - samples[0][0] > SPAN:
        samples.popleft()
