"""Copies of the rows that an action affects, as JSON text of the server.

An action's ``rows`` copy whole rows. A value of 100 MB would exceed the time limit, and JSON cannot hold one of 256 MB.
Of a value over the limit the server returns the size and a digest, also if the action does not touch it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import msgspec

from queries.contract.detect import DetectedEngine
from queries.db.query import Rows
from queries.db.shared_sql import statement
from queries.files.statement import Statement, with_parts
from queries.read.question import Question, together
from queries.records.action import RowChange
from queries.records.record import Record
from queries.text.json_text import paired
from queries.text.psql_text import quoted_name
from queries.write.images import ImageReader, RowKey, RowText
from queries.write.nodes import Nodes

RowTexts = Mapping[tuple[str, str, str], str]  # by node, table and key: the row as JSON text of the server

_copied = itemgetter("id", "table", "key", "place", "row")
_imaged = itemgetter("table", "key", "place", "xmin", "texts", "rest", "digest")

VALUE_BYTES = 1 << 20  # bytes of a value in a copy
COMPRESSION_FACTOR = 300  # compression makes a value at most this many times as small in the table

_WHOLE = re.compile(r"\b(row_to_json|to_jsonb)\((\w+)(?:\.\*)?\)")
_TEXTS = frozenset(("text", "varchar", "bpchar", "bytea"))
_FIXED = frozenset(
    ("bool", "int2", "int4", "int8", "float4", "float8", "uuid", "date", "time", "timestamp", "timestamptz", "interval")
)


class Copy(Record):
    """The rows of nodes at one moment.

    ``foreign``: rows that other transactions wrote. ``places``: the physical places. ``texts``: images of the rows.
    """

    rows: RowTexts = {}
    foreign: frozenset[tuple[str, str, str]] = frozenset()
    places: Mapping[RowKey, str] = {}
    texts: Mapping[RowKey, RowText] = {}


def copied(
    nodes: Nodes, parts: Iterable[Statement], reader: ImageReader | None, images: str, **more: Any
) -> Question[Copy]:
    """Ask for copies of affected rows with the statements ``parts``.

    ``images``: statement of the columns beside each, which ``reader`` reads. ``more``: parameters.
    """
    plain = [bounded(part, nodes.reader.detected) for part in parts]
    sent = plain if reader is None else [reader.copying(part, images) for part in plain]
    question = together(*(nodes.question(part, ":rows", **more) for part in sent))
    return Question(
        question.queries, lambda answers: _copy(nodes.full(""), question.read(answers), imaged=sent != plain)
    )


def _copy(prefix: str, parts: Sequence[Rows], *, imaged: bool) -> Copy:
    """Return the copies of the statements. ``prefix``: of the ids of nodes."""
    rows: dict[tuple[str, str, str], str] = {}
    foreign: set[tuple[str, str, str]] = set()
    places: dict[RowKey, str] = {}
    texts: dict[RowKey, RowText] = {}
    for answer in parts:
        for local, table, key, place, row in map(_copied, answer):
            rows[prefix + local, table, key] = row
            if place is not None:
                places[table, key] = place
        if imaged:
            texts |= {
                (table, key): RowText(place, rest, text or (), xmin or "", digest or "")
                for table, key, place, xmin, text, rest, digest in map(_imaged, answer)
                if rest is not None
            }
        if answer and "ours" in answer[0]:  # false: another transaction wrote the row
            foreign |= {(prefix + r["id"], r["table"], r["key"]) for r in answer if r["ours"] is False}
    return Copy(rows=rows, foreign=frozenset(foreign), places=places, texts=texts)


def digests(ids: Iterable[str], rows: RowTexts, guarded: Container[str]) -> dict[str, str]:
    """Return a digest of each node's rows, equal as long as no affected row changes.

    The rows of ``guarded`` nodes change all the time. Their digest covers only the tables and keys.
    """
    parts: dict[str, list[bytes]] = {i: [] for i in ids}
    for (node_id, table, key), row in sorted(rows.items()) if parts else ():
        if node_id in parts:
            parts[node_id].append(msgspec.json.encode((table, key, "" if node_id in guarded else row)))
    return {i: hashlib.sha256(b"\n".join(p)).hexdigest() for i, p in parts.items()}


def differences(ids: Container[str], before: Copy, after: Copy) -> Iterable[RowChange]:
    """Yield the rows of these nodes that differ before and after.

    A row that several nodes share may be listed under another of them afterwards, if nodes were skipped in between.
    """
    removed, added = before.rows.keys() - after.rows.keys(), after.rows.keys() - before.rows.keys()
    elsewhere = {place[1:]: row for place, row in before.rows.items()} if added else {}
    still = {place[1:] for place in after.rows} if removed else set()
    for place in sorted(before.rows.keys() | after.rows.keys() if added else before.rows):
        was = elsewhere.get(place[1:]) if added and place in added else before.rows[place]
        now = after.rows.get(place)
        if was == now or place[0] not in ids or place in after.foreign or (now is None and place[1:] in still):
            continue
        yield RowChange(id=place[0], table=place[1], key=place[2], before=_raw(was), after=_raw(now))


def _raw(row: str | None) -> Any:
    return None if row is None else msgspec.Raw(paired(row))


def bounded(part: Statement, detected: DetectedEngine) -> Statement:
    """Return the statement ``part`` with large values as size and digest."""

    def copy(match: re.Match[str]) -> str:
        return _row(match[1], match[2], _columns(part.text, match.end(), match[2], detected)) or match[0]

    return msgspec.structs.replace(part, text=_WHOLE.sub(copy, part.text))


def _columns(text: str, after: int, alias: str, detected: DetectedEngine) -> Mapping[str, str]:
    """Return the types of the columns of the table with this alias.

    The table follows the list of columns.
    """
    table = re.compile(rf'"\."?(\w+)"?\s+(?:AS\s+)?{alias}\b', re.IGNORECASE).search(text, after)
    relation = detected.relations.get(table[1]) if table else None
    return {} if relation is None else relation.columns


def _row(function: str, row: str, columns: Mapping[str, str]) -> str:
    """Return SQL of a row as JSON, on one line: a fault names the line of the file."""
    values, large = [], []
    for name, type_ in columns.items():
        value = f"{row}.{quoted_name(name)}"
        plain = type_ in _FIXED
        size, most = (
            ("octet_length", VALUE_BYTES) if type_ in _TEXTS else ("pg_column_size", VALUE_BYTES // COMPRESSION_FACTOR)
        )
        if not plain:
            large.append(f"{size}({value}) > {most}")
            value = _filled(
                "value_bounded" if type_ in _TEXTS else "value_stored",
                {"value": value, "bytes": str(VALUE_BYTES), "stored": str(VALUE_BYTES // COMPRESSION_FACTOR)},
            )
        values.append(f"{value} AS {quoted_name(name)}")
    if not large:
        return ""
    parts = {"large": " OR ".join(large), "values": ", ".join(values), "function": function, "row": row}
    return f"({_filled('row_bounded', parts)})"


def _filled(name: str, parts: Mapping[str, str]) -> str:
    return " ".join(with_parts(statement(name).text, parts).split("\n"))
