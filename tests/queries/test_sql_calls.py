"""Allowed functions, as the server describes them."""

from __future__ import annotations

import asyncpg

from queries.contract.sql_calls import allowed, functions
from tests.servers import PostgresServer, both_versions

# They change between two calls, or read sizes and sessions, and do nothing else.
HARMLESS = {
    "clock_timestamp",
    "pg_blocking_pids",
    "pg_is_in_recovery",
    "pg_relation_size",
    "pg_table_size",
    "pg_total_relation_size",
    "timezone",  # of a time without a date, before PostgreSQL 15
}
NEWER = {"regexp_count", "regexp_instr", "regexp_like", "regexp_substr"}  # than some servers
GRAMMAR = {"coalesce", "nullif", "greatest", "least"}


@both_versions
async def test_no_function_of_a_read_is_volatile(server: PostgresServer) -> None:
    connection = await asyncpg.connect(server.dsn())
    query = "SELECT proname, provolatile = 'v' FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace"
    try:
        rows = await connection.fetch(query)
    finally:
        await connection.close()
    volatile = {name for name, is_volatile in rows if is_volatile}
    reads = functions(action=False)
    assert reads & volatile <= HARMLESS
    assert functions(action=True) - {name for name, _ in rows} <= NEWER | GRAMMAR
    assert set(allowed().actions) <= {name for name, _ in rows}
    assert not reads & set(allowed().actions)
