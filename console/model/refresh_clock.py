"""Time of the next poll: after the interval, or later to limit server load."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic

from console.config import INTERVAL_SECONDS

MAX_LOAD_SHARE = 0.05  # of the time, that what the console does by itself may cost
POLLS_AVERAGED = 8  # their mean cost sets the pace
INTERVALS_PER_FINDINGS = 5  # from one read of the findings to the next
SAMPLES_PER_INTERVAL = 2  # while samples may soon show a finding


class RefreshClock:
    """Pace polling so that it costs at most ``share`` of the time.

    A clock that ``follows`` another polls at the nearest poll of that one, so that a process at rest wakes up once for
    both. A load that delays it comes first.

    Each cost is spread over POLLS_AVERAGED intervals: one read that is made once, such as the first of a page, makes
    the next polls a little later, and a cost that remains makes them as late as it requires. The first poll is not
    counted: it reads what later ones keep. ``now`` returns seconds. What clocks ``beside`` this one leave of their
    shares is divided among those that need more.
    """

    beside: Sequence[RefreshClock] = ()
    follows: RefreshClock | None = None

    def __init__(self, interval: float, share: float, now: Callable[[], float] = monotonic) -> None:
        self.interval = interval
        self.polls = 0  # number of polls that have ended
        self._share = share
        self._now = now
        self._began: float | None = None
        self._costs: deque[float] = deque(maxlen=POLLS_AVERAGED)

    @property
    def pace(self) -> float:
        """Seconds from the start of one poll to the start of the next."""
        spare = [other._spare for other in self.beside]
        needing = 1 + sum(each < 0 for each in spare)
        return max(self.interval, self._cost / (self._share + sum(each for each in spare if each > 0) / needing))

    @property
    def throttled(self) -> bool:
        """True if polling at the interval would cost too much."""
        return self.pace > self.interval * 1.5

    @property
    def _spare(self) -> float:
        """Unused part of the share, negative if polls at the interval cost more."""
        return self._share - self._cost / self.interval

    @property
    def _cost(self) -> float:
        return sum(self._costs) / POLLS_AVERAGED

    def wait(self) -> float:
        """Return the seconds until the next poll is due; 0 if it is due."""
        own = 0.0 if self._began is None else max(0.0, self._began + self.pace - self._now())
        if self.follows is None or self._began is None or self.pace > self.interval:
            return own
        other = self.follows.wait()
        return other if abs(own - other) < min(self.interval, self.follows.interval) / 2 else own

    def begin(self, at: float | None = None) -> None:
        """Record the start of a poll, now or at a time of the clock.

        Polls of one pass have its time; else one would make the next of all later by what it took.
        """
        self._began = self._now() if at is None else at

    def end(self, cost: float) -> None:
        """Record the end of a poll that cost ``cost`` seconds, all in all."""
        if self.polls:
            self._costs.append(cost)
        self.polls += 1

    def run_now(self) -> None:
        """Make the next poll due now."""
        self._began = None


class RefreshClocks:
    """Clocks of the screen, of the findings and of the samples, in this order.

    They share the load limit. The operator chooses the interval of the screen; those of the others follow from it.
    """

    def __init__(self, interval: float, now: Callable[[], float] = monotonic) -> None:
        self.screen = RefreshClock(interval, MAX_LOAD_SHARE * 0.4, now)
        self.findings = RefreshClock(interval * INTERVALS_PER_FINDINGS, MAX_LOAD_SHARE * 0.4, now)
        self.samples = RefreshClock(interval / SAMPLES_PER_INTERVAL, MAX_LOAD_SHARE * 0.2, now)
        self.findings.follows = self.samples.follows = self.screen
        self._all = (self.screen, self.findings, self.samples)
        for clock in self._all:
            clock.beside = [other for other in self._all if other is not clock]

    @property
    def polls(self) -> tuple[int, ...]:
        """Number of completed polls of each."""
        return tuple(clock.polls for clock in self._all)

    @property
    def waits(self) -> tuple[float, ...]:
        """Seconds until the next poll of each."""
        return tuple(clock.wait() for clock in self._all)

    @property
    def due(self) -> set[RefreshClock]:
        """Clocks of which a poll is due."""
        return {clock for clock in self._all if clock.wait() <= 0}

    def pick_interval(self, step: int) -> float:
        """Choose the next longer (1) or shorter (-1) interval. Return it in seconds."""
        interval = self.screen.interval
        if step > 0:
            chosen = next((s for s in INTERVAL_SECONDS if s > interval), INTERVAL_SECONDS[-1])
        else:
            chosen = next((s for s in reversed(INTERVAL_SECONDS) if s < interval), INTERVAL_SECONDS[0])
        self.screen.interval, self.findings.interval = chosen, chosen * INTERVALS_PER_FINDINGS
        return chosen

    def pace_samples(self, *, developing: bool) -> None:
        """Sample at each interval, or more often if that may soon show a finding."""
        soon = self.samples.polls == 0 or developing
        self.samples.interval = self.screen.interval / (SAMPLES_PER_INTERVAL if soon else 1)

    def run_now(self) -> None:
        """Make the next poll of each due now."""
        for clock in self._all:
            clock.run_now()
