"""Suggested actions of findings, without those that refuse their nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from queries.contract.rows import WitnessRow, json_kinds
from queries.contract.spec import Action, FindingSpec
from queries.contract.variant import EngineVariant
from queries.db.errors import DatabaseError
from queries.db.query import Query
from queries.db.reads import Reads
from queries.files.statement import Statement
from queries.read.incidents import REFUSED, REFUSED_FOR_NOW, Cause, cause_of
from queries.read.nodes import NodeIds
from queries.read.sentence import in_text
from queries.records.action import Verdict
from queries.records.finding import OPEN, Finding
from queries.records.node import split_id

REFUSALS_ASKED = 20  # nodes of each cause that its suggested action is asked about

_CALL = re.compile(r'"\.\w+\(')  # of an engine's function


class Offers:
    """Suggested actions of the findings of one engine."""

    def __init__(self, variant: EngineVariant, ids: NodeIds, specs: Mapping[str, FindingSpec]) -> None:
        self._variant, self._ids, self._specs = variant, ids, specs

    async def of(self, transaction: Reads, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
        """Return the findings without suggested actions that refuse the nodes.

        Each action's own section is asked about a few nodes of each cause. If it refuses all of them, the finding's
        ``instead`` is suggested, if that does not refuse them, and if it was asked about all nodes. If it refuses some
        for now only, the finding says so.
        """
        refused, waits, whole = await self._refused(transaction, findings)
        held = [for_now(f, waits[cause]) if (cause := self._cause(f)) in waits else f for f in findings]
        if not refused:
            return tuple(held)
        others = [
            self._instead(f, refused[cause], cause in whole) if (cause := self._cause(f)) in refused else f
            for f in held
        ]
        again, *_ = await self._refused(transaction, [f for f in others if self._cause(f) in refused])
        return tuple(_unsuggested(f) if self._cause(f) in again else f for f in others)

    async def _refused(
        self, transaction: Reads, candidates: Iterable[Finding]
    ) -> tuple[dict[Cause, str], dict[Cause, str], set[Cause]]:
        """Return the causes whose action refuses all nodes asked about, with a reason.

        Then those that it refuses for now, and those of which it was asked about all nodes. An action that lacks an
        index refuses all. Nothing is asked if an action calls a function, or if the operator decides on its arguments.
        The others are those of the finding.
        """
        by_cause: dict[Cause, list[Finding]] = {}
        for finding in candidates:
            if finding.action and OPEN not in finding.arguments.values():
                by_cause.setdefault(self._cause(finding), []).append(finding)
        questions: dict[tuple[str, str], list[str]] = {}
        of_cause: dict[Cause, tuple[tuple[str, str], list[str]]] = {}
        lacking: dict[Cause, str] = {}
        for cause, findings in by_cause.items():
            first = findings[0]
            action = self._variant.engine.action(first.action or "", split_id(first.node_id)[1])
            if action is not None and (unmet := self._variant.unmet(action)):
                lacking[cause] = unmet
            if action is None or cause in lacking or not self._askable(action):
                continue
            refusal = action.script, msgspec.json.encode(first.arguments).decode()
            ids = [self._ids.local(f.node_id) for f in findings[:REFUSALS_ASKED] if f.arguments == first.arguments]
            questions.setdefault(refusal, []).extend(ids)
            of_cause[cause] = refusal, ids
        queries: list[tuple[tuple[str, str], Query]] = []
        for (script, args), ids in questions.items():
            values = self._variant.parameters(ids=list(dict.fromkeys(ids)), args=args)
            sections = (*self._refusals(script), *self._witnesses(script))
            parts = (part for part in sections if part.needs <= self._variant.detected.met_needs)
            queries += [((script, args), Query(part, values, json=json_kinds(WitnessRow))) for part in parts]
        whys: dict[tuple[str, str], dict[str, str]] = {}
        held: set[str] = set()
        failed = set()
        answers = await transaction.each([query for _, query in queries])
        for (refusal, _), rows in zip(queries, answers, strict=True):
            if isinstance(rows, DatabaseError):
                failed.add(refusal)
            else:
                reasons = whys.setdefault(refusal, {})
                for row in rows:
                    if row.get("verdict") == Verdict.ALIVE:
                        reasons.setdefault(row["id"], f"its owner may live: {row['detail']}")
                    elif "why" in row:
                        reasons[row["id"]] = row["why"]
                held.update(row["id"] for row in rows if row.get("for_now"))
        refused = {
            cause: whys[refusal][ids[0]]
            for cause, (refusal, ids) in of_cause.items()
            if refusal in whys and refusal not in failed and all(i in whys[refusal] for i in ids)
        }
        waits = {cause: why for cause, why in refused.items() if not held.isdisjoint(of_cause[cause][1])}
        whole = {cause for cause in refused if len(by_cause[cause]) == len(of_cause[cause][1])} | lacking.keys()
        return lacking | {cause: why for cause, why in refused.items() if cause not in waits}, waits, whole

    def _askable(self, action: Action) -> bool:
        parts = self._refusals(action.script)
        return action.writes and bool(parts) and all(_readable(part) and not self._scans(part) for part in parts)

    def _scans(self, part: Statement) -> bool:
        """Return True if a table beside those of the nodes has no index on their key."""
        spec, met = self._variant.engine.spec, self._variant.detected.met_needs
        own, keys = {kind.table for kind in spec.kinds}, {kind.key for kind in spec.kinds}
        missing = (need for name, need in spec.needs.items() if name not in met and need.table not in own)
        lacking = (need.table for need in missing if not keys.isdisjoint(need.columns[:1]))
        return any(re.search(rf"\b{re.escape(table)}\b", part.text) for table in lacking)

    def _refusals(self, script: str) -> tuple[Statement, ...]:
        return self._variant.engine.actions.get(script, {}).get("refused", ())

    def _witnesses(self, script: str) -> Iterable[Statement]:
        return filter(_readable, self._variant.engine.actions.get(script, {}).get("witnesses", ()))

    def _cause(self, finding: Finding) -> Cause:
        return cause_of(self._specs[finding.code], finding)

    def _instead(self, finding: Finding, why: str, whole: bool) -> Finding:
        """Return the finding with another action, and with the reason in its evidence."""
        name = self._specs[finding.code].instead if whole else ""
        action = self._variant.engine.action(name, split_id(finding.node_id)[1]) if name else None
        evidence = {**finding.evidence, REFUSED: f"{finding.action} is refused: {in_text(why)}"}
        return msgspec.structs.replace(_unsuggested(finding), action=action.name if action else None, evidence=evidence)


def _readable(part: Statement) -> bool:
    return {"ids", "args", "met_needs", "settings"}.issuperset(part.parameters) and not _CALL.search(part.text)


def for_now(finding: Finding, why: str) -> Finding:
    """Return the finding with the reason why its action has to wait."""
    return msgspec.structs.replace(finding, evidence={**finding.evidence, REFUSED_FOR_NOW: why})


def _unsuggested(finding: Finding) -> Finding:
    return msgspec.structs.replace(finding, action=None, arguments={}, guard="")
