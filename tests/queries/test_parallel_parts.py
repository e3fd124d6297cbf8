"""Parallel parts of actions whose nodes are independent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from queries.actions import parts
from queries.contract.builtin import builtin
from queries.db.database import Database
from queries.db.transaction import Transaction
from queries.records.action import DryRun, Outcome
from queries.runs import launch
from queries.runs.runner import Decisions
from queries.workspace import Workspace
from queries.write import audit_log, commit_status
from tests.db.estuary import digest
from tests.db.eternaltwin import EternaltwinDb
from tests.proof import most_in_proof, proof
from tests.queries import plans
from tests.queries.builders import OPERATOR, dry_run_of, opened, outcomes_of, reader, seen, steps
from tests.servers import PostgresServer

CHANGED = Outcome.CHANGED
ROWS = 600
APART = [(s.name, v.name) for s in builtin() for v in s.spec.actions if v.independent]
ARGUMENTS: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("estuary", "wake"): {"regardless": True},
    ("estuary", "drop"): {
        "position": 1,
        "digest": digest('["00:00:00:00:00:00:00:00", {"type":"queued"}]'),
        "decodable": True,
    },
}


@pytest.fixture
async def many(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> AsyncIterator[tuple[Workspace, DryRun]]:
    """Sixty tasks of one job, and the dry run of waking them."""
    await eternaltwin_db.sql(audit_log.ddl())
    workspace = await opened(eternaltwin, tmp_path)
    tasks = await eternaltwin_db.tasks([await eternaltwin_db.job()] * 60, status="Blocked", timer=60)
    yield workspace, await dry_run_of(workspace, "wake", await seen(workspace, map(eternaltwin_db.id, tasks)))
    await workspace.close()


@pytest.mark.parametrize(("name", "action"), most_in_proof(APART, 6))
async def test_two_parts_side_by_side(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, action: str
) -> None:
    """Commit two parts only after both have done everything else.

    Most of the nodes have the same parent.
    """
    dsn = server.fresh(name)
    await plans.fill(dsn, name, ROWS)
    profile = {"profile": "mirror" if action == "mark_failed" else "table"} if name == "agent_jobs" else {}
    workspace = await opened(dsn, tmp_path, overrides={name: profile})
    looks, arguments = reader(workspace, name), ARGUMENTS.get((name, action))
    ids = [n.id for n in (await looks.pages.live(limit=400)).nodes] + [
        x.node.id for x in (await looks.pages.dead()).dead_letters
    ]
    fit = await dry_run_of(workspace, action, ids, arguments, name)
    ids = [id_ for id_, outcome in outcomes_of(fit).items() if outcome is CHANGED][:8]
    dry_run = await dry_run_of(workspace, action, ids, arguments, name)

    monkeypatch.setattr(parts, "PART_NODES", 4)
    both, ended = asyncio.Barrier(2), commit_status.send_commit

    async def together(transaction: Transaction) -> str | None:
        async with asyncio.timeout(60):
            await both.wait()
        return await ended(transaction)

    monkeypatch.setattr(commit_status, "send_commit", together)
    outcomes = await launch.commit(workspace, dry_run, OPERATOR)
    await workspace.close()
    assert outcomes_of(outcomes) == dict.fromkeys(ids, CHANGED)
    assert len(ids) == 8
    assert outcomes.xid is not None
    assert len(outcomes.xid.split()) == 2


async def test_what_has_rows_in_common_goes_one_by_one(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cancel jobs and their tasks in the same action."""
    workspace = await opened(eternaltwin, tmp_path)
    jobs = await eternaltwin_db.jobs(6)
    pairs = zip(jobs, await eternaltwin_db.tasks(jobs), strict=True)
    ids = [id_ for job, task in pairs for id_ in (eternaltwin_db.id(job, "job"), eternaltwin_db.id(task))]
    dry_run = await dry_run_of(workspace, "cancel", ids)
    monkeypatch.setattr(parts, "PART_NODES", 2)
    most = await transactions(workspace, dry_run, monkeypatch)
    await workspace.close()
    assert most == 1


async def transactions(workspace: Workspace, dry_run: DryRun, monkeypatch: pytest.MonkeyPatch) -> int:
    """Commit a dry run; return the highest number of transactions at the same time."""
    now, most, writing = 0, 0, Database.writing

    @asynccontextmanager
    async def counted(self: Database, *where: Any, **more: Any) -> AsyncIterator[Transaction]:
        nonlocal now, most
        async with writing(self, *where, **more) as transaction:
            now += 1
            most = max(most, now)
            yield transaction
            now -= 1

    monkeypatch.setattr(Database, "writing", counted)
    await launch.commit(workspace, dry_run, OPERATOR)
    return most


async def test_a_read_goes_first(
    eternaltwin_db: EternaltwinDb, many: tuple[Workspace, DryRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run one part at a time during a read, without waiting for the read to end."""
    workspace, dry_run = many
    monkeypatch.setattr(parts, "PART_NODES", 10)
    async with asyncio.timeout(60), workspace.database.reading():
        assert await transactions(workspace, dry_run, monkeypatch) == 1
    assert await eternaltwin_db.value("SELECT count(*) FROM task WHERE status = 'Available'") == 60


async def test_reading_gets_its_turn_between_parts(
    many: tuple[Workspace, DryRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, dry_run = many
    monkeypatch.setattr(parts, "PART_NODES", 4)
    order: list[str] = []  # of what began: a look, or a part over one or the other connection
    asked, done, looking = [], [], False
    read, write = Database.reading, Database.writing

    @asynccontextmanager
    async def reading(self: Database, *arguments: Any, **options: Any) -> AsyncIterator[Transaction]:
        async with read(self, *arguments, **options) as transaction:
            order.append("look")
            yield transaction

    @asynccontextmanager
    async def writing(
        self: Database, schema: str = "", over: str = "write", *options: Any, **more: Any
    ) -> AsyncIterator[Transaction]:
        async with write(self, schema, over, *options, **more) as transaction:
            order.append(over)
            yield transaction

    async def look() -> None:
        asked.append(len(order))
        await reader(workspace).pages.live()

    monkeypatch.setattr(Database, "reading", reading)
    monkeypatch.setattr(Database, "writing", writing)
    async with asyncio.TaskGroup() as group:
        async for progress in steps(workspace, dry_run):
            if progress.results:
                done.append(progress.done)
            if len(done) == 4 and not asked and not looking:
                looking = True
                group.create_task(look())
                await asyncio.sleep(0)
    meanwhile = order[asked[0] : order.index("look", asked[0])]
    assert meanwhile.count("read") <= 1, "no more than what was on its way when it was asked for"
    assert order.count("read") > 1
    assert done[-1] == 60


async def test_stop_lets_both_end(
    eternaltwin_db: EternaltwinDb, many: tuple[Workspace, DryRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, dry_run = many
    monkeypatch.setattr(parts, "PART_NODES", 10)
    decisions, ids, begun = Decisions(), [], 0
    async for progress in steps(workspace, dry_run, decisions):
        begun += 1
        if begun == 3:  # two parts are under way
            decisions.leave()
        ids += [r.id for r in progress.results if r.outcome is CHANGED]
    assert len(ids) == 20
    woken = await eternaltwin_db.connection.fetch("SELECT task_id FROM task WHERE status = 'Available'")
    assert {eternaltwin_db.id(row[0]) for row in woken} == set(ids)


@proof
@pytest.mark.parametrize("place", most_in_proof(["table", "file"]))
async def test_the_reported_outcomes_are_true_when_both_connections_are_lost(
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
        while not over.is_set():
            await killer.execute(f"{kills} AND datname = current_database() AND random() < 0.05")
            await asyncio.sleep(0.001)  # otherwise few parts survive where connecting is slow
        await killer.close()

    killing = asyncio.create_task(kill())
    outcomes = await launch.commit(workspace, dry_run, OPERATOR)
    over.set()
    await killing
    entries, _ = await workspace.audit_log.page(limit=1000)
    await workspace.close()
    changed = {id_ for id_, outcome in outcomes_of(outcomes).items() if outcome is CHANGED}
    woken = await eternaltwin_db.connection.fetch("SELECT task_id FROM task WHERE status = 'Available'")
    assert {eternaltwin_db.id(row[0]) for row in woken} == changed
    assert set(outcomes_of(outcomes).values()) == {CHANGED}, "what a lost connection has left is done over the next"
    assert {r.id for e in entries for r in e.results if r.outcome is CHANGED} == changed
