"""Needs of statements, written and derived, and the indexes that meet them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

import msgspec

from queries.contract.spec import EngineSpec, Kind, Need, index_of
from queries.contract.sql_templates import one_line
from queries.files.statement import Statement
from queries.text.psql_text import sql_name

OF_EXPRESSION = "_is_small"  # end of the name of a need: a status that is no column has no index


def derived_needs(spec: EngineSpec) -> dict[str, Need]:
    """Return the needs of derived statements that no written need meets."""
    needs: dict[str, Need] = {}
    for kind in spec.kinds:
        for name, need in _derived(spec, kind, needs):
            if name not in spec.needs:
                needs.setdefault(name, completed(need, spec.recognise.roles))
    return needs


def need_of(needs: Mapping[str, Need], table: str, column: str) -> tuple[str, Need] | None:
    """Return the need of an index that begins with this column."""
    return next(((n, each) for n, each in needs.items() if (each.table, each.columns[:1]) == (table, (column,))), None)


def status_need(needs: Mapping[str, Need], kind: Kind, relation: Collection[str]) -> tuple[str, Need] | None:
    """Return the need by which the nodes of a kind are found by status.

    ``relation``: the columns of its table.
    """
    status, small = kind.columns.get("status", ""), f"{kind.name}{OF_EXPRESSION}"
    if status and status not in relation:
        return (small, needs[small]) if small in needs else None
    return need_of(needs, kind.table, status)


def dead_need(needs: Mapping[str, Need], kind: Kind, relation: Collection[str]) -> tuple[str, Need] | None:
    """Return the need by which the dead letters of a kind are found in their order."""
    need, since = status_need(needs, kind, relation), kind.dead_since
    if need is None or not need[1].columns or not since or need[1].columns[1:2] == (since,):
        return need
    start = (need[1].columns[0], since)
    return next(((n, each) for n, each in needs.items() if (each.table, each.columns[:2]) == (kind.table, start)), need)


def with_needs(statement: Statement, needs: Mapping[str, Need]) -> Statement:
    """Return the statement with the needs of what its text names.

    These are functions of the engine, and tables in another schema.
    """
    named = {
        name
        for name, need in needs.items()
        if any(f':"schema".{function}(' in statement.text for function in need.functions)
        or ("." in need.relation and re.search(rf"\b{need.relation.partition('.')[0]}\.\w", statement.text))
    }
    return msgspec.structs.replace(statement, needs=statement.needs | named) if named else statement


def _derived(spec: EngineSpec, kind: Kind, derived: Mapping[str, Need]) -> Iterator[tuple[str, Need]]:
    """Yield the needs of a kind's derived statements that no written need meets.

    A derived index may have the order of dead letters, too.
    """
    written = spec.needs
    relation, columns = spec.recognise.relations.get(kind.table, {}), kind.columns
    status, due = columns.get("status", ""), columns.get("due_at", "")
    if kind.parent and need_of(written, kind.table, kind.parent) is None:
        yield f"{kind.name}_by_parent", Need(table=kind.table, columns=(kind.parent,))
    if status in relation and need_of(written, kind.table, status) is None:
        yield (
            f"{kind.name}_by_status",
            Need(table=kind.table, columns=(status, *((due,) if due in relation else kind.key_columns))),
        )
    elif kind.table and status and status not in relation:
        why = f"this requires a full table scan: the status of {kind.table} is no column"
        yield f"{kind.name}{OF_EXPRESSION}", Need(table=kind.table, why=why)
    if kind.dead and status in relation and kind.dead_since in relation:
        there = [each.columns[:2] for each in (*written.values(), *derived.values()) if each.table == kind.table]
        if (status, kind.dead_since) not in there:
            yield f"{kind.name}_dead", Need(table=kind.table, columns=(status, kind.dead_since, *kind.key_columns))


def completed(need: Need, roles: Collection[str]) -> Need:
    """Return the need with its reason and index.

    The server chooses the name of an index of a role's table.
    """
    need = _of_ddl(need)
    if not need.table or not need.columns:
        scan = f"this requires a full scan of the table {need.table}" if need.table and not need.column else ""
        return msgspec.structs.replace(need, why=need.why or scan)
    columns = ", ".join(map(sql_name, need.columns))
    name = sql_name("__".join((need.table, *need.columns, "idx")))
    why = f"this requires a full table scan: no index starts with {need.table}.{columns}"
    role = need.table in roles
    table = f':"{need.table}"' if role else sql_name(need.table)
    ddl = one_line("index", on="ON" if role else f"{name} ON", table=table, columns=columns)
    ddl = " WHERE ".join((ddl, *need.partial[:1]))
    return msgspec.structs.replace(need, why=need.why or why, ddl=need.ddl or ddl)


def _of_ddl(need: Need) -> Need:
    """Return the need with what its index has."""
    index = index_of(need.ddl)
    if index is None:
        return need
    return msgspec.structs.replace(
        need,
        table=index.table,
        columns=need.columns or index.columns,
        partial=need.partial or ((f"({index.where})",) if index.where else ()),
    )
