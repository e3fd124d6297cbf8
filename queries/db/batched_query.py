"""Several statements in one round trip: one script that returns one JSON document.

A transaction with one statement takes three or four round trips: begin, describe, run, end. On a distant server that is
most of the time until the first rows. A script is sent as a whole, so its values are literals. pg_stat_statements would
keep one entry for each set of values, so only the start and reconnecting use scripts.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from queries.files.statement import Statement
from queries.records.record import Record
from queries.text.json_text import decoded
from queries.text.psql_text import array

# Skipped: strings (also dollar-quoted), quoted identifiers and comments. Captured: the numbers of parameters, and
# strings without the prefix E.
_TOKEN = re.compile(
    r"\b[eE]'(?:[^'\\]|\\.|'')*'|(?P<plain>(?:\b[uU]&)?'(?:[^']|'')*')"
    r"|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$|\"[^\"]*\"|--[^\n]*|/\*.*?\*/|\$(?P<number>\d+)",
    re.DOTALL,
)
_SIGNATURE = b"PGCOPY\n\xff\r\n\0"
_HEADER = struct.Struct(">iihi")  # after the signature: flags, length of the extension, fields, length of the first


class BatchedQuery(Record, kw_only=False):
    """A statement and the values of its parameters, by name."""

    statement: Statement
    values: Mapping[str, Any] = {}


def compose(begin: str, queries: Sequence[BatchedQuery]) -> str:
    """Return the script.

    ``begin`` opens the transaction, which the script commits at its end.
    """
    parts = (
        f"(SELECT coalesce(json_agg(row_to_json(r)), '[]') FROM (\n{_with_literals(query)}\n) AS r)"
        for query in queries
    )
    return f"{begin}; COPY (SELECT json_build_array({', '.join(parts)})::text) TO STDOUT (FORMAT binary); COMMIT"


def decode(data: bytes) -> list[list[dict[str, Any]]]:
    """Return each query's rows, with JSON values, from the script's binary COPY data."""
    _, extension, _, length = _HEADER.unpack_from(data, len(_SIGNATURE))
    start = len(_SIGNATURE) + _HEADER.size + extension
    rows: list[list[dict[str, Any]]] = decoded(data[start : start + length])
    return rows


def _with_literals(query: BatchedQuery) -> str:
    """Return the statement with literals in place of its parameters."""
    names = query.statement.parameters

    def literal(token: re.Match[str]) -> str:
        if token["plain"] is not None:
            return _escaped(token["plain"])
        number = token["number"]
        return token[0] if number is None else _literal(query.values[names[int(number) - 1]])

    return _TOKEN.sub(literal, query.statement.text)


def _escaped(string: str) -> str:
    """Return a string constant that does not depend on a setting.

    It means the same whatever standard_conforming_strings is.
    The server reads the whole script before its first command sets that.
    """
    if "\\" not in string:
        return string
    if string.startswith("'"):
        return " E" + string.replace("\\", "\\\\")
    return " E" + re.sub(r"\\(?:\+([0-9A-Fa-f]{6})|([0-9A-Fa-f]{4})|\\)", _as_escape, string[2:])


def _as_escape(code: re.Match[str]) -> str:
    """Return the escape of an E string for one of a U& string."""
    return f"\\U00{code[1]}" if code[1] else f"\\u{code[2]}" if code[2] else "\\\\"


def _literal(value: Any) -> str:
    """Return a constant of unknown type.

    The server then infers the same type as for the parameter.
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool | int):
        return str(value)
    text = value if isinstance(value, str) else array(value)
    escaped = text.replace("\\", "\\\\").replace("'", "''")
    return f" E'{escaped}'"
