"""Values as short words for a terminal: ages, durations, instants, phases and counts.

Pure formatting. What is not recorded or not known is ``NONE``, never 0. Widths are in terminal cells.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, Literal

from queries.model import Count, Origin, Phase, Precision

NONE: Final = "–"

SHORT: Final = 6  # cells that a number at the end of a title may take

MINUTE: Final = 60
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
YEAR: Final = 365 * DAY

Align = Literal["left", "right"]

GLYPHS: Final[dict[Phase, tuple[str, str]]] = {
    Phase.FAILED: ("✗", "x"),
    Phase.BLOCKED: ("■", "#"),
    Phase.HELD: ("◆", "="),
    Phase.RUNNING: ("►", ">"),
    Phase.READY: ("○", "o"),
    Phase.SCHEDULED: ("◷", "@"),
    Phase.UNKNOWN: ("?", "?"),
    Phase.CANCELLED: ("⊘", "/"),
    Phase.DONE: ("✓", "+"),
}

_PLAIN: Final = str.maketrans({"–": "-", "∞": "inf", "µ": "u", "≈": "~", "…": "~"})
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"


def glyph(phase: Phase, ascii: bool = False) -> str:
    """One cell that tells the phase without colour."""
    return GLYPHS[phase][ascii]


def age(seconds: float | None, parts: int = 2) -> str:
    """Seconds as at most six cells: ``45s 3m12s 2h05m 12d04h 3y``. One part: ``3m``. Below zero: one part, ``-3m``."""
    if seconds is None or math.isnan(seconds):
        return NONE if seconds is None else "?"
    if seconds < 0:
        return "-" + age(-seconds, 1) if seconds <= -1 else "0s"
    if math.isinf(seconds):
        return "∞"
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


def duration(seconds: float | None) -> str:
    """A measured time as at most six cells: ``850µs 1.23ms 12.3s``, from a minute on as ``age``."""
    if seconds is None or not math.isfinite(seconds) or seconds >= MINUTE:
        return age(seconds)
    if seconds <= 0:
        return "<0s" if seconds < 0 else "0s"
    if seconds < 0.5e-6:
        return "<1µs"
    if seconds < 999.5e-6:
        return f"{seconds * 1e6:.0f}µs"
    if seconds < 999.5e-3:
        return _three(seconds * 1e3) + "ms"
    return _three(seconds) + "s" if seconds < 59.95 else "1m00s"


def _three(number: float) -> str:
    """Three significant digits, for numbers from 0.9995 to 999.5."""
    return f"{number:.2f}" if number < 9.995 else f"{number:.1f}" if number < 99.95 else f"{number:.0f}"


def due(seconds: float | None) -> str:
    """Seconds until a deadline: ``in 4m``, ``12s late``. At most ten cells."""
    if seconds is None or math.isnan(seconds):
        return age(seconds)
    if seconds == math.inf:
        return "never"
    if seconds < 0:
        return f"{age(-seconds, 1)} late"
    return f"in {age(seconds, 1)}"


def instant(epoch: float | None) -> str:
    """Seconds since 1970 as ISO 8601 in UTC, to the second. Any year; before year 1 with ``BC``."""
    if epoch is None or math.isnan(epoch):
        return NONE if epoch is None else "?"
    if math.isinf(epoch):
        return "infinity" if epoch > 0 else "-infinity"
    days, second = divmod(math.floor(epoch), DAY)
    year, month, day = _civil(days)
    era, year = (" BC", 1 - year) if year < 1 else ("", year)
    return f"{year:04}-{month:02}-{day:02}T{second // HOUR:02}:{second // MINUTE % 60:02}:{second % 60:02}Z{era}"


def _civil(days: int) -> tuple[int, int, int]:
    """Days since 1970-01-01 as year, month, day: Hinnant's civil_from_days. ``datetime`` ends at year 9999."""
    era, of_era = divmod(days + 719_468, 146_097)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year + era * 400 + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1


def width(text: str) -> int:
    """How many cells the text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def crop(text: str, cells: int, ascii: bool = False) -> str:
    """The text in at most ``cells`` cells; what is cut off leaves an ellipsis (``~`` in ASCII)."""
    if cells <= 0:
        return ""
    # no character of a line is looked at that cannot be on screen: a value may be megabytes long
    head = text[: 4 * cells + 4]
    if width(head) <= cells and len(head) == len(text):
        return text
    mark = "~" if ascii else "…"
    if head.isascii():
        return head[: cells - 1] + mark
    from rich.cells import set_cell_size

    return set_cell_size(head, cells - 1).rstrip() + mark


def shorten(text: str, cells: int, ascii: bool = False) -> str:
    """As `crop`, but a number that ends the text stays: ``send_confirm… +2``, ``fulfil_order… 3/6``."""
    if width(text) <= cells:
        return text
    end = ending(text, cells)
    return crop(text[: len(text) - len(end)], cells - len(end), ascii) + end


def ending(text: str, cells: int) -> str:
    """The short number that ends a text which is too long, with the blank before it: ``" 3/6"``; "" for none."""
    _, space, tail = text.rpartition(" ")
    return space + tail if tail[-1:].isdigit() and len(tail) <= SHORT and cells >= 3 * SHORT else ""


def fit(text: str, cells: int, align: Align = "left", ascii: bool = False) -> str:
    """The text in exactly ``cells`` cells, cropped or padded."""
    if text.isascii() and len(text) <= cells:
        return text.rjust(cells) if align == "right" else text.ljust(cells)
    return _fitted(text[: 4 * cells + 5], cells, align, ascii)  # as much as is looked at: a value may be megabytes long


@lru_cache(4096)
def _fitted(text: str, cells: int, align: Align, ascii: bool) -> str:
    text = crop(text, cells, ascii)
    space = " " * (cells - width(text))
    return space + text if align == "right" else text + space


def bar(part: float | None, whole: float | None, cells: int, ascii: bool = False) -> str:
    """How much of ``whole`` ``part`` is, as a bar of that many cells. ``NONE`` where it cannot be said."""
    if part is None or whole is None or not (math.isfinite(part) and math.isfinite(whole) and whole > 0):
        return NONE
    share = min(max(part / whole, 0.0), 1.0)
    if ascii:
        return ("#" * round(share * cells)).ljust(cells, ".")
    full, eighths = divmod(round(share * cells * 8), 8)
    return ("█" * full + _EIGHTHS[eighths].strip()).ljust(cells, " ")


def short(number: int) -> str:
    """A number as at most four cells: ``950 1.2k 12k 1.2M``."""
    size, unit = 1, ""
    for unit in ("", "k", "M", "G", "T"):
        if round(number / size, 1 if number < 10 * size else 0) < 1000 or unit == "T":
            break
        size *= 1000
    scaled = number / size
    return f"{scaled:.1f}".removesuffix(".0") + unit if size > 1 and scaled < 9.95 else f"{scaled:.0f}{unit}"


def count(value: Count) -> str:
    """A count with its precision: ``12``, an estimate ``≈1.2M``, at least ``10k+``, not known ``?``."""
    if value.n is None or value.precision is Precision.UNKNOWN:
        return "?"
    if value.precision is Precision.EXACT:
        return str(value.n)
    if value.precision is Precision.CAPPED:
        return short(value.n) + "+"
    return "≈" + short(value.n)


def place(of: Origin) -> str:
    """A database as ``host:port/name``, with the context by which it was opened."""
    port = "" if of.port is None else f":{of.port}"
    return f"{of.host}{port}/{of.database}" + (f" (@{of.context})" if of.context else "")


def only(what: str) -> str:
    """That a list is cut: ``what`` alone was looked at."""
    return f"only {what} were looked at"


def plain(text: str) -> str:
    """Words of this module in ASCII (``≈`` as ``~``, ``µs`` as ``us``). Not for text from a database."""
    return text.translate(_PLAIN)
