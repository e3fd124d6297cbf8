"""How busy the server is with the console."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any


class Load:
    """How much of the wall time the server works for the console, over about the last minute.

    A question takes the server's work and the way there and back. What the quickest one took is the way, and counts for
    nothing: a server far away is not a busy one.
    """

    WINDOW = 60.0
    WAY = 0.25  # seconds; a way that seems longer than that is counted as work for the rest

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._spans: list[tuple[float, float]] = []
        self.began = now()
        self.worked = 0.0  # seconds so far
        self.way = self.WAY

    @contextlib.contextmanager
    def measured(self) -> Any:
        """Count the time of the body, one question and its answer, as time the server was busy for us."""
        start = self._now()
        try:
            yield
        finally:
            end = self._now()
            self.way = min(self.way, end - start)
            self._spans.append((min(start + self.way, end), end))
            self.worked += max(end - start - self.way, 0.0)

    def share(self) -> float:
        """Part of wall time, 0..1."""
        now = self._now()
        since = max(self.began, now - self.WINDOW)
        self._spans = [s for s in self._spans if s[1] > since]
        locked, until = 0.0, since
        for start, end in sorted(self._spans):  # two connections may be at work at the same time
            locked += max(end - max(start, until), 0.0)
            until = max(until, end)
        return locked / max(now - since, 1.0)
