"""Read who locks the rows of nodes, and who waits for whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from queries.contract.server_spec import LABEL, server_spec
from queries.contract.spec import FindingSpec
from queries.db.combined import renumbered
from queries.db.database import Database
from queries.db.errors import DatabaseError, attempted, readable
from queries.db.query import Query, Rows, statement
from queries.db.reads import NOW, Reads
from queries.files.statement import with_parts
from queries.read.findings import finding_of
from queries.read.incidents import rank
from queries.read.reader import Reader
from queries.read.server_findings import ServerFindings
from queries.records.action import Proof
from queries.records.finding import Finding, Findings, SkippedFinding
from queries.records.lock import Blockers, LockSession, RowHolder
from queries.text.duration import spelled
from queries.text.instant import unknown_last

ROW_LOCKED, LATE_ROWS_LOCKED = "row_locked", "late_rows_locked"
SESSION_WAITS, CLIENT_WAITS = "session_waits", "client_waits"
SYMPTOMS = {"late", "locked", "dead_owner"}
LATE_NODES_READ = 200  # nodes of which the rows are read at each refresh
WAITING_SESSIONS_READ = 100  # waiting sessions that are read at each refresh
WAITING_SESSIONS_ASKED = 300  # ... that are read if the operator asks
SESSION_JSON = dict.fromkeys(("backend_start", "since", "state_since", "waits_since", "now"), "float")
STANDBY = "A standby has no row locks. Those of the primary are not visible here."
ENDED = "No transaction in progress locks a row of this node."

Readers = Mapping[str, Reader]
EngineQuery = tuple[Reader, Query]  # about the rows of one engine's nodes


async def blockers(database: Database, readers: Readers, ids: Collection[str] = ()) -> Blockers:
    """Return the sessions that lock the rows of these nodes.

    Without ``ids``, all sessions that block others on the engines' tables or change them. Raises DatabaseError.
    """
    asked = [] if _standby(database) else _asked(readers, ids)
    rows: Rows = ()
    unread = ""
    if asked:
        async with database.reading() as transaction:
            (answer,) = await transaction.each([_composed(asked)])
        if isinstance(answer, DatabaseError):
            unread = answer.line
        else:
            rows = answer
    every = () if ids and not unread else readers.values()
    async with database.reading() as transaction:
        read = await _sessions(transaction, rows, asked, every, WAITING_SESSIONS_ASKED)
    notes = [unread] if unread else _notes(database, read, ids)
    return msgspec.structs.replace(
        read, node_ids=tuple(ids), root_ids=tuple(_root_ids(read, ids)), notes=(*notes, *read.notes)
    )


async def row_locked(
    database: Database, readers: Readers, of_engines: Iterable[Finding], server: ServerFindings | None = None
) -> Findings:
    """Return the findings about row locks: locked nodes, and sessions that wait.

    ``of_engines``: findings. ``server`` knows if sessions wait for rows. Without either, nothing is read. The rows of
    nodes that are late or locked take one statement, the sessions another one. ``server`` also knows which sessions may
    be workers of an engine. Without it, any session may be one. Raises an error of NO_CONNECTION only.
    """
    if _standby(database):
        return Findings(findings=(), at=0.0)
    of_engines = tuple(of_engines)
    late = _symptomatic(readers, of_engines)
    ids = list(dict.fromkeys((*late, *(f.node_id for f in of_engines if f.action))))[:LATE_NODES_READ]
    asked = _asked(readers, ids)
    skipped: list[SkippedFinding] = []
    reads = [_locks(database, asked, skipped)] if asked else []
    reads += [_waits(database, readers, skipped)] if of_engines or (server is not None and server.row_waits) else []
    read: list[list[Blockers]] = await database.together(*reads)
    parts = read.pop(0) if asked else []
    sessions = [each for some in read for each in some]
    role = database.server.role if database.server else ""
    locked = [finding for part in parts for finding in _findings(part, role)]
    causes = [each for each in locked if each.node_id in late]
    # Of the other nodes a lock is no cause, but their suggested action has to wait for it.
    findings = causes + [msgspec.structs.replace(each, suspected=True) for each in locked if each.node_id not in late]
    if server is not None:
        findings += _mostly(causes, Counter(node_id.partition("/")[0] for node_id in late), server)
    for each in sessions:
        findings += _waiting(each, role, server)
    at = max((part.at for part in parts), default=0.0)
    return Findings(findings=tuple(sorted(findings, key=rank)), at=at, skipped_findings=tuple(skipped))


async def _locks(database: Database, asked: Sequence[EngineQuery], skipped: list[SkippedFinding]) -> list[Blockers]:
    """Read the sessions that lock rows. What cannot be read is added to ``skipped``."""

    async def lockers(some: Sequence[EngineQuery]) -> list[Blockers]:
        async with database.reading() as transaction:
            (rows,) = await transaction.batch([_composed(some)])
            return [await _sessions(transaction, rows, some, (), WAITING_SESSIONS_READ)] if rows else []

    parts = []
    turns: list[Sequence[EngineQuery]] = [asked]
    while turns:
        some = turns.pop(0)
        read = await attempted(lockers(some))
        if not isinstance(read, DatabaseError):
            parts += read
        elif len(some) > 1:  # one engine's locked or forbidden table makes the whole statement fail
            turns.extend([each] for each in some)
        else:
            skipped.append(SkippedFinding(engine=some[0][0].label, code=ROW_LOCKED, why=read.line, failed=True))
    return parts


async def _waits(database: Database, readers: Readers, skipped: list[SkippedFinding]) -> list[Blockers]:
    """Read the sessions that wait.

    If they cannot be read, that is added to ``skipped``.
    """
    async with database.reading() as transaction:
        read = await attempted(_sessions(transaction, (), (), readers.values(), WAITING_SESSIONS_READ))
    if isinstance(read, DatabaseError):
        skipped.append(SkippedFinding(engine=LABEL, code=SESSION_WAITS, why=read.line, failed=True))
        return []
    return [read]


async def holders_of(transaction: Reads, reader: Reader, ids: Collection[str]) -> dict[str, str]:
    """Return by node the sessions that lock its rows, with their state.

    ``transaction`` has begun; a failure aborts it.
    """
    asked = _asked({reader.label: reader}, ids)
    (rows,) = await transaction.batch([_composed(asked)]) if asked else ([],)
    if not rows:
        return {}
    read = await _sessions(transaction, rows, asked, (), WAITING_SESSIONS_READ)
    return {node_id: _named(read, holders) for node_id, holders in _by_node(read).items()}


def _by_node(read: Blockers) -> dict[str, list[RowHolder]]:
    by_node: dict[str, list[RowHolder]] = {}
    for holder in read.holders:
        by_node.setdefault(holder.node_id, []).append(holder)
    return by_node


def _named(read: Blockers, holders: Sequence[RowHolder]) -> str:
    sessions = {s.id: s for h in holders if (s := read.session(h.session_id)) is not None}.values()
    names = ", ".join(f"{s.name}{f', {s.state}' if s.state else ''}" for s in sessions)
    roots = {r.id: r for s in sessions for r in read.roots(s.id) if s.blocked_by}.values()
    behind = f", which waits for {', '.join(r.name for r in roots)}" if roots else ""
    return names + behind if all(h.sure for h in holders) else f"one of {names}{behind}"


def grant(role: str) -> str:
    """Return how a role may see what sessions do."""
    return f"to see what it does: GRANT pg_monitor TO {role}"


def _symptomatic(readers: Readers, findings: Iterable[Finding]) -> list[str]:
    words = {(label, f.code): f.symptom for label, r in readers.items() for f in r.engine.spec.findings}
    late = [f for f in findings if words.get((f.engine, f.code)) in SYMPTOMS]
    late.sort(key=lambda f: (unknown_last(f.since), f.node_id))
    return list(dict.fromkeys(f.node_id for f in late))[:LATE_NODES_READ]


def _standby(database: Database) -> bool:
    return database.server is not None and database.server.standby


def _asked(readers: Readers, ids: Iterable[str]) -> list[EngineQuery]:
    """Return the nodes by engine. Engines without ``rows.sql`` have none."""
    by_label: dict[str, list[str]] = {}
    for node_id in ids:
        by_label.setdefault(node_id.partition("/")[0], []).append(node_id)
    asked = []
    for label, some in by_label.items():
        reader = readers.get(label)  # None: its tables are gone, or are a guess that was hidden
        chosen = reader.variant.select("rows") if reader else None
        if reader and chosen is not None:
            asked.append((reader, Query(chosen, reader.nodes.parameters_of([reader.ids.local(i) for i in some]))))
    return asked


def _composed(asked: Sequence[EngineQuery]) -> Query:
    parts, parameters, values = [], list[str](), dict[str, Any]()
    for number, (_, query) in enumerate(asked):
        arguments = {f"{name} {number}": value for name, value in query.arguments.items()}
        first = len(parameters)
        text = renumbered(query.statement.text, range(first + 1, first + len(arguments) + 1))
        parts.append(f"(SELECT {number} AS engine, r.* FROM (\n{text}\n) AS r)")
        parameters += arguments
        values |= arguments
    whole = statement("row_locks")
    text = with_parts(whole.text, {"rows": "\nUNION ALL\n".join(parts)})
    whole = msgspec.structs.replace(whole, text=text, parameters=tuple(parameters))
    return Query(whole, values, json={"prepared": "float"})


async def _sessions(
    transaction: Reads, rows: Rows, asked: Sequence[EngineQuery], readers: Iterable[Reader], waiting: int
) -> Blockers:
    """Read the sessions that the rows of ``row_locks.sql`` name, and those that wait."""
    pids = sorted({row["pid"] for row in rows if row["pid"] is not None})
    tables = [[r.detected.schema, name, r.label] for r in readers for name in r.detected.relations]
    values = {"ids": [str(pid) for pid in pids], "limit": waiting, "args": tables}
    now, read = await transaction.batch([NOW, Query(statement("lock_sessions"), values, json=SESSION_JSON)])
    with readable("lock_sessions.sql"):
        sessions = {s.id: s for s in map(_session, read)}
    for row in rows:  # a prepared transaction that nothing waits for
        if row["gid"]:
            sessions.setdefault(_id(row), LockSession(id=_id(row), gid=row["gid"], since=row["prepared"]))
    every = read[0]["all_waiting"] if read else 0
    return Blockers(
        at=float(now[0]["now"]),
        holders=tuple(_holders(rows, asked, sessions)),
        waiters=tuple(dict.fromkeys(_id(row) for row in rows if row["how"] == "waits" and _id(row) in sessions)),
        sessions=tuple(sessions.values()),
        notes=(f"{every} sessions wait for locks; the {waiting} that wait longest were read.",)
        if every > waiting
        else (),
    )


def _id(row: Mapping[str, Any]) -> str:
    return f"{LABEL}/prepared:{row['gid']}" if row["pid"] is None else f"{LABEL}/backend:{row['pid']}"


def _session(row: Mapping[str, Any]) -> LockSession:
    blocked = tuple(f"{LABEL}/{'backend' if b.isdigit() else 'prepared'}:{b}" for b in row["blocked_by"])
    return msgspec.convert({**row, "id": _id(row), "blocked_by": blocked}, LockSession)


def _holders(rows: Rows, asked: Sequence[EngineQuery], sessions: Mapping[str, LockSession]) -> Iterable[RowHolder]:
    """Yield the holders of each row.

    Several exclusive holders, or several candidates for a released savepoint, cannot all be right.
    """
    by_row: dict[tuple[int, str, str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["how"] != "waits" and _id(row) in sessions:
            by_row.setdefault((row["engine"], row["id"], row["table"], row["place"]), []).append(row)
    for (number, local, table, _), some in by_row.items():
        modes = {_id(row): row["how"] for row in some}
        kinds = {"shared" if row["how"] not in ("locks", "released") else row["how"] for row in some}
        sure = len(modes) == 1 or kinds == {"shared"}
        for session_id, how in modes.items():
            yield RowHolder(
                node_id=f"{asked[number][0].label}/{local}",
                table=table,
                session_id=session_id,
                mode="" if how in ("locks", "released") else how,
                sure=sure,
            )


def _notes(database: Database, read: Blockers, ids: Collection[str]) -> Iterable[str]:
    if _standby(database):
        yield STANDBY
    elif ids and not read.holders:
        yield ENDED
    if any(s.hidden for s in read.sessions) and database.server is not None:
        yield f"The activity of some sessions is hidden; {grant(database.server.role)}."


def _root_ids(read: Blockers, ids: Collection[str]) -> Iterable[str]:
    ends = {s.id for s in read.sessions if s.tables}
    if ids and (read.holders or read.waiters):
        ends = {*(h.session_id for h in read.holders), *read.waiters}
    roots = {root.id: root for end in ends for root in read.roots(end)}
    return sorted(roots, key=lambda i: (unknown_last(roots[i].since), i))


# Findings


def _findings(read: Blockers, role: str) -> Iterable[Finding]:
    spec, least = server_spec().codes[ROW_LOCKED], server_spec().settings[ROW_LOCKED]
    for node_id, holders in _by_node(read).items():
        named = [s for h in holders if (s := read.session(h.session_id)) is not None]
        old = [s for s in named if s.since is None or read.at - s.since >= least]
        if old:
            yield _finding(spec, node_id, read, named, role, sure=all(h.sure for h in holders))


def _finding(
    spec: FindingSpec, node_id: str, read: Blockers, holders: Sequence[LockSession], role: str, *, sure: bool
) -> Finding:
    holders = list({s.id: s for s in holders}.values())
    roots = list({r.id: r for s in holders for r in read.roots(s.id)}.values())
    first = min(roots, key=lambda s: unknown_last(s.since))
    names = ", ".join(sorted(s.name for s in holders))
    root = ", ".join(sorted(s.name for s in roots))
    evidence = {
        "holder": names if sure else f"one of {names}",
        "root": root if sure or len(roots) == 1 else f"one of {root}",
        "pid": first.pid,
        "blocker": first.pid,
        "backend_start": first.backend_start,
        "gid": first.gid,
        "age": "an unknown time" if first.since is None else spelled(max(read.at - first.since, 0.0)),
        "state": _state(first, role),
        "through": through(holders, roots),
        "query": first.query,
        "session": first.id,
        "role": first.role,
        "application": first.application,
    }
    proof, affects = spec.proof if sure else Proof.ASSUMED, [node_id.partition("/")[0]]
    return finding_of(spec, node_id, first.since, evidence, proof=proof, affects=affects)


def through(holders: Sequence[LockSession], roots: Sequence[LockSession]) -> str:
    """Return what the holders of a lock wait for, as the end of a clause."""
    held = {s.id for s in holders}
    others = ", ".join(sorted(s.name for s in roots if s.id not in held))
    deadlock = ", which waits for it" if any(s.id in held for s in roots) else ""
    return f" and waits for {others}{deadlock}" if others else ""


def _mostly(locked: Sequence[Finding], late: Mapping[str, int], server: ServerFindings) -> list[Finding]:
    """Return a finding for each session that locks most of an engine's late nodes.

    Without a connected worker the lock is no reason for a standstill.
    """
    spec = server_spec().codes[LATE_ROWS_LOCKED]
    groups: dict[tuple[str, Any, Any], list[Finding]] = {}
    for finding in locked:
        evidence = finding.evidence
        groups.setdefault((*finding.affects, evidence["root"], evidence["backend_start"]), []).append(finding)
    findings = []
    for (label, root, backend_start), some in groups.items():
        first = some[0]
        who = first.evidence["role"], first.evidence["application"]
        if len(some) * 2 < late[label] or not server.working(label, *who):
            continue
        evidence = {"label": label, "n": len(some), "all": late[label], "root": root, "backend_start": backend_start}
        evidence["blocker"] = first.evidence["blocker"]
        node_id = f"{LABEL}/engine:{label}"
        findings.append(finding_of(spec, node_id, first.since, evidence, affects=first.affects))
    return findings


def _waiting(read: Blockers, role: str, server: ServerFindings | None) -> Iterable[Finding]:
    """Yield a finding for each session that waits for an engine's row.

    A short wait is only suspected: the session may have just begun to wait, or may give up each time and try again.
    """
    specs = server_spec().codes
    least = server_spec().settings[SESSION_WAITS]
    suspected = min(least, server_spec().settings[ROW_LOCKED])
    for session in read.sessions:
        waits = read.at - session.waits_since if session.waits_since is not None else 0.0
        roots = read.roots(session.id)
        first = min(roots, key=lambda s: unknown_last(s.since))
        held = read.at - first.since if first.since is not None else 0.0
        if not (session.engines and session.waits_for_row) or max(waits, held) < suspected:
            continue
        who = session.role, session.application
        may_work = server is None or any(server.may_work(label, *who) for label in session.engines)
        spec = specs[SESSION_WAITS if may_work else CLIENT_WAITS]
        evidence = {
            "waiter": session.name,
            "pid": session.pid,
            "tables": ", ".join(session.tables),
            "waits": spelled(max(waits, 0.0)),
            "root": ", ".join(sorted(s.name for s in roots)),
            "behind": ", ".join(sorted(s.name for s in roots if s.id != session.id)) or session.name,
            "blocker": first.pid,
            "backend_start": first.backend_start,
            "state": _state(first, role),
        }
        since, short = session.waits_since, waits < least
        yield finding_of(spec, session.id, since, evidence, affects=session.engines, suspected=short)


def _state(session: LockSession, role: str) -> str:
    """Return what a session does, as the end of a clause."""
    if session.gid:
        return f"; COMMIT PREPARED or ROLLBACK PREPARED '{session.gid}' ends it"
    if session.hidden:
        return f" ({grant(role)})"
    return f", {session.state}" if session.state else ""
