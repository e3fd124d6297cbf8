"""Failovers: changes lost by a new primary, and commits not yet on a standby."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from console.cli.output import answered
from queries.change import loop
from queries.change import plan as parts
from queries.change import run as runs
from queries.change import transaction as attempt
from queries.change.loop import Loop
from queries.db import database
from queries.db.transaction import Transaction
from queries.log import audit_log, settle
from queries.records.action import Outcome
from queries.workspace import Workspace
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


async def bulk(workspace: Workspace, ids: list[str]) -> AsyncIterator[tuple[int, Loop]]:
    """Run a bulk action; yield the number of nodes done, and the loop."""
    dry_run = await dry_run_of(workspace, "wake", await seen(workspace, ids))
    async for progress in steps(workspace, dry_run):
        yield progress.done, progress.loop


# What a new primary does not have


async def test_parts_that_a_failover_has_lost_are_changed_again(
    own_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "PART_NODES", 10)
    dsn = own_server.fresh("eternaltwin")
    ids = await filled(dsn, table=True)
    workspace = await opened(dsn, tmp_path)
    kept = fell = False
    async for done, change in bulk(workspace, ids):  # noqa: B007 - used after the loop
        if done >= 50 and not kept:
            kept = True
            await asyncio.to_thread(own_server.keep)
        if done >= 120 and not fell:
            fell = True
            await asyncio.to_thread(own_server.fall_back)
    assert await awake(dsn) == set(ids)
    assert outcomes_of(change.state.results.values()) == dict.fromkeys(ids, CHANGED)
    assert len(change.state.results) == len(ids), "each once"
    assert len(change.lost) >= 50
    lost = [each for each in await workspace.audit_log.lacking() if each.lost]
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
        ids = await filled(dsn, table=True, nodes=2 * NODES)
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
            async for done, change in bulk(workspace, ids):  # noqa: B007 - used after the loop
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
        assert outcomes_of(change.state.results.values()) == dict.fromkeys(ids, CHANGED)
        assert bool(change.lost) or not seed & 2
        await workspace.close()
    finally:
        replica.close()
        primary.close()


def until_cut(replica: PostgresServer) -> None:
    while replica.sql("SELECT FROM pg_stat_wal_receiver WHERE status = 'streaming'") != "SELECT 0":
        pass


async def test_what_the_engine_has_gone_on_with_is_not_lost(own_server: PostgresServer, tmp_path: Path) -> None:
    """Restart the server, then lose only the last change in a failover."""
    dsn = own_server.fresh("eternaltwin")
    first, second, last = await filled(dsn, table=True, nodes=3)
    workspace = await opened(dsn, tmp_path)
    log = workspace.audit_log
    for one in (first, second):
        assert outcomes_of(await do(workspace, "wake", [one])) == {one: CHANGED}
    await asyncio.to_thread(
        own_server.sql, "UPDATE task SET status = 'Complete', revision = 9 WHERE status = 'Available'", dsn
    )
    await asyncio.to_thread(own_server.keep)
    await workspace.database.renew()
    assert await log.news() == []

    assert outcomes_of(await do(workspace, "wake", [last])) == {last: CHANGED}
    await asyncio.to_thread(own_server.fall_back)
    with_ids = "SELECT pg_current_xact_id(), nextval('unstick.audit_log_id_seq')"
    for _ in range(5):  # the ids of the lost one are given to others
        await asyncio.to_thread(own_server.sql, with_ids, dsn)
    await workspace.database.renew()
    (lost,) = await log.news()
    assert f"Lost in a failover: wake of {last} at " in lost
    assert await log.news() == [], "it is said once"
    assert [outcomes_of(entry.results) for entry in log.lost] == [{last: LOST}]
    await workspace.close()


async def test_a_missing_entry_of_the_same_server_is_no_failover(own_server: PostgresServer, tmp_path: Path) -> None:
    """Its owner has removed it. The id is given to another entry."""
    dsn = own_server.fresh("eternaltwin")
    first, second = await filled(dsn, table=True, nodes=2)
    workspace = await opened(dsn, tmp_path)
    for one in (first, second):
        await do(workspace, "wake", [one])
    change = "UPDATE unstick.audit_log SET id = {}, reason = 'x' WHERE id = 2"
    await asyncio.to_thread(own_server.sql, "ALTER TABLE unstick.audit_log ALTER id SET GENERATED BY DEFAULT", dsn)
    assert await workspace.audit_log.lacking() == ()
    await asyncio.to_thread(own_server.sql, change.format(2), dsn)
    (missing,) = await workspace.audit_log.lacking()
    assert (missing.fate, missing.changed) == ("missing", {second})
    assert "The entry is missing from the audit log: the change may still be there." in missing.sentence()
    (said,) = await workspace.audit_log.news()
    assert second in said
    assert workspace.audit_log.lost == []
    await workspace.close()


@pytest.mark.parametrize("answered", [True, False])
async def test_without_the_table_it_cannot_be_known(
    own_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answered: bool
) -> None:
    dsn = own_server.fresh("eternaltwin")
    (one,) = await filled(dsn, table=False, nodes=1)
    workspace = await opened(dsn, tmp_path)
    await do(workspace, "wake", [one])
    if not answered:  # the console was killed before it wrote the outcome
        path = workspace.audit_log.file.path
        path.write_text(path.read_text().splitlines(keepends=True)[0])
    await asyncio.to_thread(own_server.keep)
    await workspace.database.renew()
    assert await workspace.audit_log.news() == [], "a restart loses nothing"
    monkeypatch.setattr(settle, "STATUS_SECONDS", -1.0)
    await asyncio.to_thread(own_server.fall_back)
    await workspace.database.renew()
    assert len(await runs.messages(workspace)) == (not answered), "if nothing has named it"
    (said,) = await workspace.audit_log.news()
    assert f"Unknown: the server cannot tell if it has wake of {one} at " in said
    assert await runs.messages(workspace) == [], "once"
    await workspace.close()


@pytest.mark.parametrize("place", ["table", "file"])
@pytest.mark.parametrize("arrived", [True, False])
async def test_a_lost_answer_is_settled_by_the_next_session(
    own_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, arrived: bool
) -> None:
    dsn = own_server.fresh("eternaltwin")
    (one,) = await filled(dsn, table=place == "table", nodes=1)
    workspace = await opened(dsn, tmp_path)
    send = settle.send_commit

    async def lost(transaction: Transaction) -> None:
        if arrived:
            await send(transaction)
        else:
            await transaction.control("ROLLBACK")

    async def unknown(*_: object, **more: object) -> settle.CommitStatus:
        return settle.CommitStatus(status=settle.UNKNOWN)

    with monkeypatch.context() as patch:
        patch.setattr(settle, "send_commit", lost)
        patch.setattr(settle, "wait_for_status", unknown)
        assert outcomes_of(await do(workspace, "wake", [one])) == {one: UNKNOWN}
    await workspace.close()
    again = await opened(dsn, tmp_path, context="prod")  # the receipt names no context
    (settled,) = await again.audit_log.news()
    assert f"Settled: wake of {one} at " in settled
    assert settled.endswith("was committed." if arrived else "was rolled back, so it changed nothing.")
    assert (await awake(dsn) == {one}) is arrived
    entries, _ = await again.audit_log.page()
    settled = [] if place == "table" and not arrived else [{one: CHANGED if arrived else Outcome.UNSENT}]
    assert [outcomes_of(entry.results) for entry in entries] == settled
    assert await again.audit_log.lacking() == ()
    await again.close()


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
    outcomes = await loop.commit(workspace, dry_run, OPERATOR)
    assert (outcomes_of(outcomes), why(outcomes, task)) == ({task: CHANGED}, UNANSWERED)
    assert await awake(dsn) == {task}
    await workspace.close()


async def test_nothing_is_said_where_no_standby_is_waited_for(
    eternaltwin_db: EternaltwinDb, workspace: Workspace
) -> None:
    task = eternaltwin_db.id(await eternaltwin_db.task(status="Blocked", timer=60))
    outcomes = await do(workspace, "wake", [task])
    assert (outcomes_of(outcomes), why(outcomes, task)) == ({task: CHANGED}, "")


async def test_the_answer_says_how_certain_each_part_is(
    own_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "PART_NODES", 2)
    dsn = own_server.fresh("eternaltwin")
    ids = await filled(dsn, table=True, nodes=5)
    workspace = await opened(dsn, tmp_path)
    async for done, change in bulk(workspace, ids):
        if done == 2:
            own_server.sql("SELECT pg_create_physical_replication_slot('berlin', true)")
        answer = json.loads(answered(change.state.change()))
    assert (answer["durability"], answer["durable"]) == ("detached", {"local": 2, "detached": 3})
    await workspace.close()
