"""A server that is not there, goes away, hangs, or comes back: the screen never waits for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from queries.actions import perform
from tests.console.stage import Stage, staged
from tests.queries.builders import Twin
from tests.servers import TestbedServer


async def test_no_server_yet(own_server: TestbedServer, tmp_path: Path) -> None:
    dsn = own_server.fresh("eternaltwin")
    own_server.halt()
    async with staged(dsn, tmp_path) as stage:
        await stage.until("There is no connection yet.", "Cannot connect", "r tries now")
        await stage.press("question_mark")
        await stage.until("Keys everywhere")
        await stage.press("1")
        own_server.start()
        await stage.press("r")
        await stage.until("There are no jobs.", "● live")


async def test_no_connection_and_out(tmp_path: Path) -> None:
    async with staged("postgresql://nobody@127.0.0.1:1/nothing", tmp_path) as stage:
        await stage.until("There is no connection yet.", "Nothing was changed.")
        await stage.press("W", "slash", "escape", "y", "l", "f", "asterisk", "enter", "2", "3", "enter", "4", "1", "q")
        assert stage.app.return_code == 0
        assert stage.app.session.workspace is None


async def test_a_wrong_password(server: TestbedServer, tmp_path: Path) -> None:
    role = server.unique("role")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'right'")
    async with staged(server.dsn("postgres", user=role, password="hushhush"), tmp_path) as stage:
        await stage.until("There is no connection yet.", "does not let us in")
        assert "hush" not in stage.text
    server.sql(f"DROP ROLE {role}")


async def test_a_server_that_goes_and_comes_back(own_server: TestbedServer, tmp_path: Path) -> None:
    dsn = own_server.fresh("eternaltwin")
    twin = await Twin.open(dsn)
    await twin.task(kind="Before", status="Blocked", timer=60)
    await twin.connection.close()
    async with staged(dsn, tmp_path) as stage:
        await stage.until("Before v1", "● live")
        own_server.halt("immediate")
        await stage.until("no connection", "Before v1")
        await stage.press("right", "down", "up", "slash")
        await stage.type("befo")
        await stage.until("filter: befo", "Before v1")
        await stage.press("escape", "W")
        own_server.start()
        twin = await Twin.open(dsn)
        await twin.task(kind="After")
        await twin.connection.close()
        await stage.until("After v1", "● live", "Connected again.")


async def test_lost_between_dry_run_and_commit(own_server: TestbedServer, tmp_path: Path) -> None:
    dsn = own_server.fresh("eternaltwin")
    twin = await Twin.open(dsn)
    task = await twin.task(status="Blocked", timer=60)
    await twin.connection.close()
    async with staged(dsn, tmp_path) as stage:
        await stage.until("0/1")
        await stage.action("C")
        own_server.halt("immediate")
        await stage.until("no connection")
        await stage.press("C")
        await stage.until("refused", "Nothing was changed.", "Close")
    own_server.start()
    twin = await Twin.open(dsn)
    assert (await twin.row(task))["status"] == "Blocked"
    await twin.connection.close()


async def test_a_dry_run_without_a_server_can_be_tried_again(own_server: TestbedServer, tmp_path: Path) -> None:
    dsn = own_server.fresh("eternaltwin")
    twin = await Twin.open(dsn)
    await twin.task(status="Blocked", timer=60)
    await twin.connection.close()
    async with staged(dsn, tmp_path) as stage:
        await stage.until("0/1")
        await stage.press("C")
        await stage.until("Reason, for the audit log")
        own_server.halt("immediate")
        await stage.type("x")
        await stage.press("enter")
        await stage.until("r tries again")
        own_server.start()
        await stage.press("r")
        await stage.until("Would change 1 node")


async def test_a_table_that_cannot_be_read_leaves_the_rest(twin: Twin, eternaltwin: str, tmp_path: Path) -> None:
    """A fault of one part of a look is told; the connection is kept and the picture stays."""
    await twin.task(kind="Seen")
    async with staged(eternaltwin, tmp_path) as stage:
        await stage.until("Seen v1", "1 ready")
        await twin.sql("ALTER TABLE task_timer RENAME TO hidden")
        await stage.until("The server reports", "Seen v1")
        await twin.sql("ALTER TABLE hidden RENAME TO task_timer")
        await stage.until("● live")
        await stage.press("down", "up")
        await stage.until(lambda: not stage.app.session.error_text)


async def test_a_standby_that_is_promoted_takes_changes_without_a_restart(
    own_server: TestbedServer, tmp_path: Path
) -> None:
    dsn = own_server.fresh("eternaltwin")
    twin = await Twin.open(dsn)
    await twin.task(status="Blocked", timer=60)
    await twin.connection.close()
    own_server.standby()
    async with staged(dsn, tmp_path) as stage:
        await stage.until("standby", "0/1")
        own_server.sql("SELECT pg_promote()")
        await stage.until("primary", lambda: "standby" not in stage.text)
        await stage.action("C")
        await stage.until("Would change 1 node")


PACE = """
CREATE FUNCTION pace() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.05); RETURN NULL; END $$;
CREATE TRIGGER pace AFTER UPDATE ON task FOR EACH STATEMENT EXECUTE FUNCTION pace();
"""


async def lose_the_server_in_a_bulk(stage: Stage, own_server: TestbedServer) -> None:
    await stage.until("60")
    await stage.press("asterisk")
    await stage.until("60 marked")
    await stage.action("C")
    await stage.until("Would change 2 nodes")
    await stage.press("C")
    await stage.until(lambda: stage.app.session.works and len(stage.app.session.works[0].results) >= 4)
    own_server.halt("immediate")
    await stage.until("Server lost, retrying in", "stop: s")


@pytest.fixture
async def sixty(own_server: TestbedServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database with 60 tasks; a bulk goes through them two by two."""
    monkeypatch.setattr(perform, "CHUNK", 2)
    dsn = own_server.fresh("eternaltwin")
    twin = await Twin.open(dsn)
    await twin.tasks(await twin.jobs(60), status="Blocked", timer=60)
    await twin.sql(PACE)
    await twin.connection.close()
    return dsn


async def test_a_bulk_goes_on_when_the_server_is_back(own_server: TestbedServer, tmp_path: Path, sixty: str) -> None:
    async with staged(sixty, tmp_path) as stage:
        await lose_the_server_in_a_bulk(stage, own_server)
        own_server.start()
        await stage.until("60 changed", "Close")


async def test_a_bulk_that_waits_can_be_stopped_and_is_reported_at_the_next_start(
    own_server: TestbedServer, tmp_path: Path, sixty: str
) -> None:
    async with staged(sixty, tmp_path) as stage:
        await lose_the_server_in_a_bulk(stage, own_server)
        await stage.press("s")
        work = stage.app.session.works[0]
        await stage.until(f"do --resume {work.bulk}", "refused", "Close", "Go on")
        done = len(work.results) - work.stopped
        assert 0 < done < 60
    own_server.start()
    async with staged(sixty, tmp_path) as stage:
        await stage.until("A bulk was not finished", f"{60 - done} of 60")


async def test_a_change_that_a_failover_has_lost_is_said(own_server: TestbedServer, tmp_path: Path) -> None:
    dsn = own_server.fresh("eternaltwin")
    twin = await Twin.open(dsn)
    await twin.task(status="Blocked", timer=60)
    await twin.connection.close()
    own_server.keep()
    async with staged(dsn, tmp_path) as stage:
        await stage.until("0/1")
        await stage.action("C")
        await stage.until("Would change 1 node")
        await stage.press("C")
        await stage.until("1 changed", "Close")
        await stage.press("enter")
        own_server.fall_back()
        await stage.until("The server was replaced: changes of 1 node are lost")
        assert stage.app.session.works[0].told == "1 lost"
