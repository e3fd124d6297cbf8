"""Changes of others to the nodes of a change, and the runs that have them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from queries.db.errors import DatabaseError, attempted
from queries.db.query import Query, statement
from queries.log import run_log
from queries.log.audit_log import Criteria
from queries.records.action import Change, Outcome
from queries.records.audit import AuditLogEntry
from queries.text import duration
from queries.workspace import Workspace

ENTRIES_READ = 50  # newest entries of the audit log
LATELY_SECONDS = 3600.0  # in which an entry may be why a node is stale or gone
RUNS_READ = 5  # newest open runs


async def with_entries(workspace: Workspace, changes: Sequence[Change]) -> list[Change]:
    """Return changes whose stale and gone nodes name the entry that changed them last.

    Without one, or if the audit log cannot be read, a change is as it was.
    """
    lacking = {r.id for each in changes for r in each.results if r.outcome in (Outcome.STALE, Outcome.GONE)}
    now = max((each.at for each in changes if each.at is not None), default=None)
    if not lacking or now is None:
        return list(changes)
    conditions = Criteria(since=now - LATELY_SECONDS, changes=False)
    read = await attempted(workspace.audit_log.page(limit=ENTRIES_READ, conditions=conditions))
    if isinstance(read, DatabaseError):
        return list(changes)
    own = {entry for each in changes for entry in each.entries}
    by_node: dict[str, AuditLogEntry] = {}
    for entry in read[0]:  # newest first
        if entry.id not in own:
            for result in entry.results:
                if result.outcome is Outcome.CHANGED and result.id in lacking:
                    by_node.setdefault(result.id, entry)
    return [
        msgspec.structs.replace(
            each,
            results=tuple(
                msgspec.structs.replace(r, why=f"{r.why}; {_named(by_node[r.id], now)}") if r.id in by_node else r
                for r in each.results
            ),
        )
        for each in changes
    ]


def _named(entry: AuditLogEntry, now: float) -> str:
    ago = duration.spelled(max(now - entry.at, 0.0), 1)
    return f"changed last by {entry.who} {ago} ago: {entry.action}, entry {entry.id}, {entry.reason!r}"


async def runs_with(workspace: Workspace, nodes: Collection[str]) -> tuple[str, ...]:
    """Return for each open run how many of these nodes it has.

    Returns nothing if the runs cannot be read.
    """
    if workspace.audit_log.run_table is None or not nodes:
        return ()
    runs = await attempted(run_log.newest(workspace.database, RUNS_READ, open_only=True))
    begun = [] if isinstance(runs, DatabaseError) else [run for run, *_ in runs]
    queries = [Query(statement("run_members"), {"id": run.id, "ids": sorted(nodes)}) for run in begun]
    reads = (attempted(workspace.database.batch([query])) for query in queries)  # one may fail
    numbers = [
        0 if isinstance(read, DatabaseError) else read[0][0]["n"] for read in await workspace.database.together(*reads)
    ]
    return tuple(
        f"{n:,} of them are in the open {run.event.get('kind')} run {run.id} of {run.who}: {run.reason}"
        for run, n in zip(begun, numbers, strict=True)
        if n
    )
