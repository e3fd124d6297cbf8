"""Move the times of all rows, as if time had passed.

A copy of a filled template moves to the present, so that its ages and timers are those of rows that were just inserted.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeAlias

import asyncpg

Connection: TypeAlias = "asyncpg.Connection[Any]"

# One UPDATE for each table: every column that holds a time, with the expression that moves it. Estuary marks an idle
# task by a heartbeat in the year 1, and a timer may never be due. A locked row stays as it is.
UPDATES = """
SELECT format('UPDATE %1$s SET %2$s WHERE ctid = ANY (ARRAY(SELECT ctid FROM %1$s FOR UPDATE SKIP LOCKED))',
              c.oid::regclass, string_agg(format('%1$I = CASE WHEN %2$s BETWEEN ''1990-01-01'' AND ''9990-01-01'' THEN '
                || CASE WHEN b.typtype = 'c' THEN 'row(%2$s - $1::interval, (%1$I).salt)::' || b.typname
                        ELSE '%1$I - $1::interval' END
                || ' ELSE %1$I END', a.attname, CASE WHEN b.typtype = 'c' THEN format('(%I).time', a.attname)
                                                     ELSE quote_ident(a.attname) END), ', '))
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  JOIN pg_type t ON t.oid = a.atttypid JOIN pg_type b ON b.oid = coalesce(nullif(t.typbasetype, 0), t.oid)
 WHERE c.relkind = 'r' AND c.relnamespace::regnamespace::text IN ('public', 'pgmq')
   AND b.typname IN ('timestamptz', 'timestamp', 'job_tick')
 GROUP BY c.oid
"""


async def make_older(connection: Connection, seconds: float) -> None:
    """Make every row older, except locked ones, without firing triggers."""
    async with connection.transaction():
        await connection.execute("SET LOCAL session_replication_role = replica")
        updates = [row[0] for row in await connection.fetch(UPDATES)]
        await connection.execute(";".join(u.replace("$1::interval", f"interval '{seconds} seconds'") for u in updates))


async def move_to_now(connection: Connection, filled_at: datetime) -> None:
    """Make every row younger by the time since ``filled_at``."""
    await make_older(connection, -await connection.fetchval("SELECT extract(epoch FROM now() - $1)::float8", filled_at))
