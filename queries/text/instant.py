"""Times: as the server writes them, in the form of the screen, and their order."""

from __future__ import annotations

import math
import re
from typing import Final

from queries.text.duration import DAY, HOUR, MINUTE

_IN_UTC: Final = re.compile(
    r"(?a)(\d{4,6}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.\d+)?(?:\+00(?::00)?|Z| UTC)?( BC)?"
)  # engines write times without a zone in UTC


def of_timestamp(text: str) -> str:
    """Return a time of the server as ``2026-11-27T08:11:19Z``.

    Other text is returned as it is.
    """
    match = _IN_UTC.fullmatch(text)
    return f"{match[1]}T{match[2]}Z{match[3] or ''}" if match else text


def instant(epoch: float, offset: int = 0, zone: str = "Z") -> str:
    """Return finite seconds since 1970 as ISO 8601, ``offset`` seconds from UTC.

    Accepts any year; years before 1 end in ``BC``.
    """
    days, second = divmod(math.floor(epoch) + offset, DAY)
    year, month, day = _civil(days)
    era, year = (" BC", 1 - year) if year < 1 else ("", year)
    return f"{year:04}-{month:02}-{day:02}T{second // HOUR:02}:{second // MINUTE % 60:02}:{second % 60:02}{zone}{era}"


def _civil(days: int) -> tuple[int, int, int]:
    """Convert days since 1970-01-01 to year, month, day (Hinnant's algorithm).

    ``datetime`` ends at year 9999.
    """
    era, of_era = divmod(days + 719_468, 146_097)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year + era * 400 + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1


def unknown_last(at: float | None) -> float:
    """Return a time to sort by. An unknown one is the last."""
    return math.inf if at is None else at


def newest_first(at: float | None) -> float:
    """Return a time to sort by, the newest first. An unknown one is the last."""
    return math.inf if at is None else -at
