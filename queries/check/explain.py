"""The plan with which a read runs.

It is one for any values, unless the statement asks for a plan for its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from queries.db.query import Query
from queries.db.transaction import Transaction
from queries.files.statement import Statement
from queries.text.psql_text import array, literal

_OPTIONS = "ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON"


async def explained(transaction: Transaction, statement: Statement, values: Mapping[str, Any]) -> dict[str, Any]:
    """Run a read and return its plan as it ran. Raises DatabaseError."""
    await transaction.control(f"PREPARE explained AS {statement.text}")
    literals = ", ".join(map(_literal, Query(statement, values).arguments.values()))
    text = f"EXPLAIN ({_OPTIONS}) EXECUTE explained{f'({literals})' if literals else ''}"
    explain = msgspec.structs.replace(statement, text=text, parameters=())
    (row,) = await transaction.rows(explain, {})
    await transaction.control("DEALLOCATE explained")
    plan: dict[str, Any] = msgspec.json.decode(row["QUERY PLAN"])[0]
    return plan


def _literal(value: Any) -> str:
    """Return a constant of unknown type, which takes that of the parameter."""
    if value is None:
        return "NULL"
    if isinstance(value, bool | int | float):
        return f"'{value}'"
    return literal(value if isinstance(value, str) else array(value))
