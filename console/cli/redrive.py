"""``redrive``: begin, resume, stop and list redrives of dead letters."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import click
import msgspec

from console.cli import do, prompts, tables
from console.cli.arguments import arguments_of
from console.cli.interrupts import signals_call
from console.cli.output import output_for, say
from console.cli.selected import EmptyError, dead_matching, members_of
from console.cli.target import opened
from console.cli.tree import parsed
from console.target import Target
from console.text import formatting
from console.text.pages import redrive as pages
from console.text.spans import UNLIMITED, Spans
from queries.actions import redrive_plan, redrive_world
from queries.actions.plan import count_nodes
from queries.actions.redrive_plan import Run
from queries.actions.redrive_rules import Ask, Ended, Reason, Revive, Settings, Step, parse_settings
from queries.actions.redrive_world import Console
from queries.db.errors import DatabaseError
from queries.records.action import Outcome
from queries.records.dead_letter import DeadLetter
from queries.records.record import Record
from queries.records.redrive import RedriveReport, Redrives
from queries.workspace import Workspace

STOPPED, ASKS = 7, 8  # exit codes
LISTED = 50


class Asked(Record):
    """Options of the command, as typed. ``name``: an engine or a redrive."""

    name: str | None
    group: str | None
    filter: str | None
    limit: int | None
    cohorts: str
    pace: str | None
    budget: str
    wait: str
    reason: str | None
    arguments: tuple[str, ...]
    preview: bool
    yes: bool
    confirm: str | None
    resume: bool
    stop: bool
    listed: bool


async def redrive(target: Target, asked: Asked) -> int:
    """Begin, resume, stop or list redrives. Return the exit code."""
    modes = asked.resume + asked.stop + asked.listed
    selects = (asked.group is not None) + (asked.filter is not None)
    if modes > 1 or selects > 1 or (modes and selects):
        raise click.UsageError("Give one of --group, --filter, --resume, --stop and --list.")
    if asked.listed:
        if asked.name is not None:
            raise click.UsageError("--list lists all redrives: give no name.")
        async with opened(target) as workspace:
            found = await redrive_plan.redrives(workspace, LISTED)
        output_for(target).answer(found, lambda: _rows(found))
        return 0
    if modes:
        if asked.name is None:
            raise click.UsageError("Name the redrive. `unstick redrive --list` lists them.")
        async with opened(target) as workspace:
            return await _continue(target, workspace, asked, asked.name)
    if not selects:
        raise click.UsageError("--group or --filter is required, or --resume, --stop or --list.")
    if not (asked.reason or "").strip():
        raise click.UsageError("--reason is required (audit log).")
    settings = settings_of(asked)
    async with opened(target) as workspace:
        return await _begin(target, workspace, asked, settings)


def settings_of(asked: Asked) -> Settings:
    """Parse cohorts, pace, budget and wait. Raises UsageError."""
    try:
        return parse_settings(asked.cohorts, asked.pace or "", asked.budget, asked.wait)
    except ValueError as error:
        raise click.UsageError(f"--{error}") from None


async def _begin(target: Target, workspace: Workspace, asked: Asked, settings: Settings) -> int:
    try:
        label, selection, found = await _selected(target, workspace, asked)
    except EmptyError as error:
        say(*str(error).splitlines())
        return do.EMPTY
    reader = workspace.named(label)
    action = redrive_plan.action_of(reader, found)
    given = arguments_of([action], asked.arguments)
    plan = await redrive_plan.plan_redrive(
        workspace, reader.label, found, selection, settings, str(asked.reason), given
    )
    preview = await redrive_plan.preview(workspace, plan, measures=asked.preview or not asked.yes)
    if asked.preview:
        output_for(target).page(
            preview,
            lambda cells: [*pages.plan(preview, cells), *do.page(preview.dry_run, [action], (), cells)],
        )
        return do.exit_code(preview.dry_run.results)
    if not target.json:
        output_for(target).show(lambda cells: pages.plan(preview, cells))
    rest = len(plan.members) - len(preview.dry_run.versions)
    more = f" This is the first cohort; {rest} more follow if it does well." if rest else ""
    if not do.confirmed(target, workspace, [action], preview.dry_run, (), asked.yes, asked.confirm, more):
        say("Nothing was changed.")
        return 1
    run = await redrive_plan.begin(workspace, plan)
    nodes = count_nodes(len(plan.members), plan.ids)
    cohorts = "cohort" if len(preview.cohorts) == 1 else "cohorts"
    say(f"Redrive {run.fence.run}: {nodes} in {len(preview.cohorts)} {cohorts}. Ctrl-C leaves it open.")
    return await _run(target, workspace, run, asked)


async def _selected(target: Target, workspace: Workspace, asked: Asked) -> tuple[str, str, list[DeadLetter]]:
    """Return the engine, the selection in words, and the dead letters."""
    if asked.group is not None:
        label = asked.group.partition("/")[0]
        if asked.name is not None and workspace.named(asked.name) is not workspace.named(label):
            raise click.UsageError(f"The group {asked.group} is not of the engine {asked.name}.")
        found = await members_of(workspace, asked.group, asked.limit)
        selection = f"group {asked.group}"
    else:
        if asked.name is None:
            raise click.UsageError("--filter needs the name of an engine.")
        wanted = parsed(str(asked.filter), target)
        if not wanted.terms:
            raise click.UsageError("--filter is empty; it would select every dead letter.")
        label = asked.name
        reader = workspace.named(label)
        found = await dead_matching(reader, wanted, asked.limit)
        found = [d for d in found if redrive_plan.revival_of(reader, d) is not None] or found
        selection = f"filter {asked.filter}"
    if not found:
        raise EmptyError("The selection is empty: no dead letter was selected.", "Nothing was changed.")
    found.sort(key=lambda each: (each.since is None, each.since or 0.0, each.node.id))
    return workspace.named(label).label, selection, found[: asked.limit]


async def _continue(target: Target, workspace: Workspace, asked: Asked, name: str) -> int:
    """Resume or stop a redrive."""
    run = await redrive_plan.load(workspace, name)
    if asked.reason:
        run = msgspec.structs.replace(run, plan=msgspec.structs.replace(run.plan, reason=asked.reason))
    reader = workspace.named(run.plan.label)
    if asked.stop:
        ending = await redrive_world.stop(workspace, run)
        return _report(target, redrive_plan.report(run, ending.state, None))
    nodes = count_nodes(len(run.plan.ids), run.plan.ids)
    say(f"Redrive {name} of {run.who}: {run.plan.action} {run.plan.selection}, {nodes}.")
    kind = run.plan.ids[0].partition("/")[2].partition(":")[0]
    action = reader.engine.action(run.plan.action, kind)
    if action is None:
        raise DatabaseError(f"{reader.label}: {run.plan.action} does not exist here.", "Nothing was changed.")
    await redrive_plan.check_author(workspace, run, action)
    if not (asked.yes or asked.confirm is not None) and not prompts.agreed("Continue it in this console?"):
        say("Nothing was changed.")
        return 1
    return await _run(target, workspace, run, asked, answered=asked.resume and asked.yes)


async def _run(target: Target, workspace: Workspace, run: Run, asked: Asked, *, answered: bool = False) -> int:
    """Run a redrive until it ends, asks without a terminal, or is left.

    ``answered``: the first question is answered with "go on".
    """
    console = Console()
    runner = redrive_world.runner(workspace, run, console)
    report = redrive_plan.report(run, runner.state, None)
    said = ""
    step: Step | None = None

    def interrupted() -> None:
        console.leave()
        say("Interrupted: waiting for the outcome of the current cohort ...")

    with signals_call(interrupted):
        async with contextlib.aclosing(runner.steps()) as steps:
            async for step in steps:
                report = redrive_plan.report(run, runner.state, step, runner.durability)
                text = runner.error_text or pages.line(report)
                if text != said and (runner.error_text or not isinstance(step, Revive)):
                    say(said := text)
                if isinstance(step, Ask) and not console.left:
                    if answered:
                        answered = False
                        console.go_on(step)
                    elif asked.yes or not prompts.possible():
                        break
                    elif prompts.agreed(f"{pages.question(report)} Go on? Otherwise the redrive ends."):
                        console.go_on(step)
                    else:
                        console.stop()
                if console.left:
                    break
    if isinstance(step, Ask) and not console.left:
        say(pages.question(report))
    if not isinstance(step, Ended):
        name = run.fence.run
        say(f"The redrive is open. Continue: {target.command('redrive', name, '--resume')}")
        say(f"End it: {target.command('redrive', name, '--stop')}")
    code = _report(target, report)
    if isinstance(step, Ended):
        return code
    return 130 if console.left else ASKS


def _report(target: Target, report: RedriveReport) -> int:
    """Print the state of a redrive. Return the exit code of its end."""
    output_for(target).page(report, lambda cells: pages.page(report, cells, limit=UNLIMITED))
    if report.state in (Reason.BUDGET, Reason.STOPPED):
        return STOPPED
    return do.SKIPPED if any(r.outcome is not Outcome.CHANGED for r in report.skipped) else 0


def _rows(found: Redrives) -> Iterator[str | Spans]:
    if not found.redrives:
        yield "No redrives."
    rows: list[list[tables.Cell]] = [
        [
            (each.run, "bold"),
            formatting.instant(each.at),
            each.who,
            f"{each.action} {each.selection}",
            f"{each.revived} of {each.nodes} revived",
            pages.STATES[each.state],
            pages.answers(each.answers),
        ]
        for each in found.redrives
    ]
    yield from tables.table(rows)
