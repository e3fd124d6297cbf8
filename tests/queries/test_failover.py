"""Failovers: changes lost by a new primary, and commits not yet on a standby."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from queries.actions import attempt, parts
from queries.db import database
from queries.db.database import Database
from queries.records.action import Outcome, Result
from queries.records.audit import AuditLogEntry
from queries.runs import launch
from queries.runs.runner import Runner
from queries.workspace import Workspace
from queries.write import audit_log, commit_status
from queries.write.audit_log import EntryProof
from queries.write.commit_status import ABORTED, COMMITTED
from queries.write.failover import Committed, Journal
from queries.write.transaction_mark import TransactionMark
from tests.db.eternaltwin import EternaltwinDb
from tests.proof import most_in_proof
from tests.queries.builders import OPERATOR, do, dry_run_of, opened, outcomes_of, seen, steps, why
from tests.servers import PostgresServer

CHANGED, LOST, UNKNOWN = Outcome.CHANGED, Outcome.LOST, Outcome.UNKNOWN
NODES = 200
UNANSWERED = attempt.UNANSWERED.format(standbys="missing")
UNREPLICATED = attempt.UNREPLICATED.format(standbys="missing")


async def filled(dsn: str, *, table: bool, nodes: int = NODES) -> list[str]:
    eternaltwin_db = await EternaltwinDb.open(dsn)
    if table:
        await eternaltwin_db.sql(audit_log.ddl())
    tasks = await eternaltwin_db.tasks([await eternaltwin_db.job()] * nodes, status="Blocked", timer=3600)
    await eternaltwin_db.connection.close()
    return [eternaltwin_db.id(task) for task in tasks]


async def awake(dsn: str) -> set[str]:
    connection = await asyncpg.connect(dsn)
    rows = await connection.fetch("SELECT task_id FROM task WHERE status = 'Available'")
    await connection.close()
    return {EternaltwinDb.id(row[0]) for row in rows}


def ever_lost(folder: Path) -> set[str]:
    """Return the nodes that the local audit log names as lost."""
    path = folder / "audit_log.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines() if line] if path.exists() else []
    return {result["id"] for line in lines for result in line["results"] if result["outcome"] == LOST}


async def bulk(workspace: Workspace, ids: list[str]) -> AsyncIterator[tuple[int, Runner]]:
    """Run a bulk action; yield the number of nodes done, and the runner."""
    dry_run = await dry_run_of(workspace, "wake", await seen(workspace, ids))
    async for progress in steps(workspace, dry_run):
        yield progress.done, progress.runner


# What a new primary does not have


async def test_the_order_of_commits_tells_what_the_server_cannot(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(workspace.database, workspace.audit_log.file)
    order = {  # by xid: when COMMIT was sent and answered, and what the server says
        "1": (1, 2, "not asked"),
        "2": (3, 4, COMMITTED),
        "3": (5, 6, commit_status.UNKNOWN),
        "4": (7, 9, ABORTED),
        "5": (8, 12, commit_status.UNKNOWN),
        "6": (10, 11, commit_status.UNKNOWN),
    }

    async def answer(_: Database, mark: TransactionMark, *more: object, **sure: bool) -> str:
        return order[mark.xid][2]

    monkeypatch.setattr(commit_status, "status_now", answer)
    for xid, (sent, answered, _) in order.items():
        entry = AuditLogEntry(
            id=xid,
            at=0.0,
            role="",
            os_user="",
            host="",
            engine="eternaltwin",
            schema="public",
            action="wake",
            reason="",
            results=(Result(id=xid, outcome=CHANGED),),
        )
        mark = TransactionMark(xid=xid, life="before", history="before", at=0.0)
        proof = EntryProof(entry=entry)
        durability = mark.durability
        done = Committed(mark=mark, proof=proof, entry=entry, durability=durability, sent=sent, answered=answered)
        journal.add(done)
    await journal.check()
    assert outcomes_of(journal.corrected) == {"3": UNKNOWN, "4": LOST, "5": UNKNOWN, "6": LOST}


@pytest.mark.parametrize("place", most_in_proof(["table", "file"]))
async def test_parts_that_a_failover_has_lost_are_changed_again(
    own_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setattr(parts, "PART_NODES", 10)
    dsn = own_server.fresh("eternaltwin")
    ids = await filled(dsn, table=place == "table")
    workspace = await opened(dsn, tmp_path)
    kept = fell = False
    async for done, runner in bulk(workspace, ids):  # noqa: B007 - used after the loop
        if done >= 50 and not kept:
            kept = True
            await asyncio.to_thread(own_server.keep)
        if done >= 120 and not fell:
            fell = True
            await asyncio.to_thread(own_server.fall_back)
    assert await awake(dsn) == set(ids)
    assert outcomes_of(runner.total.results) == dict.fromkeys(ids, CHANGED)
    assert len(runner.total.results) == len(ids), "each once"
    assert len(runner.lost) >= 50
    assert ever_lost(tmp_path) == runner.lost
    assert workspace.audit_log.journal.corrected == [], "the run has done them again"
    lost = [each for each in await workspace.audit_log.receipts() if each.lost]
    assert lost == [], "so they are not said to be gone"
    await workspace.close()


@pytest.mark.parametrize("seed", most_in_proof(range(4)))
async def test_a_streaming_pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Stop the primary during a bulk action and promote its standby.

    In half of the cases replication was cut before.
    """
    monkeypatch.setattr(parts, "PART_NODES", 10)
    rng = random.Random(seed)
    primary = PostgresServer()
    primary.start()
    replica = primary.replica()
    try:
        dsn = primary.fresh("eternaltwin")
        ids = await filled(dsn, table=bool(seed & 1), nodes=2 * NODES)
        hosts = f"127.0.0.1:{primary.port},127.0.0.1:{replica.port}"
        pair = dsn.replace(f"127.0.0.1:{primary.port}", hosts) + "?target_session_attrs=read-write"
        second = dsn.replace(f":{primary.port}/", f":{replica.port}/")
        workspace = await opened(pair, tmp_path)
        cut, dies = rng.randint(20, 80), rng.randint(90, 160)
        cuts = bool(seed & 2)

        async def fail_over() -> None:
            await asyncio.sleep(rng.uniform(0, 0.05))
            await asyncio.to_thread(primary.halt, "immediate")
            await asyncio.to_thread(replica.sql, "SELECT pg_promote()")

        over: asyncio.Task[None] | None = None
        async with asyncio.timeout(120):
            async for done, runner in bulk(workspace, ids):  # noqa: B007 - used after the loop
                if done >= cut and cuts:
                    cuts = False
                    await asyncio.to_thread(replica.sql, "ALTER SYSTEM SET primary_conninfo = ''")
                    await asyncio.to_thread(replica.sql, "SELECT pg_reload_conf()")
                    await asyncio.to_thread(until_cut, replica)
                if done >= dies and over is None:
                    over = asyncio.create_task(fail_over())
                if done >= 2 * dies and over is not None:
                    await over  # the bulk must not end before the failover
            assert over is not None
        assert await awake(second) == set(ids)
        assert outcomes_of(runner.total.results) == dict.fromkeys(ids, CHANGED)
        assert bool(runner.lost) or not seed & 2
        assert ever_lost(tmp_path) == runner.lost
        await workspace.close()
    finally:
        replica.close()
        primary.close()


def until_cut(replica: PostgresServer) -> None:
    while replica.sql("SELECT FROM pg_stat_wal_receiver WHERE status = 'streaming'") != "SELECT 0":
        pass


async def test_what_the_engine_has_gone_on_with_is_not_reported_as_lost(
    own_server: PostgresServer, tmp_path: Path
) -> None:
    """Restart the server, then lose only the last change in a failover."""
    dsn = own_server.fresh("eternaltwin")
    first, second, last = await filled(dsn, table=False, nodes=3)
    workspace = await opened(dsn, tmp_path)
    for one in (first, second):
        assert outcomes_of(await do(workspace, "wake", [one])) == {one: CHANGED}
    await asyncio.to_thread(
        own_server.sql, "UPDATE task SET status = 'Complete', revision = 9 WHERE status = 'Available'", dsn
    )
    await asyncio.to_thread(own_server.keep)
    await workspace.database.renew()
    assert workspace.audit_log.journal.doubtful
    await workspace.audit_log.journal.check()
    assert not workspace.audit_log.journal.doubtful
    assert workspace.audit_log.journal.corrected == []

    assert outcomes_of(await do(workspace, "wake", [last])) == {last: CHANGED}
    await asyncio.to_thread(own_server.fall_back)
    with_ids = "SELECT pg_current_xact_id()"
    for _ in range(5):  # the id of the lost one is given to another
        await asyncio.to_thread(own_server.sql, f"{with_ids}; CREATE TABLE IF NOT EXISTS mine ()", dsn)
    await workspace.database.renew()
    await workspace.audit_log.journal.check()
    outcomes = outcomes_of(workspace.audit_log.journal.corrected)
    assert outcomes.pop(last) is LOST
    assert set(outcomes.values()) <= {UNKNOWN}, "their rows are neither as they were nor as they were left"
    await workspace.close()


# What no standby has


@pytest.fixture
async def alone(own_server: PostgresServer) -> AsyncIterator[tuple[str, asyncpg.Connection, str]]:
    """DSN, connection and task of a database whose synchronous standby does not exist.

    The connection writes nothing, so it never waits for the standby.
    """
    dsn = own_server.fresh("eternaltwin")
    (task,) = await filled(dsn, table=False, nodes=1)
    await asyncio.to_thread(own_server.sql, "ALTER SYSTEM SET synchronous_standby_names = 'missing'")
    await asyncio.to_thread(own_server.sql, "SELECT pg_reload_conf()")
    connection = await asyncpg.connect(dsn)
    while await connection.fetchval("SHOW synchronous_standby_names") != "missing":
        pass
    yield dsn, connection, task
    await connection.close()


async def test_a_wait_for_a_standby_that_was_cancelled_is_said(
    alone: tuple[str, asyncpg.Connection, str], tmp_path: Path
) -> None:
    dsn, connection, task = alone
    workspace = await opened(dsn, tmp_path)
    waking = asyncio.create_task(do(workspace, "wake", [task]))
    async with asyncio.timeout(60):
        while not await connection.fetchval(
            "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        ):
            pass
    outcomes = await waking
    assert (outcomes_of(outcomes), why(outcomes, task)) == ({task: CHANGED}, UNREPLICATED)
    ((entry,), _) = await workspace.audit_log.page()
    assert [r.why for r in entry.results] == [UNREPLICATED]
    await workspace.close()


async def test_a_commit_that_was_not_waited_for_says_so(
    alone: tuple[str, asyncpg.Connection, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dsn, _, task = alone
    workspace = await opened(dsn, tmp_path)
    dry_run = await dry_run_of(workspace, "wake", [task])
    monkeypatch.setattr(database, "GRACE_SECONDS", 0.5)
    monkeypatch.setattr(database, "WRITE_SECONDS", 2.0)
    outcomes = await launch.commit(workspace, dry_run, OPERATOR)
    assert (outcomes_of(outcomes), why(outcomes, task)) == ({task: CHANGED}, UNANSWERED)
    assert await awake(dsn) == {task}
    await workspace.close()


async def test_nothing_is_said_where_no_standby_is_waited_for(
    eternaltwin_db: EternaltwinDb, workspace: Workspace
) -> None:
    task = eternaltwin_db.id(await eternaltwin_db.task(status="Blocked", timer=60))
    outcomes = await do(workspace, "wake", [task])
    assert (outcomes_of(outcomes), why(outcomes, task)) == ({task: CHANGED}, "")
