"""A search says which values it has not searched."""

from __future__ import annotations

import asyncio
from pathlib import Path

import asyncpg
import pytest

from console.cli.exit_codes import SKIPPED
from queries.contract.builtin import builtin
from queries.read import search
from tests.command import unstick
from tests.proof import most_in_proof
from tests.queries.builders import opened, reader
from tests.servers import PostgresServer

LARGE = "(SELECT string_agg(md5(n::text), '') FROM generate_series(1, 3000) AS n)"  # does not compress
IN_LARGE = "c4ca4238a0b923820dcc509a6f75849b"  # its first part
VALUES = {
    "eternaltwin": f"UPDATE task SET state = convert_to({LARGE}, 'UTF8')",
    "estuary": f"UPDATE tasks SET inner_state = to_json({LARGE})",
    "tasker": f"UPDATE tasks SET context = jsonb_build_object('x', {LARGE})",
    "uni2work": f"UPDATE queued_job SET content = jsonb_build_object('x', {LARGE})",
}


def test_each_engine_with_a_limit_is_tested() -> None:
    limited = {e.name for e in builtin() for s in e.statements.get("search", ()) if "bytes" in s.parameters}
    assert limited == VALUES.keys()


@pytest.mark.parametrize("name", most_in_proof(VALUES))
async def test_values_that_are_too_large_to_search_are_counted(
    server: PostgresServer, tmp_path: Path, name: str
) -> None:
    dsn = server.fresh(name, filled=True)
    workspace = await opened(dsn, tmp_path)
    engine = reader(workspace, name)
    before = (await search.find_texts(engine, "no such text")).searched
    connection = await asyncpg.connect(dsn, server_settings={"search_path": "public"})
    await connection.execute("SET session_replication_role = replica")
    changed = (await connection.execute(VALUES[name])).split()[1]
    left = f"without values of more than 64 kB in {changed} of them"
    assert left in (await search.find_texts(engine, "no such text")).searched
    assert left not in before
    assert not (await search.find_texts(engine, IN_LARGE)).hits
    large = await search.find_texts(engine, IN_LARGE, large=True)
    assert large.hits
    assert "64 kB" not in large.searched
    if name == "eternaltwin":
        without = await asyncio.to_thread(unstick, "find", IN_LARGE, dsn=dsn)
        assert without.code == SKIPPED
        assert "`--large` searches the large values, too." in without.err
        found = await asyncio.to_thread(unstick, "find", IN_LARGE, "--large", dsn=dsn)
        assert found.code == 0, found.err
        assert "--large" not in found.err
    await connection.close()
    await workspace.close()
    server.drop(dsn)
