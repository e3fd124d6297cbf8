"""Lines about locks: root sessions, and below each those that wait for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from console.text import formatting
from console.text.spans import Link, Spans
from console.text.views.lines import heading, plain, stacked, wrapped
from queries.records.finding import OPEN
from queries.records.lock import Blockers, LockSession, RowHolder

SESSIONS_SHOWN = 100  # sessions shown
NONE = "No session blocks another one on the engines' tables, and none has changed or locked rows of them."


def blockers_lines(locks: Blockers, cells: int, command: Callable[..., str]) -> list[Spans]:
    """Return the chains of waits, and notes about what could not be seen.

    Sessions are links, but not prepared transactions, which have none.
    ``command`` returns the shell command with these words.
    """
    nodes = [line for node_id in locks.node_ids for line in _node(locks, node_id, cells)]
    shown: set[str] = set()
    trees = [list(_tree(locks, root_id, cells, 0, shown, command)) for root_id in locks.root_ids]
    none = wrapped(NONE, cells) if not (locks.root_ids or locks.notes or locks.node_ids) else []
    few = f"Only the first {SESSIONS_SHOWN} of {len(shown)} sessions are shown."
    return stacked(
        nodes or [heading("Locks on the engines' tables"), *none],
        *trees,
        [plain(few, "$warning")] if len(shown) > SESSIONS_SHOWN else [],
        *(wrapped(note, cells, "$warning") for note in locks.notes),
    )


def _node(locks: Blockers, node_id: str, cells: int) -> Iterator[Spans]:
    yield heading(node_id)
    names = {s.id: s.name for s in locks.sessions}
    for holder in locks.holders:
        if holder.node_id == node_id:
            shared = f" ({MODES.get(holder.mode, holder.mode)})" if holder.mode else ""
            some = "locked by" if holder.sure else "locked by one of several, maybe"
            yield from wrapped(f"row of {holder.table} {some} {names[holder.session_id]}{shared}", cells)


MODES = {
    "keysh": "FOR KEY SHARE",
    "sh": "FOR SHARE",
    "fornokeyupd": "FOR NO KEY UPDATE",
    "forupd": "FOR UPDATE",
    "nokeyupd": "an UPDATE",
    "upd": "an UPDATE of the key, or a DELETE",
}


def _tree(
    locks: Blockers, session_id: str, cells: int, depth: int, shown: set[str], command: Callable[..., str]
) -> Iterator[Spans]:
    session = locks.session(session_id)
    if session is None or session_id in shown:
        return
    shown.add(session_id)
    if len(shown) <= SESSIONS_SHOWN:
        yield from _session(locks, session, cells, depth, command)
    for waiting in locks.waiting_for(session_id):
        yield from _tree(locks, waiting.id, cells, depth + 1, shown, command)


def _session(
    locks: Blockers, session: LockSession, cells: int, depth: int, command: Callable[..., str]
) -> Iterator[Spans]:
    indent = 2 + 4 * min(depth, 8)
    root = not session.blocked_by
    mark = "root  " if root and locks.waiting_for(session.id) else ""
    state = session.state or ("prepared" if session.gid else "")
    age = "" if session.since is None else f"  transaction open for {formatting.age(locks.at - session.since)}"
    yield [
        (" " * indent, ""),
        (mark, "bold $phase-failed"),
        (formatting.scalar(session.name), "bold" if session.pid is None else Link(session.id)),
        (f"  {formatting.scalar(state)}" if state else "", "$warning" if root else ""),
        (age, ""),
    ]
    for line in _facts(locks, session, command):
        yield from wrapped(line, cells, "$faint", indent + 2)


def _facts(locks: Blockers, session: LockSession, command: Callable[..., str]) -> Iterator[str]:
    holds = [h for h in locks.holders if h.session_id == session.id]
    if holds:
        yield _holds(holds)
    if session.id in locks.waiters:
        yield "waits for this row"
    if session.waits_for:
        since = "" if session.waits_since is None else f", for {formatting.age(locks.at - session.waits_since)}"
        yield f"waits for {session.waits_for}{since}"
    if session.gid:
        yield f"ends by: ROLLBACK PREPARED '{session.gid}', or COMMIT PREPARED '{session.gid}'"
    if session.tables:
        yield f"changes or locks: {', '.join(session.tables)}"
    if session.client or session.backend_start is not None:
        start = (
            "" if session.backend_start is None else f", connected since {formatting.instant(session.backend_start)}"
        )
        yield f"client {session.client or 'local'}{start}"
    if session.target:
        yield f"to end it: {command('do', 'end_session', session.target, '--reason', OPEN)}"
    if session.query:
        yield f"{'last ' if session.state.startswith('idle') else ''}statement: {session.query}"


def _holds(holders: Sequence[RowHolder]) -> str:
    tables = ", ".join(dict.fromkeys(h.table for h in holders))
    return f"locks the row of {tables}" if all(h.sure for h in holders) else f"may lock the row of {tables}"
