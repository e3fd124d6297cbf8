"""``undo``: dry-run the undo of an entry or a run, show it, ask, and commit.

Uses the same write path as ``do``.
"""

from __future__ import annotations

from collections.abc import Sequence

from console.cli import do
from console.cli.consent import Consent
from console.cli.output import output_for
from console.cli.target import opened
from console.target import Target
from queries.actions import perform
from queries.actions.undo import plan_entry
from queries.write.undo import ACTION


async def undo(target: Target, entry: str, ids: Sequence[str], consent: Consent) -> int:
    """Undo an entry or a run. Return the exit code."""
    reason, measures = consent.said, consent.preview or not consent.yes
    async with opened(target) as workspace:
        plan = await plan_entry(workspace, entry, ids)
        dry_run = await perform.dry_run(workspace, plan, reason, plan.arguments, measures=measures)
        if consent.preview:
            output_for(target).page(dry_run, lambda cells: do.page(dry_run, [ACTION], (), cells))
            return do.exit_code(dry_run.results)
        done, end = await do.confirm_and_commit(target, workspace, [ACTION], dry_run, (), consent)
        return 1 if done is None else do.report(target, dry_run, done, (), end)
