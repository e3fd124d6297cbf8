"""Reads on a hot standby whose replay cancels them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.model.session import Session
from queries.db import transaction
from queries.db.database import Database
from queries.db.errors import ConflictError, DatabaseError
from queries.files.statement import Statement
from tests.command import fetch, unstick
from tests.console.tui_driver import run_tui
from tests.servers import PostgresServer

COMMANDS = ("stuck", "tree", "dead", "changed --since 1h", "engines", "audit", "find Archive", "stuck --json")
CONFLICTS = "SELECT sum(confl_snapshot)::int FROM pg_stat_database_conflicts"
PID, SLEEP = Statement(text="SELECT pg_backend_pid() AS pid", source=""), "DO $$ BEGIN PERFORM pg_sleep({}); END $$"
SESSION = "SELECT FROM pg_stat_activity WHERE application_name = 'unstick' AND state = 'idle in transaction'"


@pytest.fixture(scope="module")
def standby() -> Iterator[str]:
    """DSN of a standby that waits for no read. Its primary removes rows all the time."""
    primary, stopped = PostgresServer(settings={"autovacuum": "off"}), threading.Event()
    primary.start()
    written = primary.fresh("eternaltwin", filled=True)
    primary.sql("CREATE TABLE churn AS SELECT i FROM generate_series(1, 100) AS i", written)
    replica = primary.replica()
    replica.sql("ALTER SYSTEM SET max_standby_streaming_delay = 0")
    replica.sql("SELECT pg_reload_conf()")

    def churn() -> None:
        while not stopped.wait(0.1):
            primary.sql("UPDATE churn SET i = i + 1", written)
            primary.sql("VACUUM churn", written)

    thread = threading.Thread(target=churn)
    thread.start()
    yield replica.dsn(written.rpartition("/")[2])
    stopped.set()
    thread.join()
    replica.close()
    primary.close()


def test_commands_come_through_conflicts(standby: str, tmp_path: Path) -> None:
    began = fetch(standby, CONFLICTS)[0][0]
    for _ in range(50):  # until some met a conflict
        answers = [unstick(*words.split(), dsn=standby, home=tmp_path) for words in COMMANDS]
        assert [each.err for each in answers if each.code] == []
        if fetch(standby, CONFLICTS)[0][0] > began:
            return
    raise AssertionError("no conflict")


async def test_so_does_the_console(standby: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failures: list[DatabaseError] = []
    monkeypatch.setattr(Session, "failed", lambda _, error: failures.append(error))
    async with run_tui(standby, tmp_path) as tui:
        for key, shown in (("1", "ArchiveDino"), ("2", "lost wakeup"), ("1", "ArchiveDino")):
            await tui.press(key)
            await tui.wait_for(shown, lambda: not tui.app.session.error_text)
    assert failures == []


@pytest.mark.parametrize("first", ["rows", "control", "describe"])
async def test_an_ended_transaction_goes_on_over_a_new_connection(standby: str, first: str) -> None:
    database = Database(standby)
    async with database.reading_alone() as reading:
        before = await reading.rows(PID, {})
        while await asyncio.to_thread(fetch, standby, SESSION):
            await asyncio.sleep(0.1)
        if first == "control":
            assert await reading.control("SAVEPOINT again") == "SAVEPOINT"
        elif first == "describe":
            assert (await reading.describe(PID)).columns == (("pid", "int4"),)
        assert await reading.rows(PID, {}) != before
    await database.close()


async def test_a_cancelled_command_runs_again(standby: str) -> None:
    database, began = Database(standby), await asyncio.to_thread(fetch, standby, CONFLICTS)
    while await asyncio.to_thread(fetch, standby, CONFLICTS) == began:  # until one met a conflict
        async with database.reading_alone() as reading:
            assert await reading.control(SLEEP.format(0.1)) == "DO"
            assert (await reading.describe(PID)).columns == (("pid", "int4"),)
    await database.close()


@pytest.mark.parametrize("command", [False, True])
async def test_what_is_cancelled_again_and_again_names_the_settings(
    standby: str, monkeypatch: pytest.MonkeyPatch, command: bool
) -> None:
    monkeypatch.setattr(transaction, "REPEATS", 2)
    database, sleep = Database(standby), Statement(text="SELECT pg_sleep(60)", source="")
    with pytest.raises(
        ConflictError, match=r"raise its max_standby_streaming_delay, set its hot_standby_feedback = on"
    ):
        async with database.reading_alone(60) as reading:
            await (reading.control(SLEEP.format(60)) if command else reading.rows(sleep, {}))
    await database.close()
