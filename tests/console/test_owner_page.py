"""An action that takes work from an owner shows if the owner is dead or alive."""

from __future__ import annotations

import re
from pathlib import Path

from queries.log import audit_log
from tests.console.tui_driver import run_tui
from tests.db.estuary import EstuaryDb
from tests.servers import PostgresServer


async def test_the_dialog_and_the_audit_log_show_the_witnesses(server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh("estuary")
    server.sql(audit_log.ddl(), dsn)
    estuary_db = await EstuaryDb.open(dsn)
    await estuary_db.task(2, wake=-900, beat=800)
    async with run_tui(dsn, tmp_path) as tui:
        await tui.wait_for("reclaimable")
        await tui.action("L", "its executor is gone")
        await tui.wait_for("Owner, dead or alive", "owner seems dead: 1 of 5 (4 not known)")
        assert re.search(r"dead: 00:1(3:[2-5]\d|[4-9]:\d\d) old", tui.text), tui.text  # 800 s and what the test took
        await tui.press("L")
        await tui.wait_for("1 changed", "Close")
        await tui.press("enter", "4")
        await tui.wait_for("its executor is gone")
        await tui.press("enter")
        await tui.wait_for("Owner, dead or alive  read before the change", "it has not moved in the")
    await estuary_db.connection.close()
    server.drop(dsn)
