"""Growing, jittered pauses between attempts to connect."""

from __future__ import annotations

import random

from queries.db.errors import RefusedError

OUTAGE_SECONDS = 900.0  # to wait for a lost server in the middle of a change
REFUSED_SECONDS = (30.0, 300.0)  # seconds after the first refused login, at most: a few attempts may lock an account


class Backoff:
    """Pauses between connection attempts, in seconds, doubled up to ``longest``.

    After a refused login they are those of `REFUSED_SECONDS`, and counted on their own.
    """

    def __init__(self, first: float = 0.5, longest: float = 15.0) -> None:
        self._limits = {False: (first, longest), True: REFUSED_SECONDS}
        self._failures = {False: 0, True: 0}

    def next(self, error: BaseException | None = None) -> float:
        """Return the pause after one more failure, of which ``error`` is the reason."""
        refused = isinstance(error, RefusedError)
        first, longest = self._limits[refused]
        self._failures[refused] += 1
        return random.uniform(0.5, 1.0) * min(longest, first * 2.0 ** (self._failures[refused] - 1))

    def reset(self) -> None:
        """Start again with the first pause, after a success."""
        self._failures = {False: 0, True: 0}
