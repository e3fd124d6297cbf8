"""``redrive``: begin and continue redrives of dead letters."""

from __future__ import annotations

from collections.abc import Sequence

import click
import msgspec

from console.cli import prompts
from console.cli.arguments import arguments_of
from console.cli.carry_out import accepted_risk, confirmed, exit_code, page
from console.cli.consent import Consent
from console.cli.exit_codes import ASKS, FAILED, INTERRUPTED, STOPPED
from console.cli.following import follow
from console.cli.output import output_for, say
from console.cli.selected import EmptyError, Source, dead_matching, members_of
from console.cli.target import opened
from console.cli.tree import parsed
from console.target import Target
from console.text.pages import redrive as pages
from console.text.spans import UNLIMITED
from queries.actions.plan import count_nodes
from queries.db.errors import DatabaseError
from queries.records.dead_letter import DeadLetter
from queries.records.node import split_id
from queries.records.run import RedriveReport
from queries.runs import launch, redrive_plan
from queries.runs import run as runs
from queries.runs.cohorts import Redrive, parse_settings
from queries.runs.run import Run
from queries.runs.runner import Decisions, Runner
from queries.runs.steps import Ask, ChangePart, Ended, Reason, Step
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
        label, selection, found = await _selected(target, workspace, source)
        reader = workspace.named(label)
        action = redrive_plan.action_of(reader, found)
        given = arguments_of([action], arguments)
        plan = await redrive_plan.plan_redrive(workspace, reader.label, found, selection, settings, reason, given)
        preview = await redrive_plan.preview(workspace, plan, measures=consent.preview or not consent.yes)
        if consent.preview:
            output_for(target).page(
                preview,
                lambda cells: [*pages.plan(preview, cells), *page(preview.dry_run, [action], (), cells)],
            )
            return exit_code(preview.dry_run.results)
        if not target.json:
            output_for(target).show(lambda cells: pages.plan(preview, cells))
        rest = len(plan.members) - len(preview.dry_run.versions)
        more = f" This is the first cohort; {rest} more follow if it does well." if rest else ""
        if not confirmed(target, workspace, [action], preview.dry_run, (), consent, more):
            say("Nothing was changed.")
            return FAILED
        run = await runs.begin(workspace, plan)
        nodes = count_nodes(len(plan.members), plan.ids)
        say(f"Redrive {run.log.id}: {nodes} in {counted(len(preview.cohorts), 'cohort')}. Ctrl-C leaves it open.")
        return await _run(target, workspace, run, consent)


async def _selected(target: Target, workspace: Workspace, source: Source) -> tuple[str, str, list[DeadLetter]]:
    """Return the engine, the selection in words, and the dead letters."""
    if source.group is not None:
        label = source.group.partition("/")[0]
        if source.engine is not None and workspace.named(source.engine) is not workspace.named(label):
            raise click.UsageError(f"The group {source.group} is not of the engine {source.engine}.")
        found = await members_of(workspace, source.group, source.limit)
        selection = f"group {source.group}"
    else:
        if source.engine is None:
            raise click.UsageError("--filter needs the name of an engine.")
        wanted = parsed(str(source.filter), target)
        if not wanted.terms:
            raise click.UsageError("--filter is empty; it would select every dead letter.")
        label = source.engine
        reader = workspace.named(label)
        found = await dead_matching(reader, wanted, source.limit)
        found = [d for d in found if redrive_plan.revival_of(reader, d) is not None] or found
        selection = f"filter {source.filter}"
    if not found:
        raise EmptyError("The selection is empty: no dead letter was selected.\nNothing was changed.")
    found.sort(key=lambda each: (unknown_last(each.since), each.node.id))
    return workspace.named(label).label, selection, found[: source.limit]


async def resume(target: Target, workspace: Workspace, run: Run, consent: Consent) -> int:
    """Continue a redrive. Return the exit code.

    Raises UsageError for a dry run: a redrive has one of its first cohort.
    """
    if consent.preview:
        shows = target.command("runs", run.log.id)
        raise click.UsageError(f"--dry-run is for a new redrive. `{shows}` shows this one. Nothing was changed.")
    if consent.reason:
        run = msgspec.structs.replace(run, plan=msgspec.structs.replace(run.plan, reason=consent.reason))
    reader = workspace.named(run.plan.label)
    nodes = count_nodes(len(run.plan.ids), run.plan.ids)
    say(f"Redrive {run.log.id} of {run.begun.who}: {run.plan.action} {run.plan.beginning.selection}, {nodes}.")
    action = reader.engine.action(run.plan.action, split_id(run.plan.ids[0])[1])
    if action is None:
        raise DatabaseError(f"{reader.label}: {run.plan.action} does not exist here.", "Nothing was changed.")
    await runs.check_author(workspace, run, action)
    if not accepted_risk(target, [action], "It goes on in this console.", consent):
        say("Nothing was changed.")
        return FAILED
    return await _run(target, workspace, run, consent, answered=consent.yes)


def redrive_of(runner: Runner) -> Redrive:
    """Return the state of a redrive's runner."""
    assert isinstance(runner.state, Redrive)
    return runner.state


async def _run(target: Target, workspace: Workspace, run: Run, consent: Consent, *, answered: bool = False) -> int:
    """Run a redrive until it ends, asks without a terminal, or is left.

    ``answered``: the first question is answered with "go on".
    """
    decisions = Decisions()
    runner = launch.redrive(workspace, run, decisions)
    given = answered

    def report(step: Step | None) -> RedriveReport:
        return redrive_plan.report(run, redrive_of(runner), step, runner.total.durability)

    def line(step: Step) -> str:
        return "" if isinstance(step, ChangePart) else pages.line(report(step))

    def answer(ask: Ask) -> bool:
        nonlocal given
        if given:
            given = False
            decisions.go_on(ask)
        elif consent.yes or not prompts.possible():
            return False
        elif prompts.agreed(f"{pages.question(report(ask))} Go on? Otherwise the redrive ends."):
            decisions.go_on(ask)
        else:
            decisions.stop()
        return True

    step = await follow(runner, decisions, line, answer)
    if isinstance(step, Ask) and not decisions.left:
        say(pages.question(report(step)))
    if not isinstance(step, Ended):
        say(f"The redrive is open. Continue: {target.command('redrive', run.log.id, '--resume')}")
        say(f"End it: {target.command('redrive', run.log.id, '--stop')}")
    code = print_report(target, report(step))
    if isinstance(step, Ended):
        return code
    return INTERRUPTED if decisions.left else ASKS


def print_report(target: Target, report: RedriveReport) -> int:
    """Print the state of a redrive. Return the exit code of its end."""
    output_for(target).page(report, lambda cells: pages.page(report, cells, limit=UNLIMITED))
    if report.state in (Reason.BUDGET, Reason.STOPPED):
        return STOPPED
    return exit_code(report.skipped)
