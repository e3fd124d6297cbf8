"""SQL statements that belong to no engine, by name: ``queries/sql/<name>.sql``."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from queries.files.statement import Statement, parse_statement, sql_text

FOLDER = Path(__file__).parents[1] / "sql"


@cache
def statement(name: str, *parameters: str) -> Statement:
    """Return the statement of ``sql/<name>.sql``.

    ``parameters``: those of a statement that becomes a part of it.
    """
    return parse_statement(sql_text(FOLDER / f"{name}.sql"), parameters=parameters)
