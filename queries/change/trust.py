"""Check before a change that it runs no code of an untrusted role."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from queries.contract.detect import CHANGES, trust_query, unsafe
from queries.contract.spec import Action
from queries.contract.trust import Trust
from queries.db.query import Query, Rows
from queries.db.transaction import Transaction
from queries.log.choice import AuditLog
from queries.log.run_log import OpenRun
from queries.read.reader import Reader
from queries.records.record import Record

TRUST_KEPT_SECONDS = 0.5
CATALOGS = "pg_catalog"  # the name of the server's own tables among those that were written
REACHED_SINCE = "a change of these rows reaches {tables} since a moment ago: try again"


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
    travels with the first question, and its answers are returned. Raises DatabaseError.
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


async def touched(transaction: Transaction, log: AuditLog, tables: Iterable[str]) -> str:
    """Return why writing these tables ran code of an untrusted role, or "".

    It is asked before COMMIT, and in a dry run. ``tables``: those that the transaction wrote and its action does not
    name, with their schemas: a trigger may write to any table. The code has run, but nothing is committed. Raises
    DatabaseError.
    """
    parts = {each: [(each[:i], each[i + 1 :]) for i, c in enumerate(each) if c == "."] for each in tables}
    if not parts:
        return ""
    names = {name for pairs in parts.values() for _, name in pairs}
    (rows,) = await transaction.batch([trust_query([], log.trusted, names)])
    trust = Trust(rows)
    whys = (
        trust.unwritten(schema, name, command)
        for pairs in parts.values()
        for schema, name in pairs
        for command in ("", *CHANGES)
    )
    events = trust.event_trigger() if CATALOGS in parts else ""
    why = events or next(filter(None, whys), "")
    return f"{why}. It ran in this transaction, which was rolled back" if why else ""
