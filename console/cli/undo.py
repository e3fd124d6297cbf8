"""``undo``: the plan that undoes an entry or a run."""

from __future__ import annotations

from collections.abc import Sequence

from console.cli.carry_out import Consent, changing
from console.cli.plain_change import change
from console.cli.target import opened
from console.target import Target
from queries.change.plan import UNDO, plan_entry


@changing
async def undo(target: Target, entry: str, ids: Sequence[str], consent: Consent) -> int:
    """Undo an entry or a run. Return the exit code."""
    reason = consent.said
    async with opened(target) as workspace:
        plan = await plan_entry(workspace, entry, ids)
        return await change(target, workspace, plan, [UNDO], consent, plan.arguments, reason=reason)
