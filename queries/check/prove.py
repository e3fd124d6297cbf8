"""Proof of an engine: all checks, on a server for them and on a real database."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Collection
from pathlib import Path

import msgspec

from queries.check import plans
from queries.check.actions import ActionCheck, Tried
from queries.check.columns import check_columns
from queries.check.lab import Lab
from queries.check.nodes import (
    MANY_ROWS,
    check_findings,
    check_many_findings,
    check_many_nodes,
    check_nodes,
    known_nodes,
)
from queries.check.plans import check_plans
from queries.check.privileges import check_privileges
from queries.check.recognition import check_indexes, check_recognition
from queries.check.report import Check, Notebook
from queries.check.scripts import script
from queries.check.undoing import check_undo
from queries.contract.builtin import builtin, builtin_folder
from queries.contract.engine import BrokenEngineError, Engine
from queries.contract.folder import TOML, Folder, read, schema_scripts
from queries.contract.loader import parsed
from queries.contract.outside import wrong_name
from queries.contract.spec import EngineSpec
from queries.contract.sql_calls import engine_faults
from queries.db.errors import DatabaseError
from queries.files.strict_toml import TomlError, TomlFile
from queries.read.reader import Reader
from queries.records.fault import Fault
from queries.records.node import Node
from queries.workspace import Workspace

COLUMNS, NODES, FINDINGS = "columns and types", "nodes and pages", "findings and dead letters"
ACTIONS, UNDO, PRIVILEGES = "actions", "commit and undo", "privileges"
RECOGNITION, INDEXES, PLANS = "recognition", "proposed indexes", "large tables"
NAMES = (COLUMNS, NODES, FINDINGS, ACTIONS, UNDO, PRIVILEGES, RECOGNITION, INDEXES, PLANS)
MANY = {NODES: check_many_nodes, FINDINGS: check_many_findings}  # on a server for checks, with more rows
READING = {COLUMNS: check_columns, NODES: check_nodes, FINDINGS: check_findings}  # on a real database, too


class Loaded:
    """A folder that was read, its engine if it has no faults, and the check of that.

    ``packaged``: the folder is one of the program itself.
    """

    def __init__(self, path: Path, *, private: bool = True) -> None:
        self.packaged = path == builtin_folder(path.name)
        self.folder: Folder | None = None
        self.engine: Engine | None = None
        faults: tuple[Fault, ...] = ()
        try:
            self.folder = read(path, private=private and not self.packaged)
            self.engine = parsed(self.folder)
            own = path.name not in {engine.name for engine in builtin()}
            faults = engine_faults(self.engine) if own else ()
        except BrokenEngineError as error:
            faults = error.faults
        if not self.packaged and path.name in {engine.name for engine in builtin()}:
            faults = (*faults, Fault(str(path), 1, 1, f"the name {path.name} is taken by unstick itself"))
        elif why := wrong_name(path):
            faults = (*faults, Fault(str(path), 1, 1, why.partition(": ")[2]))
        number = len(self.folder.files) if self.folder else 0
        self.check = Check(name="files", number=number, faults=faults)

    @property
    def questions(self) -> Check:
        """The check that no question of a proposal is open."""
        return Check(name="questions", faults=self.folder.questions if self.folder else ())

    @property
    def toml(self) -> TomlFile:
        """The folder's ``engine.toml``, for faults."""
        assert self.folder is not None
        toml = TomlFile(self.folder.shown(TOML), self.folder.files.get(TOML, ""))
        with contextlib.suppress(TomlError):
            toml.decode(EngineSpec)
        return toml

    @property
    def schema(self) -> str:
        """The script that makes the engine's tables."""
        files = self.folder.files if self.folder else {}
        return "\n;".join(files[name] for name in schema_scripts(files))

    def script(self, file: str) -> str:
        """Return the text of a script, or ""."""
        return self.folder.files.get(file, "") if self.folder else ""


async def prove(
    engine: Engine, toml: TomlFile, lab: Lab, names: Collection[str] = NAMES, rows: int = 0
) -> AsyncIterator[Check]:
    """Yield the checks of these names of an engine, on the server of a lab.

    ``rows``: of each of the large tables, or 0 for a million.
    """
    outside = () if engine in builtin() else (engine,)
    try:
        database = await lab.filled()
    except DatabaseError as error:
        yield _failed("schema and fixture", toml, f"schema.sql or fixture.sql fails: {error.line}")
        return
    tried: list[Tried] = []
    async with lab.opened(database, outside) as workspace, lab.opened(database, outside) as other:
        readers = (r for r in workspace.engines.values() if engine.name in (r.engine.name, r.engine.unbound))
        reader = next(readers, None)
        if reader is None:
            why = next((d.why for d in workspace.declined if d.engine == engine.name), "the tables do not match")
            yield _failed(RECOGNITION, toml, f"the engine is not found in its own schema.sql: {why}")
            return
        engine = reader.engine
        async for check in _read(reader, toml, lab, outside, names):
            yield check
        if {ACTIONS, UNDO, PRIVILEGES, PLANS} & set(names):
            running = ActionCheck(workspace, other, reader, await _nodes(reader), toml)
            found, tried = await running.run(), running.tried
            if ACTIONS in names:
                yield found if found.faults else await _crowded(lab, running, outside, toml, found)
    if UNDO in names:
        yield await check_undo(lab, engine, outside, tried, toml)
    if PRIVILEGES in names:
        yield await check_privileges(lab, engine, outside, tried, toml)
    if RECOGNITION in names:
        yield await check_recognition(lab, engine, outside, toml)
    if INDEXES in names:
        yield await check_indexes(lab, engine, outside, toml)
    if PLANS in names:
        yield await check_plans(lab, engine, outside, toml, rows or plans.TABLE_ROWS, tried)


async def prove_on(workspace: Workspace, engine: Engine, toml: TomlFile) -> AsyncIterator[Check]:
    """Yield the checks that only read, on a real database."""
    readers = [r for r in workspace.engines.values() if engine.name in (r.engine.name, r.engine.unbound)]
    if not readers:
        why = next((d.why for d in workspace.declined if d.engine == engine.name), "the tables do not match")
        yield _failed("recognition", toml, f"the engine is not found in this database: {why}")
    for reader in readers:
        for check in READING.values():
            yield msgspec.structs.replace(await check(reader, toml), engine=reader.label)


async def _read(
    reader: Reader, toml: TomlFile, lab: Lab, outside: tuple[Engine, ...], names: Collection[str]
) -> AsyncIterator[Check]:
    """Yield the checks that only read, repeated with more rows if there is no fault."""
    many = ""
    for name in (name for name in READING if name in names):
        found = await READING[name](reader, toml)
        if name in MANY and not found.faults:
            many = many or await _multiplied(lab, reader)
            async with lab.opened(many, outside) as workspace:
                more = await MANY[name](workspace.engines[reader.label], toml)
            found = msgspec.structs.replace(found, faults=more.faults, notes=(*found.notes, *more.notes))
        yield found


async def _crowded(lab: Lab, first: ActionCheck, outside: tuple[Engine, ...], toml: TomlFile, found: Check) -> Check:
    """Return the check of the actions, tried again with many rows below each node."""
    reader, database = first.reader, await lab.filled()
    names = {"schema": reader.found.schema, "references": plans.references(reader.engine)}

    async def crowd(table: str, place: str) -> None:
        await lab.run(database, script("crowd", table=table, place=place, **names))

    async with lab.opened(database, outside) as workspace:
        running = ActionCheck(workspace, workspace, workspace.engines[reader.label], {}, toml)
        running.tried, running.excess = first.tried, first.excess
        await running.crowded(crowd)
    more = running.notes.check()
    return msgspec.structs.replace(found, faults=more.faults, notes=(*found.notes, *more.notes))


async def _multiplied(lab: Lab, reader: Reader) -> str:
    """Return the name of a new database with more rows. Raises DatabaseError."""
    database = await lab.filled()
    found = reader.found
    await lab.run(database, plans.multiply(found.engine, found.schema, found.relations, MANY_ROWS))
    return database


async def _nodes(reader: Reader) -> dict[str, Node]:
    try:
        return await known_nodes(reader)
    except DatabaseError:  # check_nodes has reported it
        return {}


def _failed(name: str, toml: TomlFile, message: str) -> Check:
    notes = Notebook(name, toml)
    notes.fault(None, message)
    return notes.check()
