"""Bulk actions that lose their server: waiting, resuming, and another console."""

from __future__ import annotations

import asyncio
import contextlib
import random
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from queries.actions import bulk, perform, unfinished
from queries.actions.bulk import Progress
from queries.db.database import Transaction
from queries.db.errors import DatabaseError
from queries.records.action import DryRun, Outcome, Result
from queries.workspace import Workspace
from queries.write import audit_log, bulk_list, commit_status
from queries.write.bulk_list import BulkList
from tests.db.eternaltwin import LABEL, EternaltwinDb
from tests.proof import most_in_proof
from tests.queries.builders import OPERATOR, dry_run_of, opened, outcomes_of, seen
from tests.servers import PostgresServer

CHANGED, REFUSED, STALE = Outcome.CHANGED, Outcome.REFUSED, Outcome.STALE
NODES, CHUNK = 300, 10


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perform, "CHUNK_NODES", CHUNK)
    monkeypatch.setattr(perform, "LARGE", 1)


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
    entries, _ = await workspace.audit_entries(page=1000)
    return [r.id for e in entries for r in e.results if r.outcome is CHANGED]


def steps(
    workspace: Workspace, dry_run: DryRun, stop: asyncio.Event | None = None, going: BulkList | None = None
) -> AsyncIterator[Progress]:
    return perform.bulk(workspace, dry_run, OPERATOR, stop or asyncio.Event(), going)


@pytest.mark.parametrize("seed", most_in_proof(range(6)))
async def test_a_bulk_outlives_a_restart_of_its_server(own_server: PostgresServer, tmp_path: Path, seed: int) -> None:
    """Stop the server three times in one bulk action, at random moments.

    The shutdown modes are fast and immediate. The audit log is a table or a file.
    """
    rng = random.Random(seed)
    dsn = own_server.fresh("eternaltwin")
    eternaltwin_db, ids = await filled(dsn, table=bool(seed % 2))
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
            results += progress.chunk.results
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
    assert list(bulk_list.unfinished(workspace.bulks, workspace.server)) == []
    await workspace.close()


@pytest.mark.parametrize("table", [True, False], ids=["table", "file"])
@pytest.mark.parametrize("arrived", most_in_proof([True, False]), ids=["arrived", "did not"])
async def test_a_commit_without_an_answer_is_asked_about_when_the_server_is_back(
    own_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arrived: bool, table: bool
) -> None:
    """Stop the server for longer than the console first asks about the commit.

    No outcome is unknown, and no node is changed twice.
    """
    monkeypatch.setattr(commit_status, "GONE", 0.1)
    dsn = own_server.fresh("eternaltwin")
    eternaltwin_db, ids = await filled(dsn, table=table)
    await eternaltwin_db.connection.close()
    workspace = await opened(dsn, tmp_path)
    dry_run = await dry_run_of(workspace, "wake", await seen(workspace, ids))
    sent, commits = commit_status.send_commit, []

    async def lost(transaction: Transaction) -> str | None:
        commits.append(1)
        if len(commits) != 5:
            return await sent(transaction)
        if arrived:
            assert await sent(transaction) == commit_status.COMMITTED
        await asyncio.to_thread(own_server.halt, "immediate")
        return None

    monkeypatch.setattr(commit_status, "send_commit", lost)
    results, pauses = [], 0
    async for progress in steps(workspace, dry_run):
        results += progress.chunk.results
        if progress.waits is not None:
            pauses += 1
            if pauses == 3:
                await asyncio.to_thread(own_server.start)
    assert sorted(r.id for r in results) == sorted(ids), "each once"
    assert {r.outcome for r in results} == {CHANGED}
    assert len(commits) >= NODES // CHUNK + (not arrived)
    assert (await woken(dsn))[0] == set(ids)
    assert sorted(await entered(workspace)) == sorted(ids)
    assert workspace.journal.corrected == []
    assert list(workspace.bulks.iterdir()) == []
    await workspace.close()


async def test_waiting_can_be_stopped_and_the_rest_be_continued(own_server: PostgresServer, tmp_path: Path) -> None:
    dsn = own_server.fresh("eternaltwin")
    eternaltwin_db, ids = await filled(dsn)
    await eternaltwin_db.connection.close()
    workspace = await opened(dsn, tmp_path)
    dry_run = await dry_run_of(workspace, "wake", await seen(workspace, ids))
    stop, results, pauses = asyncio.Event(), [], []
    async for progress in steps(workspace, dry_run, stop):
        results += progress.chunk.results
        if progress.done == 50:
            await asyncio.to_thread(own_server.halt, "immediate")
        if progress.waits is not None:
            assert progress.error_text
            pauses.append(progress.waits)
            if len(pauses) == 2:
                stop.set()
    assert len(pauses) == 2
    done = {r.id for r in results if r.outcome is CHANGED}
    assert {r.outcome for r in results} <= {CHANGED, Outcome.UNKNOWN}
    await asyncio.to_thread(own_server.start)
    await workspace.renew()
    assert [len(one.left) for one in bulk_list.unfinished(workspace.bulks, workspace.server)] == [NODES - len(done)]

    with_list = bulk_list.load(workspace.bulks, progress.bulk, workspace.server)
    recalled = await perform.recall(workspace, with_list)
    assert {r.id for r in recalled} <= {r.id for r in results if r.outcome is Outcome.UNKNOWN}
    done |= {r.id for r in recalled}
    left = with_list.left
    again = bulk_list.remaining(with_list.head, await dry_run_of(workspace, "wake", left), left)
    rest = [r async for step in steps(workspace, again, None, with_list) for r in step.chunk.results]
    assert sorted(r.id for r in rest) == sorted(set(ids) - done)
    assert {r.outcome for r in rest} == {CHANGED}
    assert sorted(await entered(workspace)) == sorted(ids)
    assert list(workspace.bulks.iterdir()) == []
    await workspace.close()


async def test_a_server_that_stays_away_is_given_up(
    own_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "OUTAGE_SECONDS", 0.5)
    dsn = own_server.fresh("eternaltwin")
    eternaltwin_db, ids = await filled(dsn)
    await eternaltwin_db.connection.close()
    workspace = await opened(dsn, tmp_path)
    dry_run = await dry_run_of(workspace, "wake", await seen(workspace, ids))
    last = None
    async for progress in steps(workspace, dry_run):
        last = progress
        if progress.done == 50:
            await asyncio.to_thread(own_server.halt, "immediate")
    assert last is not None
    assert last.given_up
    assert list(workspace.bulks.iterdir()) == [workspace.bulks / f"{last.bulk}.jsonl"]
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
            results += progress.chunk.results
            if progress.done == 50 and not standby:
                await asyncio.to_thread(own_server.standby)
                standby = True
            elif progress.waits is not None and workspace.server.standby and not promoted:
                await asyncio.to_thread(own_server.sql, "SELECT pg_promote()")
                promoted = True
    assert promoted
    assert {r.outcome for r in results} == {CHANGED}
    assert (await woken(dsn))[0] == set(ids) == {r.id for r in results}
    await workspace.close()


# The list


async def begun(workspace: Workspace, ids: list[str]) -> BulkList:
    dry_run = await dry_run_of(workspace, "wake", await seen(workspace, ids))
    schema = workspace.engines[LABEL].found.schema
    return bulk_list.create(workspace.bulks, workspace.server, schema, dry_run)


async def test_a_list_is_private_locked_and_of_one_database(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, server: PostgresServer, tmp_path: Path
) -> None:
    workspace = await opened(eternaltwin, tmp_path)
    list_ = await begun(
        workspace, [eternaltwin_db.id(task) for task in await eternaltwin_db.tasks(await eternaltwin_db.jobs(3))]
    )
    name = list_.head.id
    (path,) = workspace.bulks.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(workspace.bulks.stat().st_mode) == 0o700
    with pytest.raises(DatabaseError, match="another console"):
        bulk_list.load(workspace.bulks, name, workspace.server)
    assert list(bulk_list.unfinished(workspace.bulks, workspace.server)) == []
    list_.close()
    assert [each.head.id for each in bulk_list.unfinished(workspace.bulks, workspace.server)] == [name]
    assert any(name in line for line in unfinished.messages(workspace))

    elsewhere = await opened(server.fresh("eternaltwin"), tmp_path)
    assert list(bulk_list.unfinished(workspace.bulks, elsewhere.server)) == []
    with pytest.raises(DatabaseError, match="belongs to the database"):
        bulk_list.load(workspace.bulks, name, elsewhere.server)
    path.chmod(0o620)
    with pytest.raises(DatabaseError, match="can be written by other users"):
        bulk_list.load(workspace.bulks, name, workspace.server)
    path.chmod(0o600)
    path.rename(tmp_path / "list")
    path.symlink_to(tmp_path / "list")
    with pytest.raises(DatabaseError, match="symbolic link"):
        bulk_list.load(workspace.bulks, name, workspace.server)
    await elsewhere.close()
    await workspace.close()


@pytest.mark.parametrize("place", most_in_proof(["table", "file"]))
@pytest.mark.parametrize("lines", ["all", "torn", "head"])
async def test_a_chunk_without_an_outcome_is_asked_for(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, place: str, lines: str
) -> None:
    """Two chunks were committed and one was rolled back.

    The journal's note of the last chunks is lost, or torn.
    """
    if place == "table":
        await eternaltwin_db.sql(audit_log.ddl())
    workspace = await opened(eternaltwin, tmp_path)
    tasks = await eternaltwin_db.tasks([await eternaltwin_db.job()] * 30, status="Blocked", timer=3600)
    ids = [eternaltwin_db.id(task) for task in tasks]
    dry_run = await dry_run_of(workspace, "wake", await seen(workspace, ids))
    stop = asyncio.Event()
    async with workspace.database.reading():  # one connection only
        async for progress in steps(workspace, dry_run, stop):
            if progress.done == 20:
                stop.set()
    (path,) = workspace.bulks.iterdir()
    kept = path.read_bytes().splitlines(keepends=True)
    notes = [line for line in kept[1:] if line.strip()]
    first, _, second, outcomes = notes
    content = {
        "all": kept[0] + first + second,
        "torn": kept[0] + first + second + outcomes[:-20],
        "head": kept[0] + first[:-30],
    }[lines]
    with path.open("r+b") as file:
        file.truncate()
        file.write(content)
    list_ = bulk_list.load(workspace.bulks, progress.bulk, workspace.server)
    found = await perform.recall(workspace, list_)
    left = list_.left
    assert {r.id for r in found} | set(left) == set(ids)
    assert len(found) == (0 if lines == "head" else 20)
    again = bulk_list.remaining(list_.head, await dry_run_of(workspace, "wake", left), left)
    rest = [r async for step in steps(workspace, again, None, list_) for r in step.chunk.results]
    outcomes_ = outcomes_of([*found, *rest])
    assert [i for i, outcome in outcomes_.items() if outcome is not CHANGED] == (
        [i for i in ids if i not in {r.id for r in rest if r.outcome is CHANGED}] if lines == "head" else []
    )
    assert sorted(await entered(workspace)) == sorted(ids), "nothing was done twice"
    assert list(workspace.bulks.iterdir()) == []
    await workspace.close()


async def test_a_list_that_cannot_be_written_begins_nothing(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    workspace = await opened(eternaltwin, tmp_path)
    tasks = await eternaltwin_db.tasks([await eternaltwin_db.job()] * 30, status="Blocked", timer=3600)
    dry_run = await dry_run_of(workspace, "wake", await seen(workspace, map(eternaltwin_db.id, tasks)))
    workspace.bulks.write_text("in the way")
    with pytest.raises(DatabaseError, match="Nothing was changed"):
        await perform.commit(workspace, dry_run, OPERATOR)
    assert (await woken(eternaltwin))[0] == set()
    await workspace.close()


@pytest.mark.parametrize("place", most_in_proof(["table", "file"]))
async def test_a_bulk_that_is_continued_after_a_failover_reports_what_that_has_lost(
    own_server: PostgresServer, tmp_path: Path, place: str
) -> None:
    dsn = own_server.fresh("eternaltwin")
    eternaltwin_db, ids = await filled(dsn, table=place == "table")
    await eternaltwin_db.connection.close()
    workspace = await opened(dsn, tmp_path)
    dry_run = await dry_run_of(workspace, "wake", await seen(workspace, ids))
    stop, kept, done = asyncio.Event(), False, set()
    async for progress in steps(workspace, dry_run, stop):
        done |= {r.id for r in progress.chunk.results}
        if progress.done >= 50 and not kept:
            kept = True
            await asyncio.to_thread(own_server.keep)
        if progress.done >= 100:
            stop.set()
    await workspace.close()
    await asyncio.to_thread(own_server.fall_back)
    workspace = await opened(dsn, tmp_path)
    with contextlib.closing(bulk_list.load(workspace.bulks, progress.bulk, workspace.server)) as list_:
        found = await perform.recall(workspace, list_)
        assert {r.outcome for r in found} == {Outcome.LOST}
        assert {r.id for r in found} == done - (await woken(dsn))[0]
        assert set(list_.left) == set(ids) - done
    await workspace.close()


async def test_intents_without_an_outcome_are_reported_at_the_start(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = await opened(eternaltwin, tmp_path)
    assert unfinished.messages(workspace) == []
    monkeypatch.setattr(perform, "append_outcome", lambda *_: None)  # as where the console is killed before it
    task = eternaltwin_db.id(await eternaltwin_db.task(status="Blocked", timer=60))
    await perform.commit(workspace, await dry_run_of(workspace, "wake", [task]), OPERATOR)
    await workspace.close()
    again = await opened(eternaltwin, tmp_path)
    assert len(unfinished.messages(again)) == 1
    await again.close()
