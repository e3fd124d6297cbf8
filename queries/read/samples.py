"""Findings that need several samples, such as a task that is polled repeatedly.

The console takes samples repeatedly. For each node this module keeps since when the fields that must stay constant have
been constant, how often the other fields changed since, and the values of each sample. The engines record no such
history.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, TypeVar

import msgspec

from queries.contract.rows import json_object
from queries.contract.spec import FindingSpec
from queries.contract.variant import EngineVariant
from queries.db.errors import readable
from queries.db.reads import IN_STEP, lockstep, value_of
from queries.read.nodes import NodeIds
from queries.records.detail import Section
from queries.records.finding import Finding
from queries.records.node import split_id
from queries.records.record import Record
from queries.text.duration import spelled
from queries.text.instant import instant

SAMPLES_KEPT = 48  # samples of a node that are kept, and times of changes
TIMES_IN_SENTENCE = 3  # of the last changes; a node's detail has those that are kept
TIMEOUT = "timeout"  # sampled seconds in which a living owner increases a number
SAMPLES_MISSED = 1  # samples in a row that may lack a node: it was in transit, or past the sample's limit of rows

SampleRows = Iterable[tuple[str, Mapping[str, Any]]]


class NodeSamples(Record):
    """Samples of one node since ``since``, during which ``constant`` did not change.

    ``changes`` counts changes of the other fields; ``changed_at`` are the samples that showed the last of them. Times
    are seconds by the server's clock.
    """

    constant: tuple[Any, ...]
    since: float
    until: float
    changes: int
    changed_at: tuple[float, ...]
    seen: Mapping[str, Any]
    grown: int | None = None  # growth of the counted number, if the finding counts one
    missed: int = 0  # samples since ``until`` that lack the node

    @property
    def per_minute(self) -> float:
        """Return the growth per minute; 0 if the finding counts no number."""
        return 60 * (self.grown or 0) / max(self.until - self.since, 1e-6)

    @property
    def evidence(self) -> dict[str, Any]:
        """Evidence of the finding, with the last changes as times of day in UTC.

        ``first`` is the time of the first change.
        """
        kept = self.changed_at
        times = " ".join(clock(at) for at in kept[-TIMES_IN_SENTENCE:])
        growth = {} if self.grown is None else {"grown": self.grown, "per_minute": round(self.per_minute)}
        return {
            **self.seen,
            **growth,
            "changes": self.changes,
            "span": spelled(self.until - self.since),
            "first": clock(kept[0]) if self.changes == len(kept) > 0 else clock(self.since),
            "timeline": times if self.changes <= TIMES_IN_SENTENCE else f"… {times}",
        }


class FindingSamples:
    """Samples of all nodes for one finding.

    ``kind_field``: of a sample, by which thresholds are set; "" if they are the same for all nodes.
    """

    def __init__(self, spec: FindingSpec, kind_field: str = "") -> None:
        self.spec = spec
        self._kind_field = kind_field
        self.sample = spec.sample
        self._nodes: dict[str, NodeSamples] = {}

    def add(self, at: float, rows: SampleRows) -> None:
        """Add a sample.

        Forgets nodes that more than `SAMPLES_MISSED` samples in a row lack.
        """
        now = _missed(self._nodes)
        for node_id, seen in rows:
            constant = tuple(seen.get(field) for field in self.spec.constant)
            before = self._nodes.get(node_id)
            if before is None or before.constant != constant:
                now[node_id] = NodeSamples(constant=constant, since=at, until=at, changes=0, changed_at=(), seen=seen)
                continue
            changed = self._changed(before, at, seen)
            now[node_id] = NodeSamples(
                constant=constant,
                since=before.since,
                until=at,
                changes=before.changes + changed,
                changed_at=(*before.changed_at, at)[-SAMPLES_KEPT:] if changed else before.changed_at,
                seen=seen,
                grown=self._grown(before, seen),
            )
        self._nodes = now

    def _grown(self, before: NodeSamples, seen: Mapping[str, Any]) -> int | None:
        """Return how much the number that changes has grown. A decrease counts as 0."""
        name = next(iter(self.spec.changes), "")
        now, last = seen.get(name), before.seen.get(name)
        if not (isinstance(now, int | float) and isinstance(last, int | float)):
            return None
        return (before.grown or 0) + max(0, int(now) - int(last))

    def _changed(self, before: NodeSamples, at: float, seen: Mapping[str, Any]) -> bool:
        """Return True if the sample shows one more change.

        A step counts only if the samples are less than half its length apart: several smaller steps look the same.
        """
        if TIMEOUT not in seen:
            return any(seen.get(field) != before.seen.get(field) for field in self.spec.changes)
        (number,), least = self.spec.changes, seen[TIMEOUT]
        return bool(seen[number] - before.seen[number] >= least > 2 * (at - before.until))

    def shown(self, settings: Mapping[str, Any]) -> Iterable[tuple[str, NodeSamples]]:
        """Yield the nodes that have the finding.

        ``settings`` are thresholds, by name or by kind and name.
        """
        for node_id, node in self._nodes.items():
            lasted = node.until - node.since
            reached = {"changes": node.changes, "per_minute": node.per_minute, "seconds": lasted}
            if lasted > 0 and all(number >= self._threshold(of, node, settings) for of, number in reached.items()):
                yield node_id, node

    def is_developing(self, settings: Mapping[str, Any]) -> bool:
        """Return True if a node has changed, but not often enough for the finding."""
        return any(0 < node.changes < self._threshold("changes", node, settings) for node in self._nodes.values())

    def _threshold(self, of: str, node: NodeSamples, settings: Mapping[str, Any]) -> float:
        name = self.spec.least.get(of)  # type: ignore[call-overload]
        setting = settings.get(str(node.seen.get(self._kind_field)))
        own = setting if isinstance(setting, Mapping) else {}
        return float(own.get(name, settings[name])) if name else 0.0


class Renewal(Record):
    """Last sample of one node.

    ``step_at`` is the last sample that shows a living owner.
    """

    constant: tuple[Any, ...]
    number: float
    timeout: float
    at: float
    step_at: float | None = None
    missed: int = 0


S = TypeVar("S", NodeSamples, Renewal)


class Renewals:
    """Nodes whose samples refute or confirm a finding.

    A larger step than the sampled ``timeout`` is another owner's, and the proof ends without a step for that time.
    """

    def __init__(self, spec: FindingSpec) -> None:
        self.spec = spec
        self.sample = spec.sample
        self._nodes: dict[str, Renewal] = {}

    def add(self, at: float, rows: SampleRows) -> None:
        """Add a sample.

        Forgets nodes that more than `SAMPLES_MISSED` samples in a row lack.
        """
        now = _missed(self._nodes)
        for node_id, seen in rows:
            constant = tuple(seen.get(field) for field in self.spec.constant)
            number, timeout = float(seen[self.spec.changes[0]]), float(seen[TIMEOUT])
            before = self._nodes.get(node_id)
            step_at = None
            if before is not None and before.constant == constant:
                step = number - before.number
                step_at = at if 0 < step < timeout else before.step_at if step == 0 else None
            now[node_id] = Renewal(constant=constant, number=number, timeout=timeout, at=at, step_at=step_at)
        self._nodes = now

    def leaves(self, node_id: str) -> bool:
        """Return True if a finding of the node stays.

        A living owner refutes it, or confirms it.
        """
        node = self._nodes.get(node_id)
        lives = node is not None and node.step_at is not None and node.at - node.step_at < node.timeout
        return lives == (self.spec.renewed == "confirms")


def _missed(before: Mapping[str, S]) -> dict[str, S]:
    """Return what is known of each node, as if one more sample lacked all of them."""
    return {
        node_id: msgspec.structs.replace(each, missed=each.missed + 1)
        for node_id, each in before.items()
        if each.missed < SAMPLES_MISSED
    }


def timeline(findings: Iterable[FindingSamples], node_id: str, settings: Mapping[str, Any]) -> Section | None:
    """Return the changes behind a node's findings as a timeline section."""
    rows = []
    for finding in (each for each in findings if "changes" in each.spec.least):
        for node in (each for key, each in finding.shown(settings) if key == node_id):
            unseen = node.changes - len(node.changed_at)
            for number, (before, at) in enumerate(pairwise((node.since, *node.changed_at)), unseen + 1):
                waited = None if number == 1 + unseen else at - before
                rows.append((at, finding.spec.title, f"no. {number}", None, waited, None, None))
    if not rows:
        return None
    columns = ("at", "lane", "state", "phase", "waited", "waited_for", "note")
    rows.sort(key=lambda row: -row[0])
    return Section(name="seen", title="Seen by this console", drawn="timeline", columns=columns, rows=tuple(rows))


class SampledValues:
    """Distinct values of each node in one kind of sample."""

    def __init__(self, sample: str, title: str, kinds: tuple[str, ...]) -> None:
        self.sample, self.title, self.kinds = sample, title, kinds
        self._samples: dict[str, tuple[tuple[float, Mapping[str, Any]], ...]] = {}

    def add(self, at: float, rows: SampleRows) -> None:
        """Add a sample. Nodes that it does not contain are forgotten."""
        now = {}
        for node_id, seen in rows:
            before = self._samples.get(node_id, ())
            now[node_id] = before if before and before[-1][1] == seen else (*before, (at, seen))[-SAMPLES_KEPT:]
        self._samples = now

    def section(self, node_id: str) -> Section | None:
        """Return one node's values as a section, newest first; None without samples.

        Numbers show the difference to the sample before.
        """
        samples = self._samples.get(node_id)
        if not samples:
            return None
        columns = tuple(samples[-1][1])
        rows = []
        for (at, seen), (_, before) in zip(reversed(samples), (*reversed(samples[:-1]), (0.0, {})), strict=True):
            rows.append((clock(at), *(_cell(seen.get(c), before.get(c)) for c in columns)))
        return Section(name=self.sample, title=self.title, columns=("seen at", *columns), rows=tuple(rows))


class SampleReader:
    """Samples of one engine, for the findings and values that need several."""

    def __init__(self, variant: EngineVariant, ids: NodeIds) -> None:
        self._variant, self._ids = variant, ids
        spec, statements = variant.engine.spec, variant.engine.statements
        findings = spec.findings
        self._findings = tuple(FindingSamples(f, spec.threshold_field) for f in findings if f.sampled)
        self._renewals = {f.code: Renewals(f) for f in findings if f.renewed}
        samples = {f.sample: statements[f"samples/{f.sample}"][0] for f in findings if f.sample}
        self._values = [SampledValues(name, s.title, s.kinds) for name, s in samples.items() if s.title]
        self.failed = False  # the last sample could not be taken

    async def take(self) -> None:
        """Take one sample. Raises DatabaseError."""
        stores: tuple[FindingSamples | Renewals | SampledValues, ...]
        stores = (*self._findings, *self._renewals.values(), *self._values)
        if not stores:
            return
        self.failed = True
        names = list({samples.sample for samples in stores})
        async with self._variant.reading() as transaction:
            at, *seen = map(value_of, await lockstep(transaction, [IN_STEP.now(), *map(self._sample, names)]))
        with readable("a sample"):
            for samples in stores:
                samples.add(at, seen[names.index(samples.sample)])
        self.failed = False

    @property
    def is_developing(self) -> bool:
        """True if more samples may soon show a finding."""
        return any(each.is_developing(self._variant.engine.settings) for each in self._findings)

    def shown(self) -> Iterator[tuple[FindingSpec, str, NodeSamples]]:
        """Yield the nodes that have a finding by the samples so far."""
        for samples in self._findings:
            for node_id, node in samples.shown(self._variant.engine.settings):
                yield samples.spec, node_id, node

    def leave(self, finding: Finding) -> bool:
        """Return True if a finding of one read stays."""
        return finding.code not in self._renewals or self._renewals[finding.code].leaves(finding.node_id)

    def sections(self, node_id: str) -> list[Section | None]:
        """Return the sections of a node's detail that show its samples."""
        kind = split_id(node_id)[1]
        values = [each.section(node_id) for each in self._values if kind in each.kinds]
        return [timeline(self._findings, node_id, self._variant.engine.settings), *values]

    async def _sample(self, name: str) -> list[tuple[str, dict[str, Any]]]:
        chosen = self._variant.select(f"samples/{name}")
        rows = await self._variant.rows(IN_STEP, "samples", chosen) if chosen is not None else ()
        if chosen is None or chosen.absent(self._variant.detected.policies):  # known with the answer
            return []
        return [(self._ids.full(row["id"]), json_object(row, "seen", chosen.source)) for row in rows]


def clock(at: float) -> str:
    """Return the time of day in UTC."""
    return instant(at).partition("T")[2]


def _cell(value: Any, before: Any) -> Any:
    """Return a value as a cell; a number as the difference to the sample before."""
    if not isinstance(value, float):
        return value
    return f"+{value - before:.1f}" if isinstance(before, float) and value != before else ""
