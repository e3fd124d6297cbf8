"""Resolve options and settings to a target, and open a workspace on it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from click import UsageError

from console import garbage
from console.cli.options import CliOptions, option_value
from console.cli.output import ANSWERING, PLACE, say
from console.config import UNNAMED, interval, load, outside
from console.interrupts import ended_by_ctrl_c
from console.target import Target, engine_words
from console.text import formatting
from queries.contract.builtin import builtin
from queries.contract.engine import Engine
from queries.contract.outside import names
from queries.db.errors import DatabaseError, UnknownIdError
from queries.db.redaction import without_passwords
from queries.read.reader import Reader
from queries.records.node import Match, Node
from queries.text.safe_text import lost_bytes
from queries.text.suggest import unknown
from queries.workspace import Workspace


class NoEngineError(DatabaseError):
    """The database holds no known engine."""


def run(options: CliOptions, command: Callable[[Target], Coroutine[Any, Any, int]]) -> int:
    """Run a command on the target that the options name. Return its exit code."""
    target = resolve(options)
    garbage.resume()
    try:
        return asyncio.run(ended_by_ctrl_c(command(target)))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def resolve(options: CliOptions) -> Target:
    """Read and check the settings, and merge them with the options.

    Raises ConfigError, UsageError.
    """
    config = load(options.config)
    word = options.dsn or ""
    context = config.context(word[1:]) if word.startswith("@") else msgspec.structs.replace(UNNAMED, dsn=word)
    folders = tuple(Path(each).absolute() for each in options.engines)
    others = outside(config, context, folders)
    if config.contexts or config.thresholds or config.options:
        engines = (*builtin(), *others.engines)
        elsewhere = names(folder for each in config.contexts.values() for folder in config.engine_folders(each))
        config.check(
            {s.name: s.spec.thresholds for s in engines},
            {s.name: s.spec.options for s in engines},
            unread={*elsewhere, *(each.name for each in others.broken)},
        )
    return Target(
        config=config,
        context=msgspec.structs.replace(
            context,
            schema=context.schema if options.schema is None else options.schema,
            trusted_owners=(*context.trusted_owners, *options.trust),
            read_only=options.read_only or context.read_only,
            override_read_only=options.override_read_only or context.override_read_only,
            local_log=options.local_log or context.local_log,
        ),
        ascii=options.ascii or config.ascii,
        json=options.json,
        interval=config.interval
        if options.interval is None
        else option_value("--interval", interval, options.interval),
        engine_folders=folders,
        outside=others,
        words=tuple(_words(options, folders)),
    )


def _words(options: CliOptions, folders: Iterable[Path]) -> Iterator[str]:
    """Yield the words that select the same database in another command."""
    if options.dsn:
        yield from (options.dsn,) if options.dsn.startswith("@") else ("-d", without_passwords(options.dsn))
    for name, value in (("--config", options.config), ("--schema", options.schema)):
        if value is not None:
            yield from (name, value)
    for role in options.trust:
        yield from ("--trust", role)
    if options.local_log:
        yield "--local-log"
    yield from engine_words(folders)


@contextlib.asynccontextmanager
async def opened(target: Target, *, empty: bool = False, later: bool = False) -> AsyncIterator[Workspace]:
    """Connect to the database.

    ``later``: recognise the variant of an engine at its first read. Raises DatabaseError, also if the database holds no
    engine and ``empty`` is False.
    """
    workspace = await target.open(later=later)
    say(*(line for folder in workspace.broken for line in folder.lines))
    say(*(f"{each.label}: {each.detected.newer}." for each in workspace.engines.values() if each.detected.newer))
    say(*(f"{each.label}: {each.engine.guess}" for each in workspace.engines.values() if each.engine.guess))
    try:
        if not (workspace.engines or empty):
            raise NoEngineError(*no_engine_lines(workspace))
        ANSWERING.set(workspace.database)
        PLACE.set(target.where(workspace.server).text)
        yield workspace
    finally:
        await workspace.close()


def no_engine_lines(workspace: Workspace) -> list[str]:
    """Return what the database holds in place of an engine, and the next step."""
    first, *more = workspace.nothing
    return [first, *(f"Declined {d.engine} in {d.schema}: {d.why}." for d in workspace.declined_alike), *more]


def named_engine(engines: Iterable[Engine], name: str, what: str = "engine") -> Engine:
    """Return the engine of that name. Raises UsageError: there is no ``what``."""
    by_name = {engine.name: engine for engine in engines}
    if name not in by_name:
        raise UsageError(unknown(what, name, by_name))
    return by_name[name]


def declined_engines(workspace: Workspace, label: str | None) -> dict[str, str]:
    """Return why engines cannot be read, by name; none if one engine is asked for."""
    each = workspace.not_checked if label is None else ()
    return {skipped.engine: skipped.why for skipped in each if skipped.failed}


def select_readers(workspace: Workspace, label: str | None) -> Iterable[Reader]:
    """Return the reader of one engine, or of all if ``label`` is None.

    Raises UsageError.
    """
    if label is None:
        return workspace.engines.values()
    try:
        return (workspace.named(label),)
    except UnknownIdError as error:
        raise UsageError(str(error)) from None


async def resolve_nodes(reader: Reader, ids: Sequence[str]) -> dict[str, Node]:
    """Return the nodes that exist by their ids as typed.

    A key may have more than one spelling.
    """
    nodes = {node.id: node for node in (await reader.nodes.read(ids)).nodes}
    by_id = {id_: nodes[id_] for id_ in ids if id_ in nodes}
    others = [id_ for id_ in ids if id_ not in nodes]
    if others and (await reader.nodes.read(others)).nodes:
        alone = {id_: (await reader.nodes.read([id_])).nodes for id_ in others}
        by_id |= {id_: node for id_, read in alone.items() for node in read}
    return by_id


def missing(reader: Reader, node_id: str) -> str:
    """Return that a node was not found, and what may be the reason."""
    found = formatting.absent(f"{node_id} was not found. It may have been deleted", reader.detected.policies)
    return f"{found}. {lost_bytes(node_id)}".rstrip()


def access_warnings(workspace: Workspace, readers: Iterable[Reader]) -> list[str]:
    """Return why parts of engines cannot be read.

    The cause is a missing privilege or an unknown variant.
    """
    lines, role = [], workspace.server.role
    for reader in readers:
        label, detected = reader.label, reader.detected
        if not detected.usable:
            lines.append(f"{label}: permission denied: the role {role} has no USAGE on schema {detected.schema}")
        elif detected.denied:
            denied = ", ".join(detected.denied)
            lines.append(f"{label}: permission denied: the role {role} has no SELECT on {denied}")
        if why := reader.variant.unrecognised:
            lines.append(f"{label}: the variant of the engine could not be determined: {why}")
    return lines


async def full_ids(workspace: Workspace, ids: Sequence[str]) -> dict[str, str]:
    """Return the full ids of what is changed, by ids as typed.

    A few ids without an engine are looked up; only a node with exactly that id is meant. Raises UsageError.
    """
    full, readers = {i: i for i in ids}, workspace.engines.values()
    others = [i for i in ids if not any(reader.ids.owns(i) for reader in readers)]
    if not others:
        return full
    from queries.read.search import MOST_IDS, Sought, is_full, search

    bare = [i for i in others if not is_full(i)]
    for text in bare if len(bare) <= MOST_IDS else ():
        query = Sought(ids=(text,), exact=True, text="")
        answers = [answer async for answer in search(workspace.engines, query, texts=False)]
        nodes = [hit.node for answer in answers for hit in answer.hits if hit.matched is Match.ID]
        if nodes and not any(answer.unreadable for answer in answers):  # another engine may have it, too
            full[text] = only(text, nodes)
    return full


def only(text: str, nodes: Sequence[Node]) -> str:
    """Return the id of the one node that a text names. Raises UsageError for several."""
    if len(nodes) > 1:
        lines = "\n".join(f"  {node.id}  {node.title}" for node in nodes)
        raise UsageError(f"{text!r} names {len(nodes)} nodes. Give one of these ids:\n{lines}")
    return nodes[0].id
