"""Times: as the server writes them, in the form of the screen, and their order."""

from __future__ import annotations

import math
import re
from typing import Final

_IN_UTC: Final = re.compile(
    r"(?a)(\d{4,6}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.\d+)?(?:\+00(?::00)?|Z| UTC)?( BC)?"
)  # engines write times without a zone in UTC
LAST_SECOND: Final = 253_402_300_799  # of the year 9999, the last one of Python; a row or a file may hold any number


def of_timestamp(text: str) -> str:
    """Return a time of the server as ``2026-11-27T08:11:19Z``.

    Other text is returned as it is.
    """
    match = _IN_UTC.fullmatch(text)
    return f"{match[1]}T{match[2]}Z{match[3] or ''}" if match else text


def unknown_last(at: float | None) -> float:
    """Return a time to sort by. An unknown one is the last."""
    return math.inf if at is None else at


def newest_first(at: float | None) -> float:
    """Return a time to sort by, the newest first. An unknown one is the last."""
    return math.inf if at is None else -at
