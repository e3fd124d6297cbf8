"""The page of changes: engines and operators in one list, one key from everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.model.fields.change import key
from console.model.newest import Newest
from console.tui.screens.audit_entry import AuditEntryScreen
from console.tui.screens.changed import ChangedScreen
from console.tui.screens.confirm_scan import ConfirmScanDialog
from console.tui.screens.detail import DetailScreen
from queries.contract import detect
from queries.records.change import NodeChange
from tests.console.tui_driver import TuiDriver, run_tui
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.builders import do, opened
from tests.servers import PostgresServer


async def changes(db: EternaltwinDb, dsn: str, folder: Path) -> tuple[str, str]:
    """Wake a task, then poll another one. Return their ids."""
    woken, polled = await db.task(status="Blocked", timer=30), await db.task()
    workspace = await opened(dsn, folder)
    await do(workspace, "wake", [db.id(woken)], {"untimed": True})
    await workspace.close()
    poll = "UPDATE task SET polled_at = row(clock_timestamp(), 1)::job_tick WHERE task_id = '{}'"
    await db.sql(poll.format(polled))
    return db.id(woken), db.id(polled)


async def to(tui: TuiDriver, what: str) -> None:
    """Put the cursor on the first change of that name."""
    page = tui.app.screen
    assert isinstance(page, ChangedScreen)
    rows = page.rows.shown(0, len(page.rows))
    row = next(row for row in rows if row.record is not None and row.record.what == what)
    page.table.go_to(row.id)
    await tui.wait_for(lambda: page.row is not None and page.row.id == row.id)


@pytest.mark.parametrize("size", [(80, 24), (160, 40)])
async def test_rows_open_the_node_or_the_entry(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, audit_log_table: None, tmp_path: Path, size: tuple[int, int]
) -> None:
    woken, polled = await changes(eternaltwin_db, eternaltwin, tmp_path)
    async with run_tui(eternaltwin, tmp_path, size=size) as tui:
        await tui.press("2", "5")
        await tui.wait_for("eternaltwin, by operators: 1 wake", "not shown, of the newest: 2 polled of")
        assert isinstance(tui.app.screen, ChangedScreen)
        assert [row.record.what for row in tui.app.screen.rows.shown(0, 9) if row.record] == ["wake"]
        await tui.press("m")
        await tui.wait_for("wake", "polled", "last 10 minutes", "5 changed")
        await tui.wait_for("eternaltwin: 2 polled  ·  eternaltwin, by operators: 1 wake")
        assert (f"  #{polled.partition(':')[2][:8]}" in tui.text) is (size[0] > 100), "rows may look alike"
        assert isinstance(tui.app.screen, ChangedScreen)
        rows = tui.app.screen.rows.shown(0, 2)
        assert [row.record.what for row in rows if row.record] == ["polled", "wake"]
        await to(tui, "wake")
        await tui.press("enter")
        await tui.wait_for(lambda: isinstance(tui.app.screen, AuditEntryScreen))
        await tui.wait_for("Blocked → Available", woken.partition(":")[2])
        await tui.press("escape")
        await to(tui, "polled")
        await tui.press("enter")
        await tui.wait_for(lambda: isinstance(tui.app.screen, DetailScreen), polled.partition(":")[2])
        await tui.press("4", "5")
        await tui.wait_for(lambda: isinstance(tui.app.screen, DetailScreen))


async def test_its_key_is_in_the_help_and_in_the_footer(eternaltwin: str, tmp_path: Path) -> None:
    async with run_tui(eternaltwin, tmp_path, size=(120, 60)) as tui:
        await tui.wait_for("5 changed  ")
        await tui.press("question_mark")
        await tui.wait_for("What engines and operators changed lately")


async def test_without_changes_it_says_what_is_recorded(
    eternaltwin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detect, "SMALL_TABLE_BLOCKS", -1)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.press("5")
        await tui.wait_for(
            "No change was recorded", "not recorded: the status before", "only the polls of Available tasks"
        )


async def test_a_scan_is_offered_with_its_cost_and_runs_only_if_confirmed(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detect, "SMALL_TABLE_BLOCKS", -1)
    dsn = server.fresh("agent_jobs", filled=True)
    server.sql("UPDATE jobs SET updated_at = now() WHERE id IN (SELECT id FROM jobs LIMIT 3); ANALYZE jobs", dsn)
    async with run_tui(dsn, tmp_path, size=(160, 40)) as tui:
        await tui.press("5")
        await tui.wait_for("No change was recorded in what was searched", "agent_jobs: not searched.", "w scan")
        await tui.wait_for("w reads it with a scan of about ", "jobs__updated_at__idx ON jobs")
        await tui.press("w")
        await tui.wait_for(lambda: isinstance(tui.app.screen, ConfirmScanDialog), "A scan would read about")
        await tui.press("escape", "r")
        await tui.wait_for("No change was recorded in what was searched")
        await tui.press("w")
        await tui.wait_for(lambda: isinstance(tui.app.screen, ConfirmScanDialog))
        await tui.press("tab", "enter")
        await tui.wait_for("Last scan at", "agent_jobs: not searched.")
        page = tui.app.screen
        assert isinstance(page, ChangedScreen)
        shown = {change.id for change in page.records()}
        assert len(shown) >= 3
        await tui.press("r")
        await tui.handled()
        assert {change.id for change in page.records()} == shown, "a refresh keeps what the scan has read"
    server.drop(dsn)


def test_a_refresh_removes_nothing_and_gaps_are_read_first() -> None:
    def page(*times: int) -> list[NodeChange]:
        return [NodeChange(at=float(at), engine="e", id=f"e/task:{at}", what="polled") for at in times]

    log = Newest(key)
    log.refresh(page(20, 19), "after 19")
    log.add(page(18, 5), None)
    assert ([c.at for c in log.records], log.after) == ([20, 19, 18, 5], None)
    log.refresh(page(21, 20), "after 20", since=10.0)
    assert ([c.at for c in log.records], log.after) == ([21, 20, 19, 18], None)
    log.refresh(page(31, 30), "after 30", since=15.0)
    assert ([c.at for c in log.records], log.after) == ([31, 30, 21, 20, 19, 18], "after 30")
    log.refresh(page(41, 40), "after 40", since=15.0)
    log.add(page(39, 31), "after 31")
    assert (log.after, log.gap) == ("after 30", True)
    log.add(page(29, 21), "after 21")
    assert ([c.at for c in log.records], log.gap) == ([41, 40, 39, 31, 30, 29, 21, 20, 19, 18], False)
