"""Server time that the console uses."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator


class Load:
    """Share of wall time that the server works for the console in the last minute.

    The duration of a statement is the server's work plus the round trip. The shortest duration seen is taken as the
    round trip and not counted, because a distant server is not a busy one.
    """

    WINDOW = 60.0
    MAX_ROUND_TRIP = 0.25  # seconds; the rest of a longer one counts as work

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._spans: list[tuple[float, float]] = []
        self.began = now()
        self.worked = 0.0  # seconds so far
        self.rollbacks = 0  # transactions so far, which the server counts as failed ones
        self.commits = 0
        self.round_trip = self.MAX_ROUND_TRIP

    @contextlib.contextmanager
    def measured(self) -> Iterator[None]:
        """Count the duration of the body, one statement, as work of the server."""
        start = self._now()
        try:
            yield
        finally:
            end = self._now()
            self.round_trip = min(self.round_trip, end - start)
            self._spans.append((min(start + self.round_trip, end), end))
            self.worked += max(end - start - self.round_trip, 0.0)

    def ended(self, tag: str) -> None:
        """Count a transaction that ended with this command tag."""
        if tag.startswith("COMMIT"):
            self.commits += 1
        else:
            self.rollbacks += 1

    def share(self) -> float:
        """Return the share of wall time, 0 to 1."""
        now = self._now()
        since = max(self.began, now - self.WINDOW)
        self._spans = [span for span in self._spans if span[1] > since]
        busy, until = 0.0, since
        for start, end in sorted(self._spans):  # two connections may work at the same time
            busy += max(end - max(start, until), 0.0)
            until = max(until, end)
        return busy / max(now - since, 1.0)
