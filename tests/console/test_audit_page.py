"""The audit log page names the targets of each entry."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest

from console.model.flat_list import NOT_READ, WITH_FILTER
from console.tui.screens.audit import AuditLogScreen
from queries.db.errors import DatabaseError
from tests.console.test_cli_audit import NODES, entry, store
from tests.console.tui_driver import run_tui
from tests.db.eternaltwin import EternaltwinDb


@pytest.mark.parametrize("width", [80, 120])
async def test_the_list_names_the_targets(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, audit_log_table: None, tmp_path: Path, width: int
) -> None:
    await store(eternaltwin_db, entry(3, 0.0))
    async with run_tui(eternaltwin, tmp_path, size=(width, 24)) as tui:
        await tui.press("4")
        await tui.wait_for("SendEmail v3")
        await tui.press("enter")
        await tui.wait_for("SendEmail v3", f"{NODES[1]} +1 more")


async def test_the_row_at_the_end_loads_older_entries(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, audit_log_table: None, tmp_path: Path
) -> None:
    await store(eternaltwin_db, entry(2, 0.0, action="restart"))
    await store(eternaltwin_db, entry(3, 1.0, action="wake"), 250)
    async with run_tui(eternaltwin, tmp_path, size=(120, 24)) as tui:
        await tui.press("4")
        await tui.wait_for("SendEmail v3")
        page = tui.app.screen
        assert isinstance(page, AuditLogScreen)
        await tui.press("slash")
        await tui.type("action:restart")
        await tui.press("enter")
        await tui.wait_for("0 of 100+", f"more… ({WITH_FILTER})")
        await tui.press("enter")
        await tui.wait_for("0 of 200+")
        await tui.press("escape", "end")
        await tui.wait_for(lambda: len(page.rows.records) == 251)
        row = page.row
        assert row is not None
        assert row.records == (page.rows.records[200],), "the cursor goes on to the first entry that was loaded"
        await tui.press("end")
        await tui.wait_for("restart")


async def test_a_page_that_could_not_be_read_is_read_at_the_next_enter(
    eternaltwin_db: EternaltwinDb,
    eternaltwin: str,
    audit_log_table: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await store(eternaltwin_db, entry(3, 0.0, action="wake"), 150)

    async def fails(*_: object) -> NoReturn:
        raise DatabaseError("No answer.")

    async with run_tui(eternaltwin, tmp_path, size=(120, 24)) as tui:
        with monkeypatch.context() as patch:
            patch.setattr(AuditLogScreen, "older", fails)
            await tui.press("4")
            await tui.wait_for("SendEmail v3")
            await tui.press("end")
            await tui.wait_for("No answer.", f"more… ({NOT_READ})")
        page = tui.app.screen
        assert isinstance(page, AuditLogScreen)
        assert len(page.rows.records) == 100
        await tui.press("end", "enter")
        await tui.wait_for(lambda: len(page.rows.records) == 150)
