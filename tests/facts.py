"""Record the facts of an engine's tables.

``python -m tests.facts ENGINE DSN SCHEMA SOURCE COMMIT MADE`` prints one version of ``catalog.toml``. The database must
have run the migrations of SOURCE at COMMIT; MADE says how.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from typing import Any

import asyncpg

from queries.contract.builtin import builtin
from queries.contract.server_spec import FOLDER

TABLES = """
tables AS MATERIALIZED (
  SELECT '' AS label, c.oid, c.relname::text AS name, n.nspname
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
   WHERE n.nspname = $1 AND c.relkind IN ('r', 'p') AND c.relname = ANY ($2::text[])
),
asked AS (SELECT '' AS label, 'EXECUTE' AS word, f.name FROM unnest($3::text[]) AS f(name))
"""
OBJECTS = "SELECT DISTINCT o.meaning FROM objects o WHERE o.meaning NOT LIKE 'function on %: ' ORDER BY 1"
COLUMNS = """
SELECT t.name AS "table", array_agg(a.attname || ' ' || format_type(a.atttypid, NULL) ORDER BY a.attnum) AS columns
  FROM tables t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped GROUP BY 1 ORDER BY 1
"""


async def read(dsn: str, schema: str, tables: list[str], functions: list[str]) -> tuple[list[Any], list[Any]]:
    """Return the objects and the columns of some tables, and of functions."""
    catalog = (FOLDER / "findings" / "catalog.sql").read_text("utf-8")
    part = catalog[catalog.index("called AS") : catalog.index(",\nwritten AS")]
    connection = await asyncpg.connect(dsn, server_settings={"search_path": "pg_catalog, pg_temp"})
    try:
        objects = await connection.fetch(f"WITH {TABLES}, {part} {OBJECTS}", schema, tables, functions)
        return objects, await connection.fetch(f"WITH {TABLES} {COLUMNS}", schema, tables, functions)
    finally:
        await connection.close()


async def facts(engine: str, dsn: str, schema: str) -> tuple[list[str], dict[str, list[str]]]:
    """Return the objects and the columns by table of an engine."""
    spec = next(each.spec for each in builtin() if each.name == engine)
    executed = [p for worker in spec.workers for p in worker.privileges if p.startswith("EXECUTE ")]
    functions = [each.partition(" ")[2] for each in executed]
    objects, columns = await read(dsn, schema, list(spec.recognise.relations), functions)
    found = {row["table"]: [each.replace(f"{schema}.", "") for each in row["columns"]] for row in columns}
    return [row["meaning"] for row in objects], found


def lines(objects: list[str], columns: dict[str, list[str]], **origin: str) -> Iterator[str]:
    """Yield the lines of one version."""
    yield "[[versions]]"
    yield from (f"{name} = {json.dumps(value)}" for name, value in origin.items())
    yield "objects = ["
    yield from (f"  {json.dumps(each)}," for each in objects)
    yield "]"
    yield ""
    yield "[versions.columns]"
    for table, some in columns.items():
        yield f"{json.dumps(table)} = ["
        yield from (f"  {json.dumps(each)}," for each in some)
        yield "]"


if __name__ == "__main__":
    _, name_, dsn_, schema_, source_, commit_, made_ = sys.argv
    print("\n".join(lines(*asyncio.run(facts(name_, dsn_, schema_)), source=source_, commit=commit_, made=made_)))
