"""Arguments of an action: in words, and as typed, on screen and in commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from queries.contract.spec import Action, Argument

VALUES = {"text": "TEXT", "title": "TEXT", "int": "NUMBER", "flag": "true|false", "json": "JSON"}
FLAGS = dict.fromkeys(("true", "yes", "on", "1"), True) | dict.fromkeys(("false", "no", "off", "0"), False)
TYPES: dict[str, tuple[Callable[[str], Any], str]] = {
    "int": (int, "a whole number"),
    "flag": (lambda text: FLAGS[text.lower()], "true or false"),
    "json": (msgspec.json.decode, "JSON"),
}
"""Function that returns a typed text as a value, and what else to type, by type."""


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


def typed(argument: Argument, text: str) -> Any:
    """Return a typed text as a value of the argument. Raises ValueError: what to type."""
    if argument.type == "choice" and text not in argument.choices:
        raise ValueError(f"one of {', '.join(argument.choices)}")
    convert, form = TYPES.get(argument.type, (str, ""))
    try:
        return convert(text)
    except (KeyError, ValueError, msgspec.DecodeError):
        raise ValueError(form) from None


def by_action(engines: Iterable[tuple[str, Iterable[Action]]]) -> dict[str, list[tuple[str, Action]]]:
    """Return the actions that write, by name, each with its engine."""
    by_name: dict[str, list[tuple[str, Action]]] = {}
    for engine, actions in engines:
        for action in actions:
            if action.writes:
                by_name.setdefault(action.name, []).append((engine, action))
    return dict(sorted(by_name.items()))
