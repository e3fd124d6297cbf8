"""Dialogs of an action: order of their parts, keys, and the result."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import asyncpg
import pytest
from textual.widgets import Button, Input

from console.config import Context
from console.tui.screens.result import ResultDialog
from tests.console.test_action_path import on_task
from tests.console.tui_driver import TuiDriver, run_tui
from tests.db.eternaltwin import EternaltwinDb
from tests.servers import PostgresServer
from tests.simulators.eternaltwin.runner import Runner

PRODUCTION = Context(name="rb-prod", production=True)  # r and b are keys of the dialog


def page(tui: TuiDriver) -> str:
    return str(tui.app.screen.query_one("#lines").text)  # type: ignore[attr-defined]


async def test_changes_come_first_and_skipped_nodes_are_counted_by_reason(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    jobs = await eternaltwin_db.jobs(30)
    await eternaltwin_db.tasks(jobs[:2], status="Blocked", timer=60)
    await eternaltwin_db.tasks(jobs[2:], status="Complete")
    async with run_tui(eternaltwin, tmp_path, size=(80, 24)) as tui:
        await tui.wait_for("30", "SendEmail v1")
        await tui.press("asterisk")
        await tui.wait_for("30 marked")
        await tui.action("C")
        text = await tui.dry_run("Will change 2 jobs", "Blocked → Complete", "28 refused", "C apply to 2")
        assert text.count("not while it is done") <= 1
        await tui.press("b")
        await tui.wait_for(lambda: "become done" in page(tui).partition("Blast radius")[2].partition("beyond")[0])
        await tui.press("i")
        await tui.wait_for(lambda: page(tui).partition("before and after")[2].count("eternaltwin/job:") >= 20)
        await tui.press("s")
        await tui.wait_for(lambda: "UPDATE" in page(tui), lambda: "before and after" not in page(tui))
        await tui.press("s")
        await tui.wait_for(lambda: page(tui).count("eternaltwin/job:") <= 3, lambda: "UPDATE" not in page(tui))
        await tui.press("C")
        await tui.wait_for("2 changed", "28 refused", "Close")
        await tui.press("enter")
        await tui.wait_for("Cancel job: 2 jobs: 2 changed", lambda: "marked" not in tui.text)


async def test_the_field_of_a_typed_confirmation_takes_every_key(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    task = await eternaltwin_db.task(status="Blocked", timer=60)
    async with run_tui(eternaltwin, tmp_path, context=PRODUCTION) as tui:
        await on_task(tui)
        await tui.press("C")
        await tui.wait_for("Reason, for the audit log")
        await tui.burst(*"why", "enter", *"rb", "enter", *"-pro", "enter")
        await tui.dry_run("Will change 1", lambda: tui.app.screen.query_one("#typed-0", Input).value == "rb-pro")
        assert tui.app.screen.query_one("#go", Button).disabled
        assert tui.app.focused is tui.app.screen.query_one("#typed-0")
        await tui.press("d", "enter")
        await tui.wait_for("1 changed", "Close")
    assert (await eternaltwin_db.row(task))["status"] == "Complete"


async def test_home_and_end_move_in_a_field_or_scroll_the_page(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.tasks(await eternaltwin_db.jobs(20), status="Blocked", timer=60)
    async with run_tui(eternaltwin, tmp_path, size=(80, 24)) as tui:
        await tui.wait_for("20", "SendEmail v1")
        await tui.press("asterisk")
        await tui.wait_for("20 marked")
        await tui.press("C")
        await tui.wait_for("Reason, for the audit log")
        await tui.press("h", "y", "home", "w")
        await tui.wait_for(lambda: tui.app.screen.query_one("#reason", Input).value == "why")
        await tui.press("enter")
        await tui.dry_run("Will change 20")
        await tui.press("i")
        shown = tui.app.screen.query_one("#lines")
        await tui.wait_for(lambda: shown.max_scroll_y > 0)
        await tui.press("end")
        await tui.wait_for(lambda: shown.scroll_y >= shown.max_scroll_y)  # which is less once the dialog is fitted
        await tui.press("home")
        await tui.wait_for(lambda: shown.scroll_y == 0)


async def test_the_whole_text_is_readable_on_a_small_screen(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.task(status="Blocked")
    async with run_tui(eternaltwin, tmp_path, size=(60, 24)) as tui:
        await on_task(tui)
        for action in [action for _, action in tui.app.front.actions() if action.writes]:  # type: ignore[union-attr]
            key = next(k for k, names in tui.app.keys.actions.items() if action.name in names)
            await tui.press(key)
            await tui.wait_for(lambda: tui.app.screen is not tui.app.front or "Nothing was changed." in tui.text)
            if tui.app.screen.query("#reason"):
                seen = words(tui.text)
                for _ in range(20):
                    await tui.press("down")
                    seen |= words(tui.text)
                note = "nothing is changed yet" if "shows" in seen else ""
                for text in [action.effect, action.next, note, *(each.title for each in action.arguments)]:
                    assert words(text) <= seen, (action.name, words(text) - seen)
            await tui.press("escape")
            await tui.wait_for(lambda: tui.app.screen is tui.app.front)


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


async def test_what_happens_after_a_commit_is_watched(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.task(version=2, status="Blocked", timer=3600)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await on_task(tui)
        await tui.action("W")
        await tui.press("p")  # a key of the page does nothing here
        await tui.press("W")
        await tui.wait_for("1 changed", "Next: not taken yet")
        connection = await asyncpg.connect(eternaltwin)
        runner = Runner(connection, Random(1))
        await runner.tick()
        await connection.close()
        assert runner.polls == 1
        await tui.wait_for(lambda: re.search(r"Next: (done after \d+m?\d*s|now done)", tui.text))
        assert isinstance(tui.app.screen, ResultDialog)
        await tui.press("enter")
        await tui.wait_for(lambda: tui.app.screen is tui.app.front)


@pytest.mark.parametrize("paused", [True, False])
async def test_the_watch_after_a_commit_can_be_stopped(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, paused: bool
) -> None:
    await eternaltwin_db.task(status="Blocked", timer=3600)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await on_task(tui)
        if paused:
            await tui.press("p")
            await tui.wait_for("paused")
        await tui.action("W")
        await tui.press("W")
        await tui.wait_for("1 changed", "Next: not taken yet", "s stops watching")
        await tui.press("s")
        await tui.wait_for("no longer watched")


async def test_the_audit_log_table_is_offered_and_created(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.task(status="Blocked", timer=60)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("0/1")
        await tui.action("C")
        await tui.wait_for("l audit log")
        await tui.press("l")
        await tui.wait_for("Only you can list and undo it", "Colleagues see your changes", "T create the table")
        await tui.press("T")
        await tui.dry_run(lambda: "l audit log" not in tui.text)
        await tui.press("C")
        await tui.wait_for("1 changed")
    assert await eternaltwin_db.value("SELECT count(*) FROM unstick.audit_log") == 1


async def test_a_role_that_may_not_create_the_table_gets_the_command_for_its_owner(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, server: PostgresServer, tmp_path: Path
) -> None:
    await eternaltwin_db.task(status="Blocked", timer=60)
    role = server.unique("operator")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    server.sql(f"GRANT SELECT, UPDATE, DELETE ON job, task, task_timer TO {role}", eternaltwin)
    dsn = server.dsn(eternaltwin.rpartition("/")[2], user=role, password="x")
    async with run_tui(dsn, tmp_path) as tui:
        await tui.wait_for("0/1")
        await tui.action("C")
        await tui.press("l")
        text = await tui.wait_for("The owner of the database runs", f"init --operator {role}", "y copy")
        assert "T create" not in text
        await tui.press("T", "escape")
        await tui.dry_run("Will change 1")
    assert await eternaltwin_db.value("SELECT to_regclass('unstick.audit_log')::text") is None
