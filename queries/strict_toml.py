"""Strict TOML decoding.

Errors name the file, the line, the setting and the nearest valid name. Settings and engine folders use it alike: an
unknown setting or a wrong type is an error, never a guess.
"""

from __future__ import annotations

import enum
import re
import tomllib
import types
import typing
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from queries import toml_lines
from queries.safe_text import safe_text
from queries.suggest import did_you_mean, quoted
from queries.toml_lines import Path

T = TypeVar("T")

_WORDS = {
    "bool": "true or false",
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "object": "a table",
    "array": "a list",
}
_SYNTAX_ERROR_AT = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_TYPE = re.compile(r"`([\w| ]+)`")
_BARE_KEY = re.compile(r"[\w-]+", re.ASCII)


class TomlError(ValueError):
    """A file is not valid. str() is one line: ``file:line: setting: what is wrong``."""


class TomlFile:
    """Text of a TOML file, and errors about it. ``name`` is the file in errors."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self._text = text

    def decode(self, kind: type[T]) -> T:
        """Return the file's tables as a record of type ``kind``. Raises TomlError."""
        table = self._parse()
        try:
            return msgspec.convert(table, kind, strict=True)
        except msgspec.ValidationError as error:
            raise self.error(*_fault(table, kind, (), str(error))) from error

    def error(self, path: Path, problem: str) -> TomlError:
        """Return the error that the setting at ``path`` has this problem.

        The problem is a predicate such as "must be text".
        """
        setting = ".".join(map(_key, path))
        return self.error_at(self.line(path), f"{setting} {problem}" if setting else problem)

    def error_at(self, line: int, message: str) -> TomlError:
        """Return an error with this message at a line."""
        return TomlError(safe_text(f"{self.name}:{line}: {message}"))

    def line(self, path: Path) -> int:
        """Return the line of a setting, or of the nearest table around it."""
        return toml_lines.line_of(toml_lines.lines(self._text), path)

    def _parse(self) -> dict[str, Any]:
        try:
            return tomllib.loads(self._text)
        except RecursionError:
            raise TomlError(f"{self.name}: it is nested too deeply") from None
        except ValueError as error:
            problem = str(error)
            match = _SYNTAX_ERROR_AT.search(problem)
            line = int(match[1]) if match and match[1] else max(len(self._text.splitlines()), 1)
            reason = problem[: match.start()] if match else problem
            raise self.error_at(line, f"it is not valid TOML: {reason}") from None


def _fault(value: object, kind: Any, path: Path, message: str) -> tuple[Path, str]:
    """Return the path of the innermost wrong setting, and what is wrong with it.

    msgspec's own path has no keys of tables (``$.contexts[...]``), so each part is converted again by itself.
    """
    for step, part, part_kind in _parts(value, kind):
        if part_kind is None:
            return (*path, step), f"is not a setting{did_you_mean(str(step), _fields(kind))}"
        try:
            msgspec.convert(part, part_kind, strict=True)
        except msgspec.ValidationError as error:
            return _fault(part, part_kind, (*path, step), str(error))
    missing = re.match(r"Object missing required field `(.*?)`", message)
    if missing:
        return path, f"needs the setting {quoted(missing[1])}"
    if isinstance(kind, enum.EnumType):
        return path, f"must be one of {', '.join(map(str, kind))}"
    if not message.startswith("Expected "):
        return path, f"is not valid: {message}"
    words = _TYPE.sub(lambda match: " or ".join(_WORDS.get(word, "a date") for word in match[1].split(" | ")), message)
    wanted, _, found = words.removeprefix("Expected ").partition(", got ")
    return path, f"must be {wanted}" + (f", not {found.replace('whole ', '')}" if found else "")


def _parts(value: object, kind: Any) -> Iterator[tuple[str | int, object, Any]]:
    """Yield name or index, value and type of each part of a table or list.

    The type is None for an unknown setting.
    """
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        for choice in typing.get_args(kind):
            yield from _parts(value, choice)
    elif isinstance(value, dict):
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            fields = _fields(kind)
            yield from ((name, part, fields.get(name)) for name, part in value.items())
        elif typing.get_origin(kind) is dict:
            yield from ((name, part, typing.get_args(kind)[1]) for name, part in value.items())
    elif isinstance(value, list) and typing.get_origin(kind) in (tuple, list):
        yield from ((index, part, typing.get_args(kind)[0]) for index, part in enumerate(value))


def _fields(kind: Any) -> dict[str, Any]:
    """Return the settings of a record by name, with their types."""
    return {field.encode_name: field.type for field in msgspec.structs.fields(kind)}


def _key(step: str | int) -> str:
    return str(step) if _BARE_KEY.fullmatch(str(step)) else quoted(str(step))
