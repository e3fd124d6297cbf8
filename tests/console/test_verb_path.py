"""An action from its key to the row in the table: what is asked, shown and done, and what is not done."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from random import Random

import asyncpg
import pytest
from textual.widgets import Button, Input

from console.config import Context
from console.demo.eternaltwin.kinds import encode
from console.demo.eternaltwin.runner import Runner
from tests.console.stage import Stage, staged
from tests.queries.builders import LABEL, Twin
from tests.servers import TestbedServer

PRODUCTION = Context(name="prod", production=True)


async def on_task(stage: Stage) -> None:
    """Put the cursor on the only task of the only job."""
    await stage.until("0/1")
    await stage.press("right")
    await stage.until("└")
    await stage.press("down")
    await stage.until("W Wake")


async def test_a_wake_from_key_to_row(twin: Twin, eternaltwin: str, tmp_path: Path, audit_log_table: None) -> None:
    task = await twin.task(status="Blocked", timer=-600)
    async with staged(eternaltwin, tmp_path) as stage:
        await on_task(stage)
        await stage.action("W", "its timer was missed")
        text = await stage.until("Blocked → Available")
        assert "Would change 1 node" in text
        assert "deleted task_timer" in text
        assert "the table in this database" in text
        assert (await twin.row(task))["status"] == "Blocked", "a dry run changes nothing"
        await stage.press("W")
        await stage.until("1 changed", "Close")
        row = await twin.row(task)
        assert (row["status"], row["timers"]) == ("Available", 0)
        await stage.press("enter")
        await stage.until("Wake: SendEmail v1: 1 changed")
        await stage.press("4")
        await stage.until("its timer was missed", "wake")
        await stage.press("enter")
        await stage.until("Blocked → Available", f"task:{task}")


async def test_without_a_table_the_dialog_names_the_file(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    await twin.task(status="Blocked", timer=-600)
    async with staged(eternaltwin, tmp_path, size=(140, 40)) as stage:
        await on_task(stage)
        await stage.action("W")
        await stage.until("goes to  the file", "unstick init")


async def test_enter_alone_never_commits(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    await twin.task(status="Blocked", timer=-600)
    before = await twin.digest()
    async with staged(eternaltwin, tmp_path) as stage:
        await on_task(stage)
        await stage.action("W")
        await stage.press("enter")
        await stage.until("Nothing was changed.")
    assert await twin.digest() == before


@pytest.mark.parametrize("reason", ["", "   "])
async def test_no_reason_no_dry_run(twin: Twin, eternaltwin: str, tmp_path: Path, reason: str) -> None:
    await twin.task(status="Blocked", timer=-600)
    async with staged(eternaltwin, tmp_path) as stage:
        await on_task(stage)
        await stage.press("W")
        await stage.until("Reason, for the audit log")
        await stage.type(reason)
        await stage.press("enter")
        await stage.until("A reason is needed")
        await stage.press("escape")
        await stage.until("Nothing was changed.")


async def test_a_flag_reaches_the_action(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    task = await twin.task(status="Blocked")
    async with staged(eternaltwin, tmp_path) as stage:
        await on_task(stage)
        await stage.action("W")
        await stage.until("Nothing would be changed", "it waits for another task")
        assert stage.app.screen.query_one("#go", Button).disabled
        await stage.press("escape")
        await stage.until(lambda: stage.app.screen is stage.app.frame)
        await stage.press("W")
        await stage.until("Reason, for the audit log")
        await stage.type("it must")
        await stage.press("tab", "space", "tab", "tab", "enter")
        await stage.until("Would change 1 node", "untimed")
        await stage.press("W")
        await stage.until("1 changed", "Close")
    assert (await twin.row(task))["status"] == "Available"


async def test_production_wants_its_name_for_what_destroys(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    task = await twin.task(status="Blocked", timer=60)
    async with staged(eternaltwin, tmp_path, context=PRODUCTION) as stage:
        await stage.until("prod · PRODUCTION")
        await on_task(stage)
        await stage.action("C")
        await stage.until("type prod (the name of this context)")
        await stage.press("C", "enter", "enter", "escape")  # they are typed into the field
        await stage.until("Nothing was changed.")
        assert (await twin.row(task))["status"] == "Blocked"
        await stage.action("C")
        await stage.type("pro")
        await stage.press("enter")
        assert stage.app.screen.query_one("#go", Button).disabled
        await stage.type("d")
        await stage.until(lambda: not stage.app.screen.query_one("#go", Button).disabled)
        assert (await twin.row(task))["status"] == "Blocked"
        await stage.press("enter", "enter")  # to the button, and on it
        await stage.until("1 changed", "Close")
    assert (await twin.row(task))["status"] == "Complete"


async def test_deleting_a_job_wants_its_id(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    job = await twin.job()
    await twin.task(job, status="Blocked", timer=60)
    async with staged(eternaltwin, tmp_path) as stage:
        await stage.until("0/1", "D Delete job")
        await stage.action("D")
        await stage.until(f"type {str(job)[:8]} (the beginning of its id)")
        stage.app.screen.query_one("#typed-0", Input).value = str(job)[:8]
        await stage.until(lambda: not stage.app.screen.query_one("#go", Button).disabled)
        await stage.pilot.click("#go")
        await stage.until("1 changed", "Close")
        assert await twin.value("SELECT count(*) FROM job") == 0
        await stage.press("enter")
        await stage.until("There are no jobs.")


async def test_a_node_that_vanishes_under_the_dialog(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    await twin.task(status="Blocked", timer=60)
    async with staged(eternaltwin, tmp_path) as stage:
        await on_task(stage)
        await stage.action("W")
        await twin.sql("DELETE FROM task")
        await stage.until("it does not exist any more")
        await stage.press("W")
        await stage.until("gone: it does not exist any more", "Close")
        await stage.press("enter")
        await stage.until("Wake: SendEmail v1: 1 gone")


async def test_a_node_that_moves_under_the_dialog(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    task = await twin.task(status="Blocked", timer=60)
    async with staged(eternaltwin, tmp_path) as stage:
        await on_task(stage)
        await stage.action("C")
        await twin.sql("UPDATE task SET revision = revision + 1")
        await stage.until("it was changed by somebody else")
        await stage.press("r")
        await stage.until("Would change 1 node", lambda: "somebody else" not in stage.text)
        await twin.sql("UPDATE task SET revision = revision + 1")
        await stage.press("C")
        await stage.until("1 moved", "Close")
    assert (await twin.row(task))["status"] == "Blocked"


async def test_a_row_that_somebody_holds(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    task = await twin.task(status="Blocked", timer=60)
    async with staged(eternaltwin, tmp_path) as stage:
        await on_task(stage)
        async with twin.connection.transaction():
            await twin.sql("SELECT FROM task WHERE task_id = $1 FOR UPDATE", task)
            await stage.action("W")
            await stage.until("Nothing would be changed", "busy: another transaction holds it")
        await stage.press("r")
        await stage.until("Would change 1 node")


async def test_many_at_once(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    jobs = await twin.jobs(30)
    await twin.tasks(jobs[:20], status="Blocked", timer=60)
    await twin.tasks(jobs[20:], status="Complete")
    async with staged(eternaltwin, tmp_path) as stage:
        await stage.until("30")
        await stage.press("asterisk")
        await stage.until("30 marked")
        await stage.press("C")
        await stage.until("20 of 30 eligible", "10 left out: not while it is done")
        await stage.type("all of them")
        await stage.press("enter")
        await stage.until("Would change 20 nodes", "C changes 20 nodes")
        await stage.press("C")
        await stage.until("20 changed", "10 refused", "Close")
        await stage.press("enter")
        await stage.until("Cancel job: 20 nodes: 20 changed", lambda: "marked" not in stage.text)
    assert await twin.value("SELECT count(*) FROM task WHERE status = 'Complete'") == 30


async def test_a_change_outlives_the_screen(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    """Whoever leaves in the middle of a commit does not break it off."""
    task = await twin.task(status="Blocked", timer=60)
    async with staged(eternaltwin, tmp_path) as stage:
        await on_task(stage)
        await stage.action("W")
        other = await asyncpg.connect(eternaltwin)
        transaction = other.transaction()
        await transaction.start()
        await other.execute("LOCK TABLE task_timer IN SHARE MODE")
        await stage.press("W")
        await stage.until(lambda: stage.app.session.works)
        await stage.press("ctrl+q")
        await asyncio.sleep(0)
        await transaction.rollback()
        await other.close()
        await stage.app.session.close()
        work = stage.app.session.works[0]
        assert work.ended
        told = work.told
    changed = (await twin.row(task))["status"] == "Available"
    assert told == ("1 changed" if changed else "1 busy")


async def test_an_action_that_cannot_be_done_says_why(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    await twin.task(status="Complete")
    async with staged(eternaltwin, tmp_path) as stage:
        await stage.until("1/1")
        await stage.press("right")
        await stage.until("└")
        await stage.press("down", "W")
        await stage.until("Wake: not while it is done")
        await stage.press("escape", "L")
        await stage.until("Release: unsupported: this engine records no lease")
        await stage.press("escape", "R")
        await stage.until("R (restart) is not for a task.")


async def test_a_read_only_console_changes_nothing(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    await twin.task(status="Blocked", timer=60)
    async with staged(eternaltwin, tmp_path, read_only=True) as stage:
        await stage.until("read-only")
        await on_task(stage)
        await stage.press("W")
        await stage.until("Wake: this console is read-only")


async def test_a_role_that_may_only_look(twin: Twin, server: TestbedServer, eternaltwin: str, tmp_path: Path) -> None:
    await twin.task(status="Blocked", timer=60)
    role = server.unique("viewer")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'v'")
    server.sql(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}", eternaltwin)
    try:
        async with staged(
            server.dsn(eternaltwin.rpartition("/")[2].partition("?")[0], user=role, password="v"), tmp_path
        ) as stage:
            await on_task(stage)
            await stage.press("W")
            await stage.until(f"Wake: the role {role} lacks UPDATE task")
    finally:
        with contextlib.suppress(Exception):
            server.sql(f"DROP OWNED BY {role}", eternaltwin)
            server.sql(f"DROP ROLE {role}")


async def test_a_task_that_is_polled_all_the_time_is_cancelled_by_what_its_finding_says(
    twin: Twin, eternaltwin: str, tmp_path: Path
) -> None:
    """Its version is old before the key is pressed; while the dialog is open the task is not told to have changed."""
    task = await twin.task(kind="RefreshForumThread", version=2, state=encode({"thread": 7, "phase": "AwaitToken"}))
    other = await twin.task(kind="RefreshForumThread", version=2, state=encode({"thread": 8, "phase": "AwaitToken"}))
    connection = await asyncpg.connect(eternaltwin)
    runner = Runner(connection, Random(1))

    async def run() -> None:
        while True:
            await runner.tick()
            await asyncio.sleep(0.01)

    running = asyncio.create_task(run())
    async with staged(eternaltwin, tmp_path, size=(140, 40)) as stage:
        await stage.until("0/1")
        for _ in range(7):  # the looks that the console takes by itself, without the time between them
            await stage.app.session.engines[LABEL].sample()
            findings_loaded = runner.polls
            await stage.until(lambda findings_loaded=findings_loaded: runner.polls >= findings_loaded + 4)  # type: ignore[misc]
        await stage.press("r", "2")
        await stage.until("spinning", "RefreshForumThread")
        finding = stage.app.frame.table.current  # type: ignore[attr-defined]
        await stage.action("C", "it spins")
        await stage.until("Would change 1 node")
        before = runner.polls
        await stage.until(lambda: runner.polls > before + 50)
        assert "changed by somebody else" not in stage.text
        await stage.press("r")
        await stage.until("Would change 1 node")
        await stage.press("C")
        await stage.until("1 changed", "Close")
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    await connection.close()
    status = {twin.id(t): (await twin.row(t))["status"] for t in (task, other)}
    assert status.pop(finding.node_id) == "Complete"
    assert list(status.values()) == ["Available"]
