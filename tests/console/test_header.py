"""Description of the connection in the header, on a real server, at 80 columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.config import Context
from tests.console.tui_driver import TuiDriver, run_tui
from tests.db.eternaltwin import EternaltwinDb
from tests.servers import PostgresServer

pytestmark = pytest.mark.fast


def first(tui: TuiDriver) -> str:
    return tui.text.partition("\n")[0]


async def test_the_header_names_a_superuser_in_production_only(
    server: PostgresServer, eternaltwin: str, tmp_path: Path
) -> None:
    production = Context(name="prod", dsn=eternaltwin, production=True)
    async with run_tui(eternaltwin, tmp_path, size=(80, 24), context=production) as tui:
        await tui.wait_for("● live", lambda: "superuser" in first(tui))
    async with run_tui(eternaltwin, tmp_path, size=(80, 24)) as tui:
        await tui.wait_for("● live", lambda: " as " in first(tui))
        assert "superuser" not in first(tui)


async def test_the_header_counts_critical_incidents(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    async with run_tui(eternaltwin, tmp_path, size=(60, 20)) as tui:
        await tui.wait_for(lambda: " 0 critical  ● live" in first(tui))
        await eternaltwin_db.task(status="Blocked", timer=-7200)
        await tui.wait_for(lambda: " 1 critical  ● live" in first(tui))


async def test_the_header_calls_no_other_role_a_superuser(
    server: PostgresServer, eternaltwin: str, tmp_path: Path
) -> None:
    role = server.unique("role")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    try:
        dsn = server.dsn(eternaltwin.rsplit("/", 1)[-1], user=role, password="x")
        async with run_tui(dsn, tmp_path, size=(120, 24)) as tui:
            await tui.wait_for(lambda: role in first(tui))
            assert "superuser" not in first(tui)
    finally:
        server.sql(f"DROP ROLE {role}")


async def test_the_header_says_that_the_server_forbids_changes(
    server: PostgresServer, eternaltwin: str, tmp_path: Path
) -> None:
    database = eternaltwin.rsplit("/", 1)[-1]
    server.sql(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    async with run_tui(eternaltwin, tmp_path, size=(80, 24)) as tui:
        await tui.wait_for(lambda: "read-only: server default" in first(tui))
