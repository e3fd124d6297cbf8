"""Strict TOML decoding.

Errors name the file, the line, the setting and the nearest valid name. Settings and engine folders use it alike: an
unknown setting or a wrong type is an error, never a guess.
"""

from __future__ import annotations

import contextlib
import enum
import re
import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, TypeVar

import msgspec

from queries.files import toml_lines
from queries.files.written import FormError, Path, ShortForm, TomlValue
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
        self._places: dict[Path, Path] = {}

    def decode(self, kind: type[T]) -> T:
        """Return the file's tables as a record of type ``kind``. Raises TomlError."""
        decoder = _Decoder()
        self._places = decoder.places
        record: T = decoder.decoded(kind, TomlValue(self._parse(), ()), ())
        if decoder.faults:
            raise TomlError(*(self.fault(path, f"{self.setting(path)} {problem}") for path, problem in decoder.faults))
        return record

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
        return self._fault_at(*self.place(path), message)

    def _fault_at(self, line: int, column: int, message: str) -> Fault:
        return Fault(safe_text(self.name), line, column, safe_text(message))

    def place(self, path: Path) -> toml_lines.Place:
        """Return line and column of a setting, or of the nearest table around it."""
        return toml_lines.place_of(toml_lines.places(self._text), self.source(path))

    def source(self, path: Path) -> Path:
        """Return the path at which a decoded setting is written."""
        prefix = next((path[:n] for n in range(len(path), -1, -1) if path[:n] in self._places), ())
        return (*self._places.get(prefix, ()), *path[len(prefix) :])

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


class _Decoder:
    """Decoder of one file.

    It notes where each setting is written, and collects faults. msgspec alone would report the first fault, with a path
    that has no keys of tables (``$.contexts[...]``).
    """

    def __init__(self) -> None:
        self.places: dict[Path, Path] = {}
        self.faults: list[tuple[Path, str]] = []

    def decoded(self, kind: Any, written: TomlValue, path: Path) -> Any:
        """Return a value as this type. With faults, the result is not used."""
        self.places[path] = written.at
        kind, forms = _forms(kind)
        for form in forms:
            try:
                written = form(written)
            except FormError as error:
                self.faults.append(((*path, error.setting) if error.setting else path, str(error)))
                if not error.setting:
                    return None
        if not _has_forms(kind):
            with contextlib.suppress(msgspec.ValidationError):  # at once, a tenth of the time
                return msgspec.convert(written.value, kind, strict=True)
        value = written.value
        kind, origin, parts = _alternative(kind, of_table=isinstance(value, dict), of_list=isinstance(value, list))
        if isinstance(value, dict) and origin is None and _is_record(kind):
            return self._record(kind, written.table(), path)
        if isinstance(value, dict) and origin is dict:
            return {name: self.decoded(parts[1], part, (*path, name)) for name, part in written.table().items()}
        if isinstance(value, list) and origin in (list, tuple):
            return origin(self.decoded(parts[0], part, (*path, n)) for n, part in enumerate(written.items()))
        try:
            return msgspec.convert(value, kind, strict=True)
        except msgspec.ValidationError as error:
            self.faults.append((path, _wrong(kind, str(error))))
            return None

    def _record(self, kind: Any, table: Mapping[str, TomlValue], path: Path) -> Any:
        fields, values = _fields(kind), dict[str, Any]()
        for name, part in table.items():
            if name in fields:
                values[fields[name].name] = self.decoded(fields[name].type, part, (*path, name))
            else:
                self.places[*path, name] = part.at
                self.faults.append(((*path, name), f"is not a setting{did_you_mean(name, fields)}"))
        for name in (field.encode_name for field in fields.values() if field.required):
            if name not in table:
                self.faults.append((path, f"needs the setting {quoted(name)}"))
        return None if self.faults else kind(**values)


def _wrong(kind: Any, message: str) -> str:
    """Return what is wrong with a value without wrong parts, from msgspec's message."""
    if isinstance(kind, enum.EnumType):
        return f"must be one of {', '.join(map(str, kind))}"
    if not message.startswith("Expected "):
        return f"is not valid: {message}"
    words = _TYPE.sub(lambda match: " or ".join(_WORDS.get(word, "a date") for word in match[1].split(" | ")), message)
    expectation, _, value = words.removeprefix("Expected ").partition(", got ")
    return f"must be {expectation}" + (f", not {value.replace('whole ', '')}" if value else "")


@cache
def _forms(kind: Any) -> tuple[Any, tuple[ShortForm, ...]]:
    """Return a type without its forms, and these."""
    if typing.get_origin(kind) is not Annotated:
        return kind, ()
    type_, *more = typing.get_args(kind)
    forms = tuple(each for each in more if callable(each))
    return (type_, forms) if forms else (kind, ())


@cache
def _has_forms(kind: Any) -> bool:
    """Return True if a part of a type has forms."""
    if _is_record(kind):
        return any(_has_forms(field.type) for field in _fields(kind).values())
    return bool(_forms(kind)[1]) or any(map(_has_forms, typing.get_args(kind)))


@cache
def _alternative(kind: Any, *, of_table: bool, of_list: bool) -> tuple[Any, Any, tuple[Any, ...]]:
    """Return the alternative for a table or list, its origin and its parts."""
    choices = typing.get_args(kind) if typing.get_origin(kind) in (types.UnionType, typing.Union) else ()
    for choice in choices:
        origin = typing.get_origin(choice)
        if (of_table and (origin is dict or _is_record(choice))) or (of_list and origin in (list, tuple)):
            kind = choice
    return kind, typing.get_origin(kind), typing.get_args(kind)


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


@cache
def _fields(kind: Any) -> dict[str, msgspec.structs.FieldInfo]:
    """Return the settings of a record by name."""
    return {field.encode_name: field for field in msgspec.structs.fields(kind)}


def _key(step: str | int) -> str:
    return str(step) if _BARE_KEY.fullmatch(str(step)) else quoted(str(step))
