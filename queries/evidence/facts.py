"""Facts before guesses: a row that proves something refutes a guess."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

import msgspec

from queries.contract.server_spec import LABEL, server_spec
from queries.read.findings import finding_of
from queries.read.incidents import REFUSED, values_of
from queries.records.finding import Finding
from queries.records.snapshot import Part
from queries.text.duration import spelled
from queries.workspace import Workspace

MINOR = 3  # severity of what is no problem
NOTHING_ENDS = "nothing_ends"
CLOCK = "clock_behind"
TAKEN_EARLY = "taken_early"  # in the evidence: seconds by which an owner took a node before that was created
CLOCK_SECONDS = 30.0  # by which clocks of one installation may differ


def with_clocks(parts: Sequence[Part], server: Part) -> tuple[list[Part], Part]:
    """Return the parts without dead owners whose clocks are behind.

    An owner that takes a node before it exists also dates its signs of life too early. Nothing is taken from it.
    """
    clocks: list[Finding] = []
    judged = []
    for part in parts:
        findings = sorted(part.findings.findings, key=_early)
        behind = {each.evidence.get("owner", ""): each for each in findings if _early(each) >= CLOCK_SECONDS}
        clocks += [_clock(part.label, owner, each) for owner, each in behind.items()]
        judged.append(part.with_findings([_kept(each, behind) for each in part.findings.findings]))
    return judged, server.with_findings((*server.findings.findings, *clocks))


def _early(finding: Finding) -> float:
    seconds = finding.evidence.get(TAKEN_EARLY)
    return seconds if isinstance(seconds, float | int) else 0.0


def _clock(label: str, owner: str, found: Finding) -> Finding:
    spec, by = server_spec().codes[CLOCK], spelled(found.evidence[TAKEN_EARLY])
    evidence = {**found.evidence, "label": label, "owner": owner, "by": by, "node": found.node_id}
    return finding_of(spec, f"{LABEL}/clock:{label}.{owner}", None, evidence, affects=[label])


def _kept(finding: Finding, behind: dict[str, Finding]) -> Finding:
    if finding.evidence.get("owner") not in behind or finding.action is None:
        return finding
    why = f"{finding.action} is refused: the owner works, its clock is behind"
    evidence = {**finding.evidence, REFUSED: why}
    return msgspec.structs.replace(finding, action=None, arguments={}, evidence=evidence)


def calmed(workspace: Workspace, part: Part) -> Part:
    """Return a part in which what waits behind a usual thing is as minor as that.

    A finding that its row grades down, such as a run no longer than others, is no problem; neither is its symptom.
    """
    specs = workspace.engines[part.label].findings.specs if part.label in workspace.engines else {}
    findings = list(part.findings.findings)
    usual = [each for each in findings if each.code in specs and each.severity <= MINOR < specs[each.code].severity]
    for cause in usual:
        for rule in specs[cause.code].rules:
            for place, each in enumerate(findings):
                spec = specs.get(each.code)
                if spec and rule.names(each.code, spec.symptom) and values_of(rule, each) == values_of(rule, cause):
                    findings[place] = msgspec.structs.replace(each, severity=min(each.severity, cause.severity))
    return part.with_findings(findings) if usual else part


def without_dead_holders(workspace: Workspace, parts: Iterable[Part], server: Part) -> Part:
    """Return the server's part without slots in use that dead owners hold.

    A dead owner ends nothing, and no other worker waits for its slots.
    """
    owned = {
        part.label: {each.node_id for each in part.findings.findings if specs[each.code].symptom == "dead_owner"}
        for part in parts
        if (specs := workspace.engines[part.label].findings.specs)
    }
    dead = {label: len(nodes) for label, nodes in owned.items()}
    ends = (each for each in server.findings.findings if each.code == NOTHING_ENDS)
    refuted = [f for f in ends if int(f.evidence.get("held", inf)) <= sum(dead.get(label, 0) for label in f.affects)]
    return server.with_findings(each for each in server.findings.findings if each not in refuted)
