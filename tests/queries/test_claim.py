"""Claims, over random states, are what the engine's own statement takes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest

from queries.contract.engine import Engine
from queries.db.query import Query
from queries.read.reader import Reader
from queries.workspace import Workspace
from tests.proof import repeated
from tests.servers import PostgresServer
from tests.simulators.engine import Statements

QUEUES = ("mail", "billing", "files")
SERVED = {
    "eternaltwin": ("Sleep", "SendEmail", "Archive"),
    "estuary": ("PUBLICATIONS", "DISCOVERS", "type 16"),
    "agent_jobs": (),
    "tasker": (),
}
OWN = {path.stem: Statements(path) for path in sorted(Path(__file__).with_name("claims").glob("*.sql"))}


@pytest.mark.parametrize("name", OWN)
@repeated(40, 1000)
async def test_what_meets_all_conditions_is_what_the_engine_takes(
    server: PostgresServer, tmp_path: Path, name: str, times: int
) -> None:
    """For two workers, of which each serves other queues."""
    dsn = server.fresh(name)
    workspace = await Workspace(dsn, file=tmp_path / "audit_log").open()
    connection = await asyncpg.connect(dsn)
    alone: Counter[str] = Counter()
    try:
        reader = next(iter(workspace.engines.values()))
        conditions = [each.name for claim in reader.engine.spec.claim for each in claim.conditions]
        for state in range(times):
            queues = list(SERVED.get(name, QUEUES))
            random.Random(state).shuffle(queues)
            async with connection.transaction():
                await connection.execute(f"SELECT setseed({state / 1000 % 1})")
                await connection.execute(OWN[name]["fill"])
            for served in (queues[:2], queues[2:]) if queues else ([],):
                async with connection.transaction():  # which has one time
                    arguments = [served] if "$1" in OWN[name]["own"] else []
                    rows = await connection.fetch(OWN[name]["own"], *arguments)
                    own = [f"{kind(reader.engine)}:{row[0]}" for row in rows]
                    places = await next_of(connection, reader, served or None)
                assert sorted(places) == sorted(own), (state, served)
                assert [places[id_] for id_ in own] == sorted(places.values()), (state, served)
            alone.update({failing[0] for failing in await failing_of(connection, reader) if len(failing) == 1})
    finally:
        await connection.close()
        await workspace.close()
        server.drop(dsn)
    least = {condition: alone[condition] for condition in conditions}
    assert all(number >= times / 50 for number in least.values()), least


def kind(engine: Engine) -> str:
    return engine.spec.claim[0].kind


async def next_of(connection: asyncpg.Connection[Any], reader: Reader, queues: Sequence[str] | None) -> dict[str, int]:
    """Return the next nodes with their places, which equal ones share."""
    statement = reader.engine.statements["next"][0]
    (claim,) = reader.engine.spec.claim
    first, last = statement.text.rsplit("\nSELECT ", 1)
    text = f"{first}\nSELECT dense_rank() OVER (ORDER BY {claim.order}) AS place, {last}"
    query = Query(statement, reader.variant.parameters(queues=queues, limit=1000))
    return {row["id"]: row["place"] for row in await connection.fetch(text, *query.arguments.values())}


async def failing_of(connection: asyncpg.Connection[Any], reader: Reader) -> list[list[str]]:
    """Return the conditions that each node fails."""
    statement = reader.engine.statements["claim"][0]
    (claim,) = reader.engine.spec.claim
    of = reader.engine.kind(claim.kind)
    assert of is not None
    ids = [f"{of.name}:{row[0]}" for row in await connection.fetch(f"SELECT {of.key} FROM {of.table}")]
    (rows,) = await reader.database.batch([Query(statement, reader.variant.parameters(ids=ids))])
    assert len(rows) == len(ids)
    holds = [msgspec.json.decode(row["holds"]) for row in rows]
    return [[c.name for c, held in zip(claim.conditions, each, strict=True) if held is not True] for each in holds]
