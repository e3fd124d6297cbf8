"""Differences of two documents by path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import msgspec

from console.text.formatting import size
from queries.records.action import is_same
from queries.text.json_text import below, decoded

LEVELS_COMPARED = 40  # levels that are compared one by one
SHORTEST_HEX_CHARS = 10  # characters of bytes that are taken for a text
MISSING = object()

Difference = tuple[str, Any, Any]  # path in the document, value before and after, each may be MISSING

_LARGE = re.compile(r"([0-9]+) bytes, md5 [0-9a-f]{32}")  # what the server returns of a value over its limit


def document(value: Any) -> dict[str, Any] | list[Any] | None:
    """Return the object or array that a value of a row holds, or None.

    It may be JSON, a text with JSON, or bytes with JSON in the server's hex form.
    """
    if isinstance(value, dict | list):
        return value
    if not isinstance(value, str):
        return None
    text = readable(value)
    try:
        content = decoded(text) if text.lstrip()[:1] in ("{", "[") else None
    except (ValueError, msgspec.DecodeError):
        return None
    return content if isinstance(content, dict | list) else None


def readable(value: str) -> str:
    """Return the text that bytes in the server's hex form hold, or the value itself."""
    if not value.startswith("\\x") or len(value) < SHORTEST_HEX_CHARS:
        return value
    try:
        text = bytes.fromhex(value[2:]).decode()
    except ValueError:
        return value
    return text if all(c.isprintable() or c in "\t\r\n" for c in text) else value


def large(value: Any) -> str:
    """Return the size of a value that is too large to be copied, or ""."""
    match = _LARGE.fullmatch(value) if isinstance(value, str) else None
    return f"{size(int(match[1]))}, too large to show" if match else ""


def differences(before: Any, after: Any, path: str = "", depth: int = LEVELS_COMPARED) -> Iterator[Difference]:
    """Yield the innermost values that differ, in the order of the documents."""
    if isinstance(before, dict) and isinstance(after, dict) and depth:
        for key in before | after:
            yield from differences(before.get(key, MISSING), after.get(key, MISSING), below(path, key), depth - 1)
    elif isinstance(before, list) and isinstance(after, list) and depth:
        yield from _elements(before, after, path, depth - 1)
    elif not is_same(before, after):
        yield path, before, after


def _elements(before: list[Any], after: list[Any], path: str, depth: int) -> Iterator[Difference]:
    """Yield the differences of two arrays, without equal elements at both ends."""
    start, least = 0, min(len(before), len(after))
    while start < least and is_same(before[start], after[start]):
        start += 1
    end = 0
    while end < least - start and is_same(before[-1 - end], after[-1 - end]):
        end += 1
    was, now = before[start : len(before) - end], after[start : len(after) - end]
    for place, (old, new) in enumerate(zip_longest(was, now, fillvalue=MISSING), start):
        yield from differences(old, new, f"{path}[{place}]", depth)
