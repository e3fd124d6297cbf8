"""Findings that one look cannot tell: a task that is polled again and again, a runner that stands still.

The console looks repeatedly; this keeps, for each node, since when the fields that must stay the same have done so,
how often the others changed meanwhile, and what was seen when. That record is the only one there is: the engines keep
no such history.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from queries.contract.spec import FindingSpec
from queries.model import Record, Section

KEPT = 48  # looks at a node that are kept, and changes whose times are

Rows = Iterable[tuple[str, Mapping[str, Any]]]


class Watch(Record):
    """One node seen since ``since`` (server clock, seconds) with ``same`` unchanged; ``changes`` counts the rest.

    ``times`` are the looks at which the last of those changes showed.
    """

    same: tuple[Any, ...]
    since: float
    until: float
    changes: int
    times: tuple[float, ...]
    seen: Mapping[str, Any]
    grown: int | None = None  # of the number that the finding counts, where it counts one

    @property
    def per_minute(self) -> float:
        """Return the growth a minute, 0 where nothing is counted."""
        return 60 * (self.grown or 0) / max(self.until - self.since, 1e-6)

    @property
    def evidence(self) -> dict[str, Any]:
        """What was seen, with the timeline for people: ``times`` of day in UTC, ``first`` the first change."""
        shown = [clock(at) for at in self.times]
        growth = {} if self.grown is None else {"grown": self.grown, "per_minute": round(self.per_minute)}
        return {
            **self.seen,
            **growth,
            "changes": self.changes,
            "span": f"{self.until - self.since:.0f} s",
            "first": shown[0] if self.changes == len(shown) > 0 else clock(self.since),
            "timeline": ("" if self.changes == len(shown) else "… ") + " ".join(shown),
        }


class Watcher:
    """What repeated looks show for one finding."""

    def __init__(self, spec: FindingSpec) -> None:
        self.spec = spec
        self._watches: dict[str, Watch] = {}

    def look(self, at: float, rows: Rows) -> None:
        """Take one look. A node that is not seen any more is forgotten."""
        now: dict[str, Watch] = {}
        for node_id, seen in rows:
            same = tuple(seen.get(field) for field in self.spec.same)
            before = self._watches.get(node_id)
            if before is None or before.same != same:
                grown = 0 if self.spec.grows else None
                now[node_id] = Watch(same=same, since=at, until=at, changes=0, times=(), seen=seen, grown=grown)
                continue
            changed = self._changed(before, at, seen)
            now[node_id] = Watch(
                same=same,
                since=before.since,
                until=at,
                changes=before.changes + changed,
                times=(*before.times, at)[-KEPT:] if changed else before.times,
                seen=seen,
                grown=self._grown(before, seen),
            )
        self._watches = now

    def _grown(self, before: Watch, seen: Mapping[str, Any]) -> int | None:
        """Return by how much the counted number has grown so far. One that goes back adds nothing."""
        if self.spec.grows is None:
            return None
        return (before.grown or 0) + max(0, int(seen[self.spec.grows]) - int(before.seen[self.spec.grows]))

    def _changed(self, before: Watch, at: float, seen: Mapping[str, Any]) -> bool:
        """Whether what this finding counts has happened once more.

        A step is told from several smaller ones only where the looks are closer together than half of it.
        """
        if self.spec.step is None:
            return any(seen.get(field) != before.seen.get(field) for field in self.spec.changes)
        least = seen[self.spec.least] if self.spec.least else 0
        return bool(seen[self.spec.step] - before.seen[self.spec.step] >= least > 2 * (at - before.until))

    def shown(self, limits: Mapping[str, Any]) -> Iterable[tuple[str, Watch]]:
        """The nodes for which the finding holds by now. ``limits`` are thresholds, and by kind (``seen["kind"]``)."""
        for node_id, watch in self._watches.items():
            given = limits.get(str(watch.seen.get("kind")))
            own = given if isinstance(given, Mapping) else {}
            times, seconds, per_minute = (
                own.get(name, limits[name]) if name else 0
                for name in (self.spec.times, self.spec.seconds, self.spec.per_minute)
            )
            lasted = watch.until - watch.since
            if watch.changes >= times and lasted >= seconds and watch.per_minute >= per_minute and lasted > 0:
                yield node_id, watch


def timeline(watchers: Iterable[Watcher], node_id: str, limits: Mapping[str, Any]) -> Section | None:
    """When what makes a finding was seen at a node, newest first, drawn; None where nothing holds."""
    rows = []
    for watcher in (w for w in watchers if w.spec.times):
        for watch in (w for key, w in watcher.shown(limits) if key == node_id):
            unseen = watch.changes - len(watch.times)
            for number, (before, at) in enumerate(pairwise((watch.since, *watch.times)), unseen + 1):
                waited = None if number == 1 + unseen else at - before
                rows.append((at, watcher.spec.title, f"no. {number}", None, waited, None, None))
    if not rows:
        return None
    columns = ("at", "lane", "state", "phase", "waited", "waited_for", "note")
    rows.sort(key=lambda row: -row[0])
    return Section(name="seen", title="Seen by this console", drawn="timeline", columns=columns, rows=tuple(rows))


class History:
    """What was seen of each node by one sample's looks, as far as it changed from look to look."""

    def __init__(self, name: str, title: str, kinds: tuple[str, ...]) -> None:
        self.name, self.title, self.kinds = name, title, kinds
        self._looks: dict[str, tuple[tuple[float, Mapping[str, Any]], ...]] = {}

    def look(self, at: float, rows: Rows) -> None:
        """Take one look. A node that is not seen any more is forgotten."""
        now = {}
        for node_id, seen in rows:
            before = self._looks.get(node_id, ())
            now[node_id] = before if before and before[-1][1] == seen else (*before, (at, seen))[-KEPT:]
        self._looks = now

    def section(self, node_id: str) -> Section | None:
        """What was seen of one node, newest first; None where nothing was. Numbers show how far they moved."""
        looks = self._looks.get(node_id)
        if not looks:
            return None
        columns = tuple(looks[-1][1])
        rows = []
        for (at, seen), (_, before) in zip(reversed(looks), (*reversed(looks[:-1]), (0.0, {})), strict=True):
            rows.append((clock(at), *(_stale(seen.get(c), before.get(c)) for c in columns)))
        return Section(name=self.name, title=self.title, columns=("seen at", *columns), rows=tuple(rows))


def clock(at: float) -> str:
    """The time of day, UTC, of a time of the server's clock."""
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S")


def _stale(value: Any, before: Any) -> Any:
    """A value as a cell; a number that has moved says by how much."""
    if not isinstance(value, float):
        return value
    return f"+{value - before:.1f}" if isinstance(before, float) and value != before else ""
