"""Structure of tables, to compare ``schema.sql`` with the engine's own."""

from __future__ import annotations

import asyncpg

STRUCTURE = """
WITH tables AS (
  SELECT c.oid, c.relname FROM pg_class c WHERE c.relkind IN ('r', 'p') AND c.relnamespace = $1::text::regnamespace
)
SELECT format('%s.%s %s %s%s %s', t.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attidentity,
              CASE WHEN a.attnotnull THEN ' not null' END, pg_get_expr(d.adbin, d.adrelid)) AS line
  FROM tables t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_attrdef d ON d.adrelid = t.oid AND d.adnum = a.attnum
UNION ALL
SELECT format('%s %s %s', t.relname, k.conname, pg_get_constraintdef(k.oid))
  FROM tables t JOIN pg_constraint k ON k.conrelid = t.oid AND k.contype <> 'n'
UNION ALL
SELECT pg_get_indexdef(i.indexrelid) FROM tables t JOIN pg_index i ON i.indrelid = t.oid
UNION ALL
SELECT pg_get_triggerdef(g.oid) FROM tables t JOIN pg_trigger g ON g.tgrelid = t.oid AND NOT g.tgisinternal
UNION ALL
SELECT format('%s: %s', y.typname, string_agg(e.enumlabel, ', ' ORDER BY e.enumsortorder))
  FROM pg_type y JOIN pg_enum e ON e.enumtypid = y.oid WHERE y.typnamespace = $1::text::regnamespace GROUP BY y.typname
"""


async def structure(dsn: str, schema: str = "public") -> set[str]:
    """Return a line for each column, constraint, index, trigger and enum of a schema."""
    connection = await asyncpg.connect(dsn)
    try:
        return {row["line"].replace(f" {schema}.", " public.") for row in await connection.fetch(STRUCTURE, schema)}
    finally:
        await connection.close()
