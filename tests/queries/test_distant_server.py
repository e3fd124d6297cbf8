"""A distant server: round trips are few, and their time is not counted as load."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from queries.db.query import Query
from queries.db.server_load import ServerLoad
from queries.files.statement import Statement
from queries.workspace import Workspace
from tests.queries.proxy import Proxy
from tests.servers import PostgresServer, both_versions

AWAY = 0.125  # seconds, there and back; exact in binary
ENGINES = ("eternaltwin", "estuary", "agent_jobs", "uni2work", "tasker")


@pytest.fixture
async def far(server: PostgresServer) -> AsyncIterator[Proxy]:
    async with Proxy(server.port) as proxy:
        yield proxy


@pytest.mark.parametrize("engine", ENGINES)
async def test_few_round_trips_to_the_first_rows(
    far: Proxy, server: PostgresServer, engine: str, tmp_path: Path
) -> None:
    """Count round trips after the connection, which takes one to four itself."""
    dsn = server.fresh(engine, filled=True)
    await (await asyncpg.connect(far.through(dsn))).close()
    connecting, far.trips = far.trips, 0
    workspace = await Workspace(far.through(dsn), file=tmp_path / "audit_log").open(later=True)
    page = await workspace.engines[engine].pages.roots()
    trips = far.trips - connecting
    assert page.nodes
    assert trips <= 17
    again = await Workspace(dsn, file=tmp_path / "audit_log").open()
    usual = await again.engines[engine].pages.roots()
    assert page.nodes == usual.nodes, "the short way reads what the usual one does"
    assert page.cursor == usual.cursor
    assert workspace.engines[engine].variant.notes == again.engines[engine].variant.notes
    assert workspace.server.version == again.server.version == server.version
    await workspace.close()
    await again.close()
    server.drop(dsn)


async def test_a_statement_that_was_asked_before_takes_one_round_trip_beside_the_begin(
    far: Proxy, eternaltwin_demo: str, tmp_path: Path
) -> None:
    workspace = await Workspace(far.through(eternaltwin_demo), file=tmp_path / "audit_log").open()
    reader = workspace.engines["eternaltwin"]
    taken = []
    for _ in range(2):
        before = far.trips
        await reader.nodes.counts()
        taken.append(far.trips - before)
    assert taken == [5, 4]
    await workspace.close()


async def test_distance_is_not_work(far: Proxy, eternaltwin_demo: str, tmp_path: Path) -> None:
    far.delay = AWAY
    workspace = await Workspace(far.through(eternaltwin_demo), file=tmp_path / "audit_log").open()
    reader = workspace.engines["eternaltwin"]
    load = workspace.database.load = ServerLoad(lambda: far.trips * AWAY)  # pauses of this machine are no time
    trips = far.trips
    await reader.nodes.read([node.id for node in (await reader.pages.roots(limit=5)).nodes])
    waited = (far.trips - trips) * AWAY
    assert load.round_trip == AWAY
    assert load.worked < waited / 2
    await workspace.close()


NASTY = ["it's", "back\\slash", 'quote"d', "{a,b}", "$1", "--", "E'", "new\nline", "", "null", "日本\u202e"]


@both_versions
async def test_values_are_sent_as_they_are(eternaltwin: str, tmp_path: Path) -> None:
    """Also by a statement that is run the second time."""
    text = (
        "SELECT $1::text[] AS many, $2::text AS one, $3::int AS number, '$1 it''s' AS \"$2\" /* $1 */, $q$$1$q$ AS raw"
    )
    question = Statement(text=text, source="", parameters=("ids", "query", "limit"))
    workspace = await Workspace(eternaltwin, file=tmp_path / "audit_log").open()
    for one in (*NASTY, None):
        ((row,),) = await workspace.database.batch([Query(question, {"ids": NASTY, "query": one, "limit": 7})])
        assert tuple(row.values()) == (NASTY, one, 7, "$1 it's", "$1")
    await workspace.close()
