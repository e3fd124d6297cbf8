"""Scripts and statements of the checks, in files that also run in psql."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from queries.files.statement import Statement, parse_statement, sql_text
from queries.text.psql_text import bound

FOLDER = Path(__file__).parent / "sql"


def script(name: str, **names: str) -> str:
    """Return the script of ``sql/<name>.sql`` with values for its variables.

    ``:"x"`` becomes a quoted identifier and ``:'x'`` a text, as in psql.
    """
    return bound((FOLDER / f"{name}.sql").read_text("utf-8"), names)


@cache
def query(name: str) -> Statement:
    """Return the statement of ``sql/<name>.sql``."""
    return parse_statement(sql_text(FOLDER / f"{name}.sql"))


def filled(name: str, **names: str) -> Statement:
    """Return the statement of ``sql/<name>.sql`` with values for its variables."""
    template = query(name)
    return msgspec.structs.replace(template, text=bound(template.text, names))
