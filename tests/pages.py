"""Markdown of pages that follow from definitions: commands, settings, filters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from typing import get_args, get_origin

import click
import msgspec

from console import config
from console.cli import commands, exit_codes
from console.model.fields.field import DURATIONS, Field, Form
from console.model.fields.node import FIELDS
from console.tui import keymap
from queries.contract.builtin import builtin
from queries.records.node import Node
from tests.command import ROOT

COMPARED = {Form.BEGINNING: "word", Form.PART: "text", Form.NUMBER: "number", **dict.fromkeys(DURATIONS, "time")}

FOLDERS = ROOT / "queries" / "engines"
UNITS = {str: "text", bool: "true or false", tuple: "list of texts", float: "time"}


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


def setting_reference() -> str:
    """Return the settings with their comments, but those of engines."""
    return _table("setting", "unit", "default", "meaning", rows=settings())


def settings(struct: type[msgspec.Struct] = config.SettingsFile, table: str = "") -> Iterator[tuple[str, ...]]:
    """Yield name, unit, default and meaning of each setting."""
    for field in msgspec.structs.fields(struct):
        kind = field.type
        if inner := next((each for each in get_args(kind)[1:] if hasattr(each, "__struct_fields__")), None):
            yield from settings(inner, f"[{field.name}.NAME] ")
        elif get_origin(kind) is dict:
            place = f"[{field.name}.ENGINE] NAME" if field.name in ("thresholds", "options") else f"[{field.name}] NAME"
            yield (
                f"`{place}`",
                "text" if get_args(kind)[1] is str else "see below",
                "not set",
                meaning(struct, field.name),
            )
        else:
            default = f"{field.default:g}s" if kind is float else str(field.default).lower()
            default = f"`{default}`" if default not in ("", "()") else "not set"
            yield f"`{table}{field.name}`", UNITS[get_origin(kind) or kind], default, meaning(struct, field.name)


def meaning(struct: type, name: str) -> str:
    """Return the comment beside a field, from the source of its class."""
    owner = next(each for each in struct.__mro__ if name in vars(each).get("__annotations__", {}))
    return comment(inspect.getsource(owner), name)


def comment(source: str, name: str) -> str:
    """Return the comment of a field in the source of a class, or ""."""
    found = re.search(rf"(?ms)^    {name}: (?:(?!\n    \w).)*?  # ([^\n]+)$", source)
    return found[1] if found else ""


def threshold_reference() -> str:
    """Return the thresholds and options of each engine.

    The comment beside one is its meaning.
    """
    return _table("table", "setting", "unit", "default", "meaning", rows=engine_settings())


def engine_settings() -> Iterator[tuple[str, ...]]:
    """Yield table, name, unit, default and meaning of each threshold and option."""
    for engine in builtin():
        table, text = f"**thresholds.{engine.name}**", (FOLDERS / engine.name / "engine.toml").read_text("utf-8")
        section = text.partition("\n[thresholds]\n")[2].partition("\n[")[0]
        meanings = dict(re.findall(r"(?m)^(\w+) = .*? # (.+)$", section))
        for name, value in engine.spec.thresholds.items():
            kinds = value.items() if isinstance(value, dict) else ()
            for kind, default in [(f"{name}.{each}", inner) for each, inner in kinds] or [(name, value)]:
                about = meanings.get(kind.rpartition(".")[2], "")
                yield (
                    table,
                    f"`{kind}`",
                    "time" if isinstance(default, str) else "number",
                    f"`{default}`",
                    about + f", for kind {name}" * bool(kinds),
                )
        about_options = dict(re.findall(r"(?m)^\[options\.(\w+)\] # (.+)$", text))
        for name, option in engine.spec.options.items():
            texts = f"a table of {len(option.default)}" if isinstance(option.default, dict) else f"`{option.default}`"
            unit = "table of texts" if isinstance(option.default, dict) else "text"
            yield f"**options.{engine.name}**", f"`{name}`", unit, texts, about_options[name]


def _table(*titles: str, rows: Iterable[tuple[str, ...]]) -> str:
    head = [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}"]
    return "\n".join([*head, *(f"| {' | '.join(map(_cell, row))} |" for row in rows), ""])


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
