"""Header line: the database, critical incidents, and the age of the data."""

from __future__ import annotations

from textual.content import Content

from console.text import formatting
from console.tui.widgets.text_bar import Part, spread
from queries.records.record import Record
from queries.text.duration import measured, spelled
from queries.text.safe_text import safe_text

LATE_INTERVALS = 2.0  # age from which on data is late
LEAST_LATE_SECONDS = 2.0  # the least such age: with short intervals the header would change several times a second
WIDE_CELLS = 90  # cells from which numbers have more words
TIGHT_CELLS = 72  # cells below which a lost connection takes the place of the number of critical incidents
NARROW_CELLS = 60  # cells below which the age of fresh data is omitted
FRESH_SECONDS = 5.0  # of age that is not counted while the data is live, so that the header changes seldom
COARSE_SECONDS, STEP_SECONDS = 10.0, 5.0  # age from which on it is counted in steps


class Header(Record):
    """Content of the header. Durations are in seconds.

    An age is as it is shown, so that a header differs only if it looks different.
    """

    context: str = ""
    color: str = ""  # #rrggbb of the context
    production: str = ""  # name of the context that makes it a production server
    server: str = ""
    behind: str = ""  # that a standby answers, and how old its data is
    superuser: bool = False  # in production
    unencrypted: bool = False  # in production
    engines: str = ""  # in short: an engine in front that is not of the package, and folders that are not used
    read_only: str = ""  # short reason why no action is possible
    link: str = "connecting"
    retry: float = 0.0  # until the next attempt to connect
    paused: bool = False
    screen_failed: bool = False  # the last read of the front screen failed
    age: str = ""  # of the data, see `old`; "" before the first read
    late: bool = False  # see `is_late`
    interval: float = 2.0
    pace: float = 2.0
    critical: int | None = None  # number of critical incidents; None: not read yet


def is_late(age: float | None, interval: float) -> bool:
    """Return True if the data is two intervals old."""
    return age is not None and age >= _late_age(interval)


def _late_age(interval: float) -> float:
    return max(LATE_INTERVALS * interval, LEAST_LATE_SECONDS)


def old(age: float | None, *, exact: bool) -> str:
    """Return the age of the data, rounded down to a second, a step or a unit.

    ``exact``: also while it is fresh.
    """
    if age is None:
        return ""
    if age < FRESH_SECONDS and not exact:
        return f"<{FRESH_SECONDS:g}s old"
    return f"{formatting.age(age if age < COARSE_SECONDS else age // STEP_SECONDS * STEP_SECONDS, 1)} old"


def unchanged_for(age: float | None, interval: float, *, live: bool) -> float:
    """Return the seconds until a header with this age looks different.

    Without a connection the seconds until the next attempt are counted.
    """
    if age is None or not live:
        return 1.0
    late_in = _late_age(interval) - age
    step = 1.0 if age < COARSE_SECONDS else STEP_SECONDS
    grown_in = FRESH_SECONDS - age if age < FRESH_SECONDS and late_in > 0 else step - age % step
    return min(grown_in, late_in) if late_in > 0 else grown_in


def header_line(width: int, header: Header) -> Content:
    """Return the line of a header."""
    faint = "" if header.production else "$faint"
    left: list[Part] = [_context_name(header), " ", *_warnings(header)]
    if header.server:
        if header.behind:
            left += [(header.behind, "bold" if header.production else "bold $warning"), "  "]
        left.append((safe_text(header.server), faint))
    right: list[Part] = [*_state(header, width), " "]
    return spread(left, right, width)


def _context_name(header: Header) -> Content:
    name = safe_text(header.context) or "unstick"
    if header.production:
        return Content.styled(f" {name} · {production_word(header.context, header.production)} ", "bold reverse")
    return Content.styled(f" {name} ", f"bold auto on {header.color}" if header.color else "bold reverse")


def production_word(context: str, production: str) -> str:
    """Return the word for production, with the other context that says so."""
    return "PRODUCTION" if context == production else f"PRODUCTION ({safe_text(production)})"


def _warnings(header: Header) -> list[Part]:
    """Return facts that change what an action may do.

    They come first because a narrow header is cut at its end.
    """
    parts: list[Part] = []
    for word, holds in (("superuser", header.superuser), ("not encrypted", header.unencrypted)):
        parts += [(word, "bold" if header.production else "bold $warning"), "  "] if holds else []
    if header.engines:
        parts += [(header.engines, "bold" if header.production else "bold $warning"), "  "]
    if header.read_only:
        parts += [(header.read_only, "bold reverse"), "  "]
    return parts


def _state(header: Header, width: int) -> list[Part]:
    plain = header.production
    parts: list[Part] = [_critical(header, width)]
    if width >= WIDE_CELLS and header.link == "live" and header.pace > header.interval * 1.5:
        parts.append((f"read every {measured(header.pace)}  ", "" if plain else "$faint"))
    if header.link == "live" and header.paused:
        parts.append((f"paused, {header.age}" if header.age else "paused", "bold" if plain else "bold $warning"))
    elif header.link == "live" and header.screen_failed:
        parts.append(
            (
                f"screen not read, {header.age}" if header.age else "screen not read",
                "bold" if plain else "bold $warning",
            )
        )
    elif header.link == "live" and header.late:
        parts.append((f"data {header.age}", "bold" if plain else "bold $warning"))
    elif header.link == "live":
        parts.append(("● live", "" if plain else "$success"))
        parts.append((f" {header.age}" if header.age and width >= NARROW_CELLS else "", "" if plain else "$faint"))
    elif not header.age:
        again = f"no connection, again in {spelled(header.retry)}" if header.retry >= 1 else "connecting…"
        parts.append((again, "bold" if plain else "$warning"))
    else:
        again = f", again in {spelled(header.retry)}" if header.retry >= 1 else ", reconnecting"
        parts.append((f"no connection, {header.age}{again}", "bold" if plain else "bold $error"))
    return parts


def _critical(header: Header, width: int) -> Part:
    if header.critical is None or (header.link != "live" and width < TIGHT_CELLS):
        return ""
    ink = "$phase-failed" if header.critical else "$faint"
    what = f" incident{'' if header.critical == 1 else 's'}" if width >= WIDE_CELLS else ""
    return f"{header.critical} critical{what}  ", "bold" if header.production else f"bold {ink}"
