"""Measured figures with their goals, and a table of them."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from typing import NamedTuple


class Figure(NamedTuple):
    """A measured figure. ``goal`` is its upper limit.

    ``missing`` says why it could not be measured.
    """

    name: str
    measured: float
    goal: float
    missing: str = ""

    def __str__(self) -> str:
        if self.missing:
            return f"  {self.name:72}{'-':>8}{self.goal:9.2f}  not measured: {self.missing}"
        kept = "kept" if self.measured <= self.goal else "missed"
        return f"  {self.name:72}{self.measured:8.2f}{self.goal:9.2f}  {kept}"


def table(figures: Iterable[Figure]) -> str:
    """Return a heading and a line for each figure."""
    return "\n".join([f"{'figure':74}{'measured':>8}{'goal':>9}", *map(str, figures)])


def measured(name: str, take: Callable[[], float], goal: float) -> Figure:
    """Measure one figure. Its cell says why if that is not possible."""
    try:
        return Figure(name, take(), goal)
    except Exception as error:  # a step that fails must not cost the other figures
        return missing(name, error, goal)


def step(name: str, take: Callable[[], list[Figure]]) -> list[Figure]:
    """Measure the figures of a step. One line says why if that is not possible."""
    try:
        return take()
    except Exception as error:
        return [missing(name, error)]


def missing(name: str, error: Exception, goal: float = 0.0) -> Figure:
    """Return a figure that says why it could not be measured; print the traceback."""
    traceback.print_exception(error)
    return Figure(name, float("nan"), goal, f"{type(error).__name__}: {error}")
