"""Which variant of an engine an engine is: options that its own data tell, or that the operator chose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from queries.contract import engine_options
from queries.contract import loader as engines
from queries.contract.detect import Found
from queries.db.database import Database
from queries.errors import DatabaseError, LostError, UnreachableError, readable
from queries.statement import Statement

Rows = Sequence[Mapping[str, Any]]


class Variant:
    """An engine as it is here. ``settings`` are thresholds and options, as the operator's file has them."""

    def __init__(self, database: Database, found: Found, settings: Mapping[str, object]) -> None:
        self.database = database
        self.found = found
        self.engine = engines.with_limits(found.engine, settings)
        self.label = found.label
        self.chosen: dict[str, str] = {}  # options that were given another value since
        self._whys: dict[str, str] = {}  # option -> what its value was recognised by, or who chose it
        self._settings = settings
        self._recognised = False
        self.unrecognised = ""  # why it could not be found out which variant this is
        for name in self.engine.spec.options.keys() & settings.keys():
            engine_options.check(self.engine, self.label, name, settings[name])

    @property
    def policies(self) -> str:
        """Why rows may be hidden from this role, "" if none are."""
        if not self.found.policies:
            return ""
        return f"policies on {', '.join(self.found.policies)} decide which rows this role sees and may change"

    @property
    def notes(self) -> tuple[str, ...]:
        """What is known about the variant, and by what: one line an option."""
        known = tuple(f"{name}: {self.engine.limits[name]} ({why})" for name, why in self._whys.items())
        if self.found.policies:
            known = (*known, f"row-level security: {self.policies}")
        return (*known, f"which variant this is was not found out: {self.unrecognised}") if self.unrecognised else known

    async def recognise(self, *, again: bool = False) -> None:
        """Let the engine's ``options.sql``, where it has one, tell which variant this is, unless the operator chose.

        It is done before the first read, once. If it fails, the options keep their defaults, ``unrecognised`` tells
        why, and ``again`` tries it again. Raises DatabaseError only for a connection that is lost.
        """
        if self._recognised or (self.unrecognised and not again):
            return
        statement_ = self._choose("options")
        rows: Rows = ()
        try:
            if statement_ is not None:
                async with self.database.reading() as transaction:
                    rows = await transaction.rows(statement_, self._values())
            with readable("options.sql"):
                self._recognise(rows)
        except (LostError, UnreachableError):
            raise
        except DatabaseError as error:
            self.unrecognised = error.line

    def _recognise(self, rows: Rows) -> None:
        told = {r["name"]: r["value"] for r in rows if r["name"] not in self._settings and r["name"] not in self.chosen}
        whys = {row["name"]: row["why"] if row["name"] in told else "as the settings say" for row in rows}
        self._whys = {**whys, **dict.fromkeys(self.chosen, "chosen here")}
        self.engine = engines.with_limits(self.engine, told)
        self._recognised, self.unrecognised = True, ""

    def choose(self, option: str, value: str) -> None:
        """Give an option another value from now on. Raises DatabaseError where there is no such option or value."""
        engine_options.check(self.engine, self.label, option, value)
        self.chosen[option] = value
        self._whys[option] = "chosen here"
        self.engine = engines.with_limits(self.engine, {option: value})

    def _values(self, **more: Any) -> dict[str, Any]:
        return {"have": sorted(self.found.have), "limits": _json(self.engine.limits), **more}

    def _choose(self, name: str, *, asked: bool = False, kind: str = "") -> Statement | None:
        variants = self.engine.statements.get(name, ())
        have = frozenset(self.engine.spec.needs) if asked else self.found.have
        version = self.database.server.version if self.database.server else 0
        return engines.choose(variants, have, version, kind)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
