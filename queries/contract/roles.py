"""Roles: tables and their parts whose names differ between installations.

A role has a pattern, such as ``*_jobs``: the tables of one installation have the same text in place of the ``*``. So
have their enum types, channels, triggers and constraints. Statements write ``:"jobs"`` for the table of the role
``jobs``, as for a variable in psql, and ``:'news'`` for a channel. An engine that is bound to tables is an engine of
its own: ``queue.app`` is the engine ``queue`` with the table ``app_jobs``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import msgspec

from queries.contract.engine import Engine

Tables = Mapping[str, str]
"""The table of each role."""
Rename = Callable[[str, Tables], str]
Names: TypeAlias = "Rename | _Keyed | Mapping[str, Names]"
"""Names of tables in a part of an engine: a text, a table by name, or the fields of a record."""


def like(engines: Iterable[Engine]) -> list[str]:
    """Return the patterns of all roles, for LIKE."""
    patterns = {pattern for engine in engines for pattern in engine.spec.recognise.roles.values()}
    return sorted(re.sub(r"([\\%_])", r"\\\1", pattern).replace("*", "%") for pattern in patterns)


def bound(engines: Sequence[Engine], names: Collection[str]) -> tuple[Engine, ...]:
    """Return the engines; those with roles once for each set of tables.

    ``names``: of the tables that are there.
    """
    every: list[Engine] = []
    for engine in engines:
        roles = _tables(engine)
        every += (_bound(engine, text) for text in _texts(roles, names)) if roles else (engine,)
    return tuple(every)


def _tables(engine: Engine) -> dict[str, str]:
    recognise = engine.spec.recognise
    return {role: pattern for role, pattern in recognise.roles.items() if role in recognise.relations}


def _texts(roles: Mapping[str, str], names: Collection[str]) -> list[str]:
    """Return the texts in place of ``*`` for which some table exists."""
    texts = set()
    for pattern in roles.values():
        before, _, after = pattern.partition("*")
        form = re.compile(re.escape(before) + r"(\w*)" + re.escape(after))
        texts |= {match[1] for name in names if (match := form.fullmatch(name))}
    return sorted(texts)


def _bound(engine: Engine, text: str) -> Engine:
    """Return the engine with the tables that have this text in their names."""
    replace = msgspec.structs.replace
    tables = {role: pattern.replace("*", text) for role, pattern in engine.spec.recognise.roles.items()}
    own: Engine = _renamed(engine, _NAMES, tables)
    return replace(
        own,
        name=f"{engine.name}.{text}" if text else engine.name,
        unbound=engine.name,
        spec=replace(own.spec, recognise=replace(own.spec.recognise, roles={})),
    )


def _written(text: str, tables: Tables) -> str:
    """Return SQL with tables in place of variables."""
    for role, table in tables.items():
        text = text.replace(f':"{role}"', f'"{table}"').replace(f":'{role}'", f"'{table}'")
    return text


def _table(name: str, tables: Tables) -> str:
    return tables.get(name, name)


def _named(text: str, tables: Tables) -> str:
    """Return ``table.column`` or ``UPDATE table`` with the table of a role."""
    if text.startswith(("EXECUTE ", "USAGE ")):
        return text
    privilege, space, name = text.rpartition(" ")
    table, dot, column = name.partition(".")
    return privilege + space + _table(table, tables) + dot + column


def _file(script: str, tables: Tables) -> str:
    """Return the name of an action's file, or of a table's undo: ``undo/table``."""
    folder, _, name = script.partition("/")
    return f"undo/{_table(name, tables)}" if folder == "undo" else script


def _types(predicate: str, tables: Tables) -> str:
    return re.sub(r"(?<=::)\w+", lambda match: _table(match[0], tables), predicate)


def _words(meaning: str, tables: Tables) -> str:
    return re.sub(r"\w+", lambda match: _table(match[0], tables), meaning)


class _Keyed(NamedTuple):
    """Table of settings whose keys name tables. ``values``: names in its values."""

    keys: Rename
    values: Names | None = None


_NAMES: Names = {
    "spec": {
        "recognise": {
            "relations": _Keyed(_table, _table),
            "types": _Keyed(_table),
            "literals": _Keyed(_table),
            "unique": _Keyed(_table),
            "absent": _Keyed(_table),
            "optional": _named,
        },
        "needs": {"table": _table, "ddl": _written, "why": _written, "partial": _types},
        "kinds": {"table": _table},
        "actions": {"overwrites": _named, "privileges": _named},
        "workers": {"privileges": _named, "channels": _table, "indexes": _written},
        "own": {"objects": _words, "unique": _words, "always": _words, "columns": _Keyed(_table)},
        "effects": _Keyed(_named, _named),
        "counters": _named,
        "append_only": _table,
        "varies": _Keyed(lambda name, _: name, _named),
        "flow": _Keyed(_table),
    },
    "trial": {"overwrites": _named, "privileges": _named},
    "statements": {"text": _written},
    "actions": _Keyed(_file, {"text": _written}),
}
"""Parts of an engine that name tables, and how; of a list or a table, in each entry."""


def _renamed(value: Any, names: Names | None, tables: Tables) -> Any:
    """Return a part of an engine with tables in place of roles."""
    if value is None or names is None:
        return value
    if isinstance(names, _Keyed):
        return {names.keys(key, tables): _renamed(each, names.values, tables) for key, each in value.items()}
    if isinstance(value, tuple):
        return tuple(_renamed(each, names, tables) for each in value)
    if isinstance(value, dict):
        return {key: _renamed(each, names, tables) for key, each in value.items()}
    if isinstance(names, Mapping):
        changed = {field: _renamed(getattr(value, field), each, tables) for field, each in names.items()}
        return msgspec.structs.replace(value, **changed)
    return names(value, tables)
