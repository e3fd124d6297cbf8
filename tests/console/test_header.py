"""What the header says of the connection, on a real server, at 80 columns."""

from __future__ import annotations

from pathlib import Path

from tests.console.stage import Stage, staged
from tests.servers import TestbedServer


def first(stage: Stage) -> str:
    return stage.text.partition("\n")[0]


async def test_the_header_names_a_superuser(server: TestbedServer, eternaltwin: str, tmp_path: Path) -> None:
    async with staged(eternaltwin, tmp_path, size=(80, 24)) as stage:
        await stage.until("● live", lambda: "superuser" in first(stage))


async def test_the_header_calls_no_other_role_a_superuser(
    server: TestbedServer, eternaltwin: str, tmp_path: Path
) -> None:
    role = server.unique("role")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    try:
        dsn = server.dsn(eternaltwin.rsplit("/", 1)[-1], user=role, password="x")
        async with staged(dsn, tmp_path, size=(80, 24)) as stage:
            await stage.until(lambda: role in first(stage))
            assert "superuser" not in first(stage)
    finally:
        server.sql(f"DROP ROLE {role}")


async def test_the_header_says_that_the_server_forbids_changes(
    server: TestbedServer, eternaltwin: str, tmp_path: Path
) -> None:
    database = eternaltwin.rsplit("/", 1)[-1]
    server.sql(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    async with staged(eternaltwin, tmp_path, size=(80, 24)) as stage:
        await stage.until(lambda: "read-only: server default" in first(stage))
