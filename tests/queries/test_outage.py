"""Bulk actions that lose their server: waiting, resuming, and another console."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import asyncpg
import pytest

from queries.change import loop
from queries.change import plan as parts
from queries.change import run as runs
from queries.db.errors import NO_CONNECTION
from queries.db.transaction import Transaction
from queries.log import audit_log, settle
from queries.log.log_file import LogFile
from queries.records.action import Outcome, Result
from queries.workspace import Workspace
from tests.db.eternaltwin import EternaltwinDb
from tests.proof import most_in_proof
from tests.queries.builders import OPERATOR, dry_run_of, opened, outcomes_of, seen, steps
from tests.servers import PostgresServer

CHANGED, REFUSED, STALE = Outcome.CHANGED, Outcome.REFUSED, Outcome.STALE
NODES, PART = 300, 10


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "PART_NODES", PART)


async def filled(dsn: str, *, table: bool = True) -> tuple[EternaltwinDb, list[str]]:
    eternaltwin_db = await EternaltwinDb.open(dsn)
    if table:
        await eternaltwin_db.sql(audit_log.ddl())
    tasks = await eternaltwin_db.tasks([await eternaltwin_db.job()] * NODES, status="Blocked", timer=3600)
    return eternaltwin_db, [eternaltwin_db.id(task) for task in tasks]


async def woken(dsn: str) -> tuple[set[str], set[int]]:
    """Return the ids of the tasks that are awake, and their revisions.

    A wake does not change the revision, so only the audit log shows whether a task was woken twice.
    """
    connection = await asyncpg.connect(dsn)
    rows = await connection.fetch("SELECT task_id, revision FROM task WHERE status = 'Available'")
    await connection.close()
    return {EternaltwinDb.id(row[0]) for row in rows}, {row[1] for row in rows}


async def entered(workspace: Workspace) -> list[str]:
    """Return the id of every change in the audit log, duplicates included."""
    entries, _ = await workspace.audit_log.page(limit=1000)
    return [r.id for e in entries for r in e.results if r.outcome is CHANGED]


@pytest.mark.parametrize("seed", most_in_proof(range(6)))
async def test_a_bulk_outlives_a_restart_of_its_server(own_server: PostgresServer, tmp_path: Path, seed: int) -> None:
    """Stop the server three times in one bulk action, at random moments.

    The shutdown modes are fast and immediate.
    """
    rng = random.Random(seed)
    dsn = own_server.fresh("eternaltwin")
    eternaltwin_db, ids = await filled(dsn)
    await eternaltwin_db.connection.close()
    workspace = await opened(dsn, tmp_path)
    dry_run = await dry_run_of(workspace, "wake", await seen(workspace, ids))
    outages = sorted(rng.sample(range(20, NODES - 40), 3))
    results: list[Result] = []
    waited = 0
    down: asyncio.Task[None] | None = None

    async def outage() -> None:
        await asyncio.sleep(rng.uniform(0, 0.02))
        await asyncio.to_thread(own_server.halt, rng.choice(["fast", "immediate"]))
        await asyncio.sleep(rng.uniform(0, 1.0))
        await asyncio.to_thread(own_server.start)

    async with asyncio.timeout(240):
        async for progress in steps(workspace, dry_run):
            results += progress.results
            waited += progress.waits is not None
            if outages and progress.done >= outages[0] and (down is None or down.done()):
                outages.pop(0)
                down = asyncio.create_task(outage())
        if down is not None:
            await down
    assert sorted(r.id for r in results) == sorted(ids), "each once"
    assert {r.outcome for r in results} == {CHANGED}
    assert waited
    assert (await woken(dsn))[0] == set(ids)
    assert sorted(await entered(workspace)) == sorted(ids)
    assert (await runs.listed(workspace, 9, open_only=True)).runs == ()
    await workspace.close()


def lose_the_fifth(
    monkeypatch: pytest.MonkeyPatch, own_server: PostgresServer, arrived: bool | None, *, back: bool
) -> list[int]:
    """Halt the server at the fifth COMMIT, before or after it ``arrived``.

    ``back``: and start it. Return the list of commits.
    """
    sent, commits = settle.send_commit, list[int]()

    async def lost(transaction: Transaction) -> str | None:
        commits.append(1)
        if len(commits) != 5:
            return await sent(transaction)
        if arrived:
            assert await sent(transaction) == settle.COMMITTED
        await asyncio.to_thread(own_server.halt, "immediate")
        if back:
            await asyncio.to_thread(own_server.start)
        return None

    monkeypatch.setattr(settle, "send_commit", lost)
    return commits


@pytest.mark.parametrize("arrived", most_in_proof([True, False]), ids=["arrived", "did not"])
async def test_a_commit_without_an_answer_is_asked_about_when_the_server_is_back(
    own_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arrived: bool
) -> None:
    """Stop the server for longer than the console first asks about the commit.

    No outcome is unknown, and no node is changed twice.
    """
    monkeypatch.setattr(settle, "OUTAGE_AFTER_SECONDS", 0.1)
    dsn = own_server.fresh("eternaltwin")
    eternaltwin_db, ids = await filled(dsn)
    await eternaltwin_db.connection.close()
    workspace = await opened(dsn, tmp_path)
    dry_run = await dry_run_of(workspace, "wake", await seen(workspace, ids))
    commits = lose_the_fifth(monkeypatch, own_server, arrived, back=False)
    results, pauses = [], 0
    async for progress in steps(workspace, dry_run):
        results += progress.results
        if progress.waits is not None:
            pauses += 1
            if pauses == 3:
                await asyncio.to_thread(own_server.start)
    assert sorted(r.id for r in results) == sorted(ids), "each once"
    assert {r.outcome for r in results} == {CHANGED}
    assert len(commits) >= NODES // PART + (not arrived)
    assert (await woken(dsn))[0] == set(ids)
    assert sorted(await entered(workspace)) == sorted(ids)
    assert (await runs.listed(workspace, 9, open_only=True)).runs == ()
    await workspace.close()


async def test_waiting_can_be_stopped_and_the_rest_be_continued(own_server: PostgresServer, tmp_path: Path) -> None:
    dsn = own_server.fresh("eternaltwin")
    eternaltwin_db, ids = await filled(dsn)
    await eternaltwin_db.connection.close()
    workspace = await opened(dsn, tmp_path)
    dry_run = await dry_run_of(workspace, "wake", await seen(workspace, ids))
    results, pauses, halted = [], [], False
    async for progress in steps(workspace, dry_run):
        results += progress.results
        if progress.done >= 50 and not halted:
            halted = True
            await asyncio.to_thread(own_server.halt, "immediate")
        if progress.waits is not None:
            assert progress.loop.error_text
            pauses.append(progress.waits)
            if len(pauses) == 2:
                progress.loop.leave()
    assert len(pauses) == 2
    done = {r.id for r in results}
    assert {r.outcome for r in results} == {CHANGED}
    left = {r.id: r.outcome for r in progress.loop.unfinished()}
    assert left.keys() == set(ids) - done
    assert set(left.values()) <= {REFUSED, Outcome.UNKNOWN}
    await asyncio.to_thread(own_server.start)
    await workspace.database.renew()
    (listed,) = (await runs.listed(workspace, 9, open_only=True)).runs
    assert listed.nodes == NODES
    assert listed.changed >= len(done), "what was in doubt may have been committed"

    colleague = await opened(dsn, tmp_path / "another machine")
    rest = await continued(colleague, listed.run)
    assert sorted(r.id for r in rest) == sorted(ids)
    assert {r.outcome for r in rest} == {CHANGED}
    assert sorted(await entered(workspace)) == sorted(ids)
    assert (await runs.listed(workspace, 9, open_only=True)).runs == ()
    await colleague.close()
    await workspace.close()


async def continued(workspace: Workspace, name: str) -> list[Result]:
    """Continue a run. Return the outcomes of all of its nodes."""
    run = await runs.load(workspace, name)
    versions = {member.id: member.version for member in run.plan.members}
    left = (await loop.look(workspace, run, settled=True)).pending
    dry_run = await dry_run_of(workspace, "wake", {i: versions[i] for i in left})
    found: list[Result] = []
    async for progress in steps(workspace, dry_run, run):
        found = list(progress.loop.state.results.values())
    return found


async def test_a_server_that_stays_away_is_given_up(
    own_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "OUTAGE_SECONDS", 0.5)
    dsn = own_server.fresh("eternaltwin")
    eternaltwin_db, ids = await filled(dsn)
    await eternaltwin_db.connection.close()
    workspace = await opened(dsn, tmp_path)
    dry_run = await dry_run_of(workspace, "wake", await seen(workspace, ids))
    halted = False

    async def change() -> None:
        nonlocal halted
        async for progress in steps(workspace, dry_run):
            if progress.done >= 50 and not halted:
                halted = True
                await asyncio.to_thread(own_server.halt, "immediate")

    with pytest.raises(NO_CONNECTION):
        await change()
    assert halted
    await asyncio.to_thread(own_server.start)
    await workspace.database.renew()
    assert [each.nodes for each in (await runs.listed(workspace, 9, open_only=True)).runs] == [NODES]
    await workspace.close()


async def test_a_bulk_waits_for_a_primary(own_server: PostgresServer, tmp_path: Path) -> None:
    """Restart the server as a standby and promote it later."""
    dsn = own_server.fresh("eternaltwin")
    eternaltwin_db, ids = await filled(dsn)
    await eternaltwin_db.connection.close()
    workspace = await opened(dsn, tmp_path)
    dry_run = await dry_run_of(workspace, "wake", await seen(workspace, ids))
    results, standby, promoted = [], False, False
    async with asyncio.timeout(120):
        async for progress in steps(workspace, dry_run):
            results += progress.results
            if progress.done >= 50 and not standby:
                await asyncio.to_thread(own_server.standby)
                standby = True
            elif progress.waits is not None and workspace.server.standby and not promoted:
                await asyncio.to_thread(own_server.sql, "SELECT pg_promote()")
                promoted = True
    assert promoted
    assert {r.outcome for r in results} == {CHANGED}
    assert (await woken(dsn))[0] == set(ids) == {r.id for r in results}
    await workspace.close()


# Without the table


@pytest.mark.parametrize("arrived", [True, False, None], ids=["arrived", "did not", "never known"])
async def test_without_the_table_a_bulk_ends_at_the_first_part_that_is_lost(
    own_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arrived: bool | None
) -> None:
    """Each part is settled as far as the server can tell; the rest is not tried."""
    dsn = own_server.fresh("eternaltwin")
    eternaltwin_db, ids = await filled(dsn, table=False)
    await eternaltwin_db.connection.close()
    workspace = await opened(dsn, tmp_path)
    dry_run = await dry_run_of(workspace, "wake", await seen(workspace, ids))
    lose_the_fifth(monkeypatch, own_server, arrived, back=arrived is not None)
    monkeypatch.setattr(settle, "STATUS_SECONDS", 60.0 if arrived is not None else 0.5)
    async for progress in steps(workspace, dry_run):
        assert progress.run is None
    done = outcomes_of(progress.loop.state.results.values())
    doubtful = dict.fromkeys(ids[4 * PART : 5 * PART], Outcome.UNKNOWN if arrived is None else Outcome.UNSENT)
    changed = dict.fromkeys(ids if arrived else ids[: 4 * PART], CHANGED)
    assert done == changed | ({} if arrived else doubtful)
    rest = outcomes_of(progress.loop.unfinished())
    assert rest == dict.fromkeys([i for i in ids if i not in done], REFUSED)
    if arrived is None:
        await asyncio.to_thread(own_server.start)
    assert (await woken(dsn))[0] == set(changed)
    await workspace.database.renew()
    entries, _ = await workspace.audit_log.page(limit=1000)
    assert {r.id: r.outcome for e in entries for r in e.results} == done
    await workspace.close()


async def test_what_a_failover_has_lost_of_a_run_is_done_when_it_is_continued(
    own_server: PostgresServer, tmp_path: Path
) -> None:
    dsn = own_server.fresh("eternaltwin")
    eternaltwin_db, ids = await filled(dsn)
    await eternaltwin_db.connection.close()
    workspace = await opened(dsn, tmp_path)
    dry_run = await dry_run_of(workspace, "wake", await seen(workspace, ids))
    kept = False
    async for progress in steps(workspace, dry_run):
        if progress.done >= 50 and not kept:
            kept = True
            await asyncio.to_thread(own_server.keep)
        if progress.done >= 100:
            progress.loop.leave()
    done = {r.id for r in progress.loop.state.results.values()}
    await workspace.close()
    await asyncio.to_thread(own_server.fall_back)
    lost = done - (await woken(dsn))[0]
    assert lost
    workspace = await opened(dsn, tmp_path)
    assert progress.run is not None
    assert set(outcomes_of(await continued(workspace, progress.run.log.id)).values()) == {CHANGED}
    assert (await woken(dsn))[0] == set(ids)
    await workspace.close()


async def test_intents_without_an_outcome_are_reported_at_the_start(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = await opened(eternaltwin, tmp_path)
    assert await runs.messages(workspace) == []
    monkeypatch.setattr(LogFile, "settle", lambda *_: None)  # as where the console is killed before it
    task = eternaltwin_db.id(await eternaltwin_db.task(status="Blocked", timer=60))
    await loop.commit(workspace, await dry_run_of(workspace, "wake", [task]), OPERATOR)
    await workspace.close()
    again = await opened(eternaltwin, tmp_path)
    assert len(await runs.messages(again)) == 1
    await again.close()
