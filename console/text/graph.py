"""Draw a graph of steps as text: one row per step, by level, with rails.

The level of a step is its longest path from the top, so every rail leads down. In the row of a step, lines from the
left and lines that end there come from parents; lines to the right lead to children. Rails that only cross a row are
drawn through; rails of the row are joined. The critical path, which takes longest, is drawn heavy.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

from console.text import formatting
from console.text.spans import Spans
from queries.records.node import Phase
from queries.records.record import Record
from queries.text.safe_text import safe_text

MAX_STEPS = 500  # steps drawn
RAIL_COLUMNS = 24  # most columns for rails
BAR_CELLS = 10  # cells
# Indexed by the weights (0, 1, 2) of the arms up, down, left and right.
ARMS = " ╶╺╴─╼╸╾━╷┌┍┐┬┮┑┭┯╻┎┏┒┰┲┓┱┳╵└┕┘┴┶┙┵┷│├┝┤┼┾┥┽┿╽┟┢┧╁╆┪╅╈╹┖┗┚┸┺┛┹┻╿┞┡┦╀╄┩╃╇┃┠┣┨╂╊┫╉╋"
LIGHT, HEAVY = 1, 2


class Step(Record):
    """One step. ``seconds`` is its time since its parents ended, None if not known."""

    id: str
    name: str
    phase: Phase
    state: str = ""
    parents: tuple[str, ...] = ()
    seconds: float | None = None
    note: str = ""


class Row(Record):
    """One row of the drawing. ``step`` is None in a row that holds rails only.

    ``cells`` are the weights of arms (up, down, left, right) by column, ``links`` those of the line between a column
    and the next. ``unlinked`` are parents without room for a rail; the note names them.
    """

    step: Step | None
    cells: tuple[tuple[int, int, int, int], ...]
    links: tuple[int, ...] = ()
    at: int = 0  # the step's column
    level: int | None = None  # None in a cycle or below one
    unlinked: tuple[str, ...] = ()
    critical: bool = False


def steps(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[Step]:
    """Convert the rows of a graph section to steps. A repeated id counts once."""
    by_id: dict[str, Step] = {}
    for row in rows:
        fields = dict(zip(columns, row, strict=True))
        fields |= {
            "phase": Phase(fields["phase"] or Phase.UNKNOWN),
            "parents": tuple(fields["parents"] or ()),
            "note": fields["note"] or "",
        }
        by_id.setdefault(fields["id"], Step(**fields))
    return list(by_id.values())


def levels(parents: Mapping[str, Collection[str]]) -> dict[str, int]:
    """Return the length of the longest path to each step, or none if in a cycle."""
    waits = {key: {p for p in above if p in parents} for key, above in parents.items()}
    below: dict[str, list[str]] = {}
    for key, above in waits.items():
        for parent in above:
            below.setdefault(parent, []).append(key)
    level: dict[str, int] = {}
    free = [key for key, above in waits.items() if not above]
    while free:
        for key in free:
            level[key] = max((level[p] + 1 for p in parents[key] if p in level), default=0)
        done, free = free, []
        for key in done:
            for child in below.get(key, ()):
                waits[child].discard(key)
                if not waits[child]:
                    free.append(child)
    return level


def critical(steps: Sequence[Step], level: Mapping[str, int]) -> list[str]:
    """Return the path that took longest; of equals, the longest, then the worst phase."""
    best: dict[str, tuple[float, int, int]] = {}
    worse = {phase: rank for rank, phase in enumerate(reversed(Phase))}
    before: dict[str, str] = {}
    for step in sorted((s for s in steps if s.id in level), key=lambda s: level[s.id]):
        above = max((p for p in step.parents if p in best), key=lambda p: best[p], default=None)
        seconds, length, _ = best[above] if above is not None else (0.0, 0, 0)
        best[step.id] = (round(seconds + _seconds(step), 3), length + 1, worse[step.phase])
        if above is not None:
            before[step.id] = above
    at = max(best, key=lambda key: best[key], default=None)
    path: list[str] = []
    while at is not None:
        path.append(at)
        at = before.get(at)
    return path[::-1]


def _seconds(step: Step) -> float:
    return step.seconds if step.seconds is not None and 0 < step.seconds < math.inf else 0.0


class _Rail:
    """Line from a step to its children, or from parents to one child (``into``)."""

    def __init__(self, ends: set[str], *, into: bool) -> None:
        self.ends = ends  # children that it has not reached yet
        self.into = into
        self.heavy: str | None = None  # child that it links on the critical path

    @property
    def weight(self) -> int:
        return HEAVY if self.heavy is not None else LIGHT


def layout(steps: Sequence[Step], rails: int = RAIL_COLUMNS) -> list[Row]:
    """Lay out the rows with at most ``rails`` columns of rails."""
    level = levels({step.id: step.parents for step in steps})
    by_id = {step.id: step for step in steps}
    path = critical(steps, level)
    order = _ordered(steps, level)
    drawing = _Drawing(by_id, level, set(pairwise(path)), rails)
    rows: list[Row] = []
    for depth, group in groupby(order, key=lambda step: level[step.id]):
        if depth:
            rows.append(drawing.between())
        rows += [drawing.row(step, depth, critical=step.id in path) for step in group]
    cycle = sorted((s for s in steps if s.id not in level), key=lambda s: (s.name, s.id))
    if cycle and rows:
        rows.append(drawing.between())
    return rows + [Row(step=s, cells=((0, 0, 0, 0),), unlinked=s.parents) for s in cycle]


def _ordered(steps: Sequence[Step], level: Mapping[str, int]) -> list[Step]:
    """Sort steps by level, then by the mean position of their parents.

    This order makes few rails cross.
    """
    place: dict[str, float] = {}
    order: list[Step] = []
    drawn = sorted((s for s in steps if s.id in level), key=lambda s: (level[s.id], s.name, s.id))
    for _, group in groupby(drawn, key=lambda s: level[s.id]):
        line = list(group)
        means = {s.id: _mean([place[p] for p in s.parents if p in place]) for s in line}
        for step in sorted(line, key=lambda s: means[s.id]):
            place[step.id] = len(order)
            order.append(step)
    return order


def _mean(places: Sequence[float]) -> float:
    return sum(places) / len(places) if places else 0.0


class _Drawing:
    """State of the rails after the rows drawn so far."""

    def __init__(
        self, steps: Mapping[str, Step], level: Mapping[str, int], path: Collection[tuple[str, str]], rails: int
    ) -> None:
        self.above = {key: tuple(dict.fromkeys(step.parents)) for key, step in steps.items()}
        self.below: dict[str, list[str]] = {}
        for key in level:
            for parent in self.above[key]:
                self.below.setdefault(parent, []).append(key)
        self.path = path
        self.drawn: set[tuple[str, str]] = set()  # edges with a rail
        self.columns: list[_Rail | None] = [None] * rails

    def between(self) -> Row:
        """Return a row that continues the rails."""
        return Row(step=None, cells=tuple((r.weight, r.weight, 0, 0) if r else (0, 0, 0, 0) for r in self.columns))

    def row(self, step: Step, level: int, *, critical: bool) -> Row:
        """Return the row of a step: end its incoming rails and begin those to children."""
        columns, key = self.columns, step.id
        cells = [[r.weight if r else 0] * 2 + [0, 0] for r in columns] + [[0, 0, 0, 0]]
        joined: dict[int, int] = {}  # column -> weight of the line between it and the step
        for at, rail in enumerate(columns):
            if rail is None or key not in rail.ends:
                continue
            joined[at] = HEAVY if rail.heavy == key else LIGHT
            rail.ends.discard(key)
            rail.heavy = None if rail.heavy == key else rail.heavy
            cells[at][1] = rail.weight if rail.ends else 0
            columns[at] = rail if rail.ends else None
        left = max((at for at in joined if columns[at] is not None), default=-1)
        place = next((at for at in range(left + 1, len(columns)) if columns[at] is None), len(columns))
        self._begin(key, place, joined, cells)
        return Row(
            step=step,
            links=_line(cells, joined, place),
            cells=tuple((up, down, to_left, to_right) for up, down, to_left, to_right in cells),
            at=place,
            level=level,
            unlinked=tuple(p for p in self.above[key] if (p, key) not in self.drawn),
            critical=critical,
        )

    def _begin(self, key: str, place: int, joined: dict[int, int], cells: list[list[int]]) -> None:
        """Begin the rails of a step in column ``place``.

        The rail is the step's own, or the one into its only child.
        """
        columns, below = self.columns, self.below.get(key, [])
        if not below or place == len(columns):
            return
        path = next((child for child in below if (key, child) in self.path), None)
        weight = LIGHT if path is None else HEAVY
        at = self._shared(below[0], place, joined) if len(below) == 1 else None
        if at is None:
            columns[place] = rail = _Rail(set(below), into=False)
        else:
            rail = columns[at] or _Rail(set(below), into=True)
            cells[at][:2] = [rail.weight if columns[at] else 0, max(weight, rail.weight)]
            columns[at], joined[at] = rail, weight
        rail.heavy = path or rail.heavy
        self.drawn.update((key, child) for child in below)

    def _shared(self, child: str, place: int, joined: Mapping[int, int]) -> int | None:
        """Return the column of the rail that joins several parents to their only child.

        The column is right of ``place``.
        """
        if len(self.above[child]) < 2:
            return None
        rails = enumerate(self.columns)
        there = next((at for at, rail in rails if rail and rail.into and child in rail.ends), None)
        if there is not None:
            return there if there > place else None
        free = (at for at in range(place + 1, len(self.columns)) if self.columns[at] is None and at not in joined)
        return next(free, None)


def _line(cells: Sequence[list[int]], joined: Mapping[int, int], place: int) -> tuple[int, ...]:
    """Return the weights of the line across a row that joins rails to the step.

    Crossed rails stay whole.
    """
    links = [0] * (len(cells) - 1)
    for at, weight in joined.items():
        for gap in range(*sorted((at, place))):
            links[gap] = max(links[gap], weight)
    for at, cell in enumerate(cells):
        if at in joined or not (cell[0] or cell[1]):
            cell[2:] = [links[at - 1] if at else 0, links[at] if at < len(links) else 0]
    return tuple(links)


def draw(steps: Sequence[Step], width: int) -> list[Spans]:
    """Draw the steps in lines of ``width`` cells."""
    rows = layout(steps[:MAX_STEPS], min(RAIL_COLUMNS, max((width - 36) // 2, 3)))
    names = {step.id: step.name for step in steps}
    used = 1 + max((row.at for row in rows), default=0)
    used = max([used, *(at + 1 for row in rows for at, cell in enumerate(row.cells) if any(cell))])
    beside = _StepText(steps[:MAX_STEPS], width - 5 - 2 * used)
    lines: list[Spans] = []
    depth: int | None = -1
    for number, row in enumerate(rows):
        unlinked = [safe_text(names.get(p, p)) for p in row.unlinked]
        rails = [(f"{'' if row.level == depth or row.step is None else _level(row.level):>2} ", "$faint")]
        rails += _rails(row, used)
        if row.step is None:
            lines.append(rails)
            continue
        depth = row.level
        same, below = beside.texts(row.step, unlinked, critical=row.critical)
        lines.append([*rails, *same])
        if below:
            after = rows[number + 1].cells if number + 1 < len(rows) else ()
            lines.append([("   ", ""), *_rails(_between(row, after), used), *below])
    if len(steps) > MAX_STEPS:
        lines.append([(f"   and {len(steps) - MAX_STEPS} more steps", "$faint")])
    return lines


def _level(level: int | None) -> str:
    return "?" if level is None else str(level)


def _between(row: Row, after: Sequence[tuple[int, int, int, int]]) -> Row:
    """Return the rails below a row.

    The rail of its step shows only if the cells ``after`` continue it.
    """
    down = [cell[1] for cell in row.cells]
    down[row.at if row.level is not None else 0] = after[row.at][0] if row.at < len(after) else 0
    return Row(step=None, cells=tuple((weight, weight, 0, 0) for weight in down))


def _rails(row: Row, used: int) -> Spans:
    spans: Spans = []
    for at in range(used):
        cell = row.cells[at] if at < len(row.cells) else (0, 0, 0, 0)
        if row.step is not None and at == row.at:
            spans.append((formatting.GLYPHS[row.step.phase], f"bold $phase-{row.step.phase}"))
        else:
            spans.append((_arms(cell), "bold" if HEAVY in cell else "$faint"))
        link = row.links[at] if at < len(row.links) else 0
        spans.append((_arms((0, 0, link, link)), "bold" if link == HEAVY else "$faint"))
    return spans


def _arms(cell: tuple[int, int, int, int]) -> str:
    up, down, left, right = cell
    return ARMS[27 * up + 9 * down + 3 * left + right]


class _StepText:
    """Column widths of the text beside the rails."""

    def __init__(self, steps: Sequence[Step], room: int) -> None:
        self.longest = max(map(_seconds, steps), default=0.0)
        self.state = min(max((formatting.width(s.state) for s in steps), default=0), 20 if room >= 60 else 12)
        self.bar = BAR_CELLS if room >= 70 else 0
        fixed = self.state + 6 + (self.bar + 2 if self.bar else 0) + 4
        widest = max((formatting.width(safe_text(s.name)) for s in steps), default=0)
        self.name = min(widest, max(room - fixed, 8))
        self.note = room - fixed - self.name - 2
        self.room = room

    def texts(self, step: Step, unlinked: Sequence[str], *, critical: bool) -> tuple[Spans, Spans]:
        """Return the text beside the rails and the note that only fits on the next line."""
        ink = f"$phase-{step.phase}"
        seconds = formatting.duration(step.seconds)
        spans = [
            (formatting.fit(safe_text(step.name), self.name), "bold" if critical else ""),
            ("  ", ""),
            (formatting.fit(safe_text(step.state), self.state), ink),
            ("  ", ""),
            (formatting.fit(seconds, 6, "right"), "$faint"),
        ]
        if self.bar:
            length = formatting.bar(_seconds(step), self.longest or None, self.bar) if _seconds(step) else ""
            spans += [("  ", ""), (formatting.fit(length, self.bar), "bold" if critical else ink)]
        note = safe_text(step.note)
        note += f"{'; ' if note else ''}also after {', '.join(unlinked)}" if unlinked else ""
        if not note:
            return spans, []
        if self.note >= 16 or self.note >= formatting.width(note):
            return [*spans, ("  ", ""), (formatting.crop(note, self.note), "$faint")], []
        return spans, [(formatting.crop(note, max(self.room, 8)), "$faint")]


def summary(steps: Sequence[Step]) -> str:
    """Return the size of the graph and the length of its critical path."""
    level = levels({step.id: step.parents for step in steps})
    by_id = {step.id: step for step in steps}
    path = [by_id[key] for key in critical(steps, level)]
    took = formatting.duration(sum(map(_seconds, path)))
    return (
        f"{len(steps)} steps on {1 + max(level.values(), default=0)} levels; heavy: the critical path, {took}"
        if path
        else f"{len(steps)} steps"
    )
