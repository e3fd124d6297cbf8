"""Sessions that hold locks, and those that wait for them."""

from __future__ import annotations

from queries.records.record import Record
from queries.text.instant import unknown_last


class LockSession(Record):
    """A session, or a prepared transaction, that holds or waits for locks.

    ``id`` is ``server/backend:PID`` or ``server/prepared:GID``. A pid is used again: only together with
    ``backend_start`` it names a session. ``hidden``: the role may not see what the session does.
    """

    id: str
    pid: int | None = None
    gid: str = ""  # of a prepared transaction, which has no session
    backend_start: float | None = None
    application: str = ""
    role: str = ""
    client: str = ""
    database: str = ""
    type: str = ""  # of the backend
    state: str = ""
    wait: str = ""
    since: float | None = None  # begin of its transaction, or when it was prepared
    state_since: float | None = None
    query: str = ""  # begin of its current or last statement
    hidden: bool = False
    tables: tuple[str, ...] = ()  # of engines, which it changes or locks
    engines: tuple[str, ...] = ()  # labels of these engines
    waits_for: str = ""
    waits_since: float | None = None
    blocked_by: tuple[str, ...] = ()  # ids

    @property
    def name(self) -> str:
        """Short name, as in messages."""
        if self.pid is None:
            return f"prepared transaction {self.gid}"
        return f"pid {self.pid} ({self.application or self.type or 'no name'}, role {self.role or '?'})"

    @property
    def waits_for_row(self) -> bool:
        """True if it waits for a row that another transaction locks."""
        return self.waits_for.startswith("a row")

    @property
    def target(self) -> str:
        """Id of this session alone, for actions; "" if it has none or its start is hidden."""
        return "" if self.pid is None or self.backend_start is None else f"{self.id}@{self.backend_start:.6f}"


class RowHolder(Record):
    """A session that locks a row of a node; if not ``sure``, one of several that may."""

    node_id: str
    table: str
    session_id: str
    mode: str = ""  # of a shared lock, as in pg_get_multixact_members()
    sure: bool = True


class Blockers(Record):
    """Sessions that lock rows of nodes, and sessions that wait, at one moment.

    ``waiters`` are the sessions that wait for these rows. ``root_ids`` are the sessions at the end of the chains: those
    of the holders and waiters, or without ``node_ids`` all that block or change the engines' tables.
    """

    at: float
    node_ids: tuple[str, ...] = ()
    holders: tuple[RowHolder, ...] = ()
    waiters: tuple[str, ...] = ()
    root_ids: tuple[str, ...] = ()
    sessions: tuple[LockSession, ...] = ()
    notes: tuple[str, ...] = ()

    def session(self, session_id: str) -> LockSession | None:
        """Return the session of that id, or None."""
        return next((s for s in self.sessions if s.id == session_id), None)

    def roots(self, session_id: str) -> tuple[LockSession, ...]:
        """Return the sessions at the end of the chain of waits, which wait for none.

        In a deadlock there is none; then all sessions of the chain are returned.
        """
        sessions = {s.id: s for s in self.sessions}
        chain: dict[str, LockSession] = {}
        rest = [session_id]
        while rest:
            session = sessions.get(rest.pop())
            if session is not None and session.id not in chain:
                chain[session.id] = session
                rest += session.blocked_by
        return tuple(s for s in chain.values() if not s.blocked_by) or tuple(chain.values())

    def waiting_for(self, session_id: str) -> tuple[LockSession, ...]:
        """Return the sessions that wait for a session, the longest wait first."""
        waiting = (s for s in self.sessions if session_id in s.blocked_by)
        return tuple(sorted(waiting, key=lambda s: (unknown_last(s.waits_since), s.id)))
