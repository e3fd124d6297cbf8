"""``redrive``: begin and continue redrives of dead letters."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import click
import msgspec

from console.cli.arguments import arguments_of
from console.cli.carry_out import Begin, Consent, Course, EmptyError, Report, carry_out, changing, dry_run_text
from console.cli.exit_codes import ASKS, FAILED, STOPPED
from console.cli.output import say
from console.cli.plain_change import change
from console.cli.searched import dead_matching, members_of
from console.cli.selected import Source
from console.cli.target import opened
from console.cli.tree import parsed
from console.target import Target
from console.text.spans import UNLIMITED, Spans
from console.text.views import redrive as views
from console.text.views.lines import stacked
from queries.change import redrive as redrives
from queries.change import run as runs
from queries.change.loop import Loop
from queries.change.plan import count_nodes
from queries.change.run import Run
from queries.change.state import Do, Reason, parse_settings
from queries.contract.spec import Action
from queries.records.dead_letter import DeadLetter
from queries.records.run import REDRIVE, RedriveReport, commands_of
from queries.text.counted import counted
from queries.workspace import Workspace


@changing
async def redrive(
    target: Target,
    source: Source,
    consent: Consent,
    *,
    cohorts: str,
    pace: str | None,
    budget: str,
    wait: str,
    arguments: Sequence[str],
) -> int:
    """Begin a redrive, and run it. Return the exit code."""
    reason = consent.said
    try:
        settings = parse_settings(cohorts, pace or "", budget, wait)
    except ValueError as error:
        raise click.UsageError(f"--{error}") from None
    async with opened(target) as workspace:
        label, selection, dead_letters = await _selected(target, workspace, source)
        reader = workspace.named(label)
        action = redrives.action_of(reader, dead_letters)
        values = arguments_of([action], arguments)
        if why := workspace.audit_log.no_runs:
            once = redrives.at_once(workspace, action, dead_letters)
            say(f"No cohorts: {why}. The oldest {len(once.versions)} of {len(dead_letters)} are revived at once.")
            return await change(target, workspace, once, [action], consent, values, reason=reason)
        plan = await redrives.plan_redrive(workspace, reader.label, dead_letters, selection, settings, reason, values)
        preview = await redrives.preview(workspace, plan, measures=consent.measures)
        rest = preview.nodes - len(preview.dry_run.versions)
        more = f" This is the first cohort; {rest} more follow if it does well." if rest else ""

        async def begin() -> Loop:
            run = await runs.begin(workspace, plan)
            nodes = count_nodes(len(plan.members), plan.ids)
            say(f"Redrive {run.log.id}: {nodes} in {counted(len(preview.cohorts), 'cohort')}. Ctrl-C leaves it open.")
            return await Loop(workspace, run=run).begin()

        whole = runs.part_of(workspace, plan, plan.ids)
        whole = msgspec.structs.replace(whole, nodes=tuple(each.node for each in dead_letters))
        dry_run = preview.dry_run

        def lines(cells: int) -> list[Spans]:
            first = dry_run_text(target, workspace, dry_run, whole, cells, rows=consent.rows)
            return stacked(first, views.plan(preview, cells))

        shown = Report(record=preview, lines=lines, results=dry_run.results)
        course = msgspec.structs.replace(_course(target, [action], begin, more), dry_run=dry_run, preview=shown)
        return await carry_out(target, workspace, course, consent)


async def _selected(target: Target, workspace: Workspace, source: Source) -> tuple[str, str, list[DeadLetter]]:
    if source.group is not None:
        label = source.group.partition("/")[0]
        if source.engine is not None and workspace.named(source.engine) is not workspace.named(label):
            raise click.UsageError(f"The group {source.group} is not of the engine {source.engine}.")
        dead_letters, part = await members_of(workspace, source.group, source.limit)
        selection = f"group {source.group}"
    else:
        if source.engine is None:
            raise click.UsageError("--filter needs the name of an engine.")
        conditions = parsed(str(source.filter), target)
        if not conditions.terms:
            raise click.UsageError("--filter is empty; it would select every dead letter.")
        label = source.engine
        reader = workspace.named(label)
        dead_letters, part = await dead_matching(reader, conditions, source.limit)
        dead_letters = [d for d in dead_letters if redrives.revival_of(reader, d)] or dead_letters
        selection = f"filter {source.filter}"
    if not dead_letters:
        raise EmptyError("The selection is empty: no dead letter was selected.\nNothing was changed.")
    if part:
        say(f"--limit: the oldest of those that were read, not of all: {part}.")
    return workspace.named(label).label, selection, redrives.oldest(dead_letters)[: source.limit]


async def resume(target: Target, workspace: Workspace, run: Run, actions: Sequence[Action], consent: Consent) -> int:
    """Continue a redrive. Return the exit code.

    Raises UsageError for a dry run: a redrive has one of its first cohort.
    """
    if consent.preview:
        shows = target.command("runs", run.log.id)
        raise click.UsageError(f"--dry-run is for a new redrive. `{shows}` shows this one. Nothing was changed.")
    if consent.reason:
        run = msgspec.structs.replace(run, plan=msgspec.structs.replace(run.plan, reason=consent.reason))
    nodes = count_nodes(len(run.plan.ids), run.plan.ids)
    say(f"Redrive {run.log.id} of {run.begun.who}: {run.plan.action} {run.plan.beginning.selection}, {nodes}.")

    loop, more = Loop(workspace, run=run), "It goes on in this console."
    return await carry_out(target, workspace, _course(target, actions, loop.begin, more), consent)


def _course(target: Target, actions: Sequence[Action], begin: Begin, more: str) -> Course:
    """Return how a redrive goes that has begun."""
    report = functools.partial(report_of, target)
    return Course(actions=actions, begin=begin, line=_line, report=report, more=more)


def _line(loop: Loop) -> str:
    return "" if loop.step is not None and loop.step.do is Do.CHANGE else views.line(_state(loop))


def _state(loop: Loop) -> RedriveReport:
    assert loop.run is not None
    return redrives.report(loop.run, loop.state, loop.step)


def report_of(target: Target, loop: Loop, given_up: bool = False) -> Report:
    """Return the cohorts of a redrive, and how it ended or can be continued."""
    state = _state(loop)
    report = Report(
        record=state,
        lines=lambda cells: views.report_lines(state, cells, limit=UNLIMITED),
        results=state.skipped,
        code=STOPPED if state.state in (Reason.BUDGET, Reason.STOPPED) else None,
    )
    if not state.open:
        return report
    resume, stop = commands_of(target.command, REDRIVE, state.run).lines
    notes = [] if loop.run and loop.run.log.ended else [f"The redrive is open. {resume}", stop]
    code = FAILED if given_up else ASKS
    return msgspec.structs.replace(report, question=views.question(state), notes=notes, open=True, code=code)
