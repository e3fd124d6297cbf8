"""``audit``: who changed what, when and why."""

from __future__ import annotations

from collections.abc import Iterable

from console.cli.output import output_for, say
from console.cli.target import opened, resolve_nodes
from console.target import Target
from console.text import spans
from console.text.pages.audit_entry import entry_page, summary
from console.text.pages.lines import BLANK
from console.text.spans import UNLIMITED, Spans
from queries.model import AuditLogEntry, Record


class Entries(Record):
    """A page of the audit log, newest first. ``cursor`` continues after it."""

    entries: tuple[AuditLogEntry, ...]
    cursor: str | None
    place: str  # "table", or the path of the local file
    unreadable: str = ""  # why the entries of the table are missing


async def audit_log(target: Target, node_id: str | None, *, limit: int, after: str | None) -> int:
    """Show entries; those about one node with its changed rows. Return the exit code."""
    async with opened(target, empty=True) as workspace:
        if node_id is not None:
            found = await resolve_nodes(workspace.reader(node_id), [node_id])
            node_id = found[node_id].id if found else node_id
        entries, cursor = await workspace.audit_entries(after, limit, node_id)
        place, closed = workspace.audit_log_place, workspace.audit_log_closed
    answer = Entries(entries=entries, cursor=cursor, place=place, unreadable=closed)
    output = output_for(target)
    if node_id is None:
        output.answer(answer, lambda: (spans.text(summary(entry)) for entry in entries))
    else:
        output.page(answer, lambda cells: _pages(entries, node_id, cells))
    if closed:
        say(closed)
    elif not entries:
        say("The audit log has no entries" + (f" about {node_id}." if node_id else "."))
    if cursor is not None:
        say(f"There are more: --after {cursor}")
    return int(bool(closed))


def _pages(entries: Iterable[AuditLogEntry], node_id: str, cells: int) -> list[Spans]:
    pages = [entry_page(entry, cells, node_id=node_id, limit=UNLIMITED) for entry in entries]
    return [line for page in pages for line in (*page, BLANK)][:-1]
