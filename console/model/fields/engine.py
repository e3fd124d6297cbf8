"""Fields of an engine: its numbers, and how fast work passes through it. UI-free."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from console.model.fields.field import Context, Field, Form, RecordType
from console.text import formatting
from console.text.severity import BANDS, band, sums
from console.text.spans import Spans
from queries.evidence.throughput import seconds
from queries.read.counters import CounterHistory, Rates
from queries.read.reader import Reader
from queries.records.node import Count, Phase, Precision
from queries.records.record import Record

# Phases in the order in which work passes through them.
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
NEEDS = {Phase.FAILED: 0, Phase.RUNNING: 72, Phase.READY: 90}  # cells of the narrowest list that has their columns

MINUTES = range(9, -1, -1)  # before now, of which the work is shown
ENDED, FAILS = ("ended", "failed"), "'failed'"  # parts of a look, and what is in the query of one that tells failures


class EngineLine(Record):
    """Numbers of an engine as they are shown.

    Two differ only if they look different.
    """

    label: str
    name: str  # the label as it is shown, with the variant
    counts: tuple[Count, ...] | None = None  # None: not read yet
    stuck: tuple[int, ...] | None = None  # severity of each node with findings; None: not read yet
    more_stuck: bool = False  # there may be more of them
    oldest: str = ""  # age of the oldest finding
    flow: str = ""  # course of the work in the last minutes
    rates: Rates | None = None  # work per minute
    stale: bool = False  # the last refresh did not read everything, so values may be out of date
    policies: bool = False  # row-level security may hide rows

    @property
    def severity(self) -> int:
        """Severity of its worst node; 0 without one."""
        return max(self.stuck or (), default=0)

    @property
    def number(self) -> str:
        """Number of stuck nodes: ``47+``."""
        return "?" if self.stuck is None else f"{len(self.stuck)}{'+' * (self.more_stuck or self.stale)}"

    def count(self, phase: Phase) -> str:
        """Return the number of nodes in a phase, or "" for none."""
        shown = next((each for each in self.counts or () if each.phase is phase), None)
        return formatting.count(shown) if shown and (shown.n or shown.precision is not Precision.EXACT) else ""


def flow(reader: Reader, counters: CounterHistory, ascii: bool) -> str:
    """Return what came, ended and failed in each of the last minutes."""
    rates = [counters.rates(reader.label, reader.engine.spec.deletes, 60.0 * n) for n in MINUTES]
    looks = [some[-1] for kind, some in reader.looks.items() if some and FAILS in reader.claims.kinds[kind].signs]
    rows = [(look.at, row) for look in looks for row in look.rows if row.part in ENDED]
    ages = [(now - at, row.part == ENDED[1]) for now, row in rows if (at := seconds(row.ended)) is not None]
    oldest = max((age for age, _ in ages), default=0.0)  # what ended before was not read
    courses: dict[str, Sequence[float | None]] = {
        "in": [each.inflow if each else None for each in rates],
        "out": [each.outflow if each else None for each in rates],
        "fail": [
            sum(each and n <= age / 60 < n + 1 for age, each in ages) if n < oldest // 60 else None for n in MINUTES
        ],
    }
    shown = {name: formatting.course(numbers, ascii) for name, numbers in courses.items()}
    text = " ".join(f"{name} {said}" for name, said in shown.items() if said)
    return f"{text} /min" if text else ""


def worst_first(line: EngineLine) -> tuple[int, int, str]:
    """Return what engines are sorted by: the worst severity, then the number."""
    return -line.severity, -len(line.stuck or ()), line.label


def _stuck(line: EngineLine, context: Context) -> Spans:
    return [(line.number, f"bold {band(line.severity).ink}" if line.stuck else "$faint")]


def by_severity(line: EngineLine, ascii: bool) -> Spans:
    """Return the numbers of stuck nodes by severity, each with its sign."""
    levels = zip(sums(line.stuck or ()), BANDS, strict=True)
    return [(f"{of.plain if ascii else of.sign}{n} ", of.ink) for n, of in levels if n]


def _rate(name: str, rate: str, about: str) -> Field[EngineLine]:
    def value(line: EngineLine, _: Context) -> Any:
        return line.rates and getattr(line.rates, rate)

    def spans(line: EngineLine, _: Context) -> Spans:
        return [("–" if line.rates is None else formatting.rate(getattr(line.rates, rate)), "")]

    return Field(name, value, about=about, title=f"{name}/min", width=7, align="right", spans=spans)


def _note(line: EngineLine, context: Context) -> Spans:
    notes = ["counting…"] * (line.counts is None) + ["not read"] * line.stale + ["policies"] * line.policies
    return [(", ".join(notes), "bold $warning")]


def _count(phase: Phase) -> Field[EngineLine]:
    return Field(
        phase.value,
        lambda line, _: line.count(phase),
        about=f"nodes that are {phase.value}",
        title=phase.value,
        width=9,
        align="right",
        needs=NEEDS.get(phase, 150),
        spans=lambda line, _: [(line.count(phase), f"$phase-{phase}")],
        order=lambda line, _: -next((each.n or 0 for each in line.counts or () if each.phase is phase), 0),
    )


FIELDS: Final[tuple[Field[EngineLine], ...]] = (
    Field(
        "engine", "label", Form.BEGINNING, "its label", searched=True, title="engine", width=24,
        spans=lambda line, _: [(line.name, "bold")],
    ),
    Field(
        "stuck", lambda line, _: len(line.stuck or ()), Form.NUMBER, "nodes with a finding", title="stuck", width=7,
        align="right", spans=_stuck, order=lambda line, _: worst_first(line),
    ),
    Field(
        "severity", "severity", Form.NUMBER, "stuck nodes by severity", title="by severity", width=14, needs=100,
        spans=lambda line, context: by_severity(line, context.ascii),
    ),
    Field("oldest", "oldest", about="age of the oldest finding", title="oldest", width=7, align="right", needs=72),
    _rate("in", "inflow", "new work per minute"),
    _rate("out", "outflow", "finished work per minute"),
    *map(_count, ORDER[:7]),
    Field("flow", "flow", about="work of the last ten minutes, a bar each", title="per minute", width=44, needs=150),
    Field("note", lambda line, _: "", about="what could not be read", title="note", width=10, needs=60, spans=_note),
)  # fmt: skip
ENGINES: Final = RecordType[EngineLine]("engine", lambda line: line.label, FIELDS)
