"""Strict TOML decoding.

An unknown setting or a wrong type is an error, never a guess. Settings and engine folders use it alike. An error names
the file, the setting, and the line of its table.
"""

from __future__ import annotations

import enum
import re
import typing
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Annotated, Any, TypeVar

import msgspec

from queries.records.fault import Fault
from queries.text.safe_text import safe_text
from queries.text.suggest import did_you_mean, quoted

T = TypeVar("T")
Path = tuple[str | int, ...]
"""Names of the tables around a setting, and its own. An entry of a list has its name, or a number from 0."""

_WORDS = {"bool": "true or false", "str": "text", "int": "a whole number", "float": "a number", "object": "a table"}
_WORDS["array"] = "a list"
_TYPE = re.compile(r"`([\w| ]+)`")
_SYNTAX_ERROR_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_NAME = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_LINE = re.compile(rf"^[ \t]*(\[\[?)?[ \t]*({_NAME}(?:[ \t]*\.[ \t]*{_NAME})*)[ \t]*(?(1)\]|=[ \t]*(.*))", re.MULTILINE)


class SettingError(ValueError):
    """A setting is wrong. str() is a predicate such as "must be text".

    ``path``: of the setting.
    """

    def __init__(self, problem: str, *path: str | int) -> None:
        super().__init__(problem)
        self.path = path


class TomlError(ValueError):
    """A file is not valid.

    str() is one line: ``file:line: setting and what is wrong``.
    """

    def __init__(self, fault: Fault) -> None:
        super().__init__(f"{fault.file}:{fault.line}: {fault.message}")
        self.fault = fault


class TomlFile:
    """Text of a TOML file, and errors about it. ``name`` is the file in errors."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self._text = text

    def decode(self, kind: type[T], in_full: Callable[[dict[str, Any]], dict[str, Any]] = dict) -> T:
        """Return the file's tables as a record of type ``kind``. Raises TomlError.

        ``in_full``: returns the tables without short forms, or raises SettingError.
        """
        try:
            tables = in_full(self._parse())
        except SettingError as error:
            raise self.error(error.path, str(error)) from None
        try:
            return msgspec.convert(tables, kind, strict=True)
        except msgspec.ValidationError as error:
            raise self.error(*_wrong(kind, tables, str(error))) from None

    def error(self, path: Path, problem: str) -> TomlError:
        """Return the error that the setting at ``path`` has this problem.

        The problem is a predicate such as "must be text".
        """
        return TomlError(self.wrong(path, problem))

    def wrong(self, path: Path, problem: str) -> Fault:
        """Return the fault that the setting at ``path`` has this problem."""
        setting = ".".join(step if re.fullmatch(r"[\w-]+", step, re.ASCII) else quoted(step) for step in map(str, path))
        return self.fault(path, f"{setting or 'the file'} {problem}")

    def fault(self, path: Path, message: str) -> Fault:
        """Return a fault at the table of the setting at ``path``."""
        return Fault(safe_text(self.name), self.line(path), 1, safe_text(message))

    def line(self, path: Path) -> int:
        """Return the line of a setting, or of the nearest table around it."""
        return next((self._lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self._lines), 1)

    @cached_property
    def _lines(self) -> dict[Path, int]:
        """The first line of each table, and of the keys that begin a line."""
        lines: dict[Path, int] = {}
        table: Path = ()
        number, at = 1, 0
        for match in _LINE.finditer(self._text):
            number += self._text.count("\n", at, match.start())
            at = match.start()
            path = (() if match[1] else table) + tuple(name.strip("\"' \t") for name in re.findall(_NAME, match[2]))
            if "each" in path[1:]:  # an entry of `each` is named as if it were outside of it
                path = (path[0], *path[path.index("each") + 1 :])
            if match[1]:
                table = path
            for n in range(1, len(path) + 1):
                lines.setdefault(path[:n], number)
        return lines

    def _parse(self) -> dict[str, Any]:
        import tomllib  # slow to import, and not needed while the engines are in the cache

        try:
            return tomllib.loads(self._text)
        except RecursionError:
            raise SettingError("is nested too deeply") from None
        except ValueError as error:
            match = _SYNTAX_ERROR_AT.search(str(error))
            line = int(match[1]) if match and match[1] else max(len(self._text.splitlines()), 1)
            column = int(match[2]) if match and match[2] else 1
            problem = f"it is not valid TOML: {_SYNTAX_ERROR_AT.sub('', str(error))}"
            raise TomlError(Fault(safe_text(self.name), line, column, safe_text(problem))) from None


def _wrong(kind: Any, value: Any, message: str) -> tuple[Path, str]:
    """Return path and problem of the first setting that is wrong.

    The path in ``message``, which is msgspec's, has no names of tables and of the entries of lists.
    """
    for step, part_kind, part in _parts(kind, value):
        try:
            msgspec.convert(part, part_kind, strict=True)
        except msgspec.ValidationError as error:
            path, problem = _wrong(part_kind, part, str(error))
            return path if step in getattr(kind, "DERIVED", ())[:1] else (step, *path), problem
    message = re.sub(r" - at `.*`( in `.*`)?$", "", message)
    for each in _choices(kind):
        if isinstance(each, enum.EnumType) or typing.get_origin(each) is typing.Literal:
            return (), f"must be one of {', '.join(map(str, typing.get_args(each) or each))}"
        if isinstance(value, dict) and (name := re.fullmatch("Object contains unknown field `(.+)`", message)):
            known = [f.encode_name for f in _fields(each) if f.name not in getattr(each, "DERIVED", ())]
            return (name[1],), f"is not a setting{did_you_mean(name[1], known)}"
    if name := re.fullmatch("Object missing required field `(.+)`", message):
        return (), f"needs the setting {quoted(name[1])}"
    if about := next((m.description for m in typing.get_args(kind)[1:] if isinstance(m, msgspec.Meta)), None):
        return (), f"must be {about}"
    words = _TYPE.sub(lambda match: " or ".join(_WORDS.get(word, "a date") for word in match[1].split(" | ")), message)
    expectation, _, got = words.removeprefix("Expected ").partition(", got ")
    return (), f"must be {expectation}" + (f", not {got.replace('whole ', '')}" if got else "")


def _parts(kind: Any, value: Any) -> Iterator[tuple[str | int, Any, Any]]:
    """Yield name, type and value of each part of a table or a list."""
    for each in _choices(kind):
        inner = typing.get_args(each)
        if isinstance(value, dict) and typing.get_origin(each) is dict:
            yield from ((name, inner[1], part) for name, part in value.items())
            yield from ((name, inner[0], name) for name in value)
        elif isinstance(value, dict):
            yield from ((f.encode_name, f.type, value[f.encode_name]) for f in _fields(each) if f.encode_name in value)
        elif isinstance(value, list) and typing.get_origin(each) in (list, tuple):
            names = getattr(inner[0], "DERIVED", ())
            for n, part in enumerate(value):
                yield part.get(names[0], n) if names and isinstance(part, dict) else n, inner[0], part


def _choices(kind: Any) -> Iterator[Any]:
    """Yield a type without what annotates it, or each type of a union."""
    if typing.get_origin(kind) is Annotated:
        yield from _choices(typing.get_args(kind)[0])
    elif typing.get_origin(kind) is typing.Union or isinstance(kind, type(int | str)):
        yield from (each for part in typing.get_args(kind) for each in _choices(part))
    else:
        yield kind


def _fields(kind: Any) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(kind) if isinstance(kind, type) and issubclass(kind, msgspec.Struct) else ()
