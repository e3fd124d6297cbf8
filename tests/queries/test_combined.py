"""Statements of an engine as one have the rows that each has alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import asyncpg
import msgspec
import pytest

from queries.contract.builtin import builtin
from queries.contract.rows import SHAPES, json_kinds
from queries.db import combined
from queries.db.combined import CombinedReads
from queries.db.database import Database
from queries.db.errors import DatabaseError, SlowError
from queries.db.query import Query, RowsOrError
from queries.db.reads import Reads
from queries.files.statement import Statement
from queries.workspace import Workspace
from tests.servers import FOLDERS, PostgresServer, all_engines_database

ODD = [
    r"""{"a":1.50,  "a" : 2, "u": "\u0000", "e": "\"\\\n", "long": 12345678901234567890.10}""",
    "[ 1e400 ]",
    '"text"',
    "{}",
]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the statements that were sent."""
    names: list[str] = []
    real = CombinedReads.each

    async def each(self: CombinedReads, run: combined.Run, *more: Any) -> list[RowsOrError]:
        async def named(queries: Sequence[Query]) -> list[RowsOrError]:
            names.extend(query.statement.source.rpartition("/")[2].removesuffix(".sql") for query in queries)
            return await run(queries)

        return await real(self, named, *more)

    monkeypatch.setattr(CombinedReads, "each", each)
    return names


@pytest.fixture
async def database(server: PostgresServer) -> AsyncIterator[Database]:
    dsn = server.fresh("eternaltwin")
    database = Database(dsn)
    yield database
    await database.close()
    server.drop(dsn)


def part(name: str, sql: str, *, rests: bool = False, **values: Any) -> Query:
    statement = Statement(text=sql, source=f"findings/{name}.sql", parameters=tuple(values))
    return Query(statement, values, json=json_kinds(SHAPES["findings"]), rests=rests)


def plain(answers: Iterable[RowsOrError]) -> list[Any]:
    return [each if isinstance(each, DatabaseError) else [dict(row) for row in each] for each in answers]


async def both(database: Database, parts: Sequence[Query]) -> tuple[list[Any], list[Any]]:
    """Return the rows of one statement, and of each part alone."""
    async with database.reading_alone(in_order=True) as transaction:
        alone = await transaction.each([msgspec.structs.replace(each, json=None) for each in parts])
        return plain(await transaction.each(parts)), plain(alone)


class Asked(Reads):
    """Source without rows. It keeps what was asked."""

    def __init__(self) -> None:
        self.queries: list[Query] = []

    async def each(self, queries: Sequence[Query]) -> list[RowsOrError]:
        self.queries += queries
        return [[] for _ in queries]


async def all_equal(dsn: str, tmp_path: Path) -> dict[str, int]:
    """Return the number of rows that were compared, by engine."""
    workspace = await Workspace(dsn, file=tmp_path / "audit_log").open()
    compared = {}
    for label, reader in workspace.engines.items():
        specs = [spec for spec in reader.findings.specs.values() if not spec.sample]
        asked = Asked()
        for spec in specs:
            await reader.findings.of(asked, spec, None, 200, [], [])
        together, alone = await both(workspace.database, asked.queries)
        assert together == alone
        assert not [each for each in alone if isinstance(each, DatabaseError)]
        compared[label] = sum(map(len, alone))
    await workspace.close()
    return compared


async def test_the_findings_of_the_demo_have_the_same_rows(server: PostgresServer, tmp_path: Path) -> None:
    dsn = await all_engines_database(server)
    compared = await all_equal(dsn, tmp_path)
    assert len(compared) == 5
    assert min(compared.values()) > 5
    server.drop(dsn)


@pytest.mark.parametrize("name", [engine.name for engine in builtin()])
async def test_the_findings_of_each_engine_have_the_same_rows(
    server: PostgresServer, tmp_path: Path, name: str
) -> None:
    dsn = server.fresh(name)
    server.sql((FOLDERS / name / "fixture.sql").read_text("utf-8"), dsn)
    server.sql("VACUUM ANALYZE", dsn)
    assert list(await all_equal(dsn, tmp_path)) == [name]
    server.drop(dsn)


def test_no_finding_asks_for_a_plan_or_a_path_of_its_own() -> None:
    for engine in builtin():
        found = [each for name, every in engine.statements.items() if name.startswith("findings/") for each in every]
        assert not [each.source for each in found if each.custom or each.schema]


async def test_odd_values_come_back_as_they_are(database: Database) -> None:
    parts = [
        part(
            "odd",
            "SELECT n::text AS id, since, evidence::json AS evidence, NULL::int AS severity, n > 1 AS suggest"
            " FROM unnest($2::text[], ARRAY['Infinity', '-Infinity', 'NaN', '1e-300']::float8[])"
            " WITH ORDINALITY AS t (evidence, since, n) LIMIT $1::int -- the last line",
            limit=10,
            ids=ODD,
        ),
        part("time", 'SELECT \' \x01"\\é𝄞\' AS id, 5.0::float8 AS since, \'{"$1": "$2::text"}\'::jsonb AS evidence'),
        part(
            "none",
            "WITH a AS (SELECT $2::int AS n) SELECT id FROM unnest($1::text[]) AS id, a WHERE n < 0",
            ids=ODD,
            limit=10,
        ),
    ]
    together, alone = await both(database, parts)
    assert repr(together) == repr(alone)  # NaN is not equal to itself
    assert [row["evidence"] for row in together[0]] == ODD


async def test_a_part_that_fails_costs_itself(
    database: Database, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [part("one", "SELECT 1 AS n"), part("bad", "SELECT 1 / 0 AS n"), part("two", "SELECT 2 AS n")]
    expected = [["all", "one", "bad", "two"], ["bad", "all"]]
    for late, names in ((0.0, expected[0]), (0.0, expected[1]), (combined.ALONE_SECONDS, expected[0])):
        clock = monotonic() + late
        monkeypatch.setattr(combined.time, "monotonic", lambda clock=clock: clock)
        sent.clear()
        async with database.reading_alone() as transaction:
            first, error, second = plain(await transaction.each(parts))
        assert (first, second) == ([{"n": 1}], [{"n": 2}])
        assert "division by zero" in str(error)
        assert [name.replace(combined.NAME_OF_ALL, "all") for name in sent] == names


async def test_a_part_that_is_slow_costs_one_read_its_limit(database: Database, sent: list[str]) -> None:
    slow = part("slow", "SELECT 3 AS n FROM pg_sleep(600)", rests=True)
    parts = [part("one", "SELECT 1 AS n"), slow, part("two", "SELECT 2 AS n")]
    for number in (4, 5, 6):
        async with database.reading_alone(0.5) as transaction:
            first, error, second = plain(await transaction.each(parts))
        assert (first, second) == ([{"n": 1}], [{"n": 2}])
        assert isinstance(error, SlowError)
        assert len(sent) == number
    assert "once a minute" in str(error)


async def test_a_read_that_the_operator_asks_for_does_not_rest(database: Database, sent: list[str]) -> None:
    parts = [part("one", "SELECT 1 AS n"), part("slow", "SELECT 3 AS n FROM pg_sleep(600)")]
    for number in (3, 5):
        async with database.reading_alone(0.3) as transaction:
            await transaction.each(parts)
        assert len(sent) == number


async def test_equal_values_are_one_parameter() -> None:
    one = part("one", "SELECT $1::int AS n, $2::text[] AS ids", limit=1, ids=["a"])
    two = part("two", "SELECT $2::int AS n, $1::text[] AS ids", ids=["a"], limit=2)
    whole = combined.combined([one, two], 2.0)
    assert list(whole.values.values()) == [1, ["a"], 2]
    assert "SELECT $3::int AS n, $2::text[] AS ids" in whole.statement.text


async def test_a_locked_table_costs_one_lock_timeout(own_server: PostgresServer, tmp_path: Path) -> None:
    dsn = own_server.fresh("eternaltwin")
    workspace = await Workspace(dsn, file=tmp_path / "audit_log").open()
    (reader,) = workspace.engines.values()
    await reader.findings.read()
    holder = await asyncpg.connect(dsn)
    await holder.execute("BEGIN; LOCK TABLE task_timer IN ACCESS EXCLUSIVE MODE")
    before = (own_server.folder / "server.log").read_text("utf-8", "replace").count("due to lock timeout")
    for _ in range(2):
        read = await reader.findings.read()
        failed = [each for each in read.skipped_findings if each.failed]
        assert 1 < len(failed) < len(reader.findings.specs)
        assert not [each.why for each in failed if "lock" not in each.why]
    waited = (own_server.folder / "server.log").read_text("utf-8", "replace").count("due to lock timeout") - before
    assert waited == 2
    await holder.close()
    await workspace.close()
