"""Parse and format durations: ``30`` (seconds), ``90s``, ``1h30m``, ``500us``."""

from __future__ import annotations

import math
import re
from typing import Final

MINUTE: Final = 60
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
YEAR: Final = 365 * DAY

UNITS = {"us": 1e-6, "µs": 1e-6, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}

_PART = r"(\d+(?:\.\d+)?)\s*(us|ms|s|m|h|d|w)"
_NUMBER = r"(?a)\d+(?:\.\d+)?"
_INTERVAL = re.compile(r"(?a)(?:(\d+) days? )?(\d+):(\d\d):(\d\d(?:\.\d+)?)")

_COUNTED = re.compile(r"(?a)(\d+(?:\.\d+)?) (ms|s|min)")


def parse(written: object) -> float:
    """Return the seconds of a number or of a text such as ``"10m"`` or ``"1h30m"``.

    Case does not matter. Raises ValueError for a negative, infinite or unreadable duration. Its message ends a
    sentence about the setting.
    """
    seconds = _seconds(written)
    if seconds is None or not math.isfinite(seconds) or seconds < 0:
        raise ValueError(f'{_shown(written)} is not a duration; write "90s", "10m", "2h", "1d" or a number of seconds')
    return seconds


def _seconds(written: object) -> float | None:
    if isinstance(written, str):
        return _from_text(written.strip().lower())
    if isinstance(written, int | float) and not isinstance(written, bool):
        try:
            return float(written)
        except OverflowError:
            return math.inf
    return None


def _from_text(text: str) -> float | None:
    if re.fullmatch(_NUMBER, text):
        return float(text)
    if re.fullmatch(rf"(?a)(?:{_PART}\s*)+", text):
        return sum(float(amount) * UNITS[unit] for amount, unit in re.findall(f"(?a){_PART}", text))
    return None


def _shown(written: object) -> str:
    shown = f'"{written}"' if isinstance(written, str) else str(written).lower()
    return shown if len(shown) <= 40 else shown[:39] + "…"


def spelled(seconds: float, parts: int = 2) -> str:
    """Return a finite duration of at least 0 in at most six cells.

    ``45s 3m12s 2h05m 12d04h 3y``; with one part ``3m 2h 12d``.
    """
    whole = int(seconds)
    for unit, size, small, step in (("d", DAY, "h", HOUR), ("h", HOUR, "m", MINUTE), ("m", MINUTE, "s", 1)):
        if whole >= size:
            return _parts(whole, unit, size, small, step, parts)
    return f"{whole}s"


def _parts(whole: int, unit: str, size: int, small: str, step: int, parts: int) -> str:
    if whole >= YEAR:
        years = whole // YEAR
        return f"{years}y" if years < 1000 else ">999y"
    if parts == 1 or whole >= 100 * DAY:
        return f"{whole // size}{unit}"
    return f"{whole // size}{unit}{whole % size // step:02}{small}"


def measured(seconds: float) -> str:
    """Return a duration as `spelled`, with parts of a second: ``850µs 334ms 2.4s``."""
    if seconds >= 59.95 or seconds == int(seconds):
        return spelled(max(seconds, MINUTE) if seconds > 59 else seconds)
    small = next(unit for unit in ("µs", "ms", "s") if float(f"{seconds / UNITS[unit]:.3g}") < 1000)
    return f"{seconds / UNITS[small]:.3g}{small}" if seconds >= 0.5e-6 else "<1µs"


def of_interval(text: str) -> str:
    """Return an interval of the server, or a number with a unit, as elsewhere.

    Other text is returned as it is.
    """
    match = _INTERVAL.fullmatch(text)
    if match is None:
        counted = _COUNTED.fullmatch(text)
        return measured(float(counted[1]) * UNITS[counted[2].removesuffix("in")]) if counted else text
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return measured(days * DAY + hours * HOUR + minutes * MINUTE + seconds)
