"""Findings: what is wrong, since when, the evidence and the suggested action."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from console.text import formatting
from console.text.pages.lines import BLANK, wrapped
from console.text.severity import band, marked
from console.text.spans import Spans, link, wrap
from queries.records.action import Proof
from queries.records.finding import Finding
from queries.text.instant import of_timestamp
from queries.text.safe_text import safe_text


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
            (safe_text(finding.title), f"bold {band(finding.severity).ink}"),
            (f"  {since}", ""),
            ("  ", ""),
            *marked(finding.severity),
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
    return wrapped(finding.sentence, cells, "", indent) + evidence(finding, cells, indent)


def evidence(finding: Finding, cells: int, indent: int = 0) -> list[Spans]:
    """Return the evidence of a finding."""
    line: Spans = []
    for key, value in finding.evidence.items():
        blank = "  " if line else ""
        shown = "–" if value is None else of_timestamp(f"{value}")
        line += [(safe_text(f"{blank}{key}="), "$faint"), (safe_text(shown), link(value, "$faint"))]
    return [[(" " * indent, ""), *part] for part in wrap(line, max(cells - indent, 8)) if line]
