"""``runs``: list, show, continue and end runs, also those of other machines."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator, Sequence

import click

from console.cli import do, redrive, tables
from console.cli.carry_out import Consent, changing, printed
from console.cli.exit_codes import FAILED
from console.cli.output import output_for, say
from console.cli.plain_change import change, outcomes_of
from console.cli.selected import STDIN
from console.cli.target import opened
from console.model.fields.run import FIELDS
from console.target import Target
from console.text.spans import UNLIMITED, Spans
from console.text.views.action import result_lines
from console.text.views.lines import BLANK, plain, wrapped
from console.text.views.redrive import report_lines
from console.text.views.row_diff import ROWS_SHOWN
from queries.change import loop as changes
from queries.change import run as runs
from queries.change.plan import count_nodes
from queries.change.run import Run
from queries.contract.spec import Action
from queries.db.errors import DatabaseError
from queries.log.audit_log import TABLE
from queries.records.action import Change
from queries.records.finding import OPEN
from queries.records.run import REDRIVE, RunDetail, commands_of
from queries.text import duration
from queries.workspace import Workspace

RUNS_SHOWN = 50


async def listed(target: Target, *, redrives: bool = False) -> int:
    """List runs, newest first. ``redrives``: only those. Return the exit code."""
    async with opened(target, empty=True) as workspace:
        answer = await runs.listed(workspace, RUNS_SHOWN, REDRIVE if redrives else None)
    output_for(target).answer(answer, lambda: tables.listed(FIELDS, answer.runs) if answer.runs else ["No runs."])
    if workspace.audit_log.no_runs:
        say(f"The runs of this database cannot be listed: {workspace.audit_log.no_runs}.")
    say(*answer.unread)
    return FAILED if answer.unread else 0


@contextlib.asynccontextmanager
async def _loaded(target: Target, name: str, *, redrives: bool = False) -> AsyncIterator[tuple[Workspace, Run]]:
    """Open the database of a run, and the run.

    ``redrives``: raises UsageError for another run.
    """
    async with opened(target) as workspace:
        run = await runs.load(workspace, name)
        if redrives and not run.plan.is_redrive:
            raise click.UsageError(f"{run.log.id} is no redrive: {run.commands(target.command).resume}")
        yield workspace, run


async def show(target: Target, name: str) -> int:
    """Show a run with the outcomes so far. Return the exit code."""
    async with opened(target) as workspace:
        detail = runs.in_file(workspace, name) or await changes.look(workspace, await runs.load(workspace, name))
        goes_on = not workspace.server.may_lag
    output_for(target).text(detail, lambda cells: list(_lines(target, detail, cells, goes_on=goes_on)))
    return FAILED if detail.unread else 0


def _lines(target: Target, detail: RunDetail, cells: int, *, goes_on: bool) -> Iterator[Spans]:
    run, report = detail.run, detail.report
    yield from tables.listed(FIELDS, (run,))
    yield from wrapped(f"Reason: {run.reason}", cells, indent=0)
    yield BLANK
    if report is not None:
        yield from report_lines(report, cells, limit=UNLIMITED)
        if detail.unread:
            yield plain(f"What the nodes do now could not be read: {detail.unread}", "$warning", 0)
    else:
        yield from result_lines(detail.results, cells, limit=ROWS_SHOWN)
    if run.state == "open":
        yield BLANK
        yield plain(f"{count_nodes(len(detail.pending), detail.pending)} without an outcome.", indent=0)
        again = f"Their ids, for `{target.command('do', run.action, STDIN, '--reason', OPEN)}`:"
        commands = commands_of(target.command, run.kind, run.run).lines
        lines = commands if run.place == TABLE else (again, *detail.pending)
        yield from (plain(line, indent=0) for line in lines if goes_on)


@changing
async def resume(target: Target, name: str, consent: Consent, *, redrives: bool = False) -> int:
    """Continue a run of any machine. Return the exit code."""
    async with _loaded(target, name, redrives=redrives) as (workspace, run):
        plan = run.plan
        actions = do.variants_of(workspace.named(plan.label), plan.action, plan.ids)
        if not actions:
            raise DatabaseError(f"{plan.label}: {plan.action} does not exist here.", "Nothing was changed.")
        for action in actions:
            await runs.check_author(workspace, run, action)
        return await (redrive.resume if plan.is_redrive else _resume)(target, workspace, run, actions, consent)


async def _resume(target: Target, workspace: Workspace, run: Run, actions: Sequence[Action], consent: Consent) -> int:
    plan = run.plan
    detail = await changes.look(workspace, run, settled=True)  # a killed console's COMMIT may be under way
    pending = detail.pending
    if not pending:
        await changes.stop(workspace, run)
        say(f"The run {run.log.id} has no node left to change.")
        return printed(target, outcomes_of(Change(results=detail.results)))
    if detail.run.state != "open":
        raise DatabaseError(f"The run {run.log.id} has ended: {detail.run.state}.", "Nothing was changed.")
    ago = duration.spelled(max(await workspace.now() - detail.run.last_at, 0.0))
    say(
        f"{plan.action} in {plan.label}, begun by {run.begun.who}: {len(pending)} of {len(plan.members)} nodes remain;"
        f" the last step was {ago} ago. {plan.reason}"
    )
    again = runs.part_of(workspace, plan, pending)
    arguments = plan.beginning.arguments
    return await change(target, workspace, again, actions, consent, arguments, reason=plan.reason, run=run)


async def stop(target: Target, name: str, *, redrives: bool = False) -> int:
    """End a run: nothing more is changed. Return the exit code."""
    async with _loaded(target, name, redrives=redrives) as (workspace, run):
        ending = await changes.stop(workspace, run)
        if run.plan.is_redrive:
            return printed(target, redrive.report_of(target, ending))
    rest = count_nodes(len(ending.state.pending()), ())
    say(f"Ended: {run.plan.action} in {run.plan.label}; not changed: {rest}.")
    return 0
