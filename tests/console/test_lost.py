"""Server that is missing, goes away, hangs or returns: the screen never waits."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable
from pathlib import Path

import pytest
from textual.widgets import Input

from console.tui.widgets.list_table import ListTable
from queries.change import plan as parts
from queries.db import transaction
from queries.log import audit_log
from tests.console.tui_driver import TuiDriver, run_tui
from tests.db.eternaltwin import EternaltwinDb
from tests.poolers import PgBouncer
from tests.queries.proxy import Proxy
from tests.servers import PostgresServer


async def test_no_server_yet(own_server: PostgresServer, tmp_path: Path) -> None:
    dsn = own_server.fresh("eternaltwin")
    own_server.halt()
    async with run_tui(dsn, tmp_path) as tui:
        await tui.wait_for("Not connected yet.", "Cannot connect", "r retries now")
        await tui.press("question_mark")
        await tui.wait_for("/ search")
        await tui.press("1")
        own_server.start()
        await tui.press("r")
        await tui.wait_for("There are no jobs.", "● live")


async def test_no_connection_and_out(tmp_path: Path) -> None:
    async with run_tui("postgresql://missing@127.0.0.1:1/nothing", tmp_path) as tui:
        await tui.wait_for("Not connected yet.", "psql takes the same string.")
        await tui.press("W", "slash", "escape", "y", "l", "f", "asterisk", "enter", "2", "3", "enter", "4", "1", "q")
        assert tui.app.return_code == 0
        assert tui.app.session.workspace is None


async def test_a_wrong_password(server: PostgresServer, tmp_path: Path) -> None:
    role = server.unique("role")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'right'")
    async with run_tui(server.dsn("postgres", user=role, password="hushhush"), tmp_path) as tui:
        await tui.wait_for("Not connected yet.", "refuses this login")
        assert "hush" not in tui.text
    server.sql(f"DROP ROLE {role}")


async def test_a_server_that_goes_and_comes_back(own_server: PostgresServer, tmp_path: Path) -> None:
    dsn = own_server.fresh("eternaltwin")
    eternaltwin_db = await EternaltwinDb.open(dsn)
    await eternaltwin_db.task(kind="Before", status="Blocked", timer=60)
    await eternaltwin_db.connection.close()
    async with run_tui(dsn, tmp_path) as tui:
        await tui.wait_for("Before v1", "● live")
        table = tui.app.screen.query_one(ListTable)
        colors = {part.style.color for part in table.render_line(1) if part.style and part.text.strip(" ▌")}
        own_server.halt("immediate")
        await tui.wait_for("no connection", "Before v1")
        grey = {part.style.color for part in table.render_line(1) if part.style and part.text.strip(" ▌")}
        assert len(colors) > len(grey) == 1, "rows of a lost connection are grey"
        await tui.press("right", "down", "up", "slash")
        await tui.type("befo")
        await tui.wait_for("filter: befo", "Before v1")
        await tui.press("escape", "enter")
        await tui.wait_for("Reading …", lambda: tui.app.session.error_text[:40] in tui.text.partition("Reading …")[2])
        await tui.press("escape", "W")
        own_server.start()
        eternaltwin_db = await EternaltwinDb.open(dsn)
        await eternaltwin_db.task(kind="After")
        await eternaltwin_db.connection.close()
        await tui.wait_for("After v1", "● live", "Connected again.")


async def test_incidents_of_a_lost_server_stay_grey_and_dated(own_server: PostgresServer, tmp_path: Path) -> None:
    dsn = own_server.fresh("eternaltwin", filled=True)
    async with run_tui(dsn, tmp_path, size=(160, 40)) as tui:
        await tui.press("2")
        await tui.wait_for("lost wakeup", lambda: tui.app.session.state.findings_loaded)
        own_server.halt("immediate")
        text = await tui.wait_for("lost wakeup  not read for ", "(connection lost)")
        assert "resolved" not in text
        own_server.start()
        await tui.wait_for("● live", "lost wakeup", lambda: "not read for" not in tui.text)


@pytest.mark.parametrize("key", ["r", "enter"])
async def test_lost_between_dry_run_and_commit(own_server: PostgresServer, tmp_path: Path, key: str) -> None:
    dsn = own_server.fresh("eternaltwin")
    eternaltwin_db = await EternaltwinDb.open(dsn)
    task = await eternaltwin_db.task(status="Blocked", timer=60)
    await eternaltwin_db.connection.close()
    async with run_tui(dsn, tmp_path) as tui:
        await tui.wait_for("0/1")
        await tui.action("C")
        own_server.halt("immediate")
        await tui.wait_for("no connection")
        await tui.press("C")
        text = await tui.wait_for("1 unsent", "the connection was lost before the commit", "Try again", "Close")
        assert "1 refused" not in text
        assert text.count("Nothing was changed") == 1
        own_server.start()
        eternaltwin_db = await EternaltwinDb.open(dsn)
        assert (await eternaltwin_db.row(task))["status"] == "Blocked"
        await tui.wait_for("● live")
        await tui.press(key)
        await tui.dry_run("Will change 1")
        await tui.press("b")
        await tui.wait_for(lambda: [field.value for field in tui.app.screen.query(Input)] == ["test"])
        await tui.press("enter")
        await tui.dry_run("Will change 1")
        await tui.press("C")
        await tui.wait_for("1 changed")
    assert (await eternaltwin_db.row(task))["status"] != "Blocked"
    await eternaltwin_db.connection.close()


async def test_a_table_that_cannot_be_read_leaves_the_rest(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, detected_once: None, tmp_path: Path
) -> None:
    """Report a read error of one part; keep the connection and the loaded rows."""
    await eternaltwin_db.task(kind="Seen")
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("Seen v1", "1 ready")
        await eternaltwin_db.sql("ALTER TABLE task_timer RENAME TO hidden")
        await tui.wait_for("The server reports", "Seen v1")
        await eternaltwin_db.sql("ALTER TABLE hidden RENAME TO task_timer")
        await tui.wait_for("● live")
        await tui.press("down", "up")
        await tui.wait_for(lambda: not tui.app.session.error_text)


async def test_a_standby_that_is_promoted_takes_changes_without_a_restart(
    own_server: PostgresServer, tmp_path: Path
) -> None:
    dsn = own_server.fresh("eternaltwin")
    eternaltwin_db = await EternaltwinDb.open(dsn)
    await eternaltwin_db.task(status="Blocked", timer=60)
    await eternaltwin_db.connection.close()
    own_server.standby()
    async with run_tui(dsn, tmp_path) as tui:
        await tui.wait_for("standby", "0/1")
        own_server.sql("SELECT pg_promote()")
        await tui.wait_for("0/1", lambda: "standby" not in tui.text)
        await tui.action("C")
        await tui.dry_run("Will change 1")


PACE = """
CREATE FUNCTION pace() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.05); RETURN NULL; END $$;
CREATE TRIGGER pace AFTER UPDATE ON task FOR EACH STATEMENT EXECUTE FUNCTION pace();
"""


async def lose_the_server_in_a_bulk(tui: TuiDriver, lose: Awaitable[object]) -> None:
    await tui.wait_for("60", "SendEmail v1")
    await tui.press("asterisk")
    await tui.wait_for("60 marked")
    await tui.action("C")
    await tui.dry_run("Will change 60")
    await tui.press("C")
    await tui.wait_for(lambda: tui.app.session.works.all and len(tui.app.session.works.all[0].results) >= 4)
    await lose
    await tui.wait_for("Server lost, retrying in", "s stops")


@pytest.fixture
async def sixty_tasks(own_server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database with 60 tasks; a bulk goes through them two by two."""
    monkeypatch.setattr(parts, "PART_NODES", 2)
    dsn = own_server.fresh("eternaltwin")
    eternaltwin_db = await EternaltwinDb.open(dsn)
    await eternaltwin_db.tasks(await eternaltwin_db.jobs(60), status="Blocked", timer=60)
    await eternaltwin_db.sql(audit_log.ddl() + PACE)
    await eternaltwin_db.connection.close()
    return dsn


@pytest.mark.parametrize("real", [False, True])
async def test_a_paused_pooler_is_waited_for(
    own_server: PostgresServer, tmp_path: Path, sixty_tasks: str, monkeypatch: pytest.MonkeyPatch, real: bool
) -> None:
    """Its time is no work of the server."""
    monkeypatch.setattr(transaction, "GRACE_SECONDS", 0.5)
    async with contextlib.AsyncExitStack() as stack:
        pooler = await asyncio.to_thread(PgBouncer, own_server) if real else Proxy(own_server.port)
        if isinstance(pooler, PgBouncer):
            stack.callback(pooler.close)
            dsn = pooler.dsn(sixty_tasks)
        else:
            dsn = (await stack.enter_async_context(pooler)).through(sixty_tasks)
        tui = await stack.enter_async_context(run_tui(dsn, tmp_path))
        session = tui.app.session
        await lose_the_server_in_a_bulk(tui, pooler.admin("PAUSE"))
        assert "A pooler in between may be paused" in session.works.all[0].error_text
        await pooler.admin("RESUME")
        await tui.wait_for("60 changed", "Close")
        await tui.press("enter")
        await tui.wait_for("● live", "SendEmail v1")
        assert session.workspace is not None
        load = session.workspace.database.load
        worked = load.worked
        await pooler.admin("PAUSE")
        await tui.wait_for("no connection", "SendEmail v1", lambda: "may be paused" in session.error_text)
        await pooler.admin("RESUME")
        await tui.wait_for("● live", lambda: not session.error_text)
        assert load.worked - worked < 1, "a pause of several seconds"


async def test_a_bulk_that_waits_can_be_stopped_and_is_reported_at_the_next_start(
    own_server: PostgresServer, tmp_path: Path, sixty_tasks: str
) -> None:
    async with run_tui(sixty_tasks, tmp_path) as tui:
        await lose_the_server_in_a_bulk(tui, asyncio.to_thread(own_server.halt, "immediate"))
        await tui.press("s")
        work = tui.app.session.works.all[0]
        await tui.wait_for(f"do --resume {work.run_id}", "refused", "Close", "Resume")
        done, name = len(work.results) - work.stopped, work.run_id
        assert 0 < done < 60
    own_server.start()
    async with run_tui(sixty_tasks, tmp_path) as tui:
        await tui.wait_for(f"Unfinished bulk {name}", "of 60 nodes are changed")


@pytest.mark.parametrize("seen", [False, True])  # that there was no connection
async def test_a_change_that_a_failover_has_lost_is_said(
    own_server: PostgresServer, tmp_path: Path, seen: bool
) -> None:
    dsn = own_server.fresh("eternaltwin")
    eternaltwin_db = await EternaltwinDb.open(dsn)
    await eternaltwin_db.task(status="Blocked", timer=60)
    await eternaltwin_db.sql(audit_log.ddl())
    await eternaltwin_db.connection.close()
    own_server.keep()
    async with run_tui(dsn, tmp_path) as tui:
        await tui.wait_for("0/1")
        await tui.action("C")
        await tui.dry_run("Will change 1")
        await tui.press("C")
        await tui.wait_for("1 changed", "Close", "U undo", "Next: ", "durability")
        if seen:
            own_server.halt("immediate")
            await tui.wait_for("no connection")
        own_server.fall_back()
        text = await tui.wait_for("1 lost", "committed, then undone by a failover")
        for claim in ("1 changed", "U undo", "Next: ", "durability"):
            assert claim not in text
        await tui.press("enter")
        await tui.wait_for("Cancel job: SendEmail v1 - 0/1: 1 lost")
        await tui.press("4")
        await tui.wait_for("cancel", "1 lost")
        await tui.press("U")
        await tui.wait_for("Lost in a failover: cancel of")
        await tui.press("escape", "enter")
        await tui.wait_for("Outcome", "lost: committed, then undone by a failover")
        await tui.press("escape", "1")
        await tui.wait_for("0/1")
        await tui.press("enter")
        await tui.wait_for("Audit log", "Lost in a failover: cancel of")
    async with run_tui(dsn, tmp_path) as tui:
        await tui.wait_for("0/1")
        await tui.press("4")
        await tui.wait_for("cancel", "1 lost")


async def test_two_primaries_are_said_and_the_older_one_is_not_changed(
    own_server: PostgresServer, tmp_path: Path
) -> None:
    dsn = own_server.fresh("eternaltwin")
    eternaltwin_db = await EternaltwinDb.open(dsn)
    task = await eternaltwin_db.task(status="Blocked", timer=60)
    replica = own_server.replica()
    try:
        replica.sql("SELECT pg_promote()")
        both = dsn.replace(f":{own_server.port}/", f":{own_server.port},127.0.0.1:{replica.port}/")
        async with run_tui(both, tmp_path, size=(200, 40)) as tui:
            await tui.wait_for("0/1", "Two primaries of the same data")
            await tui.press("C")
            await tui.wait_for("Reason, for the audit log")
            await tui.type("x")
            await tui.press("enter")
            await tui.wait_for("The changes of this server will be lost. Nothing was changed.")
        assert (await eternaltwin_db.row(task))["status"] == "Blocked"
    finally:
        await eternaltwin_db.connection.close()
        replica.close()
