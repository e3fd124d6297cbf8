"""A row with an extreme number or time costs at most itself."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import asyncpg
import pytest

from queries.contract.builtin import builtin
from queries.db.errors import DatabaseError
from queries.read import details
from queries.read.reader import Reader
from tests.queries.builders import opened
from tests.servers import VERSIONS, PostgresServer

NUMBERS = {
    "int2": ("-32768", "32767"),
    "int4": ("-2147483648", "2147483647"),
    "int8": ("-9223372036854775808", "9223372036854775807"),
    "float8": ("-Infinity", "NaN"),
    "numeric": ("-Infinity", "NaN"),
    "interval": ("-178000000 years", "178000000 years"),
}
TIMES, ENDLESS = (
    dict.fromkeys(("timestamptz", "timestamp"), ends)
    for ends in (("4713-01-01 BC", "294276-12-31"), ("-infinity", "infinity"))
)
COLUMNS = """
SELECT a.attrelid::regclass::text AS "table", quote_ident(a.attname) AS "column", t.typname AS type
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid AND c.relkind = 'r'
  JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
  JOIN pg_type t ON t.oid = a.atttypid
 WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND a.attidentity = '' AND t.typname = ANY($1)
   AND NOT EXISTS (SELECT FROM pg_constraint k
                    WHERE k.conrelid = c.oid AND k.contype IN ('p', 'f') AND a.attnum = ANY(k.conkey))
 ORDER BY 1, 2
"""
SHARE = 3  # of this many rows of a table one gets an extreme value


async def spoil(dsn: str, extremes: Mapping[str, tuple[str, str]], which: int) -> None:
    """Set each column of some rows to the least or the greatest value of its type."""
    connection = await asyncpg.connect(dsn)
    await connection.execute("SET session_replication_role = replica")  # as a migration or a restored dump
    for table, column, type_ in await connection.fetch(COLUMNS, [*extremes]):
        for rows in (f"n % {SHARE} = 0", "n = 1"):  # a unique column takes one
            places = f"SELECT ctid FROM (SELECT ctid, row_number() OVER () AS n FROM {table}) AS r WHERE {rows}"
            value = extremes[type_][which]
            with contextlib.suppress(asyncpg.IntegrityConstraintViolationError, asyncpg.DataError):
                await connection.execute(f"UPDATE {table} SET {column} = '{value}' WHERE ctid = ANY(ARRAY({places}))")
                break
    await connection.close()


async def faults(reader: Reader) -> AsyncIterator[str]:
    """Yield what cannot be read."""
    read = {"roots": reader.pages.roots, "live": reader.pages.live, "counts": reader.nodes.counts}
    read |= {
        "dead": lambda: reader.pages.dead(limit=100),
        "findings": reader.findings.read,
        "samples": reader.samples.take,
    }
    nodes = {}
    for name, ask in read.items():
        try:
            answer = await ask()
        except DatabaseError as error:
            yield f"{name}: {error.line}"
            continue
        nodes |= {node.id: node for node in getattr(answer, "nodes", ())}
        for skipped in getattr(answer, "skipped_findings", ()):
            if skipped.failed:
                yield f"{skipped.code}: {skipped.why}"
        if name in ("roots", "live") and not getattr(answer, "nodes", ()):
            yield f"{name}: empty"
    for id_ in list(nodes)[:20]:
        try:
            await reader.pages.children(id_)
            await details.read(reader, id_)
        except DatabaseError as error:
            yield f"{id_}: {error.line}"


@pytest.mark.parametrize("which", [0, 1], ids=["least", "greatest"])
@pytest.mark.parametrize("extremes", [NUMBERS, TIMES, ENDLESS], ids=["numbers", "times", "endless"])
@pytest.mark.parametrize("name", [engine.name for engine in builtin()])
@pytest.mark.parametrize("server", [min(VERSIONS, key=int)], indirect=True)  # 17 and later subtract infinite times
async def test_an_extreme_value_costs_at_most_its_row(
    server: PostgresServer, tmp_path: Path, name: str, extremes: Mapping[str, tuple[str, str]], which: int
) -> None:
    dsn = server.fresh(name, filled=True)
    workspace = await opened(dsn, tmp_path)
    before = [fault for reader in workspace.engines.values() async for fault in faults(reader)]
    await workspace.close()
    await spoil(dsn, extremes, which)  # the checks of some tables take none
    workspace = await opened(dsn, tmp_path)
    found = [fault for reader in workspace.engines.values() async for fault in faults(reader)]
    assert [fault for fault in found if fault not in before] == []
    await workspace.close()
