"""``undo``: dry-run the undo of an entry or a run, show it, ask, and commit.

Uses the same write path as ``do``.
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from console.cli import do
from console.cli.output import output_for
from console.cli.target import opened
from console.target import Target
from queries.actions import perform
from queries.actions.undo import plan_entry
from queries.write.undo import ACTION


async def undo(
    target: Target,
    entry: str,
    ids: Sequence[str],
    *,
    reason: str | None,
    preview: bool,
    yes: bool,
    confirm: str | None,
) -> int:
    """Undo an entry or a run. Return the exit code."""
    if not (reason or "").strip():
        raise click.UsageError("--reason is required (audit log).")
    async with opened(target) as workspace:
        plan = await plan_entry(workspace, entry, ids)
        dry_run = await perform.dry_run(workspace, plan, str(reason), plan.arguments, measures=preview or not yes)
        if preview:
            output_for(target).page(dry_run, lambda cells: do.page(dry_run, [ACTION], (), cells))
            return do.exit_code(dry_run.results)
        done, end = await do.confirm_and_commit(target, workspace, [ACTION], dry_run, (), yes, confirm)
        return 1 if done is None else do.report(target, dry_run, done, (), end)
