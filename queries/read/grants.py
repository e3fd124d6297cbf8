"""Smallest set of privileges to read an engine, and to change it."""

from __future__ import annotations

from collections.abc import Iterable

from queries.contract.spec import OWNERS
from queries.db.database import Database
from queries.db.query import statement
from queries.read.reader import Reader

PRIVILEGES = ("INSERT", "UPDATE", "DELETE")


async def grants(
    database: Database, reader: Reader, viewers: Iterable[str], operators: Iterable[str]
) -> tuple[str, ...]:
    """Return the GRANT statements for one engine, without running them.

    Raises DatabaseError. The privileges come from the actions of the engine's present variant. ``queues``: if a
    relation of another schema meets a need, all tables of that schema count, because the engine creates queues at run
    time.
    """
    spec, detected = reader.engine.spec, reader.detected
    actions = [action for action in reader.engine.actions_here if action.writes]
    held = {privilege for action in actions for privilege in (*action.privileges, *action.undo_privileges)}
    changes = [
        {"table": table, "words": ", ".join(words)}
        for table in detected.relations
        if (words := [word for word in PRIVILEGES if f"{word} {table}" in held])
    ]
    queues = {
        spec.needs[need].relation.rpartition(".")[0]
        for action in actions
        for need in action.needs
        if need in detected.met_needs
    }
    first = spec.kinds[0]
    type_ = spec.recognise.relations.get(first.table, {}).get(first.key, "")
    columns = [{"name": name, "type": type_} for name in reader.engine.settings.get(OWNERS, ())]
    asked = {
        "schema": detected.schema,
        "tables": list(detected.relations),
        "changes": changes,
        "columns": columns,
        "queues": sorted(filter(None, queues)),
        "called": sorted({name for need in spec.needs.values() for name in need.functions}),
        "sequences": sorted(p.partition(" ")[2] for p in held if p.startswith("USAGE ")),
        "executed": sorted(p.partition(" ")[2] for p in held if p.startswith("EXECUTE ")),
        "viewers": list(viewers),
        "operators": list(operators),
    }
    async with database.reading() as transaction:
        rows = await transaction.rows(statement("grants"), {"args": asked})
    return tuple(row["statement"] for row in rows)
