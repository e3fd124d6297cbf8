"""``do``: read what there is, rehearse, show, ask, commit. The same write path as the console's."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator, Sequence

import click
import msgspec

from console.cli import prompts, tables
from console.cli.arguments import arguments_of
from console.cli.info import unknown_verb
from console.cli.output import say
from console.cli.target import Target, named, opened
from queries.actions import perform, unfinished
from queries.actions import wait as waiting
from queries.contract.spec import Verb
from queries.errors import DatabaseError
from queries.model import Danger, Outcome, Outcomes, Record, Rehearsal, Result, RowChange, split_id
from queries.read import guard_token
from queries.read.reader import Reader
from queries.workspace import Workspace
from queries.write import bulk_list
from queries.write.audit_log import TABLE, operator
from queries.write.bulk_list import Frozen

DROPPED, UNKNOWN = 3, 5


class Ending(Record):
    """How a commit came to its end: the id of the bulk that is left, and whether the server was given up."""

    bulk: str = ""
    given_up: bool = False


async def do(
    target: Target,
    verb: str,
    nodes: Sequence[str],
    *,
    reason: str | None,
    arguments: Sequence[str],
    guards: Sequence[str],
    dry_run: bool,
    yes: bool,
    wait: float,
    confirm: str | None,
) -> int:
    """Carry a verb out. The exit code tells what became of the nodes."""
    if not (reason or "").strip():
        raise click.UsageError('A reason is wanted, for the ledger: --reason "why".')
    guarded = _guarded(nodes, guards)
    async with opened(target) as workspace:
        say(*unfinished.told(workspace))
        reader = _reader(workspace, nodes)
        variants = _variants(reader, verb, nodes)
        given = arguments_of(variants, arguments)
        there = await named(reader, nodes)
        seen = {node.id: guarded.get(typed, node.version) for typed, node in there.items()}
        gone = [_gone(reader, i) for i in nodes if i not in there]
        rehearsed = await perform.rehearse(workspace, reader.label, verb, seen, str(reason), given)
        rehearsal = msgspec.structs.replace(rehearsed, wait=wait)
        if dry_run:
            shown = _with(rehearsal, gone)
            target.output.answer(shown, lambda: _rehearsed(shown, variants))
            return _code(shown.results)
        done, carried = await _carried(target, workspace, variants, rehearsal, gone, yes, confirm)
        if done is None:
            return 1
    return _told(target, rehearsal, done, gone, carried)


async def resume(target: Target, name: str, *, dry_run: bool, yes: bool, confirm: str | None) -> int:
    """Continue a bulk: find out what became of its last chunk, and do what is left. The exit code as of ``do``."""
    async with opened(target) as workspace:
        with contextlib.closing(bulk_list.load(workspace.bulks, name, workspace.server)) as bulk:
            head = bulk.head
            reader = workspace.systems.get(head.label)
            if reader is None or reader.found.schema != head.schema:
                raise DatabaseError(
                    f"The bulk {name} is about {head.label} in the schema {head.schema}, which is not there any more.",
                    "Nothing was changed.",
                )
            found = await perform.recall(workspace, bulk)
            left = bulk.left
            if not left:
                say(f"Nothing is left of the bulk {name}.")
                target.output.answer(Outcomes(results=found), lambda: tables.results(found))
                return _code(found)
            say(f"{head.verb} in {head.label}: {len(left)} of {len(head.versions)} nodes are left. {head.reason}")
            variants = _variants(reader, head.verb, list(left))
            again = await _rehearsed_again(workspace, bulk)
            rehearsal = bulk_list.rehearsal_of(head, again, left)
            if dry_run:
                target.output.answer(rehearsal, lambda: _rehearsed(rehearsal, variants))
                return _code(rehearsal.results)
            done, carried = await _carried(target, workspace, variants, rehearsal, (), yes, confirm, bulk)
            if done is None:
                return 1
    return _told(target, rehearsal, done, found, carried)


async def _rehearsed_again(workspace: Workspace, bulk: Frozen) -> Rehearsal:
    """Rehearse what is left, after a transaction of the killed console that may still hold nodes has ended."""
    head = bulk.head
    waiting = False
    while True:
        again = await perform.rehearse(workspace, head.label, head.verb, bulk.left, head.reason, head.arguments)
        if not bulk.may_hold_locks or all(r.outcome is not Outcome.BUSY for r in again.results):
            return again
        if not waiting:
            say("Nodes are locked, perhaps by a transaction of the console that ended. Waiting for it, 15 s at most.")
        waiting = True
        await asyncio.sleep(0.2)


async def discard(target: Target, name: str) -> int:
    """Forget what is left of a bulk. The exit code."""
    async with opened(target, empty=True) as workspace:
        bulk = bulk_list.load(workspace.bulks, name, workspace.server)
        say(f"Forgotten: {bulk.head.verb} in {bulk.head.label}, of which {len(bulk.left)} nodes were left.")
        bulk.remove()
    return 0


async def _carried(
    target: Target,
    workspace: Workspace,
    variants: Sequence[Verb],
    rehearsal: Rehearsal,
    gone: Sequence[Result],
    yes: bool,
    confirm: str | None,
    bulk: Frozen | None = None,
) -> tuple[Outcomes | None, Ending]:
    """Ask and commit. No outcomes where it was not agreed to."""
    possible = (
        len(rehearsal.results) < len(rehearsal.versions)
        or any(r.outcome is Outcome.CHANGED for r in rehearsal.results)
        or bool(rehearsal.wait and rehearsal.for_now)
    )
    if possible and not _go_on(target, workspace, variants, _with(rehearsal, gone), yes, confirm):
        say("Nothing was changed.")
        return None, Ending()
    if not possible:
        if bulk is not None:
            bulk.outcomes(rehearsal.results)
        return Outcomes(results=rehearsal.results), Ending()
    return await _commit(workspace, rehearsal, bulk)


def _told(target: Target, rehearsal: Rehearsal, done: Outcomes, others: Sequence[Result], ending: Ending) -> int:
    """Print the outcomes. The exit code."""
    left = _left(rehearsal, done, ending)
    outcomes = Outcomes(
        results=tuple(sorted((*done.results, *others, *left), key=lambda r: r.id)),
        changes=done.changes,
        xid=done.xid,
        ledger=done.ledger,
    )
    target.output.answer(outcomes, lambda: tables.results(outcomes.results))
    if outcomes.ledger is not None:
        say(f"Ledger: {'the table unstick.ledger' if outcomes.ledger == TABLE else outcomes.ledger}.")
    if left and ending.bulk:
        say(f"{len(left)} nodes are left: unstick do --resume {ending.bulk}")
    if not rehearsal.wait:
        say(*_could_wait(rehearsal))
    return 130 if left and not ending.given_up else _code(outcomes.results)


def _guarded(nodes: Sequence[str], guards: Sequence[str]) -> dict[str, str]:
    """Return the guard tokens by node, as both were typed. Raises UsageError."""
    if guards and len(guards) != len(nodes):
        raise click.UsageError(f"--guard is given {len(guards)} times for {len(nodes)} nodes; give one for each.")
    wrong = next((text for text in guards if not guard_token.is_valid(text)), None)
    if wrong is not None:
        raise click.UsageError(f"--guard {wrong!r} is not a guard; copy it from what stuck prints.")
    return dict(zip(nodes, guards, strict=False))


def _reader(workspace: Workspace, nodes: Sequence[str]) -> Reader:
    """The one system that all the nodes belong to. Raises UnknownError, UsageError."""
    readers = {reader.label: reader for reader in map(workspace.reader, nodes)}
    if len(readers) > 1:
        raise click.UsageError(f"The nodes are of several systems ({', '.join(readers)}); do one after the other.")
    return next(iter(readers.values()))


def _variants(reader: Reader, name: str, nodes: Sequence[str]) -> list[Verb]:
    """The verb as it is for the kinds of these nodes. Raises UsageError where the system has none of that name."""
    known = {verb.name for verb in reader.system.spec.verbs}
    if name not in known:
        raise unknown_verb(name, known)
    kinds = dict.fromkeys(split_id(node)[1] for node in nodes)
    return [verb for kind in kinds for verb in reader.verbs(kind) if verb.name == name]


def _gone(reader: Reader, node_id: str) -> Result:
    """The outcome for a node that was not found; a row that a policy hides looks the same."""
    if reader.found.policies:
        why = "row-level policy: no row of this id is visible to this role; it may be hidden, or not exist"
        return Result(id=node_id, outcome=Outcome.DENIED, why=why)
    return Result(id=node_id, outcome=Outcome.GONE, why="it does not exist, or not any more")


def _with(rehearsal: Rehearsal, gone: Sequence[Result]) -> Rehearsal:
    results = tuple(sorted((*rehearsal.results, *gone), key=lambda r: r.id))
    return msgspec.structs.replace(rehearsal, results=results)


def _rehearsed(rehearsal: Rehearsal, variants: Sequence[Verb]) -> Iterator[str]:
    """What would change, what drops out, and what the engine does then."""
    yield from tables.changes(rehearsal.changes)
    yield from tables.results(rehearsal.results, would=True)
    beyond = len(rehearsal.versions) - sum(r.id in rehearsal.versions for r in rehearsal.results)
    if beyond > 0:
        yield f"{beyond} more nodes are done likewise; the first {perform.CHUNK} were rehearsed."
    if any(result.outcome is Outcome.CHANGED for result in rehearsal.results):
        for verb in variants:
            assumed = " (assumed)" if verb.proof == "assumed" else ""
            yield f"{verb.title}: {verb.effect} {verb.next}{assumed}".rstrip()


def _could_wait(rehearsal: Rehearsal) -> Iterator[str]:
    """Say that waiting would help, where it would."""
    if rehearsal.for_now:
        nodes = "1 node" if len(rehearsal.for_now) == 1 else f"{len(rehearsal.for_now)} nodes"
        yield f"An executor has {nodes} at the moment: --wait SECONDS acts when that is over."


def _go_on(
    target: Target,
    workspace: Workspace,
    variants: Sequence[Verb],
    rehearsal: Rehearsal,
    yes: bool,
    confirm: str | None,
) -> bool:
    """Show the rehearsal and ask, as hard as the verb is dangerous. Raises UsageError where asking is not possible."""
    if not target.output.json:
        say(*_rehearsed(rehearsal, variants))
    server = workspace.server
    place = f"{target.context or server.database} (as {server.role})"
    number = sum(result.outcome is Outcome.CHANGED for result in rehearsal.results)
    question = f"{variants[0].title}: {number} of {len(rehearsal.results)} nodes on {place}."
    if rehearsal.wait and rehearsal.for_now:
        question += (
            f" Then wait up to {rehearsal.wait:.0f} s for {len(rehearsal.for_now)} that an executor has at the moment."
        )
    destroys = any(verb.danger is Danger.DESTRUCTIVE or verb.confirm == "typed" for verb in variants)
    if destroys and target.production:
        if confirm is not None and confirm != target.context:
            raise click.UsageError(f"--confirm must be the context's name, {target.context}. Nothing was changed.")
        return confirm is not None or prompts.typed(question, target.context, f"--confirm {target.context}")
    if yes or confirm is not None:
        return True
    if destroys:
        return prompts.typed(question, variants[0].name, "--yes")
    return prompts.agreed(f"{question} Go on?")


async def _commit(workspace: Workspace, rehearsal: Rehearsal, bulk: Frozen | None) -> tuple[Outcomes, Ending]:
    """Commit chunk by chunk, then wait for what is busy for now. Ctrl-C and SIGTERM end it between two chunks.

    What is under way is waited for.
    """
    stop = asyncio.Event()
    results: list[Result] = []
    changes: list[RowChange] = []
    xids: list[str] = []
    place: str | None = None
    ending = Ending()
    before = len(workspace.journal.corrected)

    def interrupted() -> None:
        stop.set()
        say("Interrupted: waiting for the outcome of what is under way ...")

    with _signals(interrupted):
        if rehearsal.wait and rehearsal.for_now:
            say(f"Waiting up to {rehearsal.wait:.0f} s for {len(rehearsal.for_now)} nodes. Ctrl-C stops.")
        async for progress in waiting.bulk(workspace, rehearsal, operator(), stop, bulk):
            results += progress.chunk.results
            changes += [change.read() for change in progress.chunk.changes]
            xids += [progress.chunk.xid] if progress.chunk.xid else []
            place = progress.chunk.ledger or place
            ending = Ending(bulk=progress.bulk, given_up=progress.given_up)
            if progress.waits is not None:
                say(f"Server lost, retrying in {progress.waits:.0f} s. Ctrl-C stops. {progress.trouble}")
            elif progress.given_up:
                say(f"The server was not there for {perform.PATIENCE:.0f} s. {progress.trouble}")
            elif progress.total > perform.CHUNK:
                say(f"{progress.done} of {progress.total}")
    corrections = workspace.journal.corrected[before:]
    if any(result.outcome is Outcome.LOST for result in corrections):
        say("The server was replaced by one that does not have all that was committed: see the nodes that are lost.")
    done = tuple(perform.corrected(results, corrections))
    return Outcomes(results=done, changes=tuple(changes), xid=" ".join(xids) or None, ledger=place), ending


@contextlib.contextmanager
def _signals(handler: Callable[[], None]) -> Iterator[None]:
    """Have SIGINT, SIGTERM and SIGHUP call ``handler`` instead of ending the program."""
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    for number in before:
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number, action in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, action)


def _left(rehearsal: Rehearsal, done: Outcomes, ending: Ending) -> list[Result]:
    """The nodes that an interruption left alone."""
    told = {result.id for result in done.results}
    why = "not tried: the server did not come back" if ending.given_up else "not tried: interrupted before"
    return [Result(id=i, outcome=Outcome.REFUSED, why=why) for i in rehearsal.versions if i not in told]


def _code(results: Sequence[Result]) -> int:
    outcomes = {result.outcome for result in results}
    if Outcome.UNKNOWN in outcomes:
        return UNKNOWN
    return DROPPED if outcomes - {Outcome.CHANGED} else 0
