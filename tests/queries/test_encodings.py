"""Databases whose encoding has fewer characters than UTF-8."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from queries.check import prove
from queries.check.lab import Lab
from queries.check.prove import Loaded
from queries.contract.builtin import builtin, builtin_folder
from queries.log import audit_log
from queries.records.action import Outcome
from tests.command import ROOT
from tests.proof import most_in_proof
from tests.queries.builders import do, opened, outcomes_of, undone
from tests.queries.test_solid_queue import failed_job
from tests.servers import PostgresServer, fill, install

ENCODINGS = ["EUC_JP", "LATIN2"]
PARTS = most_in_proof([(prove.COLUMNS,), (prove.NODES, prove.FINDINGS, prove.ACTIONS, prove.UNDO)], unpacked=False)
REFUSED = ("which the encoding of this database", "The database cannot hold this text")  # demo rows have such texts
IN_UTF8 = ("agent_jobs", "tasker")  # their demos have characters that only UTF-8 has


@pytest.fixture(params=most_in_proof(ENCODINGS))
def encoded(server: PostgresServer, request: pytest.FixtureRequest) -> Iterator[str]:
    """DSN of a new, empty database with such an encoding."""
    name = server.unique("db")
    server.sql(f"CREATE DATABASE {name} ENCODING '{request.param}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    yield server.dsn(name)
    server.drop(server.dsn(name))


def test_sql_is_ascii() -> None:
    """A server cannot convert other characters into every encoding."""
    files = [path for room in ("queries", "console") for path in sorted((ROOT / room).rglob("*.sql"))]
    assert [str(path) for path in files if not path.read_bytes().isascii()] == []


@pytest.mark.parametrize("names", PARTS, ids=lambda names: names[0])
@pytest.mark.parametrize("name", most_in_proof([each.name for each in builtin()], 4))
async def test_an_engine_passes_in_another_encoding(
    server: PostgresServer, encoded: str, tmp_path: Path, name: str, names: tuple[str, ...]
) -> None:
    if name in IN_UTF8 and names != (prove.COLUMNS,):
        pytest.skip("the demo needs UTF-8")
    connection = await asyncpg.connect(encoded)
    await install(connection, name)
    if name not in IN_UTF8:
        await fill(connection, name)
    await connection.close()
    loaded = Loaded(builtin_folder(name))
    assert loaded.engine is not None
    lab = Lab(
        server,
        tmp_path,
        loaded.script("schema.sql"),
        "",
        encoded.rpartition("/")[2],
        {"agent_jobs": {"profile": "table"}},
    )
    try:
        async for check in prove.prove(loaded.engine, loaded.toml, lab, names):
            assert [str(f) for f in check.faults if not any(text in f.message for text in REFUSED)] == []
    finally:
        await lab.close()


async def test_an_action_its_entry_and_its_undo_in_another_encoding(
    server: PostgresServer, encoded: str, tmp_path: Path
) -> None:
    server.sql(audit_log.ddl(), encoded)
    connection = await asyncpg.connect(encoded, server_settings={"TimeZone": "UTC"})
    await install(connection, "solid_queue")
    job = await failed_job(connection, '{"arguments":["\\u20ac\\u0000"],"executions":4}')
    workspace = await opened(encoded, tmp_path)
    done = await do(workspace, "retry", [job], label="solid_queue")
    assert outcomes_of(done) == {job: Outcome.CHANGED}
    arguments = "SELECT arguments FROM solid_queue_jobs"
    after = '{"arguments":["\\u20ac\\u0000"],"executions":0,"exception_executions":{}}'
    assert await connection.fetchval(arguments) == after
    assert outcomes_of(await undone(workspace, done)) == {job: Outcome.CHANGED}
    assert await connection.fetchval(arguments) == '{"arguments":["\\u20ac\\u0000"],"executions":4}'
    await workspace.close()
    await connection.close()
