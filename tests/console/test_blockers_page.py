"""The page with the sessions that lock a node."""

from __future__ import annotations

from pathlib import Path

import asyncpg

from console.config import Context
from console.tui.screens.blockers import BlockersScreen
from tests.console.test_action_path import on_task
from tests.console.tui_driver import run_tui
from tests.db.eternaltwin import EternaltwinDb


async def test_x_names_the_session_that_locks_the_node(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    job = await eternaltwin_db.job()
    task = await eternaltwin_db.task(job, status="Blocked", timer=-600)
    holder = await asyncpg.connect(eternaltwin, server_settings={"application_name": "report"})
    await holder.execute(f"BEGIN; SELECT FROM task WHERE task_id = '{task}' FOR UPDATE")
    async with run_tui(eternaltwin, tmp_path) as tui:
        await on_task(tui)
        await tui.press("x")
        name = f"pid {holder.get_server_pid()} (report, role postgres)"
        await tui.wait_for(f"row of task locked by {name}", "idle in transaction")
        await holder.execute("ROLLBACK")
        await tui.wait_for("No transaction in progress locks")
        await tui.press("escape")
        await tui.wait_for(lambda: "No transaction" not in tui.text)
        await tui.press("enter")
        await tui.wait_for("Why it is stuck")
        await tui.press("x")
        await tui.wait_for("No transaction in progress locks")
    await holder.close()


async def test_the_session_at_the_root_in_production_is_ended_after_its_pid_is_typed(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    task = await eternaltwin_db.task(await eternaltwin_db.job(), status="Blocked", timer=-600)
    holder = await asyncpg.connect(eternaltwin, server_settings={"application_name": "report"})
    await holder.execute(f"BEGIN; SELECT FROM task WHERE task_id = '{task}' FOR UPDATE")
    pid = holder.get_server_pid()
    async with run_tui(eternaltwin, tmp_path, context=Context(name="prod", production=True)) as tui:
        await on_task(tui)
        await tui.press("x")
        await tui.wait_for("idle in transaction")
        await tui.press("E")
        await tui.wait_for("End session: pid")
        await tui.type("hangs")
        await tui.press("enter")
        await tui.dry_run("Will change 1 backend", f"type {pid}")
        assert not holder.is_closed(), "the dry run sends no signal"
        await tui.type("prod")
        await tui.press("enter")
        await tui.type(str(pid))
        await tui.press("enter")
        await tui.wait_for("1 changed")
        await tui.press("enter")
        await tui.wait_for("No transaction in progress locks")
    gone = await eternaltwin_db.value("SELECT count(*) FROM pg_stat_activity WHERE pid = $1", pid)
    assert gone == 0


async def test_the_chosen_session_is_the_one_that_is_ended(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    task = await eternaltwin_db.task(await eternaltwin_db.job(), status="Blocked", timer=-600)
    holders = [await asyncpg.connect(eternaltwin) for _ in range(2)]
    for holder in holders:
        await holder.execute(f"BEGIN; SELECT FROM task WHERE task_id = '{task}' FOR SHARE")
    async with run_tui(eternaltwin, tmp_path, size=(120, 50)) as tui:
        await on_task(tui)
        await tui.press("x")
        await tui.wait_for(*(f"pid {holder.get_server_pid()}" for holder in holders), "end session")
        page = tui.app.screen
        assert isinstance(page, BlockersScreen)
        await tui.press("E")
        await tui.wait_for("tab chooses one", lambda: tui.app.screen is page)
        await tui.press("tab")
        chosen = str(page.text_view.chosen)
        await tui.press("tab")
        assert page.text_view.chosen not in (None, chosen)
        await tui.press("shift+tab")
        assert page.text_view.chosen == chosen
        pid = int(chosen.rpartition(":")[2])
        at_end, other = sorted(holders, key=lambda holder: holder.get_server_pid() != pid)
        await tui.press("E")
        await tui.wait_for(f"End session: pid {pid}")
        await tui.press("escape")
        await tui.wait_for(lambda: tui.app.screen is page)
        await at_end.execute("ROLLBACK")
        await tui.wait_for(lambda: page.text_view.links and chosen not in page.text_view.links)
        await tui.press("E")
        await tui.wait_for("Nothing was changed")  # the key does not act on the session that remains
        await tui.press("down", "E")
        await tui.wait_for(f"End session: pid {other.get_server_pid()}")
    for holder in holders:
        await holder.close()


async def test_a_text_is_searched_in_any_screen_of_text(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.task(await eternaltwin_db.job(), status="Blocked", timer=-600)
    async with run_tui(eternaltwin, tmp_path, size=(120, 50)) as tui:
        await on_task(tui)
        await tui.press("enter")
        await tui.wait_for("Why it is stuck", "last changed", "/ search")
        await tui.burst("slash", *"last changed")
        await tui.wait_for("Recorded", "last changed", lambda: "Why it is stuck" not in tui.text)
        await tui.burst("enter", "slash", *"x", "enter")
        await tui.wait_for("'x' is not on this screen.")
        await tui.press("escape")
        await tui.wait_for("Why it is stuck")
        await tui.press("x")
        await tui.wait_for("No transaction in progress locks", "/ search")
        await tui.burst("slash", *"transaction")
        await tui.wait_for("No transaction in progress locks", lambda: tui.app.focused.id == "search")
        await tui.burst("escape", "escape")
        await tui.wait_for("Why it is stuck")
