"""``redrive``: begin and continue redrives of dead letters."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import click
import msgspec

from console.cli.arguments import arguments_of
from console.cli.carry_out import Begin, Course, Report, carry_out, dry_run_text
from console.cli.consent import Consent
from console.cli.exit_codes import ASKS, FAILED, STOPPED
from console.cli.output import say
from console.cli.selected import EmptyError, Source, dead_matching, members_of
from console.cli.target import opened
from console.cli.tree import parsed
from console.target import Target
from console.text.spans import UNLIMITED
from console.text.views import redrive as views
from queries.actions.plan import count_nodes
from queries.contract.spec import Action
from queries.records.dead_letter import DeadLetter
from queries.records.run import REDRIVE, RedrivePreview, RedriveReport, commands_of
from queries.runs import launch, redrive_plan
from queries.runs import run as runs
from queries.runs.cohorts import Redrive, parse_settings
from queries.runs.run import Run
from queries.runs.runner import Decisions, Runner
from queries.runs.steps import ChangePart, Reason
from queries.text.counted import counted
from queries.text.instant import unknown_last
from queries.workspace import Workspace


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
        action = redrive_plan.action_of(reader, dead_letters)
        values = arguments_of([action], arguments)
        plan = await redrive_plan.plan_redrive(
            workspace, reader.label, dead_letters, selection, settings, reason, values
        )
        preview = await redrive_plan.preview(workspace, plan, measures=consent.measures)
        rest = preview.nodes - len(preview.dry_run.versions)
        more = f" This is the first cohort; {rest} more follow if it does well." if rest else ""

        async def begin(decisions: Decisions) -> tuple[Run, Runner]:
            run = await runs.begin(workspace, plan)
            nodes = count_nodes(len(plan.members), plan.ids)
            say(f"Redrive {run.log.id}: {nodes} in {counted(len(preview.cohorts), 'cohort')}. Ctrl-C leaves it open.")
            return run, launch.proceed(workspace, run, decisions)

        return await carry_out(target, workspace, _course(target, [action], begin, more, preview), consent)


async def _selected(target: Target, workspace: Workspace, source: Source) -> tuple[str, str, list[DeadLetter]]:
    """Return the engine, the selection in words, and the dead letters."""
    if source.group is not None:
        label = source.group.partition("/")[0]
        if source.engine is not None and workspace.named(source.engine) is not workspace.named(label):
            raise click.UsageError(f"The group {source.group} is not of the engine {source.engine}.")
        dead_letters = await members_of(workspace, source.group, source.limit)
        selection = f"group {source.group}"
    else:
        if source.engine is None:
            raise click.UsageError("--filter needs the name of an engine.")
        conditions = parsed(str(source.filter), target)
        if not conditions.terms:
            raise click.UsageError("--filter is empty; it would select every dead letter.")
        label = source.engine
        reader = workspace.named(label)
        dead_letters = await dead_matching(reader, conditions, source.limit)
        dead_letters = [d for d in dead_letters if redrive_plan.revival_of(reader, d) is not None] or dead_letters
        selection = f"filter {source.filter}"
    if not dead_letters:
        raise EmptyError("The selection is empty: no dead letter was selected.\nNothing was changed.")
    dead_letters.sort(key=lambda each: (unknown_last(each.since), each.node.id))
    return workspace.named(label).label, selection, dead_letters[: source.limit]


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

    async def begin(decisions: Decisions) -> tuple[Run, Runner]:
        return run, launch.proceed(workspace, run, decisions)

    course = _course(target, actions, begin, "It goes on in this console.")
    return await carry_out(target, workspace, course, consent)


def _course(
    target: Target, actions: Sequence[Action], begin: Begin, more: str, preview: RedrivePreview | None = None
) -> Course:
    """Return how a redrive goes. ``preview`` None: it has begun."""
    report = functools.partial(report_of, target)
    course = Course(actions=actions, begin=begin, line=_line, report=report, more=more)
    if preview is None:
        return course
    dry_run = preview.dry_run
    shown = Report(
        record=preview,
        lines=lambda cells: [*views.plan(preview, cells), *dry_run_text(dry_run, actions, (), cells)],
        results=dry_run.results,
    )
    return msgspec.structs.replace(course, dry_run=dry_run, preview=shown)


def _state(run: Run | None, runner: Runner) -> RedriveReport:
    assert run is not None
    assert isinstance(runner.state, Redrive)
    return redrive_plan.report(run, runner.state, runner.step, runner.total.durability)


def _line(run: Run | None, runner: Runner) -> str:
    return "" if isinstance(runner.step, ChangePart) else views.line(_state(run, runner))


def report_of(target: Target, run: Run | None, runner: Runner, given_up: bool = False) -> Report:
    """Return the cohorts of a redrive, and how it ended or can be continued."""
    state = _state(run, runner)
    report = Report(
        record=state,
        lines=lambda cells: views.report_lines(state, cells, limit=UNLIMITED),
        results=state.skipped,
        code=STOPPED if state.state in (Reason.BUDGET, Reason.STOPPED) else None,
    )
    if not state.open:
        return report
    resume, stop = commands_of(target.command, REDRIVE, state.run).lines
    assert run is not None
    notes = [] if run.log.ended else [f"The redrive is open. {resume}", stop]
    code = FAILED if given_up else ASKS
    return msgspec.structs.replace(report, question=views.question(state), notes=notes, open=True, code=code)
