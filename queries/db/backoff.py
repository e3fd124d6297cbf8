"""Growing pauses between attempts to connect."""

from __future__ import annotations

import random


class Backoff:
    """Growing, jittered pauses between attempts to connect, in seconds."""

    def __init__(self, first: float = 0.5, most: float = 15.0) -> None:
        self._first, self._most, self._failures = first, most, 0

    def next(self) -> float:
        """The pause after one more failure."""
        self._failures += 1
        return random.uniform(0.5, 1.0) * min(self._most, self._first * 2.0 ** (self._failures - 1))

    def reset(self) -> None:
        """After a success."""
        self._failures = 0
