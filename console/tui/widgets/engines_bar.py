"""One line per engine: the number of nodes in each phase, and of stuck nodes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from textual.content import Content

from console.model.flow import Rates
from console.text import formatting
from console.text.severity import BANDS, band, sums
from console.tui.widgets.text_bar import aligned, clickable, fitting, joined, spread, widths
from queries.records.node import Count, Phase, Precision
from queries.records.record import Record
from queries.text.safe_text import safe_text

# Phases in the order in which work passes through them. On a narrow screen, RANK decides which are kept.
ORDER = (
    Phase.READY,
    Phase.RUNNING,
    Phase.SCHEDULED,
    Phase.BLOCKED,
    Phase.HELD,
    Phase.FAILED,
    Phase.UNKNOWN,
    Phase.CANCELLED,
    Phase.DONE,
)
NARROW_CELLS = 80  # cells below which shorter words are used
WORDS_CELLS = 100  # cells from which each number has its word
TREND_BARS = 10  # bars of a trend
WIDE_CELLS = 110  # cells from which the stuck nodes are shown by severity, and more if it fits
EXTRAS = (("rates", "trend", "oldest"), ("trend", "oldest"), ("trend",), ())  # as many as leave room for all counts
MAX_LINES = 6
LINES_KEPT = 64
ROWS_PER_LINE = 6  # of the screen, for which the bar has one line
RANK = {phase: rank for rank, phase in enumerate(Phase)}


class EngineLine(Record):
    """Content of one line."""

    label: str
    counts: tuple[Count, ...] | None  # None: not read yet
    stuck: tuple[int, ...] | None  # severity of each node with findings; None: not read yet
    more_stuck: bool = False  # there may be more of them
    oldest: str = ""  # age of the oldest finding, as it is shown: so that a line differs only if it looks different
    trend: str = ""  # of the number of stuck nodes
    rates: Rates | None = None  # work per minute
    stale: bool = False  # the last refresh did not read everything, so values may be out of date
    policies: bool = False  # row-level security may hide rows


class EngineLines(Record):
    """Content of the bar.

    ``front``: the place of the engine in front, -1 without.
    """

    lines: tuple[EngineLine, ...]
    front: int
    ascii: bool
    screen_rows: int

    def content(self, width: int) -> Content:
        """Return the lines that fit on the screen."""
        most = min(max(self.screen_rows // ROWS_PER_LINE, 1), MAX_LINES)
        number = max(self.front, 0)
        start = max(number + 1 - most, 0)
        here = " ▸ "
        if cut := len(self.lines) > most:
            here = f" {number + 1}/{len(self.lines)} "
        room = min(max((formatting.width(line.label) for line in self.lines), default=0), 20)
        columns = _columns(EngineNumbers(lines=self.lines, ascii=self.ascii), width, len(here) + room + 2)
        whole = []
        for place in range(len(self.lines))[start : start + most]:
            marked = place == self.front or (cut and place == number)
            head = self._head(place, here if marked else " " * len(here), room)
            text, end = _ends(self.lines[place], columns)
            whole.append(clickable(spread([head, text], [end], width), f"app.show_engine({place})"))
        return joined("\n", whole)

    def _head(self, place: int, mark: str, room: int) -> Content:
        label = formatting.engine_label(safe_text(self.lines[place].label), room)
        return Content.assemble(
            (mark, "bold $primary"),
            (formatting.fit(label, room), "bold" if place == self.front else "$faint"),
            "  ",
        )


class Columns(Record):
    """Columns of the bar, each with its cells."""

    width: int  # of the bar
    ascii: bool
    phases: tuple[tuple[Phase, int, int], ...]  # also with the digits of its numbers
    numbers: tuple[tuple[str, int], ...]


class EngineNumbers(Record):
    """Numbers of the engines, the same for each engine in front."""

    lines: tuple[EngineLine, ...]
    ascii: bool

    def columns(self, width: int, head: int) -> Columns:
        """Return the columns of all lines, after the first ``head`` cells."""
        shown = [count for line in self.lines for count in line.counts or () if _shown(count)]
        digits: dict[Phase, int] = {}
        for count in shown:
            digits[count.phase] = max(digits.get(count.phase, 0), formatting.width(formatting.count(count)))
        phases = {
            phase: _count(phase, " " * digits[phase], width >= WORDS_CELLS).cell_length
            for phase in ORDER
            if phase in digits
        }
        numbers = [_numbers(line, width, self.ascii) for line in self.lines]
        for extras in EXTRAS if width >= WIDE_CELLS else ((),):
            columns = widths(numbers, (*extras, *(of.word for of in BANDS), "stuck"))
            ends = sum(columns.values()) + 2 * max(len(columns) - 1, 0)
            taken = max((head + len(_warnings(line)) for line in self.lines), default=0)
            kept = fitting([(RANK[phase], cells) for phase, cells in phases.items()], width - taken - ends - 2)
            if len(kept) == len(phases):
                break
        return Columns(
            width=width,
            ascii=self.ascii,
            phases=tuple((p, cells, digits[p]) for place, (p, cells) in enumerate(phases.items()) if place in kept),
            numbers=tuple(columns.items()),
        )


@lru_cache(2)
def _columns(numbers: EngineNumbers, width: int, head: int) -> Columns:
    """Return the columns.

    They are kept, because each move of the cursor may come to another engine.
    """
    return numbers.columns(width, head)


@lru_cache(LINES_KEPT)
def _ends(line: EngineLine, columns: Columns) -> tuple[Content, Content]:
    """Return the left and right ends of a line.

    They are kept, because half of the lines are as before.
    """
    shown = {count.phase: count for count in line.counts or () if _shown(count)}
    counts = {
        phase: _count(phase, formatting.count(shown[phase]).rjust(digits), columns.width >= WORDS_CELLS)
        for phase, _, digits in columns.phases
        if phase in shown
    }
    numbers = aligned(_numbers(line, columns.width, columns.ascii), dict(columns.numbers), right=True)
    return (
        _instead(line) or aligned(counts, {phase: cells for phase, cells, _ in columns.phases}),
        Content.assemble((_warnings(line), "bold $warning"), numbers, " "),
    )


@lru_cache(LINES_KEPT)
def _numbers(line: EngineLine, width: int, ascii: bool) -> Mapping[str, Content]:
    """Return the numbers of a line that are not counts, by the names of their columns."""
    return {name: _extra(name, line) for name in EXTRAS[0]} | _stuck(line, width, ascii)


def _extra(name: str, line: EngineLine) -> Content:
    text = ""
    if name == "oldest" and line.stuck and line.oldest:
        text = f"oldest {line.oldest}"
    elif name == "rates" and line.rates is not None:
        inflow, outflow = (formatting.rate(number) for number in (line.rates.inflow, line.rates.outflow))
        text = f"in {inflow} out {outflow} /min"
    elif name == "trend":
        text = line.trend
    return Content.styled(text, "$faint")


def _stuck(line: EngineLine, width: int, ascii: bool) -> dict[str, Content]:
    """Return the number of stuck nodes, and from `WIDE_CELLS` cells also by severity."""
    if line.stuck is None:
        return {}
    if not line.stuck and not line.stale and not line.more_stuck:
        return {"stuck": Content.styled("nothing stuck" if width >= NARROW_CELLS else "0 stuck", "$faint")}
    number = f"{len(line.stuck)}{'+' * line.more_stuck} stuck"
    levels = zip(sums(line.stuck), BANDS, strict=True) if width >= WIDE_CELLS else ()
    return {of.word: Content.styled(f"{of.plain if ascii else of.sign}{n}", of.ink) for n, of in levels if n} | {
        "stuck": Content.styled(number, f"bold {band(max(line.stuck, default=0)).ink}")
    }


def _instead(line: EngineLine) -> Content | None:
    if line.counts is None:
        return Content.styled("" if line.stale else "counting…", "$faint")
    if any(map(_shown, line.counts)):
        return None
    return Content.styled("none shown" if line.policies else "empty", "$faint")


@lru_cache(512)
def _count(phase: Phase, number: str, words_too: bool) -> Content:
    ink = f"$phase-{phase}"
    return Content.assemble(
        (formatting.GLYPHS[phase], ink),
        " ",
        (number, f"bold {ink}"),
        (f" {phase.value}" if words_too else "", "$faint"),
    )


def _warnings(line: EngineLine) -> str:
    return "policies  " * line.policies + "not read  " * line.stale


def _shown(count: Count) -> bool:
    return bool(count.n) or count.precision is not Precision.EXACT


def engine_lines(width: int, engines: EngineLines) -> Content:
    """Return the lines of the engines."""
    return engines.content(width)
