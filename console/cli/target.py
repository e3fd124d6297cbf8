"""From what was chosen to an open workspace: settings, context, connection string."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable, Sequence

from console.cli.options import CliOptions, wrong
from console.cli.output import Output
from console.config import Config, load
from queries import duration
from queries.contract import loader
from queries.db.redaction import redact
from queries.errors import DatabaseError
from queries.model import Node, Record
from queries.read.reader import Reader
from queries.workspace import UnknownIdError, Workspace


class Target(Record):
    """What to connect to and how to speak. ``context`` is a name of the settings, or "" where a string was given."""

    dsn: str
    context: str
    schema: str  # the one to use where several hold the same engine, "" for all
    trusted: tuple[str, ...]  # roles whose objects may run code
    production: bool
    read_only: bool
    override_read_only: bool
    ascii: bool
    interval: float
    config: Config
    output: Output

    def __repr__(self) -> str:
        return f"Target(dsn={redact(self.dsn)!r}, context={self.context!r})"

    @property
    def overrides(self) -> dict[str, dict[str, object]]:
        """Thresholds and options by engine."""
        return self.config.overrides()


class NoEngineError(DatabaseError):
    """No known engine is in the database; says what was looked for."""


def resolve(choices: CliOptions) -> Target:
    """Read the settings and find the target. Raises ConfigError, UsageError."""
    config = load(choices.config)
    if config.thresholds or config.options:
        known = loader.builtin()
        config.check({s.name: s.spec.thresholds for s in known}, {s.name: s.spec.options for s in known})
    word = choices.dsn or ""
    context = config.context(word[1:]) if word.startswith("@") else None
    plain = choices.ascii or config.ascii
    return Target(
        dsn=context.dsn if context else word,
        context=context.name if context else "",
        schema=(context.schema if context else "") if choices.schema is None else choices.schema,
        trusted=(*(context.trusted_owners if context else ()), *choices.trust),
        production=bool(context and context.production),
        read_only=choices.read_only or bool(context and context.read_only),
        override_read_only=choices.override_read_only or bool(context and context.override_read_only),
        ascii=plain,
        interval=config.interval if choices.interval is None else _interval(choices.interval),
        config=config,
        output=Output(json=choices.json, ascii=plain),
    )


def _interval(written: str) -> float:
    try:
        seconds = duration.parse(written)
    except ValueError as error:
        raise wrong(f"--interval: {error}") from None
    if not 0.2 <= seconds <= 3600:
        raise wrong("--interval: between 0.2 and 3600 seconds")
    return seconds


@contextlib.asynccontextmanager
async def opened(target: Target, *, empty: bool = False) -> AsyncIterator[Workspace]:
    """Connect. Raises DatabaseError, also where there is no engine (unless ``empty`` will do)."""
    workspace = await Workspace.open(
        target.dsn,
        target.overrides,
        schema=target.schema,
        trusted=target.trusted,
        context=target.context,
        read_only=target.read_only,
        override_read_only=target.override_read_only,
    )
    try:
        if not (workspace.engines or empty):
            raise NoEngineError(*nothing_here(workspace))
        yield workspace
    finally:
        await workspace.close()


def nothing_here(workspace: Workspace) -> list[str]:
    """Why there is no engine: what looked like one and is not, and what was looked for."""
    lines = [f"There is no task engine that unstick knows in the database {workspace.server.database}."]
    lines += [f"Declined {d.engine} in schema {d.schema}: {d.why}." for d in workspace.declined]
    return lines + [f"Looked for {line}" for line in workspace.expected]


def chosen(workspace: Workspace, label: str | None) -> Iterable[Reader]:
    """The readers of one engine or all. Raises UsageError."""
    if label is None:
        return workspace.engines.values()
    try:
        return (workspace.named(label),)
    except UnknownIdError as error:
        raise wrong(str(error)) from None


async def named(reader: Reader, ids: Sequence[str]) -> dict[str, Node]:
    """Those of these nodes that exist, by their ids as they were typed: keys may be spelled in more than one way."""
    nodes = {node.id: node for node in (await reader.nodes(ids)).nodes}
    told = {id_: nodes[id_] for id_ in ids if id_ in nodes}
    others = [id_ for id_ in ids if id_ not in nodes]
    if others and (await reader.nodes(others)).nodes:
        alone = {id_: (await reader.nodes([id_])).nodes for id_ in others}
        told |= {id_: node for id_, read in alone.items() for node in read}
    return told


def limits(workspace: Workspace, reader: Reader) -> list[str]:
    """Return why not all of an engine can be read: privileges that the role lacks, a variant that is not known."""
    lines, role, found = [], workspace.server.role, reader.found
    if not found.usable:
        lines.append(f"{reader.label}: permission denied: the role {role} has no USAGE on schema {found.schema}")
    elif found.denied:
        denied = ", ".join(found.denied)
        lines.append(f"{reader.label}: permission denied: the role {role} has no SELECT on {denied}")
    if reader.unrecognised:
        lines.append(f"{reader.label}: which variant of the engine this is was not found out: {reader.unrecognised}")
    return lines
