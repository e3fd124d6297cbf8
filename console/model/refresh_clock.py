"""Time of the next poll: after the interval, or later to limit server load."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

LOAD_SHARE = 0.05  # of wall time, for all statements that the console runs by itself


class RefreshClock:
    """Pace polling so that its statements take at most ``share`` of wall time.

    ``now`` returns seconds.
    """

    def __init__(self, interval: float, share: float, now: Callable[[], float] = monotonic) -> None:
        self.interval = interval
        self.polls = 0  # number of polls that have ended
        self._share = share
        self._now = now
        self._began: float | None = None
        self._cost = 0.0

    @property
    def pace(self) -> float:
        """Seconds from the start of one poll to the start of the next."""
        return max(self.interval, self._cost / self._share)

    def wait(self) -> float:
        """Return the seconds until the next poll is due; 0 if it is due."""
        return 0.0 if self._began is None else max(0.0, self._began + self.pace - self._now())

    def begin(self) -> None:
        """Record the start of a poll."""
        self._began = self._now()

    def end(self, cost: float) -> None:
        """Record the end of a poll for which the server worked ``cost`` seconds.

        Let the estimate fall by at most half per poll, so that one cheap poll does not shorten the interval.
        """
        self._cost = max(cost, self._cost / 2)
        self.polls += 1

    def run_now(self) -> None:
        """Make the next poll due now."""
        self._began = None
