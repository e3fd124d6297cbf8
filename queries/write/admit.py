"""First step of a transaction: lock the nodes.

Nodes that are gone, locked, hidden by a policy, stale or refused are skipped by name. So are those whose owner lives.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import msgspec

from queries.contract.spec import GONE
from queries.db.errors import DatabaseError, LockedError, attempted, attempting
from queries.db.query import Query, Rows
from queries.db.shared_sql import statement
from queries.db.transaction import Transaction
from queries.read import blockers
from queries.read.question import Question, Questions, answered, together, value_of
from queries.read.sentence import in_text
from queries.records.action import Outcome, Owner, Verdict
from queries.write import witnesses
from queries.write.nodes import Nodes
from queries.write.request import Request

# An executor writes a guarded node many times a second and locks it briefly each time. Seconds to retry, and between.
ROW_LOCK_SECONDS, PAUSE_SECONDS = 0.5, 0.005
PROBES = 64  # limit of statements that distinguish locked rows from rows that a policy hides

CHANGED_MEANWHILE = "it changed during the wait"
ACTIVE_SINCE = "its owner was active since the dry run"
HELD = "another transaction holds a lock on it, or on a part of it"
LIVES = "its {summary}. If you have checked that it is gone, say so: {gone}=yes"
POLICY = "row-level policy: this role can see it, but not change it"

Locks = tuple[dict[str, str], set[str]]
"""Current versions of the locked nodes, and those of them that are unchanged."""

_locked_row = itemgetter("id", "version")


async def admit(transaction: Transaction, request: Request, nodes: Nodes, then: Questions = lambda: ()) -> list[Any]:
    """Lock the nodes; skip those that are missing, stale or refused.

    Return the answers to what ``then`` asks about the others, up to the first error. The locks, the refusals and that
    travel together, about all nodes. If some are skipped, it is asked again. Raises DatabaseError.
    """
    refusals, more = [_refusals(request, nodes)], then()
    locks, *answers = await answered(transaction, [_locks(request, nodes), *refusals, *more])
    locked = await lock(transaction, request, nodes, value_of(locks))
    now = [_refusals(request, nodes)]
    (rows,) = answers[:1] if locked and _same(refusals, now) else await answered(transaction, now)
    for row in value_of(rows):
        node_id = nodes.full(row["id"])
        if node_id in nodes.remaining:
            nodes.skip(node_id, Outcome.REFUSED, in_text(row["why"]))
            nodes.for_now += [node_id] if request.action.waits and row.get("for_now") else []
    if "witnesses" in request.sections:
        await _read_owners(transaction, request, nodes)
    again = then()
    return answers[1:] if locked and _same(more, again) else await answered(transaction, again)


def _same(questions: Sequence[Question[Any]], now: Sequence[Question[Any]]) -> bool:
    """Return True if what was asked is still what is asked."""
    return [each.queries for each in questions] == [each.queries for each in now]


def _refusals(request: Request, nodes: Nodes) -> Question[list[Mapping[str, Any]]]:
    """Ask which of the nodes the action does not apply to."""
    question = together(*(nodes.question(part, ":refused") for part in request.sections.get("refused", ())))
    return Question(question.queries, lambda answers: [row for rows in question.read(answers) for row in rows])


async def lock(transaction: Transaction, request: Request, nodes: Nodes, locks: Locks | None = None) -> bool:
    """Lock the rows; skip nodes that are missing, locked or stale.

    Return True if ``locks`` are all: those that were taken already. Raises DatabaseError.
    """
    now, unchanged = locks or await _locks(request, nodes).answer(transaction)
    first, until = len(now), time.monotonic() + ROW_LOCK_SECONDS
    while any(i not in now for i in nodes.guarded) and time.monotonic() < until:
        await asyncio.sleep(PAUSE_SECONDS)
        more, also = await _locks(request, nodes).answer(transaction)
        now, unchanged = now | more, unchanged | also
    await _skip_absent(transaction, request, nodes, [i for i in nodes.remaining if i not in now])
    awaited = None if request.seen is None else request.seen.awaited
    for node_id in [i for i in nodes.remaining if now[i] != nodes.versions[i]]:
        if node_id in unchanged or (awaited is not None and node_id not in nodes.guarded):
            # The row is locked, so this version is current until the change.
            nodes.expect({node_id: now[node_id]})
        else:
            nodes.skip(node_id, Outcome.STALE, "it was changed since it was shown")
    for node_id in [i for i in nodes.remaining if awaited is not None and nodes.steady.get(i) != awaited.get(i)]:
        nodes.skip(node_id, Outcome.STALE, CHANGED_MEANWHILE)
    shown = {} if request.seen is None or request.action.waits else request.seen.steady
    for node_id in [i for i in nodes.remaining if i in shown and nodes.steady.get(i) != shown[i]]:
        nodes.skip(node_id, Outcome.STALE, ACTIVE_SINCE)
    return len(now) == first


def _locks(request: Request, nodes: Nodes) -> Question[Locks]:
    """Ask for locks of the rows that are free.

    A row's ``unchanged`` is true if the fields in the guard of a finding, or an edited text, are unchanged. A row
    without a version locks nothing.
    """
    question = together(*(nodes.question(part, ":lock") for part in request.sections["lock"]))
    return Question(question.queries, lambda answers: _taken(nodes, question.read(answers)))


def _taken(nodes: Nodes, answers: Iterable[Rows]) -> Locks:
    now: dict[str, str] = {}
    unchanged: set[str] = set()
    prefix = nodes.full("")
    for rows in answers:
        now |= {prefix + id_: version for id_, version in map(_locked_row, rows) if version is not None}
        if rows and "steady" in rows[0]:
            nodes.steady |= {prefix + row["id"]: row["steady"] for row in rows}
        if rows and "unchanged" in rows[0]:
            unchanged |= {prefix + row["id"] for row in rows if row["unchanged"]} & nodes.guarded
    return now, unchanged


async def _skip_absent(transaction: Transaction, request: Request, nodes: Nodes, absent: Sequence[str]) -> None:
    """Skip nodes that could not be locked, with the reason."""
    if not absent:
        return
    existing = {node.id for node in await nodes.reader.nodes.existing(absent).answer(transaction)}
    hidden = await _hidden(transaction, request, nodes, sorted(existing)) if nodes.policies else set()
    holders = await _holders(transaction, nodes, sorted(existing - hidden))
    for node_id in absent:
        if node_id in hidden:
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
    with transaction.apart():
        holders = await attempted(blockers.holders_of(transaction, nodes.reader, ids))
    return {} if isinstance(holders, DatabaseError) else holders  # a missing privilege must not make the action fail


async def _hidden(transaction: Transaction, request: Request, nodes: Nodes, ids: list[str]) -> set[str]:
    """Return visible nodes that a row-level policy prevents from being locked.

    SKIP LOCKED skips a row that another transaction holds, and a row that a policy for UPDATE hides. NOWAIT fails only
    for the former. Nodes beyond the limit of probes count as locked.
    """
    hidden: set[str] = set()
    groups = [ids] if ids else []
    for _ in range(PROBES):
        if not groups:
            break
        probed = groups.pop(0)
        locked: set[str] = set()
        with transaction.apart():
            try:
                with nodes.only(probed):
                    for part in request.sections["lock"]:
                        waiting = msgspec.structs.replace(part, text=part.text.replace("SKIP LOCKED", "NOWAIT"))
                        rows = await nodes.rows(transaction, waiting)
                        locked |= {nodes.full(row["id"]) for row in rows if row["version"] is not None}
                hidden |= set(probed) - locked
            except LockedError:
                half = len(probed) // 2
                groups += [probed[:half], probed[half:]] if half else []
    return hidden


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
    if len(ids) > witnesses.NODES_WITNESSED:
        parts = tuple(map(witnesses.counted, parts))
    row_locks = _row_locks(nodes)
    owners: dict[str, Owner] = {}

    def unread(error: DatabaseError) -> None:
        owners.update(dict.fromkeys(map(nodes.reader.ids.local, ids), witnesses.unread(error.line)))

    with transaction.apart(), attempting(unread):
        with nodes.only(ids):
            questions = [nodes.question(part) for part in parts]
        sessions = Question([Query(statement("witness_sessions"))], lambda answers: answers[0][0])
        *answers, facts = await together(*questions, sessions).answer(transaction)
        owners.update(witnesses.owners([row for rows in answers for row in rows], facts, row_locks))
    return {nodes.full(local): owner for local, owner in owners.items()}


def _row_locks(nodes: Nodes) -> dict[str, str]:
    """Return by local id the other transaction that locks the node's rows, or ""."""
    held = {r.id: r.why for r in nodes.skipped.values() if r.outcome is Outcome.LOCKED}
    own: Iterable[tuple[str, str]] = ((i, "") for i in nodes.remaining)
    return {nodes.reader.ids.local(i): why for i, why in (*own, *held.items())}
