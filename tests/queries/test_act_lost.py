"""Connections lost around COMMIT and servers killed at random moments.

The reported outcomes must match the rows in the table.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from queries.change import loop
from queries.change import plan as parts
from queries.db import database, transaction
from queries.db.errors import DatabaseError
from queries.files.statement import Statement
from queries.log import audit_log, settle
from queries.log.log_file import page
from queries.records.action import Outcome
from queries.workspace import Workspace
from tests.db.eternaltwin import EternaltwinDb
from tests.proof import most_in_proof, proof, repeated
from tests.queries.builders import OPERATOR, committed, do, dry_run_of, opened, outcomes_of, reader, seen, why
from tests.queries.proxy import Failure, Proxy
from tests.servers import PostgresServer

CHANGED, UNKNOWN, UNSENT = Outcome.CHANGED, Outcome.UNKNOWN, Outcome.UNSENT
WENT_THROUGH: dict[Failure, bool] = {"before": False, "flying": True, "after": True, "late": True}


@pytest.fixture
async def proxy(server: PostgresServer) -> AsyncIterator[Proxy]:
    async with Proxy(server.port) as proxy:
        yield proxy


@pytest.mark.parametrize("idle", [True, False])
async def test_a_connection_that_a_middlebox_forgot_is_no_refusal(
    eternaltwin_db: EternaltwinDb,
    eternaltwin: str,
    proxy: Proxy,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    idle: bool,
) -> None:
    """It broke before the dry run, and was dropped without a word after it.

    Both connections are tried before the change if they were idle.
    """
    workspace = await opened(proxy.through(eternaltwin), tmp_path)
    task = eternaltwin_db.id(await eternaltwin_db.task(status="Blocked", timer=60))
    await proxy.cut()
    monkeypatch.setattr(database, "IDLE_TRIED_SECONDS", 0.0 if idle else 1e9)
    await dry_run_of(workspace, "wake", [task])
    before = proxy.connected
    dry_run = await dry_run_of(workspace, "wake", [task])
    assert proxy.connected == before, "what answers is kept"
    proxy.forget()
    monkeypatch.setattr(transaction, "GRACE_SECONDS", 0.1)
    monkeypatch.setattr(database, "WRITE_SECONDS", 2.0)
    monkeypatch.setattr(database, "TRIED_SECONDS", 0.1)
    assert outcomes_of(await loop.commit(workspace, dry_run, OPERATOR)) == {task: CHANGED}
    assert (b"BEGIN" in proxy.swallowed, proxy.swallowed.count(b"SHOW")) == ((False, 2) if idle else (True, 0))
    await workspace.close()


@repeated(few=20, many=100)
@pytest.mark.parametrize("place", ["table", "file"])
async def test_what_is_reported_is_what_is_in_the_table(
    eternaltwin_db: EternaltwinDb,
    eternaltwin: str,
    proxy: Proxy,
    tmp_path: Path,
    place: str,
    monkeypatch: pytest.MonkeyPatch,
    times: int,
) -> None:
    """Break the connection around many commits for each kind of audit log."""
    if place == "table":
        await eternaltwin_db.sql(audit_log.ddl())
    workspace = await opened(proxy.through(eternaltwin), tmp_path)
    tasks = await eternaltwin_db.tasks(await eternaltwin_db.jobs(times), status="Blocked", timer=60)
    failures = random.Random(7).choices(["before", "flying", "after", "late"], [8, 5, 6, 1], k=times)
    wrong = []
    for task, failure in zip(tasks, failures, strict=True):
        dry_run = await dry_run_of(workspace, "wake", [eternaltwin_db.id(task)])
        proxy.fail = failure
        monkeypatch.setattr(database, "GRACE_SECONDS", 0.05 if failure == "late" else 5.0)
        monkeypatch.setattr(database, "WRITE_SECONDS", 2.0 if failure == "late" else 5.0)
        outcomes = await loop.commit(workspace, dry_run, OPERATOR)
        outcome = outcomes_of(outcomes)[eternaltwin_db.id(task)]
        row = await eternaltwin_db.row(task)
        changed = (row["status"], row["timers"]) == ("Available", 0)
        assert changed or (row["status"], row["timers"]) == ("Blocked", 1), "all of it or nothing"
        if failure != "flying":
            assert changed == WENT_THROUGH[failure]
        if outcome != (CHANGED if changed else UNSENT) or (outcomes.xid == row["xmin"]) != changed:
            wrong.append((failure, outcome, changed))
        proxy.answer.set()
        proxy.answer.clear()
    assert proxy.failed == times
    assert wrong == []
    entries, _ = await workspace.audit_log.page(limit=1000 + times)
    changes = [r.id for e in entries for r in e.results if r.outcome is CHANGED]
    available = await eternaltwin_db.connection.fetch("SELECT task_id FROM task WHERE status = 'Available'")
    assert sorted(changes) == sorted(eternaltwin_db.id(r[0]) for r in available), "the audit log says the same"
    assert not any(r.outcome is UNKNOWN for e in entries for r in e.results)
    await workspace.close()


async def test_a_commit_that_the_server_never_sees_is_settled_when_the_server_gives_it_up(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wait for the server's idle timeout.

    Until then the server waits for the rest of the transaction, and its status is "in progress".
    """
    send = settle.send_commit

    async def sent(transaction: database.Transaction) -> str | None:
        await transaction.control("SET LOCAL idle_in_transaction_session_timeout = '300ms'")
        return await send(transaction)

    monkeypatch.setattr(settle, "send_commit", sent)
    workspace = await opened(proxy.through(eternaltwin), tmp_path)
    task = await eternaltwin_db.task()
    proxy.fail = "silent"
    outcomes = await do(workspace, "cancel", [eternaltwin_db.id(task)])
    assert outcomes_of(outcomes) == {eternaltwin_db.id(task): UNSENT}
    assert why(outcomes, eternaltwin_db.id(task)) == settle.ROLLED_BACK
    assert (outcomes.xid, outcomes.changes, outcomes.audit_log) == (None, (), None)
    assert (await eternaltwin_db.row(task))["status"] == "Available"
    await workspace.close()


async def test_unknown_only_where_no_server_answers(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settle, "STATUS_SECONDS", 0.2)
    workspace = await opened(proxy.through(eternaltwin), tmp_path)
    task = await eternaltwin_db.task()
    proxy.fail, proxy.meanwhile = "after", proxy.unplug
    outcomes = await do(workspace, "cancel", [eternaltwin_db.id(task)])
    assert outcomes_of(outcomes) == {eternaltwin_db.id(task): UNKNOWN}
    xid = (await eternaltwin_db.row(task))["xmin"]
    assert why(outcomes, eternaltwin_db.id(task)) == settle.UNSETTLED.format(xid=xid)
    entries, _ = await workspace.audit_log.page()
    assert [outcomes_of(e.results) for e in entries] == [{eternaltwin_db.id(task): UNKNOWN}]
    await proxy.plug()
    await workspace.database.renew()
    (settled,) = await workspace.audit_log.news()
    assert (settled.startswith("Settled: cancel of "), settled.endswith(" was committed.")) == (True, True)
    entries, _ = await workspace.audit_log.page()
    assert [outcomes_of(e.results) for e in entries] == [{eternaltwin_db.id(task): CHANGED}]
    await workspace.close()


async def test_a_connection_lost_before_commit_changes_nothing(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "WRITE_SECONDS", 60.0)
    await eternaltwin_db.sql(SLOW)
    task = await eternaltwin_db.task()
    dry_run = await dry_run_of(workspace, "cancel", [eternaltwin_db.id(task)])
    await eternaltwin_db.sql("UPDATE pace SET seconds = 50")
    at_it = asyncio.create_task(loop.commit(workspace, dry_run, OPERATOR))
    end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    while not await eternaltwin_db.value(end):
        await asyncio.sleep(0)
    outcomes = await at_it
    assert outcomes_of(outcomes) == {eternaltwin_db.id(task): UNSENT}
    assert why(outcomes, eternaltwin_db.id(task)).startswith("The server ended the connection: ")
    assert why(outcomes, eternaltwin_db.id(task)).endswith(". Nothing was changed.")
    assert (await eternaltwin_db.row(task))["status"] == "Available"
    assert (await workspace.audit_log.page())[0] == ()


# The server killed

SLOW = """
CREATE TABLE pace (seconds float8); INSERT INTO pace VALUES (0);
CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_sleep(seconds) FROM public.pace; RETURN new; END $$;
CREATE TRIGGER slow BEFORE UPDATE ON task FOR EACH ROW EXECUTE FUNCTION slow();
"""


async def test_killed_while_reading_and_while_previewing(
    own_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "WRITE_SECONDS", 60.0)
    dsn = own_server.fresh("eternaltwin")
    eternaltwin_db = await EternaltwinDb.open(dsn)
    task = eternaltwin_db.id(await eternaltwin_db.task())
    await eternaltwin_db.sql(f"{SLOW} UPDATE pace SET seconds = 50")
    await eternaltwin_db.connection.close()
    workspace = await opened(dsn, tmp_path)

    async def reading() -> None:
        async with workspace.database.reading(60) as transaction:
            await transaction.rows(Statement(text="SELECT pg_sleep(50)", source=""), {})

    async def previewing() -> None:
        await dry_run_of(workspace, "cancel", [task])

    for doing in (reading, previewing):
        at_it = asyncio.create_task(doing())
        await until_active(dsn, "pg_sleep" if doing is reading else 'UPDATE "public".task')
        await asyncio.to_thread(own_server.halt, "immediate")
        with pytest.raises(DatabaseError):
            await at_it
        with pytest.raises(DatabaseError, match="Cannot connect"):
            await reader(workspace).pages.roots()
        await asyncio.to_thread(own_server.start)
        page = await reader(workspace).nodes.read([task])
        assert [(n.id, n.status, n.revision) for n in page.nodes] == [(task, "Available", 3)]
    assert not (tmp_path / "audit_log.jsonl").exists()
    await workspace.close()


async def until_active(dsn: str, text: str) -> None:
    connection = await asyncpg.connect(dsn)
    query = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND wait_event = 'PgSleep' AND query ~ $1"
    async with asyncio.timeout(60):
        while not await connection.fetchval(query, text):
            pass
    connection.terminate()


@pytest.mark.parametrize("place", ["table", "file"])
async def test_a_page_that_is_read_while_a_commit_is_under_way(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, proxy: Proxy, tmp_path: Path, place: str
) -> None:
    """It asks for that commit with its other reads: their connection is in use."""
    if place == "table":
        await eternaltwin_db.sql(audit_log.ddl())
    node = eternaltwin_db.id(await eternaltwin_db.task(status="Blocked", timer=60))
    workspace = await opened(proxy.through(eternaltwin), tmp_path)
    dry_run = await dry_run_of(workspace, "wake", [node])
    proxy.fail = "late"
    committed = asyncio.create_task(loop.commit(workspace, dry_run, OPERATOR))
    async with asyncio.timeout(60):
        while not proxy.failed:
            await asyncio.sleep(0)
        await workspace.database.together(workspace.audit_log.newest(node, 5), workspace.now())
    proxy.answer.set()
    assert outcomes_of(await committed) == {node: CHANGED}
    await workspace.close()


@pytest.mark.parametrize("place", ["table", "file"])
async def test_killed_around_commit(own_server: PostgresServer, tmp_path: Path, place: str) -> None:
    """Check that the commit of another session is not reported as the console's own.

    After a crash the server assigns the same transaction ids again.
    """
    dsn = own_server.fresh("eternaltwin")
    eternaltwin_db = await EternaltwinDb.open(dsn)
    if place == "table":
        await eternaltwin_db.sql(audit_log.ddl())
    lost, forgotten, kept = await eternaltwin_db.tasks(await eternaltwin_db.jobs(3), status="Blocked", timer=60)
    await eternaltwin_db.sql("CREATE TABLE mine (n int)")
    await eternaltwin_db.sql("CHECKPOINT")
    await eternaltwin_db.connection.close()

    async def crash(*, others: int = 0) -> None:
        await asyncio.to_thread(own_server.halt, "immediate")
        await asyncio.to_thread(own_server.start)
        async with asyncio.timeout(60):
            connection = await asyncpg.connect(dsn)
        for n in range(others):
            await connection.execute("INSERT INTO mine VALUES ($1)", n)
        await connection.close()

    async with Proxy(own_server.port) as proxy:
        workspace = await opened(proxy.through(dsn), tmp_path)
        for task, others in ((lost, 20), (forgotten, 0)):
            dry_run = await dry_run_of(workspace, "wake", [eternaltwin_db.id(task)])
            proxy.fail, proxy.meanwhile = "before", partial(crash, others=others)
            outcomes = await loop.commit(workspace, dry_run, OPERATOR)
            assert outcomes_of(outcomes) == {eternaltwin_db.id(task): UNSENT}
            assert why(outcomes, eternaltwin_db.id(task)) == settle.ROLLED_BACK

        dry_run = await dry_run_of(workspace, "wake", [eternaltwin_db.id(kept)])
        proxy.fail, proxy.meanwhile = "after", crash
        outcomes = await loop.commit(workspace, dry_run, OPERATOR)
        assert outcomes_of(outcomes) == {eternaltwin_db.id(kept): CHANGED}
        assert outcomes.xid
        entries, _ = await workspace.audit_log.page()
        assert outcomes_of(entries[0].results) == {eternaltwin_db.id(kept): CHANGED}
        await workspace.close()

    eternaltwin_db = await EternaltwinDb.open(dsn)
    assert [(await eternaltwin_db.row(task))["status"] for task in (lost, forgotten)] == ["Blocked"] * 2
    assert (await eternaltwin_db.row(kept))["status"] == "Available"
    await eternaltwin_db.connection.close()


@pytest.mark.parametrize("place", most_in_proof(["table", "file"]))
async def test_killed_in_the_middle_of_commit(own_server: PostgresServer, tmp_path: Path, place: str) -> None:
    """COMMIT has written its record, and waits for a standby, when the server crashes."""
    dsn = own_server.fresh("eternaltwin")
    eternaltwin_db = await EternaltwinDb.open(dsn)
    if place == "table":
        await eternaltwin_db.sql(audit_log.ddl())
    task = await eternaltwin_db.task(status="Blocked", timer=60)
    node = eternaltwin_db.id(task)
    workspace = await opened(dsn, tmp_path)
    dry_run = await dry_run_of(workspace, "wake", [node])
    await eternaltwin_db.sql("ALTER SYSTEM SET synchronous_standby_names = 'missing'")
    await eternaltwin_db.sql("SELECT pg_reload_conf()")
    async with asyncio.timeout(60):
        while await eternaltwin_db.value("SHOW synchronous_standby_names") != "missing":
            await asyncio.sleep(0)
        at_it = asyncio.create_task(loop.commit(workspace, dry_run, OPERATOR))
        while not await eternaltwin_db.value("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"):
            await asyncio.sleep(0)
    await eternaltwin_db.sql("ALTER SYSTEM RESET synchronous_standby_names")
    await eternaltwin_db.connection.close()
    await asyncio.to_thread(own_server.halt, "immediate")
    await asyncio.to_thread(own_server.start)
    outcomes = await at_it
    assert outcomes_of(outcomes) == {node: CHANGED}, outcomes.results
    entries, _ = await workspace.audit_log.page()
    assert [outcomes_of(entry.results) for entry in entries] == [{node: CHANGED}]
    await workspace.close()
    eternaltwin_db = await EternaltwinDb.open(dsn)
    assert (await eternaltwin_db.row(task))["status"] == "Available"
    await eternaltwin_db.connection.close()


async def test_an_id_that_was_given_twice_settles_nothing(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Use the id of another session's transaction, committed before a server crash."""
    task = await eternaltwin_db.task()
    theirs = await eternaltwin_db.value(
        "INSERT INTO users VALUES (gen_random_uuid(), now()) RETURNING pg_current_xact_id()::text"
    )
    stale = settle.TransactionMark(xid=str(theirs), life="before the crash", history="", at=0)

    async def lost(transaction: database.Transaction) -> None:
        await transaction.control("ROLLBACK")

    async def mark_of(_: database.Transaction) -> settle.TransactionMark:
        return stale

    monkeypatch.setattr(settle, "mark_of", mark_of)
    monkeypatch.setattr(settle, "send_commit", lost)
    outcomes = await do(workspace, "cancel", [eternaltwin_db.id(task)])
    entries, _ = await page(workspace.audit_log.file, None, 1)
    assert entries[0].xid == theirs
    assert outcomes_of(outcomes) == {eternaltwin_db.id(task): UNSENT}
    assert (await eternaltwin_db.row(task))["status"] == "Available"


# Full disks


@pytest.mark.parametrize("when", ["dry run", "commit"])
async def test_a_full_disk_names_the_node(eternaltwin_db: EternaltwinDb, workspace: Workspace, when: str) -> None:
    node = eternaltwin_db.id(await eternaltwin_db.task())
    full = """
        CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;
        CREATE TRIGGER full_disk BEFORE UPDATE ON task FOR EACH ROW EXECUTE FUNCTION full_disk()
    """
    if when == "dry run":
        await eternaltwin_db.sql(full)
    dry_run = await dry_run_of(workspace, "cancel", [node])
    if when == "commit":
        await eternaltwin_db.sql(full)
    results = dry_run.results if when == "dry run" else (await committed(workspace, dry_run)).results
    ((named, why),) = [(result.id, result.why) for result in results]
    assert named == node
    assert "disk is full" in why
    assert why.endswith("Nothing was changed.")


async def test_a_disk_that_fails_after_commit_does_not_make_it_undone(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert workspace.audit_log.destination is workspace.audit_log.file
    append = workspace.audit_log.file.append
    task = await eternaltwin_db.task()

    def full(entry: audit_log.AuditLogEntry, *, intended: bool, **more: Any) -> None:
        if not intended:
            raise DatabaseError("The disk is full.")
        append(entry, intended=True, **more)

    monkeypatch.setattr(workspace.audit_log.file, "append", full)
    outcomes = await do(workspace, "cancel", [eternaltwin_db.id(task)])
    assert outcomes_of(outcomes) == {eternaltwin_db.id(task): CHANGED}
    assert (await eternaltwin_db.row(task))["status"] == "Complete"
    entries, _ = await workspace.audit_log.page()
    assert [outcomes_of(e.results) for e in entries] == [{eternaltwin_db.id(task): UNKNOWN}], (
        "an intent alone proves nothing"
    )


@proof
@pytest.mark.parametrize("place", most_in_proof(["table", "file"]))
async def test_the_outcomes_of_parts_are_true_when_connections_are_lost(
    eternaltwin_db: EternaltwinDb,
    eternaltwin: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
) -> None:
    """Terminate the connections many times, at random moments."""
    if place == "table":
        await eternaltwin_db.sql(audit_log.ddl())
    workspace = await opened(eternaltwin, tmp_path)
    tasks = await eternaltwin_db.tasks([await eternaltwin_db.job()] * 400, status="Blocked", timer=60)
    dry_run = await dry_run_of(workspace, "wake", await seen(workspace, map(eternaltwin_db.id, tasks)))
    monkeypatch.setattr(parts, "PART_NODES", 5)
    over = asyncio.Event()

    async def kill() -> None:
        kills = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'unstick'"
        killer = await asyncpg.connect(eternaltwin)
        while place == "table" and await killer.fetchval("SELECT count(*) FROM unstick.audit_log") < 2:
            await asyncio.sleep(0.001)  # a run that loses its beginning is none: nothing is changed, and that is said
        while not over.is_set():
            await killer.execute(f"{kills} AND datname = current_database() AND random() < 0.05")
            await asyncio.sleep(0.001)  # otherwise few parts survive where connecting is slow
        await killer.close()

    killing = asyncio.create_task(kill())
    outcomes = await loop.commit(workspace, dry_run, OPERATOR)
    over.set()
    await killing
    entries, _ = await workspace.audit_log.page(limit=1000)
    await workspace.close()
    changed = {id_ for id_, outcome in outcomes_of(outcomes).items() if outcome is CHANGED}
    woken = await eternaltwin_db.connection.fetch("SELECT task_id FROM task WHERE status = 'Available'")
    assert {eternaltwin_db.id(row[0]) for row in woken} == changed
    if place == "table":
        assert len(changed) == 400, "what a lost connection has left is done over the next"
    assert {r.id for e in entries for r in e.results if r.outcome is CHANGED} == changed
