"""Findings of an engine, of one read and of samples."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from queries.claim.answers import Worker, in_sentence, workers_for
from queries.claim.reader import NOT_RECORDED, ClaimReader
from queries.contract.rows import SHAPES, json_kinds, json_object, json_part, verify
from queries.contract.server_spec import LABEL
from queries.contract.spec import FindingSpec, Need
from queries.contract.variant import EngineVariant
from queries.db.errors import DatabaseError, readable
from queries.db.query import Query, Rows
from queries.db.reads import IN_STEP, Reads, lockstep, value_of
from queries.files.statement import Statement
from queries.read import guard_token, sentence
from queries.read.incidents import REFUSED, rank
from queries.read.nodes import NodeIds, NodeReader
from queries.read.offers import Offers, for_now
from queries.read.samples import SampleReader
from queries.records.action import Proof
from queries.records.finding import EVERY_CHECK, HIDDEN_ROWS, OPEN, Finding, Findings, SkippedFinding
from queries.records.node import Node, split_id

FINDING_NODES = 200  # nodes with each finding
NO_WORKER = 8  # severity of a late node at least, if no living worker takes its queue


def finding_of(
    spec: FindingSpec,
    node_id: str,
    since: float | None,
    evidence: dict[str, Any],
    *,
    engine: str = LABEL,
    severity: int | None = None,
    proof: Proof | None = None,
    affects: Iterable[str] = (),
    suspected: bool = False,
) -> Finding:
    """Return a finding without a suggested action.

    Severity and proof are those of the spec if not given.
    """
    return Finding(
        engine=engine,
        node_id=node_id,
        code=spec.code,
        title=spec.title,
        sentence=sentence.fill(spec.one, evidence),
        severity=spec.severity if severity is None else severity,
        proof=spec.proof if proof is None else proof,
        since=since,
        evidence=evidence,
        affects=tuple(affects),
        suspected=suspected,
    )


class FindingReader:
    """Findings of one engine. ``specs``: by code."""

    def __init__(
        self, variant: EngineVariant, ids: NodeIds, nodes: NodeReader, samples: SampleReader, claims: ClaimReader
    ) -> None:
        self._variant, self._ids, self._samples, self._claims = variant, ids, samples, claims
        self.specs = {spec.code: spec for spec in variant.engine.spec.findings}
        self._offers = Offers(variant, ids, nodes, claims, self.specs)

    async def read(
        self, ids: Iterable[str] | None = None, limit: int = FINDING_NODES, *, offer: bool | Node = True
    ) -> Findings:
        """Run the findings that need one read, for all nodes or for ``ids``.

        ``offer``: ask whether the suggested actions are refused, as `offered` does; of a node, ask all of its actions.
        """
        local = None if ids is None else [self._ids.local(i) for i in ids]
        findings: list[Finding] = []
        skipped: list[SkippedFinding] = []
        capped: list[str] = []
        specs = [spec for spec in self.specs.values() if not spec.sampled]
        async with self._variant.reading() as transaction:
            reads = [self.of(IN_STEP, spec, local, limit, skipped, capped) for spec in specs]
            asked = [self._claims.workers()] if any(spec.late for spec in specs) else []
            now, *answers = await lockstep(transaction, [IN_STEP.now(), *reads, *asked])
            workers = answers.pop() if asked else ()
            at: float = value_of(now)
            for spec, answer in zip(specs, answers, strict=True):
                if isinstance(answer, DatabaseError):
                    skipped.append(self._skipped(spec.code, answer.line, failed=True))
                else:
                    findings += answer
            if ids is None and capped:
                findings += await self._causes_beyond(transaction, findings, capped)
            there = tuple(self._with_workers(f, workers) for f in findings if self._samples.leave(f))
            if offer:
                there = await self._offers.of(transaction, there, offer if isinstance(offer, Node) else None)
        unread = self._unread(skipped)
        if not self.specs:
            skipped.append(self._skipped(EVERY_CHECK, "its folder has no findings"))
        if ids is None and self._variant.detected.policies:
            skipped.insert(0, self._skipped(HIDDEN_ROWS, self._variant.policies))
        return Findings(
            findings=tuple(sorted(there, key=rank)),
            at=at,
            skipped_findings=tuple(skipped),
            capped=tuple(capped),
            unread=unread,
        )

    async def offered(self, findings: Findings) -> Findings:
        """Return findings without suggested actions that refuse their nodes."""
        async with self._variant.reading() as transaction:
            offers = await self._offers.of(transaction, findings.findings)
        return msgspec.structs.replace(findings, findings=offers)

    async def nodes_of(self, source: Reads, spec: FindingSpec, ids: Sequence[str]) -> tuple[tuple[str, ...], str]:
        """Return which of these nodes have a finding, and why others are unknown.

        The reason is "" if all are known. Raises DatabaseError.
        """
        skipped: list[SkippedFinding] = []
        local, limit = [self._ids.local(i) for i in ids], max(len(ids), FINDING_NODES)
        findings = await self.of(source, spec, local, limit, skipped, [])
        return tuple(dict.fromkeys(each.node_id for each in findings)), "; ".join(each.why for each in skipped)

    def with_samples(self, findings: Findings) -> Findings:
        """Return findings with those that the samples show by now."""
        sampled = {code for code, spec in self.specs.items() if spec.sampled}
        read = (finding for finding in findings.findings if finding.code not in sampled)
        return msgspec.structs.replace(findings, findings=(*read, *self.sampled()))

    def sampled(self) -> tuple[Finding, ...]:
        """Return the findings that the samples so far show."""
        found = (
            (node, self._finding(spec, id_, node.since, node.evidence)) for spec, id_, node in self._samples.shown()
        )
        failed = self._samples.failed
        return tuple(msgspec.structs.replace(each, read_at=node.until if failed else None) for node, each in found)

    async def of(
        self,
        source: Reads,
        spec: FindingSpec,
        ids: Sequence[str] | None,
        limit: int,
        skipped: list[SkippedFinding],
        capped: list[str],
    ) -> list[Finding]:
        """Read one finding. Raises DatabaseError.

        Why nodes are not known is added to ``skipped``, and the code to ``capped`` if there are more.
        """
        key = f"findings/{spec.code}"
        candidates = self._variant.engine.statements[key]
        if ids is not None and not any(self.is_for(spec.code, i.partition(":")[0]) for i in ids):
            return []
        chosen = self._variant.select(key)
        if chosen is None and ids is not None:
            met = self._variant.detected.met_needs
            chosen = next((s for s in candidates if s.of_ids is not None and s.of_ids <= met), None)
        if chosen is None:
            scan = self._variant.scan_required(key)
            skipped.append(self._skipped(spec.code, scan.why, ddl=scan.ddl or None))
            return []
        values, json = self._variant.parameters(ids=ids, limit=limit + 1), json_kinds(SHAPES["findings"])
        query = Query(chosen, values, custom=ids is not None, json=json, rests=ids is None)
        (rows,) = await source.batch([query])
        if tables := chosen.absent(self._variant.detected.policies):  # known with the answer
            why = f"policies on {', '.join(tables)} may hide rows, which it would take for absent"
            skipped.append(self._skipped(spec.code, why))
            return []
        return self._findings_in(spec, chosen, rows, limit, skipped, capped)

    def is_for(self, code: str, kind: str) -> bool:
        """Return True if nodes of a kind can have a finding."""
        return any(each.is_for(kind) for each in self._variant.engine.statements[f"findings/{code}"])

    async def _causes_beyond(
        self, transaction: Reads, findings: Iterable[Finding], capped: Collection[str]
    ) -> list[Finding]:
        """Return more of the capped findings: of the nodes whose symptoms were read.

        Otherwise a cause of which a part was read would explain a part of them.
        """
        nodes: dict[str, dict[str, None]] = {}
        for finding in findings:
            nodes.setdefault(finding.code, {})[self._ids.local(finding.node_id)] = None
        reads = []
        for spec in (self.specs[code] for code in capped):
            rules = [rule for rule in spec.rules if rule.matching == ("node",)]
            symptoms = [s.code for s in self.specs.values() if any(r.names(s.code, s.symptom) for r in rules)]
            ids = [i for code in symptoms for i in nodes.get(code, ()) if i not in nodes.get(spec.code, {})]
            reads += [self.of(IN_STEP, spec, ids, len(ids), [], [])] if ids else []
        answers = await lockstep(transaction, reads)  # that not all were read is said already
        return [each for answer in answers if not isinstance(answer, DatabaseError) for each in answer]

    def _with_workers(self, finding: Finding, workers: Sequence[Worker] | DatabaseError) -> Finding:
        """Return a late node that waits for a worker with what is known of them."""
        spec = self.specs[finding.code]
        if not spec.late or finding.evidence.get("why", "") is not None:
            return finding
        known = [NOT_RECORDED] if isinstance(workers, DatabaseError) else workers
        worker = workers_for(known, finding.evidence.get(self._claims.kinds[spec.kind].noun))
        evidence = {**finding.evidence, "why": in_sentence(worker)}
        text, severity = sentence.fill(spec.one, evidence), finding.severity
        severity = max(severity, NO_WORKER) if worker.holds is False else severity
        return msgspec.structs.replace(finding, evidence=evidence, sentence=text, severity=severity)

    def _skipped(self, code: str, why: str, *, ddl: str | None = None, failed: bool = False) -> SkippedFinding:
        return SkippedFinding(engine=self._variant.label, code=code, why=why, ddl=ddl, failed=failed)

    def _unread(self, skipped: Iterable[SkippedFinding]) -> str:
        """Return why half of the findings or more could not be read, or "".

        Missing privileges are reported elsewhere.
        """
        failed = {each.code: each.why for each in skipped if each.failed}
        tried = {spec.code for spec in self.specs.values() if not spec.sampled}
        tried -= {each.code for each in skipped if not each.failed}
        if not failed or len(failed) * 2 < len(tried) or not self._variant.detected.readable:
            return ""
        return f"{len(failed)} of {len(tried)} checks failed. {next(iter(failed.values()))}"

    def _findings_in(
        self,
        spec: FindingSpec,
        chosen: Statement,
        every: Rows,
        limit: int,
        skipped: list[SkippedFinding],
        capped: list[str],
    ) -> list[Finding]:
        """Return the findings of a statement's rows.

        Raises UnreadableError.
        """
        verify(every, SHAPES["findings"], chosen.source)
        rows = [row for row in every if row["id"] is not None]
        partial = [row for row in every if row["id"] is None]
        parts = [json_part(row["evidence"]) for row in partial if row["evidence"] is not None]
        needs = self._variant.engine.spec.needs
        for part in parts:
            need = needs.get(part.unread, Need(why=part.why or f"not in {part.unread}"))
            skipped.append(self._skipped(spec.code, need.why, ddl=need.ddl or None))
        if len(rows) > limit or len(partial) > sum(bool(part.why) for part in parts):
            capped.append(spec.code)
        with readable(f"findings/{spec.code}.sql"):
            return [
                self._finding(
                    spec, self._ids.full(row["id"]), row["since"], json_object(row, "evidence", chosen.source), row
                )
                for row in rows[:limit]
            ]

    def _finding(
        self,
        spec: FindingSpec,
        node_id: str,
        since: float | None,
        evidence: dict[str, Any],
        row: Mapping[str, Any] | None = None,
    ) -> Finding:
        """Return a finding.

        Its ``row`` may set ``severity``, and ``suggest`` to false for no suggested action.
        """
        row = {} if row is None else row
        at = None if since is None else float(since)
        finding = finding_of(spec, node_id, at, evidence, engine=self._variant.label, severity=row.get("severity"))
        server = self._variant.database.server
        suggests = row.get("suggest", True) and not (server and server.may_lag)
        suggested = spec.action if spec.action and suggests else None
        action = self._variant.engine.action(suggested, split_id(node_id)[1]) if suggested else None
        if action is None:
            return finding
        if unproven := self._variant.engine.unproven:
            why = f"{action.name} is only a proposal: {unproven}"
            return msgspec.structs.replace(finding, evidence={**evidence, REFUSED: why})
        arguments = {a.name: OPEN for a in action.arguments if a.required and not a.default}
        arguments |= {k: sentence.fill_argument(text, evidence) for k, text in spec.arguments.items()}
        guard = guard_token.token(spec.constant, evidence) if spec.constant else ""
        if spec.sampled and action.waits:  # an executor takes such a node again and again
            finding = for_now(finding, "an executor may hold it")
        return msgspec.structs.replace(finding, action=action.name, arguments=arguments, guard=guard)
