"""Proof of an engine: all checks, on a server for them and on a real database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Collection
from pathlib import Path

import msgspec

from queries.check import plans
from queries.check.actions import ActionCheck
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
from queries.check.subject import Subject
from queries.check.undoing import check_undo
from queries.contract.builtin import builtin, builtin_folder
from queries.contract.engine import BrokenEngineError, Engine
from queries.contract.folder import TOML, Folder, read, schema_scripts
from queries.contract.loader import parsed
from queries.contract.outside import wrong_name
from queries.contract.sql_calls import engine_faults
from queries.db.errors import DatabaseError
from queries.files.toml_file import TomlFile
from queries.read.reader import Reader
from queries.records.action import Proof
from queries.records.fault import Fault
from queries.records.node import Node
from queries.workspace import Workspace

COLUMNS, NODES, FINDINGS = "columns and types", "nodes and pages", "findings and dead letters"
ACTIONS, UNDO, PRIVILEGES = "actions", "commit and undo", "privileges"
RECOGNITION, INDEXES, PLANS = "recognition", "proposed indexes", "large tables"
READING = {COLUMNS: check_columns, NODES: check_nodes, FINDINGS: check_findings}  # on a real database, too
MANY = {NODES: check_many_nodes, FINDINGS: check_many_findings}  # on a server for checks, with more rows
CHANGING = {  # on a server for checks, each on databases of its own
    UNDO: check_undo,
    PRIVILEGES: check_privileges,
    RECOGNITION: check_recognition,
    INDEXES: check_indexes,
    PLANS: check_plans,
}
NAMES = (*READING, ACTIONS, *CHANGING)


GUESSED = (
    "is assumed: a guess proves no action. Write the WHERE of your worker's statement into the claim, and delete proof"
)


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
        """The check that no question of a proposal is open, and that no claim is a guess."""
        assert self.folder is not None
        assert self.engine is not None
        guesses = (claim.kind for claim in self.engine.spec.claim if claim.proof is Proof.ASSUMED)
        guessed = tuple(self.toml.wrong(("claim", kind, "proof"), GUESSED) for kind in guesses)
        return Check(name="questions", faults=(*self.folder.questions, *guessed))

    @property
    def toml(self) -> TomlFile:
        """The folder's ``engine.toml``, for faults."""
        assert self.folder is not None
        return TomlFile(self.folder.shown(TOML), self.folder.files.get(TOML, ""))

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
    async with lab.opened(database, outside) as workspace, lab.opened(database, outside) as other:
        reader = next(iter(_readers(workspace, engine)), None)
        if reader is None:
            yield _not_found(workspace, engine, toml, "its own schema.sql")
            return
        subject = Subject(engine=reader.engine, outside=outside, lab=lab, rows=rows or plans.TABLE_ROWS)
        async for check in _read(subject, reader, toml, names):
            yield check
        if {ACTIONS, UNDO, PRIVILEGES, PLANS} & set(names):
            notes = Notebook(ACTIONS, toml, reader.detected.schema)
            running = ActionCheck(workspace, other, reader, await _nodes(reader), notes)
            check = await _noted(notes, running.run())
            subject = msgspec.structs.replace(subject, tried=tuple(running.tried))
            if ACTIONS in names:
                yield check if check.faults else await _noted(notes, _crowded(subject, running))
    for name in (name for name in CHANGING if name in names):
        notes = Notebook(name, toml)
        yield await _noted(notes, CHANGING[name](subject, notes))


async def prove_on(workspace: Workspace, engine: Engine, toml: TomlFile) -> AsyncIterator[Check]:
    """Yield the checks that only read, on a real database."""
    readers = _readers(workspace, engine)
    if not readers:
        yield _not_found(workspace, engine, toml, "this database")
    for reader in readers:
        for name, check in READING.items():
            notes = Notebook(name, toml, reader.detected.schema)
            yield msgspec.structs.replace(await _noted(notes, check(reader, notes)), engine=reader.label)


def _readers(workspace: Workspace, engine: Engine) -> list[Reader]:
    """Return the readers of an engine: of one with roles, one for each set of tables."""
    return [each for each in workspace.engines.values() if engine.name in (each.engine.name, each.engine.unbound)]


async def _noted(notes: Notebook, check: Awaitable[None]) -> Check:
    """Run a check, and return its result. Raises an error of NO_CONNECTION only."""
    with notes.errors():
        await check
    return notes.check()


async def _read(subject: Subject, reader: Reader, toml: TomlFile, names: Collection[str]) -> AsyncIterator[Check]:
    """Yield the checks that only read, repeated with more rows if there is no fault."""
    many = ""
    for name in (name for name in READING if name in names):
        notes = Notebook(name, toml, reader.detected.schema)
        check = await _noted(notes, READING[name](reader, notes))
        if name in MANY and not check.faults:
            many = many or await _multiplied(subject.lab, reader)
            async with subject.opened(many) as (_, more):
                again = await _noted(notes, MANY[name](more, notes))
            check = msgspec.structs.replace(again, number=check.number)
        yield check


async def _crowded(subject: Subject, first: ActionCheck) -> None:
    """Try the actions again with many rows below each node. Raises DatabaseError."""
    reader, database = first.reader, await subject.lab.filled()
    names = {"schema": reader.detected.schema, "references": plans.references(reader.engine)}

    async def crowd(table: str, place: str) -> None:
        await subject.lab.run(database, script("crowd", table=table, place=place, **names))

    async with subject.opened(database) as (workspace, crowded):
        running = ActionCheck(workspace, workspace, crowded, {}, first.notes)
        running.tried, running.excess = first.tried, first.excess
        await running.crowded(crowd)


async def _multiplied(lab: Lab, reader: Reader) -> str:
    """Return the name of a new database with more rows. Raises DatabaseError."""
    database = await lab.filled()
    detected = reader.detected
    await lab.run(database, plans.multiply(detected.engine, detected.schema, detected.relations, MANY_ROWS))
    return database


async def _nodes(reader: Reader) -> dict[str, Node]:
    try:
        return await known_nodes(reader)
    except DatabaseError:  # check_nodes has reported it
        return {}


def _not_found(workspace: Workspace, engine: Engine, toml: TomlFile, where: str) -> Check:
    why = next((each.why for each in workspace.declined if each.engine == engine.name), "the tables do not match")
    return _failed(RECOGNITION, toml, f"the engine is not found in {where}: {why}")


def _failed(name: str, toml: TomlFile, message: str) -> Check:
    notes = Notebook(name, toml)
    notes.fault(None, message)
    return notes.check()
