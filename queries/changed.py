"""Read what changed lately: the one way for the console and every command."""

from __future__ import annotations

from collections.abc import Sequence

from queries.db.errors import DatabaseError, UnknownIdError, attempted
from queries.log.audit_log import Criteria
from queries.read import changes
from queries.read.reader import Reader
from queries.records.change import Changes, ChangeSource
from queries.workspace import Workspace

_NO_CHANGES = "{cursor!r} is not a cursor of this list. --after takes the cursor at the end of the previous page."
_ACTIONS = "recorded: each action of an operator through unstick"


async def read_changes(
    workspace: Workspace,
    since: float | None = None,
    cursor: str | None = None,
    limit: int = 200,
    *,
    routine: bool = True,
    allow_scan: bool = False,
) -> Changes:
    """Read what the engines and the operators changed lately, newest first.

    ``since``: seconds before now. ``cursor`` continues a list and has its time. ``routine``: with changes that say
    only that work goes on. ``allow_scan``: read also what needs a full scan. A source that cannot be read does not
    stop the others. Raises UnknownIdError for an unknown cursor, and DatabaseError if the connection is lost.
    """
    at = await workspace.now()
    before = changes.Position(since=at - (since or 0.0)) if cursor is None else changes.position(cursor)
    if before is None:
        raise UnknownIdError(_NO_CHANGES.format(cursor=cursor))
    pages: dict[str, Sequence[changes.Placed]] = {}

    async def of_engine(label: str, reader: Reader) -> ChangeSource:
        places = before.places.get(label, {})
        reading = changes.read(reader, before.since, places, limit + 1, routine=routine, allow_scan=allow_scan)
        answer = await attempted(reading)
        if isinstance(answer, DatabaseError):
            return ChangeSource(name=label, recorded=reader.engine.changed, unreadable=answer.line)
        pages[label], source = answer
        return source

    async def of_audit_log() -> ChangeSource:
        after = before.places.get(changes.AUDIT_LOG, {}).get("entry")
        criteria = Criteria(since=before.since, changes=False)
        entries, why = await workspace.audit_log.newest(None, limit + 1, after, criteria)
        pages[changes.AUDIT_LOG] = [changes.acted(entry) for entry in entries]
        return ChangeSource(name=changes.AUDIT_LOG, recorded=_ACTIONS, unreadable=why)

    reads = (of_engine(*each) for each in workspace.engines.items())
    sources = await workspace.database.together(*reads, of_audit_log())
    shown, end = changes.page(pages, before, limit)
    return Changes(
        changes=shown,
        at=at,
        since=before.since,
        sources=tuple(sources),
        capped=end is not None,
        cursor=None if end is None else changes.token(end),
    )
