"""Trials of a worker's next statement on a node, and their findings.

The statements are the sections of ``worker.try.sql`` in the engine's folder; :mod:`queries.change.trial` runs them. The
server's answer is evidence: what it refuses, no worker can do.
"""

from __future__ import annotations

import msgspec

from queries.contract.folder import TRY
from queries.contract.server_spec import server_spec
from queries.contract.spec import Action
from queries.db.errors import DatabaseError, attempted
from queries.db.query import Query, statement
from queries.files.statement import Statement
from queries.read.findings import finding_of
from queries.read.reader import Reader
from queries.records.action import Proof
from queries.records.attempt import Attempt, Trial
from queries.records.finding import Finding
from queries.records.node import Node, Phase, a_kind
from queries.text.psql_text import quoted_name
from queries.workspace import Workspace

RUNNING = ("progress", "finish", "fail")  # sections for a node that a worker has; ``claim`` is for the others
OVER = (Phase.DONE, Phase.FAILED, Phase.CANCELLED)
NONE_DECLARED = "this engine declares no statement to try"


def refused(trial: Trial, why: str) -> Attempt:
    """Return that nothing was tried, with the reason."""
    return Attempt(trial=msgspec.structs.replace(trial, refused=why))


async def prepare(workspace: Workspace, node_id: str, role: str = "") -> Trial | None:
    """Return the trial of a node, None if the node does not exist.

    ``role``: instead of the worker's. Raises DatabaseError.
    """
    reader = workspace.reader(node_id)
    node = next(iter((await reader.nodes.read([node_id])).nodes), None)
    if node is None:
        return None
    trial = Trial(node_id=node.id, title=node.title, kind=node.kind, phase=node.phase, version=node.version)
    if workspace.database.why_read_only():  # the cached state may be old: a standby may have been promoted
        await workspace.database.renew()
    action, parts = reader.engine.trial, parts_of(reader, node.kind, node.phase)
    if action is None or (why := _refusal(reader, action, node)):
        why = f"{reader.label}: {NONE_DECLARED}" if action is None else why
        return msgspec.structs.replace(trial, refused=why)
    trial = msgspec.structs.replace(
        trial,
        statements={name: ";\n".join(part.text for part in each) for name, each in parts.items()},
        assumed=any(part.assumed for each in parts.values() for part in each),
    )
    return await _with_role(workspace, reader, action, trial, role)


def _refusal(reader: Reader, action: Action, node: Node) -> str:
    available = reader.availability(msgspec.structs.replace(action, privileges=()))
    if not available.ok:
        return available.why
    if why := reader.detected.why_unsafe(action.privileges):
        return why
    if node.phase in OVER:
        return f"it is {node.phase}: no worker writes to it any more"
    there = parts_of(reader, node.kind, node.phase)
    return "" if there else f"{NONE_DECLARED} on {a_kind(node.kind)} that is {node.phase}"


def parts_of(reader: Reader, kind: str, phase: Phase) -> dict[str, tuple[Statement, ...]]:
    """Return a worker's next statements on a node of a kind and phase, by section."""
    sections, met = reader.engine.actions.get(TRY, {}), reader.detected.met_needs
    names = RUNNING if phase is Phase.RUNNING else ("claim",)
    parts = {n: tuple(p for p in sections.get(n, ()) if p.is_for(kind) and p.needs <= met) for n in names}
    return {name: each for name, each in parts.items() if each}


async def _with_role(workspace: Workspace, reader: Reader, action: Action, trial: Trial, asked: str) -> Trial:
    """Return a trial with the worker's role.

    That is the one with most sessions, or the only one that could be it.
    """
    server = workspace.server_findings
    if not server.counters.read:
        await attempted(server.findings())
    sessions = {each.role: each.n for each in sorted(server.sessions(reader.label), key=lambda each: -each.n)}
    pairs = ((name, word) for word, _, name in (p.partition(" ") for p in action.privileges))
    needed = [pair for pair in pairs if pair[0] in reader.detected.relations]
    values = {"ids": [asked] if asked else [*sessions], "schema": reader.detected.schema, "args": needed}
    (rows,) = await workspace.database.batch([Query(statement("try_roles"), values)])
    roles = {row["role"]: row for row in rows}
    own = next(row["role"] for row in rows if row["own"])
    if asked and asked not in roles:
        return msgspec.structs.replace(trial, refused=f"there is no role {asked}")
    connected = [role for role in sessions if role in roles]
    able = [row["role"] for row in rows if row["able"] and not row["own"]]
    role, why = own, "yours, because the worker's is not known"
    if asked:
        role, why = asked, "as asked"
    elif connected:
        role, why = connected[0], "of the sessions that may be workers"
    elif len(able) == 1:
        role, why = able[0], "the only one that logs in and has a worker's privileges"
    others = [each for each in connected or able if each != role]
    if others and not asked:
        why = f"{why}; --as tries another: {', '.join(others)}"
    trial = msgspec.structs.replace(trial, role=role, why=why, own=role == own)
    if trial.own or roles[role]["may"]:
        return trial
    why = f"{own} may not SET ROLE {role}: GRANT {quoted_name(role)} TO {quoted_name(own)}"
    return msgspec.structs.replace(trial, refused=why)


def noted(workspace: Workspace, made: Attempt) -> Attempt:
    """Return an attempt with its finding, and keep the finding in the session."""
    trial, workspace.tried = made.trial, {i: each for i, each in workspace.tried.items() if i != made.trial.node_id}
    step = next((each for each in made.steps if each.refused), None)
    if step is None:
        return made
    evidence = {"statement": step.statement, "role": trial.role, "said": step.refused, **step.error}
    label, spec = workspace.reader(trial.node_id).label, server_spec().codes["try_refused"]
    proof = Proof.ASSUMED if trial.assumed else Proof.VERIFIED
    finding = finding_of(spec, trial.node_id, None, evidence, proof=proof, affects=[label])
    workspace.tried[trial.node_id] = trial.version, finding
    return msgspec.structs.replace(made, finding=finding)


async def refusals(workspace: Workspace) -> tuple[Finding, ...]:
    """Return what was refused on unchanged nodes. Raises NO_CONNECTION only."""
    found: list[Finding] = []
    for label, reader in workspace.engines.items():
        ids = [node_id for node_id in workspace.tried if node_id.startswith(f"{label}/")]
        nodes = await attempted(reader.nodes.read(ids)) if ids else None
        if nodes is not None and not isinstance(nodes, DatabaseError):
            same = {(node.id, node.version) for node in nodes.nodes}
            found += [workspace.tried[each][1] for each in ids if (each, workspace.tried[each][0]) in same]
    return tuple(found)
