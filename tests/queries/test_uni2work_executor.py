"""The simulated executor follows the protocol, and no action aborts it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

import asyncpg
import pytest

from queries.change import loop, perform
from queries.change.plan import plan_versions
from queries.log import audit_log
from queries.records.action import Outcome
from queries.records.node import Node
from queries.workspace import Workspace
from tests.db.uni2work import DEAD, LABEL, LIVE, OTHER, Uni2workDb
from tests.proof import proof
from tests.queries.builders import OPERATOR, do, dry_run_of, opened, outcomes_of
from tests.servers import both_versions
from tests.simulators.uni2work.executor import Instance, Job, JobFailed

CHANGED = Outcome.CHANGED
ATOMIC = {"job": "prune-invitations"}  # done in one transaction with the row's deletion
GONE = {"gone": True}


@pytest.fixture
async def connection(uni2work_db: Uni2workDb) -> AsyncIterator[asyncpg.Connection[Any]]:
    made = await asyncpg.connect(uni2work_db.dsn)
    yield made
    await made.close()


class PausedWork:
    """Work that pauses in the middle until ``go`` is set."""

    def __init__(self) -> None:
        self.begun, self.go = asyncio.Event(), asyncio.Event()

    async def __call__(self, _: Job) -> None:
        self.begun.set()
        await self.go.wait()


# One action and one worker


async def begun(instance: Instance, job: int, work: PausedWork) -> asyncio.Task[bool]:
    locked = await instance.lock(job)
    assert locked is not None
    doing = asyncio.create_task(instance.perform(locked))
    await work.begun.wait()
    return doing


@both_versions
@pytest.mark.parametrize("action", ["release", "cancel", "skip"])
async def test_no_action_touches_a_row_that_is_being_executed(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace, connection: asyncpg.Connection[Any], action: str
) -> None:
    job, work = await uni2work_db.job(ATOMIC, cron=True), PausedWork()
    instance = Instance(connection, LIVE, work=work)
    doing = await begun(instance, job, work)
    for node in [uni2work_db.id(job)] + [uni2work_db.id(LIVE, "holder")] * (action == "release"):
        assert CHANGED not in outcomes_of(await do(uni2work_workspace, action, [node], GONE, LABEL)).values()
    work.go.set()
    assert await doing is True
    assert instance.aborted == 0


@both_versions
@pytest.mark.parametrize("action", ["skip", "forget"])
async def test_no_action_touches_a_record_that_a_worker_will_write(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace, connection: asyncpg.Connection[Any], action: str
) -> None:
    entry = await uni2work_db.cron(ATOMIC)
    job, eternaltwin_db, work = (
        await uni2work_db.job(ATOMIC, cron=True),
        await uni2work_db.job(ATOMIC, cron=True),
        PausedWork(),
    )
    instance = Instance(connection, LIVE, work=work)
    doing = await begun(instance, job, work)
    node = uni2work_db.id(eternaltwin_db) if action == "skip" else uni2work_db.id(entry, "cron")
    assert outcomes_of(await do(uni2work_workspace, action, [node], {}, LABEL)) == {node: Outcome.REFUSED}
    work.go.set()
    assert await doing is True
    assert instance.aborted == 0


@both_versions
@pytest.mark.parametrize("action", ["skip", "forget"])
async def test_a_worker_that_is_taking_an_equal_job_makes_it_locked(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace, action: str
) -> None:
    entry, job, eternaltwin_db = (
        await uni2work_db.cron(ATOMIC),
        await uni2work_db.job(ATOMIC, cron=True),
        await uni2work_db.job(ATOMIC, cron=True),
    )
    other = {"job": "help-request"}
    node = uni2work_db.id(eternaltwin_db) if action == "skip" else uni2work_db.id(entry, "cron")
    free = (
        uni2work_db.id(await uni2work_db.job(other, cron=True))
        if action == "skip"
        else uni2work_db.id(await uni2work_db.cron(other), "cron")
    )
    async with uni2work_db.connection.transaction(isolation="serializable"):
        await uni2work_db.sql("UPDATE queued_job SET lock_instance = $2, lock_time = now() WHERE id = $1", job, LIVE)
        outcomes = await do(uni2work_workspace, action, [node, free], {}, LABEL)
    assert outcomes_of(outcomes) == {node: Outcome.LOCKED, free: CHANGED}, "without waiting"


async def test_skip_aborts_an_equal_job_taken_during_its_commit_once(
    uni2work_db: Uni2workDb, tmp_path: Path, connection: asyncpg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another client can insert an equal row during the commit; cron never does.

    The action cannot exclude that row: its worker is aborted once and runs the job at its next flush.
    """
    await uni2work_db.sql(audit_log.ddl())
    workspace = await opened(uni2work_db.dsn, tmp_path)
    instance, job = Instance(connection, LIVE), await uni2work_db.job(ATOMIC, cron=True)
    dry_run = await dry_run_of(workspace, "skip", [uni2work_db.id(job)], {}, LABEL)
    written, go, write = asyncio.Event(), asyncio.Event(), audit_log.Table.write

    async def slowly(self: audit_log.Table, *given: Any) -> str:
        added = await write(self, *given)
        written.set()
        await go.wait()
        return added

    monkeypatch.setattr(audit_log.Table, "write", slowly)
    skipping = asyncio.create_task(loop.commit(workspace, dry_run, OPERATOR))
    await written.wait()
    assert await instance.queue(ATOMIC, cron=True) is None, "the skipped row is visible until the commit"
    eternaltwin_db, work = await uni2work_db.job(ATOMIC, cron=True), PausedWork()
    doing = await begun(Instance(connection, LIVE, work=work), eternaltwin_db, work)
    go.set()
    assert outcomes_of(await skipping) == {uni2work_db.id(job): CHANGED}
    work.go.set()
    assert await doing is False
    await instance.flush()
    assert (dict(instance.done), await uni2work_db.row(eternaltwin_db)) == ({eternaltwin_db: 1}, None)
    await workspace.close()


@both_versions
async def test_a_dry_run_does_not_abort_a_slow_worker(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace, connection: asyncpg.Connection[Any]
) -> None:
    job, work = await uni2work_db.job(ATOMIC), PausedWork()
    instance = Instance(connection, LIVE, work=work)
    locked = await instance.lock(job)
    assert locked is not None
    await uni2work_db.sql("UPDATE queued_job SET lock_time = now() - interval '1 hour', creation_instance = $1", OTHER)
    doing = asyncio.create_task(instance.perform(locked))
    await work.begun.wait()
    dry_run = await dry_run_of(uni2work_workspace, "release", [uni2work_db.id(job)], GONE, LABEL)
    assert outcomes_of(dry_run) == {uni2work_db.id(job): CHANGED}
    work.go.set()
    assert await doing is True
    assert instance.aborted == 0
    gone = await loop.commit(uni2work_workspace, dry_run, OPERATOR)
    assert outcomes_of(gone) == {uni2work_db.id(job): Outcome.GONE}


@both_versions
async def test_a_released_job_is_taken_by_another_instance(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace, connection: asyncpg.Connection[Any]
) -> None:
    job = await uni2work_db.job({"job": "help-request"}, held=900)
    instance = Instance(connection, LIVE)
    await instance.flush()
    assert not instance.done
    await do(uni2work_workspace, "release", [uni2work_db.id(job)], GONE, LABEL)
    await instance.flush()
    assert dict(instance.done) == {job: 1}


# Many actions and workers at once


EVERY = {"cancel", "run_now", "forget", "release", "skip", "refill"}  # actions


@proof
async def test_random_actions_while_instances_run(uni2work_db: Uni2workDb, tmp_path: Path) -> None:
    await uni2work_db.sql(audit_log.ddl())
    rng = Random(7)
    connections = [await asyncpg.connect(uni2work_db.dsn) for _ in range(2)]

    async def work(_: Job) -> None:
        await asyncio.sleep(0)
        if rng.random() < 0.3:
            raise JobFailed("now and then")

    instances = [Instance(c, u, work=work) for c, u in zip(connections, (LIVE, OTHER), strict=True)]
    contents = [ATOMIC, {"job": "prune-session-files"}, {"job": "help-request"}, {"job": "no-such-job"}]
    for content in contents:
        await uni2work_db.cron(content)
    await uni2work_db.bucket("inject-files", -5)
    for n in range(12):
        await uni2work_db.job({"job": "send-notification", "n": n}, held=9000 + n, creator=DEAD, age=9500)
    await uni2work_db.sql("UPDATE queued_job SET creation_instance = $1", OTHER)
    going = True

    async def run() -> None:
        # One after the other: two concurrent instances sometimes abort each other; only aborts by unstick count.
        while going:
            for instance in instances:
                for _ in range(3):
                    await instance.queue(rng.choice(contents), cron=rng.random() < 0.7)
                await instance.flush(4)

    workspace = await opened(uni2work_db.dsn, tmp_path)
    running = asyncio.create_task(run())
    try:
        tally, removed = await rain(workspace, rng, running)
    finally:
        going = False
        await running
        await workspace.close()
    assert [i.aborted for i in instances] == [0, 0], "no worker was aborted"
    done = instances[0].done + instances[1].done
    assert set(done.values()) == {1}, "nothing was executed twice"
    rows = await uni2work_db.connection.fetch("SELECT *, content::text AS content FROM queued_job")
    ids = [*done, *map(int, removed), *(r["id"] for r in rows)]
    last = await uni2work_db.value("SELECT last_value FROM queued_job_id_seq")
    assert len(ids) == len(set(ids)), "removed jobs were not executed and are gone"
    assert set(ids) <= set(range(1, last + 1))
    dry_runs = set(range(1, last + 1)) - set(ids)  # a dry run of `run_now` uses up a sequence number
    assert await uni2work_db.value("SELECT count(*) FROM queued_job WHERE id = ANY ($1::int8[])", sorted(dry_runs)) == 0
    assert all((r["lock_instance"] is None) == (r["lock_time"] is None) for r in rows)
    assert {action for action, outcome in tally if outcome == CHANGED} >= EVERY, tally
    for connection in connections:
        await connection.close()


async def rain(
    workspace: Workspace, rng: Random, running: asyncio.Task[None]
) -> tuple[dict[tuple[str, Outcome], int], list[str]]:
    """Run random actions; return counts by (action, outcome) and the deleted ids.

    At least 400 turns, and until each action has changed a node.
    """
    removed: list[str] = []
    tally: dict[tuple[str, Outcome], int] = {}
    for turn in range(4000):
        if turn >= 400 and {action for action, outcome in tally if outcome == CHANGED} >= EVERY:
            break
        action, node = await pick(workspace, rng)
        if action:
            arguments = {"gone": rng.random() < 0.8, "value": rng.randint(-9, 99)}
            dry_run = await perform.dry_run(
                workspace, plan_versions(workspace, LABEL, action, {node.id: node.version}), "rain", arguments
            )
            outcomes = await loop.commit(workspace, dry_run, OPERATOR)
            (outcome,) = outcomes_of(outcomes).values()
            tally[action, outcome] = tally.get((action, outcome), 0) + 1
            if outcome == CHANGED and action in ("cancel", "skip"):
                removed.append(node.id.rpartition(":")[2])
        assert not running.done()
    return tally, removed


async def pick(workspace: Workspace, rng: Random) -> tuple[str, Node]:
    """Return a random available action and its node."""
    look = workspace.engines[LABEL]
    branch = rng.choice(["queue", "queue", "queue", "crontab", "buckets", "holders"])
    if branch == "queue":
        nodes = (await look.pages.live(limit=30)).nodes
    else:
        nodes = (await look.pages.children(f"{LABEL}/{'queue' if branch == 'holders' else branch}:all")).nodes
    if not nodes:
        return "", None  # type: ignore[return-value]
    node = rng.choice(nodes)
    actions = [v.name for v in look.engine.actions_of(node.kind) if look.availability(v).ok]
    return (rng.choice(actions), node) if actions else ("", node)
