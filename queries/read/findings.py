"""Make findings of what their spec says and of the evidence, and order them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from queries.contract.server_spec import LABEL
from queries.contract.spec import FindingSpec
from queries.read import sentence
from queries.records.action import Proof
from queries.records.finding import Finding
from queries.text.instant import unknown_last


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
        sentence=sentence.fill(spec.sentence, evidence),
        severity=spec.severity if severity is None else severity,
        proof=spec.proof if proof is None else proof,
        since=since,
        evidence=evidence,
        affects=tuple(affects),
        suspected=suspected,
    )


def rank(finding: Finding) -> tuple[int, float, str]:
    """Return the sort key of findings: worst first, then oldest."""
    return -finding.severity, unknown_last(finding.since), finding.node_id
