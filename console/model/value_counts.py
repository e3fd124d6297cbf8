"""Numbers of nodes by value of a field, also of a stored text. UI-free."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from console.model.fields.field import Context, Field
from console.model.fields.payload import PREFIX
from console.model.selection import read_documents
from queries.read.reader import Reader
from queries.records.node import Node
from queries.records.record import Record

FIELDS_SHOWN, VALUES_SHOWN = 3, 3  # of stored texts, in the preview of a group
VALUES_KNOWN = 50  # values of a field that tell nodes apart; one with more is an id or a text
VALUE_CELLS = 40  # of such a value


class ValueCounts(Record):
    """Numbers of an engine's nodes by value of a field, the most frequent first.

    ``absent``: nodes without the field. ``unread``: why some are not counted, or "".
    """

    engine: str
    field: str
    values: dict[str, int]
    absent: int = 0
    unread: str = ""


async def count_values(reader: Reader, field: Field[Node], nodes: Sequence[Node], at: float) -> ValueCounts:
    """Count the values of a field of the nodes."""
    documents, why = await read_documents(reader, nodes) if field.name.startswith(PREFIX) else ({}, "")
    context = Context(now=at, documents=documents)
    values, absent = Counter[str](), 0
    for node in nodes:
        texts = values_of(node, field, context)
        values.update(texts)
        absent += not texts
    most = dict(values.most_common())
    return ValueCounts(engine=reader.label, field=field.name, values=most, absent=absent, unread=why)


def values_of(node: Node, field: Field[Node], context: Context) -> list[str]:
    """Return the values that a node has of a field, each once."""
    value = field.value(node, context)
    texts = [] if value is None else value if isinstance(value, list | tuple) else [str(value)]
    return [*dict.fromkeys(filter(None, texts))]


def small_fields(documents: Mapping[str, Sequence[Any]]) -> dict[str, Counter[str]]:
    """Return how many nodes have each value of a small field, by its name.

    Those come first that tell nodes apart and that most nodes have.
    """
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for of_node in documents.values():
        for name, value in {pair: None for document in of_node for pair in _scalars(document)}:
            counts[name][value] += 1
    small = [(name, each) for name, each in counts.items() if len(each) <= min(VALUES_KNOWN, max(1, each.total() // 2))]
    small.sort(key=lambda each: (len(each[1]) == 1, -each[1].total()))
    return dict(small[:FIELDS_SHOWN])


def most_frequent(values: Counter[str]) -> str:
    """Return a text such as ``acme 162, globex 18``."""
    most = ", ".join(f"{value} {n}" for value, n in values.most_common(VALUES_SHOWN))
    return f"{most}{', …' * (len(values) > VALUES_SHOWN)}"


def _scalars(document: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(document, dict):
        for key, value in document.items():
            name = f'"{key}"' if "." in key else key
            yield from _scalars(value, f"{path}.{name}".lstrip("."))
    elif isinstance(document, list):
        for each in document:
            yield from _scalars(each, path)
    elif document is not None and path:
        text = document if isinstance(document, str) else json.dumps(document)
        if len(text) <= VALUE_CELLS:
            yield path, text
