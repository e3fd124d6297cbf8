"""Long runs and missing arrivals, by the newest rows.

Only rows of one name are compared, because kinds of work differ. A look has few rows, so of rare work nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from queries.claim.answers import NAMED, Look
from queries.contract.rows import FlowRow
from queries.contract.server_spec import LABEL, server_spec
from queries.evidence.throughput import seconds, time_of
from queries.read.findings import finding_of
from queries.read.reader import Reader
from queries.records.finding import Finding
from queries.records.snapshot import Part
from queries.text.counted import noun_of, plural
from queries.text.duration import spelled

ROWS_COMPARED = 20  # of one name at least, that show what is usual
RUN_SECONDS, RUN_TIMES = 1800.0, 10  # of a long run at least; the second in times of the longest one that has ended
SILENT_SECONDS, SILENT_TIMES = 900.0, 5  # the same of the time without a new row
DAY_SECONDS = 86400.0  # over which rows came, so that they show a night


def unusual(reader: Reader, part: Part) -> Iterator[Finding]:
    """Yield findings of the last look on nodes that have no other."""
    known, kept = {each.node_id for each in part.findings.findings}, reader.engine.spec.deletes is False
    for kind, (*_, look) in reader.looks.items():
        yield from (each for each in of_look(reader.label, kind, look, kept=kept) if each.node_id not in known)


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
        yield from _stopped(said, rows, look.at) if kept else ()


def _long_runs(said: dict[str, str], rows: Sequence[FlowRow], now: float) -> Iterator[Finding]:
    over = ((row, ended) for row in rows if row.part != "took" and (ended := seconds(row.ended)))
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


def _stopped(said: dict[str, str], rows: Sequence[FlowRow], now: float) -> Iterator[Finding]:
    came = sorted(at for row in rows if row.part == "new" and (at := seconds(row.created)))
    if len(came) < ROWS_COMPARED or came[-1] - came[0] < DAY_SECONDS:
        return
    longest = max(later - at for at, later in pairwise(came))
    if max(SILENT_SECONDS, SILENT_TIMES * longest) <= now - came[-1] <= came[-1] - came[0]:
        times = {"last": time_of(came[-1]), "first": time_of(came[0]), "longest": spelled(max(longest, 1.0))}
        yield _found("none_arrive", f"{LABEL}/arrivals:{said['label']}.{said['sort']}", came[-1], {**said, **times})


def _found(code: str, node_id: str, since: float, evidence: dict[str, str]) -> Finding:
    return finding_of(server_spec().codes[code], node_id, since, evidence, affects=[evidence["label"]])
