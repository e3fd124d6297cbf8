"""Judge by witnesses if the owner of a node is dead or alive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from queries.db.errors import readable
from queries.db.query import Row
from queries.db.shared_sql import statement
from queries.files.statement import Statement, with_parts
from queries.records.action import Owner, Verdict, Witness

NODES_WITNESSED = 50  # of more nodes, the witnesses are counted, not listed

SESSIONS, ROW_LOCK = "sessions", "row lock"
NO_SESSION = "no other session is connected to this database"
UNLOCKED = "no other transaction locks it; an owner that is working need not lock it either"

ORDER = (Verdict.ALIVE, Verdict.DEAD, Verdict.UNKNOWN)


def counted(part: Statement) -> Statement:
    """Return the statement that counts the witnesses of each node."""
    text = with_parts(statement("witness_counts").text, {"witnesses": part.text})
    return msgspec.structs.replace(part, text=text)


def owners(rows: Iterable[Row], sessions: Row, row_locks: Mapping[str, str]) -> dict[str, Owner]:
    """Return the owner of each node that has witnesses, by local id.

    ``rows``: those of the action's section ``witnesses``, listed or counted. ``sessions``: that of
    ``witness_sessions.sql``. ``row_locks``: by node, the other transaction that locks its rows, or "". Raises
    UnreadableError.
    """
    by_node: dict[str, list[Row]] = {}
    with readable("The section witnesses of the action"):
        for row in rows:
            by_node.setdefault(row["id"], []).append(row)
        return {
            node_id: _owner(some, sessions, row_locks.get(node_id))
            if "witness" in some[0]
            else _tallied(some, sessions)
            for node_id, some in by_node.items()
        }


def unread(why: str) -> Owner:
    """Return an owner whose witnesses could not be read."""
    return Owner(
        verdict=Verdict.UNKNOWN,
        summary="owner not known: the witnesses could not be read",
        witnesses=(Witness(name="witnesses", verdict=Verdict.UNKNOWN, detail=why),),
    )


def _owner(rows: Iterable[Row], sessions: Row, row_lock: str | None) -> Owner:
    signs = [Witness(name=r["witness"], verdict=Verdict(r["verdict"]), detail=r["detail"]) for r in rows]
    since = next((r["since"] for r in rows if r.get("since") is not None), None)
    common = [_sessions(sessions, since), *([] if row_lock is None else [_row_lock(row_lock)])]
    own = {w.name for w in signs}
    every = tuple(
        sorted((*signs, *(w for w in common if w.name not in own)), key=lambda w: (ORDER.index(w.verdict), w.name))
    )
    counts = {v: sum(w.verdict is v for w in every) for v in Verdict}
    return _judged(counts[Verdict.DEAD], counts[Verdict.ALIVE], counts[Verdict.UNKNOWN], every)


def _tallied(rows: Iterable[Row], sessions: Row) -> Owner:
    gone = not sessions["n"]
    dead, alive, unknown = (sum(r[v.value] for r in rows) for v in (Verdict.DEAD, Verdict.ALIVE, Verdict.UNKNOWN))
    return _judged(dead + gone, alive, unknown + (not gone))


def _judged(dead: int, alive: int, unknown: int, witnesses: tuple[Witness, ...] = ()) -> Owner:
    """Return the verdict and its summary.

    One sign of life outweighs all others. One sign of death alone is not certain.
    """
    of = f"of {dead + alive + unknown}" + (f" ({unknown} not known)" if unknown else "")
    if alive:
        return Owner(verdict=Verdict.ALIVE, summary=f"owner may live: {alive} {of}", witnesses=witnesses)
    if dead:
        word = "is" if dead > 1 else "seems"
        return Owner(verdict=Verdict.DEAD, summary=f"owner {word} dead: {dead} {of}", witnesses=witnesses)
    return Owner(verdict=Verdict.UNKNOWN, summary=f"owner not known: 0 {of}", witnesses=witnesses)


def _sessions(sessions: Row, since: float | None) -> Witness:
    """Return the witness about the owner's session, which no engine records."""
    n, starts = sessions["n"], [s for s in sessions["starts"] if s is not None]
    if not n:
        return Witness(name=SESSIONS, verdict=Verdict.DEAD, detail=NO_SESSION)
    detail = f"{n} connected; the engine does not record which is the owner's"
    if since is not None and len(starts) == n:
        old = sum(start <= since for start in starts)
        detail += f"; {old or 'none'} began before the owner took it (backend_start)"
    return Witness(name=SESSIONS, verdict=Verdict.UNKNOWN, detail=detail)


def _row_lock(holder: str) -> Witness:
    if holder:
        return Witness(name=ROW_LOCK, verdict=Verdict.ALIVE, detail=holder)
    return Witness(name=ROW_LOCK, verdict=Verdict.UNKNOWN, detail=UNLOCKED)
