"""The operator's settings: contexts, thresholds, keys and looks, from one TOML file.

Strict: a setting that is not known, or not of its type, is an error that names the file, the line and the nearest
valid name; nothing is guessed and nothing skipped.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec

from queries import duration, user_dirs
from queries.db.redaction import redact
from queries.safe_text import safe_text

T = TypeVar("T")
Place = tuple[str | int, ...]

COLORS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white", "orange", "purple", "grey")
INTERVALS = (0.2, 3600.0)  # seconds between two looks at the database

_HEX = r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})"
_CONTEXT = r"[^\s@]+"
_WORDS = {
    "bool": "true or false",
    "str": "text",
    "int": "a number",
    "float": "a number",
    "object": "a table",
    "array": "a list",
}
_TYPE = r"`(\w+)`"
_LINE = r" \(at (?:line (\d+), column \d+|end of document)\)$"


class ConfigError(Exception):
    """A setting is wrong; str() is one line, ``file:line: what is wrong and what would be right``."""


class _ContextSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    dsn: str = ""
    color: str = ""
    production: bool = False
    read_only: bool = False
    override_read_only: bool = False
    engine: str = ""
    schema: str = ""
    trusted_owners: tuple[str, ...] = ()


class Context(_ContextSettings, frozen=True, kw_only=True):
    """A named database. An empty ``dsn`` is the libpq environment; ``color`` is one of COLORS, ``#rrggbb`` or "".

    ``engine`` is the label of the one whose tree is shown first. ``schema`` is the one to use where several schemas of
    the database hold the same engine. ``trusted_owners`` are roles whose tables are read although they may carry code.
    """

    name: str

    def __repr__(self) -> str:
        return f"Context(name={self.name!r}, dsn={redact(self.dsn)!r})"


class _Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    contexts: dict[str, Any] = {}
    thresholds: dict[str, Any] = {}
    options: dict[str, Any] = {}
    keys: dict[str, Any] = {}
    theme: str = ""
    ascii: bool = False
    interval: Any = 2


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """All settings, checked as far as they can be without knowing the engines: see :meth:`check`."""

    path: Path
    contexts: dict[str, Context] = {}
    thresholds: dict[str, dict[str, float | dict[str, float]]] = {}  # engine -> name -> value, or kind -> name -> value
    options: dict[str, dict[str, str | dict[str, str]]] = {}  # engine -> name -> value, or a table of texts
    keys: dict[str, str] = {}  # id of a binding -> its keys, with commas between
    theme: str | None = None
    ascii: bool = False
    interval: float = 2.0  # seconds
    lines: dict[Place, int] = {}

    def context(self, name: str) -> Context:
        """The context of that name. Raises ConfigError, saying which there are."""
        if name in self.contexts:
            return self.contexts[name]
        known = ", ".join(self.contexts) or "none"
        problem = f"There is no context {_quoted(name)}{_nearest(name, self.contexts) or '.'}"
        raise ConfigError(safe_text(problem) + "\n" + safe_text(f"{shown(self.path)} has: {known}."))

    def overrides(self) -> dict[str, dict[str, object]]:
        """Thresholds and options by engine or by ``engine@schema``, as a workspace takes them."""
        engines = {*self.thresholds, *self.options}
        return {name: {**self.thresholds.get(name, {}), **self.options.get(name, {})} for name in engines}

    def check(
        self,
        thresholds: Mapping[str, Collection[str]],
        options: Mapping[str, Collection[str]] | None = None,
        keys: Collection[str] | None = None,
        themes: Collection[str] | None = None,
    ) -> None:
        """Check names against what there is: thresholds and options by engine, bindings, themes. Raises ConfigError.

        An engine may be named as it is labelled where two schemas hold it: ``eternaltwin@billing``.
        """
        self._check_contexts(thresholds)
        for label, settings in self.thresholds.items():
            engine = label.partition("@")[0]
            if engine not in thresholds:
                self._fail(("thresholds", label), f"is not an engine{_nearest(engine, thresholds)}")
            for path in _names(settings):
                if path[-1] not in thresholds[engine]:
                    problem = f"is not a threshold of {engine}{_nearest(path[-1], thresholds[engine])}"
                    self._fail(("thresholds", label, *path), problem)
        for label, chosen in self.options.items():
            engine = label.partition("@")[0]
            known = (options or {}).get(engine, ())
            for name in chosen if options is not None else ():
                if name not in known:
                    self._fail(("options", label, name), f"is not an option of {engine}{_nearest(name, known)}")
        for name in self.keys:
            if keys is not None and name not in keys:
                self._fail(("keys", name), f"is not something a key can do{_nearest(name, keys)}")
        if themes is not None and self.theme is not None and self.theme not in themes:
            self._fail(("theme",), f"{_quoted(self.theme)} is not a theme{_nearest(self.theme, themes)}")

    def _check_contexts(self, engines: Collection[str]) -> None:
        for name, context in self.contexts.items():
            engine = context.engine.partition("@")[0]
            if engine and engine not in engines:
                problem = f"{_quoted(engine)} is not an engine{_nearest(engine, engines)}"
                self._fail(("contexts", name, "engine"), problem)

    def _fail(self, place: Place, problem: str) -> NoReturn:
        raise _wrong(self.path, self.lines, place, problem)


def path_of(given: str | None = None) -> Path:
    """Where the settings are: what was given, else ``UNSTICK_CONFIG``, else the platform's place for them."""
    chosen = given or os.environ.get("UNSTICK_CONFIG")
    return Path(chosen).expanduser() if chosen else user_dirs.folder("config") / "config.toml"


def load(given: str | None = None) -> Config:
    """Read the settings. A file that is not there means the defaults, unless it was ``given``. Raises ConfigError."""
    path = path_of(given)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        if given:
            raise ConfigError(f"{shown(path)}: there is no such file") from None
        return Config(path=path)
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{shown(path)}:{line}: it is not UTF-8") from None
    except OSError as error:
        raise ConfigError(f"{shown(path)}: it cannot be read: {error.strerror}") from None
    return parse(text, path)


def parse(text: str, path: Path) -> Config:
    """The settings in ``text``, which stands in the file ``path``. Raises ConfigError."""
    return _Reader(path, text).config()


def shown(path: Path) -> str:
    """``path`` with the home directory as ``~``."""
    home = Path.home()
    inside = home != Path("/") and path.is_relative_to(home)
    return safe_text(f"~/{path.relative_to(home)}" if inside else str(path))


class _Reader:
    def __init__(self, path: Path, text: str) -> None:
        from queries import toml_lines  # not needed where there are no settings, and slow to import

        self.path = path
        self.table = _toml(path, text)
        self.lines = toml_lines.lines(text)

    def config(self) -> Config:
        settings = self._record(self.table, _Settings, ())
        return Config(
            path=self.path,
            contexts={name: self._context(name, value) for name, value in settings.contexts.items()},
            thresholds={name: self._engine(name, value) for name, value in settings.thresholds.items()},
            options={name: self._options(name, value) for name, value in settings.options.items()},
            keys={name: self._value(value, str, ("keys", name)) for name, value in settings.keys.items()},
            theme=settings.theme or None,
            ascii=settings.ascii,
            interval=self._interval(settings.interval),
            lines=self.lines,
        )

    def _context(self, name: str, value: object) -> Context:
        place = ("contexts", name)
        if not re.fullmatch(_CONTEXT, name):
            self._fail(place, "must be a name without spaces and without @")
        settings = self._record(value, _ContextSettings, place)
        color = settings.color
        if color and color not in COLORS and not re.fullmatch(_HEX, color):
            known = _nearest(color, COLORS) or f"; there are {', '.join(COLORS)} and #rrggbb"
            self._fail((*place, "color"), f"{_quoted(color)} is not a color{known}")
        return Context(name=name, **msgspec.structs.asdict(settings))

    def _engine(self, name: str, value: object) -> dict[str, float | dict[str, float]]:
        place = ("thresholds", name)
        return {
            key: self._kind(inner, (*place, key)) if isinstance(inner, dict) else self._duration(inner, (*place, key))
            for key, inner in self._value(value, dict[str, Any], place).items()
        }

    def _options(self, name: str, value: object) -> dict[str, str | dict[str, str]]:
        place = ("options", name)
        table = self._value(value, dict[str, Any], place)
        return {key: self._value(inner, str | dict[str, str], (*place, key)) for key, inner in table.items()}  # type: ignore[arg-type]

    def _kind(self, value: dict[str, Any], place: Place) -> dict[str, float]:
        return {name: self._duration(inner, (*place, name)) for name, inner in value.items()}

    def _interval(self, written: object) -> float:
        seconds = self._duration(written, ("interval",))
        if not INTERVALS[0] <= seconds <= INTERVALS[1]:
            self._fail(("interval",), 'must be between "200ms" and "1h"')
        return seconds

    def _duration(self, written: object, place: Place) -> float:
        try:
            return duration.parse(written)
        except ValueError as error:
            self._fail(place, str(error))

    def _record(self, value: object, kind: type[T], place: Place) -> T:
        """A table as a struct. Field by field, as an error in a whole does not say in which table it was."""
        table = self._value(value, dict[str, Any], place)
        fields = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}  # type: ignore[arg-type]
        for name, inner in table.items():
            if name not in fields:
                self._fail((*place, name), f"is not a setting{_nearest(name, fields)}")
            self._value(inner, fields[name], (*place, name))
        return msgspec.convert(table, kind)

    def _value(self, value: object, kind: type[T], place: Place) -> T:
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            problem = re.sub(_TYPE, lambda match: _WORDS.get(match[1], "a date"), str(error))
            self._fail(place, f"must be {problem.removeprefix('Expected ').replace(', got', ', not')}")

    def _fail(self, place: Place, problem: str) -> NoReturn:
        raise _wrong(self.path, self.lines, place, problem)


def _toml(path: Path, text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ConfigError(f"{shown(path)}: it is nested too deeply") from None
    except ValueError as error:
        problem = str(error)
        match = re.search(_LINE, problem)
        line = int(match[1]) if match and match[1] else max(len(text.splitlines()), 1)
        reason = safe_text(problem[: match.start()] if match else problem)
        raise ConfigError(f"{shown(path)}:{line}: it is not valid TOML: {reason}") from None


def _wrong(path: Path, lines: Mapping[Place, int], place: Place, problem: str) -> ConfigError:
    from queries import toml_lines

    line = toml_lines.line_of(dict(lines), place)
    name = ".".join(part if re.fullmatch(r"[\w-]+", part, re.ASCII) else _quoted(part) for part in map(str, place))
    return ConfigError(safe_text(f"{shown(path)}:{line}: {name} {problem}"))


def _names(settings: Mapping[str, float | Mapping[str, float]]) -> Iterable[tuple[str, ...]]:
    """The path of every threshold in an engine's table."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from ((name, inner) for inner in value)
        else:
            yield (name,)


def _nearest(name: str, known: Iterable[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {_quoted(near[0])}?" if near else ""


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
