"""Recognition of the engine and of its indexes, and of no other engine."""

from __future__ import annotations

from pathlib import Path

from queries.check.lab import Lab
from queries.check.report import Check, Notebook
from queries.check.scripts import script
from queries.contract import detect, loader
from queries.contract.builtin import builtin
from queries.contract.engine import Engine
from queries.db.errors import DatabaseError
from queries.files.strict_toml import TomlFile
from queries.workspace import Workspace

HERE = "_here"  # end of the names of schemas of other engines
ODD = "Odd \"schema\" 'x' / y:z"
SCHEMAS = Path(loader.__file__).parents[1] / "engines"


async def check_recognition(lab: Lab, engine: Engine, outside: tuple[Engine, ...], toml: TomlFile) -> Check:
    """Detect the engine in an odd schema, and beside every engine of the package."""
    notes = Notebook("recognition", toml)
    database = await lab.empty()
    own = await _installed(lab, database, ODD, lab.schema, notes, f"schema.sql in the schema {ODD}")
    others = {}
    for other in builtin():
        if other.name != engine.name:
            text = (SCHEMAS / other.name / "schema.sql").read_text("utf-8")
            others[other.name] = await _installed(lab, database, f"{other.name}{HERE}", text, notes, other.name)
    async with lab.opened(database, outside) as workspace:
        for reader in workspace.engines.values():
            name, schema = reader.engine.name, reader.found.schema
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
    return notes.check()


async def _installed(lab: Lab, database: str, schema: str, text: str, notes: Notebook, what: str) -> bool:
    try:
        await lab.run(database, script("in_schema", schema=schema) + text)
    except DatabaseError as error:
        notes.note(f"{what} could not be made: {error.line}")
        return False
    return True


async def check_indexes(lab: Lab, engine: Engine, outside: tuple[Engine, ...], toml: TomlFile) -> Check:
    """Create each index that a need proposes, and see that it is recognised."""
    notes = Notebook("proposed indexes", toml)
    database = await lab.filled()
    async with lab.opened(database, outside) as workspace:
        for name, need in engine.spec.needs.items():
            found = workspace.engines[engine.name].found
            if not need.ddl or name in found.indexed:
                continue
            ddl = need.ddl.replace("CONCURRENTLY ", "")  # not possible in a script
            try:
                await lab.run(database, script("in_schema", schema=found.schema) + ddl)
            except DatabaseError as error:
                notes.setting(("needs", name, "ddl"), f"needs.{name}: {error.line}")
                continue
            await workspace.detect()
            notes.number += 1
            if name not in workspace.engines[engine.name].found.indexed:
                made = _predicates(workspace, engine, need.table)
                notes.setting(("needs", name), f"needs.{name}: its own index is not recognised once it is made{made}")
    return notes.check()


def _predicates(workspace: Workspace, engine: Engine, table: str) -> str:
    """Return the predicates of a table's partial indexes as the server spells them."""
    found = workspace.engines[engine.name].found
    relation = found.relations.get(table)
    spelled = [detect.bare(i["partial"], found.schema) for i in relation.indexes if i["partial"]] if relation else []
    return f"; partial = {spelled}" if spelled else ""
