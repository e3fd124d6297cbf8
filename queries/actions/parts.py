"""Parts of a change: the nodes of each transaction."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from queries.actions.plan import Plan, current_reader
from queries.records.action import DryRun
from queries.workspace import Workspace
from queries.write import server_copies, undo

PART_NODES = 500
SERVER_PART_FACTOR = 2  # of PART_NODES if their rows stay on the server, which takes less time for each


def part_nodes(workspace: Workspace, plan: Plan) -> int:
    """Return how many nodes that were not dry-run one transaction may have."""
    reader = current_reader(workspace, plan.label)
    stays = workspace.audit_log.in_table and all(
        server_copies.is_possible(reader, action) for action in plan.actions.values()
    )
    return PART_NODES * SERVER_PART_FACTOR if stays else PART_NODES


def are_independent(plan: Plan) -> bool:
    """Return True if two parts may be changed at the same time."""
    actions = plan.actions.values()
    return all(action.independent for action in actions) and len({action.script for action in actions}) == 1


def split(dry_run: DryRun, most: int) -> Iterator[tuple[str, ...]]:
    """Yield the nodes of each transaction: at most 500, in an undo of one entry.

    ``most``: of the nodes that were not dry-run.
    """
    shown = {*dry_run.row_digests, *(result.id for result in dry_run.results)}
    versions = dry_run.versions
    entry = versions.get if dry_run.action == undo.NAME else lambda _: ""
    for _, group in groupby(versions, key=entry):
        ids, start = list(group), 0
        while start < len(ids):
            size = PART_NODES if ids[start] in shown else most
            yield tuple(ids[start : start + size])
            start += size
