"""Decoder of stored JSON, which is foreign input.

It reads entries of the audit log, events of runs, lists of their nodes, and files of JSON lines.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from queries.records.action import RowChange, with_digits
from queries.text.json_text import LEVELS, cut, decoded

T = TypeVar("T")


class UnreadableError(ValueError):
    """Stored JSON that unstick did not write. Its text says why."""


def read(text: str | bytes, kind: type[T]) -> T:
    """Return stored JSON, cut at LEVELS, as a record.

    Rows of changes keep their texts. Raises UnreadableError.
    """
    try:
        value = decoded(text)
        level = [value]
        for _ in range(LEVELS):
            level = [each for v in level for each in (v.values() if type(v) is dict else v if type(v) is list else ())]
        if level:
            value = decoded(cut(text if isinstance(text, str) else text.decode("utf-8", "replace")))
        read = record(value, kind)
        whole = kind == tuple[RowChange, ...] and not level
        return with_digits(read, text) if whole else read  # type: ignore[arg-type,return-value]
    except msgspec.DecodeError as error:
        raise UnreadableError(str(error)) from None


def record(value: Any, kind: type[T], *, strict: bool = True) -> T:
    """Return a decoded value as a record. Raises UnreadableError."""
    try:
        return msgspec.convert(value, kind, strict=strict)
    except ValueError as error:  # ValidationError is one
        raise UnreadableError(str(error)) from None
