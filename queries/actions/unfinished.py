"""Unfinished bulks and unknown outcomes of earlier sessions."""

from __future__ import annotations

from itertools import islice

from queries.db.errors import DatabaseError
from queries.records.action import Outcome
from queries.workspace import Workspace
from queries.write import bulk_list

RECENT = 200  # newest entries of the audit log file that are read at the start


def messages(workspace: Workspace) -> list[str]:
    """Return a message for each unfinished bulk, and one for unknown outcomes."""
    lines, command = [], workspace.database.command
    for left in bulk_list.unfinished(workspace.bulks, workspace.server):
        head = left.head
        lines.append(
            f"Unfinished bulk: {head.action} in {head.label}, {len(left.left)} of {len(head.versions)} nodes are left. "
            f"`{command('do', '--resume', head.id)}` continues it, `{command('do', '--discard', head.id)}` deletes its"
            " list."
        )
    if workspace.audit_log_file is not None:
        try:
            entries = list(islice(workspace.audit_log_file.entries(), RECENT))
        except DatabaseError as error:
            return [*lines, error.line]
        intents = sum(any(r.outcome is Outcome.UNKNOWN for r in entry.results) for entry in entries)
        if intents:
            audit_log = "1 audit log entry has" if intents == 1 else f"{intents} audit log entries have"
            lines.append(f"{audit_log} no known outcome: see `{command('audit')}`.")
    return lines
