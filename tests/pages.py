"""Markdown of pages that follow from definitions: commands, settings, filters."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from console.cli import commands, exit_codes
from console.model.fields.field import DURATIONS, Field, Form
from console.model.fields.node import FIELDS
from console.tui import keymap
from queries.contract.builtin import builtin
from queries.records.node import Node

COMPARED = {Form.BEGINNING: "word", Form.PART: "text", Form.NUMBER: "number", **dict.fromkeys(DURATIONS, "time")}


def command_reference() -> str:
    """Return each command with its help and its own options."""
    root = commands.unstick
    context = click.Context(root, info_name="unstick", **root.context_settings)
    lines = ["Options of all commands, before or after their name:", "", *_options(context, set())]
    common = {name for parameter in root.get_params(context) for name in parameter.opts}
    for name, command in root.commands.items():
        own = click.Context(command, info_name=name, parent=context, **command.context_settings)
        usage = " ".join(piece for piece in command.collect_usage_pieces(own) if piece != "[OPTIONS]")
        lines += [f"### {name}", "", f"`unstick {name} {usage}`".replace(" `", "`"), ""]
        for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
            lines += [_cell(" ".join(paragraph.replace("\b", "").split())), ""]
        lines += _options(own, common)
    return "\n".join(lines)


def _options(context: click.Context, without: set[str]) -> list[str]:
    options = [
        parameter.get_help_record(context)
        for parameter in context.command.get_params(context)
        if isinstance(parameter, click.Option) and not without & set(parameter.opts)
    ]
    rows = [f"| `{_cell(record[0])}` | {_cell(record[1])} |" for record in options if record]
    return ["| option | meaning |", "|---|---|", *rows, ""] if rows else []


def key_reference() -> str:
    """Return the ids of the keys, with the keys that they have without settings."""
    tables = [value for value in vars(keymap).values() if isinstance(value, tuple)]
    keys = {key.id: key for table in tables for key in table if isinstance(key, keymap.Key)}
    rows = [f"| `{key.id}` | {_keys(key.keys)} | {_cell(key.about)} |" for key in keys.values()]
    return "\n".join(["| id | keys | meaning |", "|---|---|---|", *rows, ""])


def _keys(keys: str) -> str:
    return " ".join(f"`{_cell(keymap.shown(key))}`" for key in keymap.split(keys))


def threshold_reference() -> str:
    """Return the thresholds and options of each engine, with their defaults."""
    rows = [f"| **{name}** | `{setting}` | `{default}` |" for name, setting, default in _engine_settings()]
    return "\n".join(["| engine | setting | default |", "|---|---|---|", *rows, ""])


def _engine_settings() -> Iterator[tuple[str, str, object]]:
    for engine in builtin():
        for name, default in engine.spec.thresholds.items():
            yield f"thresholds.{engine.name}", name, default
        for name, option in engine.spec.options.items():
            if isinstance(option.default, str):
                yield f"options.{engine.name}", name, option.default or '""'


def codes() -> str:
    """Return the exit codes."""
    rows = [f"| {code} | {_cell(meaning)} |" for code, meaning in exit_codes.CODES.items()]
    return "\n".join(["| code | meaning |", "|---|---|", *rows, ""])


def filter_fields() -> str:
    """Return the fields of the filter language."""
    rows = [_field(field) for field in FIELDS if field.form is not None]
    return "\n".join(["| field | compared as | meaning |", "|---|---|---|", *rows, ""])


def _field(field: Field[Node]) -> str:
    words = f" ({', '.join(field.words)})" if field.words else ""
    assert field.form is not None
    return f"| `{field.name}` | {COMPARED[field.form]} | {_cell(field.about)}{words} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "\\<")
