"""An action from its key to the row in the table.

Tests check what is asked, shown and done, and what is not done.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from pathlib import Path
from random import Random

import asyncpg
import pytest
from msgspec.structs import replace
from textual.containers import Horizontal
from textual.widgets import Button, Input

from console.config import Context
from console.model.node_list import NodeList
from console.tui.screens.result import ResultDialog
from console.tui.widgets.footer import REFUSED
from tests.console.tui_driver import TuiDriver, run_tui
from tests.db.eternaltwin import LABEL, EternaltwinDb
from tests.simulators.eternaltwin.kinds import encode
from tests.simulators.eternaltwin.runner import Runner

PRODUCTION = Context(name="prod", production=True)


async def on_task(tui: TuiDriver) -> None:
    """Put the cursor on the only task of the only job."""
    await tui.wait_for("0/1")
    await tui.press("right")
    await tui.wait_for("└")
    await tui.press("down")
    await tui.wait_for(lambda: "W Wake" in tui.text or REFUSED in tui.text)


async def repeat_dry_run(tui: TuiDriver) -> None:
    """Repeat the dry run and wait for its end.

    Until then the page shows the one before.
    """
    await tui.press("r")
    await tui.wait_for(lambda: not re.search("another session|Reading the nodes again …|Dry run …", tui.text))


async def test_a_wake_from_key_to_row(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, audit_log_table: None
) -> None:
    task = await eternaltwin_db.task(status="Blocked", timer=-600)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await on_task(tui)
        await tui.action("W", "its timer was missed")
        text = await tui.wait_for(
            "Will change 1 task: SendEmail v1", "1 task Blocked → Available, 1 row of task_timer deleted"
        )
        assert str(task) not in text.partition("Rows before and after")[0]
        assert (await eternaltwin_db.row(task))["status"] == "Blocked", "a dry run changes nothing"
        await tui.press("W")
        await tui.wait_for("1 changed", "Close")
        row = await eternaltwin_db.row(task)
        assert (row["status"], row["timers"]) == ("Available", 0)
        await tui.press("enter")
        await tui.wait_for("Wake: SendEmail v1: 1 changed")
        await tui.press("4")
        await tui.wait_for("its timer was missed", "wake")
        await tui.press("enter")
        await tui.wait_for("Blocked → Available", f"task:{task}")


async def test_a_result_is_renewed_before_its_buttons_are_there(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run reports a change while the page of its result is being made."""
    renewed = []

    class Late(Horizontal):
        async def _compose(self) -> None:
            assert isinstance(self.screen, ResultDialog)
            self.screen.renew()
            renewed.append(True)
            await super()._compose()

    monkeypatch.setattr("console.tui.screens.result.Horizontal", Late)
    await eternaltwin_db.task(status="Blocked", timer=-600)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await on_task(tui)
        await tui.action("W")
        await tui.press("W")
        await tui.wait_for("1 changed", "Close")
        assert renewed


async def test_enter_shows_the_rows_and_alone_never_commits(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    task = await eternaltwin_db.task(status="Blocked", timer=-600)
    before = await eternaltwin_db.digest()
    async with run_tui(eternaltwin, tmp_path) as tui:
        await on_task(tui)
        await tui.action("W")
        await tui.wait_for("enter shows 2 rows", lambda: "deleted task_timer" not in tui.text)
        await tui.press("enter")
        await tui.wait_for("deleted task_timer", f"SendEmail v1  eternaltwin/task:{task}")
        await tui.press("enter")
        await tui.wait_for("enter shows 2 rows", lambda: "deleted task_timer" not in tui.text)
        await tui.press("escape")
        await tui.wait_for("Nothing was changed.")
    assert await eternaltwin_db.digest() == before


@pytest.mark.parametrize(
    ("own", "header"),
    [(PRODUCTION, "prod · PRODUCTION"), (None, "unstick · PRODUCTION (prod)"), ("b", "b · PRODUCTION (prod)")],
)
async def test_production_wants_its_name_for_what_destroys(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, own: Context | str | None, header: str
) -> None:
    """Also of a server that is opened by its address, or as another context."""
    task = await eternaltwin_db.task(status="Blocked", timer=60)
    contexts = {"prod": replace(PRODUCTION, dsn=eternaltwin)}
    context = Context(name=own, dsn=eternaltwin) if isinstance(own, str) else own
    async with run_tui(eternaltwin, tmp_path, context=context, contexts=contexts) as tui:
        await tui.wait_for(header)
        assert tui.app.screen.query_one("#header").has_class("-production")
        await on_task(tui)
        await tui.action("C")
        await tui.wait_for("type prod (the name of this context)", header.removeprefix("unstick · "))
        await tui.press("C", "enter", "enter", "escape")  # they are typed into the field
        await tui.wait_for("Nothing was changed.")
        assert (await eternaltwin_db.row(task))["status"] == "Blocked"
        await tui.action("C")
        await tui.type("pro")
        await tui.press("enter")
        assert tui.app.screen.query_one("#go", Button).disabled
        await tui.type("d")
        await tui.wait_for(lambda: not tui.app.screen.query_one("#go", Button).disabled)
        assert (await eternaltwin_db.row(task))["status"] == "Blocked"
        await tui.press("enter")
        await tui.wait_for("1 changed", "Close")
    assert (await eternaltwin_db.row(task))["status"] == "Complete"


async def test_deleting_a_job_in_production_wants_its_id(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    """And the names of other tables whose rows go with it."""
    job = await eternaltwin_db.job()
    await eternaltwin_db.task(job, status="Blocked", timer=60)
    await eternaltwin_db.sql("CREATE TABLE invoice (job_id uuid REFERENCES job ON DELETE CASCADE)")
    await eternaltwin_db.sql("INSERT INTO invoice VALUES ($1)", job)
    async with run_tui(eternaltwin, tmp_path, context=PRODUCTION) as tui:
        await tui.wait_for("0/1", "D Delete job")
        await tui.action("D")
        await tui.wait_for(f"type {str(job)[:8]} (the beginning of its id)")
        await tui.wait_for("type public.invoice (tables whose rows are deleted too)")
        tui.app.screen.query_one("#typed-0", Input).value = "prod"
        tui.app.screen.query_one("#typed-1", Input).value = str(job)[:8]
        await tui.pilot.pause()
        assert tui.app.screen.query_one("#go", Button).disabled
        tui.app.screen.query_one("#typed-2", Input).value = "public.invoice"
        await tui.wait_for(lambda: not tui.app.screen.query_one("#go", Button).disabled)
        await tui.pilot.click("#go")
        await tui.wait_for("1 changed", "Close")
        assert await eternaltwin_db.value("SELECT count(*) FROM job") == 0
        await tui.press("enter")
        await tui.wait_for("There are no jobs.")


async def test_deleting_a_job_elsewhere_wants_only_the_tables_that_lose_rows(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    job = await eternaltwin_db.job()
    await eternaltwin_db.sql("CREATE TABLE invoice (job_id uuid REFERENCES job ON DELETE CASCADE)")
    await eternaltwin_db.sql("INSERT INTO invoice VALUES ($1)", job)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("no tasks", "D Delete job")
        await tui.action("D")
        await tui.wait_for("type public.invoice (tables whose rows are deleted too)")
        assert tui.app.screen.query_one("#go", Button).disabled
        assert [line.id for line in tui.app.screen.query(Input)] == ["reason", "typed-0"]
        await tui.press("escape")
        await tui.wait_for("Nothing was changed.")
        await eternaltwin_db.sql("DROP TABLE invoice")
        await tui.action("D")
        await tui.press("D")
        await tui.wait_for("1 changed", "Close")
    assert await eternaltwin_db.rows("job") == []


async def test_a_node_that_vanishes_under_the_dialog(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.task(status="Blocked", timer=60)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await on_task(tui)
        await tui.action("W")
        await eternaltwin_db.sql("DELETE FROM task")
        await tui.wait_for("1 task deleted")
        await tui.press("W")
        await tui.wait_for("gone: no longer exists", "Close")
        await tui.press("enter")
        await tui.wait_for("Wake: SendEmail v1: 1 gone")


async def test_a_node_that_moves_under_the_dialog(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    task = await eternaltwin_db.task(status="Blocked", timer=60)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await on_task(tui)
        await tui.action("C")
        await eternaltwin_db.sql("UPDATE task SET revision = revision + 1")
        await tui.wait_for("changed by another session")
        await repeat_dry_run(tui)
        await tui.dry_run("Will change 1")
        await eternaltwin_db.sql("UPDATE task SET revision = revision + 1")
        await tui.press("C")
        await tui.wait_for("1 stale", "Close")
    assert (await eternaltwin_db.row(task))["status"] == "Blocked"


async def test_a_row_that_another_session_locks(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    task = await eternaltwin_db.task(status="Blocked", timer=60)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await on_task(tui)
        async with eternaltwin_db.connection.transaction():
            await eternaltwin_db.sql("SELECT FROM task WHERE task_id = $1 FOR UPDATE", task)
            await tui.action("W")
            await tui.wait_for("Nothing to change", "locked by another transaction")
        await tui.press("r")
        await tui.dry_run("Will change 1")


async def test_a_change_outlives_the_screen(eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path) -> None:
    """Quit during a commit: the commit still ends, and its summary is true."""
    task = await eternaltwin_db.task(status="Blocked", timer=60)
    async with run_tui(eternaltwin, tmp_path) as tui:
        await on_task(tui)
        await tui.action("W")
        other = await asyncpg.connect(eternaltwin)
        transaction = other.transaction()
        await transaction.start()
        await other.execute("LOCK TABLE task_timer IN SHARE MODE")
        await tui.press("W")
        await tui.wait_for(lambda: tui.app.session.works.all)
        await tui.press("ctrl+q")
        await asyncio.sleep(0)
        await transaction.rollback()
        await other.close()
        await tui.app.session.close()
        work = tui.app.session.works.all[0]
        assert work.ended
        summary = work.summary
    changed = (await eternaltwin_db.row(task))["status"] == "Available"
    assert summary == ("1 changed" if changed else "1 locked")


async def test_an_action_that_cannot_be_done_says_why(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.task(status="Complete")
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("1/1")
        await tui.press("right")
        await tui.press("down", "W")
        await tui.wait_for("Wake: not while it is done")
        await tui.press("escape", "L")
        await tui.wait_for("Release: unsupported: this engine records no lease")
        await tui.press("escape", "R")
        await tui.wait_for("R (restart) is not for a task, but for a job.", "acts on its job SendEmail v1 - 1/1")
        await tui.press("x", "escape")
        await tui.wait_for(lambda: tui.app.screen is tui.app.front)


async def test_an_action_on_a_row_that_is_being_read_waits_for_it(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, wanted = NodeList.first, asyncio.Event()

    async def first(pages: NodeList, parent_id: str | None = None) -> object:
        if parent_id is not None:
            await wanted.wait()
        return await read(pages, parent_id)

    monkeypatch.setattr(NodeList, "first", first)
    await eternaltwin_db.task(status="Blocked", timer=-7200)
    async with run_tui(eternaltwin, tmp_path, interval=600) as tui:
        await tui.wait_for("0/1")
        await tui.press("right", "down")
        await tui.wait_for("loading")
        pressed = asyncio.create_task(tui.press("W"))
        await tui.wait_for(lambda: any(worker.group == "actions" for worker in tui.app.workers))
        wanted.set()
        await tui.wait_for("Reason, for the audit log", "Wake: SendEmail")
        await pressed


async def restart_the_job(tui: TuiDriver) -> None:
    """Open the dry run of a restart from a task of the job."""
    await on_task(tui)
    await tui.press("R")
    await tui.wait_for("R (restart) is not for a task, but for a job.", "acts on its job SendEmail v2 - 0/1", "R again")
    await tui.press("R")
    await tui.wait_for("Reason, for the audit log")
    await tui.type("again")
    await tui.press("enter")
    await tui.dry_run("Will change 1 job: SendEmail v2 - 0/1")


async def test_a_restart_in_production_asks_for_kind_and_version_at_the_commit(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    task = await eternaltwin_db.task(version=2, status="Blocked", timer=60)
    async with run_tui(eternaltwin, tmp_path, context=PRODUCTION) as tui:
        await restart_the_job(tui)
        await tui.wait_for("type prod (", "type SendEmail v2 (kind and version of the root task")
        await tui.type("R SendEmail")
        await tui.press("enter")
        await tui.wait_for("Type prod (the name of this context).")
        tui.app.screen.query_one("#typed-0", Input).value = "prod"
        await tui.press("enter")
        await tui.wait_for(lambda: tui.app.focused is tui.app.screen.query_one("#typed-1"))
        assert (await eternaltwin_db.row(task))["status"] == "Blocked"
        await tui.type("SendEmail v2")
        await tui.press("enter")
        await tui.wait_for("1 changed", "Close")
    assert (await eternaltwin_db.row(task))["status"] == "Available"


async def test_a_read_only_console_changes_nothing(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.task(status="Blocked", timer=60)
    async with run_tui(eternaltwin, tmp_path, read_only=True) as tui:
        await tui.wait_for("read-only")
        await on_task(tui)
        await tui.press("W")
        await tui.wait_for("Wake: this console is read-only")
    look = {"look": Context(name="look", dsn=eternaltwin, read_only=True)}
    async with run_tui(eternaltwin, tmp_path, contexts=look) as tui:
        await tui.wait_for("read-only (look)")
        await on_task(tui)
        await tui.press("W")
        await tui.wait_for("the context look names this server, and is read-only")


async def test_a_task_that_is_polled_all_the_time_is_cancelled_by_what_its_finding_says(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    """Cancel a task whose version is old before the operator presses the key.

    While the dialog is open, it does not report the task as changed.
    """
    task = await eternaltwin_db.task(
        kind="RefreshForumThread", version=2, state=encode({"thread": 7, "phase": "AwaitToken"})
    )
    other = await eternaltwin_db.task(
        kind="RefreshForumThread", version=2, state=encode({"thread": 8, "phase": "AwaitToken"})
    )
    connection = await asyncpg.connect(eternaltwin)
    runner = Runner(connection, Random(1))

    async def run() -> None:
        while True:
            await runner.tick()
            await asyncio.sleep(0.1)  # idle: the driver waits for that at each key

    running = asyncio.create_task(run())
    async with run_tui(eternaltwin, tmp_path, size=(140, 40)) as tui:
        await tui.wait_for("0/1")
        for _ in range(7):  # the samples that the console takes by itself, without the time between them
            await tui.app.session.engines[LABEL].samples.take()
            findings_loaded = runner.polls
            await tui.wait_for(lambda findings_loaded=findings_loaded: runner.polls >= findings_loaded + 4)  # type: ignore[misc]
        await tui.press("r", "2")
        await tui.wait_for("spinning", "RefreshForumThread")
        await tui.press("right", "down")  # one of the incident's tasks
        finding = tui.app.front.row.record  # type: ignore[attr-defined]
        await tui.action("C", "it spins")
        await tui.dry_run("Will change 1")
        before = runner.polls
        await tui.wait_for(lambda: runner.polls > before + 50)
        assert "changed by another session" not in tui.text
        await repeat_dry_run(tui)
        await tui.dry_run("Will change 1")
        await tui.press("C")
        await tui.wait_for("1 changed", "Close")
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    await connection.close()
    status = {eternaltwin_db.id(t): (await eternaltwin_db.row(t))["status"] for t in (task, other)}
    assert status.pop(finding.node_id) == "Complete"
    assert list(status.values()) == ["Available"]
