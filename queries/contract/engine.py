"""Engines as the console uses them: what a folder says, parsed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from queries.contract.spec import GROUP, Action, EngineSpec, Kind
from queries.db.errors import DatabaseError
from queries.files.statement import Statement
from queries.records.fault import Fault
from queries.records.record import Record
from queries.text.psql_text import quoted_name


class BrokenEngineError(Exception):
    """An engine's folder breaks the contract. str() has one line for each fault."""

    def __init__(self, name: str, *faults: Fault) -> None:
        super().__init__("\n".join([*map(str, faults), f"The engine {name!r} cannot be used until this is fixed."]))
        self.name = name
        self.faults = faults


class Engine(Record):
    """A loaded engine. :func:`choose` selects among the variants of a statement.

    ``origin``: the folder of an engine outside of the package, else "". ``unproven``: why its actions are off, or "".
    """

    name: str
    spec: EngineSpec
    settings: dict[str, Any]  # thresholds (seconds or counts) and options by name, passed to the statements
    statements: Mapping[str, tuple[Statement, ...]]  # "roots", "findings/starved", "detail/state" ...
    actions: Mapping[str, Mapping[str, tuple[Statement, ...]]]  # script -> section -> statements in order
    origin: str = ""
    unproven: str = ""
    unbound: str = ""  # name without the tables to which its roles are bound
    guess: str = ""  # why unstick reads a table as this engine that no folder describes, and what is guessed
    only_in: str = ""  # schema of that table
    trial: Action | None = None  # a worker's next statement on a node, which `unstick try` rolls back

    def action(self, name: str, kind: str) -> Action | None:
        """Return the action of that name for nodes of that kind, or None."""
        options = self.settings.items()
        named = (v for v in self.spec.actions if v.name == name and kind in v.kinds)
        return next((v for v in named if v.when.items() <= options), None)

    @property
    def actions_here(self) -> tuple[Action, ...]:
        """All actions in this variant of the engine."""
        options = self.settings.items()
        return tuple(v for v in self.spec.actions if v.when.items() <= options)

    def actions_of(self, kind: str) -> tuple[Action, ...]:
        """Return the actions of this variant for nodes of that kind."""
        return tuple(v for v in self.actions_here if kind in v.kinds)

    def uses_reason(self, action: Action) -> bool:
        """Return True if the action, or an undo, writes the reason into rows."""
        scripts = [action.script] if action.script in self.actions else [n for n in self.actions if n[:5] == "undo/"]
        parts = (part for script in scripts for run in self.actions[script].values() for part in run)
        return any("reason" in part.parameters for part in parts)

    @property
    def of_table(self) -> str:
        """The table of a guess, with its schema."""
        return f"{self.only_in}.{next(iter(self.spec.recognise.relations))}"

    @property
    def variant(self) -> str:
        """Short name of this variant: the values of the options that actions depend on."""
        return ", ".join(str(self.settings[o]) for o in sorted({o for v in self.spec.actions for o in v.when}))

    @property
    def changed(self) -> str:
        """A sentence: which changes have a recorded time in this engine, and which do not."""
        return next((each.title for each in self.statements.get("changed", ()) if each.title), "")

    def kind(self, name: str) -> Kind | None:
        """Return the node kind of that name, or None."""
        return next((k for k in self.spec.kinds if k.name == name), None)

    @property
    def not_recorded(self) -> frozenset[str]:
        """Fields of ``Node`` that are None for nodes of every kind."""
        return frozenset.intersection(*(frozenset(kind.not_recorded) for kind in self.spec.kinds))


def choose(variants: Iterable[Statement], met_needs: frozenset[str], version: int, kind: str = "") -> Statement | None:
    """Return the best usable variant of a statement for nodes of ``kind``, or None.

    All its needs must be met (``met_needs``) and the server be new enough (``version``). A variant that names the kind
    is best, then the one with the most needs, then the one for the newest server.
    """
    usable = [s for s in variants if s.needs <= met_needs and s.server <= version and s.is_for(kind)]
    return max(usable, key=lambda s: (bool(s.kinds), len(s.needs), s.server), default=None)


def in_schema(engine: Engine, schema: str) -> Engine:
    """Bind an engine's SQL to a schema.

    ``:"schema"`` becomes its quoted name and ``:'schema'`` a string literal. Both are psql's syntax for a variable, so
    the files also run in psql after ``\\set schema ...``.
    """
    name = quoted_name(schema)
    literal = "'" + schema.replace("'", "''") + "'"
    if "\\" in schema:
        literal = " E" + literal.replace("\\", "\\\\")  # correct for both values of standard_conforming_strings

    calling = {
        need for need, spec in engine.spec.needs.items() if spec.functions and engine.spec.unqualified == "functions"
    }

    def bind(statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(
            msgspec.structs.replace(
                s,
                text=s.text.replace(':"schema"', name).replace(":'schema'", literal),
                schema=schema if s.needs & calling else "",
            )
            for s in statements
        )

    return msgspec.structs.replace(
        engine,
        statements={key: bind(variants) for key, variants in engine.statements.items()},
        actions={script: {name: bind(run) for name, run in parts.items()} for script, parts in engine.actions.items()},
    )


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


def check_option(engine: Engine, label: str, option: str, value: object) -> None:
    """Raise DatabaseError for an unknown option of ``label``, or an unknown value."""
    options = engine.spec.options
    if option not in options:
        raise DatabaseError(f"{label} has no option {option!r}; it has {', '.join(options) or 'none'}.")
    choices = options[option].choices
    if choices and value not in choices:
        raise DatabaseError(f"{label}: {option} cannot be {value!r}; it is one of {', '.join(choices)}.")


def view(engine: Engine | None) -> tuple[str, str]:
    """Return the option that groups the engine's tree and its value, or two ""."""
    if engine is None:
        return "", ""
    return (GROUP, str(engine.settings[GROUP])) if GROUP in engine.spec.options else ("", "")


def next_view(engine: Engine) -> tuple[str, str]:
    """Return the option that groups the engine's tree and its next value."""
    name, value = view(engine)
    choices = engine.spec.options[name].choices if name else ("",)
    return name, choices[(choices.index(value) + 1) % len(choices)]
