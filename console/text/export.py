"""Nodes and audit log entries as CSV and Markdown.

Text of the database is neither a formula for a spreadsheet nor markup in a page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from console.text import formatting, severity
from console.text.pages.audit_entry import outcome, target, who
from console.text.spans import text
from queries.records.action import Outcome, Result
from queries.records.audit import AuditLogEntry
from queries.records.finding import Finding, Incident
from queries.records.node import Node
from queries.text.safe_text import safe_text

T = TypeVar("T")
Columns = Mapping[str, Callable[[T], str]]
"""Headings of a table, each with the text of a record."""

CSV: Columns[tuple[AuditLogEntry, Result]] = {
    "time": lambda row: formatting.instant(row[0].at),
    "role": lambda row: row[0].role,
    "os_user": lambda row: row[0].os_user,
    "host": lambda row: row[0].host,
    "engine": lambda row: row[0].engine,
    "schema": lambda row: row[0].schema,
    "action": lambda row: row[0].action,
    "target": lambda row: row[1].id,
    "title": lambda row: row[1].name,
    "outcome": lambda row: row[1].outcome.value,
    "why": lambda row: row[1].sentence,
    "reason": lambda row: row[0].reason,
    "arguments": lambda row: msgspec.json.encode(row[0].arguments).decode() if row[0].arguments else "",
    "transaction": lambda row: row[0].xid or "",
    "entry": lambda row: row[0].id,
}
MARKDOWN: Columns[AuditLogEntry] = {
    "time": lambda entry: formatting.instant(entry.at),
    "who": who,
    "action": lambda entry: entry.action,
    "target": target,
    "outcome": lambda entry: text(outcome(entry)),
    "reason": lambda entry: entry.reason,
}
INCIDENTS: Columns[Incident] = {
    "severity": lambda of: severity.named(of.severity),
    "engine": lambda of: of.engine,
    "incident": lambda of: f"{of.title} - {of.about}" if of.about else of.title,
    "nodes": lambda of: f"{of.n}{'+' * of.capped}",
    "since (UTC)": lambda of: formatting.instant(of.since),
    "what it is": lambda of: of.sentence,
}
NODES: Columns[Node] = {
    "engine": lambda node: node.engine,
    "node": lambda node: node.title,
    "status": lambda node: node.status or formatting.NONE,
    "created (UTC)": lambda node: formatting.instant(node.created_at),
}
AGAIN: Columns[tuple[Result, Incident, AuditLogEntry]] = {
    "node": lambda row: row[0].name,
    "incident": lambda row: row[1].title,
    "after": lambda row: row[2].action,
    "id": lambda row: row[0].id,
}

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
    for result in entry.results:
        yield csv(text_of((entry, result)) for text_of in CSV.values())


def markdown_table(columns: Columns[T], records: Iterable[T]) -> Iterator[str]:
    """Yield the lines of a table, its head first."""
    yield from (markdown(columns), "|" + " --- |" * len(columns))
    yield from (markdown_row(columns, record) for record in records)


def markdown_row(columns: Columns[T], record: T) -> str:
    """Return a record as a row of a table."""
    return markdown(text_of(record) for text_of in columns.values())


def markdown_nodes(nodes: Iterable[Node], findings_of: Callable[[str], Iterable[Finding]]) -> str:
    """Return nodes and their findings as a table."""

    def findings(node: Node) -> str:
        return "; ".join(f"{finding.title}: {finding.sentence}" for finding in findings_of(node.id))

    return "\n".join(markdown_table({**NODES, "findings": findings, "id": lambda node: node.id}, nodes))


def markdown_shift(incidents: Sequence[Incident], entries: Sequence[AuditLogEntry], since: float) -> str:
    """Return open incidents, the actions of a shift, and nodes that are stuck again."""
    stuck = {node_id: incident for incident in incidents for node_id in incident.node_ids}
    back = {
        result.id: (result, stuck[result.id], entry)
        for entry in entries
        for result in entry.results
        if result.outcome is Outcome.CHANGED and result.id in stuck
    }
    parts = {
        "Open": markdown_table(INCIDENTS, incidents) if incidents else ["Nothing."],
        f"Done since {formatting.instant(since)}": markdown_table(MARKDOWN, entries) if entries else ["Nothing."],
        "Stuck again": markdown_table(AGAIN, back.values()) if back else ["Nothing."],
    }
    return "\n".join(line for title, lines in parts.items() for line in (f"## {title}", "", *lines, ""))


def _plain(cell: str) -> str:
    """Return a cell that a spreadsheet reads as text.

    The apostrophe is the spreadsheets' own mark for text.
    """
    cell = safe_text(cell)
    return f"'{cell}" if cell.lstrip().startswith(_FORMULA) else cell
