"""One line per engine: the number of nodes in each phase, and of stuck nodes."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from console.model.flow import Rates
from console.text import formatting
from console.text.severity import BANDS, band
from console.tui.widgets.text_bar import TextBar, clickable, spread, squeeze
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
NARROW = 80  # cells below which shorter words are used
WIDE = 110  # cells from which the trend of the stuck nodes is shown, and work per minute if the words still fit
WIDER = 130  # cells from which work per minute is more important than the words
MAX_LINES, MAX_LINES_LOW = 6, 1  # as in the style sheets: on a screen, and on a low one
RANK = {phase: rank for rank, phase in enumerate(Phase)}


class EngineLine(Record):
    """Content of one line."""

    label: str
    counts: tuple[Count, ...] | None  # None: not read yet
    stuck: int | None  # number of nodes with findings; None: not read yet
    more_stuck: bool = False  # there may be more of them
    worst: int = 0  # severity of the worst finding
    levels: tuple[int, ...] = ()  # numbers of stuck nodes by severity, the worst level first
    oldest: float | None = None  # seconds since the oldest finding began
    history: tuple[int, ...] = ()  # numbers of stuck nodes over the last 15 minutes, oldest first
    rates: Rates | None = None  # work per minute
    stale: bool = False  # the last refresh did not read everything, so values may be out of date
    chosen: bool = False  # the engine in front
    policies: bool = False  # row-level security may hide rows


class EnginesBar(TextBar):
    """Paints :class:`EngineLine` records."""

    DEFAULT_CSS = "EnginesBar { height: auto; max-height: 6; }"

    def __init__(self, id: str | None = None, *, ascii: bool = False) -> None:
        super().__init__(id=id)
        self._lines: Sequence[EngineLine] = ()
        self._ascii = ascii

    def show(self, lines: Sequence[EngineLine]) -> None:
        """Paint other lines."""
        if lines != self._lines:
            self._lines = lines
            self.display = bool(lines)
            self.renew()

    def compose_line(self, width: int) -> Content:
        low = self.screen.has_class("-low") and len(self._lines) > 1
        number = next((n for n, line in enumerate(self._lines) if line.chosen), 0)
        lines = self._visible_lines()
        room = min(max((formatting.width(line.label) for line in lines), default=0), 20)
        here = f" {number + 1}/{len(self._lines)} " if low else " > " if self._ascii else " ▸ "
        heads = [self._head(line, here if line.chosen or low else "   ", room) for line in lines]
        whole = [self._counts(line, words_too=True) for line in lines]
        # Either all lines have words or none, so that the lines look alike.
        for rates in (True, False) if width >= WIDE else (False,):
            ends = [self._end(line, width, rates=rates) for line in lines]
            rooms = [width - head.cell_length - end.cell_length - 2 for head, end in zip(heads, ends, strict=True)]
            needed = [sum(part.cell_length + 3 for _, part in counts) - 3 for counts in whole]
            fit = all(cells <= room for cells, room in zip(needed, rooms, strict=True))
            if fit or width >= WIDER:
                break
        counts = whole if fit else [self._counts(line, words_too=False) for line in lines]
        places = [self._lines.index(line) for line in lines]
        return Content("\n").join(
            clickable(
                spread([head, squeeze(parts, room, "   " if fit else "  ")], [end, " "], width),
                f"app.show_engine({place})",
            )
            for head, parts, room, end, place in zip(heads, counts, rooms, ends, places, strict=True)
        )

    def _visible_lines(self) -> Sequence[EngineLine]:
        """Return the lines that fit, with the chosen one among them."""
        most = MAX_LINES_LOW if self.screen.has_class("-low") else MAX_LINES
        chosen = next((number for number, line in enumerate(self._lines) if line.chosen), 0)
        start = max(chosen + 1 - most, 0)
        return self._lines[start : start + most]

    def _head(self, line: EngineLine, mark: str, room: int) -> Content:
        label = formatting.engine_label(safe_text(line.label), room, self._ascii)
        return Content.assemble(
            (mark, "bold $primary"),
            (formatting.fit(label, room, ascii=self._ascii), "bold" if line.chosen else "$faint"),
            "  ",
        )

    def _end(self, line: EngineLine, width: int, *, rates: bool) -> Content:
        """Return the end of a line: work per minute, stuck nodes, trend, warnings.

        The warnings concern incomplete data.
        """
        warnings = "policies  " * line.policies + "not read  " * line.stale
        badges = Content.styled(warnings, "bold $warning")
        if rates and line.rates is not None:
            entered, left = (formatting.rate(number) for number in (line.rates.entered, line.rates.left))
            text = f"in {entered} out {left} /min  "
            badges += Content.styled(formatting.plain(text) if self._ascii else text, "$faint")
        if line.stuck is None:
            return badges
        if not line.stuck and not line.stale and not line.more_stuck:
            return badges + Content.styled("nothing stuck" if width >= NARROW else "0 stuck", "$faint")
        if width >= WIDE:
            spark = "" if self._ascii else formatting.sparkline(line.history, 10)
            oldest = f"oldest {formatting.age(line.oldest)}  " if line.oldest is not None else ""
            badges += Content.assemble((f"{spark}  " if spark else "", band(line.worst).ink), (oldest, "$faint"))
            badges += Content.assemble(*self._levels(line))
        number = f"{line.stuck}{'+' if line.more_stuck else ''} stuck"
        return badges + Content.styled(number, f"bold {band(line.worst).ink}")

    def _levels(self, line: EngineLine) -> list[tuple[str, str]]:
        """Return the stuck nodes by severity, if they differ in it."""
        found = [
            (f"{of.plain if self._ascii else of.sign}{number} ", of.ink)
            for number, of in zip(line.levels, BANDS, strict=False)
            if number
        ]
        return [*found, (" ", "")] if len(found) > 1 else []

    def _counts(self, line: EngineLine, *, words_too: bool) -> list[tuple[int, Content]]:
        if line.counts is None:
            return [(0, Content.styled("" if line.stale else "counting…", "$faint"))]
        found = {count.phase: count for count in line.counts}
        shown = [found[phase] for phase in ORDER if phase in found and (found[phase].n or not _certain(found[phase]))]
        if not shown:
            return [(0, Content.styled("none shown" if line.policies else "empty", "$faint"))]
        return [(RANK[count.phase], self._count(count, words_too=words_too)) for count in shown]

    def _count(self, count: Count, *, words_too: bool) -> Content:
        ink = f"$phase-{count.phase}"
        number = formatting.count(count)
        return Content.assemble(
            (formatting.glyph(count.phase, self._ascii), ink),
            " ",
            (formatting.plain(number) if self._ascii else number, f"bold {ink}"),
            (f" {count.phase.value}" if words_too else "", "$faint"),
        )


def _certain(count: Count) -> bool:
    return count.precision is Precision.EXACT
