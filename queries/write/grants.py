"""The least that roles need: ``viewers`` to look at a system, ``operators`` to change it too."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from queries.db.database import Database
from queries.db.shared_sql import statement
from queries.read.reader import Reader

WORDS = ("INSERT", "UPDATE", "DELETE")


async def grants(
    database: Database, reader: Reader, viewers: Iterable[str], operators: Iterable[str]
) -> tuple[str, ...]:
    """The statements for one system as it is here; none is run. Raises DatabaseError.

    What its verbs need is drawn from their ``privileges``: a verb that is not for this variant of the engine asks for
    nothing. ``queues``: where a need is met by a relation of another schema, all tables there count, as queues are made
    while the engine runs.
    """
    spec, found = reader.system.spec, reader.found
    verbs = [verb for verb in reader.system.verbs_here if verb.writes]
    held = {privilege for verb in verbs for privilege in verb.privileges}
    changes = [
        {"table": table, "words": ", ".join(words)}
        for table in found.relations
        if (words := [word for word in WORDS if f"{word} {table}" in held])
    ]
    queues = {
        spec.needs[need].relation.rpartition(".")[0] for verb in verbs for need in verb.needs if need in found.have
    }
    options = spec.options.items()
    columns = [
        {"name": name, "type": option.columns}
        for key, option in options
        if option.columns
        for name in reader.system.limits[key]
    ]
    asked: dict[str, Any] = {
        "schema": found.schema,
        "tables": list(found.relations),
        "changes": changes,
        "columns": columns,
        "besides": list(spec.besides),
        "queues": sorted(filter(None, queues)),
        "called": sorted({name for need in spec.needs.values() for name in need.functions}),
        "executed": sorted(p.partition(" ")[2] for p in held if p.startswith("EXECUTE ")),
        "viewers": list(viewers),
        "operators": list(operators),
    }
    async with database.reading() as transaction:
        rows = await transaction.rows(statement("grants"), {"args": msgspec.json.encode(asked).decode()})
    return tuple(row["statement"] for row in rows)
