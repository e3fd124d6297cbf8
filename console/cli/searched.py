"""Nodes of an incident, a filter or a dead-letter group, as they are now."""

from __future__ import annotations

from collections.abc import Sequence

import click

from console.cli import stuck
from console.cli.arguments import unknown_action
from console.cli.carry_out import EmptyError
from console.cli.output import say
from console.cli.selected import Selected
from console.cli.target import select_readers
from console.model import incident_nodes
from console.model.dead_letter_board import read_dead_letters
from console.model.filter import Filter
from console.model.selection import SELECTED_FINDING_NODES, may_match, select
from console.text import formatting
from queries.contract.server_spec import LABEL
from queries.db.errors import UNCHANGED, DatabaseError
from queries.read.nodes import NODES_AT_ONCE
from queries.read.reader import Reader
from queries.records.dead_letter import DeadLetter
from queries.records.finding import OPEN, Incident
from queries.text.duration import spelled
from queries.workspace import Workspace

GROUP_DEAD_LETTERS = 10_000  # dead letters that are read for --group
SAMPLE_SECONDS = 6.0  # of samples before an incident that needs them is looked for
SAMPLES_TAKEN = 10  # before it counts as ended


async def of_incident(workspace: Workspace, key: str, action: str, limit: int | None) -> Selected:
    """Return the nodes of an incident as it is now, and its suggested arguments."""
    incident = await _incident(workspace, key, None)
    sampled = incident is None and any(
        spec.sampled and key.partition(":")[0] == f"{reader.label}/{spec.code}"
        for reader in workspace.engines.values()
        for spec in reader.engine.spec.findings
    )
    if sampled:
        say(f"{key} needs samples: looking at the database for up to {spelled(SAMPLES_TAKEN * SAMPLE_SECONDS)}.")
    for _ in range(SAMPLES_TAKEN if sampled else 0):
        if incident := await _incident(workspace, key, SAMPLE_SECONDS):
            break
    if incident is None:
        lists = workspace.database.command("stuck")
        raise DatabaseError(f"There is no incident {key} now.", f"{UNCHANGED} `{lists}` lists the incidents.")
    if incident.capped and incident.engine in workspace.engines:
        whole = await incident_nodes.whole(workspace, incident, limit)
        incident = whole.incident
        if whole.why:
            say(f"The incident may have more nodes than the {len(incident.node_ids)} that are acted on: {whole.why}.")
    return Selected(
        ids=tuple(node for node in incident.node_ids if not node.startswith(f"{LABEL}/")),
        guards={f.node_id: f.guard for f in incident.findings if f.guard and f.action == action},
        arguments=_suggested(incident) if incident.action == action else (),
    )


async def _incident(workspace: Workspace, key: str, sample: float | None) -> Incident | None:
    """Return an incident as it is now, after samples for ``sample`` seconds."""
    now, notes = await stuck.read(workspace, list(workspace.engines.values()), SELECTED_FINDING_NODES, sample)
    say(*notes)
    return next((incident for incident in now.incidents if incident.key == key), None)


def _suggested(incident: Incident) -> tuple[str, ...]:
    return tuple(f"{name}={value}" for name, value in incident.arguments.items() if value != OPEN)


async def of_group(workspace: Workspace, key: str, limit: int | None) -> Selected:
    """Return the dead letters of a group, guarded by their versions."""
    members, _ = await members_of(workspace, key, limit)  # with a limit, the newest
    return Selected(
        ids=tuple(each.node.id for each in members), guards={each.node.id: each.node.version for each in members}
    )


async def members_of(workspace: Workspace, key: str, limit: int | None) -> tuple[list[DeadLetter], str]:
    """Return the dead letters of a group, newest first, and why some may be missing.

    Raises EmptyError; DatabaseError if some may be missing and ``limit`` is more than were read.
    """
    report = await read_dead_letters(workspace.named(key.partition("/")[0]), GROUP_DEAD_LETTERS)
    of_group = report.of_group(key)
    if report.unreadable:
        raise DatabaseError(f"The dead letters cannot be read: {report.unreadable}", "Nothing was changed.")
    if not of_group.groups and not report.capped:
        lists = workspace.database.command("dead")
        raise EmptyError(f"There is no group {key} now.\n{UNCHANGED} `{lists}` lists the groups.")
    members = list(of_group.dead_letters)
    part = report.scope or f"the newest {len(report.dead_letters):,} dead letters"
    why = formatting.scope_note(part) if report.capped else ""
    whys = [report.scan_required.why if report.scan_required is not None else why]
    return members, _complete(whys, limited=limit is not None and len(members) >= limit)


async def dead_matching(reader: Reader, conditions: Filter, limit: int | None) -> tuple[list[DeadLetter], str]:
    """Return the dead letters that match a filter, and why there may be more.

    Raises DatabaseError if there may be more and no ``limit`` is given.
    """
    selection = await select(reader, conditions, None, reader.engine.spec.revived)
    why = _complete(selection.missing, limited=limit is not None)
    dead_letters: list[DeadLetter] = []
    for start in range(0, len(selection.nodes), NODES_AT_ONCE):
        ids = [node.id for node in selection.nodes[start : start + NODES_AT_ONCE]]
        dead_letters += (await reader.pages.dead(limit=len(ids), ids=ids)).dead_letters
    return dead_letters, why


async def matching(
    workspace: Workspace, conditions: Filter, action: str, engine: str | None, limit: int | None
) -> Selected:
    """Return the nodes that match a filter and that the action is for.

    A node that changes after this read is skipped as stale.
    """
    if not conditions.terms:
        raise click.UsageError("--filter is empty; it would select every node.")
    readers = [r for r in select_readers(workspace, engine) if may_match(conditions, r.label)]
    kinds = {r.label: {k for a in r.engine.spec.actions if a.name == action for k in a.kinds} for r in readers}
    if readers and not any(kinds.values()):
        raise unknown_action(action, {a.name for r in readers for a in r.engine.spec.actions})
    versions: dict[str, str] = {}
    missing: list[str] = []
    for reader in readers:
        if kinds[reader.label]:
            rest = None if limit is None else limit - len(versions)
            if rest == 0:
                break
            selection = await select(reader, conditions, rest, kinds[reader.label])
            versions |= {node.id: node.version for node in selection.nodes}
            missing += [] if selection.cut else selection.missing
    _complete(missing, limited=limit is not None and len(versions) >= limit)
    return Selected(ids=tuple(versions), guards=versions)


def _complete(missing: Sequence[str], *, limited: bool) -> str:
    """Return why the selection may lack nodes, or "".

    Raises DatabaseError if it is not ``limited``.
    """
    why = next(filter(None, missing), "")
    if why and not limited:
        raise DatabaseError(
            f"Not everything was looked at: {why}.",
            "Nothing was changed. A narrower selection, or --limit with the number of nodes to act on, needs less.",
        )
    return why
