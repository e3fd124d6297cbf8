"""Indexes: table, columns and predicate, and the one that a need asks for."""

from __future__ import annotations

import re
from collections.abc import Collection

import msgspec

from queries.contract.spec import Need
from queries.contract.sql_templates import one_line
from queries.records.record import Record
from queries.text.psql_text import sql_name, sql_words

_MADE = re.compile(
    r"(?:CREATE (?:UNIQUE )?INDEX (?:CONCURRENTLY )?(?:\S+ )?ON (?P<table>\S+) ?(?:USING btree ?)?"
    r"|ALTER TABLE (?P<altered>\S+) ADD (?:CONSTRAINT \S+ )?(?:PRIMARY KEY|UNIQUE) ?)"
    r"\((?P<columns>[^()]+)\)(?: INCLUDE ?\([^()]+\))?(?: WHERE (?P<where>.+))?",
    re.IGNORECASE,
)
_COLUMN = re.compile(r'"?(\w+)"?(?: (?:ASC|DESC))?(?: NULLS (?:FIRST|LAST))?', re.IGNORECASE)


class Index(Record):
    """A btree index. ``where`` is its predicate as written, or ""."""

    table: str
    columns: tuple[str, ...]
    where: str = ""


def index_of(ddl: str) -> Index | None:
    """Return the index that a statement creates, or None if that cannot be read.

    It is a CREATE INDEX on plain columns, or an ALTER TABLE that adds a key.
    """
    match = _MADE.fullmatch(" ".join(ddl.split()))
    columns = [_COLUMN.fullmatch(part.strip()) for part in match["columns"].split(",")] if match else []
    if match is None or None in columns:
        return None
    return Index(
        table=(match["table"] or match["altered"]).strip(':"'),
        columns=tuple(column[1] for column in columns if column),
        where=match["where"] or "",
    )


def completed(need: Need, roles: Collection[str]) -> Need:
    """Return the need with its reason and index.

    An index of all rows has few rows to skip if it has the columns of the predicate. The server chooses the name of an
    index of a role's table.
    """
    need = _of_ddl(need)
    named = {word for predicate in need.partial for word in sql_words(predicate)}
    full = not need.partial or "" in need.partial or not named.isdisjoint(need.columns)
    need = msgspec.structs.replace(need, full=full)
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
