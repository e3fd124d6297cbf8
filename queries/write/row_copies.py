"""Copies of rows without their large values.

An action's ``rows`` copy whole rows. A value of 100 MB would exceed the time limit, and JSON cannot hold one of 256 MB.
Of a value over the limit the server returns the size and a digest, also if the action does not touch it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from queries.contract.detect import DetectedEngine
from queries.db.database import quoted
from queries.db.shared_sql import statement
from queries.files.statement import Statement, with_parts

VALUE_LIMIT = 1 << 20  # bytes of a value in a copy
STORED = 300  # compression makes a value at most this many times as small in the table

_WHOLE = re.compile(r"\b(row_to_json|to_jsonb)\((\w+)(?:\.\*)?\)")
_TEXTS = frozenset(("text", "varchar", "bpchar", "bytea"))
_FIXED = frozenset(
    ("bool", "int2", "int4", "int8", "float4", "float8", "uuid", "date", "time", "timestamp", "timestamptz", "interval")
)


def bounded(part: Statement, found: DetectedEngine) -> Statement:
    """Return the statement ``part`` with large values as size and digest."""

    def copy(match: re.Match[str]) -> str:
        return _row(match[1], match[2], _columns(part.text, match.end(), match[2], found)) or match[0]

    return msgspec.structs.replace(part, text=_WHOLE.sub(copy, part.text))


def _columns(text: str, after: int, alias: str, found: DetectedEngine) -> Mapping[str, str]:
    """Return the types of the columns of the table with this alias.

    The table follows the list of columns.
    """
    table = re.compile(rf'"\."?(\w+)"?\s+(?:AS\s+)?{alias}\b', re.IGNORECASE).search(text, after)
    relation = found.relations.get(table[1]) if table else None
    return {} if relation is None else relation.columns


def _row(function: str, row: str, columns: Mapping[str, str]) -> str:
    """Return SQL of a row as JSON, on one line: a fault names the line of the file."""
    values, large = [], []
    for name, type_ in columns.items():
        value = f"{row}.{quoted(name)}"
        plain = type_ in _FIXED
        size, limit = ("octet_length", VALUE_LIMIT) if type_ in _TEXTS else ("pg_column_size", VALUE_LIMIT // STORED)
        if not plain:
            large.append(f"{size}({value}) > {limit}")
            value = _filled(
                "value_bounded" if type_ in _TEXTS else "value_stored",
                {"value": value, "limit": str(VALUE_LIMIT), "stored": str(VALUE_LIMIT // STORED)},
            )
        values.append(f"{value} AS {quoted(name)}")
    if not large:
        return ""
    parts = {"large": " OR ".join(large), "values": ", ".join(values), "function": function, "row": row}
    return f"({_filled('row_bounded', parts)})"


def _filled(name: str, parts: Mapping[str, str]) -> str:
    return " ".join(with_parts(statement(name).text, parts).split("\n"))
