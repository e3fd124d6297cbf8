"""``runs``: list, show, continue and end runs, also those of other machines."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from console.cli import do, redrive
from console.cli.carry_out import carry_out, print_outcomes
from console.cli.consent import Consent
from console.cli.output import output_for, say
from console.cli.target import opened
from console.target import Target
from console.text.pages.action import result_page
from console.text.pages.row_diff import ROWS_SHOWN
from console.text.spans import UNLIMITED, Spans
from queries.actions.plan import count_nodes
from queries.db.errors import DatabaseError
from queries.records.action import Outcomes
from queries.records.run import RunDetail, Runs
from queries.runs import launch
from queries.runs import run as runs
from queries.runs.run import Run
from queries.text import duration
from queries.workspace import Workspace


async def listed(target: Target) -> int:
    """List runs, newest first. Return the exit code."""
    async with opened(target, empty=True) as workspace:
        found = await runs.listed(workspace, redrive.LISTED)
        closed = workspace.no_runs
    output_for(target).answer(found, lambda: redrive.rows(found))
    if closed:
        say(f"Only runs of this machine are listed: {closed}.")
    return 0


async def show(target: Target, name: str) -> int:
    """Show a run with the outcomes so far. Return the exit code."""
    async with opened(target) as workspace:
        run = await runs.load(workspace, name)
        with contextlib.closing(run.log):
            found = await launch.look(workspace, run)
    output_for(target).answer(found, lambda: _lines(target, found))
    return 0


def _lines(target: Target, found: RunDetail) -> Iterator[str | Spans]:
    yield from redrive.rows(Runs(runs=(found.run,)))
    yield f"Reason: {found.run.reason}"
    yield ""
    yield from result_page(found.results, UNLIMITED, limit=ROWS_SHOWN)
    if found.run.state == "open":
        yield f"{count_nodes(len(found.pending), found.pending)} without an outcome."
        yield f"Continue: {target.command('do', '--resume', found.run.run)}"
        yield f"End it: {target.command('runs', found.run.run, '--stop')}"


async def resume(target: Target, name: str, consent: Consent) -> int:
    """Continue a run of any machine. Return the exit code."""
    async with opened(target) as workspace:
        run = await runs.load(workspace, name)
        with contextlib.closing(run.log):
            if run.plan.is_redrive:
                asked = redrive.Asked(consent=consent, resume=True)
                return await redrive.proceed(target, workspace, run, asked)
            return await _resume(target, workspace, run, consent)


async def _resume(target: Target, workspace: Workspace, run: Run, consent: Consent) -> int:
    plan, reader = run.plan, workspace.named(run.plan.label)
    variants = do.variants_of(reader, plan.action, plan.ids)
    for action in variants:
        await runs.check_author(workspace, run, action)
    found = await launch.look(workspace, run)
    left = found.pending
    if not left:
        await launch.stop(workspace, run)
        say(f"The run {run.log.id} is complete.")
        return print_outcomes(target, Outcomes(results=found.results))
    if found.run.state != "open":
        raise DatabaseError(f"The run {run.log.id} has ended: {found.run.state}.", "Nothing was changed.")
    ago = duration.spelled(max(await workspace.now() - found.run.last_at, 0.0))
    say(
        f"{plan.action} in {plan.label}, begun by {run.begun.who}: {len(left)} of {len(plan.members)} nodes remain;"
        f" the last step was {ago} ago. {plan.reason}"
    )
    again = runs.part_of(workspace, plan, left)
    return await carry_out(
        target, workspace, again, variants, consent, plan.beginning.arguments, reason=plan.reason, run=run
    )


async def stop(target: Target, name: str) -> int:
    """End a run: nothing more is changed. Return the exit code."""
    async with opened(target) as workspace:
        run = await runs.load(workspace, name)
        with contextlib.closing(run.log):
            if run.plan.is_redrive:
                return await redrive.proceed(target, workspace, run, redrive.Asked(stop=True))
            ending = await launch.stop(workspace, run)
            left = ending.unfinished()
    say(f"Ended: {run.plan.action} in {run.plan.label}; not changed: {count_nodes(len(left), ())}.")
    return 0
