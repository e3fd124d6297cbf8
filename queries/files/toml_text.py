"""Write tables as TOML. Any text may be a key or a value."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

TomlTable = Mapping[str, Any]


def written(table: TomlTable, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the lines of a table: its values, then its tables."""
    for key, value in table.items():
        if not _is_section(value):
            yield f"{_key(key)} = {_value(value)}"
    for key, value in table.items():
        if _is_section(value):
            inner = (*path, key)
            if any(not _is_section(each) for each in value.values()) or not value:
                yield ""
                yield f"[{'.'.join(map(_key, inner))}]"
            yield from written(value, inner)


class Inline(dict[str, Any]):
    """A table that is written on one line."""


def _is_section(value: Any) -> bool:
    return isinstance(value, Mapping) and not isinstance(value, Inline)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _text(key)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(key)} = {_value(each)}' for key, each in value.items())} }}"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Iterable):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value)


def _text(text: str) -> str:
    """Return a text on one line. JSON's escapes are not TOML's beyond U+FFFF."""
    return '"' + "".join(map(_character, text)) + '"'


def _character(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08X}"
