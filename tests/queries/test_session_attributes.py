"""Choices of target_session_attrs in a pair of servers, beside those of psql."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from contextlib import closing

import pytest

from queries.db.database import Database
from queries.db.errors import DatabaseError
from queries.db.query import statement
from tests.proof import proof
from tests.queries.psql_server import AVAILABLE, PSQL
from tests.servers import PostgresServer

WANTED = ["any", "primary", "standby", "read-write", "read-only", "prefer-standby"]


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[PostgresServer, PostgresServer]]:
    with closing(PostgresServer()) as primary:
        primary.start()
        with closing(primary.replica()) as replica:
            yield primary, replica


def chosen_by_psql(dsn: str) -> int:
    done = subprocess.run(
        [PSQL, "-XAtqw", "-d", dsn, "-c", "SELECT current_setting('port')"],
        env={"PATH": os.environ["PATH"], "HOME": "/nowhere"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return int(done.stdout or 0)


async def chosen(dsn: str) -> int:
    database = Database(dsn)
    try:
        async with database.reading() as transaction:
            await transaction.rows(statement("now"), {})
            assert database.server is not None
            return database.server.port or 0
    except DatabaseError:
        return 0
    finally:
        await database.close()


@proof
@pytest.mark.skipif(not AVAILABLE, reason="compares with psql")
def test_the_server_is_the_one_that_psql_chooses(pair: tuple[PostgresServer, PostgresServer]) -> None:
    """Also if the wanted one is the second, or not there."""
    primary, replica = pair
    hosts = {
        "both": [primary, replica],
        "turned": [replica, primary],
        "primary": [primary],
        "standby": [replica],
    }
    for name, servers in hosts.items():
        for wanted in WANTED:
            places = ",".join(f"127.0.0.1:{server.port}" for server in servers)
            place = f"127.0.0.1:{primary.port}"
            dsn = f"{primary.dsn().replace(place, places)}?target_session_attrs={wanted}"
            assert asyncio.run(chosen(dsn)) == chosen_by_psql(dsn), (name, wanted)
