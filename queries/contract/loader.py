"""Load and check an engine's folder: ``engine.toml`` and plain ``.sql`` files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from queries import duration
from queries.contract.spec import Action, EngineSpec, Kind
from queries.contract.spec_cache import cached
from queries.model import DRAWN, Record
from queries.statement import PARAMETERS, EngineFileError, Statement, parse_sections, parse_statement


class BrokenEngineError(Exception):
    """An engine's folder breaks the contract. str() names the file and the line."""


class Engine(Record):
    """A loaded engine. :func:`choose` selects among the variants of a statement."""

    name: str
    spec: EngineSpec
    settings: dict[str, Any]  # thresholds (seconds or counts) and options by name, passed to the statements
    statements: Mapping[str, tuple[Statement, ...]]  # "roots", "findings/starved", "detail/state" ...
    actions: Mapping[str, Mapping[str, tuple[Statement, ...]]]  # script -> section -> statements in order

    def action(self, name: str, kind: str) -> Action | None:
        """Return the action of that name for nodes of that kind, or None."""
        return next((v for v in self.actions_of(kind) if v.name == name), None)

    @property
    def actions_here(self) -> tuple[Action, ...]:
        """All actions in this variant of the engine."""
        options = self.settings.items()
        return tuple(v for v in self.spec.actions if v.when.items() <= options)

    def actions_of(self, kind: str) -> tuple[Action, ...]:
        """Return the actions of this variant for nodes of that kind."""
        return tuple(v for v in self.actions_here if kind in v.kinds)

    @property
    def variant(self) -> str:
        """Short name of this variant: the values of the options that actions depend on."""
        return ", ".join(str(self.settings[o]) for o in sorted({o for v in self.spec.actions for o in v.when}))

    def kind(self, name: str) -> Kind | None:
        """Return the node kind of that name, or None."""
        return next((k for k in self.spec.kinds if k.name == name), None)

    @property
    def not_recorded(self) -> frozenset[str]:
        """Fields of ``Node`` that are None for nodes of every kind."""
        return frozenset.intersection(*(frozenset(kind.not_recorded) for kind in self.spec.kinds))


REQUIRED = ("nodes", "roots", "children", "live", "find", "counts")
SECTIONS = ("lock", "refused", "witnesses", "rows", "change")
WITNESS = ("id", "witness", "verdict", "detail")  # columns of the section ``witnesses``


def choose(variants: Iterable[Statement], met_needs: frozenset[str], version: int, kind: str = "") -> Statement | None:
    """Return the best usable variant of a statement for nodes of ``kind``, or None.

    All its needs must be met (``met_needs``) and the server be new enough (``version``). A variant that names the kind
    is best, then the one with the most needs, then the one for the newest server.
    """
    usable = [s for s in variants if s.needs <= met_needs and s.server <= version and s.is_for(kind)]
    return max(usable, key=lambda s: (bool(s.kinds), len(s.needs), s.server), default=None)


def load(folder: Path, name: str) -> Engine:
    """Load and check one engine's folder. Raises BrokenEngineError with file and line."""
    from queries import strict_toml

    try:
        path = folder / "engine.toml"
        toml = strict_toml.TomlFile(str(path), path.read_text("utf-8"))
        spec = toml.decode(EngineSpec)
        statements = _statements(folder)
        for faults in (
            _threshold_faults(spec),
            _option_faults(spec),
            _action_faults(spec),
            _finding_faults(spec, statements),
            _worker_faults(spec),
        ):
            for at, message in faults:
                raise toml.error_at(toml.line(at), message)
        _check_statements(folder, spec, statements)
        actions = {s: _action(folder / "actions" / f"{s}.sql") for s in {v.script for v in spec.actions if v.writes}}
        for at, message in _guard_faults(spec, actions):
            raise toml.error_at(toml.line(at), message)
        settings: dict[str, Any] = {key: _setting(value) for key, value in spec.thresholds.items()}
        settings |= {key: option.default for key, option in spec.options.items()}
    except (strict_toml.TomlError, EngineFileError, OSError, ValueError) as error:
        raise BrokenEngineError(f"{error}\nThe engine {name!r} cannot be used until this is fixed.") from error
    return Engine(name=name, spec=spec, settings=settings, statements=statements, actions=actions)


@cache
def builtin() -> tuple[Engine, ...]:
    """Return the engines that come with the program, ordered by name."""
    home = Path(__file__).parents[1] / "engines"
    folders = sorted((f for f in home.iterdir() if (f / "engine.toml").is_file()), key=lambda f: f.name)
    return cached("engines", folders, tuple[Engine, ...], lambda: tuple(load(f, f.name) for f in folders))


def in_schema(engine: Engine, schema: str) -> Engine:
    """Bind an engine's SQL to a schema.

    ``:"schema"`` becomes its quoted name and ``:'schema'`` a string literal. Both are psql's syntax for a variable, so
    the files also run in psql after ``\\set schema ...``.
    """
    name = '"' + schema.replace('"', '""') + '"'
    literal = "'" + schema.replace("'", "''") + "'"
    if "\\" in schema:
        literal = " E" + literal.replace("\\", "\\\\")  # correct for both values of standard_conforming_strings

    closed = {need for need, spec in engine.spec.needs.items() if spec.closed}

    def bind(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(
            msgspec.structs.replace(
                s,
                text=s.text.replace(':"schema"', name).replace(":'schema'", literal),
                schema=schema if s.needs & closed else "",
            )
            for s in statements
        )

    return msgspec.structs.replace(
        engine,
        statements={key: bind(variants) for key, variants in engine.statements.items()},
        actions={script: {name: bind(run) for name, run in parts.items()} for script, parts in engine.actions.items()},
    )


def _setting(value: Any) -> Any:
    return {k: duration.parse(v) for k, v in value.items()} if isinstance(value, Mapping) else duration.parse(value)


def _statements(folder: Path) -> dict[str, tuple[Statement, ...]]:
    found: dict[str, list[Statement]] = {}
    for place, prefix in ((folder, ""), *((folder / d, f"{d}/") for d in ("findings", "samples", "detail"))):
        if not place.is_dir():
            continue
        for file in sorted(place.iterdir(), key=lambda f: f.name):
            if file.name.endswith(".sql") and file.name != "schema.sql":
                statement = parse_statement(text(file), str(file), PARAMETERS)
                key = prefix + re.split(r"[.@]", file.name, maxsplit=1)[0]
                found.setdefault(key, []).append(statement)
    return {key: tuple(variants) for key, variants in found.items()}


def text(file: Path) -> str:
    r"""Return a file's text. A line ``\ir parts/x.sql`` includes that file, as in psql."""
    included = re.compile(r"^\\ir (\S+)$", re.MULTILINE)
    return included.sub(lambda m: text(file.parent / m[1]), file.read_text("utf-8"))


def _action(file: Path) -> dict[str, tuple[Statement, ...]]:
    if not file.is_file():
        raise EngineFileError(f"{file}: the file is missing")
    sections = parse_sections(text(file), str(file), PARAMETERS)
    for section in sections:
        if section not in SECTIONS:
            line = _line_with(file, f"-- :{section}")
            raise EngineFileError(f"{file}:{line}: section {section!r} is not one of {', '.join(SECTIONS)}")
    for section in ("lock", "rows", "change"):
        if section not in sections:
            raise EngineFileError(f"{file}:1: the section :{section} is missing")
    for part in sections.get("witnesses", ()):
        for column in WITNESS:
            if not re.search(rf"\bAS {column}\b", part.text):
                line = _line_with(file, "-- :witnesses")
                raise EngineFileError(f"{file}:{line}: the section 'witnesses' has no column `{column}`")
    return sections


def _check_statements(folder: Path, spec: EngineSpec, statements: Mapping[str, tuple[Statement, ...]]) -> None:
    """Check that required files exist and that names in their headers are defined."""
    kinds = {k.name for k in spec.kinds}
    for name in REQUIRED:
        if name not in statements:
            raise EngineFileError(f"{folder / (name + '.sql')}: the file is missing")
    for key, variants in statements.items():
        for statement in variants:
            file = Path(statement.source)
            for need in sorted((statement.needs | (statement.of_ids or set())) - set(spec.needs)):
                line = _line_with(file, "-- needs:")
                raise EngineFileError(f"{file}:{line}: needs {need!r}, which engine.toml does not define")
            if key.startswith("detail/"):
                if not statement.title or not statement.kinds:
                    raise EngineFileError(f"{file}:1: a detail section needs the lines -- title: and -- kinds:")
                if statement.drawn and statement.drawn not in DRAWN:
                    line, known = _line_with(file, "-- drawn:"), " or ".join(DRAWN)
                    raise EngineFileError(f"{file}:{line}: there is no drawing {statement.drawn!r}; use {known}")
            for kind in sorted(set(statement.kinds) - kinds):
                raise EngineFileError(f"{file}:{_line_with(file, '-- kinds:')}: there is no node kind {kind!r}")


Fault = tuple[tuple[str | int, ...], str]  # path of a setting in engine.toml, and the message


def _threshold_faults(spec: EngineSpec) -> Iterator[Fault]:
    """Yield thresholds that are not durations or numbers."""
    for name, value in spec.thresholds.items():
        try:
            _setting(value)
        except ValueError as error:
            yield ("thresholds", name), f"thresholds.{name}: {error}"


def _option_faults(spec: EngineSpec) -> Iterator[Fault]:
    """Yield views that the key for the next view cannot handle."""
    views = [name for name, option in spec.options.items() if option.view]
    for name in views:
        if len(spec.options[name].choices) < 2:
            yield ("options", name, "view"), f"options.{name}: a view needs at least two choices"
        if name != views[0]:
            yield (
                ("options", name, "view"),
                f"options.{name}: {views[0]} is a view already; an engine has only one",
            )


def _action_faults(spec: EngineSpec) -> Iterator[Fault]:
    """Yield actions with unknown names, missing texts or duplicates."""
    kinds, seen = {k.name for k in spec.kinds}, set()
    for n, action in enumerate(spec.actions):
        for kind in sorted(set(action.kinds) - kinds):
            yield ("actions", n, "kinds"), f"action {action.name}: there is no node kind {kind!r}"
        for need in sorted(set(action.needs) - set(spec.needs)):
            yield ("actions", n, "needs"), f"action {action.name}: needs {need!r}, which is not defined"
        if not action.writes and not action.why:
            yield ("actions", n), f"action {action.name}: it is {action.support}, so `why` is required"
        if action.writes and not action.effect:
            yield ("actions", n), f"action {action.name}: `effect` is required"
        for kind in action.kinds:
            known = (action.name, kind, tuple(sorted(action.when.items())))
            if known in seen:
                yield ("actions", n, "name"), f"action {action.name}: it is defined twice for a {kind}"
            seen.add(known)


def _finding_faults(spec: EngineSpec, statements: Mapping[str, object]) -> Iterator[Fault]:
    """Yield findings that name an unknown action, argument, file or threshold."""
    actions = {v.name for v in spec.actions}
    codes, symptoms = {f.code for f in spec.findings}, {f.symptom for f in spec.findings} - {""}
    for n, finding in enumerate(spec.findings):
        if finding.action and finding.action not in actions:
            yield ("findings", n, "action"), f"finding {finding.code}: there is no action {finding.action!r}"
        known = {a.name for v in spec.actions if v.name == finding.action for a in v.arguments}
        for name in sorted(set(finding.arguments) - known):
            yield ("findings", n, "arguments"), f"finding {finding.code}: {finding.action} has no argument {name!r}"
        source = f"samples/{finding.sample}" if finding.sample else f"findings/{finding.code}"
        if source not in statements:
            yield ("findings", n, "code"), f"finding {finding.code}: {source}.sql is missing"
        for m, rule in enumerate(finding.explains):
            for code in sorted(set(rule.findings) - codes):
                yield (
                    ("findings", n, "explains", m, "findings"),
                    f"finding {finding.code}: there is no finding {code!r}",
                )
            for word in sorted(set(rule.symptoms) - symptoms):
                yield ("findings", n, "explains", m), f"finding {finding.code}: no finding is a symptom {word!r}"
        if (finding.counter is None) != (finding.min_increase is None):
            yield ("findings", n), f"finding {finding.code}: `counter` and `min_increase` require each other"
        if finding.per_minute and not finding.grows:
            yield ("findings", n, "per_minute"), f"finding {finding.code}: `per_minute` requires `grows`"
        thresholds = (
            ("min_changes", finding.min_changes),
            ("seconds", finding.seconds),
            ("per_minute", finding.per_minute),
        )
        for field, threshold in thresholds:
            if threshold and threshold not in spec.thresholds:
                yield ("findings", n, field), f"finding {finding.code}: there is no threshold {threshold!r}"


def _worker_faults(spec: EngineSpec) -> Iterator[Fault]:
    """Yield workers with unreadable privileges, and tables that are unknown."""
    words = ("SELECT", "INSERT", "UPDATE", "DELETE", "EXECUTE", "USAGE")
    for n, worker in enumerate(spec.workers):
        for privilege in worker.privileges:
            word, _, name = privilege.partition(" ")
            if word not in words or not name:
                yield ("workers", n, "privileges"), f"worker {worker.title}: {privilege!r} is not a privilege"
        for m, index in enumerate(worker.indexes):
            if index.table not in spec.recognise.relations:
                at = ("workers", n, "indexes", m, "table")
                yield at, f"worker {worker.title}: there is no table {index.table!r}"
    if spec.flow is not None and spec.flow.table not in spec.recognise.relations:
        yield ("flow", "table"), f"flow: there is no table {spec.flow.table!r}"
    for field, names in (("triggers", spec.own.triggers), ("constraints", spec.own.constraints)):
        for name in names:
            if "." not in name:
                yield ("own", field), f"own.{field}: {name!r} must be written table.name"


def _guard_faults(spec: EngineSpec, actions: Mapping[str, Mapping[str, tuple[Statement, ...]]]) -> Iterator[Fault]:
    """Yield findings whose action does not return their guard.

    Such an action would be refused every time.
    """
    for n, finding in enumerate(spec.findings):
        scripts = [actions[v.script] for v in spec.actions if v.name == finding.action and v.writes]
        locks = [part.text for script in scripts for part in script["lock"]]
        if finding.constant and scripts and not any(re.search(r"\bAS unchanged\b", text) for text in locks):
            yield (
                ("findings", n, "constant"),
                f"finding {finding.code}: the lock section of {finding.action} has no column `unchanged`",
            )


def _line_with(file: Path, words: str) -> int:
    rows = enumerate(file.read_text("utf-8").splitlines(), 1)
    return next((n for n, row in rows if row.startswith(words)), 1)


def with_settings(engine: Engine, overrides: Mapping[str, object]) -> Engine:
    """Return the engine with an operator's thresholds and options.

    A threshold may be for one kind of task: ``{"starved": 600.0, "SendEmail": {"starved": 60.0}}``.
    """
    return msgspec.structs.replace(engine, settings=merged(engine.settings, overrides))


def merged(general: Mapping[str, Any], specific: Mapping[str, Any]) -> dict[str, Any]:
    """Return both sets of settings merged.

    The specific value wins; tables are merged key by key.
    """
    settings = dict(general)
    for name, value in specific.items():
        own = settings.get(name)
        settings[name] = {**own, **value} if isinstance(own, Mapping) and isinstance(value, Mapping) else value
    return settings
