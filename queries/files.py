"""The SQL that belongs to no system, by name: ``queries/sql/<name>.sql``."""

from __future__ import annotations

from functools import cache
from importlib import resources

from queries.statement import Statement, parse_statement
from queries.system import PARAMETERS


@cache
def statement(name: str) -> Statement:
    """The statement of ``sql/<name>.sql``."""
    file = resources.files("queries") / "sql" / f"{name}.sql"
    return parse_statement(file.read_text("utf-8"), str(file), PARAMETERS)
