"""Exactly the printed privileges suffice for every read and every action."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Mapping

import msgspec

from queries.change import perform
from queries.change.plan import plan_versions
from queries.check.actions import ACTION_NODES, REASON
from queries.check.nodes import known_nodes
from queries.check.report import Notebook, first
from queries.check.scripts import script
from queries.check.subject import Subject
from queries.db.errors import DatabaseError, RefusedError
from queries.read.grants import grants
from queries.read.reader import Reader
from queries.records.action import Outcome
from queries.records.node import Node

NODES_COMPARED = 100  # nodes that both roles read


async def check_privileges(subject: Subject, notes: Notebook) -> None:
    """Read and dry-run everything as roles that have only the printed privileges.

    Raises DatabaseError.
    """
    lab = subject.lab
    database = await lab.filled()
    roles = {role: lab.name(role) for role in ("viewer", "operator")}
    password = secrets.token_hex(8)
    try:
        async with subject.opened(database) as (workspace, reader):
            all_nodes = await known_nodes(reader, NODES_COMPARED)
            statements = await grants(workspace.database, reader, [roles["viewer"]], [roles["operator"]])
            settings = dict(reader.engine.settings)
        await lab.run(database, script("create_roles", password=password, **roles) + ";".join(statements))
        for role, name in roles.items():
            async with subject.opened(database, user=name, password=password) as (workspace, theirs):
                await _check_reads(theirs, all_nodes, role, settings, notes)
                for each in subject.tried if role == "operator" else ():
                    versions = dict(list(each.changed.items())[:ACTION_NODES])
                    plan = plan_versions(workspace, theirs.label, each.action.name, versions)
                    plan = msgspec.structs.replace(plan, actions=dict.fromkeys(plan.actions, each.action))
                    dry_run = await perform.dry_run(workspace, plan, REASON, each.arguments)
                    notes.number += 1
                    for result in dry_run.results:
                        if result.outcome is Outcome.DENIED:
                            at = first(theirs.engine.actions[each.action.script]["change"])
                            message = f"{each.action.name}: the printed privileges do not suffice: {result.why}"
                            notes.fault(at, message)
    except RefusedError as error:
        notes.fault(None, error.line)
    finally:
        with contextlib.suppress(DatabaseError):
            await lab.run(database, script("drop_roles", **roles))


async def _check_reads(
    reader: Reader, all_nodes: Mapping[str, Node], role: str, settings: Mapping[str, object], notes: Notebook
) -> None:
    """Compare what a role sees with what the superuser sees."""
    if reader.detected.denied:
        notes.fault(None, f"the {role} may not read {', '.join(reader.detected.denied)}")
        return
    with notes.errors(what=f"as {role}: "):
        own_nodes = await known_nodes(reader, NODES_COMPARED)
        await reader.nodes.counts()
        await reader.samples.take()
        findings = await reader.findings.read()
        notes.number += len(own_nodes)
        if missing := all_nodes.keys() - own_nodes.keys():
            notes.fault(None, f"the {role} does not see {len(missing)} of {len(all_nodes)} nodes")
        if reader.engine.settings != settings:
            notes.fault(None, f"the {role} sees another variant of the engine")
        for skipped in findings.skipped_findings:
            if skipped.failed:
                notes.fault(first(reader.engine.statements[f"findings/{skipped.code}"]), f"as {role}: {skipped.why}")
