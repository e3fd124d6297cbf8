"""Nodes and a shift as Markdown, to hand over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from console.model.export import MARKDOWN, markdown, markdown_head, markdown_table
from console.model.fields import incident, node
from console.model.fields.field import NOTHING, Bundle, Context, Field
from console.text import formatting, spans
from queries.change.plan import UNDO
from queries.records.action import Outcome, Result
from queries.records.audit import AuditLogEntry
from queries.records.finding import Finding, Incident
from queries.records.node import Node
from queries.records.snapshot import Snapshot

INCIDENTS: Final = [incident.NAMED[name] for name in ("severity", "engine", "incident", "node", "since", "why")]
NODES: Final = [node.NAMED[name] for name in ("engine", "title", "status", "age")]
AGAIN: Final[tuple[Field[tuple[Result, Incident, AuditLogEntry]], ...]] = (
    Field("node", lambda row, _: row[0].name),
    Field("incident", lambda row, _: row[1].title),
    Field("after", lambda row, _: row[2].action),
    Field("id", lambda row, _: row[0].id),
)
"""Columns of Markdown tables."""


def nodes_table(nodes: Iterable[Node], findings_of: Callable[[str], Iterable[Finding]]) -> str:
    """Return nodes and their findings as a table."""

    def findings(node: Node, context: Context) -> str:
        return "; ".join(map(said, findings_of(node.id)))

    return "\n".join(markdown_table([*NODES, Field("findings", findings), node.NAMED["id"]], nodes))


def said(finding: Finding) -> str:
    """Return title and sentence of a finding, and since when it was not read again."""
    return f"{finding.title}{_unread(finding)}: {finding.sentence}"


def _unread(of: Finding | Incident) -> str:
    return "" if of.read_at is None else f" (not read since {formatting.instant(of.read_at)})"


def shift(now: Snapshot, entries: Sequence[AuditLogEntry], since: float) -> str:
    """Return open incidents, the actions of a shift, and nodes that are stuck again."""
    stuck = {node_id: incident for incident in now.incidents for node_id in incident.node_ids}
    changed = {
        result.id: (result, stuck[result.id], entry)
        for entry in sorted(entries, key=lambda entry: entry.at)
        for result in entry.results
        if result.outcome is Outcome.CHANGED and result.id in stuck
    }
    by_id = {entry.id: entry for entry in entries}
    undoes = {e.id: of for e in entries if e.action == UNDO.name and (of := by_id.get(str(e.arguments.get("entry"))))}
    undone = {of.id: sum(r.outcome is Outcome.CHANGED for r in e.results) for e in entries if (of := undoes.get(e.id))}

    def action(entry: AuditLogEntry, _: Context) -> str:
        of, later = undoes.get(entry.id), f" ({undone[entry.id]} undone later)" if entry.id in undone else ""
        return entry.action + (f" of {of.action} at {formatting.instant(of.at)}" if of else "") + later

    done = [Field("action", action) if field.name == "action" else field for field in MARKDOWN]
    back = {id_: row for id_, row in changed.items() if row[2].action != UNDO.name}
    parts = {
        f"Open at {formatting.instant(now.at)}": [*markdown_head(INCIDENTS), *map(_incident, now.incidents)]
        if now.incidents
        else ["Nothing." if now.is_complete else "Nothing in the parts that could be checked."],
        f"Done since {formatting.instant(since)}": markdown_table(done, entries) if entries else ["Nothing."],
        "Stuck again": markdown_table(AGAIN, back.values()) if back else ["Nothing."],
    }
    return "\n".join(line for title, lines in parts.items() for line in (f"## {title}", "", *lines, ""))


def _incident(of: Incident) -> str:
    row = Bundle(id=of.key, records=tuple(incident.incident_findings([of])), group=of)
    cells = {field.name: spans.text(field.shown_in(row, NOTHING)) for field in INCIDENTS}
    return markdown((cells | {"incident": cells["incident"] + _unread(of)}).values())
