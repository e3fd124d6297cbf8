"""Entries of the audit log as a list: what it is filtered and grouped by. UI-free."""

from __future__ import annotations

from typing import Final

from console.model.filter import Fields
from console.model.row_list import Grouping
from queries.records.audit import AuditLogEntry


def who(entry: AuditLogEntry) -> str:
    """Return who acted: the user of the machine, else the role of the database."""
    return f"{entry.os_user}@{entry.host}" if entry.os_user else entry.role


def _targets(entry: AuditLogEntry) -> list[str]:
    """Return the ids of the nodes, and their titles as far as they were recorded."""
    return [*(result.id for result in entry.results), *entry.titles.values()]


FIELDS: Final[Fields[AuditLogEntry]] = Fields(
    lambda entry: (entry.id, entry.action, entry.reason, who(entry), *_targets(entry)),
    prefixes={
        "action": lambda entry: (entry.action,),
        "engine": lambda entry: (entry.engine,),
        "outcome": lambda entry: [result.outcome for result in entry.results],
        "id": lambda entry: [result.id for result in entry.results],
    },
    parts={
        "who": lambda entry: (who(entry), entry.role),
        "reason": lambda entry: (entry.reason,),
        "target": _targets,
    },
    times={"age": lambda entry, now: now - entry.at},
    numbers={"nodes": lambda entry: len(entry.results)},
)
GROUPINGS: Final[tuple[Grouping[AuditLogEntry], ...]] = (
    Grouping("entry"),
    Grouping("who", lambda entry: (f"who {who(entry)}", who(entry))),
    Grouping("action", lambda entry: (f"action {entry.action}", entry.action)),
    Grouping("engine", lambda entry: (f"engine {entry.engine}", entry.engine)),
)
