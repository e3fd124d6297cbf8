"""First steps of a transaction: ask whose code it runs, and lock the nodes.

Nodes that are gone, locked, hidden by a policy, stale or refused are skipped by name. So are those whose owner lives,
as far as witnesses tell.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter

import msgspec

from queries.change.script import Nodes, Request, rows_of
from queries.contract.detect import trust_query, unsafe
from queries.contract.spec import GONE, Action
from queries.contract.trust import Trust
from queries.db.errors import DatabaseError, attempted, attempting, readable
from queries.db.query import Query, Row, Rows, statement
from queries.db.reads import Apart
from queries.db.transaction import Transaction
from queries.log.choice import AuditLog
from queries.log.run_log import OpenRun
from queries.read import blockers
from queries.read.reader import Reader
from queries.read.sentence import in_text
from queries.records.action import Outcome, Owner, Verdict, Witness
from queries.records.record import Record

# An executor writes a guarded node many times a second and locks it briefly each time. Seconds to retry, and between.
ROW_LOCK_SECONDS, PAUSE_SECONDS = 0.5, 0.005
TRUST_KEPT_SECONDS = 0.5

SINCE_SHOWN = "it was changed since it was shown"
CHANGED_MEANWHILE = "it changed during the wait"
ACTIVE_SINCE = "its owner was active since the dry run"
REACHED_SINCE = "a change of these rows reaches {tables} since a moment ago: try again"
HELD = "another transaction holds a lock on it, or on a part of it"
LIVES = "its {summary}. If you have checked that it is gone, say so: {gone}=yes"
POLICY = "row-level policy: this role can see it, but not change it; or a session that it cannot see locks it"

NODES_WITNESSED = 50  # of more nodes, the witnesses are counted, not listed

SESSIONS, ROW_LOCK = "sessions", "row lock"
NO_SESSION = "no other session is connected to this database"
UNLOCKED = "no other transaction locks it; an owner that is working need not lock it either"

ORDER = (Verdict.ALIVE, Verdict.DEAD, Verdict.UNKNOWN)

_locked_row = itemgetter("id", "version")


class Clearance(Record):
    """Answer to the check of an action.

    ``why``: it could run code of an untrusted role, or "". ``path``: schemas in which triggers of its tables may find
    names. ``trust``: for the entry of the change; None if there is a reason.
    """

    why: str
    path: tuple[str, ...] = ()
    trust: Trust | None = None


async def clear(
    transaction: Transaction,
    log: AuditLog,
    reader: Reader,
    action: Action,
    run: OpenRun | None = None,
    more: Sequence[Query] = (),
) -> tuple[Clearance, list[Rows]]:
    """Lock the tables of an action, and ask if it could run untrusted code now.

    So no trigger is created on them between this answer and the change. If foreign keys, rules and functions lead to
    further tables, these are locked too, and it is asked again. ``run``: the answer to an earlier part of it counts for
    TRUST_KEPT_SECONDS if only trusted roles can create triggers on these tables and those of the audit log. ``more``
    is asked with the first question, and its answers are returned. Raises DatabaseError.
    """
    if log.no_entries:
        return Clearance(why=log.no_entries), []
    detected, asked_for = reader.detected, (action.name, action.privileges)
    if run is not None and run.cleared is not None:
        name, at, kept = run.cleared
        if name == asked_for and at > time.monotonic() - TRUST_KEPT_SECONDS:
            locks = detected.locks(action.privileges)
            return kept, (await transaction.batch([*locks, *more]))[len(locks) :]
    reached: Mapping[str, bool] = {}
    answers: list[Rows] = []
    for last in (False, True):
        locks = detected.locks(action.privileges, reached)
        sent = [*locks, trust_query([reader.engine], log.trusted), *(() if last else more)]
        rows, *rest = (await transaction.batch(sent))[len(locks) :]
        answers, trust = answers or rest, Trust(rows)
        if why := log.doubt(trust) or _unsafe(reader, action, trust):
            return Clearance(why=why), answers
        locked = detected.locked(action.privileges).keys() | reached.keys()
        new = {n: how for n, how in trust.reached(detected.schema, action.privileges).items() if n not in locked}
        if not new:
            break
        if last:
            return Clearance(why=REACHED_SINCE.format(tables=", ".join(sorted(new)))), answers
        reached = new
    clearance = Clearance(why="", path=trust.trigger_path(detected.schema), trust=trust)
    if run is not None:
        makers = trust.trigger_makers(detected.schema, action.privileges) or log.trigger_makers(trust)
        run.cleared = None if makers or reached else (asked_for, time.monotonic(), clearance)
    return clearance, answers


def _unsafe(reader: Reader, action: Action, trust: Trust) -> str:
    refused = unsafe(reader.engine, reader.detected.schema, reader.detected.relations, trust)
    return msgspec.structs.replace(reader.detected, unsafe=refused).why_unsafe(action.privileges)


async def admit(
    transaction: Transaction, request: Request, nodes: Nodes, then: Callable[[], Sequence[Query]]
) -> list[Rows]:
    """Lock the nodes; skip those that are missing, stale or refused.

    Return the answers to what ``then`` asks about the others. The locks, the refusals and that are asked in turn, about
    all nodes; if some are skipped, it is asked again. Raises DatabaseError.
    """
    locks, refusals = nodes.queries(*request.sections["lock"]), request.sections.get("refused", ())
    whys, more = nodes.queries(*refusals, json={}), [*then()]
    answers = await transaction.batch([*locks, *whys, *more])
    locked = _Locked(nodes)
    locked.add(rows_of(locks, answers[: len(locks)], ":lock"))
    others = await locked.admit(transaction, request)
    again, refused, rest = (
        nodes.queries(*refusals, json={}),
        answers[len(locks) :][: len(whys)],
        answers[len(locks) + len(whys) :],
    )
    if others or again != whys:
        refused = await transaction.batch(again)
    for row in rows_of(again, refused, ":refused"):
        node_id = nodes.full(row["id"])
        if node_id in nodes.remaining:
            nodes.skip(node_id, Outcome.REFUSED, in_text(row["why"]))
            nodes.for_now += [node_id] if request.action.waits and row.get("for_now") else []
    if "witnesses" in request.sections:
        await _read_owners(transaction, request, nodes)
    now = [*then()]
    return rest if not others and now == more else await transaction.batch(now)


async def lock(transaction: Transaction, request: Request, nodes: Nodes) -> None:
    """Lock the rows; skip nodes that are missing, locked or stale.

    Raises DatabaseError.
    """
    locked = _Locked(nodes)
    locked.add(await nodes.rows(transaction, request.sections["lock"], ":lock"))
    await locked.admit(transaction, request)


class _Locked:
    """Nodes whose rows this transaction has locked.

    ``now``: their current versions. ``unchanged``: those of which the fields in the guard of a finding, or an edited
    text, are unchanged.
    """

    def __init__(self, nodes: Nodes) -> None:
        self.now: dict[str, str] = {}
        self.unchanged: set[str] = set()
        self._nodes = nodes

    def add(self, rows: Rows) -> None:
        """Add rows of a section ``lock``. A row without a version locks nothing."""
        nodes, prefix = self._nodes, self._nodes.full("")
        self.now |= {prefix + id_: version for id_, version in map(_locked_row, rows) if version is not None}
        nodes.steady |= {prefix + row["id"]: row["steady"] for row in rows if "steady" in row}
        self.unchanged |= {prefix + row["id"] for row in rows if row.get("unchanged")} & nodes.guarded

    async def admit(self, transaction: Transaction, request: Request) -> bool:
        """Skip nodes that are not locked, or stale.

        Return True if more were locked meanwhile. Raises DatabaseError.
        """
        nodes, now, first, until = self._nodes, self.now, len(self.now), time.monotonic() + ROW_LOCK_SECONDS
        while any(i not in now for i in nodes.guarded) and time.monotonic() < until:
            await asyncio.sleep(PAUSE_SECONDS)
            self.add(await nodes.rows(transaction, request.sections["lock"], ":lock"))
        await _skip_absent(transaction, nodes, [i for i in nodes.remaining if i not in now])
        awaited = None if request.seen is None else request.seen.awaited
        for node_id in [i for i in nodes.remaining if now[i] != nodes.versions[i]]:
            if node_id in self.unchanged or (awaited is not None and node_id not in nodes.guarded):
                nodes.versions[node_id] = now[node_id]  # the row is locked, so it is current until the change
            else:
                nodes.skip(node_id, Outcome.STALE, SINCE_SHOWN if awaited is None else CHANGED_MEANWHILE)
        for node_id in [i for i in nodes.remaining if awaited is not None and nodes.steady.get(i) != awaited.get(i)]:
            nodes.skip(node_id, Outcome.STALE, CHANGED_MEANWHILE)
        shown = {} if request.seen is None or request.action.waits else request.seen.steady
        for node_id in [i for i in nodes.remaining if i in shown and nodes.steady.get(i) != shown[i]]:
            nodes.skip(node_id, Outcome.STALE, ACTIVE_SINCE)
        return len(now) != first


async def _skip_absent(transaction: Transaction, nodes: Nodes, absent: Sequence[str]) -> None:
    """Skip nodes that could not be locked, with the reason."""
    if not absent:
        return
    existing = {node.id for node in await nodes.reader.nodes.existing(transaction, absent)}
    holders = await _holders(transaction, nodes, sorted(existing))
    for node_id in absent:
        if node_id in existing and nodes.policies and node_id not in holders:
            nodes.skip(node_id, Outcome.DENIED, POLICY)
        elif node_id in existing:
            nodes.skip(node_id, Outcome.LOCKED, HELD + (f": {held}" if (held := holders.get(node_id)) else ""))
        else:
            hidden_too = ", or a row-level policy hides it" if nodes.policies else ""
            nodes.skip(node_id, Outcome.GONE, f"it does not exist any more{hidden_too}")


async def _holders(transaction: Transaction, nodes: Nodes, ids: Sequence[str]) -> Mapping[str, str]:
    """Return by node the sessions that lock its rows, as far as they can be read."""
    if not ids:
        return {}
    holders = await attempted(blockers.holders_of(Apart(transaction), nodes.reader, ids))
    return {} if isinstance(holders, DatabaseError) else holders  # a missing privilege must not make the action fail


async def _read_owners(transaction: Transaction, request: Request, nodes: Nodes) -> None:
    """Read the witnesses about the owners of the nodes.

    A failure does not stop the action. A dry run shows also those of nodes that are refused or locked. A node is stale
    if its owner shows a sign of life that it did not show in the dry run. It is refused if its owner may live, unless
    the operator has said in words that the owner is gone.
    """
    shown = (Outcome.REFUSED, Outcome.LOCKED) if request.seen is None else ()
    ids = sorted((*nodes.remaining, *(r.id for r in nodes.skipped.values() if r.outcome in shown)))
    if not ids:
        return
    nodes.owners = await _owners(transaction, request, nodes, ids)
    verdicts = {} if request.seen is None else request.seen.verdicts
    takes_from_living = request.action.overrules(request.arguments)
    for node_id in list(nodes.remaining):
        owner = nodes.owners.get(node_id)
        if owner is None or owner.verdict is not Verdict.ALIVE:
            continue
        if verdicts.get(node_id, Verdict.ALIVE) is not Verdict.ALIVE:
            why = f"its owner has shown a sign of life since the dry run: {owner.summary}"
            nodes.skip(node_id, Outcome.STALE, why)
        elif not takes_from_living:
            nodes.skip(node_id, Outcome.REFUSED, LIVES.format(summary=owner.summary, gone=GONE))


async def _owners(transaction: Transaction, request: Request, nodes: Nodes, ids: Sequence[str]) -> dict[str, Owner]:
    """Return the owners of nodes, as far as they are known."""
    parts = request.sections["witnesses"]
    row_locks = _row_locks(nodes)
    owners: dict[str, Owner] = {}

    def unread(error: DatabaseError) -> None:
        owners.update(dict.fromkeys(map(nodes.reader.ids.local, ids), _unread(error.line)))

    with attempting(unread):
        queries = nodes.queries(*parts, about=ids)
        *answers, facts = await Apart(transaction).batch([*queries, Query(statement("witness_sessions"))])
        owners.update(judged_owners(rows_of(queries, answers), facts[0], row_locks))
    if len(ids) > NODES_WITNESSED:
        owners = {i: msgspec.structs.replace(owner, witnesses=()) for i, owner in owners.items()}
    return {nodes.full(local): owner for local, owner in owners.items()}


def _row_locks(nodes: Nodes) -> dict[str, str]:
    """Return by local id the other transaction that locks the node's rows, or ""."""
    held = {r.id: r.why for r in nodes.skipped.values() if r.outcome is Outcome.LOCKED}
    own: Iterable[tuple[str, str]] = ((i, "") for i in nodes.remaining)
    return {nodes.reader.ids.local(i): why for i, why in (*own, *held.items())}


def judged_owners(rows: Iterable[Row], sessions: Row, row_locks: Mapping[str, str]) -> dict[str, Owner]:
    """Return the owner of each node that has witnesses, by local id.

    ``rows``: those of the action's section ``witnesses``. ``sessions``: that of
    ``witness_sessions.sql``. ``row_locks``: by node, the other transaction that locks its rows, or "". Raises
    UnreadableError.
    """
    by_node: dict[str, list[Row]] = {}
    with readable("The section witnesses of the action"):
        for row in rows:
            by_node.setdefault(row["id"], []).append(row)
        return {node_id: _owner(some, sessions, row_locks.get(node_id)) for node_id, some in by_node.items()}


def _unread(why: str) -> Owner:
    """Return an owner whose witnesses could not be read."""
    return Owner(
        verdict=Verdict.UNKNOWN,
        summary="owner not known: the witnesses could not be read",
        witnesses=(Witness(name="witnesses", verdict=Verdict.UNKNOWN, detail=why),),
    )


def _owner(rows: Iterable[Row], sessions: Row, row_lock: str | None) -> Owner:
    """Return the verdict and its summary.

    One sign of life outweighs all others. One sign of death alone is not certain.
    """
    signs = [Witness(name=r["witness"], verdict=Verdict(r["verdict"]), detail=r["detail"]) for r in rows]
    since = next((r["since"] for r in rows if r.get("since") is not None), None)
    common = [_sessions(sessions, since), *([] if row_lock is None else [_row_lock(row_lock)])]
    own = {w.name for w in signs}
    every = tuple(
        sorted((*signs, *(w for w in common if w.name not in own)), key=lambda w: (ORDER.index(w.verdict), w.name))
    )
    dead, alive, unknown = (sum(w.verdict is v for w in every) for v in (Verdict.DEAD, Verdict.ALIVE, Verdict.UNKNOWN))
    of = f"of {dead + alive + unknown}" + (f" ({unknown} not known)" if unknown else "")
    if alive:
        verdict, summary = Verdict.ALIVE, f"owner may live: {alive} {of}"
    elif dead:
        verdict, summary = Verdict.DEAD, f"owner {'is' if dead > 1 else 'seems'} dead: {dead} {of}"
    else:
        verdict, summary = Verdict.UNKNOWN, f"owner not known: 0 {of}"
    return Owner(verdict=verdict, summary=summary, witnesses=every)


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
