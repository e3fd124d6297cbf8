"""``man``: the manual page, from the command line's own definitions."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping

import click

from console.cli.program import version
from console.text.arguments import arguments, by_action
from queries.contract.builtin import builtin


def source(root: click.Group, codes: Mapping[int, str], examples: str, json: str) -> Iterator[str]:
    """Yield the lines of the manual page as roff source."""
    context = click.Context(root, info_name=root.name)
    named = " ".join(filter(None, ("unstick", version())))
    yield f'.TH UNSTICK 1 "" "{named}" "User Commands"'
    about = root.get_short_help_str(limit=200).rstrip(".")
    yield from (".SH NAME", "unstick \\- " + _text(about[:1].lower() + about[1:]))
    yield from (".SH SYNOPSIS", ".B unstick", _text(" ".join(root.collect_usage_pieces(context))))
    yield from (".SH DESCRIPTION", *_paragraphs(root.help or ""))
    yield from (".SH OPTIONS", "All commands accept these options, before or after their name.", *_options(context))
    yield ".SH COMMANDS"
    for name in root.list_commands(context):
        command = root.get_command(context, name)
        if command is not None:
            yield from _command(command, click.Context(command, info_name=name, parent=context))
    yield ".SH ACTIONS"
    yield from _paragraphs("Of unstick do. An engine of your own may have others: unstick engines lists them.")
    for name, variants in by_action((engine.name, engine.spec.actions) for engine in builtin()).items():
        yield f".SS {_text(name)}"
        for engine, action in variants:
            yield from (".TP", f".B {_text(engine)}", _text(action.effect))
            for word, meaning in arguments(action):
                yield from (".br", _text(f"{word}: {meaning}"))
    yield ".SH EXIT STATUS"
    for code, meaning in codes.items():
        yield from (".TP", f".B {code}", _text(meaning))
    yield from (".SH JSON", *_paragraphs(json))
    yield ".SH EXAMPLES"
    for line in examples.splitlines():
        typed, _, about = line.strip().partition("  ")
        if about:
            yield from (".TP", f".B {_text(typed)}", _text(about.strip()))
    yield from (".SH FILES", ".TP", ".I ~/.config/unstick/config.toml", _text("Settings: contexts, thresholds, keys."))
    yield from (".TP", ".I ~/.local/state/unstick", _text("Local audit log, unfinished bulks and crash files."))
    yield ".SH ENVIRONMENT"
    yield from (".TP", ".B PGHOST, PGDATABASE, PGSERVICE ...", "As in psql.")
    yield from (".TP", ".B UNSTICK_CONFIG", "Path of the settings file.")
    yield from (".TP", ".B NO_COLOR", "If set and not empty, print no colour.")
    yield from (".SH SEE ALSO", ".BR psql (1)")


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    pieces = " ".join(piece for piece in command.collect_usage_pieces(context) if piece != "[OPTIONS]")
    yield from (f".SS {_text(f'unstick {command.name} {pieces}'.rstrip())}", *_paragraphs(command.help or ""))
    yield from _options(context, shared=False)


def _options(context: click.Context, *, shared: bool = True) -> Iterator[str]:
    """Yield the visible options of a command; ``shared``: with those of every command."""
    root = context.find_root()
    common = {name for p in root.command.get_params(root) for name in p.opts}
    for parameter in context.command.get_params(context):
        if isinstance(parameter, click.Option) and (shared or not common & set(parameter.opts)):
            record = parameter.get_help_record(context)
            if record is not None:
                yield from (".TP", f".B {_text(record[0])}", _text(record[1]) or "\\&")


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        yield from (".PP", _text(" ".join(paragraph.split())))


def _text(text: str) -> str:
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", escaped)
