"""Strict TOML decoding.

Errors name the file, the line, the setting and the nearest valid name. Settings and engine folders use it alike: an
unknown setting or a wrong type is an error, never a guess.
"""

from __future__ import annotations

import enum
import re
import types
import typing
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from queries.files import toml_lines
from queries.files.toml_lines import Path
from queries.records.fault import Fault
from queries.text.safe_text import safe_text
from queries.text.suggest import did_you_mean, quoted

T = TypeVar("T")

_WORDS = {
    "bool": "true or false",
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "object": "a table",
    "array": "a list",
}
_SYNTAX_ERROR_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_TYPE = re.compile(r"`([\w| ]+)`")
_BARE_KEY = re.compile(r"[\w-]+", re.ASCII)


class TomlError(ValueError):
    """A file is not valid.

    str() is one line about the first fault: ``file:line: setting: what is wrong``.
    """

    def __init__(self, *faults: Fault) -> None:
        first = faults[0]
        super().__init__(f"{first.file}:{first.line}: {first.message}")
        self.faults = faults


class TomlFile:
    """Text of a TOML file, and errors about it. ``name`` is the file in errors."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self._text = text

    def decode(self, kind: type[T]) -> T:
        """Return the file's tables as a record of type ``kind``. Raises TomlError."""
        table, problems = self.table()
        faults = list(problems.items())
        try:
            decoded = msgspec.convert(table, kind, strict=True)
        except msgspec.ValidationError as error:
            faults += dict.fromkeys(_faults(table, kind, (), str(error)))
        if faults:
            raise TomlError(*(self.fault(path, f"{self.setting(path)} {problem}") for path, problem in faults))
        return decoded

    def table(self) -> tuple[dict[str, Any], dict[Path, str]]:
        """Return the file's tables, and faults of settings by path. Raises TomlError."""
        return self._parse(), {}

    def error(self, path: Path, problem: str) -> TomlError:
        """Return the error that the setting at ``path`` has this problem.

        The problem is a predicate such as "must be text".
        """
        return TomlError(self.fault(path, f"{self.setting(path)} {problem}"))

    def setting(self, path: Path) -> str:
        """Return the name of a setting, for messages."""
        return ".".join(map(_key, path)) or "the file"

    def fault(self, path: Path, message: str) -> Fault:
        """Return the fault of the setting at ``path``."""
        line = self.line(path)
        text = self._text.split("\n")[line - 1]
        columns = (text.find(step) + 1 for step in reversed(self.source(path)) if isinstance(step, str))
        return self._fault_at(line, next(filter(None, columns), 1), message)

    def _fault_at(self, line: int, column: int, message: str) -> Fault:
        return Fault(safe_text(self.name), line, column, safe_text(message))

    def line(self, path: Path) -> int:
        """Return the line of a setting, or of the nearest table around it."""
        return toml_lines.line_of(toml_lines.lines(self._text), self.source(path))

    def source(self, path: Path) -> Path:
        """Return the path at which a setting is written."""
        return path

    def _parse(self) -> dict[str, Any]:
        import tomllib  # slow to import, and not needed while the engines are in the cache

        try:
            return tomllib.loads(self._text)
        except RecursionError:
            raise TomlError(self._fault_at(1, 1, "it is nested too deeply")) from None
        except ValueError as error:
            problem = str(error)
            match = _SYNTAX_ERROR_AT.search(problem)
            line = int(match[1]) if match and match[1] else max(len(self._text.splitlines()), 1)
            column = int(match[2]) if match and match[2] else 1
            reason = problem[: match.start()] if match else problem
            raise TomlError(self._fault_at(line, column, f"it is not valid TOML: {reason}")) from None


def _faults(value: object, kind: Any, path: Path, message: str) -> Iterator[tuple[Path, str]]:
    """Yield the paths of the innermost wrong settings, and what is wrong with each.

    msgspec's own path has no keys of tables (``$.contexts[...]``), so each part is converted again by itself.
    """
    inside = False
    for step, part, part_kind in _parts(value, kind):
        if part_kind is None:
            inside = True
            yield (*path, step), f"is not a setting{did_you_mean(str(step), _fields(kind))}"
            continue
        try:
            msgspec.convert(part, part_kind, strict=True)
        except msgspec.ValidationError as error:
            inside = True
            yield from _faults(part, part_kind, (*path, step), str(error))
    required = _required(kind) if isinstance(value, dict) else ()
    missing = [name for name in required if name not in value]  # type: ignore[operator]
    for name in missing:
        yield path, f"needs the setting {quoted(name)}"
    if not (inside or missing):
        yield path, _wrong(kind, message)


def _wrong(kind: Any, message: str) -> str:
    """Return what is wrong with a value without wrong parts, from msgspec's message."""
    if isinstance(kind, enum.EnumType):
        return f"must be one of {', '.join(map(str, kind))}"
    if not message.startswith("Expected "):
        return f"is not valid: {message}"
    words = _TYPE.sub(lambda match: " or ".join(_WORDS.get(word, "a date") for word in match[1].split(" | ")), message)
    wanted, _, found = words.removeprefix("Expected ").partition(", got ")
    return f"must be {wanted}" + (f", not {found.replace('whole ', '')}" if found else "")


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


def _required(kind: Any) -> list[str]:
    """Return the settings that a record requires."""
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return []
    return [field.encode_name for field in msgspec.structs.fields(kind) if field.required]


def _key(step: str | int) -> str:
    return str(step) if _BARE_KEY.fullmatch(str(step)) else quoted(str(step))
