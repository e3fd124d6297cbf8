"""Draw changes over time as text: lanes on a common axis, then a list with waits.

The axis runs from the first change to now if any lane is in an unfinished state, else to the last change. Each lane
shows the age of its last state.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from console.text import formatting
from console.text.spans import Spans, joined
from queries.records.node import Phase
from queries.records.record import Record
from queries.text.instant import instant
from queries.text.safe_text import safe_text

MAX_LANES = 60  # lanes drawn
MAX_CHANGES = 300  # changes listed
NEWEST_SHOWN = 6  # changes beside a list
BAR_CELLS = 8  # cells
ENDS = (Phase.DONE, Phase.CANCELLED)  # final phases


class Change(Record):
    """One change.

    ``phase`` is None for an event that begins no state; ``waited`` is in seconds.
    """

    at: float
    lane: str
    state: str
    phase: Phase | None = None
    waited: float | None = None
    waited_for: str | None = None
    note: str | None = None


def changes(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[Change]:
    """Convert rows of a timeline section to changes. Rows without a time are omitted."""
    timeline = []
    for row in rows:
        fields = dict(zip(columns, row, strict=True))
        if fields["at"] is not None and math.isfinite(fields["at"]):
            phase = fields["phase"]
            timeline.append(Change(**{**fields, "phase": None if phase is None else Phase(phase)}))
    return timeline


def draw(changes: Sequence[Change], width: int, now: float) -> list[Spans]:
    """Draw lanes and list in lines of ``width`` cells. ``now`` is the server's time."""
    lines = _lanes(changes, width, now)
    return [*lines, [], *_list(changes, width)] if lines else []


def newest(changes: Sequence[Change], width: int) -> list[Spans]:
    """Return the first changes of a list that begins with the newest."""
    return _list(changes[:NEWEST_SHOWN], width) if changes else []


def _clock(at: float, cells: int = 9) -> str:
    """Return the time of day in UTC: 9 cells to the second, 13 to the millisecond."""
    return f"{instant(at).partition('T')[2][:8]}.{math.floor(at % 1 * 1000):03}"[: cells - 1] + "Z"


# The lanes


def _lanes(changes: Sequence[Change], width: int, now: float) -> list[Spans]:
    lanes: dict[str, list[Change]] = {}
    for change in sorted(changes, key=lambda c: c.at):
        lanes.setdefault(change.lane, []).append(change)
    if not lanes:
        return []
    names = {lane: safe_text(lane) for lane in lanes}
    room = min(max(formatting.width(name) for name in names.values()), max(width // 4, 8))
    states = {lane: _state(line, now) for lane, line in lanes.items()}
    side = min(max(formatting.width(text) for text in states.values()), max(width // 3, 8))
    cells = max(width - room - side - 6, 8)
    first, last = min(c.at for c in changes), max(c.at for c in changes)
    if any(line[-1].phase not in (None, *ENDS) for line in lanes.values()):
        last = max(last, now)
    lines: list[Spans] = []
    for lane, line in list(lanes.items())[:MAX_LANES]:
        ink = f"$phase-{line[-1].phase}" if line[-1].phase else "bold"
        name = (formatting.fit(names[lane], room), "bold" if line[-1].phase not in ENDS else "")
        state = (formatting.crop(states[lane], side), ink)
        lines.append([("  ", ""), name, ("  ", ""), *draw_lane(line, first, last, cells), ("  ", ""), state])
    if len(lanes) > MAX_LANES:
        lines.append([(f"  and {len(lanes) - MAX_LANES} more", "$faint")])
    return [*lines, _axis(first, last, 2 + room + 2, cells)]


def _state(line: Sequence[Change], now: float) -> str:
    """Return the last state of a lane and its age, or the number of its events."""
    last = line[-1]
    if last.phase is None:
        return f"{len(line)} times since {_clock(line[0].at)}" if len(line) > 1 else f"once, at {_clock(last.at)}"
    return f"{safe_text(last.state)} for {formatting.age(max(now - last.at, 0.0), 1)}"


def draw_lane(line: Sequence[Change], first: float, last: float, cells: int) -> Spans:
    """Draw one lane.

    Each cell shows its longest phase; ends, failures and events always show.
    """
    step = (last - first) / cells

    def cell(at: float) -> int:
        return min(int((at - first) / step), cells - 1) if step > 0 else 0

    shares: list[dict[Phase, float]] = [{} for _ in range(cells)]
    shown: list[Phase | None] = [None] * cells
    moments: set[int] = set()
    for change, after in zip(line, [*line[1:], None], strict=True):
        begin, end = change.at, last if after is None else after.at
        phase = change.phase
        if phase is None:
            moments.add(cell(begin))
            continue
        if phase in (*ENDS, Phase.FAILED) or (after is None and begin >= last):
            shown[cell(begin)] = phase
        for at in range(cell(begin), cell(end) + 1 if phase not in ENDS else 0):
            part = min(end, first + (at + 1) * step) - max(begin, first + at * step)
            shares[at][phase] = shares[at].get(phase, 0.0) + part
    spans: Spans = []
    for at, share in enumerate(shares):
        phase = shown[at] or max((p for p in share if share[p] > 0), key=lambda p: share[p], default=None)
        if at in moments:
            spans.append(("●", "bold $accent"))
        elif phase is None:
            spans.append(("·", "$line"))
        else:
            spans.append((formatting.GLYPHS[phase], f"$phase-{phase}"))
    return joined(spans)


def _axis(first: float, last: float, indent: int, cells: int) -> Spans:
    span = formatting.duration(last - first)
    ends = (_clock(first), f" {span} ", _clock(last))
    gaps = cells - sum(map(len, ends)) - 2
    if gaps < 2 or last <= first:
        return [(" " * indent + f"{ends[0]}, {ends[1].strip()}", "$faint")]
    left = gaps // 2
    return [(" " * indent + f"{ends[0]} {'─' * left}{ends[1]}{'─' * (gaps - left)} {ends[2]}", "$faint")]


# The changes


def _list(changes: Sequence[Change], width: int) -> list[Spans]:
    """List the changes in the given order, with a line for each new day."""
    shown = changes[:MAX_CHANGES]
    longest = max((c.waited for c in shown if c.waited is not None and math.isfinite(c.waited)), default=0.0)
    clock = 13 if width >= 80 else 9
    bar = BAR_CELLS if width >= 100 else 0
    several = len({c.lane for c in changes}) > 1
    lane = min(max(formatting.width(safe_text(c.lane)) for c in shown), 24 if width >= 80 else 14) * several
    state = min(
        max(formatting.width(safe_text(c.state)) for c in shown),
        36 if width >= 100 else 24 if width >= 80 else 16,
    )
    room = width - (2 + clock + 2 + 2 + state + (lane and lane + 2) + 8 + (bar and bar + 1) + 1)
    lines: list[Spans] = []
    day = ""
    for change in shown:
        if day != (day := instant(change.at).partition("T")[0]):
            lines.append([(f"  {day}", "$faint")])
        ink = f"$phase-{change.phase}" if change.phase else ""
        mark = formatting.GLYPHS[change.phase] if change.phase else "●"
        waited = formatting.duration(change.waited) if change.waited is not None else ""
        length = formatting.bar(change.waited, longest, bar) if change.waited and bar else ""
        spans = [
            (f"  {_clock(change.at, clock)}  ", "$faint"),
            (f"{mark} {formatting.fit(safe_text(change.state), state)}", ink),
            (f"  {formatting.fit(safe_text(change.lane), lane)}" if lane else "", ""),
            (f"  {formatting.fit(waited, 6, 'right')}", "bold"),
            (f" {formatting.fit('' if length == formatting.NONE else length, bar)}" if bar else "", "$phase-scheduled"),
        ]
        lines += _noted(spans, change, room, 2 + clock + 4, width)
    if len(changes) > MAX_CHANGES:
        lines.append([(f"  and {len(changes) - MAX_CHANGES} older ones", "$faint")])
    return lines


def _noted(spans: Spans, change: Change, room: int, indent: int, width: int) -> list[Spans]:
    """Add the cause of the wait and the note, beside it or on the next line."""
    parts = [safe_text(part) for part in (change.waited_for, change.note) if part]
    fits = max((n for n in range(len(parts) + 1) if formatting.width("  ".join(parts[:n])) <= room), default=0)
    beside, below = "  ".join(parts[:fits]), "  ".join(parts[fits:])
    spans = [*spans, (f" {beside}", "$faint")] if beside else spans
    return [spans, [(" " * indent + formatting.crop(below, width - indent), "$faint")]] if below else [spans]
