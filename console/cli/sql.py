"""``sql``: print the statements of an action. Needs no connection."""

from __future__ import annotations

from click import UsageError

from console.cli.options import CliOptions
from console.cli.output import output_for
from console.cli.target import named_engine, resolve
from queries.change.plan import statements
from queries.contract.spec import Action
from queries.records.record import Record
from queries.text.suggest import unknown

PSQL = "in psql after: \\set schema 'the schema of its tables'"


class Statements(Record):
    """Statements of an action by engine and script."""

    statements: dict[str, str]


def sql(options: CliOptions, action: str, label: str | None) -> int:
    """Print an action's statements for every engine that has it. Return the exit code."""
    target = resolve(options)
    engines = target.engines if label is None else [named_engine(target.engines, label.partition("@")[0])]
    actions = {(s.name, v.script): (s, v) for s in engines for v in s.spec.actions if v.name == action}
    if not actions:
        raise UsageError(unknown("action", action, sorted({v.name for s in engines for v in s.spec.actions})))
    texts = {
        f"{name}/{script}": statements(s, v) if v.writes else _instead(v) for (name, script), (s, v) in actions.items()
    }
    output_for(target).answer(
        Statements(statements=texts),
        lambda: (line for name, text in texts.items() for line in (f"-- {name}; {PSQL}", "", *text.split("\n"), "")),
    )
    return 0


def _instead(action: Action) -> str:
    commands = (f"{place}: {command}" for place, command in action.command.items())
    return "\n".join(f"-- {line}" for line in (f"{action.support}: {action.why}", *commands))
