"""Throughput: what comes and goes by queue, and what that proves or refutes.

A look reads the first unfinished nodes of a claim, its newest ones, and the signs in its history. Looks are kept for a
minute. A row that a worker moved meanwhile refutes that none works.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from math import inf, isfinite, sqrt
from typing import Any

import msgspec

from queries.claim.answers import Look, Worker
from queries.contract.rows import FlowRow
from queries.contract.server_spec import LABEL, server_spec
from queries.contract.spec import Claim
from queries.db.errors import attempted
from queries.read import sentence
from queries.read.counters import SPAN_SECONDS, Rates
from queries.read.findings import finding_of
from queries.read.reader import Reader
from queries.read.server_findings import ServerFindings
from queries.records.finding import Finding
from queries.records.record import Record
from queries.records.snapshot import Part
from queries.text.counted import noun_of, plural
from queries.text.duration import spelled
from queries.text.instant import instant

FLOW = "flow"  # evidence of a finding: which one of those below explains it
LOOK_ROWS = 200  # of each sort of nodes in a look, as in flow.sql
MOVED_SECONDS = 10.0  # within which a moved row proves that a worker works
AHEAD_SECONDS = 5.0  # by which the clock of a worker may be ahead
FLOOD_PER_MINUTE, FLOOD_FACTOR = 10.0, 1.2  # least rate of a flood, and how much more must come than goes
FLOOD_SIGMAS = 2.0  # by which that must be more than chance
OUTRANKED_BY = 10  # least number of younger nodes that come first
HELD_SECONDS = 300.0  # for which nothing ends or is taken
PUT_OFF_SECONDS, PUT_OFF_TIMES = 900.0, 20  # least age of a node that was put off, also in times of its delay

WORDS = {"took": "a worker took one", "ended": "one ended", "failed": "one failed", "left": "one left the queue"}
Times = Sequence[tuple[str | None, float | None]]  # by queue
Moved = tuple[float, str]  # when a worker moved a node, and how, as in WORDS


class Flow(Record):
    """Movements and waiting nodes of a claim, by its looks.

    ``moved``: the newest movement by queue. ``taken``: nodes that were not held a look before. ``rates``: of the whole
    engine, by the server's counters. ``kept``: the rows of work that has ended stay. ``looked``: all rows.
    """

    claim: Claim
    at: float
    moved: dict[str | None, Moved]
    taken: set[str | None]
    waiting: tuple[FlowRow, ...]
    held: tuple[FlowRow, ...]
    looked: tuple[FlowRow, ...]
    rates: Rates | None = None
    kept: bool = False

    def per_minute(self, queue: object) -> tuple[float, float, float]:
        """Return how many come and go, of a queue if recorded, and in which minutes."""
        came = [(row.queue, at) for row in self.looked if (at := came_at(row, kept=self.kept))]
        gone = [(row.queue, seconds(row.ended)) for row in self.looked if row.part in ("ended", "failed")]
        if came and gone:
            return rate(self.at, came, queue), rate(self.at, gone, queue), 1.0
        rates = self.rates
        return (0.0, 0.0, 0.0) if not rates or rates.outflow is None else (rates.inflow, rates.outflow, rates.minutes)

    def last(self, queue: object) -> Moved | None:
        """Return the newest movement in a queue; None for any."""
        begins = (name for name in self.moved if name and name.endswith("*") and str(queue).startswith(name[:-1]))
        names = self.moved if queue is None else (queue, *begins) if queue in self.moved else begins
        return max((self.moved[name] for name in names), default=None)

    def ago(self, moved: Moved | None) -> str:
        """Return a movement as a part of a sentence."""
        return f"{WORDS[moved[1]]} {spelled(max(self.at - moved[0], 0.0))} ago" if moved else ""


def rate(now: float, times: Times, queue: object, read: Times = ()) -> float:
    """Return how many times of a queue are in a minute, by all that were ``read``."""
    since = max(now - SPAN_SECONDS, min(at or 0.0 for _, at in read or times))
    return 60 * sum(queue in (None, its) and (at or 0.0) > since for its, at in times) / max(now - since, 1.0)


async def look(reader: Reader) -> None:
    """Look at how work comes and goes, and keep that for a minute.

    A look that cannot be read shows nothing.
    """
    alive = not any(spec.late for spec in reader.findings.specs.values())  # these are read with the workers
    for kind in reader.claims.kinds:
        now = await attempted(reader.claims.look(kind, alive=alive))
        if isinstance(now, Look):
            kept = [each for each in reader.looks.get(kind, ()) if 0 <= now.at - each.at <= SPAN_SECONDS]
            reader.looks[kind] = [*kept, now]


def asks_again(reader: Reader, part: Part) -> bool:
    """Return True if a second look could tell why nodes wait, or that they do not."""
    late = any(reader.findings.specs[each.code].symptom in ("late", "locked") for each in part.findings.findings)
    put_off = (row for looks in reader.looks.values() for row in looks[-1].rows if _ages(row, looks[-1].at))
    return any(len(looks) == 1 for looks in reader.looks.values()) and (late or any(put_off))


def judged(reader: Reader, part: Part, server: ServerFindings, locked: Container[str]) -> tuple[Part, list[Finding]]:
    """Return a part without findings that its throughput refutes, and new ones."""
    shown: list[Finding] = []
    specs, marks = reader.findings.specs, dict[tuple[str, str], str]()
    for kind, looks in reader.looks.items():
        flow = _flow(reader.claims.kinds[kind], looks, server, reader)
        part, refuted = _without_refuted(reader, part, flow)
        late: dict[object, list[Finding]] = {queue: [*of_queue] for queue, of_queue in refuted.items()}
        for each in part.findings.findings:
            if specs[each.code].symptom == "late" and not each.evidence.get("resource"):
                late.setdefault(each.evidence.get(flow.claim.noun), []).append(each)
        dead = any(specs[each.code].symptom == "dead_owner" for each in part.findings.findings)
        workers = () if dead else [each for each in reader.claims.known if each.alive]
        for queue, of_queue in late.items():
            takers = [each for each in workers if each.takes(None if queue is None else str(queue))]
            waiting = [each for each in of_queue if each.node_id not in locked]
            causes = _causes(reader.label, flow, queue, waiting, takers, refuted=queue in refuted)
            if waiting and (cause := next(causes, None)):
                marks |= {(each.code, each.node_id): cause.evidence[FLOW] for each in waiting}
                shown += [cause] if cause.node_id not in {each.node_id for each in shown} else []
        shown += _put_off(reader, flow, looks)
    found = [*part.findings.findings]
    for place, each in enumerate(found):
        if mark := marks.get((each.code, each.node_id)):
            found[place] = msgspec.structs.replace(each, evidence={**each.evidence, FLOW: mark})
    return part.with_findings(found), shown


def _flow(claim: Claim, looks: Sequence[Look], server: ServerFindings, reader: Reader) -> Flow:
    last = looks[-1]
    opened = [row for row in last.rows if row.part.startswith("open")]
    due = (row for row in opened if not _is_held(row) and (row.due is None or float(row.due) <= last.at))
    moved: dict[str | None, Moved] = {}
    own = server.database.load.wrote >= looks[0].read  # by an action of this console
    for queue, each in (*_signs(last), *(() if own else _differences(looks[0], last, claim))):
        moved[queue] = max(each, moved.get(queue, each))
    spec = reader.engine.spec
    counted = any(kind.name == claim.kind and kind.table in spec.flow for kind in spec.kinds)
    rates = server.counters.rates(reader.label, spec.deletes) if counted else None
    held = tuple(filter(_is_held, opened))
    before = {row.id: _is_held(row) for row in looks[-2 if len(looks) > 1 else 0].rows}
    taken = {row.id for row in held if before.get(row.id) is False}
    of_all = Flow(claim=claim, at=last.at, moved=moved, taken=taken, waiting=tuple(due), held=held, looked=last.rows)
    return msgspec.structs.replace(of_all, rates=rates, kept=spec.deletes is False)


def _is_held(row: FlowRow) -> bool:
    return row.taken is not None or row.held is True


def _signs(last: Look) -> Iterator[tuple[str | None, Moved]]:
    for row in (each for each in last.rows if each.part != "came"):
        ended = "failed" if row.failed else "took" if row.part == "took" else "ended"
        for what, at in (("took", row.taken), (ended, row.ended)):
            if at is not None and -MOVED_SECONDS <= float(at) - last.at <= AHEAD_SECONDS:
                yield row.queue, (float(at), what)


def _differences(first: Look, last: Look, claim: Claim) -> Iterator[tuple[str | None, Moved]]:
    """Yield nodes that were taken between two looks, or that left before others."""
    now = {row.id: row for row in last.rows if row.part.startswith("open")}
    full = {part for part, n in Counter(row.part for row in last.rows).items() if n >= LOOK_ROWS}
    kept = {row.part: place for place, row in enumerate(first.rows) if row.id in now}
    for place, row in enumerate(first.rows) if first is not last else ():
        after = now.get(row.id)
        if not row.part.startswith("open"):
            continue
        if after is None and (row.part not in full or not claim.rank[1] or place < kept.get(row.part, -1)):
            yield row.queue, (last.at, "ended" if _is_held(row) else "left")
        elif after and _is_held(after) and (not _is_held(row) or row.taken != after.taken):
            yield row.queue, (last.at, "took")


def _without_refuted(reader: Reader, part: Part, flow: Flow) -> tuple[Part, dict[object, list[Finding]]]:
    refuted: dict[object, list[Finding]] = {}
    findings = []
    for each in part.findings.findings:
        queue, spec = each.evidence.get(flow.claim.noun), reader.findings.specs[each.code]
        moved, groups = flow.last(queue), server_spec().groups
        if moved is None and each.code in groups["hangs"]:
            names = re.findall(r"\w+", " ".join(map(str, each.evidence.values())))
            moved = max((at for name, at in flow.moved.items() if name in names), default=None)
        if spec.symptom == "locked" and each.node_id.partition("/")[2] in flow.taken:  # so it is no long poll
            continue
        if moved and each.code in groups["none_works"]:
            refuted.setdefault(queue, []).append(each)
            continue
        by_workers = spec.late and "why" not in spec.evidence
        if moved and by_workers and each.severity > spec.severity:  # only because no worker lives
            evidence = {**each.evidence, "why": f"Workers take others: {flow.ago(moved)}"}
            text = sentence.fill(spec.one, evidence)
            each = msgspec.structs.replace(each, evidence=evidence, sentence=text, severity=spec.severity)
        findings.append(each)
    return part.with_findings(findings), refuted


def _causes(
    label: str, flow: Flow, queue: object, late: Sequence[Finding], takers: Sequence[Worker], *, refuted: bool
) -> Iterator[Finding]:
    nouns, n, moved = plural(noun_of(flow.claim.kind)), len(flow.waiting), flow.last(queue)
    incoming, outgoing, minutes = flow.per_minute(queue)
    floods = incoming >= FLOOD_PER_MINUTE and incoming > FLOOD_FACTOR * outgoing > 0
    floods = floods and (incoming - outgoing) * minutes > FLOOD_SIGMAS * sqrt((incoming + outgoing) * minutes)
    ends = [row.part for row in flow.looked if row.part in ("ended", "failed") and queue in (None, row.queue)]
    failed = f", {ends.count('failed')} of the last {len(ends)} that ended failed" if "failed" in ends else ""
    rates = f": {incoming:.0f} come and {outgoing:.0f} leave in a minute (estimated)" if incoming or outgoing else ""
    since = min((each.since for each in late if each.since is not None), default=None)
    sort, most = next(iter(Counter(row.sort for row in flow.waiting if row.sort).most_common(1)), ("", 0))
    share = round(100 * most / max(n, 1)) if n >= OUTRANKED_BY else 0
    said = {
        "label": label,
        "nouns": nouns,
        "waiting": f"At least {n}" if n >= LOOK_ROWS else str(n),
        "since": time_of(since),
        "did": flow.ago(moved or flow.last(None)),
        "rates": rates + failed,
        "share": f" Of the {n} that wait first, {share} % are {sort}." if share >= 50 else "",
        "what": f"the {nouns} of {sort}" if share >= 50 else f"these {nouns}",
    }

    def found(code: str, its: object = None, at: float | None = since, **more: object) -> Finding:
        evidence = {**said, **more, "queue": its or "", FLOW: f"{code}:{label}:{its or ''}"}
        return finding_of(server_spec().codes[code], f"{LABEL}/{evidence[FLOW]}", at, evidence, affects=[label])

    if flow.moved and (first := _outranked_by(flow, queue, late, takers)):
        yield found("outranked", queue, first=first)
    if n >= OUTRANKED_BY and moved and floods:
        yield found("more_comes_than_goes")
    held = [row for row in flow.held if queue in (None, row.queue)]
    taken = [float(row.taken) for row in held if row.taken is not None]
    still = takers and len(taken) == len(held) < LOOK_ROWS and not moved
    if still and flow.at - max(taken, default=flow.at) >= HELD_SECONDS:
        of = f" of the {flow.claim.noun} {queue}" if queue else ""
        times = {"newest": time_of(max(taken)), "oldest": time_of(min(taken))}
        yield found("nothing_ends", queue, max(taken), held=len(held), of=of, **times)
    if refuted:
        yield found("work_goes_on")


def _outranked_by(flow: Flow, queue: object, late: Sequence[Finding], takers: Sequence[Worker]) -> str:
    """Return which younger nodes workers take before the late ones of a queue, or ""."""
    nouns, (_, rank) = plural(noun_of(flow.claim.kind)), flow.claim.rank
    taking = [each.serves for each in takers if each.only and each.serves and queue in each.serves]
    earlier = [set(serves[: serves.index(str(queue))]) for serves in taking]
    busy = {row.queue for row in flow.waiting if flow.last(row.queue or "")}.intersection(*earlier) if earlier else ()
    if busy:
        return f"{nouns} of the {flow.claim.noun} {', '.join(sorted(map(str, busy)))} before those of {queue}"
    ids = {id_ for each in late if (id_ := each.node_id.partition("/")[2]).startswith(f"{flow.claim.kind}:")}
    since = min(each.since or 0.0 for each in late)
    first = next((place for place, row in enumerate(flow.waiting) if row.id in ids), None)
    taken = (row for row in flow.waiting[:first] if flow.last(row.queue))  # what no worker takes is in no way
    ahead = [row for row in taken if row.due is not None and float(row.due) > since]
    own = "others" if first is None else f"those with {flow.waiting[first].first}"
    ranks = Counter(
        row.first for row in ahead if re.fullmatch(r"-?\d+", row.first or "") and row.first not in own.split()
    )
    if not rank or not ids or sum(ranks.values()) < OUTRANKED_BY:
        return ""
    return f"{nouns} with a {rank} of {ranks.most_common(1)[0][0]} before {own}"


def _ages(row: FlowRow, at: float) -> bool:
    """Return True if a node that waits for its time is old, compared with that wait."""
    if row.revised is None or row.due is None or row.created is None or _is_held(row) or row.part == "new":
        return False
    delay = float(row.due) - at
    return inf > delay > 0 and at - float(row.created) >= max(PUT_OFF_SECONDS, PUT_OFF_TIMES * delay)


def _put_off(reader: Reader, flow: Flow, looks: Sequence[Look]) -> Iterator[Finding]:
    before = {row.id: float(row.due) for row in looks[0].rows if row.due is not None}
    for row in (each for each in looks[-1].rows if _ages(each, flow.at)):
        due, created = float(row.due or 0), float(row.created or 0)
        often = row.revised and (flow.at - created) / row.revised < due - flow.at
        if often or flow.at < before.get(row.id, 0) < due:
            times = f"{row.revised} times" if row.revised else "again and again"
            said = {"label": reader.label, "noun": noun_of(flow.claim.kind), "sort": row.sort or "", "times": times}
            said |= {"created": time_of(created), "delay": spelled(due - flow.at)}
            spec, node_id = server_spec().codes["put_off"], reader.ids.full(str(row.id))
            yield finding_of(spec, node_id, created, said, affects=[reader.label])


def came_at(row: FlowRow, *, kept: bool) -> float | None:
    """Return when work came, if a row shows it. ``kept``: new rows show all of it."""
    return seconds(row.ended) if row.part == "came" else seconds(row.created) if kept and row.part == "new" else None


def seconds(at: Any) -> float | None:
    """Return a time of a row, None if it has none or is infinite."""
    return float(at) if at is not None and isfinite(float(at)) else None


def time_of(at: float | None) -> str:
    """Return a time as in the evidence of findings."""
    return "an unknown time" if at is None or not isfinite(at) else instant(at)
