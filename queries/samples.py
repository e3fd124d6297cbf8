"""Findings that one look cannot tell: a task that is polled again and again, a runner that stands still.

The console looks repeatedly; this keeps, for each node, since when the fields that must stay the same have done so,
and how often the others changed meanwhile. That record is the only one there is: the engines keep no such history.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from queries.model import Record
from queries.spec import FindingSpec


class Watch(Record):
    """One node seen since ``since`` (server clock, seconds) with ``same`` unchanged; ``changes`` counts the rest."""

    same: tuple[Any, ...]
    moving: tuple[Any, ...]
    since: float
    until: float
    changes: int
    seen: Mapping[str, Any]


class Watcher:
    """What repeated looks show for one finding."""

    def __init__(self, spec: FindingSpec) -> None:
        self.spec = spec
        self._watches: dict[str, Watch] = {}

    def look(self, at: float, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        """Take one look. A node that is not seen any more is forgotten."""
        now: dict[str, Watch] = {}
        for node_id, seen in rows:
            same = tuple(seen.get(field) for field in self.spec.same)
            moving = tuple(seen.get(field) for field in self.spec.changes)
            before = self._watches.get(node_id)
            if before is None or before.same != same:
                now[node_id] = Watch(same=same, moving=moving, since=at, until=at, changes=0, seen=seen)
            else:
                changes = before.changes + (moving != before.moving)
                now[node_id] = Watch(same=same, moving=moving, since=before.since, until=at, changes=changes, seen=seen)
        self._watches = now

    def shown(self, limits: Mapping[str, Any]) -> Iterable[tuple[str, Watch]]:
        """The nodes for which the finding holds by now. ``limits`` are thresholds, and by kind (``seen["kind"]``)."""
        for node_id, watch in self._watches.items():
            given = limits.get(str(watch.seen.get("kind")))
            own = given if isinstance(given, Mapping) else {}
            times = own.get(self.spec.times, limits[self.spec.times]) if self.spec.times else 0
            seconds = own.get(self.spec.seconds, limits[self.spec.seconds]) if self.spec.seconds else 0
            if watch.changes >= times and watch.until - watch.since >= seconds and watch.until > watch.since:
                yield node_id, watch
