"""Names in an engine's SQL that ``engine.toml`` must define, and the reverse.

The server accepts them all: a misspelt setting is NULL, and a finding that compares with it never fires.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from queries.contract.derive import keys_in_sql
from queries.contract.file_faults import ParsedFiles, key_of
from queries.contract.spec import EngineSpec
from queries.files.statement import Statement, locate
from queries.records.fault import Fault
from queries.text.suggest import did_you_mean

OF_KIND = "_of_kind"  # end of the name of a threshold that may be set for one kind
_FIRST = r"\s*->>?\s*(?:'(?P<name>[^']*)'|[\w.]+(?:\([^()]*\))?(?:::\w+)?\s*->>?\s*'(?P<inner>[^']*)')"


def names_in_sql(spec: EngineSpec, script: str | None = "") -> dict[str, str]:
    """Return SQL for settings, keys of each kind, and arguments of an action's script.

    A duration is an interval, a count a number, and an option a text. A threshold has a second name for that of the
    kind of a row. ``script``: None for the arguments of all actions, "" for none.
    """
    names = {name: f"(:settings ->> '{name}')" for name in spec.options}
    for name, value in spec.thresholds.items():
        names[name] = _threshold(f"(:settings ->> '{name}')", value)
        if spec.thresholds_by and not isinstance(value, dict):
            of_kind = f"coalesce(:settings -> {spec.thresholds_by} ->> '{name}', :settings ->> '{name}')"
            names[f"{name}{OF_KIND}"] = _threshold(of_kind, value)
    own = (a for action in spec.actions if script in (None, action.script) for a in action.arguments)
    arguments = () if script == "" else (*spec.arguments.values(), *own)
    return keys_in_sql(spec) | names | {a.name: _argument(f"(:args ->> '{a.name}')", a.type) for a in arguments}


def _threshold(text: str, value: object) -> str:
    """Return the value of a threshold from its text."""
    return f"make_interval(secs => {text}::float8)" if isinstance(value, str) else f"{text}::float8"


def _argument(text: str, type_: str) -> str:
    """Return the value of an argument from its text."""
    return f"{text}::int8" if type_ == "int" else f"coalesce({text}::bool, false)" if type_ == "flag" else text


def reference_faults(spec: EngineSpec, files: ParsedFiles) -> Iterator[Fault]:
    """Yield names that are not defined."""
    settings = {*spec.thresholds, *spec.options, "moved"}
    every = {*spec.arguments, *(argument.name for action in spec.actions for argument in action.arguments)}
    for statement in files.statements.values():
        yield from _statement_faults(statement, settings, spec.needs)
        yield from _role_faults(statement, spec.recognise.roles)
    for file, sections in files.sections.items():
        script = key_of(file.partition("/")[2])
        own = (a.name for action in spec.actions if action.script == script for a in action.arguments)
        arguments = {*spec.arguments, *own}
        for parts in sections.values():
            for part in parts:
                yield from _statement_faults(part, settings, spec.needs)
                yield from _role_faults(part, spec.recognise.roles)
                yield from _unknown(part, "args", arguments, "an argument of the action", every)


def _role_faults(statement: Statement, roles: Collection[str]) -> Iterator[Fault]:
    """Yield relations that are written as roles and are none."""
    for match in re.finditer(r':"schema"\.:"(\w+)"', statement.text):
        if match[1] not in roles:
            yield locate(statement, match.start(1) + 1, f"{match[1]!r} is not a role{did_you_mean(match[1], roles)}")


def _statement_faults(statement: Statement, settings: Collection[str], needs: Collection[str]) -> Iterator[Fault]:
    yield from _unknown(statement, "settings", settings, "a threshold or option", settings)
    for number in _numbers(statement, "met_needs"):
        for match in re.finditer(rf"'(\w+)'\s*=\s*ANY\s*\(\${number}\b", statement.text):
            if match[1] not in needs:
                message = f"{match[1]!r} is not a need{did_you_mean(match[1], needs)}"
                yield locate(statement, match.start(1) + 1, message)


def _unknown(
    statement: Statement,
    parameter: str,
    names: Collection[str],
    what: str,
    shared: Collection[str] = (),
) -> Iterator[Fault]:
    """Yield the keys of a jsonb parameter that are not known.

    ``shared``: known in parts, which serve several statements.
    """
    for name, offset in keys_of(statement, parameter):
        if name not in names:
            fault = locate(statement, offset + 1, f"{name!r} is not {what}{did_you_mean(name, names)}")
            if "/parts/" not in fault.file or name not in shared:
                yield fault


def keys_of(statement: Statement, parameter: str) -> Iterator[tuple[str, int]]:
    """Yield the keys of a jsonb parameter that a statement reads, and offsets."""
    for number in _numbers(statement, parameter):
        for match in re.finditer(rf"\${number}(?!\d)(?:::\w+)*{_FIRST}", statement.text):
            group = "name" if match["name"] is not None else "inner"
            yield match[group], match.start(group)


def _numbers(statement: Statement, parameter: str) -> Iterator[int]:
    yield from (n for n, name in enumerate(statement.parameters, 1) if name == parameter)
