"""Watch on nodes after a commit: what the engine does with them. UI-free."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from console.text import formatting
from queries.records.node import Node, Phase
from queries.records.record import Record

WATCH_SECONDS = 120.0  # seconds after which the console stops watching
WATCHED_NODES = 200  # nodes that are read again: after a commit, and while a dry run is shown
EXPECTED = (Phase.READY, Phase.SCHEDULED)  # phases in which a worker is expected to take the node


class Event(Record):
    """First change that the engine made to a node after a commit.

    ``after`` is in seconds; None if the node rests in the state of the commit, and nothing more is expected.
    """

    what: str
    after: float | None = None


class FollowUp:
    """Nodes that are watched after a commit until the engine has gone on with them.

    ``nodes`` are as they were before the commit; ``now`` is a monotonic clock.
    """

    def __init__(self, nodes: Iterable[Node], now: Callable[[], float], timeout: float = WATCH_SECONDS) -> None:
        watched = list(nodes)[:WATCHED_NODES]
        self.events: dict[str, Event] = {}
        self._waiting = {node.id: node.phase for node in watched}
        self._first: dict[str, Node] = {}
        self._now = now
        self._began = now()
        self._timeout = timeout
        self._stopped: float | None = None

    @property
    def waiting(self) -> Sequence[str]:
        """Ids of the nodes for which a change is still expected."""
        return list(self._waiting)

    @property
    def seconds(self) -> float:
        """Seconds since the commit, up to the end of the watch."""
        seconds = self._now() - self._began if self._stopped is None else self._stopped
        return min(seconds, self._timeout)

    @property
    def active(self) -> bool:
        """True while nodes have to be read again."""
        return bool(self._waiting) and self._stopped is None and self.seconds < self._timeout

    def stop(self) -> None:
        """Read no more."""
        if self.active:
            self._stopped = self.seconds

    def put(self, nodes: Mapping[str, Node], at: float, policies: Collection[str] = ()) -> None:
        """Compare the waiting nodes with a read at server time ``at``.

        A node that is missing there no longer exists, unless ``policies`` hide it.
        """
        for id_, before in list(self._waiting.items()):
            event = self._event(nodes[id_], id_, before, at) if id_ in nodes else self._missing(id_, policies)
            if event is not None:
                self.events[id_] = event
                del self._waiting[id_]

    def _missing(self, id_: str, policies: Collection[str]) -> Event:
        what = formatting.absent("no longer there", policies)
        return Event(what=what, after=self.seconds if id_ in self._first else None)

    def _event(self, node: Node, id_: str, before: Phase, at: float) -> Event | None:
        again = id_ in self._first
        first = self._first.setdefault(id_, node)
        if node.phase is Phase.RUNNING:
            owner = f" by {node.owner}" if node.owner else ""
            moved = before is not Phase.RUNNING or first.phase is not Phase.RUNNING
            return Event(what=f"taken{owner}", after=self.seconds) if moved else Event(what="running")
        if again and node.phase is not first.phase:
            return Event(what=node.phase.value, after=self.seconds)
        if again and node.version != first.version:
            return Event(what="processed", after=self.seconds)
        if node.phase not in EXPECTED:
            return Event(what=node.phase.value)
        rest = None if node.due_at is None else node.due_at - at
        if node.phase is Phase.SCHEDULED and rest is not None and rest > self._timeout - self.seconds:
            return Event(what=f"scheduled, due {formatting.until(node.due_at, at)}")
        return None

    @property
    def summary(self) -> str:
        """Events so far, and what is still expected.

        Example: ``taken by worker-3 after 12s``.
        """
        groups: dict[str, list[float | None]] = {}
        for event in self.events.values():
            groups.setdefault(event.what, []).append(event.after)
        one = len(self.events) + len(self._waiting) == 1
        parts = []
        for what, times in groups.items():
            last = max((seconds for seconds in times if seconds is not None), default=None)
            number = "" if one else f"{len(times)} "
            parts.append(f"{number}now {what}" if last is None else f"{number}{what} after {formatting.age(last)}")
        if self._waiting:
            parts.append(self._expected("" if one else f"{len(self._waiting)} "))
        return " · ".join(parts)

    def _expected(self, number: str) -> str:
        passed = formatting.age(self.seconds)
        if self.active:
            return f"{number}not taken yet, {passed} after the commit"
        if self._stopped is not None:
            return f"{number}not taken within {passed}; no longer watched"
        return f"{number}not taken within {passed}: is a worker running? The stuck screen shows what it waits for"
