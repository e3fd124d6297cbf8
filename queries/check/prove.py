"""Proof of an engine: all checks, on a server for them and on a real database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from pathlib import Path

import msgspec

from queries.check import plans
from queries.check.actions import ActionCheck, Tried
from queries.check.columns import check_columns
from queries.check.lab import Lab
from queries.check.nodes import check_findings, check_nodes, known_nodes
from queries.check.plans import check_plans
from queries.check.privileges import check_privileges
from queries.check.recognition import check_indexes, check_recognition
from queries.check.report import Check, Notebook
from queries.check.undoing import check_undo
from queries.contract.builtin import builtin, builtin_folder
from queries.contract.engine import BrokenEngineError, Engine
from queries.contract.folder import Folder, read
from queries.contract.loader import parsed
from queries.contract.outside import wrong_name
from queries.contract.short_forms import EngineToml
from queries.contract.sql_calls import engine_faults
from queries.errors import DatabaseError, Fault
from queries.model import Node
from queries.read.reader import Reader
from queries.statement import EngineFileError
from queries.strict_toml import TomlFile
from queries.workspace import Workspace

SCHEMA, FIXTURE = "schema.sql", "fixture.sql"
COLUMNS, NODES, FINDINGS = "columns and types", "nodes and pages", "findings and dead letters"
ACTIONS, UNDO, PRIVILEGES = "actions", "commit and undo", "privileges"
RECOGNITION, INDEXES, PLANS = "recognition", "proposed indexes", "large tables"
NAMES = (COLUMNS, NODES, FINDINGS, ACTIONS, UNDO, PRIVILEGES, RECOGNITION, INDEXES, PLANS)
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
            self.engine = parsed(self.folder, path.name)
            own = path.name not in {engine.name for engine in builtin()}
            faults = engine_faults(self.engine) if own else ()
        except (BrokenEngineError, EngineFileError) as error:
            faults = tuple(error.faults)
        except OSError as error:
            faults = (Fault(str(error.filename or path), 1, 1, str(error.strerror)),)
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
        return EngineToml(self.folder)

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
        for name, check in READING.items():
            if name in names:
                yield await check(reader, toml)
        if {ACTIONS, UNDO, PRIVILEGES} & set(names):
            running = ActionCheck(workspace, other, reader, await _nodes(reader), toml)
            found, tried = await running.run(), running.tried
            if ACTIONS in names:
                yield found
    if UNDO in names:
        yield await check_undo(lab, engine, outside, tried, toml)
    if PRIVILEGES in names:
        yield await check_privileges(lab, engine, outside, tried, toml)
    if RECOGNITION in names:
        yield await check_recognition(lab, engine, outside, toml)
    if INDEXES in names:
        yield await check_indexes(lab, engine, outside, toml)
    if PLANS in names:
        yield await check_plans(lab, engine, outside, toml, rows or plans.ROWS)


async def prove_on(workspace: Workspace, engine: Engine, toml: TomlFile) -> AsyncIterator[Check]:
    """Yield the checks that only read, on a real database."""
    readers = [r for r in workspace.engines.values() if engine.name in (r.engine.name, r.engine.unbound)]
    if not readers:
        why = next((d.why for d in workspace.declined if d.engine == engine.name), "the tables do not match")
        yield _failed("recognition", toml, f"the engine is not found in this database: {why}")
    for reader in readers:
        for check in READING.values():
            yield msgspec.structs.replace(await check(reader, toml), engine=reader.label)


async def _nodes(reader: Reader) -> dict[str, Node]:
    try:
        return await known_nodes(reader)
    except DatabaseError:  # check_nodes has reported it
        return {}


def _failed(name: str, toml: TomlFile, message: str) -> Check:
    notes = Notebook(name, toml)
    notes.fault(None, message)
    return notes.check()
