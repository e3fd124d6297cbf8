"""Result of the checks of an engine."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager

from queries.db.errors import attempting
from queries.files.statement import Statement, locate
from queries.files.toml_file import Path, TomlFile
from queries.records.fault import Fault
from queries.records.record import Record
from queries.text.psql_text import quoted_name


class Check(Record):
    """One check: its faults, and notes about what it could not look at.

    ``number`` counts what it looked at. ``engine``: the label of the engine in a real database, else "".
    """

    name: str
    number: int = 0
    engine: str = ""
    faults: tuple[Fault, ...] = ()
    notes: tuple[str, ...] = ()


class Report(Record):
    """All checks of an engine's folder."""

    engine: str
    digest: str
    passed: bool  # no check found a fault
    checks: tuple[Check, ...]


class Notebook:
    """Faults and notes of one check while it runs."""

    def __init__(self, name: str, toml: TomlFile, schema: str = "") -> None:
        self.name = name
        self.number = 0
        self._toml = toml
        self._faults: dict[Fault, None] = {}
        self._notes: dict[str, None] = {}
        self._bound = _bound(schema)

    def fault(self, at: Statement | None, message: str, position: int = 1) -> None:
        """Note a fault at a statement, or in ``engine.toml``."""
        if at is None:
            self.setting((), message)
        else:
            self._faults[locate(at, position, message, self._bound)] = None

    def setting(self, path: Path, message: str) -> None:
        """Note a fault of a setting in ``engine.toml``."""
        self._faults[self._toml.fault(path, message)] = None

    def errors(self, at: Statement | None = None, what: str = "") -> AbstractContextManager[None]:
        """Note an error of the server as a fault.

        Raises an error of NO_CONNECTION only.
        """
        return attempting(lambda error: self.fault(at, f"{what}{error.line}", max(error.position, 1)))

    def skipped(self, what: str) -> AbstractContextManager[None]:
        """Note an error of the server as something that could not be looked at.

        Raises an error of NO_CONNECTION only.
        """
        return attempting(lambda error: self.note(f"{what}: {error.line}"))

    def note(self, text: str) -> None:
        """Note what could not be looked at."""
        self._notes[text] = None

    def check(self) -> Check:
        """Return the result."""
        return Check(name=self.name, number=self.number, faults=tuple(sorted(self._faults)), notes=tuple(self._notes))


def _bound(schema: str) -> dict[str, str]:
    """Return how `in_schema` has written the schema in statements."""
    return {quoted_name(schema): ':"schema"', "'" + schema.replace("'", "''") + "'": ":'schema'"} if schema else {}


def first(statements: Iterable[Statement]) -> Statement | None:
    """Return the first statement, or None."""
    return next(iter(statements), None)
