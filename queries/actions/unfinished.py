"""What an earlier console has left open: bulks with nodes left, and transactions without an outcome."""

from __future__ import annotations

from itertools import islice

from queries.errors import DatabaseError
from queries.model import Outcome
from queries.workspace import Workspace
from queries.write import bulk_list

RECENT = 200  # entries of the audit log file that are looked at when the console starts


def messages(workspace: Workspace) -> list[str]:
    """A sentence for each bulk of this database that was not finished, and one for intents without an outcome."""
    lines = []
    for left in bulk_list.unfinished(workspace.bulks, workspace.server):
        head = left.head
        lines.append(
            f"A bulk was not finished: {head.action} in {head.label}, {len(left.left)} of {len(head.versions)} nodes "
            f"are left. unstick do --resume {head.id} continues it, unstick do --discard {head.id} forgets it."
        )
    if workspace.audit_log_file is not None:
        try:
            entries = list(islice(workspace.audit_log_file.entries(), RECENT))
        except DatabaseError as error:
            return [*lines, error.line]
        intents = sum(any(r.outcome is Outcome.UNKNOWN for r in entry.results) for entry in entries)
        if intents:
            audit_log = "1 audit log entry has" if intents == 1 else f"{intents} audit log entries have"
            lines.append(f"{audit_log} no known outcome: unstick audit shows what was tried.")
    return lines
