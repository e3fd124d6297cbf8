"""Roles: tables and their parts whose names differ between installations.

A role has a pattern, such as ``*_jobs``: the tables of one installation have the same text in place of the ``*``. So
have their enum types, channels, triggers and constraints. Statements write ``:"jobs"`` for the table of the role
``jobs``, as for a variable in psql, and ``:'news'`` for a channel. An engine that is bound to tables is an engine of
its own: ``queue.app`` is the engine ``queue`` with the table ``app_jobs``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from queries.contract.engine import Engine
from queries.contract.spec import EngineSpec
from queries.files.statement import Statement

T = TypeVar("T")
Named = Callable[[str], str]


def like(engines: Iterable[Engine]) -> list[str]:
    """Return the patterns of all roles, for LIKE."""
    patterns = {pattern for engine in engines for pattern in engine.spec.recognise.roles.values()}
    return sorted(re.sub(r"([\\%_])", r"\\\1", pattern).replace("*", "%") for pattern in patterns)


def bound(engines: Sequence[Engine], names: Collection[str]) -> tuple[Engine, ...]:
    """Return the engines; those with roles once for each set of tables.

    ``names``: of the tables that are there.
    """
    found: list[Engine] = []
    for engine in engines:
        roles = _tables(engine)
        found += (_bound(engine, text) for text in _texts(roles, names)) if roles else (engine,)
    return tuple(found)


def _tables(engine: Engine) -> dict[str, str]:
    recognise = engine.spec.recognise
    return {role: pattern for role, pattern in recognise.roles.items() if role in recognise.relations}


def _texts(roles: Mapping[str, str], names: Collection[str]) -> list[str]:
    """Return the texts in place of ``*`` for which some table exists."""
    texts = set()
    for pattern in roles.values():
        before, _, after = pattern.partition("*")
        wanted = re.compile(re.escape(before) + r"(\w*)" + re.escape(after))
        texts |= {match[1] for name in names if (match := wanted.fullmatch(name))}
    return sorted(texts)


def _bound(engine: Engine, text: str) -> Engine:
    """Return the engine with the tables that have this text in their names."""
    tables = {role: pattern.replace("*", text) for role, pattern in engine.spec.recognise.roles.items()}

    def statements(parts: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(msgspec.structs.replace(each, text=_written(each.text, tables)) for each in parts)

    return msgspec.structs.replace(
        engine,
        name=f"{engine.name}.{text}" if text else engine.name,
        unbound=engine.name,
        spec=_spec(engine.spec, tables),
        statements={key: statements(variants) for key, variants in engine.statements.items()},
        actions={
            _table_of_file(script, tables): {name: statements(run) for name, run in sections.items()}
            for script, sections in engine.actions.items()
        },
    )


def _written(text: str, tables: Mapping[str, str]) -> str:
    for role, table in tables.items():
        text = text.replace(f':"{role}"', f'"{table}"').replace(f":'{role}'", f"'{table}'")
    return text


def _table_of_file(script: str, tables: Mapping[str, str]) -> str:
    folder, slash, name = script.partition("/")
    return f"{folder}/{tables.get(name, name)}" if slash and folder == "undo" else script


def _spec(spec: EngineSpec, tables: Mapping[str, str]) -> EngineSpec:
    """Return the spec with tables in place of roles."""

    def table(name: str) -> str:
        return tables.get(name, name)

    def column(name: str) -> str:
        first, dot, rest = name.partition(".")
        return table(first) + dot + table(rest)

    def privilege(text: str) -> str:
        word, space, name = text.partition(" ")
        return text if word in ("EXECUTE", "USAGE") else word + space + table(name)

    def keys(each: Mapping[str, T]) -> dict[str, T]:
        return {table(name): value for name, value in each.items()}

    def of_type(predicate: str) -> str:
        return re.sub(r"(?<=::)\w+", lambda match: table(match[0]), predicate)

    def words(meaning: str) -> str:
        return re.sub(r"\w+", lambda match: table(match[0]), meaning)

    def all_of(names: Iterable[str], change: Named) -> tuple[str, ...]:
        return tuple(map(change, names))

    replace = msgspec.structs.replace
    recognise = spec.recognise
    return replace(
        spec,
        recognise=replace(
            recognise,
            roles={},
            relations={
                table(name): {field: table(kind) for field, kind in columns.items()}
                for name, columns in recognise.relations.items()
            },
            enums=keys(recognise.enums),
            literals=keys(recognise.literals),
            unique=keys(recognise.unique),
            absent=keys(recognise.absent),
            optional=all_of(recognise.optional, column),
        ),
        needs={
            name: replace(
                n,
                table=table(n.table),
                ddl=_written(n.ddl, tables),
                why=_written(n.why, tables),
                partial=all_of(n.partial, of_type),
            )
            for name, n in spec.needs.items()
        },
        kinds=tuple(replace(kind, table=table(kind.table)) for kind in spec.kinds),
        actions=tuple(
            replace(a, overwrites=all_of(a.overwrites, column), privileges=all_of(a.privileges, privilege))
            for a in spec.actions
        ),
        workers=tuple(
            replace(
                w,
                privileges=all_of(w.privileges, privilege),
                channels=all_of(w.channels, table),
                indexes=tuple(_written(ddl, tables) for ddl in w.indexes),
            )
            for w in spec.workers
        ),
        own=replace(
            spec.own,
            objects=all_of(spec.own.objects, words),
            unique=all_of(spec.own.unique, words),
            columns=keys(spec.own.columns),
        ),
        effects={
            privilege(done): tuple(privilege(each) if " " in each else column(each) for each in more)
            for done, more in spec.effects.items()
        },
        undo=replace(
            spec.undo,
            counters=all_of(spec.undo.counters, column),
            append_only=all_of(spec.undo.append_only, table),
        ),
        flow=replace(spec.flow, table=table(spec.flow.table)) if spec.flow else None,
    )
