"""Exact values after an undo, under any settings of a role or database."""

from __future__ import annotations

import contextlib
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from queries.change.images import ImageReader, RowsRead
from queries.db.database import SPELLING
from queries.log import audit_log
from queries.records.action import Outcome
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.builders import do, opened, outcomes_of, undone
from tests.servers import PostgresServer, both_versions

VALUES = {
    "float8": "0.1::float8 + 0.2",
    "float4": "'1.1754944e-38'",
    "numeric": "'1.10'",
    "bytea": r"'\x00ff5c27'",
    "text[]": "ARRAY[NULL, 'NULL', '', 'a\"b']",
    "float8[]": "ARRAY[0.1::float8 + 0.2, 'NaN']",
    "interval": "'-1 day +02:03:04.000005'",
    "date": "'2026-02-03'",
    "timestamp": "'2026-02-03 04:05:06.789012'",
    "timestamptz": "'2026-02-03 04:05:06.789012+05'",
    "timetz": "'04:05:06.789012+05'",
    "money": "'1234.56'::numeric::money",
    "xml": "XMLPARSE(CONTENT 'a<b/>')",
    "json": """'{"b":1.0e+20,"a":1,"a":2}'""",
    "jsonb": "'null'",
    "regclass": "'pg_class'",
    "point": "point(0.1::float8 + 0.2, 1)",
    "tstzrange": "tstzrange('2026-02-03', NULL)",
    "inet": "'10.0.0.1/8'",
    "bit(3)": "B'101'",
}
HOSTILE = {
    "TimeZone": "Asia/Kolkata",
    "DateStyle": "German, DMY",
    "IntervalStyle": "sql_standard",
    "extra_float_digits": "-15",
    "bytea_output": "escape",
    "array_nulls": "off",
    "lc_monetary": "POSIX",
    "lc_numeric": "POSIX",
    "lc_time": "POSIX",
    "standard_conforming_strings": "off",
    "backslash_quote": "off",
    "transform_null_equals": "on",
    "xmloption": "document",
    "xmlbinary": "hex",
    "quote_all_identifiers": "on",
    "gin_fuzzy_search_limit": "1",
    "synchronize_seqscans": "on",
    "row_security": "off",
    "client_min_messages": "error",
    "constraint_exclusion": "on",
    "exit_on_error": "on",
}


def test_each_setting_has_a_hostile_value() -> None:
    assert SPELLING.keys() == HOSTILE.keys()


@both_versions
@pytest.mark.parametrize("kept", ["role", "database", "since"])
async def test_values_of_all_types_come_back(
    server: PostgresServer, eternaltwin: str, eternaltwin_db: EternaltwinDb, tmp_path: Path, kept: str
) -> None:
    """Set hostile settings for a role, for a database, or after the action."""
    server.sql(audit_log.ddl(), eternaltwin)
    role, database = server.unique("r"), urlsplit(eternaltwin).path.strip("/")
    server.sql(f"CREATE ROLE {role} LOGIN SUPERUSER PASSWORD 'x'")
    for n, type_ in enumerate(VALUES):
        await eternaltwin_db.sql(f"ALTER TABLE job ADD COLUMN c{n} {type_}")
    job = await eternaltwin_db.job()
    for n, (type_, value) in enumerate(VALUES.items()):
        with contextlib.suppress(asyncpg.FeatureNotSupportedError):  # the wheel's server has no XML
            await eternaltwin_db.sql(f"UPDATE job SET c{n} = {value}::{type_}")
    before = await eternaltwin_db.rows("job", xmin=False)
    target = f"DATABASE {database}" if kept == "database" else f"ROLE {role}"
    hostile = [f"ALTER {target} SET {name} = {value}" for name, value in HOSTILE.items() if name != "DateStyle"]
    hostile = [command.replace("= ", "= '") + "'" for command in hostile]
    hostile.append(f"ALTER {target} SET DateStyle = German, DMY")
    dsn = server.dsn(database, user=role, password="x")
    try:
        if kept != "since":
            server.sql("; ".join(hostile))
        workspace = await opened(dsn, tmp_path)
        node = eternaltwin_db.id(job, "job")
        done = await do(workspace, "delete", [node])
        if kept == "since":
            server.sql("; ".join(hostile))
            await workspace.close()
            workspace = await opened(dsn, tmp_path)
        back = await undone(workspace, done)
        assert outcomes_of(back) == {node: Outcome.CHANGED}
        assert [r.why for r in back.results] == [""]
        assert await eternaltwin_db.rows("job", xmin=False) == before
        await workspace.close()
    finally:
        server.sql(f"ALTER {target} RESET ALL")


async def test_a_physical_place_is_that_of_one_partition(
    eternaltwin: str, eternaltwin_db: EternaltwinDb, tmp_path: Path
) -> None:
    """Rows of a partitioned table are shown and compared, and not restored."""
    await eternaltwin_db.sql(
        "CREATE TABLE split (id int PRIMARY KEY) PARTITION BY RANGE (id);"
        "CREATE TABLE low PARTITION OF split FOR VALUES FROM (0) TO (9);"
        "CREATE TABLE high PARTITION OF split FOR VALUES FROM (9) TO (99); INSERT INTO split VALUES (1), (10)"
    )
    workspace = await opened(eternaltwin, tmp_path)
    images = ImageReader(workspace.database, "public", ["split.*", "job.*"])
    async with workspace.database.reading() as transaction:
        await images.learn(transaction, ["split"])
        oid = await eternaltwin_db.value("SELECT 'high'::regclass::oid::text")
        rows = await images.completed(transaction, RowsRead(unknown=[("", oid, "(0,1)")]))
        assert list(rows.rows) == [("split", "10")]
    assert not images.layouts["split"].plain
    await workspace.close()
