"""Names of the database: as it was typed, with cluster_name, database and role."""

from __future__ import annotations

from pathlib import Path

from tests.command import unstick
from tests.console.tui_driver import run_tui
from tests.servers import PostgresServer


def named(server: PostgresServer, dsn: str) -> str:
    server.sql("ALTER SYSTEM SET cluster_name = 'shop main'")
    server.halt("fast")
    server.start()
    return f"127.0.0.1:{server.port}  shop main  {dsn.rpartition('/')[2]} as postgres"


def test_a_command_names_it(own_server: PostgresServer) -> None:
    dsn = own_server.fresh("eternaltwin")
    place = named(own_server, dsn)
    assert unstick("stuck", dsn=dsn).out.splitlines()[0] == place
    where = unstick("stuck", "--json", dsn=dsn).json["where"]
    assert "  ".join([where["typed"], where["cluster_name"], f"{where['database']} as {where['role']}"]) == place
    assert f"{place}: Run this" in unstick("init", dsn=dsn, typed="n\n").err


async def test_the_screen_and_its_dialogs_name_it(own_server: PostgresServer, tmp_path: Path) -> None:
    dsn = own_server.fresh("eternaltwin", filled=True)
    place = named(own_server, dsn)
    async with run_tui(dsn, tmp_path, size=(150, 40)) as tui:
        await tui.wait_for(place, "● live", lambda: tui.app.front is not None and tui.app.front.cursor())
        await tui.press("y")
        await tui.wait_for("row as JSON", lambda: tui.text.count(place) == 2)
