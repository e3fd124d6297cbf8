"""What was measured beside what it may be, and the one table of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Figure(NamedTuple):
    """What was measured; ``goal`` is the most it may be."""

    name: str
    measured: float
    goal: float

    def __str__(self) -> str:
        kept = "kept" if self.measured <= self.goal else "missed"
        return f"  {self.name:72}{self.measured:8.2f}{self.goal:9.2f}  {kept}"


def table(figures: Iterable[Figure]) -> str:
    """A line each, under a heading."""
    return "\n".join([f"{'figure':74}{'measured':>8}{'goal':>9}", *map(str, figures)])
