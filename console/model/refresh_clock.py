"""When to look at the database again: at the chosen interval, later where that would cost the server too much."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

SHARE = 0.05  # of wall time, for everything the console asks on its own


class RefreshClock:
    """Paces one repeated look so that its statements take at most ``share`` of wall time. Seconds of ``now``."""

    def __init__(self, interval: float, share: float, now: Callable[[], float] = monotonic) -> None:
        self.interval = interval
        self.looks = 0  # how many have ended
        self._share = share
        self._now = now
        self._began: float | None = None
        self._cost = 0.0

    @property
    def pace(self) -> float:
        """Seconds from the beginning of one look to the next."""
        return max(self.interval, self._cost / self._share)

    def wait(self) -> float:
        """Seconds until the next look is due, 0 where it is."""
        return 0.0 if self._began is None else max(0.0, self._began + self.pace - self._now())

    def begin(self) -> None:
        """A look begins."""
        self._began = self._now()

    def end(self, cost: float) -> None:
        """It ended; the server worked ``cost`` seconds for it. A cost falls by halves only, so that one cheap look
        among dear ones does not make haste."""
        self._cost = max(cost, self._cost / 2)
        self.looks += 1

    def run_now(self) -> None:
        """The next look is due at once, as somebody asked for it."""
        self._began = None
