from __future__ import annotations

import asyncpg

from tests.servers import TestbedServer, both_versions


@both_versions
async def test_a_fresh_database_has_the_engines_tables(server: TestbedServer, eternaltwin: str) -> None:
    connection = await asyncpg.connect(eternaltwin)
    assert connection.get_server_version().major == server.version
    assert await connection.fetchval("SELECT count(*) FROM task") == 0
    await connection.close()
