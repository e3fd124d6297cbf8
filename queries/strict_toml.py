"""Strict TOML: unknown keys and wrong types are errors that name the file, the line and the nearest valid name."""

from __future__ import annotations

import difflib
import re
import tomllib
from typing import Any, TypeVar

import msgspec

from queries import toml_lines

T = TypeVar("T")

_AT = re.compile(r"^(?P<what>.*?)(?: - at `\$(?P<path>[^`]*)`)?$", re.DOTALL)
_UNKNOWN = re.compile(r"unknown field `(?P<name>[^`]*)`")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")


class TomlError(ValueError):
    """A file is not valid; str() is one line, ``file:line: what is wrong``."""


def decode(text: str, kind: type[T], file: str) -> T:
    """``text`` as a record of type ``kind``. Raises TomlError."""
    try:
        return msgspec.convert(tomllib.loads(text), kind, strict=True)
    except tomllib.TOMLDecodeError as error:
        raise TomlError(f"{file}: {error}") from error
    except msgspec.ValidationError as error:
        raise TomlError(_explain(str(error), text, kind, file)) from error


def _explain(message: str, text: str, kind: Any, file: str) -> str:
    match = _AT.match(message)
    what, place = (match["what"], match["path"] or "") if match else (message, "")
    path = tuple(int(index) if index else name for name, index in _STEP.findall(place))
    unknown = _UNKNOWN.search(what)
    if unknown:
        path = (*path, unknown["name"])
        near = difflib.get_close_matches(unknown["name"], _fields(kind, path[:-1]), n=1)
        what = "is not a setting" + (f'; did you mean "{near[0]}"?' if near else "")
    line = toml_lines.line_of(toml_lines.lines(text), path)
    name = ".".join(str(step) for step in path)
    return f"{file}:{line}: {name + ' ' if unknown else name + ': ' if name else ''}{what}"


def _fields(kind: Any, path: tuple[str | int, ...]) -> list[str]:
    """Names of the settings that stand at ``path`` in records of type ``kind``."""
    at = msgspec.inspect.type_info(kind)
    for step in path:
        if isinstance(at, msgspec.inspect.StructType):
            at = next((f.type for f in at.fields if f.encode_name == step), at)
        elif isinstance(at, msgspec.inspect.DictType):
            at = at.value_type
        elif isinstance(at, msgspec.inspect.VarTupleType | msgspec.inspect.ListType):
            at = at.item_type
    return [f.encode_name for f in at.fields] if isinstance(at, msgspec.inspect.StructType) else []
