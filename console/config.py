"""The operator's settings: contexts, thresholds, options, keys and theme.

They come from one TOML file. Decoding is strict: a setting that is unknown or not of its type is an error that names
the file, the line and the nearest valid name. docs/settings.md has the comment beside each setting as its meaning.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from queries.db.redaction import redact
from queries.files import user_dirs
from queries.files.state_file import insecure, open_file, open_private
from queries.text import duration
from queries.text.safe_text import safe_text
from queries.text.suggest import did_you_mean, quoted

if TYPE_CHECKING:
    from queries.contract.outside import OutsideEngines
    from queries.files.toml_file import TomlFile

START_MODES = ("stuck", "tree", "dead", "audit")
"""Screens that the console may start with."""
SettingPath = tuple[str, ...]  # path of a setting: ("contexts", "prod", "dsn")

COLORS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white", "orange", "purple", "grey")
NOTIFY = ("bell", "osc9")  # the terminal's bell, or a notification of the desktop
COMMAND_FIELDS = ("id", "key", "kind", "title", "status", "phase", "engine", "owner", "error", "parent", "job")
INTERVAL_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0)  # between two refreshes, to choose from

SETTINGS_BYTES = 1 << 20  # of the settings file; a longer one is another file
_HEX_COLOR = r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})"


class ConfigError(Exception):
    """Error for a wrong setting. str() is one line.

    The line reads ``file:line: what is wrong and what would be right``.
    """


def interval(written: object) -> float:
    """Return the seconds between two refreshes. Raises ValueError, a predicate."""
    seconds = duration.parse(written)
    if not INTERVAL_SECONDS[0] <= seconds <= INTERVAL_SECONDS[-1]:
        raise ValueError('must be between "200ms" and "1h"')
    return seconds


def _in_full(document: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with times in seconds. Raises SettingError."""
    full = dict(document)
    if "interval" in full:
        full["interval"] = _seconds(interval, full["interval"], "interval")
    if isinstance(tables := full.get("thresholds"), dict):
        full["thresholds"] = {name: _thresholds(table, "thresholds", name) for name, table in tables.items()}
    return full


def _thresholds(table: object, *path: str) -> object:
    """Return a table of thresholds in seconds. A kind has a table within it."""
    if not isinstance(table, dict):
        return table
    return {
        name: _thresholds(each, *path, name) if isinstance(each, dict) else _seconds(duration.parse, each, *path, name)
        for name, each in table.items()
    }


def _seconds(parse: Callable[[object], float], written: object, *path: str) -> float:
    try:
        return parse(written)
    except ValueError as error:
        from queries.files.toml_file import SettingError  # slow to import, and often there is no settings file

        raise SettingError(str(error), *path) from None


class _ContextSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    dsn: str = ""  # connection string or URI; the variables and files of libpq supply the rest
    color: str = ""  # of the context's name in the header: a word such as red, or #rrggbb
    production: bool = False  # you type the context's name before a risky action
    read_only: bool = False  # refuse every change
    override_read_only: bool = False  # change rows although default_transaction_read_only is on
    local_log: bool = False  # without the right to write the audit log table, a local file gets the entries
    engine: str = ""  # label of the engine whose tree is shown first
    schema: str = ""  # the schema to use if several hold the same engine; without it, all are shown
    trusted_owners: tuple[str, ...] = ()  # roles to trust, with yours, superusers and the database's owner
    images: bool = True  # false: the audit log has only the names of changed columns, no values, and there is no undo
    engines: tuple[str, ...] = ()  # folders with engines of your own, relative to the settings file
    guess: bool = True  # false: tables that no engine describes are not read, even if they look like work
    not_work: tuple[str, ...] = ()  # tables, with their schemas, that look like work and are none


class Context(_ContextSettings, frozen=True, kw_only=True):
    """A named database."""

    name: str

    def __repr__(self) -> str:
        return f"Context(name={self.name!r}, dsn={redact(self.dsn)!r})"


UNNAMED = Context(name="")
"""A database that no context names: the libpq environment."""


class EngineSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of an engine outside of the package."""

    trust: bool = False  # the actions of this engine need no `unstick engine check`


class _Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    engines: dict[str, EngineSettings] = {}
    thresholds: dict[
        str, dict[str, float | dict[str, float]]
    ] = {}  # by engine, or by engine and kind of node: when a node counts as stuck
    options: dict[str, dict[str, str | dict[str, str]]] = {}  # by engine: facts that the database does not record
    keys: dict[str, str] = {}  # by id of a binding: other keys for it, separated by commas
    filters: dict[str, str] = {}  # by name: a filter; `@name` in another filter inserts it
    commands: dict[str, list[str]] = {}  # by name: a program and its arguments; `{id}` is a field of the node
    theme: str = ""  # name of a theme of Textual or unstick; without it, unstick's own, light if COLORFGBG says so
    start: str = "stuck"  # the screen that is shown first: stuck, tree, dead or audit
    ascii: bool = False  # draw lines and signs in ASCII, as with --ascii
    mouse: bool = True  # false: leave the mouse to your terminal, which then selects text
    interval: float = 2.0  # time between two refreshes, from 200ms to 1h, as with --interval
    notify: str = ""  # how to report new incidents: bell, or osc9 for a notification of the desktop


class SettingsFile(_Settings, frozen=True, kw_only=True):
    contexts: dict[str, _ContextSettings] = {}


class Config(_Settings, frozen=True, kw_only=True):
    """All settings. Names that depend on engines are checked later, by `check`."""

    path: Path
    contexts: dict[str, Context] = {}
    source: TomlFile | None = None  # None: there is no settings file

    def context(self, name: str) -> Context:
        """Return the context of that name.

        Raises ConfigError with the names of all contexts.
        """
        if name in self.contexts:
            return self.contexts[name]
        names = ", ".join(self.contexts) or "none"
        problem = f"There is no context {quoted(name)}{did_you_mean(name, self.contexts) or '.'}"
        raise ConfigError(safe_text(problem) + "\n" + safe_text(f"{shown(self.path)} has: {names}."))

    def overrides(self) -> dict[str, dict[str, object]]:
        """Return thresholds and options by engine or ``engine@schema``, for a workspace."""
        engines = {*self.thresholds, *self.options}
        return {name: {**self.thresholds.get(name, {}), **self.options.get(name, {})} for name in engines}

    def engine_folders(self, context: Context) -> tuple[Path, ...]:
        """Return the folders with engines that a context names."""
        try:
            return tuple(self.path.parent / user_dirs.expanded(Path(each)) for each in context.engines)
        except OSError as error:
            raise ConfigError(f"{shown(self.path)}: a folder of engines cannot be read: {error.strerror}") from None

    def check(
        self,
        thresholds: Mapping[str, Collection[str]],
        options: Mapping[str, Collection[str]],
        *,
        unread: Collection[str] = (),
    ) -> None:
        """Check names of thresholds and options, by engine. Raises ConfigError.

        An engine may be named by a label with its schema, such as ``eternaltwin@billing``. ``unread``: engines whose
        settings cannot be checked now.
        """
        unread = {*unread, *self.engines} - set(thresholds)
        self._check_contexts({*thresholds, *unread})
        self._check_engines("thresholds", "a threshold", self.thresholds, thresholds, unread)
        self._check_engines("options", "an option", self.options, options, unread)

    def check_screen(self, keys: Collection[str], themes: Collection[str]) -> None:
        """Check the names of bindings and of the theme. Raises ConfigError."""
        for name in self.keys:
            self._expect(("keys", name), name, keys, "a command")
        if self.theme:
            self._expect(("theme",), self.theme, themes, "a theme", value=True)

    def _check_engines(
        self,
        table: str,
        what: str,
        settings: Mapping[str, Mapping[str, object]],
        names: Mapping[str, Collection[str]],
        unread: Collection[str],
    ) -> None:
        for label, values in settings.items():
            engine = label.partition("@")[0]
            if engine in unread:
                continue
            self._expect((table, label), engine, names, "an engine")
            for path in _threshold_paths(values) if table == "thresholds" else ((name,) for name in values):
                self._expect((table, label, *path), path[-1], names[engine], f"{what} of {engine}")

    def _check_contexts(self, engines: Collection[str]) -> None:
        for name, context in self.contexts.items():
            if engine := context.engine.partition("@")[0]:
                self._expect(("contexts", name, "engine"), engine, engines, "an engine", value=True)

    def _expect(
        self, setting: SettingPath, word: str, names: Collection[str], what: str, *, value: bool = False
    ) -> None:
        """Raise ConfigError if a word of a setting, or its ``value``, is unknown."""
        if word not in names:
            text = f"{quoted(word)} " if value else ""
            self._fail(setting, f"{text}is not {what}{did_you_mean(word, names)}")

    def _fail(self, setting: SettingPath, problem: str) -> NoReturn:
        assert self.source is not None  # without a file nothing is set that could be wrong
        raise ConfigError(str(self.source.error(setting, problem)))


def outside(config: Config, context: Context, places: Iterable[Path]) -> OutsideEngines:
    """Load the engines outside of the package.

    They are those of the settings, of the context, and of the ``given`` folders.
    """
    from queries.contract.outside import outside_engines  # slow to import, which a completion of contexts would notice

    trusted = {name for name, settings in config.engines.items() if settings.trust}
    return outside_engines((*config.engine_folders(context), *places), trusted)


def path_of(given: str | None = None) -> Path:
    """Return the path of the settings file.

    It is ``given``, else ``UNSTICK_CONFIG``, else in the platform's folder for settings.
    """
    path = given or os.environ.get("UNSTICK_CONFIG")
    try:
        return user_dirs.expanded(Path(path)) if path else user_dirs.folder("config") / "config.toml"
    except OSError as error:
        raise ConfigError(f"{path}: it cannot be read: {error.strerror}") from None


def load(given: str | None = None) -> Config:
    """Read the settings.

    A missing file means the defaults, unless it was ``given``. Raises ConfigError.
    """
    path = path_of(given)
    try:
        with open_file(path) as file:
            status = os.fstat(file.fileno())
            content = file.read(SETTINGS_BYTES + 1)
        if len(content) > SETTINGS_BYTES:
            raise ConfigError(f"{shown(path)}: it has more than {SETTINGS_BYTES // 1024} kB, so it is no settings file")
        text = content.decode("utf-8-sig")
    except FileNotFoundError:
        if given:
            raise ConfigError(f"{shown(path)}: there is no such file") from None
        return Config(path=path)
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{shown(path)}:{line}: it is not UTF-8") from None
    except OSError as error:
        raise ConfigError(f"{shown(path)}: it cannot be read: {error.strerror}") from None
    config = parse(text, path, insecure(status), insecure(status, writers=stat.S_IWOTH))
    if config.commands and config.source is not None:
        try:
            os.close(open_private(path, os.O_RDONLY))
        except OSError as error:
            why = f"is not obeyed, because {error.strerror}"
            raise ConfigError(str(config.source.error(("commands",), why))) from None
    return config


def field_of(word: str) -> str:
    """Return the field of a node that an argument is, or ""."""
    return word[1:-1] if word.startswith("{") and word.endswith("}") else ""


def parse(text: str, path: Path, doubt: str = "", of_dsn: str = "") -> Config:
    """Return the settings in ``text``, the content of the file ``path``.

    ``doubt``: why another user may have written it, or "". Raises ConfigError, also for a setting that runs code of
    others and is in doubt. ``of_dsn``: the same for the database: a group may write the file.
    """
    from queries.files.toml_file import TomlError, TomlFile  # as above

    source = TomlFile(shown(path), text)
    try:
        settings = source.decode(SettingsFile, _in_full)
        _check_words(source, settings)
        if nul := re.search(r"(?<!\\)\\(u0000|U00000000)", text):  # no path, name or connection string can hold it
            raise ConfigError(f"{shown(path)}:{text.count(chr(10), 0, nul.start()) + 1}: a setting holds {nul[0]}")
        if doubt:
            _refuse_trust(source, settings, doubt, ("dsn",) if of_dsn else ())
    except TomlError as error:
        raise ConfigError(str(error)) from None
    contexts = {
        name: Context(name=name, **msgspec.structs.asdict(context)) for name, context in settings.contexts.items()
    }
    return Config(path=path, source=source, **{**msgspec.structs.asdict(settings), "contexts": contexts})


def shown(path: Path) -> str:
    """Return ``path`` with the home directory as ``~``, safe to print."""
    home = user_dirs.home()
    if home is None or home == Path("/") or not path.is_relative_to(home):
        return safe_text(str(path))
    return safe_text(f"~/{path.relative_to(home)}")


def _refuse_trust(source: TomlFile, settings: SettingsFile, doubt: str, more: tuple[str, ...]) -> None:
    """Raise TomlError for the first setting that trusts others, or is in ``more``."""
    why = f"is not obeyed, because {doubt}: chown it to yourself and chmod go-w"
    for name, context in settings.contexts.items():
        for setting in ("trusted_owners", "engines", *more):
            if getattr(context, setting):
                raise source.error(("contexts", name, setting), why)
    for name, engine in settings.engines.items():
        if engine.trust:
            raise source.error(("engines", name, "trust"), why)


def _check_words(source: TomlFile, settings: SettingsFile) -> None:
    """Raise TomlError for the first setting that is not one of its words."""
    for name, context in settings.contexts.items():
        if not re.fullmatch(r"[^\s@]+", name):
            raise source.error(("contexts", name), "must be a name without spaces and without @")
        if not re.fullmatch(_HEX_COLOR, context.color):
            _check_word(source, ("contexts", name, "color"), context.color, "a color", ("", *COLORS), "#rrggbb")
    for name, words in settings.commands.items():
        if not words or field_of(words[0]):
            raise source.error(("commands", name), "must begin with a program")
        for word in filter(field_of, words):
            _check_word(source, ("commands", name), word, "a field", tuple(f"{{{field}}}" for field in COMMAND_FIELDS))
    _check_word(source, ("start",), settings.start, "a screen", START_MODES)
    _check_word(source, ("notify",), settings.notify, "a notification", ("", *NOTIFY))


def _check_word(source: TomlFile, path: SettingPath, word: str, what: str, words: tuple[str, ...], *more: str) -> None:
    if word not in words:
        hint = did_you_mean(word, words) or f"; use {', '.join(filter(None, (*words, *more)))}"
        raise source.error(path, f"{quoted(word)} is not {what}{hint}")


def _threshold_paths(settings: Mapping[str, object]) -> Iterable[tuple[str, ...]]:
    """Yield the path of every threshold in an engine's table."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from ((name, inner) for inner in value)
        else:
            yield (name,)
