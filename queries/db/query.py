"""Statements with their values, and those that belong to no engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from queries.db.errors import DatabaseError
from queries.files.statement import PARAMETERS, Statement, parse_statement, sql_text
from queries.records.record import Record

FOLDER = Path(__file__).parents[1] / "sql"
Row = Mapping[str, Any]
Rows = Sequence[Row]
RowsOrError = Rows | DatabaseError
"""Rows of a statement, or why it failed."""


class Query(Record, kw_only=False):
    """A statement and the values of its parameters, by name.

    A value of the type jsonb is anything that JSON can hold; a text is JSON already.
    ``in_order``, ``seconds``: None for those of the transaction; see `Database.reading`. ``custom``: a plan for these
    values is better than one for any, because a part of the statement depends on which values are given. ``apart``: a
    savepoint undoes what it does, so that its failure does not fail the transaction; after it come only others that are
    apart, which share it until one fails. ``command``: it has neither parameters nor rows.
    ``parsed``: the statement is only parsed, which locks the tables that it changes as running it would. It needs no
    values then, and no privileges on the tables. Its answer has no rows. ``json``: its rows may come as JSON, with
    those of others; how the values of some columns then differ (`queries.contract.rows.json_kinds`). ``rests``: if it
    took too long, it is run once a minute.
    """

    statement: Statement
    values: Mapping[str, Any] = {}
    custom: bool = False
    in_order: bool | None = None
    seconds: float | None = None
    apart: bool = False
    command: bool = False
    parsed: bool = False
    json: Mapping[str, str] | None = None
    rests: bool = False

    @property
    def arguments(self) -> dict[str, Any]:
        """The values of the parameters in their order, as they are sent."""
        return {name: _sent(PARAMETERS.get(name), self.values[name]) for name in self.statement.parameters}


def _sent(type_: str | None, value: Any) -> Any:
    """Return a value as it is sent for a type of the server."""
    if type_ != "jsonb" or value is None or isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


@cache
def statement(name: str, *parameters: str) -> Statement:
    """Return the statement of ``sql/<name>.sql``.

    ``parameters``: those of a statement that becomes a part of it.
    """
    return parse_statement(sql_text(FOLDER / f"{name}.sql"), parameters=parameters)
