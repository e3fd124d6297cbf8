"""Time of the next poll: after the interval, or later to limit server load."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic

LOAD_SHARE = 0.05  # of the time, for what the console does by itself
POLLS = 8  # whose mean cost sets the pace


class RefreshClock:
    """Pace polling so that it costs at most ``share`` of the time.

    Each cost is spread over POLLS intervals: one read that is made once, such as the first of a page, makes the next
    polls a little later, and a cost that remains makes them as late as it requires. The first poll is not counted: it
    reads what later ones keep. ``now`` returns seconds. What clocks ``beside`` this one leave of their shares
    is divided among those that need more.
    """

    beside: Sequence[RefreshClock] = ()

    def __init__(self, interval: float, share: float, now: Callable[[], float] = monotonic) -> None:
        self.interval = interval
        self.polls = 0  # number of polls that have ended
        self._share = share
        self._now = now
        self._began: float | None = None
        self._costs: deque[float] = deque(maxlen=POLLS)

    @property
    def pace(self) -> float:
        """Seconds from the start of one poll to the start of the next."""
        spare = [other._spare for other in self.beside]
        needing = 1 + sum(each < 0 for each in spare)
        return max(self.interval, self._cost / (self._share + sum(each for each in spare if each > 0) / needing))

    @property
    def _spare(self) -> float:
        """Unused part of the share, negative if polls at the interval cost more."""
        return self._share - self._cost / self.interval

    @property
    def _cost(self) -> float:
        """Mean cost of a poll, in seconds."""
        return sum(self._costs) / POLLS

    def wait(self) -> float:
        """Return the seconds until the next poll is due; 0 if it is due."""
        return 0.0 if self._began is None else max(0.0, self._began + self.pace - self._now())

    def begin(self) -> None:
        """Record the start of a poll."""
        self._began = self._now()

    def end(self, cost: float) -> None:
        """Record the end of a poll that cost ``cost`` seconds, all in all."""
        if self.polls:
            self._costs.append(cost)
        self.polls += 1

    def run_now(self) -> None:
        """Make the next poll due now."""
        self._began = None
