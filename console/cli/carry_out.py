"""Carry out a change: dry-run it, show it, ask, commit, and report the outcomes.

All commands that change rows do this, with the same write path as the console.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click
import msgspec

from console.cli import prompts
from console.cli.consent import Consent
from console.cli.exit_codes import FAILED, INTERRUPTED, SKIPPED, UNKNOWN
from console.cli.following import follow
from console.cli.output import output_for, say
from console.target import Target
from console.text.pages.action import STANDBY_WAIT, certain, dry_run_page, result_page
from console.text.spans import UNLIMITED, Spans
from queries.actions import perform, signals
from queries.actions.plan import Plan, count_nodes
from queries.contract.spec import Action
from queries.db.backoff import OUTAGE_SECONDS
from queries.db.errors import NO_CONNECTION
from queries.records.action import DryRun, Outcome, Outcomes, Result, Risk
from queries.records.finding import OPEN
from queries.records.record import Record
from queries.runs import launch
from queries.runs.run import Run
from queries.runs.runner import NOT_TRIED, Decisions
from queries.runs.steps import Step
from queries.workspace import Workspace
from queries.write.audit_log import TABLE, operator

UNREACHABLE = "not tried: the server stayed unreachable"
STANDBY_LOOK_S = 0.5  # between two looks at a COMMIT that may wait for a standby


class CommitEnd(Record):
    """Outcomes of a commit, and how it ended.

    ``left``: results of the nodes that were not reached. ``given_up``: the server did not return in time.
    """

    outcomes: Outcomes
    left: tuple[Result, ...] = ()
    given_up: bool = False


async def carry_out(
    target: Target,
    workspace: Workspace,
    plan: Plan,
    actions: Sequence[Action],
    consent: Consent,
    arguments: Mapping[str, Any],
    *,
    reason: str,
    gone: Sequence[Result] = (),
    wait: float = 0.0,
    run: Run | None = None,
) -> int:
    """Dry-run a plan, ask, commit it, and print the outcomes. Return the exit code.

    ``actions``: the action for each kind of the nodes. ``gone``: results of nodes that do not exist. ``wait``: seconds
    to wait for nodes that an executor holds. ``run``: the run that is continued.
    """
    measures = consent.preview or not consent.yes
    dry_run = msgspec.structs.replace(
        await perform.dry_run(workspace, plan, reason, arguments, measures=measures), wait=wait
    )
    if consent.preview:
        shown = msgspec.structs.replace(dry_run, results=_sorted(dry_run.results, gone))
        output_for(target).page(shown, lambda cells: page(dry_run, actions, gone, cells))
        say(*_instead(target, shown.results))
        return exit_code(shown.results)
    possible = (
        len(dry_run.results) < len(dry_run.versions)
        or any(r.outcome is Outcome.CHANGED for r in dry_run.results)
        or bool(dry_run.wait and dry_run.for_now)
    )
    if possible and not confirmed(target, workspace, actions, dry_run, gone, consent):
        say("Nothing was changed.")
        return FAILED
    end = CommitEnd(outcomes=Outcomes(results=dry_run.results))
    if possible or run is not None:
        end = await _commit(workspace, dry_run, run)
    return _report(target, dry_run, end, gone)


def _sorted(*parts: Sequence[Result]) -> tuple[Result, ...]:
    return tuple(sorted((result for part in parts for result in part), key=lambda result: result.id))


def _report(target: Target, dry_run: DryRun, end: CommitEnd, gone: Sequence[Result]) -> int:
    """Print the outcomes, and how to undo, continue or repeat. Return the exit code."""
    done, left = end.outcomes, end.left
    # An executor held the nodes of `for_now` at some time. Some of them may have changed since.
    outcomes = msgspec.structs.replace(done, results=_sorted(done.results, gone, left), for_now=())
    code = print_outcomes(target, outcomes)
    if done.durability is not None:
        say(certain(done.durability))
    if done.audit_log is not None:
        say(f"Audit log: {'the table unstick.audit_log' if done.audit_log == TABLE else done.audit_log}.")
    if done.entries and len(dry_run.irreversible) < sum(r.outcome is Outcome.CHANGED for r in done.results):
        names = [done.run] if done.run and len(done.entries) > 1 else done.entries
        say(f"Undo: {'; '.join(target.command('undo', name, '--reason', OPEN) for name in names)}")
    if left and done.run:
        say(f"Not changed yet: {count_nodes(len(left), ())}. Continue: {target.command('do', '--resume', done.run)}")
    if dry_run.for_now and not dry_run.wait:
        held = count_nodes(len(dry_run.for_now), dry_run.for_now)
        say(f"An executor holds {held}. --wait SECONDS acts when they are free.")
    say(*_instead(target, outcomes.results))
    return INTERRUPTED if left and not end.given_up else code


def print_outcomes(target: Target, outcomes: Outcomes) -> int:
    """Print the outcomes of all nodes. Return their exit code."""
    output_for(target).page(outcomes, lambda cells: result_page(outcomes.results, cells, limit=UNLIMITED))
    return exit_code(outcomes.results)


def page(dry_run: DryRun, variants: Sequence[Action], gone: Sequence[Result], cells: int) -> list[Spans]:
    """Return the lines of a dry run, with all of its rows and nodes."""
    return dry_run_page(dry_run, variants, gone, cells, limit=UNLIMITED, skipped_limit=UNLIMITED)


def _instead(target: Target, results: Sequence[Result]) -> Iterator[str]:
    """Say where the operator finds what to do with a refused node."""
    refused = next((r.id for r in results if r.outcome is Outcome.REFUSED and not signals.is_session(r.id)), None)
    if refused is not None:
        yield f"Refused: `{target.command('show', refused)}` says what can be done instead, if anything must be."


def confirmed(
    target: Target,
    workspace: Workspace,
    actions: Sequence[Action],
    dry_run: DryRun,
    gone: Sequence[Result],
    consent: Consent,
    more: str = "",
) -> bool:
    """Show the dry run and ask for a confirmation that fits the risk.

    ``more``: what the confirmation is also about. Raises UsageError.
    """
    if not target.json:
        output_for(target).show(lambda cells: page(dry_run, actions, gone, cells))
    server = workspace.server
    place = f"{target.name or server.database} (as {server.role})"
    number = sum(result.outcome is Outcome.CHANGED for result in dry_run.results)
    question = f"{actions[0].title}: {number} of {len(dry_run.results) + len(gone)} nodes on {place}."
    if dry_run.wait and dry_run.for_now:
        question += f" Then wait up to {dry_run.wait:.0f} s for {len(dry_run.for_now)} that an executor holds."
    question += more
    tables = ",".join(other.table for other in dry_run.removed)
    if tables:
        lost = "; ".join(f"{other.words} of {other.table}" for other in dry_run.removed)
        question += f" It would also have {lost}, which do not come back."
    return accepted_risk(target, actions, question, consent, tables)


def accepted_risk(target: Target, actions: Sequence[Action], question: str, consent: Consent, tables: str = "") -> bool:
    """Ask for what the risk of the actions requires, unless it was given.

    ``tables``: those that lose rows. Raises UsageError.
    """
    destroys = any(action.risk is Risk.HIGH or action.confirm == "typed" for action in actions)
    context = target.name if target.production and (tables or destroys) else ""
    expected = ",".join(filter(None, (context, tables)))
    if not expected:
        return consent.given or prompts.agreed(f"{question} Continue?")
    if consent.confirm == expected:
        return True
    if consent.confirm is not None or (tables and consent.yes):
        raise click.UsageError(f"{question} Give --confirm {expected}. Nothing was changed.")
    return prompts.typed(question, expected, f"--confirm {expected}")


async def _commit(workspace: Workspace, dry_run: DryRun, run: Run | None) -> CommitEnd:
    """Commit part by part, then wait for nodes that an executor holds.

    Ctrl-C and SIGTERM stop between two parts, once the outcome of the current one is known.
    """
    decisions, before = Decisions(), len(workspace.journal.corrected)
    if dry_run.wait and dry_run.for_now:
        say(f"Waiting up to {dry_run.wait:.0f} s for {count_nodes(len(dry_run.for_now), ())}. Ctrl-C stops.")
    if run is None:
        run, runner = await launch.start(workspace, dry_run, operator(), decisions)
    else:
        runner = launch.proceed(workspace, run, dry_run, operator(), decisions)
    nodes = len(dry_run.versions) if run is None else len(run.plan.members)

    def progress(step: Step) -> str:
        done = len(runner.total.results)
        return f"{min(done, nodes)} of {nodes}" if done and run is not None else ""

    standby, why = asyncio.ensure_future(_standby_wait(workspace)), NOT_TRIED
    try:
        await follow(runner, decisions, progress)
    except NO_CONNECTION as error:
        say(f"The server was unreachable for {OUTAGE_SECONDS:.0f} s. {error.line}")
        why = UNREACHABLE
    finally:
        standby.cancel()
    runner.total.correct(workspace.journal.corrected[before:])
    if runner.lost or any(result.outcome is Outcome.LOST for result in runner.total.results):
        say("A failover has undone committed changes. What was not changed again has the outcome lost.")
    return CommitEnd(
        outcomes=msgspec.structs.replace(runner.total.outcomes(), run="" if run is None else run.log.id),
        left=tuple(runner.unfinished(why)),
        given_up=why != NOT_TRIED,
    )


async def _standby_wait(workspace: Workspace) -> None:
    """Say once for which standby a COMMIT waits."""
    known = ""
    while not known or known != workspace.awaited_standbys:
        known = workspace.awaited_standbys
        await asyncio.sleep(STANDBY_LOOK_S)
    say(f"{STANDBY_WAIT.format(standbys=known)}. If unstick is ended now, `unstick audit` settles the outcome.")


def exit_code(results: Sequence[Result]) -> int:
    """Return the exit code for the worst outcome."""
    outcomes = {result.outcome for result in results}
    if Outcome.UNKNOWN in outcomes:
        return UNKNOWN
    return SKIPPED if outcomes - {Outcome.CHANGED} else 0
