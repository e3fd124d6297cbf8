"""Long runs and missing arrivals, by the newest rows.

Only rows of one name are compared, because kinds of work differ. A look has few rows, so of rare work nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from queries.claim.answers import NAMED, Look
from queries.contract.rows import FlowRow
from queries.contract.server_spec import LABEL, server_spec
from queries.evidence.throughput import came_at, seconds, time_of
from queries.read.counters import Arrivals, CounterHistory
from queries.read.findings import finding_of
from queries.read.reader import Reader
from queries.records.finding import Finding
from queries.records.snapshot import Part
from queries.text.counted import noun_of, plural
from queries.text.duration import spelled

ROWS_COMPARED = 20  # of one name at least, that show what is usual
RUN_SECONDS, RUN_TIMES = 1800.0, 10  # of a long run at least; the second in times of the longest one that has ended
SILENT_SECONDS, SILENT_TIMES = 900.0, 5  # the same of the time without a new row
NONE_ARRIVE = "none_arrive"
DAY_SECONDS = 86400.0  # over which rows came, so that they show a night


def unusual(reader: Reader, part: Part, counters: CounterHistory) -> Iterator[Finding]:
    """Yield findings of the last look on nodes that have no other, and on arrivals."""
    known, spec, label = {each.node_id for each in part.findings.findings}, reader.engine.spec, reader.label
    found = [f for k, (*_, now) in reader.looks.items() for f in of_look(label, k, now, kept=spec.deletes is False)]
    yield from (each for each in found if each.node_id not in known)
    came = counters.arrivals.get(label)
    if came and NONE_ARRIVE not in {each.code for each in found}:
        noun = next(noun_of(kind.name) for kind in spec.kinds if kind.table in spec.flow)
        said = {"label": label, "sort": "", "noun": noun}
        yield from _stopped(said, came, counters.read[-1][0], ", by the server's count of new rows")


def of_look(label: str, kind: str, look: Look, *, kept: bool) -> Iterator[Finding]:
    """Yield findings of a look.

    ``kept``: rows stay when their work has ended, so the newest ones show what came.
    """
    by_name: dict[str, list[FlowRow]] = {}
    for row in look.rows:
        if row.sort:
            by_name.setdefault(row.sort, []).append(row)
    for name, rows in by_name.items():
        said = {"label": label, "sort": name, "noun": noun_of(kind), "nouns": plural(noun_of(kind))}
        yield from _long_runs(said, rows, look.at)
        if came := sorted(at for row in rows if (at := came_at(row, kept=kept))):
            first = Arrivals(first=came[0], last=came[0])
            yield from _stopped(said, reduce(Arrivals.and_at, came[1:], first), look.at)


def _long_runs(said: dict[str, str], rows: Sequence[FlowRow], now: float) -> Iterator[Finding]:
    over = ((row, ended) for row in rows if row.part not in ("took", "came") and (ended := seconds(row.ended)))
    took = [ended - began for row, ended in over if (began := _began(row, ended))]
    most = max(took, default=0.0)
    running = [(row, taken) for row in rows if row.part.startswith("open") and (taken := seconds(row.taken))]
    running = [(row, taken) for row, taken in running if now - taken >= max(RUN_SECONDS, RUN_TIMES * most)]
    owners = sorted({row.owner or "a worker" for row, _ in running})
    held = ", ".join([*owners[:NAMED], *([f"{len(owners) - NAMED} more"] if len(owners) > NAMED else [])])
    for row, taken in running if len(took) >= ROWS_COMPARED else ():
        times = {"taken": time_of(taken), "age": spelled(now - taken), "most": spelled(max(most, 1.0))}
        evidence = {**said, **times, "of": str(len(took)), "owner": row.owner or "a worker", "held": held}
        yield _found("runs_long", f"{said['label']}/{row.id}", taken, evidence)


def _began(row: FlowRow, ended: float) -> float | None:
    """Return when a node began that has ended, or could at the earliest."""
    begins = map(seconds, [row.taken] if row.taken is not None else [row.due, row.created])
    return max((each for each in begins if each and each <= ended), default=None)


def _stopped(said: dict[str, str], came: Arrivals, now: float, by: str = "") -> Iterator[Finding]:
    silent, longest = now - came.last, spelled(max(came.longest, 1.0))
    if came.n < ROWS_COMPARED or came.last - came.first < max(DAY_SECONDS, silent):
        return
    if silent >= max(SILENT_SECONDS, SILENT_TIMES * came.longest):
        said |= {"of": f" of {said['sort']}" if said["sort"] else "", "about": "about " if by else "", "by": by}
        said |= {"last": time_of(came.last), "first": time_of(came.first), "longest": longest}
        yield _found(NONE_ARRIVE, f"{LABEL}/arrivals:{said['label']}.{said['sort']}", came.last, said)


def _found(code: str, node_id: str, since: float, evidence: dict[str, str]) -> Finding:
    return finding_of(server_spec().codes[code], node_id, since, evidence, affects=[evidence["label"]])
