"""Measured figures with their goals, and a table of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Figure(NamedTuple):
    """A measured figure. ``goal`` is its upper limit."""

    name: str
    measured: float
    goal: float

    def __str__(self) -> str:
        kept = "kept" if self.measured <= self.goal else "missed"
        return f"  {self.name:72}{self.measured:8.2f}{self.goal:9.2f}  {kept}"


def table(figures: Iterable[Figure]) -> str:
    """Return a heading and a line for each figure."""
    return "\n".join([f"{'figure':74}{'measured':>8}{'goal':>9}", *map(str, figures)])
