"""Format ages, times, phases, counts and what was not read for a terminal.

A value that is not recorded or not known reads ``NONE``, never 0. Widths are in terminal cells.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

from queries.records.finding import SkippedFinding
from queries.records.node import Phase, Precision, ScanRequired, Value
from queries.text.duration import measured, spelled
from queries.text.instant import instant as _instant
from queries.text.safe_text import safe_text

if TYPE_CHECKING:
    from queries.db.database import Server
    from queries.records.audit import Origin

NONE: Final = "–"
BALANCED: Final = "Rows may be those of a standby: a pooler answers reads from several servers."

NUMBER_CELLS: Final = 6  # of the longest number that stays at the end of a cropped title

Align = Literal["left", "right"]

GLYPHS: Final[dict[Phase, str]] = {
    Phase.FAILED: "✗",
    Phase.BLOCKED: "■",
    Phase.HELD: "◆",
    Phase.RUNNING: "►",
    Phase.READY: "○",
    Phase.SCHEDULED: "◷",
    Phase.UNKNOWN: "?",
    Phase.CANCELLED: "⊘",
    Phase.DONE: "✓",
}

_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"


ID_CELLS = 13  # of an id beside a title


def age(seconds: float | None, parts: int = 2) -> str:
    """Return an age in at most six cells: ``45s 3m12s 2h05m 12d04h 3y -3m``."""
    if seconds is None or math.isnan(seconds):
        return NONE if seconds is None else "?"
    if seconds < 0:
        return "-" + age(-seconds, 1) if seconds <= -1 else "0s"
    if math.isinf(seconds):
        return "inf"
    return spelled(seconds, parts)


def duration(seconds: float | None) -> str:
    """Return a measured time in at most six cells: ``850µs 1.23ms 12.3s``."""
    unknown = seconds is None or not math.isfinite(seconds) or seconds < 0
    return age(seconds) if seconds is None or unknown else measured(seconds)


def due(seconds: float | None) -> str:
    """Return the time until a deadline in at most ten cells: ``in 4m``, ``12s late``."""
    if seconds is None or math.isnan(seconds):
        return age(seconds)
    if seconds == math.inf:
        return "never"
    if seconds < 0:
        return f"{age(-seconds, 1)} late"
    return f"in {age(seconds, 1)}"


class Times(StrEnum):
    """Form of times: how long ago (screens: in UTC), in UTC, or in the local zone."""

    RELATIVE = "relative"
    UTC = "UTC"
    LOCAL = "local"

    @property
    def following(self) -> Times:
        """The form after this one."""
        forms = list(Times)
        return forms[(forms.index(self) + 1) % len(forms)]


_times = Times.RELATIVE  # of the process, because it has one operator; the command line never changes it


def show_times(times: Times) -> None:
    """Choose the form of all times from now on."""
    global _times
    _times = times


def since(at: float | None, now: float, bound: str = "") -> str:
    """Return a time in the past for a list: ``3m12s``, ``now``, ``08:24:56Z``.

    ``bound``: ``≥`` if it may be longer ago than ``at``, ``≤`` if it may be shorter ago.
    """
    if at is not None and _times is Times.RELATIVE and now > 0 and abs(now - at) < 1 and not bound:
        return "now"
    if at is None or not math.isfinite(at) or (_times is Times.RELATIVE and now > 0):
        return bound + age(None if at is None else now - at, 1 if bound else 2)
    return {"≥": "≤", "≤": "≥"}.get(bound, "") + _stamp(at, now)


def until(at: float | None, now: float) -> str:
    """Return a time in the future for a list: ``in 4m``, ``12s late``, ``08:24:56Z``."""
    if at is None or not math.isfinite(at) or (_times is Times.RELATIVE and now > 0):
        return due(None if at is None else at - now)
    return _stamp(at, now)


def time_width(cells: int) -> int:
    """Return the width of a column of times; ``cells`` if they are relative."""
    return cells if _times is Times.RELATIVE else 14


def _stamp(at: float, now: float) -> str:
    """Return a time without the parts that are those of ``now``.

    Examples: ``08:24:56Z``, ``11-21 08:24Z``, ``2025-11-21``.
    """
    whole, today = instant(at), instant(now)
    if whole[:4] != today[:4]:
        return whole.partition("T")[0]
    date, _, clock = whole.partition("T")
    zone = clock[8:].removesuffix(":00")
    return clock[:8] + zone if date == today.partition("T")[0] else f"{date[5:]} {clock[:5]}{zone}"


def instant(epoch: float | None) -> str:
    """Return seconds since 1970 as ISO 8601 with the zone.

    Accepts any year; years before 1 end in ``BC``.
    """
    if epoch is None or math.isnan(epoch):
        return NONE if epoch is None else "?"
    if math.isinf(epoch):
        return "infinity" if epoch > 0 else "-infinity"
    return _instant(epoch, *_zone(epoch))


def behind(server: Server, *, short: bool = False) -> str:
    """Return that rows may be older than the primary's, and how old; "" on a primary.

    ``short``: without what a line of the console has no room for.
    """
    if server.balanced:
        return "pooler balances reads" if short else BALANCED
    if not server.standby:
        return ""
    if server.data_of is None:
        return "standby, age of its data not known"
    return f"standby, data of {_stamp(server.data_of, server.now) if short else instant(server.data_of)}"


def _zone(epoch: float) -> tuple[int, str]:
    """Return the offset of the chosen zone from UTC in seconds, and as text."""
    if _times is not Times.LOCAL:
        return 0, "Z"
    try:
        offset = time.localtime(epoch).tm_gmtoff
    except (OverflowError, ValueError, OSError):  # a year that the system does not know
        return 0, "Z"
    minutes = abs(offset) // 60
    return offset, f"{'-' if offset < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"


def width(text: str) -> int:
    """Return the number of terminal cells of ``text``, as Textual counts them."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def crop(text: str, cells: int) -> str:
    """Crop text to ``cells`` cells. An ellipsis marks a cut."""
    if cells <= 0:
        return ""
    # Measure only what can be on screen: a value may be megabytes long.
    head = text[: 4 * cells + 4]
    if width(head) <= cells and len(head) == len(text):
        return text
    if head.isascii():
        return head[: cells - 1] + "…"
    from rich.cells import set_cell_size

    return set_cell_size(head, cells - 1).rstrip() + "…"


def shorten(text: str, cells: int) -> str:
    """Crop text but keep a number at its end: ``send_confirm… +2``."""
    if width(text) <= cells:
        return text
    end = ending(text, cells)
    return crop(text[: len(text) - len(end)], cells - len(end)) + end


def engine_label(label: str, cells: int = 128) -> str:
    """Return an engine's label in at most ``cells`` cells.

    A schema with the engine's name says nothing. If the label is too long, the name is cut before its schema, because
    labels of one engine in many schemas differ there: ``ob…@tenant_17``.
    """
    name, at, schema = label.partition("@")
    if width(label) <= cells or name == schema or not at:
        return crop(name if name == schema else label, cells)
    room = cells - width(schema) - 1
    return crop(name, room) + at + schema if room >= 2 else "…" + schema[-(cells - 1) :]


def short_id(key: str, cells: int = ID_CELLS) -> str:
    """Return what tells apart rows that look alike: ``#dca7afd7``, ``#…85:14:00``.

    "" if there is no room for it.
    """
    by_chance = key[8:9] == "-" and key.count("-") == 4 and key[14:15] != "7"  # UUIDs of version 7 begin with a time
    forms = (f"#{key}", f"#{key[:8]}" if by_chance else f"#…{key[-8:]}", f"#…{key[-4:]}")
    return next((form for form in forms if len(form) <= cells), "")


def ending(text: str, cells: int) -> str:
    """Return the short number at the end of a long text, with its blank, or "".

    Example: ``" 3/6"``.
    """
    _, space, tail = text.rpartition(" ")
    return space + tail if tail[-1:].isdigit() and len(tail) <= NUMBER_CELLS and cells >= 3 * NUMBER_CELLS else ""


def fit(text: str, cells: int, align: Align = "left") -> str:
    """Crop or pad the text to exactly ``cells`` cells."""
    if text.isascii() and len(text) <= cells:
        return text.rjust(cells) if align == "right" else text.ljust(cells)
    return _fitted(text[: 4 * cells + 5], cells, align)  # as much as `crop` measures


@lru_cache(4096)
def _fitted(text: str, cells: int, align: Align) -> str:
    text = crop(text, cells)
    space = " " * (cells - width(text))
    return space + text if align == "right" else text + space


def bar(part: float | None, whole: float | None, cells: int, ascii: bool = False) -> str:
    """Return a bar of ``cells`` cells for the share of ``part`` in ``whole``.

    Returns ``NONE`` if the share is unknown.
    """
    if part is None or whole is None or not (math.isfinite(part) and math.isfinite(whole) and whole > 0):
        return NONE
    share = min(max(part / whole, 0.0), 1.0)
    if ascii:
        return ("#" * round(share * cells)).ljust(cells, ".")
    full, eighths = divmod(round(share * cells * 8), 8)
    return ("█" * full + _EIGHTHS[eighths].strip()).ljust(cells, " ")


def short(number: int) -> str:
    """Return a number in at most four cells: ``950 1.2k 12k 1.2M``."""
    size, unit = 1, ""
    for unit in ("", "k", "M", "G", "T"):
        if round(number / size, 1 if number < 10 * size else 0) < 1000 or unit == "T":
            break
        size *= 1000
    scaled = number / size
    return f"{scaled:.1f}".removesuffix(".0") + unit if size > 1 and scaled < 9.95 else f"{scaled:.0f}{unit}"


def size(n: int) -> str:
    """Return ``n`` bytes in units of ``pg_size_pretty`` (1 kB = 1024 B): ``1.5 kB``."""
    if n < 1024:
        return f"{n} B"
    value, unit = n / 1024, "kB"
    for larger in ("MB", "GB", "TB"):
        if value < 1023.95:
            break
        value, unit = value / 1024, larger
    return f"{value:.1f}".removesuffix(".0") + f" {unit}"


def count(value: Value) -> str:
    """Return a count with its precision: ``12 ≈1.2M 10k+``, or ``?`` if unknown."""
    if value.n is None or value.precision is Precision.UNKNOWN:
        return "?"
    if value.precision is Precision.EXACT:
        return str(value.n)
    if value.precision is Precision.CAPPED:
        return short(value.n) + "+"
    return "≈" + short(value.n)


def rate(number: float | None) -> str:
    """Return an estimated number per minute: ``≈12 <1``, or ``?`` if not recorded."""
    if number is None:
        return "?"
    return "<1" if 0 < number < 0.5 else "≈" + short(round(number))


def place(of: Origin) -> str:
    """Return a database as ``host:port/name``, with the context that opened it."""
    port = "" if of.port is None else f":{of.port}"
    return f"{of.host}{port}/{of.database}" + (f" (@{of.context})" if of.context else "")


def scope_note(what: str) -> str:
    """Return the note for a truncated read, which read only ``what``."""
    return f"only {what} were read"


def scalar(value: object) -> str:
    """Return a value from the database as one line of safe text."""
    if value is None:
        return NONE
    if isinstance(value, str):
        return safe_text(value)
    if isinstance(value, bytes):
        return safe_text(repr(value))
    return safe_text(json.dumps(value, ensure_ascii=False, default=str))


BARS = "▁▂▃▄▅▆▇█"


def course(numbers: Sequence[float | None], ascii: bool = False) -> str:
    """Return rates per minute, one a minute, as bars with their scale: ``▁▃█ 0..30``.

    A blank was not measured; "" if none was. Rates that are all 0, and ``ascii``, have no bars.
    """
    known = [number for number in numbers if number is not None]
    if not (most := max(known, default=0.0)) or ascii:
        return rate(known[-1]) if known else ""
    steps = (None if number is None else round(number / most * (len(BARS) - 1)) for number in numbers)
    return f"{''.join(' ' if step is None else BARS[step] for step in steps).strip()} 0..{short(math.ceil(most))}"


def absent(words: str, policies: Collection[str]) -> str:
    """Return ``words`` for a missing row, which row-level policies may hide."""
    return f"{words}, or a row-level policy hides it" if policies else words


def by_reason(skipped: Iterable[SkippedFinding]) -> Iterator[tuple[str, str]]:
    """Yield engine and text for each reason.

    The text has the codes of the checks, the reason, and the DDL that would allow them.
    """
    reasons: dict[tuple[str, str, str | None], list[str]] = {}
    for each in skipped:
        reasons.setdefault((each.engine, each.why, each.ddl), []).append(each.code)
    for (engine, why, ddl), codes in reasons.items():
        yield engine, f"{', '.join(codes)}: {why}" + (f" ({ddl})" if ddl else "")


def scan_offer(need: ScanRequired, scan: str) -> str:
    """Return the option or key ``scan``, and what it costs."""
    return f"{scan} reads it with a scan of about {size(need.blocks * 8192)}."
