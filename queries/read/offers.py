"""Suggested actions of findings, without those that refuse their nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from queries.contract.spec import Action, FindingSpec
from queries.contract.variant import EngineVariant
from queries.db.errors import DatabaseError
from queries.db.query import Query
from queries.db.transaction import Reads
from queries.files.statement import Statement
from queries.read.incidents import REFUSED, Cause, cause_of
from queries.read.nodes import NodeIds
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
        ``instead`` is suggested, if that does not refuse them.
        """
        refused = await self._refused(transaction, findings)
        if not refused:
            return findings
        others = [self._instead(f, refused[cause]) if (cause := self._cause(f)) in refused else f for f in findings]
        again = await self._refused(transaction, [f for f in others if self._cause(f) in refused])
        return tuple(_unsuggested(f) if self._cause(f) in again else f for f in others)

    async def _refused(self, transaction: Reads, candidates: Iterable[Finding]) -> dict[Cause, str]:
        """Return the causes whose action refuses all nodes asked about, with a reason.

        Nothing is asked if an action calls a function, or if the operator decides on its arguments. Flags count as set.
        A refusal that holds for now only is none.
        """
        by_cause: dict[Cause, list[Finding]] = {}
        for finding in candidates:
            if finding.action and OPEN not in finding.arguments.values():
                by_cause.setdefault(self._cause(finding), []).append(finding)
        questions: dict[tuple[str, str], list[str]] = {}
        of_cause: dict[Cause, tuple[tuple[str, str], list[str]]] = {}
        for cause, findings in by_cause.items():
            first = findings[0]
            action = self._variant.engine.action(first.action or "", split_id(first.node_id)[1])
            if action is None or not self._askable(action):
                continue
            flags = {a.name: True for a in action.arguments if a.type == "flag"}
            refusal = action.script, msgspec.json.encode({**first.arguments, **flags}).decode()
            ids = [self._ids.local(f.node_id) for f in findings[:REFUSALS_ASKED] if f.arguments == first.arguments]
            questions.setdefault(refusal, []).extend(ids)
            of_cause[cause] = refusal, ids
        queries: list[tuple[tuple[str, str], Query]] = []
        for (script, args), ids in questions.items():
            values = self._variant.parameters(ids=list(dict.fromkeys(ids)), args=args)
            parts = (part for part in self._refusals(script) if part.needs <= self._variant.detected.met_needs)
            queries += [((script, args), Query(part, values)) for part in parts]
        whys: dict[tuple[str, str], dict[str, str]] = {}
        failed = set()
        answers = await transaction.each([query for _, query in queries])
        for (refusal, _), rows in zip(queries, answers, strict=True):
            if isinstance(rows, DatabaseError):
                failed.add(refusal)
            else:
                refusals = {row["id"]: row["why"] for row in rows if not row.get("for_now")}
                whys.setdefault(refusal, {}).update(refusals)
        return {
            cause: whys[refusal][ids[0]]
            for cause, (refusal, ids) in of_cause.items()
            if refusal in whys and refusal not in failed and all(i in whys[refusal] for i in ids)
        }

    def _askable(self, action: Action) -> bool:
        parts = self._refusals(action.script)
        read_names = {"ids", "args", "met_needs", "settings"}
        return (
            action.writes
            and bool(parts)
            and all(read_names.issuperset(p.parameters) and not _CALL.search(p.text) for p in parts)
        )

    def _refusals(self, script: str) -> tuple[Statement, ...]:
        return self._variant.engine.actions.get(script, {}).get("refused", ())

    def _cause(self, finding: Finding) -> Cause:
        return cause_of(self._specs[finding.code], finding)

    def _instead(self, finding: Finding, why: str) -> Finding:
        """Return the finding with another action, and with the reason in its evidence."""
        name = self._specs[finding.code].instead
        action = self._variant.engine.action(name, split_id(finding.node_id)[1]) if name else None
        evidence = {**finding.evidence, REFUSED: f"{finding.action} is refused: {why}"}
        return msgspec.structs.replace(_unsuggested(finding), action=action.name if action else None, evidence=evidence)


def _unsuggested(finding: Finding) -> Finding:
    return msgspec.structs.replace(finding, action=None, arguments={}, guard="")
