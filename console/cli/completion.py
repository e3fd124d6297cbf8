"""Shell completion: contexts, engines, actions, findings and terms of a filter."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from click import Command, Context, Group
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

from console.cli.options import CliOptions

if TYPE_CHECKING:
    from console.config import Config
    from queries.contract.engine import Engine

VARIABLE = "_UNSTICK_COMPLETE"  # set by the scripts; click then completes instead of running a command


class Bash(BashComplete):
    """Completion for bash, which divides words at ``:`` and ``=`` as well.

    Click's own script passes these parts as words. This one passes the line, and returns what follows the last part.
    """

    source_template = """\
%(complete_func)s() {
    local IFS=$'\\n' each
    COMPREPLY=()
    for each in $(COMP_WORDS="${COMP_LINE:0:COMP_POINT}" %(complete_var)s=bash_complete "$1" 2>/dev/null); do
        if [[ $each == file, ]]; then
            compopt -o default 2>/dev/null
        else
            COMPREPLY+=("${each#*,}")
        fi
    done
}
complete -o nosort -F %(complete_func)s %(prog_name)s 2>/dev/null || complete -F %(complete_func)s %(prog_name)s
"""

    def source(self) -> str:
        return self.source_template % self.source_vars()

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)[1:]
        last = words.pop() if words and not line[-1].isspace() else ""
        value = last.partition("=")[2] if last.startswith("-") else last
        self._kept = max(value.rfind(":"), value.rfind("=")) + 1
        return words, last

    def format_completion(self, item: CompletionItem[str]) -> str:
        return f"{item.type},{item.value[self._kept :] if item.type == 'plain' else ''}"


add_completion_class(Bash)


def script(program: Command, shell: str) -> str:
    """Return the script that registers completion of a program in a shell."""
    shell_class = get_completion_class(shell)
    assert shell_class is not None
    return shell_class(program, {}, "unstick", VARIABLE).source()


def contexts(context: Context, incomplete: str) -> Iterator[CompletionItem[str]]:
    """Yield ``@name`` of the contexts in the settings."""
    for name, settings in _settings(context).contexts.items() if incomplete.startswith("@") else ():
        yield from _starting(incomplete, [f"@{name}"], "production" if settings.production else "")


def saved(context: Context, incomplete: str) -> Iterator[CompletionItem[str]]:
    """Yield ``@name`` of the filters in the settings."""
    for name, text in _settings(context).filters.items() if incomplete.startswith("@") else ():
        yield from _starting(incomplete, [f"@{name}"], text)


def _settings(context: Context) -> Config:
    from console.config import Config, ConfigError, load, path_of

    path = context.ensure_object(CliOptions).config
    try:
        return load(path)
    except ConfigError:
        return Config(path=path_of(path))


def engines(context: Context, incomplete: str) -> Iterator[CompletionItem[str]]:
    """Yield the names of engines."""
    for engine in _engines(context):
        yield from _starting(incomplete, [engine.name], engine.spec.title)


def actions(context: Context, incomplete: str) -> Iterator[CompletionItem[str]]:
    """Yield the names of actions, each once."""
    effects: dict[str, str] = {}
    for engine in _engines(context):
        for action in engine.spec.actions:
            if action.writes:
                effects.setdefault(action.name, action.effect)
    for name, effect in sorted(effects.items()):
        yield from _starting(incomplete, [name], effect)


def incidents(context: Context, incomplete: str) -> Iterator[CompletionItem[str]]:
    """Yield the beginnings of incident keys, ``engine/code``."""
    for engine in _engines(context):
        for finding in engine.spec.findings:
            yield from _starting(incomplete, [f"{engine.name}/{finding.code}"], finding.title)


def terms(context: Context, incomplete: str) -> Iterator[CompletionItem[str]]:
    """Yield terms of a filter with a known value, such as ``finding:overdue``."""
    from console.model.fields.node import FIELDS

    engines = tuple(_engines(context))
    specs = [engine.spec for engine in engines]
    values: dict[str, Iterable[str]] = {
        **{field.name: field.words for field in FIELDS if field.words},
        "finding": ["any", "none", *(finding.code for spec in specs for finding in spec.findings)],
        "kind": (kind.name for spec in specs for kind in spec.kinds),
        "engine": (engine.name for engine in engines),
    }
    sign = "!" if incomplete.startswith("!") else ""
    if incomplete.removeprefix(sign):
        for field, words in values.items():
            yield from _starting(incomplete, (f"{sign}{field}:{word}" for word in words))


def commands(context: Context, incomplete: str) -> Iterator[CompletionItem[str]]:
    """Yield the names of commands."""
    program = context.find_root().command
    for name, command in program.commands.items() if isinstance(program, Group) else ():
        yield from _starting(incomplete, [name], command.get_short_help_str())


def _engines(context: Context) -> Iterable[Engine]:
    from pathlib import Path

    from console.config import UNNAMED, outside
    from queries.contract.builtin import builtin

    folders = [Path(each) for each in context.ensure_object(CliOptions).engines]
    return (*builtin(), *outside(_settings(context), UNNAMED, folders).engines)


def _starting(incomplete: str, words: Iterable[str], about: str = "") -> Iterator[CompletionItem[str]]:
    for word in dict.fromkeys(words):
        if word.startswith(incomplete):
            yield CompletionItem(word, help=about or None)
