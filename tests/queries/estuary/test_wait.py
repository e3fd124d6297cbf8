"""Waiting for a locked task: limited in time, stoppable, only for confirmed nodes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

import asyncpg
import msgspec
import pytest

from queries.change import plan
from queries.db.transaction import Transaction
from queries.log import audit_log, settle
from queries.read import guard_token
from queries.records.action import Change, Outcome, Result
from queries.records.node import Phase
from queries.workspace import Workspace
from tests.db.estuary import LABEL, EstuaryDb, digest
from tests.queries.builders import dry_run_of, opened, outcomes_of, steps
from tests.queries.estuary.test_actions import SHARD, sent
from tests.simulators.estuary.executor import Executor

CHANGED, REFUSED, STALE = Outcome.CHANGED, Outcome.REFUSED, Outcome.STALE
TIMEOUT = 3.0  # seconds: the heartbeat timeout of these executors
POISON = {"position": 1, "digest": digest('"poison"')}


@pytest.fixture
async def quick(estuary: str, tmp_path: Path) -> AsyncIterator[Workspace]:
    """Workspace with a heartbeat timeout of three seconds."""
    settings = {"heartbeat_timeout": TIMEOUT, "1": {"heartbeat_timeout": TIMEOUT}}
    workspace = await opened(estuary, tmp_path, overrides={LABEL: settings})
    yield workspace
    await workspace.close()


class Unhurried(Executor):
    """Executor that pauses before it takes tasks, as the real one does for longer."""

    async def take(self, free: int) -> None:
        await asyncio.sleep(0.005)
        await super().take(free)


@pytest.fixture
async def executor(estuary: str) -> AsyncIterator[Executor]:
    """Executor that polls every 0.1 s."""
    connection = await asyncpg.connect(estuary, server_settings={"TimeZone": "UTC"})
    executor = Unhurried(connection, Random(1), timeout=TIMEOUT, poll_ticks=lambda rng: 1)

    async def work() -> None:
        while True:
            await executor.tick()
            await asyncio.sleep(0.1)

    task = asyncio.create_task(work())
    yield executor
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await connection.close()


async def waited(
    workspace: Workspace, dry_run: Change, seconds: float, stop: asyncio.Event | None = None
) -> dict[str, Result]:
    """Wait up to the given time, or until ``stop``; return the outcomes."""
    wanted = msgspec.structs.replace(dry_run, wait=seconds)
    results: dict[str, Result] = {}
    async for progress in steps(workspace, wanted):
        if stop is not None and stop.is_set():
            progress.loop.leave()
        for result in progress.results:
            assert result.id not in results, "each node is reported once"
            results[result.id] = result
    return results


async def held(estuary_db: EstuaryDb, executor: Executor, task: str) -> None:
    """Wait until the executor has polled the task and failed."""
    async with asyncio.timeout(60):
        while (await estuary_db.row(task))["idle"]:
            await asyncio.sleep(0.05)


async def while_held(workspace: Workspace, node: str, arguments: dict[str, Any]) -> Change:
    """Return a dry run that was read during a poll."""
    async with asyncio.timeout(60):
        while not (dry_run := await dry_run_of(workspace, "drop", [node], arguments, LABEL)).for_now:
            await asyncio.sleep(0.03)
    return dry_run


async def test_a_poisoned_task_is_met_between_two_of_its_retries(
    estuary_db: EstuaryDb, quick: Workspace, executor: Executor
) -> None:
    """Each retry renews the heartbeat: the task is free for 0.1 s every three seconds."""
    task = await estuary_db.task(wake=-1, inbox=['"poison"', sent(SHARD)])
    await held(estuary_db, executor, task)
    dry_run = await while_held(quick, estuary_db.id(task), POISON)
    assert outcomes_of(dry_run) == {estuary_db.id(task): REFUSED}
    assert dry_run.for_now == (estuary_db.id(task),)
    results = await waited(quick, dry_run, 300)
    assert {i: r.outcome for i, r in results.items()} == {estuary_db.id(task): CHANGED}
    async with asyncio.timeout(60):
        while (await estuary_db.row(task))["inbox"]:
            await asyncio.sleep(0.1)
    assert (await estuary_db.row(task))["state"] is not None, "the next poll went through"


async def test_waiting_is_bounded(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    task = await estuary_db.task(wake=-900, beat="2090-01-01", inbox=['"poison"'])
    live = await estuary_db.task(wake=-900, beat=0, inbox=['"poison"'])
    dry_run = await dry_run_of(workspace, "drop", [estuary_db.id(task), estuary_db.id(live)], POISON, LABEL)
    assert set(dry_run.for_now) == {estuary_db.id(task), estuary_db.id(live)}
    began = time.monotonic()
    results = await waited(workspace, dry_run, 0.5)
    assert time.monotonic() - began >= 0.5
    assert {i: r.outcome for i, r in results.items()} == dict.fromkeys(
        [estuary_db.id(task), estuary_db.id(live)], REFUSED
    )
    assert "younger than the timeout" in results[estuary_db.id(live)].why


async def test_waiting_can_be_stopped(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    task = await estuary_db.task(wake=-900, beat="2090-01-01", inbox=['"poison"'])
    dry_run = await dry_run_of(workspace, "drop", [estuary_db.id(task)], POISON, LABEL)
    stop = asyncio.Event()
    running = asyncio.create_task(waited(workspace, dry_run, 3600, stop))
    await asyncio.sleep(0.6)
    assert not running.done()
    stop.set()
    assert await asyncio.wait_for(running, 30) == {}, "the caller reports nodes that were not tried"


async def test_without_leave_nothing_is_waited_for(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    task = await estuary_db.task(wake=-900, beat=0, inbox=['"poison"'])
    dry_run = await dry_run_of(workspace, "drop", [estuary_db.id(task)], POISON, LABEL)
    results = await waited(workspace, dry_run, 0)
    assert {i: r.outcome for i, r in results.items()} == {estuary_db.id(task): REFUSED}


@pytest.mark.parametrize(
    ("action", "arguments", "becomes"),
    [("drop", {"position": 2, "digest": digest('"poison"')}, REFUSED), ("restart", {}, STALE), ("delete", {}, STALE)],
)
async def test_another_task_than_was_agreed_to_is_left_alone(
    estuary_db: EstuaryDb, workspace: Workspace, action: str, arguments: Any, becomes: Outcome
) -> None:
    """The poll succeeded: inbox and state differ from those that the operator saw."""
    task = await estuary_db.task(wake=-900, beat=0, state={"n": 1}, inbox=[sent(SHARD), '"poison"'])
    dry_run = await dry_run_of(workspace, action, [estuary_db.id(task)], arguments, LABEL)
    assert dry_run.for_now == (estuary_db.id(task),)
    running = asyncio.create_task(waited(workspace, dry_run, 60))
    await asyncio.sleep(0.5)
    await estuary_db.sql(
        """UPDATE tasks
              SET heartbeat = '0001-01-01T00:00:00Z', inner_state = '{"n": 2}', inbox = ARRAY[$2::json, $3::json]
            WHERE task_id = $1::text::macaddr8""",
        *(task, '"poison"', sent(SHARD)),
    )
    before = await estuary_db.digest()
    assert {i: r.outcome for i, r in (await asyncio.wait_for(running, 60)).items()} == {estuary_db.id(task): becomes}
    assert await estuary_db.digest() == before


async def test_what_a_finding_guards_stays_guarded(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    task = await estuary_db.task(wake=-900, beat=0)
    guard = guard_token.token(["due"], {"due": True})
    dry_run = await dry_run_of(workspace, "park", {estuary_db.id(task): guard}, None, LABEL)
    assert dry_run.for_now == (estuary_db.id(task),)
    await estuary_db.sql("UPDATE tasks SET heartbeat = '0001-01-01T00:00:00Z', wake_at = now() + interval '1 hour'")
    results = await waited(workspace, dry_run, 60)
    assert {i: r.outcome for i, r in results.items()} == {estuary_db.id(task): STALE}


@pytest.mark.parametrize(("action", "arguments"), [("wake", {}), ("park", {}), ("restart", {}), ("delete", {})])
async def test_other_actions_wait_for_the_end_of_a_poll(
    estuary_db: EstuaryDb, workspace: Workspace, action: str, arguments: Any
) -> None:
    task = await estuary_db.task(wake=-9, beat=0, state={"n": 1})
    free = await estuary_db.task(wake=60)
    ids = [estuary_db.id(task), estuary_db.id(free)]
    dry_run = await dry_run_of(workspace, action, ids, arguments, LABEL)
    assert outcomes_of(dry_run) == {estuary_db.id(task): REFUSED, estuary_db.id(free): CHANGED}
    running = asyncio.create_task(waited(workspace, dry_run, 60))
    await asyncio.sleep(0.4)
    await estuary_db.sql(
        "UPDATE tasks SET heartbeat = '0001-01-01T00:00:00Z', wake_at = now() + interval '1 hour'"
        " WHERE task_id = $1::text::macaddr8",
        task,
    )
    results = await asyncio.wait_for(running, 60)
    assert {i: r.outcome for i, r in results.items()} == dict.fromkeys(ids, CHANGED)


async def test_tasks_that_are_waited_for_are_changed_once_when_an_answer_is_lost(
    estuary: str, estuary_db: EstuaryDb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The entries of the run say which of them was changed."""
    await estuary_db.sql(audit_log.ddl())
    workspace = await opened(estuary, tmp_path)
    tasks = [await estuary_db.task(wake=-9, beat=0) for _ in range(2)]
    ids = [estuary_db.id(task) for task in tasks]
    dry_run = await dry_run_of(workspace, "park", ids, None, LABEL)
    assert sorted(dry_run.for_now) == sorted(ids)
    monkeypatch.setattr(plan, "PART_NODES", 1)  # so it is a run
    send, wait = settle.send_commit, settle.wait_for_status

    async def lost(transaction: Transaction) -> None:
        monkeypatch.setattr(settle, "send_commit", send)
        assert await send(transaction) == settle.COMMITTED

    async def unknown(*_: object, **more: object) -> settle.CommitStatus:
        monkeypatch.setattr(settle, "wait_for_status", wait)
        return settle.CommitStatus(status=settle.UNKNOWN)

    monkeypatch.setattr(settle, "send_commit", lost)
    monkeypatch.setattr(settle, "wait_for_status", unknown)
    free = "UPDATE tasks SET heartbeat = '0001-01-01T00:00:00Z' WHERE task_id = $1::text::macaddr8"
    await estuary_db.sql(free, tasks[0])
    async for step in steps(workspace, msgspec.structs.replace(dry_run, wait=60.0)):
        if step.loop.state.ids(CHANGED) == {ids[0]}:
            await estuary_db.sql(free, tasks[1])
    assert step.loop.state.ids(CHANGED) == set(ids)
    entries = [entry async for entry in workspace.audit_log.stream()]
    assert sorted(r.id for e in entries for r in e.results if r.outcome is CHANGED) == sorted(ids)
    await workspace.close()


async def test_a_task_that_ends_while_it_is_waited_for_is_gone(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    task = await estuary_db.task(wake=-9, beat=0)
    dry_run = await dry_run_of(workspace, "park", [estuary_db.id(task)], None, LABEL)
    running = asyncio.create_task(waited(workspace, dry_run, 60))
    await asyncio.sleep(0.4)
    await estuary_db.sql("DELETE FROM tasks")
    results = await asyncio.wait_for(running, 60)
    assert {i: r.outcome for i, r in results.items()} == {estuary_db.id(task): Outcome.GONE}


async def test_a_hot_loop_is_met_between_two_polls(estuary_db: EstuaryDb, quick: Workspace, executor: Executor) -> None:
    """The executor never reads the message.

    Each poll ends with the task due again, and free for some milliseconds.
    """
    plane = "15:00:00:00:00:00:00:01"
    unread = sent({"initialize": {"migration_id": plane}})
    task = await estuary_db.task(8, wake=-1, state={"migration_id": plane}, inbox=[unread])
    named = {"position": 1, "digest": digest(unread), "decodable": True}
    dry_run = await while_held(quick, estuary_db.id(task), named)
    engine = quick.engines[LABEL]
    (node,) = (await engine.nodes.read([estuary_db.id(task)])).nodes
    running = msgspec.structs.replace(node, phase=Phase.RUNNING)
    (park,) = (action for action in engine.engine.actions_of("task") if action.name == "park")
    assert engine.availability(park, running).ok
    results = await waited(quick, dry_run, 300)
    assert {i: r.outcome for i, r in results.items()} == {estuary_db.id(task): CHANGED}
    async with asyncio.timeout(60):
        while (await estuary_db.row(task))["due"] is None or (await estuary_db.row(task))["due"] < 60:
            await asyncio.sleep(0.1)
    assert (await estuary_db.row(task))["inbox"] is None
