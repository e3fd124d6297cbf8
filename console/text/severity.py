"""Severity of a finding as a sign, a word and a colour."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from console.text.spans import Spans


class Band(NamedTuple):
    """Severities that look the same. Each band is recognised without colour."""

    least: int  # severity
    word: str
    sign: str
    plain: str  # the sign in ASCII
    ink: str


BANDS = (
    Band(8, "critical", "‼", "!!", "$phase-failed"),
    Band(5, "major", "!", "!", "$warning"),
    Band(0, "minor", "·", ".", "$phase-scheduled"),
)
"""All bands, the worst first."""


@cache
def band(severity: int) -> Band:
    """Return the band of a severity from 0 to 9."""
    return next(each for each in BANDS if severity >= each.least)


def sign(severity: int, ascii: bool = False) -> str:
    """Return the sign of a severity, as wide as the widest one."""
    cells = max(len(each.plain if ascii else each.sign) for each in BANDS)
    of = band(severity)
    return (of.plain if ascii else of.sign).ljust(cells)


def named(severity: int) -> str:
    """Return a severity with its word: ``critical 9``."""
    return f"{band(severity).word} {severity}"


def marked(severity: int) -> Spans:
    """Return the sign, the word and the number of a severity."""
    of = band(severity)
    return [(f"{of.sign} {of.word}", f"bold {of.ink}"), (f" severity {severity}", "$faint")]


def sums(severities: Iterable[int]) -> tuple[int, ...]:
    """Return how many of these severities are in each of the `BANDS`."""
    places = [BANDS.index(band(severity)) for severity in severities]
    return tuple(places.count(place) for place in range(len(BANDS)))
