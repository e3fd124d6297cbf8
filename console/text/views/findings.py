"""Findings: what is wrong, since when, the evidence and the suggested action."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from console.text import formatting
from console.text.severity import band, marked
from console.text.spans import Spans, link, wrap
from console.text.views.lines import stacked, wrapped
from queries.read.sentence import written
from queries.records.action import Proof
from queries.records.finding import Finding, Incident
from queries.text.safe_text import safe_text


def findings(
    problems: Iterable[Finding],
    cells: int,
    *,
    now: float,
    helps: Callable[[Finding], str],
) -> list[Spans]:
    """Return each finding with its age, sentence, evidence and suggested action.

    ``helps`` returns how to run the suggested action.
    """
    return stacked(*(finding_lines(each, cells, now=now, helps=helps, indent=2, ids=False) for each in problems))


def finding_lines(
    finding: Finding, cells: int, *, now: float, helps: Callable[[Finding], str], indent: int, ids: bool
) -> list[Spans]:
    """Return one finding as `findings` does. ``ids`` adds the id of the node."""
    since = "" if finding.since is not None else "start not recorded"
    name = (f"  {safe_text(finding.node_id)}" if ids else "", "")
    lines = [
        [(" " * indent, ""), *headline(finding, now, since=since), name],
        *reason(finding, cells, indent + 2),
    ]
    lines += [suggestion(helps(finding), indent + 2)] if finding.action is not None else []
    said = "; ".join(f"{name}: {text}" for name, text in finding.asked.items())
    return lines + (wrapped(f"possible actions: {said}", cells, "$faint", indent + 2) if said else [])


def headline(of: Finding | Incident, now: float, *, number: str = "", since: str = "") -> Spans:
    """Return the title of a problem, its age and its severity.

    ``number``: of the nodes that have it. ``since``: what is said if its age is not known.
    """
    bound = "≥" if isinstance(of, Incident) and of.capped else ""
    age = f"for {bound}{formatting.age(now - of.since)}" if of.since is not None else since
    return [
        (safe_text(of.title), f"bold {band(of.severity).ink}"),
        (f"  {number}" if number else "", "bold"),
        (f"  {age}" if age else "", ""),
        ("  ", ""),
        *marked(of.severity),
        ("  behaviour inferred" if of.proof is Proof.ASSUMED else "", "italic $faint"),
    ]


def suggestion(command: str, indent: int) -> Spans:
    """Return the suggested action, as the command or the key that runs it."""
    return [(" " * indent, ""), ("suggested action: ", "$faint"), (safe_text(command), "bold $accent")]


def reason(finding: Finding, cells: int, indent: int = 0) -> list[Spans]:
    """Return the sentence and the evidence of a finding."""
    return wrapped(finding.sentence, cells, "", indent) + evidence(finding, cells, indent)


def evidence(finding: Finding, cells: int, indent: int = 0) -> list[Spans]:
    """Return the evidence of a finding."""
    line: Spans = []
    for key, value in finding.evidence.items():
        blank = "  " if line else ""
        shown = "–" if value is None else written(f"{value}")
        line += [(safe_text(f"{blank}{key}="), "$faint"), (safe_text(shown), link(value, "$faint"))]
    return [[(" " * indent, ""), *part] for part in wrap(line, max(cells - indent, 8)) if line]
