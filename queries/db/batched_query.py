"""Several statements in one round trip: as one script whose only answer is one JSON document.

The usual way asks the server three or four times: to begin, to describe the statement, to run it, to end. That is
nothing near by, and most of the time until the first rows from far away. A script is sent as a whole, so its values
are literals; statistics of statements would keep one entry for each set of them. So it is for the start alone.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from queries.model import Record
from queries.statement import Statement

# What is no parameter: strings (also dollar-quoted), names in quotes, comments. What is one.
_TOKEN = re.compile(
    r"'(?:[^']|'')*'|\$(\w*)\$.*?\$\1\$|\"[^\"]*\"|--[^\n]*|/\*.*?\*/|\$(?P<number>\d+)",
    re.DOTALL,
)
_SIGNATURE = b"PGCOPY\n\xff\r\n\0"
_HEAD = struct.Struct(">iihi")  # after the signature: flags, length of an extension, fields, length of the first


class BatchedQuery(Record, kw_only=False):
    """A statement and the values of its parameters, by name."""

    statement: Statement
    values: Mapping[str, Any] = {}


def compose(begin: str, questions: Sequence[BatchedQuery]) -> str:
    """The script. ``begin`` opens the transaction, which the script rolls back at its end."""
    parts = (
        f"(SELECT coalesce(json_agg(row_to_json(r)), '[]') FROM (\n{_filled(question)}\n) AS r)"
        for question in questions
    )
    return f"{begin}; COPY (SELECT json_build_array({', '.join(parts)})::text) TO STDOUT (FORMAT binary); ROLLBACK"


def answers(data: bytes) -> list[list[dict[str, Any]]]:
    """The rows of each question, from what the server sent. Values are as JSON has them."""
    _, extension, _, length = _HEAD.unpack_from(data, len(_SIGNATURE))
    start = len(_SIGNATURE) + _HEAD.size + extension
    rows: list[list[dict[str, Any]]] = msgspec.json.decode(data[start : start + length])
    return rows


def _filled(question: BatchedQuery) -> str:
    """The statement with its values in it."""
    names = question.statement.parameters

    def literal(token: re.Match[str]) -> str:
        number = token["number"]
        return token[0] if number is None else _literal(question.values[names[int(number) - 1]])

    return _TOKEN.sub(literal, question.statement.text)


def _literal(value: Any) -> str:
    """A constant whose type the server infers as it would that of the parameter."""
    if value is None:
        return "NULL"
    if isinstance(value, bool | int):
        return str(value)
    text = value if isinstance(value, str) else "{" + ",".join(map(_element, value)) + "}"
    escaped = text.replace("\\", "\\\\").replace("'", "''")
    return f" E'{escaped}'"


def _element(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
