"""Suggested actions on tasks in a loop, guarded by the findings' constant fields."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from queries.change import loop as changes
from queries.records.action import Change, Outcome
from queries.records.finding import Finding
from queries.workspace import Workspace
from tests.db.estuary import LABEL, EstuaryDb
from tests.proof import repeated
from tests.queries.builders import OPERATOR, dry_run_of, opened, outcomes_of, reader
from tests.queries.estuary.test_actions import SHARD, sent

CHANGED, STALE, LOCKED = Outcome.CHANGED, Outcome.STALE, Outcome.LOCKED
LIMITS = {"hot_loop": 0.0, "hot_loop_polls": 2}
PLANE = "15:00:00:00:00:00:00:01"
INITIALIZE = {"initialize": {"migration_id": PLANE}}
POLL = (
    "UPDATE tasks SET wake_at = clock_timestamp() - interval '1 min',"
    " inner_state = jsonb_build_object('n', clock_timestamp())::json"
    " WHERE task_id = $1::text::macaddr8 AND wake_at <= clock_timestamp()"
)
UNREAD = POLL.replace("jsonb_build_object('n', clock_timestamp())::json", "inner_state")


class Loop:
    """Executor that polls one task in a loop; the task is idle only for moments."""

    def __init__(self, connection: asyncpg.Connection[Any]) -> None:
        self.task, self.poll, self.polls = "", POLL, 0
        self._connection = connection

    async def run(self) -> None:
        while True:
            if self.task:
                self.polls += (await self._connection.execute(self.poll, self.task)).endswith(" 1")
            await asyncio.sleep(0)

    async def polled(self) -> None:
        """Wait for one complete poll that starts after this call."""
        goal = self.polls + 2
        async with asyncio.timeout(60):
            while self.polls < goal:
                await asyncio.sleep(0.001)


@pytest.fixture
async def loop(estuary: str, estuary_db: EstuaryDb) -> AsyncIterator[Loop]:
    connection = await asyncpg.connect(estuary, server_settings={"search_path": "public"})
    loop = Loop(connection)
    task = asyncio.create_task(loop.run())
    yield loop
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    await connection.close()


@pytest.fixture
async def watching(estuary: str, tmp_path: Path) -> AsyncIterator[Workspace]:
    workspace = await opened(estuary, tmp_path, overrides={LABEL: LIMITS})
    yield workspace
    await workspace.close()


async def looped(estuary_db: EstuaryDb, loop: Loop, code: str) -> str:
    """Return a task in that loop."""
    if code == "hot_loop":
        loop.task, loop.poll = await estuary_db.task(2, wake=-1, state={"n": 0}), POLL
    else:
        task = await estuary_db.task(
            8, wake=-1, state={"migration_id": PLANE}, inbox=[sent(INITIALIZE), sent(INITIALIZE)]
        )
        loop.task, loop.poll = task, UNREAD
    return loop.task


async def watched(workspace: Workspace, loop: Loop, code: str) -> Finding:
    for _ in range(3):
        await reader(workspace, LABEL).samples.take()
        await loop.polled()
    await reader(workspace, LABEL).samples.take()
    (finding,) = [f for f in reader(workspace, LABEL).findings.sampled() if f.code == code]
    return finding


async def dry_run_by(workspace: Workspace, finding: Finding, guard: str) -> Change:
    arguments = {k: {"position": int, "decodable": bool}.get(k, str)(v) for k, v in finding.arguments.items()}
    return await dry_run_of(workspace, str(finding.action), {finding.node_id: guard}, arguments, LABEL)


@repeated(few=10, many=100)
@pytest.mark.parametrize(("code", "action"), [("hot_loop", "park"), ("unread_message_loop", "drop")])
async def test_the_suggested_action_reaches_a_task_in_a_loop(
    estuary_db: EstuaryDb, watching: Workspace, loop: Loop, code: str, action: str, times: int
) -> None:
    outcomes = []
    for _ in range(times):
        task = await looped(estuary_db, loop, code)
        finding = await watched(watching, loop, code)
        assert (finding.node_id, finding.action) == (estuary_db.id(task), action)
        await loop.polled()
        dry_run = await dry_run_by(watching, finding, finding.guard)
        if outcomes_of(dry_run) == {estuary_db.id(task): CHANGED}:
            await loop.polled()
            outcomes += outcomes_of(await changes.commit(watching, dry_run, OPERATOR)).values()
        else:
            outcomes += outcomes_of(dry_run).values()
        loop.task = ""
        await estuary_db.sql("DELETE FROM tasks")
    assert outcomes.count(CHANGED) >= times * 95 // 100, outcomes


@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("hot_loop", "wake_at = now() + interval '1 hour'"),
        ("hot_loop", "wake_at = NULL"),
        ("unread_message_loop", "inner_state = '{}'"),
        ("unread_message_loop", "inbox = inbox[2:]"),
    ],
)
async def test_it_is_stale_once_what_stayed_the_same_has_changed(
    estuary_db: EstuaryDb, watching: Workspace, loop: Loop, code: str, change: str
) -> None:
    task = await looped(estuary_db, loop, code)
    finding = await watched(watching, loop, code)
    dry_run = await dry_run_by(watching, finding, finding.guard)
    loop.task = ""
    await loop_ends(loop)
    await estuary_db.sql(f"UPDATE tasks SET {change} WHERE task_id = $1::text::macaddr8", task)
    outcomes = await changes.commit(watching, dry_run, OPERATOR)
    assert outcomes_of(outcomes) == {estuary_db.id(task): STALE}
    assert outcomes_of(await dry_run_by(watching, finding, finding.guard)) == {estuary_db.id(task): STALE}


async def loop_ends(loop: Loop) -> None:
    """Wait until no poll of the task is running."""
    before = -1
    while before != loop.polls:
        before = loop.polls
        await asyncio.sleep(0.1)


async def test_a_message_that_fails_every_poll_is_dropped_after_another_retry(
    estuary_db: EstuaryDb, watching: Workspace
) -> None:
    """Each retry changes the task's version; the message stays the same."""
    task = await estuary_db.task(wake=-900, beat=301, inbox=['"poison"', sent(SHARD)])
    found = (await reader(watching, LABEL).findings.read([estuary_db.id(task)])).findings
    (finding,) = [f for f in found if f.action == "drop"]
    await estuary_db.sql("UPDATE tasks SET heartbeat = now() - interval '400 s'")
    dry_run = await dry_run_by(watching, finding, finding.guard)
    assert outcomes_of(dry_run) == {estuary_db.id(task): CHANGED}
    await estuary_db.sql("UPDATE tasks SET heartbeat = now() - interval '350 s'")
    outcomes = await changes.commit(watching, dry_run, OPERATOR)
    assert outcomes_of(outcomes) == {estuary_db.id(task): CHANGED}
