"""``do``: dry-run an action, show it, ask, and commit.

Uses the same write path as the console.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import TextIO

import click
import msgspec

from console.cli import prompts
from console.cli.arguments import arguments_of, unknown_action
from console.cli.consent import Consent
from console.cli.edited import edited_plan
from console.cli.following import follow
from console.cli.output import output_for, say
from console.cli.selected import EmptyError, Source, selected
from console.cli.target import opened, resolve_nodes
from console.target import Target
from console.text.pages.action import STANDBY_WAIT, certain, dry_run_page, result_page
from console.text.spans import UNLIMITED, Spans
from queries.actions import perform, signals
from queries.actions.plan import count_nodes, plan_versions
from queries.contract.spec import Action
from queries.db.backoff import OUTAGE_SECONDS
from queries.db.errors import NO_CONNECTION
from queries.read import guard_token
from queries.read.reader import Reader
from queries.records.action import DryRun, Outcome, Outcomes, Result, Risk
from queries.records.finding import OPEN
from queries.records.node import split_id
from queries.records.record import Record
from queries.runs import launch, unfinished
from queries.runs.run import Run
from queries.runs.runner import NOT_TRIED, Decisions
from queries.runs.steps import Step
from queries.text.safe_text import lost_bytes
from queries.workspace import Workspace
from queries.write import undo
from queries.write.audit_log import TABLE, operator

SKIPPED, UNKNOWN, EMPTY = 3, 5, 6  # exit codes
UNREACHABLE = "not tried: the server stayed unreachable"
STANDBY_LOOK_S = 0.5  # between two looks at a COMMIT that may wait for a standby


class CommitEnd(Record):
    """End of a commit.

    ``run``: id of the run, or "". ``left``: results of the nodes that were not reached. ``given_up``: the server did
    not return in time.
    """

    run: str = ""
    left: tuple[Result, ...] = ()
    given_up: bool = False


async def do(
    target: Target,
    action: str,
    source: Source,
    consent: Consent,
    *,
    arguments: Sequence[str],
    guards: Sequence[str],
    wait: float,
    edit: bool = False,
    input: TextIO | None = None,
) -> int:
    """Dry-run an action, confirm it and commit it. Return the exit code."""
    reason = consent.said
    given_guards = _guarded(source.ids, guards)
    async with opened(target) as workspace:
        try:
            chosen = await selected(target, workspace, source, action)
        except EmptyError as error:
            say(*str(error).splitlines())
            return EMPTY
        nodes, guarded = chosen.ids, {**chosen.guards, **given_guards}
        typed_names = {word.partition("=")[0] for word in arguments}
        arguments = [*arguments, *(w for w in chosen.arguments if w.partition("=")[0] not in typed_names)]
        if any(map(signals.is_session, nodes)):
            say(*await unfinished.messages(workspace))
            return await _signal(target, workspace, action, nodes, consent)
        reader = _reader(workspace, nodes)
        reads = (unfinished.messages(workspace), resolve_nodes(reader, nodes))
        messages, found = await workspace.database.together(*reads)
        say(*messages)
        variants = variants_of(reader, action, nodes)
        given = arguments_of(variants, arguments, preview=consent.preview)
        seen = {node.id: guarded.get(typed, node.version) for typed, node in found.items()}
        gone = [_gone(reader, i) for i in nodes if i not in found]
        if any(variant.document is not None for variant in variants):
            plan = await edited_plan(workspace, reader, action, nodes, found, edit=edit, input=input)
        elif (edit or input is not None) and any(variant.writes for variant in variants):
            raise click.UsageError(f"--edit and --input are for actions that edit a text; {action} does not.")
        else:
            plan = plan_versions(workspace, reader.label, action, seen, {n.id: n.title for n in found.values()})
        given |= plan.arguments
        measures = consent.preview or not consent.yes
        dry_run_of = await perform.dry_run(workspace, plan, reason, given, measures=measures)
        dry_run = msgspec.structs.replace(dry_run_of, wait=wait)
        if consent.preview:
            shown = _with(dry_run, gone)
            output_for(target).page(shown, lambda cells: page(dry_run, variants, gone, cells))
            say(*_instead(target, shown.results))
            return exit_code(shown.results)
        done, end = await confirm_and_commit(target, workspace, variants, dry_run, gone, consent)
        if done is None:
            return 1
    return report(target, dry_run, done, gone, end)


async def _signal(target: Target, workspace: Workspace, action: str, ids: Sequence[str], consent: Consent) -> int:
    """Cancel the statements of sessions, or end the sessions. Return the exit code."""
    plan = signals.plan(action, ids)
    dry_run = await perform.dry_run(workspace, plan, consent.said, {})
    if consent.preview:
        output_for(target).page(dry_run, lambda cells: page(dry_run, [plan.action], (), cells))
        return exit_code(dry_run.results)
    done, end = await confirm_and_commit(target, workspace, [plan.action], dry_run, (), consent)
    return 1 if done is None else report(target, dry_run, done, (), end)


async def confirm_and_commit(
    target: Target,
    workspace: Workspace,
    variants: Sequence[Action],
    dry_run: DryRun,
    gone: Sequence[Result],
    consent: Consent,
    run: Run | None = None,
) -> tuple[Outcomes | None, CommitEnd]:
    """Ask and commit. Return no outcomes if the operator declined.

    ``run``: the run that is continued.
    """
    possible = (
        len(dry_run.results) < len(dry_run.versions)
        or any(r.outcome is Outcome.CHANGED for r in dry_run.results)
        or bool(dry_run.wait and dry_run.for_now)
    )
    if possible and not confirmed(target, workspace, variants, dry_run, gone, consent):
        say("Nothing was changed.")
        return None, CommitEnd()
    if not possible and run is None:
        return Outcomes(results=dry_run.results), CommitEnd()
    return await _commit(workspace, dry_run, run)


def report(target: Target, dry_run: DryRun, done: Outcomes, others: Sequence[Result], end: CommitEnd) -> int:
    """Print the outcomes. Return the exit code."""
    left = end.left
    outcomes = Outcomes(
        results=tuple(sorted((*done.results, *others, *left), key=lambda r: r.id)),
        changes=done.changes,
        xid=done.xid,
        audit_log=done.audit_log,
        entries=done.entries,
        run=end.run,
        logged=done.logged,
        durability=done.durability,
    )
    _print(target, outcomes)
    if done.durability is not None:
        say(certain(done.durability))
    if outcomes.audit_log is not None:
        say(f"Audit log: {'the table unstick.audit_log' if outcomes.audit_log == TABLE else outcomes.audit_log}.")
    if done.entries and len(dry_run.irreversible) < sum(r.outcome is Outcome.CHANGED for r in done.results):
        names = [end.run] if end.run and len(done.entries) > 1 else done.entries
        say(f"Undo: {'; '.join(target.command('undo', name, '--reason', OPEN) for name in names)}")
    if left and end.run:
        say(f"Not changed yet: {count_nodes(len(left), ())}. Continue: {target.command('do', '--resume', end.run)}")
    if not dry_run.wait:
        say(*_could_wait(dry_run))
    say(*_instead(target, outcomes.results))
    return 130 if left and not end.given_up else exit_code(outcomes.results)


def _guarded(nodes: Sequence[str], guards: Sequence[str]) -> dict[str, str]:
    """Return the guard tokens by node id as typed. Raises UsageError."""
    if guards and len(guards) != len(nodes):
        raise click.UsageError(f"--guard is given {len(guards)} times for {len(nodes)} nodes. Give one per node.")
    wrong = next((text for text in guards if not guard_token.is_valid(text)), None)
    if wrong is not None:
        raise click.UsageError(f"--guard {wrong!r} is not a guard token. Copy it from the output of stuck.")
    return dict(zip(nodes, guards, strict=False))


def _reader(workspace: Workspace, nodes: Sequence[str]) -> Reader:
    """Return the reader of the engine that holds all the nodes.

    Raises UnknownIdError, UsageError.
    """
    readers = {reader.label: reader for reader in map(workspace.reader, nodes)}
    if len(readers) > 1:
        raise click.UsageError(f"The nodes belong to several engines ({', '.join(readers)}). Run one per engine.")
    return next(iter(readers.values()))


def variants_of(reader: Reader, name: str, nodes: Sequence[str]) -> list[Action]:
    """Return the action for each kind of the nodes.

    Raises UsageError for an unknown action.
    """
    if name == undo.NAME:
        return [undo.ACTION]
    known = {action.name for action in reader.engine.spec.actions}
    if name not in known:
        raise unknown_action(name, known)
    kinds = dict.fromkeys(split_id(node)[1] for node in nodes)
    return [action for kind in kinds for action in reader.actions(kind) if action.name == name]


def _gone(reader: Reader, node_id: str) -> Result:
    """Return the outcome of a missing node: gone, or denied if a policy may hide it."""
    if reader.found.policies:
        why = "row-level policy: this role sees no row with this id; it may be hidden or deleted"
        return Result(id=node_id, outcome=Outcome.DENIED, why=why)
    return Result(
        id=node_id, outcome=Outcome.GONE, why=f"not found; it may have been deleted. {lost_bytes(node_id)}".rstrip(". ")
    )


def _with(dry_run: DryRun, gone: Sequence[Result]) -> DryRun:
    results = tuple(sorted((*dry_run.results, *gone), key=lambda r: r.id))
    return msgspec.structs.replace(dry_run, results=results)


def page(dry_run: DryRun, variants: Sequence[Action], gone: Sequence[Result], cells: int) -> list[Spans]:
    """Return the lines of a dry run, with all of its rows and nodes."""
    return dry_run_page(dry_run, variants, gone, cells, limit=UNLIMITED, skipped_limit=UNLIMITED)


def _print(target: Target, outcomes: Outcomes) -> None:
    """Print the outcomes of all nodes."""
    output_for(target).page(outcomes, lambda cells: result_page(outcomes.results, cells, limit=UNLIMITED))


def _instead(target: Target, results: Sequence[Result]) -> Iterator[str]:
    """Say where the operator finds what to do with a refused node."""
    refused = next((r.id for r in results if r.outcome is Outcome.REFUSED and not signals.is_session(r.id)), None)
    if refused is not None:
        yield f"Refused: `{target.command('show', refused)}` says what can be done instead, if anything must be."


def _could_wait(dry_run: DryRun) -> Iterator[str]:
    """Suggest --wait if an executor holds nodes."""
    if dry_run.for_now:
        held = count_nodes(len(dry_run.for_now), dry_run.for_now)
        yield f"An executor holds {held}. --wait SECONDS acts when they are free."


def confirmed(
    target: Target,
    workspace: Workspace,
    variants: Sequence[Action],
    dry_run: DryRun,
    gone: Sequence[Result],
    consent: Consent,
    more: str = "",
) -> bool:
    """Show the dry run and ask for a confirmation that fits the risk.

    ``more``: what the confirmation is also about. Raises UsageError.
    """
    if not target.json:
        output_for(target).show(lambda cells: page(dry_run, variants, gone, cells))
    server = workspace.server
    place = f"{target.name or server.database} (as {server.role})"
    number = sum(result.outcome is Outcome.CHANGED for result in dry_run.results)
    question = f"{variants[0].title}: {number} of {len(dry_run.results) + len(gone)} nodes on {place}."
    if dry_run.wait and dry_run.for_now:
        question += f" Then wait up to {dry_run.wait:.0f} s for {len(dry_run.for_now)} that an executor holds."
    question += more
    tables = ",".join(other.table for other in dry_run.removed)
    if tables:
        lost = "; ".join(f"{other.words} of {other.table}" for other in dry_run.removed)
        question += f" It would also have {lost}, which do not come back."
        expected = f"{target.name},{tables}" if target.production else tables
        if consent.given:
            if consent.confirm != expected:
                raise click.UsageError(f"{question} Give --confirm {expected}. Nothing was changed.")
            return True
        return prompts.typed(question, expected, f"--confirm {expected}")
    destroys = any(action.risk is Risk.HIGH or action.confirm == "typed" for action in variants)
    if target.production and destroys:
        if consent.confirm is not None and consent.confirm != target.name:
            raise click.UsageError(f"--confirm must be the context's name, {target.name}. Nothing was changed.")
        return consent.confirm is not None or prompts.typed(question, target.name, f"--confirm {target.name}")
    return consent.given or prompts.agreed(f"{question} Continue?")


async def _commit(workspace: Workspace, dry_run: DryRun, run: Run | None) -> tuple[Outcomes, CommitEnd]:
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
    left = tuple(runner.unfinished(why))
    return runner.total.outcomes(), CommitEnd(
        run="" if run is None else run.log.id, left=left, given_up=why != NOT_TRIED
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
