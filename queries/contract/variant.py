"""Variant of an engine in one schema, with the values of its options."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec

from queries.contract.detect import DetectedEngine
from queries.contract.engine import check_option, choose, with_settings
from queries.contract.rows import SHAPES, json_kinds, verify
from queries.contract.spec import Action
from queries.db.database import ASKED_READ_SECONDS, READ_SECONDS, Database
from queries.db.errors import DatabaseError, attempted, readable
from queries.db.query import Query, Rows, RowsOrError, statement
from queries.db.reads import Reads
from queries.files.statement import Statement
from queries.records.node import ScanRequired

RESTING = ("counts", "samples")  # statements that a refresh need not run for a minute


class EngineVariant:
    """An engine in one schema.

    ``settings`` are thresholds and options from the operator's configuration. ``engine`` has the values of the options.
    ``session_options`` are options that the operator changed in this session. ``unrecognised`` is the reason if the
    options could not be read, else "".
    """

    def __init__(self, database: Database, detected: DetectedEngine, settings: Mapping[str, object]) -> None:
        self.database = database
        self.detected = detected
        self.engine = with_settings(detected.engine, settings)
        self.label = detected.label
        self.session_options: dict[str, str] = {}
        self.unrecognised = ""
        self.moved: float | None = None  # a time after which others deleted rows of the work, as counters show
        self._reasons: dict[str, str] = {}  # by option: evidence for its value, or who chose it
        self._settings = settings
        self._recognised = False
        for name in self.engine.spec.options.keys() & settings.keys():
            check_option(self.engine, self.label, name, settings[name])

    @contextlib.asynccontextmanager
    async def reading(self, *, in_order: bool = True, allow_scan: bool = False) -> AsyncIterator[Reads]:
        """Begin a transaction for statements of the engine, whose variant is known then.

        So are the policies of its tables, with the first answer. ``in_order``: its statements read the first few rows
        in an index's order. ``allow_scan``: it may take longer.
        """
        seconds = ASKED_READ_SECONDS if allow_scan else READ_SECONDS
        async with self.database.reading(seconds, in_order=in_order and not allow_scan) as source:
            await self.recognise(source)
            yield _WithPolicies(source, self)

    async def rows(self, source: Reads, name: str, chosen: Statement, **values: Any) -> Rows:
        """Return the rows of a statement. ``name``: of their shape. Raises DatabaseError."""
        query = Query(chosen, self.parameters(**values), json=json_kinds(SHAPES[name]), rests=name in RESTING)
        (rows,) = await source.batch([query])
        verify(rows, SHAPES[name], chosen.source)
        return rows

    def note_policies(self, rows: Rows) -> None:
        """Note which tables have policies that restrict this role now.

        They may have been switched on since the detection.
        """
        names = {row["name"] for row in rows}
        if names != set(self.detected.policies):
            relations = {
                name: msgspec.structs.replace(relation, policies=name in names)
                for name, relation in self.detected.relations.items()
            }
            self.detected = msgspec.structs.replace(self.detected, relations=relations)

    @property
    def policies(self) -> str:
        """Description of the policies that may hide rows; "" without policies."""
        if not self.detected.policies:
            return ""
        return f"policies on {', '.join(self.detected.policies)} decide which rows this role sees and may change"

    @property
    def notes(self) -> tuple[str, ...]:
        """One line for each option, with its value and the evidence for it.

        One more line for row-level security, if policies exist, and one for what a newer release of the engine has.
        """
        lines = tuple(f"{name}: {self.engine.settings[name]} ({why})" for name, why in self._reasons.items())
        if self.detected.policies:
            lines = (*lines, f"row-level security: {self.policies}")
        if self.detected.newer:
            lines = (*lines, self.detected.newer)
        if self.unrecognised:
            lines = (*lines, f"the variant of the engine could not be determined: {self.unrecognised}")
        return lines

    async def recognise(self, source: Reads | None = None, *, again: bool = False) -> None:
        """Read the options from the engine's data with ``options.sql``.

        ``source``: None for a transaction of its own. Options that the operator chose stay. Does nothing after the
        first success. After a failure the options keep their defaults, ``unrecognised`` has the reason, and only
        ``again`` tries once more. Raises DatabaseError only if the connection is lost.
        """
        if self._recognised or (self.unrecognised and not again):
            return
        error = await attempted(self._read_options(source))
        if error is not None:
            self.unrecognised = error.line

    async def _read_options(self, source: Reads | None) -> None:
        chosen = self.select("options")
        rows: Rows = ()
        if chosen is not None:
            query = Query(chosen, self.parameters(), json=json_kinds(SHAPES["options"]))
            (rows,) = await (source or self.database).batch([query])
        with readable("options.sql"):
            fixed = self._settings.keys() | self.session_options.keys()
            values = {row["name"]: row["value"] for row in rows if row["name"] not in fixed}
            reasons = {row["name"]: row["why"] if row["name"] in values else "from the settings" for row in rows}
        self._reasons = {**reasons, **dict.fromkeys(self.session_options, "chosen here")}
        self.engine = with_settings(self.engine, values)
        self._recognised, self.unrecognised = True, ""

    def set_option(self, option: str, value: str) -> None:
        """Change an option for this session.

        Raises DatabaseError for an unknown option or value.
        """
        check_option(self.engine, self.label, option, value)
        self.session_options[option] = value
        self._reasons[option] = "chosen here"
        self.engine = with_settings(self.engine, {option: value})

    def parameters(self, **more: Any) -> dict[str, Any]:
        """Return the parameters of statements.

        ``settings`` are the thresholds and options. ``ids`` are NULL for all nodes.
        """
        settings = {**self.engine.settings, "moved": self.moved} if self.moved else self.engine.settings
        return {"met_needs": sorted(self.detected.met_needs), "settings": settings, "ids": None, **more}

    def met_needs(self, allow_scan: bool) -> frozenset[str]:
        """Return the needs that are met, with ``allow_scan`` also by a scan."""
        needs, tables = self.engine.spec.needs.items(), self.detected.relations
        scans = {name for name, need in needs if allow_scan and need.table in tables and not need.column}
        return self.detected.met_needs | scans

    def unmet(self, action: Action) -> str:
        """Return why an action has a need that is not met here, or ""."""
        unmet = [self.engine.spec.needs[name] for name in action.needs if name not in self.detected.met_needs]
        return next((need.why + (f" ({need.ddl})" if need.ddl else "") for need in unmet), "")

    def select(self, name: str, *, allow_scan: bool = False, kind: str = "") -> Statement | None:
        """Return the best variant of a statement for this schema and server, or None.

        ``allow_scan``: also one that must scan a table, but none that needs an object which does not exist.
        """
        candidates = self.engine.statements.get(name, ())
        met_needs = self.met_needs(allow_scan)
        version = self.database.server.version if self.database.server else 0
        return choose(candidates, met_needs, version, kind)

    def needed(self, name: str) -> Statement:
        """Return the best variant of a statement. Raises DatabaseError if there is none."""
        if (chosen := self.select(name)) is None:
            raise DatabaseError(f"{self.label}: {name} cannot be read here.", self.scan_required(name).why)
        return chosen

    def scan_required(self, name: str, kind: str = "") -> ScanRequired:
        """Return the first unmet need of a statement, and the cost of a scan."""
        variants = (s for s in self.engine.statements[name] if s.is_for(kind))
        return self.scan_of(next((n for s in variants for n in sorted(s.needs - self.detected.met_needs)), ""))

    def scan_of(self, unmet: str) -> ScanRequired:
        """Return a need that is not met, and the cost of a scan instead."""
        need = self.engine.spec.needs[unmet]
        relation = self.detected.relations.get(need.table)
        return ScanRequired(need=unmet, why=need.why, blocks=relation.blocks if relation else 0, ddl=need.ddl)


class _WithPolicies(Reads):
    """Reads that first ask for the policies of tables, in the same message."""

    def __init__(self, source: Reads, variant: EngineVariant) -> None:
        self._source, self._variant = source, variant
        self._asked = False

    async def each(self, queries: Sequence[Query]) -> list[RowsOrError]:
        if self._asked or not queries:
            return await self._source.each(queries)
        self._asked, detected = True, self._variant.detected
        values = {"schema": detected.schema, "ids": sorted(detected.relations)}
        policies, *answers = await self._source.each([Query(statement("policies"), values, json={}), *queries])
        if not isinstance(policies, DatabaseError):
            self._variant.note_policies(policies)
        return answers
