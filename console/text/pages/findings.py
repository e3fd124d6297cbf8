"""Findings: what is wrong, since when, the evidence and the suggested action."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from console.text import formatting
from console.text.pages.lines import BLANK, wrapped
from console.text.spans import Spans, link, wrap
from queries.model import Finding, Proof
from queries.safe_text import safe_text

SEVERITIES = ((8, "$phase-failed"), (5, "$phase-blocked"), (0, "$phase-scheduled"))


GLYPHS = (("‼", "!!"), ("!", "!"), ("·", "."))
"""Sign of each level of `SEVERITIES`, and its ASCII form."""


def levels(severities: Iterable[int]) -> tuple[int, ...]:
    """Return how many of these severities are on each level of `SEVERITIES`."""
    places = [next(n for n, (least, _) in enumerate(SEVERITIES) if severity >= least) for severity in severities]
    return tuple(places.count(place) for place in range(len(SEVERITIES)))


def severity_ink(severity: int) -> str:
    """Return the colour of a finding."""
    return next(ink for least, ink in SEVERITIES if severity >= least)


def findings(
    found: Iterable[Finding],
    cells: int,
    *,
    now: float,
    helps: Callable[[Finding], str],
    indent: int = 2,
    ids: bool = False,
) -> list[Spans]:
    """Return each finding with its age, sentence, evidence and suggested action.

    ``helps`` returns how to run the suggested action. ``ids`` adds the id of the node.
    """
    lines: list[Spans] = []
    for finding in found:
        lines += [BLANK] * bool(lines)
        lines += finding_lines(finding, cells, now=now, helps=helps, indent=indent, ids=ids)
    return lines


def finding_lines(
    finding: Finding, cells: int, *, now: float, helps: Callable[[Finding], str], indent: int, ids: bool
) -> list[Spans]:
    """Return one finding as `findings` does."""
    since = f"for {formatting.age(now - finding.since)}" if finding.since is not None else "start not recorded"
    inferred = "  behaviour inferred" if finding.proof is Proof.ASSUMED else ""
    lines: list[Spans] = [
        [
            (" " * indent, ""),
            (safe_text(finding.title), f"bold {severity_ink(finding.severity)}"),
            (f"  {since}", ""),
            (f"  severity {finding.severity}", "$faint"),
            (inferred, "italic $faint"),
            (f"  {safe_text(finding.node_id)}" if ids else "", ""),
        ],
        *reason(finding, cells, indent + 2),
    ]
    if finding.action is not None:
        label: Spans = [(" " * (indent + 2), ""), ("suggested action: ", "$faint")]
        lines.append([*label, (safe_text(helps(finding)), "bold $accent")])
    return lines


def reason(finding: Finding, cells: int, indent: int = 0) -> list[Spans]:
    """Return the sentence and the evidence of a finding."""
    lines = wrapped(finding.sentence, cells, "", indent)
    evidence: Spans = []
    for key, value in finding.evidence.items():
        blank = "  " if evidence else ""
        evidence += [(safe_text(f"{blank}{key}="), "$faint"), (safe_text(f"{value}"), link(value, "$faint"))]
    return lines + [[(" " * indent, ""), *line] for line in wrap(evidence, max(cells - indent, 8)) if evidence]
