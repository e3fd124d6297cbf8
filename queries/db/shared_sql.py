"""SQL statements that belong to no engine, by name: ``queries/sql/<name>.sql``."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from queries.statement import PARAMETERS, Statement, parse_statement

FOLDER = Path(__file__).parents[1] / "sql"


@cache
def statement(name: str) -> Statement:
    """Return the statement of ``sql/<name>.sql``."""
    file = FOLDER / f"{name}.sql"
    return parse_statement(file.read_text("utf-8"), str(file), PARAMETERS)
