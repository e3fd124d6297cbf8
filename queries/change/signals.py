"""Actions on sessions: cancel the running statement, or end the session.

A signal cannot be rolled back. So the dry run only reads the sessions, and the commit writes the audit log entry before
it sends the signal. The guard, pid and start of the session, is in the statement that sends it.

The transaction, its mark, the entry, the answer to COMMIT and the outcome of an error are those of every change. Its
other steps are not: a script locks, copies and counts rows of an engine's tables, and a session has none.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from queries.change.plan import Plan
from queries.change.transaction import outcome_of
from queries.contract.server_spec import LABEL
from queries.contract.spec import Action
from queries.db.errors import DatabaseError, DeniedError, attempted
from queries.db.query import Rows, statement
from queries.log import audit_log, settle
from queries.records.action import Change, Outcome, Result, Risk, RowChange, titled
from queries.records.audit import AuditLogEntry
from queries.records.finding import Support
from queries.records.node import Node, Phase
from queries.workspace import Workspace

KIND = "backend"
SESSIONS_AT_ONCE = 5  # sessions at a time: the statement waits for each of them to end
TABLE = "pg_stat_activity"
STALE = "the pid belongs to another session now"
GONE = "the session has ended"
NOT_ENDED_YET = "the signal was sent, but the session has not ended yet"
LOST = "the connection was lost while the signal was sent"
UNRECORDED = "the signal was sent, but its audit log entry is not confirmed"

ACTIONS = {
    "cancel_query": Action(
        name="cancel_query",
        key="K",
        title="Cancel query",
        kinds=(KIND,),
        support=Support.NATIVE,
        risk=Risk.HIGH,
        confirm="typed",
        effect="The running statement of the session is cancelled. Its transaction fails, and the session stays.",
        next="A client in a transaction still holds its locks until it rolls back.",
    ),
    "end_session": Action(
        name="end_session",
        key="E",
        title="End session",
        kinds=(KIND,),
        support=Support.NATIVE,
        risk=Risk.HIGH,
        confirm="typed",
        effect="The session is ended and its transaction is rolled back. Cannot be undone.",
        next="Its locks are free. The client gets an error; behind a pooler, the client of the next transaction may.",
    ),
}


def plan(name: str, ids: Iterable[str]) -> Plan:
    """Plan an action on sessions.

    An id may end in ``@`` and the start of the session, as the id of a blocker does. Raises DatabaseError.
    """
    action = ACTIONS.get(name)
    if action is None:
        raise DatabaseError(f"{name} is not an action for a session; there is {' and '.join(ACTIONS)}.")
    parts = [node_id.partition("@") for node_id in ids]
    versions = {node_id: started for node_id, _, started in parts}
    wrong = next(
        (i for i in versions if not (i.startswith(f"{LABEL}/{KIND}:") and i.partition(":")[2].isdecimal())), None
    )
    if wrong is not None or len(versions) > SESSIONS_AT_ONCE:
        why = (
            f"{wrong!r} is not a session (expected {LABEL}/{KIND}:PID)"
            if wrong
            else f"More than {SESSIONS_AT_ONCE} sessions"
        )
        raise DatabaseError(f"{why}.", "Nothing was changed.")
    return Plan(label=LABEL, name=name, actions={KIND: action}, versions=versions)


def named(evidence: Mapping[str, Any]) -> tuple[str, float] | None:
    """Return the session that a finding names as its cause: its id, and when it began."""
    pid, began = evidence.get("blocker") or evidence.get("pid"), evidence.get("backend_start")
    if pid is None or began is None:
        return None
    started = datetime.fromisoformat(began).timestamp() if isinstance(began, str) else began
    return f"{LABEL}/{KIND}:{pid}", started


def plan_session(name: str, session_id: str, title: str, backend_start: float) -> Plan:
    """Plan an action on one session that the operator selected on a screen."""
    version = f"{backend_start:.6f}"
    node = Node(engine=LABEL, id=session_id, kind=KIND, title=title, phase=Phase.RUNNING, version=version)
    planned = plan(name, [f"{session_id}@{version}"])
    return msgspec.structs.replace(planned, nodes=(node,), key=ACTIONS[name].key, titles={session_id: title})


async def dry_run(workspace: Workspace, plan: Plan, reason: str) -> Change:
    """Read the sessions and return what would be signalled. Raises DatabaseError."""
    rows = await targets(workspace, plan.versions)
    versions = {i: version or (rows[i]["started"] or "" if i in rows else "") for i, version in plan.versions.items()}
    results = [
        Result(id=i, outcome=outcome, why=why)
        for i in plan.versions
        for outcome, why in [_outcome(workspace, plan.name, rows.get(i), versions[i])]
    ]
    changed = [r.id for r in results if r.outcome is Outcome.CHANGED]
    return Change(
        engine=LABEL,
        action=plan.name,
        reason=reason,
        arguments={},
        results=tuple(results),
        changes=tuple(_change(plan.name, i, rows[i]) for i in changed),
        versions=versions,
        row_digests={},
        at=max((row["now"] for row in rows.values()), default=0.0) or time.time(),
        audit_log=workspace.audit_log.place,
        titles={**{i: _title(row) for i, row in rows.items()}, **plan.titles},
    )


async def commit(workspace: Workspace, dry_run: Change, operator: audit_log.Operator) -> Change:
    """Signal the sessions of the dry run that are still the same.

    Errors become outcomes.
    """
    skipped = [r for r in dry_run.results if r.outcome is not Outcome.CHANGED]
    ids = [i for i in dry_run.versions if i not in {r.id for r in skipped}]
    try:
        results, xid = await _send(workspace, dry_run, ids, operator) if ids else ([], None)
    except DatabaseError as error:
        results, xid = [Result(id=i, outcome=outcome_of(error), why=error.line) for i in ids], None
    sent = {r.id for r in results if r.outcome is Outcome.CHANGED}
    recorded = xid is not None and any(r.outcome in (Outcome.CHANGED, Outcome.UNKNOWN) for r in results)
    return Change(
        results=tuple(sorted([*skipped, *results], key=lambda r: r.id)),
        changes=tuple(c for c in dry_run.changes if c.id in sent),
        xid=xid,
        audit_log=workspace.audit_log.place if recorded else None,
    )


async def _send(
    workspace: Workspace, dry_run: Change, ids: Sequence[str], operator: audit_log.Operator
) -> tuple[list[Result], str | None]:
    """Record the intent, send the signals, record the outcome.

    Raises DatabaseError if no signal was sent.
    """
    log = workspace.audit_log.destination
    values = {"ids": [i.partition(":")[2] for i in ids], "versions": [dry_run.versions[i] for i in ids]}
    results: list[Result] = []
    try:
        async with workspace.database.writing() as transaction:
            mark, trust = await settle.mark_of(transaction), await log.trust(transaction)
            entry = AuditLogEntry(
                id=audit_log.entry_id(),
                at=mark.at,
                role=workspace.server.role,
                os_user=operator.os_user,
                host=operator.host,
                engine=LABEL,
                schema="",
                action=dry_run.action,
                reason=dry_run.reason,
                xid=mark.xid,
                results=titled((Result(id=i, outcome=Outcome.CHANGED) for i in ids), dry_run.titles),
                changes=dry_run.changes,
            )
            await transaction.control("SAVEPOINT intent")
            # It fails now if the role may not write it, before a signal is sent.
            await log.write(transaction, entry, trust)
            results = [Result(id=i, outcome=Outcome.UNKNOWN, why=LOST) for i in ids]
            answer = await attempted(transaction.rows(statement(dry_run.action), values))
            results = _results(ids, dry_run.action, answer)
            entry = msgspec.structs.replace(entry, results=titled(results, dry_run.titles))
            await transaction.control("ROLLBACK TO SAVEPOINT intent")
            # A file keeps the intent.
            if isinstance(log, audit_log.Table) and any(r.outcome is not Outcome.STALE for r in results):
                await log.write(transaction, entry, trust)
            status = await settle.send_commit(transaction)
    except DatabaseError:
        if not results:
            raise
        status = settle.UNKNOWN  # no rollback takes a signal back
    log.settle(msgspec.structs.replace(entry, results=titled(results, dry_run.titles)))
    if status != settle.COMMITTED:
        results = [msgspec.structs.replace(r, why=UNRECORDED) if r.outcome is Outcome.CHANGED else r for r in results]
    return results, mark.xid


def _results(ids: Sequence[str], action: str, answer: Rows | DatabaseError) -> list[Result]:
    """Return the outcomes of the sessions from the server's answer.

    If the statement failed for one of several sessions, those before it have got the signal.
    """
    if isinstance(answer, DatabaseError):
        outcome = Outcome.DENIED if isinstance(answer, DeniedError) and len(ids) == 1 else Outcome.UNKNOWN
        return [Result(id=i, outcome=outcome, why=answer.line) for i in ids]
    answers = {f"{LABEL}/{row['id']}": row["done"] for row in answer}
    return [_sent(i, action, answers.get(i)) for i in ids]


def _sent(session_id: str, action: str, done: bool | None) -> Result:
    """Return the outcome of one session.

    ``done`` is the server's answer, None if the guard did not match.
    """
    if done is None:
        why = "the session has ended, or its statement has" if action == "cancel_query" else f"{GONE}, or {STALE}"
        return Result(id=session_id, outcome=Outcome.STALE, why=why)
    if not done and action == "cancel_query":
        return Result(id=session_id, outcome=Outcome.GONE, why=f"the server could not send the signal: {GONE}")
    return Result(id=session_id, outcome=Outcome.CHANGED, why="" if done else NOT_ENDED_YET)


async def targets(workspace: Workspace, ids: Iterable[str]) -> dict[str, Mapping[str, Any]]:
    """Return the rows of ``signal_targets.sql`` by id. Raises DatabaseError."""
    async with workspace.database.reading() as transaction:
        rows = await transaction.rows(statement("signal_targets"), {"ids": [i.partition(":")[2] for i in ids]})
    return {f"{LABEL}/{row['id']}": row for row in rows}


def _title(row: Mapping[str, Any]) -> str:
    session = msgspec.json.decode(row["row"])
    return f"pid {session['pid']} ({session['application'] or row['type']}, role {session['role']})"


def _outcome(workspace: Workspace, action: str, row: Mapping[str, Any] | None, version: str) -> tuple[Outcome, str]:
    """Return the expected outcome for a session, and why it is skipped."""
    role = workspace.server.role
    if why := workspace.read_only or workspace.database.why_read_only():
        return Outcome.REFUSED, why
    if workspace.audit_log.no_entries:
        return Outcome.REFUSED, workspace.audit_log.no_entries
    if row is None:
        return Outcome.GONE, GONE
    if row["started"] is None:
        return Outcome.DENIED, f"the role {role} may not see when the session began. GRANT pg_monitor TO {role}"
    if row["started"] != version:
        return Outcome.STALE, STALE
    if row["own"] or str(row["id"]).partition(":")[2] in workspace.database.pids:
        return Outcome.REFUSED, "this is a connection of this console"
    if not row["may"]:
        why = "only a superuser may" if row["superuser"] else f"it needs GRANT pg_signal_backend TO {role}"
        return Outcome.DENIED, f"the role {role} may not signal it: {why}"
    if row["type"] != "client backend":
        return Outcome.REFUSED, f"it is not a client's session but a process of the server: {row['type']}"
    if action == "cancel_query" and row["state"] != "active":
        return Outcome.REFUSED, f"no statement is running ({row['state']}). Ending the session releases its locks"
    return Outcome.CHANGED, ""


def _change(action: str, session_id: str, row: Mapping[str, Any]) -> RowChange:
    """Return a session as a changed row: without its statement, or deleted."""
    before = msgspec.json.decode(row["row"])
    after = None if action == "end_session" else {**before, "statement": None}
    return RowChange(id=session_id, table=TABLE, key=session_id.partition(":")[2], before=before, after=after)
