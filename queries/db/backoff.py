"""Growing, jittered pauses between attempts to connect."""

from __future__ import annotations

import random


class Backoff:
    """Pauses between connection attempts, in seconds, doubled up to ``longest``."""

    def __init__(self, first: float = 0.5, longest: float = 15.0) -> None:
        self._first, self._longest, self._failures = first, longest, 0

    def next(self) -> float:
        """Return the pause after one more failure."""
        self._failures += 1
        return random.uniform(0.5, 1.0) * min(self._longest, self._first * 2.0 ** (self._failures - 1))

    def reset(self) -> None:
        """Start again with the first pause, after a success."""
        self._failures = 0
