"""Nodes and audit log entries as CSV and Markdown.

Text of the database is neither a formula for a spreadsheet nor markup in a page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from console.text import formatting, severity
from console.text.pages.audit_entry import outcome, target, who
from console.text.spans import text
from queries.records.action import Outcome
from queries.records.audit import AuditLogEntry
from queries.records.finding import Finding, Incident
from queries.records.node import Node
from queries.text.safe_text import safe_text

CSV = (
    "time",
    "role",
    "os_user",
    "host",
    "engine",
    "schema",
    "action",
    "target",
    "title",
    "outcome",
    "why",
    "reason",
    "arguments",
    "transaction",
    "entry",
)
INCIDENTS = ("severity", "engine", "incident", "nodes", "since (UTC)", "what it is")
NODES = ("engine", "node", "status", "created (UTC)", "findings", "id")
MARKDOWN = ("time", "who", "action", "target", "outcome", "reason")

_FORMULA = tuple("=+-@|%＝＋－＠\t\r")
_MARKS = re.compile(r"([\\`*_\[\]<>|~&#!])")


def csv(cells: Iterable[str]) -> str:
    """Return a line of CSV with all cells quoted."""
    return ",".join('"' + _plain(cell).replace('"', '""') + '"' for cell in cells)


def markdown(cells: Iterable[str]) -> str:
    """Return a row of a Markdown table. Text in cells has no markup."""
    return "| " + " | ".join(_MARKS.sub(r"\\\1", safe_text(cell)) for cell in cells) + " |"


def csv_rows(entry: AuditLogEntry) -> Iterator[str]:
    """Yield a line for each node of an entry."""
    given = msgspec.json.encode(entry.arguments).decode() if entry.arguments else ""
    for result in entry.results:
        node = (result.id, result.name, result.outcome.value, result.sentence)
        operator = (formatting.instant(entry.at), entry.role, entry.os_user, entry.host)
        yield csv(
            (*operator, entry.engine, entry.schema, entry.action, *node, entry.reason, given, entry.xid or "", entry.id)
        )


def markdown_head(titles: Sequence[str] = MARKDOWN) -> list[str]:
    """Return the head of the table that `markdown_row` continues."""
    return [markdown(titles), "|" + " --- |" * len(titles)]


def markdown_entries(entries: Iterable[AuditLogEntry]) -> str:
    """Return entries as a table."""
    return "\n".join((*markdown_head(), *map(markdown_row, entries)))


def markdown_nodes(nodes: Iterable[Node], findings_of: Callable[[str], Iterable[Finding]]) -> str:
    """Return nodes and their findings as a table."""
    rows = [
        markdown(
            (
                node.engine,
                node.title,
                node.status or formatting.NONE,
                formatting.instant(node.created_at) if node.created_at is not None else formatting.NONE,
                "; ".join(f"{finding.title}: {finding.sentence}" for finding in findings_of(node.id)),
                node.id,
            )
        )
        for node in nodes
    ]
    return "\n".join((*markdown_head(NODES), *rows))


def markdown_shift(incidents: Sequence[Incident], entries: Sequence[AuditLogEntry], since: float) -> str:
    """Return open incidents, the actions of a shift, and nodes that are stuck again."""
    stuck = {node_id: incident for incident in incidents for node_id in incident.node_ids}
    back = {
        result.id: (result.name, stuck[result.id], entry)
        for entry in entries
        for result in entry.results
        if result.outcome is Outcome.CHANGED and result.id in stuck
    }
    parts = [
        ("Open", INCIDENTS, [markdown(_incident_cells(incident)) for incident in incidents]),
        (f"Done since {formatting.instant(since)}", MARKDOWN, list(map(markdown_row, entries))),
        (
            "Stuck again",
            ("node", "incident", "after", "id"),
            [markdown((title, of.title, entry.action, id_)) for id_, (title, of, entry) in back.items()],
        ),
    ]
    lines: list[str] = []
    for title, titles, rows in parts:
        lines += [f"## {title}", "", *((*markdown_head(titles), *rows) if rows else ("Nothing.",)), ""]
    return "\n".join(lines)


def _incident_cells(of: Incident) -> tuple[str, ...]:
    since = formatting.NONE if of.since is None else formatting.instant(of.since)
    about = f"{of.title} - {of.about}" if of.about else of.title
    return severity.named(of.severity), of.engine, about, f"{of.n}{'+' * of.capped}", since, of.sentence


def markdown_row(entry: AuditLogEntry) -> str:
    """Return an entry as a row of a table."""
    done = text(outcome(entry))
    return markdown((formatting.instant(entry.at), who(entry), entry.action, target(entry), done, entry.reason))


def _plain(cell: str) -> str:
    """Return a cell that a spreadsheet reads as text.

    The apostrophe is the spreadsheets' own mark for text.
    """
    cell = safe_text(cell)
    return f"'{cell}" if cell.lstrip().startswith(_FORMULA) else cell
