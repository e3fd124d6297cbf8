"""Plain change of a command: all nodes at once, then those that an executor held."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from console.cli.carry_out import Consent, Course, Report, carry_out, dry_run_text
from console.cli.output import say
from console.model.run_work import BROKEN
from console.target import Target
from console.text.spans import UNLIMITED
from console.text.views.action import certain, result_lines
from queries.change import perform
from queries.change.loop import NOT_TRIED, Loop
from queries.change.plan import Plan, count_nodes
from queries.change.run import Run
from queries.contract.spec import Action
from queries.log.audit_log import TABLE
from queries.records.action import Change, Outcome, Result
from queries.records.finding import OPEN
from queries.records.run import BULK, commands_of
from queries.text.duration import spelled
from queries.workspace import Workspace

UNREACHABLE = "not tried: the server stayed unreachable"


async def change(
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
    dry_run = await perform.dry_run(workspace, plan, reason, arguments, measures=consent.measures)
    dry_run = msgspec.structs.replace(dry_run, wait=wait)
    shown = msgspec.structs.replace(dry_run, results=_sorted(dry_run.results, gone))
    held = dry_run.for_now if wait else ()

    async def begin() -> Loop:
        if held:
            say(f"Waiting up to {spelled(wait)} for {count_nodes(len(held), ())}. Ctrl-C stops.")
        return await Loop(workspace, dry_run, run=run).begin()

    course = Course(
        actions=actions,
        dry_run=shown,
        preview=Report(
            record=shown,
            lines=lambda cells: dry_run_text(target, workspace, dry_run, plan, cells, rows=consent.rows),
            results=shown.results,
        ),
        more=f" Then wait up to {spelled(wait)} for {len(held)} that an executor holds." if held else "",
        possible=bool(held)
        or len(dry_run.results) < len(dry_run.versions)
        or any(r.outcome is Outcome.CHANGED for r in dry_run.results),
        begin=begin,
        line=_line,
        report=functools.partial(_report, target, dry_run, gone),
    )
    return await carry_out(target, workspace, course, consent)


def _line(loop: Loop) -> str:
    count = min(len(loop.state.results), loop.nodes)
    return f"{count} of {loop.nodes}" if count and len(loop.state.parts) > 1 else ""


def _report(target: Target, dry_run: Change, gone: Sequence[Result], loop: Loop, given_up: bool) -> Report:
    state, run = loop.state, loop.run
    done = msgspec.structs.replace(state.change(), run="" if run is None else run.log.id)
    rest = loop.unfinished(UNREACHABLE if given_up else BROKEN if loop.broken else NOT_TRIED)
    # An executor held the nodes of `for_now` at some time. Some of them may have changed since.
    outcomes = msgspec.structs.replace(done, results=_sorted(done.results, gone, rest), for_now=())
    left = [*(r for r in done.results if r.outcome is Outcome.UNSENT and run is None), *rest]
    notes = list(_notes(target, dry_run, done, left if rest and not (run and run.log.ended) else ()))
    if loop.lost or any(r.outcome is Outcome.LOST for r in done.results):
        notes.insert(0, "A failover has undone committed changes. What was not changed again has the outcome lost.")
    return msgspec.structs.replace(outcomes_of(outcomes), notes=notes, open=bool(rest))


def _notes(target: Target, dry_run: Change, outcomes: Change, rest: Sequence[Result]) -> Iterator[str]:
    """Yield how certain it is, and how to undo, continue or repeat it."""
    if outcomes.durability is not None:
        yield certain(outcomes.durability, outcomes.durable)
    if outcomes.audit_log is not None:
        yield f"Audit log: {'the table unstick.audit_log' if outcomes.audit_log == TABLE else outcomes.audit_log}."
    if outcomes.entries and len(dry_run.irreversible) < sum(r.outcome is Outcome.CHANGED for r in outcomes.results):
        names = [outcomes.run] if outcomes.run and len(outcomes.entries) > 1 else outcomes.entries
        yield f"Undo: {'; '.join(target.command('undo', name, '--reason', OPEN) for name in names)}"
    if rest and outcomes.run:
        resume, stop = commands_of(target.command, BULK, outcomes.run).lines
        yield from (f"Not changed yet: {count_nodes(len(rest), ())}. {resume}", stop)
    elif rest:
        again = target.command("do", dry_run.action, "-", "--reason", OPEN)
        yield f"Not changed: {count_nodes(len(rest), ())}. No audit log table keeps them. Their ids, for `{again}`:"
        yield from (result.id for result in rest)
    if dry_run.for_now and not dry_run.wait:
        held = count_nodes(len(dry_run.for_now), dry_run.for_now)
        yield f"An executor holds {held}. --wait SECONDS acts when they are free."


def outcomes_of(outcomes: Change) -> Report:
    """Return the outcomes of all nodes as a report."""
    return Report(
        record=outcomes,
        lines=lambda cells: result_lines(outcomes.results, cells, limit=UNLIMITED),
        results=outcomes.results,
    )


def _sorted(*parts: Sequence[Result]) -> tuple[Result, ...]:
    return tuple(sorted((result for part in parts for result in part), key=lambda result: result.id))
