"""Findings and incidents: what is stuck, and why."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from queries.records.action import Proof
from queries.records.record import Record
from queries.text import shell


class Support(StrEnum):
    """Support of an engine for an action."""

    NATIVE = "native"
    EMULATED = "emulated"
    EXTERNAL = "external"  # only the engine's own API can do it
    UNSUPPORTED = "unsupported"


OPEN = shell.OPEN  # value of a suggested action's argument that the operator must choose
HELPS, ENDS, TELLS = "a worker could take it then", "would end it", "the dry run tells"  # of an action that is asked
FAILS, IS_REFUSED, WAITS = "would still fail: ", "refused: ", "refused for now: "  # before the reason
EVERY_CHECK = "anything"  # code of the skipped finding if nothing of a part could be read
HIDDEN_ROWS = "hidden rows"  # code of the skipped finding if row-level security hides rows


class Finding(Record):
    """One detected problem of one node."""

    engine: str
    node_id: str
    code: str
    title: str
    sentence: str
    severity: int  # 1 (minor) .. 9 (nothing makes progress)
    proof: Proof
    since: float | None = None
    action: str | None = None  # the suggested action, if there is one
    arguments: dict[str, str] = {}  # of the suggested action, from the evidence; `OPEN`: the operator decides
    guard: str = ""  # opaque token that guards the suggested action instead of the node's version
    asked: dict[str, str] = {}  # the possible actions, by name: what asking each of them has said
    evidence: dict[str, Any] = {}
    affects: tuple[str, ...] = ()  # labels of the engines that a finding about the server concerns
    suspected: bool = False  # shown only as the cause of symptoms that nothing else explains
    read_at: float | None = None  # server time of an earlier read, if this one failed


class Symptom(Record):
    """Findings of one code that an incident explains.

    ``n`` counts their nodes; ``capped``: at least.
    """

    engine: str
    code: str
    title: str
    n: int
    capped: bool = False


class Incident(Record):
    """Findings with one cause, and the findings that this cause explains.

    ``n`` counts distinct nodes, symptoms included; ``capped``: at least. ``action`` is set if it applies to every node
    in ``node_ids`` with the same ``arguments``; it removes the cause. ``remedy`` says what to do outside of unstick.
    """

    key: str  # stable while the cause lasts
    engine: str
    code: str
    title: str
    sentence: str
    severity: int
    proof: Proof
    n: int
    capped: bool = False
    since: float | None = None  # of the oldest of `findings`: a symptom may be older than what explains it now
    action: str | None = None
    arguments: dict[str, str] = {}
    remedy: str = ""
    about: str = ""  # what distinguishes it from others with its title: an error, a message, a holder, a queue
    symptoms: tuple[Symptom, ...] = ()
    findings: tuple[Finding, ...] = ()  # of the cause, oldest first
    explained: tuple[Finding, ...] = ()  # the symptoms' findings, worst first

    @property
    def read_at(self) -> float | None:
        """Return the server time of an earlier read, if the last one failed."""
        times = [finding.read_at for finding in self.findings]
        return max((at for at in times if at is not None), default=None) if None not in times else None

    @property
    def node_ids(self) -> tuple[str, ...]:
        """Return the nodes of the cause."""
        return tuple(dict.fromkeys(finding.node_id for finding in self.findings))


class ManySchemas(Incident):
    """Incidents with one cause in several schemas.

    ``labels`` are those of the schemas, and ``engine`` is ``oban@*``.
    """

    labels: tuple[str, ...] = ()


class SkippedFinding(Record):
    """Check that was not made, and why.

    ``failed``: it was tried, and ``why`` is the server's error.
    """

    engine: str
    code: str
    why: str
    ddl: str | None = None
    failed: bool = False


class Findings(Record):
    """Findings, worst first, then oldest.

    ``capped`` lists the codes with more findings than were read. ``unread``: why
    half of the checks or more failed, or "".
    """

    findings: tuple[Finding, ...]
    at: float
    skipped_findings: tuple[SkippedFinding, ...] = ()
    capped: tuple[str, ...] = ()
    unread: str = ""


def codes_by_node(findings: Iterable[Finding]) -> dict[str, tuple[str, ...]]:
    """Return the codes of each node's findings, each once."""
    codes: dict[str, dict[str, None]] = {}
    for finding in findings:
        codes.setdefault(finding.node_id, {})[finding.code] = None
    return {node_id: tuple(of_node) for node_id, of_node in codes.items()}
