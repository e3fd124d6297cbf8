"""Fields of a node's stored JSON texts: ``payload.KEY``."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final

import msgspec

from console.model.fields.field import Context, Field, Form
from queries.records.detail import Payload
from queries.records.node import Node

PREFIX: Final = "payload."
_KEY: Final = re.compile(r'(?:^|(?<=\.))(?:"([^"]+)"|([^."]*))')


@lru_cache(maxsize=64)
def payload_field(name: str) -> Field[Node] | None:
    """Return the field of ``payload.customer.id``, or None for another name."""
    path = [quoted or plain for quoted, plain in _KEY.findall(name.removeprefix(PREFIX))]
    if not name.startswith(PREFIX) or not all(path):
        return None

    def values(node: Node, context: Context) -> list[str]:
        return [text for document in context.documents.get(node.id, ()) for text in _at(document, path)]

    return Field(name, values, Form.BEGINNING, is_read=lambda node, context: node.id in context.documents)


def is_whole(payload: Payload) -> bool:
    """Return True if the stored text was read to its end."""
    return len(payload.head) >= payload.size


def documents_of(payloads: Iterable[Payload]) -> tuple[Any, ...]:
    """Return the stored texts that are JSON, decoded."""
    return tuple(_decoded(payloads))


def _decoded(payloads: Iterable[Payload]) -> Iterator[Any]:
    for payload in payloads:
        with contextlib.suppress(msgspec.DecodeError, RecursionError):
            yield msgspec.json.decode(payload.head)


def _at(document: Any, path: list[str]) -> Iterator[str]:
    """Yield the values at a path of keys; case does not matter.

    A list has those of its elements.
    """
    if isinstance(document, list):
        for each in document:
            yield from _at(each, path)
    elif path:
        if isinstance(document, dict):
            for key, value in document.items():
                if key.casefold() == path[0].casefold():
                    yield from _at(value, path[1:])
    elif document is not None:
        yield document if isinstance(document, str) else json.dumps(document, ensure_ascii=False)
