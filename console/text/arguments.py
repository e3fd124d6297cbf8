"""Arguments of an action in words, for help on screen and in commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from queries.contract.spec import Action, Argument

VALUES = {"text": "TEXT", "int": "NUMBER", "flag": "true|false", "json": "JSON"}


def arguments(action: Action) -> Iterator[tuple[str, str]]:
    """Yield each argument as it is typed, with its meaning and default."""
    for argument in action.arguments:
        if argument.type == "document":
            yield "--edit, or --input FILE", argument.title
        else:
            values = VALUES.get(argument.type) or "|".join(argument.choices)
            yield f"--arg {argument.name}={values}", f"{argument.title}{_more(argument)}"


def _more(argument: Argument) -> str:
    if argument.default:
        return f" (default: {argument.default})"
    return " (required)" if argument.required else ""


def by_action(engines: Iterable[tuple[str, Iterable[Action]]]) -> dict[str, list[tuple[str, Action]]]:
    """Return the actions that write, by name, each with its engine."""
    found: dict[str, list[tuple[str, Action]]] = {}
    for engine, actions in engines:
        for action in actions:
            if action.writes:
                found.setdefault(action.name, []).append((engine, action))
    return dict(sorted(found.items()))
