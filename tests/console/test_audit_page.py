"""The audit log page names the targets of each entry."""

from __future__ import annotations

from pathlib import Path

import pytest

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
