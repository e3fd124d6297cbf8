"""Load that the console puts on the server."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator

DURATIONS_KEPT = 8  # durations kept of the same statements
STATEMENTS_KEPT = 500


class Timed:
    """A statement that is timed.

    ``statement``: a read that ran to its end, with the values of its parameters, or a begin; None for anything else.
    """

    statement: Hashable = None


class ServerLoad:
    """Estimate of the server's work for the console.

    The server does not tell its CPU time, and a duration has three parts: work, round trip, and waiting for a CPU, a
    disk or a lock. The shortest duration seen is taken as the round trip and not counted, because a distant server is
    not a busy one. Waiting only adds, so what is longer than the shortest of the last DURATIONS_KEPT runs of the same
    statement with the same values is taken as a wait. For a new statement it is the mean of the last waits.
    """

    WINDOW = 60.0
    LONGEST_S = 0.25  # of a round trip or a wait; the rest of a longer one counts as work

    def __init__(
        self, now: Callable[[], float] = time.monotonic, own_cpu: Callable[[], float] = time.process_time
    ) -> None:
        self._now = now
        self._own_cpu = own_cpu
        self._spans: list[tuple[float, float]] = []
        self._durations: dict[Hashable, deque[float]] = {}  # the one used last is at the end
        self._waits: deque[float] = deque(maxlen=DURATIONS_KEPT)
        self.began = now()
        self.worked = 0.0  # seconds so far
        self.rollbacks = 0  # transactions so far, which the server counts as failed ones
        self.commits = 0
        self.wrote = 0.0  # monotonic time of the end of the last transaction that changes rows
        self.round_trip = self.LONGEST_S

    @property
    def cost(self) -> float:
        """Seconds so far that the server worked, and of CPU time of this process."""
        return self.worked + self._own_cpu()

    @contextlib.contextmanager
    def measured(self) -> Iterator[Timed]:
        """Count the duration of the body, which runs one statement, as work of the server."""
        start, timed = self._now(), Timed()
        try:
            yield timed
        finally:
            end = self._now()
            self.round_trip = min(self.round_trip, end - start)
            work = max(end - start - self._wait(timed.statement, end - start) - self.round_trip, 0.0)
            self._spans.append((end - work, end))
            self.worked += work

    def _wait(self, statement: Hashable, duration: float) -> float:
        """Note how long a statement took. Return how much of that it probably waited."""
        durations = self._durations.pop(statement, None) or deque(maxlen=DURATIONS_KEPT)
        if statement is not None:
            self._durations[statement] = durations
            if len(self._durations) > STATEMENTS_KEPT:
                del self._durations[next(iter(self._durations))]
        durations.append(duration)
        if len(durations) > 1:
            self._waits.append(min(duration - min(durations), self.LONGEST_S))
            return self._waits[-1]
        return sum(self._waits) / max(len(self._waits), 1)

    def ended(self, tag: str) -> None:
        """Count a transaction that ended with this command tag."""
        if tag.startswith("COMMIT"):
            self.commits += 1
        else:
            self.rollbacks += 1

    def share(self) -> float:
        """Return the share of the last minute that the server worked, 0 to 1."""
        now = self._now()
        since = max(self.began, now - self.WINDOW)
        self._spans = [span for span in self._spans if span[1] > since]
        busy, until = 0.0, since
        for start, end in sorted(self._spans):  # two connections may work at the same time
            busy += max(end - max(start, until), 0.0)
            until = max(until, end)
        return busy / max(now - since, 1.0)
