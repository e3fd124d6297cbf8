"""Open a workspace, run actions as an operator does, and read the outcomes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from queries.actions import perform
from queries.actions.plan import plan_versions
from queries.model import DryRun, Outcome, Outcomes, Result
from queries.read.reader import Reader
from queries.workspace import Workspace
from queries.write import audit_log
from tests.db.eternaltwin import LABEL

OPERATOR = audit_log.Operator(os_user="anna", host="laptop")


async def opened(dsn: str, folder: Path, **options: Any) -> Workspace:
    """Open a workspace with its local audit log in ``folder``."""
    return await Workspace.open(dsn, file=folder / "audit_log.jsonl", **options)


def reader(workspace: Workspace, label: str = LABEL) -> Reader:
    return workspace.engines[label]


async def seen(workspace: Workspace, ids: Iterable[str], label: str = LABEL) -> dict[str, str]:
    """Return the nodes' versions, as the operator's screen shows them."""
    return {node.id: node.version for node in (await reader(workspace, label).nodes(ids)).nodes}


async def dry_run_of(
    workspace: Workspace,
    action: str,
    ids: Iterable[str] | Mapping[str, str],
    arguments: Mapping[str, Any] | None = None,
    label: str = LABEL,
) -> DryRun:
    """Return the dry run of the dialog, for current versions or the ``seen`` ones."""
    versions = dict(ids) if isinstance(ids, Mapping) else await seen(workspace, ids, label)
    return await perform.dry_run(
        workspace, plan_versions(workspace, label, action, versions), "it was stuck", arguments or {}
    )


async def do(
    workspace: Workspace,
    action: str,
    ids: Iterable[str] | Mapping[str, str],
    arguments: Mapping[str, Any] | None = None,
    label: str = LABEL,
) -> Outcomes:
    """Read the versions, dry-run the action and commit it."""
    dry_run = await dry_run_of(workspace, action, ids, arguments, label)
    return await perform.commit(workspace, dry_run, OPERATOR)


def outcomes_of(results: Outcomes | DryRun | Iterable[Result]) -> dict[str, Outcome]:
    """Return the outcomes by node id."""
    given = results.results if isinstance(results, Outcomes | DryRun) else results
    return {r.id: r.outcome for r in given}


def why(results: Outcomes | DryRun, node_id: str) -> str:
    return next(r.why for r in results.results if r.id == node_id)
