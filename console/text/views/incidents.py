"""Incidents: the cause, how many nodes it concerns, and what removes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from console.text.spans import Spans
from console.text.views.findings import finding_lines, headline, suggestion
from console.text.views.lines import stacked, wrapped
from queries.records.finding import Finding, Incident, ManySchemas
from queries.text.counted import noun_of, plural
from queries.text.safe_text import safe_text

ITEMS_SHOWN = 5  # nodes or schemas of an incident that are listed


def incidents(
    causes: Iterable[Incident],
    cells: int,
    *,
    now: float,
    command: Callable[[Incident], str],
    helps: Callable[[Finding], str],
) -> list[Spans]:
    """Return each incident with its cause, its first nodes, and its symptoms.

    ``command`` returns how to act on an incident, ``helps`` on one finding.
    """

    def lines(incident: Incident) -> list[Spans]:
        if single(incident):
            return finding_lines(incident.findings[0], cells, now=now, helps=helps, indent=0, ids=True)
        return _incident(incident, cells, now, command)

    return stacked(*([*lines(incident), *explanation(incident, cells, 2)] for incident in causes))


def single(incident: Incident) -> bool:
    """Return True if the incident has one finding and no symptoms."""
    return len(incident.findings) == 1 and not incident.explained


def size(incident: Incident) -> str:
    """Return the number of nodes, such as ``12 tasks`` or ``200+ nodes``; "" for none."""
    if not incident.n:
        return ""
    kinds = {f.node_id.partition("/")[2].partition(":")[0] for f in (*incident.findings, *incident.explained)}
    kind = noun_of(kinds.pop()) if len(kinds) == 1 else "node"
    return f"{incident.n}{'+' if incident.capped else ''} {kind if incident.n == 1 else plural(kind)}"


def symptoms(incident: Incident) -> str:
    """Return what a cause brings about: ``leads to 12 × dead letter, 3 × overdue``."""
    parts = ", ".join(f"{symptom.n}{'+' * symptom.capped} × {symptom.title}" for symptom in incident.symptoms)
    number = size(incident)
    return f"leads to {parts}{f': {number} in all' if number else ''}" if parts else ""


def explanation(incident: Incident, cells: int, indent: int) -> list[Spans]:
    """Return the symptoms, and what to do outside of unstick."""
    lines = wrapped(symptoms(incident), cells, "$faint", indent) if incident.symptoms else []
    if incident.remedy and incident.action is None:
        lines += wrapped(f"To do: {incident.remedy}", cells, "bold", indent)
    return lines


def _incident(incident: Incident, cells: int, now: float, command: Callable[[Incident], str]) -> list[Spans]:
    name = (f"  {safe_text(incident.key)}", "$faint")
    lines: list[Spans] = [
        [*headline(incident, now, number=size(incident)), name],
        *wrapped(incident.sentence, cells, "", 2),
    ]
    if isinstance(incident, ManySchemas):
        lines += _schemas(incident, cells)
    elif incident.action is not None:
        lines.append(suggestion(command(incident), 2))
    nodes = incident.node_ids
    lines += [[(f"  {safe_text(node)}", "$faint")] for node in nodes[:ITEMS_SHOWN]]
    if len(nodes) > ITEMS_SHOWN:
        lines.append([(f"  and {len(nodes) - ITEMS_SHOWN}{'+' * incident.capped} more", "$faint")])
    return lines


def _schemas(incident: ManySchemas, cells: int) -> list[Spans]:
    labels = [safe_text(label) for label in incident.labels]
    more = f" and {len(labels) - ITEMS_SHOWN} more" if len(labels) > ITEMS_SHOWN else ""
    lines = wrapped(f"schemas: {', '.join(labels[:ITEMS_SHOWN])}{more}", cells, "$faint", 2)
    if incident.action is not None:
        text = f"To do: {incident.action}, in one schema at a time: unstick stuck {labels[0]}"
        lines += wrapped(text, cells, "bold", 2)
    return lines
