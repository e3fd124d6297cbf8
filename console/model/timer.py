"""Time of the next pass: after the interval, or later to limit the load."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from math import ceil
from time import monotonic

from console.config import INTERVAL_SECONDS

MAX_LOAD_SHARE = 0.05  # of the time, that what the console does by itself may cost
PASSES_AVERAGED = 8  # their mean cost sets the pace
PASSES_PER_FINDINGS = 5  # at least, from one read of the findings to the next
FINDINGS_SHARE = 1 / 3  # of the load limit, which findings may use however much the list costs
NOTHING, THE_LIST, EVERYTHING = range(3)


class Timer:
    """Pace passes so that they cost at most MAX_LOAD_SHARE of the time.

    A pass reads the list in view. Findings join every fifth pass, or so rarely that the list is read at the interval,
    or with most of the load limit. The list's cost is spread over PASSES_AVERAGED passes: one that comes once makes
    them a little later, and one that remains as late as it requires. First reads do not count: later ones keep much.
    """

    def __init__(self, interval: float, now: Callable[[], float] = monotonic) -> None:
        self.interval = interval
        self.asked = EVERYTHING  # what the next pass reads in any case, without waiting: NOTHING, THE_LIST, EVERYTHING
        self.passes = self.findings = 0  # number of reads of the list, and of the findings
        self._now = now
        self._began = now()
        self._way = 0.0  # part of the time between two reads of the findings that had passed when the last pass began
        self._costs = deque[float](maxlen=PASSES_AVERAGED)
        self._findings_costs = deque[float](maxlen=2)

    @property
    def pace(self) -> float:
        """Seconds from the start of one pass to the start of the next."""
        return max(self.interval, (self._cost + self._findings_cost / self._spread) / MAX_LOAD_SHARE)

    @property
    def _cost(self) -> float:
        return sum(self._costs) / PASSES_AVERAGED

    @property
    def _findings_cost(self) -> float:
        return sum(self._findings_costs) / max(len(self._findings_costs), 1)

    @property
    def _spread(self) -> int:
        spare = max(self.interval * MAX_LOAD_SHARE - self._cost, self._cost * FINDINGS_SHARE / (1 - FINDINGS_SHARE))
        return max(PASSES_PER_FINDINGS, ceil(self._findings_cost / spare))

    def wait(self) -> float:
        """Return the seconds until the next pass is due; 0 if it is due."""
        return 0.0 if self.asked else max(0.0, self._began + self.pace - self._now())

    @property
    def findings_due(self) -> bool:
        """True if a pass that begins now also reads the findings."""
        return self.asked == EVERYTHING or round(self._way_now, 6) >= 1  # a sum of many parts

    @property
    def _way_now(self) -> float:
        return self._way + (self._now() - self._began) / (self.pace * self._spread)

    def begin(self, *, findings: bool = False) -> None:
        """Record the start of a pass, which also reads the findings or not."""
        self._way = 0.0 if findings else self._way_now
        self._began, self.asked = self._now(), NOTHING

    def end(self, cost: float) -> None:
        """Record the cost of a read of the list, in seconds."""
        self._costs.extend([cost] if self.passes else ())
        self.passes += 1

    def end_findings(self, cost: float) -> None:
        """Record the cost of a read of the findings."""
        self._findings_costs.extend([cost] if self.findings else ())
        self.findings += 1

    def pick_interval(self, step: int) -> float:
        """Choose the next longer (1) or shorter (-1) interval. Return it in seconds."""
        further = [s for s in INTERVAL_SECONDS if (s - self.interval) * step > 0] or [self.interval]
        self.interval = further[0] if step > 0 else further[-1]
        return self.interval
