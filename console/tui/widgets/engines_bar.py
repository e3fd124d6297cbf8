"""Line of the engines: numbers of the one in front, stuck nodes of the others."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from console.model.fields.engine import ORDER, EngineLine, by_severity, worst_first
from console.text import formatting
from console.text.severity import band
from console.tui.widgets.text_bar import Part, clickable, joined, squeeze
from queries.records.node import Phase
from queries.records.record import Record
from queries.text.safe_text import safe_text

NARROW_CELLS = 80  # cells below which shorter words are used
WORDS_CELLS = 100  # cells from which two engines are named, and numbers by severity
ONE_NAMED_CELLS = 72  # cells from which another engine is named before the numbers of the one in front are cut
RANK = {phase: rank for rank, phase in enumerate(Phase)}  # of which numbers are kept on a narrow screen


class EngineLines(Record):
    """Content of the line. ``front``: the place of the engine in front, -1 without."""

    lines: tuple[EngineLine, ...]
    front: int
    ascii: bool


def engine_lines(width: int, engines: EngineLines) -> Content:
    """Return the line: what there is room for, the engine in front first."""
    front = engines.lines[engines.front] if engines.front >= 0 else None
    places = [place for place in range(len(engines.lines)) if place != engines.front]
    others = [(place, engines.lines[place]) for place in sorted(places, key=lambda n: worst_first(engines.lines[n]))]
    head = _head(front, engines.ascii) if front else Content(" ")
    for words, extras, named in _ways(width, len(others)):
        end = _others(others, named, alone=front is None)
        counts = _counts(front, words=words)
        more = [Content.styled(text, "$faint") for text in _extras(front, extras) if text]
        stuck = [_stuck(front, width, engines.ascii)] if front else []
        room = width - head.cell_length - sum(each.cell_length + 2 for each in (*stuck, *more, end)) - 1
        if sum(each.cell_length + 2 for _, each in counts) <= room + 2:
            break
    left = Content.assemble(head, squeeze(counts, max(room, 0)))
    right = joined("  ", [each for each in (*more, *stuck, end) if each.cell_length])
    gap = width - left.cell_length - right.cell_length - 1
    if front is None:
        return Content.assemble(head, right).truncate(width, ellipsis=True)
    return Content.assemble(
        left.truncate(max(width - right.cell_length - 2, 12), ellipsis=True), " " * max(gap, 1), right
    )


def _ways(width: int, others: int) -> Sequence[tuple[bool, int, int]]:
    """Return what may be shown, most first: words, number of extras, named engines.

    A narrow screen has words before what came and went.
    """
    least = min(others, 2 if width >= WORDS_CELLS else int(width >= ONE_NAMED_CELLS))
    named = range(others, least - 1, -1)
    flows, words = [(False, 1, least), (False, 1, 0)], [(True, 0, number) for number in named]
    return [
        *((True, extras, number) for extras, number in ((2, others), (1, others), (1, least))),
        *(flows + words if width >= WORDS_CELLS else words + flows),
        *((False, 0, number) for number in named),
    ]


def _head(line: EngineLine, ascii: bool) -> Content:
    note = "policies  " * line.policies + "not read  " * line.stale
    return Content.assemble((" ▸ ", "bold $primary"), (safe_text(line.name), "bold"), "  ", (note, "bold $warning"))


def _counts(line: EngineLine | None, *, words: bool) -> list[tuple[int, Content]]:
    if line is None:
        return []
    counts = [(phase, line.count(phase)) for phase in ORDER]
    shown = [(RANK[phase], _count(phase, number, words=words)) for phase, number in counts if number]
    instead = "" if line.stale else "counting…" if line.counts is None else "none shown" if line.policies else "empty"
    return shown or [(0, Content.styled(instead, "$faint"))]


def _count(phase: Phase, number: str, *, words: bool) -> Content:
    ink = f"$phase-{phase}"
    parts: list[Part] = [(formatting.GLYPHS[phase], ink), " ", (number, f"bold {ink}")]
    return Content.assemble(*parts, (f" {phase.value}" if words else "", "$faint"))


def _extras(line: EngineLine | None, number: int) -> list[str]:
    if line is None:
        return []
    return [line.flow, f"oldest {line.oldest}" if line.oldest and line.stuck else ""][:number]


def _stuck(line: EngineLine, width: int, ascii: bool) -> Content:
    if line.stuck is None:
        return Content("")
    if not line.stuck and not line.stale and not line.more_stuck:
        return Content.styled("nothing stuck" if width >= NARROW_CELLS else "0 stuck", "$faint")
    signs: list[Part] = [(f"{text} ", ink) for text, ink in by_severity(line, ascii)] if width >= WORDS_CELLS else []
    return Content.assemble(*signs, (f"{line.number} stuck", f"bold {band(line.severity).ink}"))


def _others(others: Sequence[tuple[int, EngineLine]], named: int, *, alone: bool) -> Content:
    parts = []
    for place, line in others[:named]:
        number = "…" if line.stuck is None else line.number
        ink = f"bold {band(line.severity).ink}" if line.stuck else "$faint"
        unread = (" not read" if line.stale else "", "$warning")
        about = Content.assemble((f"{safe_text(line.name)} ", "$faint"), (number, ink), unread)
        parts.append(clickable(about, f"app.show_engine({place})"))
    if rest := len(others) - named:
        parts.append(
            clickable(
                Content.styled(f"{rest} {'more' if named else 'other' if rest == 1 else 'others'}", "$faint"),
                "app.engines",
            )
        )
    return (
        Content.assemble(("" if alone or not parts else "│ ", "$faint"), joined(" · ", parts)) if parts else Content("")
    )
