"""Row locks: time limits, and settings that must end with the transaction."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from queries.change import loop
from queries.change import perform as narrow
from queries.db import database
from queries.db.database import Database
from queries.db.transaction import Transaction
from queries.files.statement import Statement
from queries.records.action import Outcome
from queries.workspace import Workspace
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.builders import OPERATOR, do, dry_run_of, outcomes_of
from tests.servers import PostgresServer, both_versions

CHANGED, REFUSED, CONFLICT = Outcome.CHANGED, Outcome.REFUSED, Outcome.CONFLICT

LATE = """
CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF new.kind = 'Late' THEN RAISE check_violation USING MESSAGE = 'too late'; END IF;
  IF new.kind = 'Odd' THEN RAISE 'odd'; END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER late AFTER UPDATE ON task DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION late();
"""
GREEDY = """
CREATE FUNCTION greedy() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM pg_advisory_lock(hashtext(new.task_id::text));
  IF new.kind = 'Late' THEN RAISE check_violation USING MESSAGE = 'no'; END IF;
  RETURN new;
END $$;
CREATE TRIGGER greedy BEFORE UPDATE ON task FOR EACH ROW EXECUTE FUNCTION greedy();
"""
# One after the other, each within a statement's timeout: at the change, and where deferred constraints are checked.
SLOW = """
CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(1.2); RETURN new; END $$;
CREATE TRIGGER slow BEFORE UPDATE ON task FOR EACH ROW EXECUTE FUNCTION slow();
CREATE CONSTRAINT TRIGGER slow_too AFTER UPDATE ON task DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION slow();
"""
ADVISORY = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"


@both_versions
async def test_a_dry_run_checks_deferred_constraints_and_names_the_node(
    eternaltwin_db: EternaltwinDb, workspace: Workspace
) -> None:
    await eternaltwin_db.sql(LATE)
    late, odd = (
        eternaltwin_db.id(await eternaltwin_db.task(kind="Late")),
        eternaltwin_db.id(await eternaltwin_db.task(kind="Odd")),
    )
    fine = [eternaltwin_db.id(task) for task in await eternaltwin_db.tasks(await eternaltwin_db.jobs(6))]
    dry_run = await dry_run_of(workspace, "cancel", [late, odd, *fine])
    assert outcomes_of(dry_run) == {**dict.fromkeys(fine, CHANGED), late: CONFLICT, odd: CONFLICT}
    assert outcomes_of(await loop.commit(workspace, dry_run, OPERATOR)) == outcomes_of(dry_run)
    assert await eternaltwin_db.value("SELECT count(*) FROM task WHERE status = 'Complete'") == 6


@both_versions
async def test_session_advisory_locks_of_triggers_are_released(
    eternaltwin_db: EternaltwinDb, workspace: Workspace
) -> None:
    await eternaltwin_db.sql(GREEDY)
    tasks = await eternaltwin_db.tasks(await eternaltwin_db.jobs(3))
    late = await eternaltwin_db.task(kind="Late")
    dry_run = await dry_run_of(workspace, "cancel", [eternaltwin_db.id(tasks[0])])
    assert await eternaltwin_db.value(ADVISORY) == 0, "after a dry run"
    await loop.commit(workspace, dry_run, OPERATOR)
    assert (await eternaltwin_db.row(tasks[0]))["status"] == "Complete"
    assert await eternaltwin_db.value(ADVISORY) == 0, "after a commit"
    outcomes = await do(workspace, "cancel", [eternaltwin_db.id(task) for task in (*tasks[1:], late)])
    assert outcomes_of(outcomes)[eternaltwin_db.id(late)] is CONFLICT
    assert await eternaltwin_db.value(ADVISORY) == 0, "after a transaction that failed"


@pytest.mark.parametrize("commits", [False, True])
async def test_a_transaction_has_one_time_limit_for_all_its_statements(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, commits: bool
) -> None:
    task = eternaltwin_db.id(await eternaltwin_db.task())
    dry_run = await dry_run_of(workspace, "cancel", [task])
    await eternaltwin_db.sql(SLOW)
    monkeypatch.setattr(database, "WRITE_SECONDS", 2.0)
    if commits:
        outcomes = outcomes_of(await loop.commit(workspace, dry_run, OPERATOR))
    else:
        outcomes = outcomes_of(await dry_run_of(workspace, "cancel", [task]))
    assert outcomes == {task: REFUSED}
    assert await eternaltwin_db.value("SELECT count(*) FROM task WHERE status = 'Complete'") == 0
    monkeypatch.setattr(database, "WRITE_SECONDS", 60.0)
    assert outcomes_of(await do(workspace, "cancel", [task])) == {task: CHANGED}


async def test_halving_has_no_more_time_than_its_part(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    await eternaltwin_db.sql(SLOW)
    tasks = [eternaltwin_db.id(task) for task in await eternaltwin_db.tasks(await eternaltwin_db.jobs(16))]
    monkeypatch.setattr(database, "WRITE_SECONDS", 1.0)
    monkeypatch.setattr(narrow, "PART_SECONDS", 4.0)
    times: list[float | None] = []
    writing = Database.writing

    @asynccontextmanager
    async def noted(
        self: Database, schema: str, seconds: float | None = None, **more: Any
    ) -> AsyncIterator[Transaction]:
        times.append(seconds)
        async with writing(self, schema, seconds, **more) as transaction:
            yield transaction

    monkeypatch.setattr(Database, "writing", noted)
    assert outcomes_of(await dry_run_of(workspace, "cancel", tasks)) == dict.fromkeys(tasks, REFUSED)
    assert times[0] is None
    assert all(seconds is not None and seconds < 4.0 for seconds in times[1:])
    assert 1 < len(times) < 2 * len(tasks) - 1, "not every one of them was tried alone"


@both_versions
async def test_the_server_ends_a_transaction_by_itself_where_it_can(
    server: PostgresServer, workspace: Workspace
) -> None:
    """Limit the time of row locks if the console hangs or the network fails."""
    text = "SELECT current_setting('transaction_timeout', true) AS t"
    async with workspace.database.writing() as transaction:
        (row,) = await transaction.rows(Statement(text=text, source=""), {})
    assert row["t"] == ("6s" if server.version >= 17 else None)
