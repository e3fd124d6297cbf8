"""``do``: read what there is, rehearse, show, ask, commit. The same write path as the console's."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator, Sequence

import click

from console.oneshot import ask, plain
from console.oneshot.about import unknown_verb
from console.oneshot.arguments import arguments_of
from console.oneshot.output import say
from console.oneshot.target import Target, named, opened
from queries import act
from queries.ledger import TABLE, operator
from queries.model import Danger, Outcome, Outcomes, Rehearsal, Result, RowChange, split_id
from queries.read import Reader
from queries.spec import Verb
from queries.workspace import Workspace

DROPPED, UNKNOWN = 3, 5


async def do(
    target: Target,
    verb: str,
    nodes: Sequence[str],
    *,
    reason: str | None,
    arguments: Sequence[str],
    dry_run: bool,
    yes: bool,
    confirm: str | None,
) -> int:
    """Carry a verb out. The exit code tells what became of the nodes."""
    if not (reason or "").strip():
        raise click.UsageError('A reason is wanted, for the ledger: --reason "why".')
    async with opened(target) as workspace:
        reader = _reader(workspace, nodes)
        variants = _variants(reader, verb, nodes)
        given = arguments_of(variants, arguments)
        there = await named(reader, nodes)
        seen = {node.id: node.version for node in there.values()}
        gone = [_gone(i) for i in nodes if i not in there]
        rehearsal = await act.rehearse(workspace, reader.label, verb, seen, str(reason), given)
        if dry_run:
            shown = _with(rehearsal, gone)
            target.output.answer(shown, lambda: _rehearsed(shown, variants))
            return _code(shown.results)
        possible = any(r.outcome is Outcome.CHANGED for r in rehearsal.results)
        if possible and not _go_on(target, workspace, variants, _with(rehearsal, gone), yes, confirm):
            say("Nothing was changed.")
            return 1
        done = await _commit(workspace, verb, rehearsal) if possible else Outcomes(results=rehearsal.results)
    left = _left(rehearsal, done)
    outcomes = Outcomes(
        results=tuple(sorted((*done.results, *gone, *left), key=lambda r: r.id)),
        changes=done.changes,
        xid=done.xid,
        ledger=done.ledger,
    )
    target.output.answer(outcomes, lambda: plain.results(outcomes.results))
    if outcomes.ledger is not None:
        say(f"Ledger: {'the table unstick.ledger' if outcomes.ledger == TABLE else outcomes.ledger}.")
    return 130 if left else _code(outcomes.results)


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


def _gone(node_id: str) -> Result:
    return Result(id=node_id, outcome=Outcome.GONE, why="it does not exist, or not any more")


def _with(rehearsal: Rehearsal, gone: Sequence[Result]) -> Rehearsal:
    import msgspec

    results = tuple(sorted((*rehearsal.results, *gone), key=lambda r: r.id))
    return msgspec.structs.replace(rehearsal, results=results)


def _rehearsed(rehearsal: Rehearsal, variants: Sequence[Verb]) -> Iterator[str]:
    """What would change, what drops out, and what the engine does then."""
    yield from plain.changes(rehearsal.changes)
    yield from plain.results(rehearsal.results, would=True)
    beyond = len(rehearsal.versions) - sum(r.id in rehearsal.versions for r in rehearsal.results)
    if beyond > 0:
        yield f"{beyond} more nodes are done likewise; the first {act.CHUNK} were rehearsed."
    if any(result.outcome is Outcome.CHANGED for result in rehearsal.results):
        for verb in variants:
            assumed = " (assumed)" if verb.proof == "assumed" else ""
            yield f"{verb.title}: {verb.effect} {verb.next}{assumed}".rstrip()


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
    destroys = any(verb.danger is Danger.DESTRUCTIVE or verb.confirm == "typed" for verb in variants)
    if destroys and target.production:
        if confirm is not None and confirm != target.context:
            raise click.UsageError(f"--confirm must be the context's name, {target.context}. Nothing was changed.")
        return confirm is not None or ask.typed(question, target.context, f"--confirm {target.context}")
    if yes or confirm is not None:
        return True
    if destroys:
        return ask.typed(question, variants[0].name, "--yes")
    return ask.agreed(f"{question} Go on?")


async def _commit(workspace: Workspace, verb: str, rehearsal: Rehearsal) -> Outcomes:
    """Commit chunk by chunk. Ctrl-C and SIGTERM end it between two chunks: what is under way is waited for."""
    stop = asyncio.Event()
    results: list[Result] = []
    changes: list[RowChange] = []
    xids: list[str] = []
    place: str | None = None

    def interrupted() -> None:
        stop.set()
        say("Interrupted: waiting for the outcome of what is under way ...")

    with _signals(interrupted):
        async for progress in act.bulk(workspace, rehearsal.system, verb, rehearsal, operator(), stop):
            results += progress.chunk.results
            changes += [change.read() for change in progress.chunk.changes]
            xids += [progress.chunk.xid] if progress.chunk.xid else []
            place = progress.chunk.ledger or place
            if progress.total > act.CHUNK:
                say(f"{progress.done} of {progress.total}")
    return Outcomes(results=tuple(results), changes=tuple(changes), xid=" ".join(xids) or None, ledger=place)


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


def _left(rehearsal: Rehearsal, done: Outcomes) -> list[Result]:
    """The nodes that an interruption left alone."""
    told = {result.id for result in done.results}
    why = "not tried: interrupted before"
    return [Result(id=i, outcome=Outcome.REFUSED, why=why) for i in rehearsal.versions if i not in told]


def _code(results: Sequence[Result]) -> int:
    outcomes = {result.outcome for result in results}
    if Outcome.UNKNOWN in outcomes:
        return UNKNOWN
    return DROPPED if outcomes - {Outcome.CHANGED} else 0
