"""Recognition of the engine and of its indexes, and of no other engine."""

from __future__ import annotations

from queries.check.report import Notebook
from queries.check.subject import Subject
from queries.contract import detect
from queries.contract.builtin import builtin, builtin_folder
from queries.contract.detect import DetectedEngine
from queries.contract.folder import SCHEMA
from queries.db.errors import DatabaseError

HERE = "_here"  # end of the names of schemas of other engines
ODD = "Odd \"schema\" 'x' / y:z"


async def check_recognition(subject: Subject, notes: Notebook) -> None:
    """Detect the engine in an odd schema, and beside every engine of the package.

    Raises DatabaseError.
    """
    engine, lab = subject.engine, subject.lab
    database, own = await lab.empty(), False
    with notes.skipped(f"schema.sql in the schema {ODD} could not be made"):
        await lab.run(database, lab.schema, ODD)
        own = True
    others = [other.name for other in builtin() if other.name != engine.name]
    for other in others:
        with notes.skipped(f"{other} could not be made"):
            await lab.run(database, (builtin_folder(other) / SCHEMA).read_text("utf-8"), f"{other}{HERE}")
    async with lab.opened(database, subject.outside) as workspace:
        for reader in workspace.engines.values():
            name, schema = reader.engine.name, reader.detected.schema
            notes.number += 1
            if name == engine.name and schema not in (ODD, *(f"{other}{HERE}" for other in others)):
                notes.fault(None, f"schema.sql makes its tables in {schema}: it must leave the schema to search_path")
            elif name == engine.name and schema != ODD:
                notes.fault(None, f"it takes the tables of {schema.removesuffix(HERE)} for its own: recognise more")
            elif name != engine.name and schema == ODD:
                notes.fault(None, f"its tables are also taken for {name}: give it a table or column that {name} lacks")
        if own and engine.name not in {reader.engine.name for reader in workspace.engines.values()}:
            why = next((d.why for d in workspace.declined if d.engine == engine.name), "its tables are not recognised")
            notes.fault(None, f"in the schema {ODD} the engine is not found: {why}")


async def check_indexes(subject: Subject, notes: Notebook) -> None:
    """Create each index that a need proposes, and see that it is recognised.

    Raises DatabaseError.
    """
    engine, lab = subject.engine, subject.lab
    database = await lab.filled()
    async with subject.opened(database) as (workspace, _):
        for name, need in engine.spec.needs.items():
            detected = workspace.engines[engine.name].detected
            if not need.ddl or name in detected.indexed:
                continue
            try:
                await lab.create_index(database, detected.schema, need.ddl)
            except DatabaseError as error:
                notes.setting(("needs", name, "ddl"), f"needs.{name}: {error.line}")
                continue
            await workspace.detect()
            notes.number += 1
            detected = workspace.engines[engine.name].detected
            if name not in detected.indexed:
                made = _predicates(detected, need.table)
                notes.setting(("needs", name), f"needs.{name}: its own index is not recognised once it is made{made}")


def _predicates(detected: DetectedEngine, table: str) -> str:
    """Return the predicates of a table's partial indexes as the server spells them."""
    relation = detected.relations.get(table)
    spelled = [detect.bare(i["partial"], detected.schema) for i in relation.indexes if i["partial"]] if relation else []
    return f"; partial = {spelled}" if spelled else ""
