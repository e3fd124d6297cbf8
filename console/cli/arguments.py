"""Names and values typed on the command line, checked against an engine's actions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import click

from console.text.arguments import typed
from queries.contract.spec import Action, Argument
from queries.text.suggest import unknown

CONFIRM = "confirm"  # name of an argument that repeats a value of the node


def unknown_action(action: str, names: Collection[str]) -> click.UsageError:
    """Return the error for an unknown action, with the nearest and all known names."""
    return click.UsageError(unknown("action", action, sorted(names)))


def arguments_of(variants: Sequence[Action], words: Sequence[str], *, preview: bool = False) -> dict[str, Any]:
    """Parse ``name=value`` words.

    A dry run (``preview``) does not require a confirmation.
    Raises UsageError for an unknown, missing or malformed argument.
    """
    every = {argument.name: argument for action in variants for argument in action.arguments}
    parameters = {name: argument for name, argument in every.items() if argument.type != "document"}
    values: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if name in every and name not in parameters:
            raise click.UsageError(f"--arg {name} is a text to edit: use --edit, or --input FILE.")
        if name not in parameters:
            raise click.UsageError(_unknown(name, parameters))
        if name in values:
            raise click.UsageError(f"--arg {name} is given twice.")
        if not equals and parameters[name].type != "flag":
            raise click.UsageError(f"--arg {name} needs a value: {name}=... ({parameters[name].title})")
        values[name] = _value(parameters[name], text if equals else "true")
    for name, argument in parameters.items():
        if name not in values and argument.default:
            values[name] = _value(argument, argument.default)
        if argument.required and values.get(name) in (None, "") and not (preview and name == CONFIRM):
            raise click.UsageError(f"--arg {name}=... is required: {argument.title}.")
    return values


def _unknown(name: str, parameters: dict[str, Argument]) -> str:
    if not parameters:
        return f"This action takes no arguments; remove --arg {name!r}."
    return unknown("argument", name, parameters)


def _value(argument: Argument, text: str) -> Any:
    try:
        return typed(argument, text)
    except ValueError as error:
        problem = f"{text!r} is not {error} ({argument.title})."
        raise click.UsageError(f"--arg {argument.name}: {problem}") from None
