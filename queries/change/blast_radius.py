"""Blast radius of an action, measured in its dry run.

The engine's own statements read nodes and findings before and after the change, in the same transaction. Only the
changed nodes and related ones are read. Other sessions may change them in between, so each difference is compared with
a third read after the rollback. It counts only if the node is then as it was before.

A ready or running node with a finding that ``stalls`` counts as blocked: the engine does not take it. Findings of
related nodes also begin and end because their job did, so only changed nodes become ready by the end of such a finding.
"""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Iterator, Sequence, Set

import msgspec

from queries.db.errors import DatabaseError, attempting
from queries.db.query import Query, RowsOrError
from queries.db.reads import IN_STEP, Apart, Reads, lockstep
from queries.db.transaction import Transaction
from queries.read.nodes import RELATIONS
from queries.read.reader import Reader
from queries.records.action import BlastRadius, Reach
from queries.records.node import Node, Phase, Precision, split_id
from queries.records.record import Record

NODES_MEASURED = 100  # changed nodes that are measured; the others change in the same way
RELATED_NODES_MEASURED = 100  # related nodes of each relation
MEASURE_SECONDS = 0.5  # for each of the two reads while rows are locked
STATEMENT_SECONDS = 0.2  # for each statement of them
ASKED_AT_ONCE = 20  # statements that are run together, before the time is looked at
LATE = "measuring it would have held row locks for too long"
MEANWHILE = "other sessions changed nodes at the same time, which are not counted"
PHASES = tuple(Phase)
ENDED = (Phase.FAILED, Phase.DONE, Phase.CANCELLED)

NodeState = tuple[Phase | None, frozenset[str]]  # phase and findings of a node


class NodeStates(Record):
    """Nodes and their findings at one moment.

    ``findings``: nodes by code. ``unread``: by code, why a finding was not read; "" is for the nodes.
    """

    nodes: dict[str, Node] = {}
    findings: dict[str, frozenset[str]] = {}
    unread: dict[str, str] = {}

    def of(self, node_id: str, codes: Iterable[str]) -> NodeState:
        """Return the phase of a node, and which of the findings it has."""
        return self.phase(node_id), frozenset(c for c in codes if node_id in self.findings[c])

    def phase(self, node_id: str | None) -> Phase | None:
        """Return the phase of a node, or None if it does not exist."""
        return None if node_id not in self.nodes else self.nodes[node_id].phase


class Measured(Record):
    """One dry run, before and after the change.

    ``late``: nodes that are related only since the change. ``related``: nodes by relation, each with a note.
    ``unknown``: by relation, why not all are known. ``acted``: the changed nodes.
    """

    acted: tuple[str, ...]
    ids: tuple[str, ...]
    late: frozenset[str]
    before: NodeStates
    after: NodeStates
    related: dict[str, dict[str, str]]
    unknown: dict[str, str]
    seconds: float

    @property
    def codes(self) -> list[str]:
        """Findings that were read at both times."""
        return sorted(self.before.findings.keys() & self.after.findings.keys())

    def differing(self) -> list[str]:
        """Return the nodes to read again after the rollback."""
        before, after, codes = self.before, self.after, self.codes
        return [i for i in self.ids if i in self.late or before.of(i, codes) != after.of(i, codes)]


class Measurement:
    """Reads before and after the change of one transaction.

    A failure costs one of them.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._acted: tuple[str, ...] = ()
        self._related: dict[str, dict[str, str]] = {}
        self._unknown: dict[str, str] = {}
        self._ids_before: tuple[str, ...] = ()
        self._before = NodeStates()
        self._seconds = 0.0

    async def before(self, transaction: Transaction, acted: Sequence[str]) -> None:
        """Read the locked nodes that will change, and those related to them."""
        began, self._acted = time.monotonic(), tuple(acted)
        self._before, self._ids_before = await self._read(transaction)
        self._seconds += time.monotonic() - began

    async def after(self, transaction: Transaction) -> Measured:
        """Read them after the change, and nodes that are related since."""
        began = time.monotonic()
        after, ids = await self._read(transaction)
        return Measured(
            acted=self._acted,
            ids=ids,
            late=frozenset(ids) - frozenset(self._ids_before),
            before=self._before,
            after=after,
            related=self._related,
            unknown=self._unknown,
            seconds=self._seconds + time.monotonic() - began,
        )

    async def _read(self, transaction: Transaction) -> tuple[NodeStates, tuple[str, ...]]:
        """Read the related nodes, and the state of all.

        The nodes of the read before are read together with them.
        """
        ids = self._ids_before
        reads = [self._relate(), *([_state(IN_STEP, self._reader, ids)] if ids else [])]
        failed, *states = await lockstep(_Brief(transaction), reads)
        if isinstance(failed, DatabaseError):
            self._unknown |= dict.fromkeys(RELATIONS, failed.line)
        related = (i for nodes in self._related.values() for i in nodes)
        now = tuple(dict.fromkeys([*self._acted[:NODES_MEASURED], *related]))
        state = states[0] if now == ids else await _state(_Brief(transaction), self._reader, now)
        return state, now

    async def _relate(self) -> None:
        acted = self._acted[:NODES_MEASURED]
        for row in await self._reader.nodes.related_of(IN_STEP, acted, RELATED_NODES_MEASURED + 1):
            if row["id"] is None:
                self._unknown[row["relation"]] = row["note"]
            else:
                self._related.setdefault(row["relation"], {})[row["id"]] = row["note"]


class _Brief(Apart):
    """Source that asks some statements together, until it is too late for more."""

    def __init__(self, source: Reads) -> None:
        super().__init__(source)
        self._until = time.monotonic() + MEASURE_SECONDS

    async def each(self, queries: Sequence[Query]) -> list[RowsOrError]:
        queries = [msgspec.structs.replace(query, seconds=STATEMENT_SECONDS) for query in queries]
        answers: list[RowsOrError] = []
        while rest := queries[len(answers) :]:
            late = answers and time.monotonic() > self._until
            answers += [DatabaseError(LATE)] * len(rest) if late else await super().each(rest[:ASKED_AT_ONCE])
        return answers


async def _state(source: Reads, reader: Reader, ids: Sequence[str]) -> NodeStates:
    """Read the phases and findings of nodes."""
    codes = [spec.code for spec in reader.engine.spec.findings if not spec.sampled]
    reads = [reader.findings.nodes_of(IN_STEP, reader.findings.specs[code], ids) for code in codes]
    nodes, *findings = await lockstep(source, [reader.nodes.existing(IN_STEP, ids), *reads])
    state = NodeStates()
    if isinstance(nodes, DatabaseError):
        state.unread[""] = nodes.line
    else:
        state.nodes.update((node.id, node) for node in nodes)
    for code, answer in zip(codes, findings, strict=True):
        if why := answer.line if isinstance(answer, DatabaseError) else answer[1]:
            state.unread[code] = why
        else:
            state.findings[code] = frozenset(answer[0])
    return state


async def settled(reader: Reader, measured: Sequence[Measured]) -> BlastRadius | None:
    """Read what differs once more, after the rollback, and return the blast radius.

    None if nothing was measured. Raises an error of NO_CONNECTION only.
    """
    if not measured:
        return None
    ids = [i for each in measured for i in each.differing()]
    now = None if ids else NodeStates()
    if ids:
        with attempting():
            async with reader.database.reading(STATEMENT_SECONDS) as transaction:
                now = await _state(_Brief(transaction), reader, ids)
    spec = reader.engine.spec
    stalling = {finding.code for finding in spec.findings if finding.symptom == "stalled"}
    holders = "".join(each.holder for claim in spec.claim for each in claim.conditions)
    gating = {kind.name for kind in spec.kinds if f"'{kind.name}:'" in holders}
    differences = _Differences(now, gating, stalling)
    for each in measured:
        differences.add(each)
    reached = (*differences.lines(), *_relations(measured))
    nodes = {i: node for each in measured for i, node in (each.before.nodes | each.after.nodes).items()}
    titles = {i: nodes[i].title for reach in reached for i in reach.ids if i in nodes}
    return BlastRadius(reached=reached, seconds=sum(each.seconds for each in measured), titles=titles)


class _Differences:
    """Nodes by difference.

    ``now`` is the state after the rollback, None if it could not be read. ``gating``: kinds of jobs whose own phase
    decides if the engine takes their ready nodes. ``stalling``: findings of nodes that the engine does not take.
    """

    def __init__(self, now: NodeStates | None, gating: Container[str], stalling: Set[str]) -> None:
        self._now = now
        self._gating = gating
        self._stalling = stalling
        self._nodes: dict[tuple[str, str], list[str]] = {}
        self._notes: dict[str, None] = {}
        self._unread: dict[str, str] = {}

    def add(self, measured: Measured) -> None:
        """Add the differences of one transaction."""
        now = self._now or measured.before
        every = measured.codes
        codes = [code for code in every if code in now.findings]
        self._unread |= measured.before.unread | measured.after.unread
        if len(measured.acted) > NODES_MEASURED:
            self._notes[f"only {NODES_MEASURED} of {len(measured.acted)} changed nodes were measured"] = None
        if any(len(nodes) > RELATED_NODES_MEASURED for nodes in measured.related.values()):
            self._notes[f"at most {RELATED_NODES_MEASURED} related nodes were measured"] = None
        acted, differing = set(measured.acted), measured.differing()
        jobs = {node_id: node.job_id for node_id, node in measured.after.nodes.items()}
        gating = {j for j in jobs.values() if j is not None and split_id(j)[1] in self._gating}
        for node_id, job in jobs.items():
            states = measured.before.of(node_id, every), measured.after.of(node_id, every)
            ready = self._phases(*states, acted=node_id in acted) == (Phase.READY, Phase.READY)
            if ready and job in gating.intersection(differing):
                self._nodes.setdefault(("follows", ""), []).append(node_id)
        for node_id in differing:
            was, after = now.of(node_id, codes), measured.after.of(node_id, codes)
            if node_id not in measured.late and was != measured.before.of(node_id, codes):
                self._notes[MEANWHILE] = None
                continue
            if (job := jobs.get(node_id)) in gating:
                was, after = _gated(was, measured.before.phase(job)), _gated(after, measured.after.phase(job))
            self._compare(node_id, was, after, acted=node_id in acted)

    def _phases(self, was: NodeState, now: NodeState, *, acted: bool) -> tuple[Phase | None, Phase | None]:
        """Return the phases before and after, blocked if a finding stalls the node."""
        both = frozenset() if acted else was[1] | now[1]
        stalled = [not self._stalling.isdisjoint(findings | both) for _, findings in (was, now)]
        active = (Phase.READY, Phase.RUNNING)
        before, after = (
            Phase.BLOCKED if s and p in active else p for s, (p, _) in zip(stalled, (was, now), strict=True)
        )
        return before, after

    def _compare(self, node_id: str, was: NodeState, now: NodeState, *, acted: bool) -> None:
        before, after = self._phases(was, now, acted=acted)
        if before != after and "" not in self._unread:
            code = "appears" if before is None else "disappears" if after is None else "becomes"
            self._nodes.setdefault((code, after.value if after else ""), []).append(node_id)
        for code, finding in (*(("begins", c) for c in now[1] - was[1]), *(("ends", c) for c in was[1] - now[1])):
            self._nodes.setdefault((code, finding), []).append(node_id)

    def lines(self) -> Iterator[Reach]:
        """Yield the differences, those of phases first, and what was not read."""
        precision, note = (Precision.CAPPED, "; ".join(self._notes)) if self._notes else (Precision.EXACT, "")
        for (code, what), ids in sorted(self._nodes.items(), key=_order):
            yield Reach(code=code, what=what, n=len(ids), precision=precision, ids=tuple(ids), note=note)
        if "" in self._unread:
            yield Reach(code="becomes", precision=Precision.UNKNOWN, note=self._unread[""])
        whys: dict[str, list[str]] = {}
        for code, why in self._unread.items():
            whys.setdefault(why, []).extend([code] if code else [])
        for why, codes in whys.items():
            for code in sorted(codes):
                yield Reach(code="begins", what=code, precision=Precision.UNKNOWN, note=why)


def _gated(seen: NodeState, job: Phase | None) -> NodeState:
    """Return the phase of a node, blocked if it is ready and its job has ended."""
    return (Phase.BLOCKED, seen[1]) if seen[0] is Phase.READY and job in ENDED else seen


def _order(item: tuple[tuple[str, str], object]) -> tuple[int, int, str]:
    code, what = item[0]
    phase = PHASES.index(Phase(what)) if what in PHASES else 0
    return ("becomes", "appears", "disappears", "follows", "begins", "ends").index(code), phase, what


def _relations(measured: Iterable[Measured]) -> Iterator[Reach]:
    related: dict[str, dict[str, str]] = {}
    unknown: dict[str, str] = {}
    for each in measured:
        unknown |= each.unknown
        for relation, nodes in each.related.items():
            related.setdefault(relation, {}).update(nodes)
    for relation in RELATIONS:
        nodes = related.get(relation, {})
        shown = tuple(nodes)[:RELATED_NODES_MEASURED]
        notes = [*dict.fromkeys(filter(None, nodes.values())), *filter(None, [unknown.get(relation)])]
        if nodes:
            capped = len(nodes) > RELATED_NODES_MEASURED or relation in unknown
            precision = Precision.CAPPED if capped else Precision.EXACT
            yield Reach(code=relation, n=len(shown), precision=precision, ids=shown, note="; ".join(notes))
        elif relation in unknown:
            yield Reach(code=relation, precision=Precision.UNKNOWN, note=unknown[relation])
