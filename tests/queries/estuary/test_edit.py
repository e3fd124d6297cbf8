"""Edited messages of an inbox: the executor takes them."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import asyncpg
import pytest

from queries.change import perform
from queries.db.errors import DatabaseError
from queries.records.action import Outcome
from queries.workspace import Workspace
from tests.db.estuary import LABEL, ZERO, EstuaryDb
from tests.queries.builders import committed, dry_run_edit, instead, outcomes_of, planned_edit, undone, why
from tests.servers import both_versions
from tests.simulators.estuary.executor import Executor

CHANGED, STALE, REFUSED = Outcome.CHANGED, Outcome.STALE, Outcome.REFUSED
USER = "3fa85f64-5717-4562-b3fc-2c963f66afa6"
GOOD = f'["{ZERO}", {{"type" : "manual_trigger", "user_id":"{USER}", "user_id":"{USER}"}}]'
BAD = f'["{ZERO}", {{"type":"manual_trigge", "user_id": "{USER}"}}]'
REPAIR = instead('"manual_trigge"', '"manual_trigger"')


@both_versions
async def test_the_executor_takes_the_edited_message(estuary: str, estuary_db: EstuaryDb, workspace: Workspace) -> None:
    ends: list[str] = []
    connection = await asyncpg.connect(estuary, server_settings={"TimeZone": "UTC"})
    executor = Executor(connection, Random(1), poll_ticks=lambda _: 1, on_end=lambda _, how, __: ends.append(how))
    task = await estuary_db.task(2, wake=-100, inbox=[GOOD, BAD])
    node = estuary_db.id(task)
    await executor.tick()
    await executor.tick()
    assert ends == ["failed"]
    held = await dry_run_edit(workspace, node, REPAIR, LABEL)
    assert outcomes_of(held) == {node: REFUSED}
    assert held.for_now == (node,)
    await estuary_db.age(task, 400)
    before = dict(await estuary_db.row(task))
    dry_run = await dry_run_edit(workspace, node, REPAIR, LABEL)
    assert outcomes_of(dry_run) == {node: CHANGED}
    done = await committed(workspace, dry_run)
    assert outcomes_of(done) == {node: CHANGED}
    row = await estuary_db.row(task)
    assert row["inbox"] == [GOOD, BAD.replace("manual_trigge", "manual_trigger")]  # byte for byte
    restored = await undone(workspace, done)
    assert outcomes_of(restored) == {node: CHANGED}
    columns = ("task_id", "task_type", "parent_id", "state", "wake_at", "heartbeat", "inbox", "inbox_next")
    now = await estuary_db.row(task)
    assert [now[c] for c in columns] == [before[c] for c in columns]
    await undone(workspace, restored)
    await executor.tick()
    await executor.tick()
    assert ends == ["failed", "persisted"]
    assert (await estuary_db.row(task))["inbox"] is None
    await connection.close()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ([[ZERO, {"type": "shard_failed"}]], "number"),
        ({"a": 1}, "list"),
        ([[ZERO, {"type": "manual_trigger", "user_id": USER}], [ZERO, {"type": "unheard of"}]], "unchecked"),
        ([[ZERO, {"type": "manual_trigger", "user_id": USER}], ZERO], "[sender, message]"),
        ([["01:00:00:00:00:00:00:00", {"type": "manual_trigger", "user_id": USER}], [ZERO, None]], "sender"),
    ],
)
async def test_what_the_executor_could_not_take_is_refused(
    estuary_db: EstuaryDb, workspace: Workspace, text: Any, said: str
) -> None:
    task = await estuary_db.task(2, wake=-10, inbox=[GOOD, BAD])
    before = await estuary_db.digest()
    dry_run = await dry_run_edit(workspace, estuary_db.id(task), lambda _: json.dumps(text), LABEL)
    assert outcomes_of(dry_run) == {estuary_db.id(task): REFUSED}
    assert said in why(dry_run, estuary_db.id(task))
    await committed(workspace, dry_run)
    assert await estuary_db.digest() == before


async def test_an_unknown_message_is_stored_if_the_operator_insists(
    estuary_db: EstuaryDb, workspace: Workspace
) -> None:
    task = await estuary_db.task(2, wake=None, inbox=[BAD])
    edited = instead('"manual_trigge"', '"new_one"')
    dry_run = await dry_run_edit(workspace, estuary_db.id(task), edited, LABEL, unchecked=True)
    assert outcomes_of(await committed(workspace, dry_run)) == {estuary_db.id(task): CHANGED}
    row = await estuary_db.row(task)
    assert row["inbox"] == [BAD.replace("manual_trigge", "new_one")]
    assert row["due"] <= 0  # a task that waits for a message is due again


async def test_a_message_that_came_meanwhile_makes_it_stale(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    task = await estuary_db.task(2, wake=-10, inbox=[BAD])
    plan = await planned_edit(workspace, estuary_db.id(task), REPAIR, LABEL)
    dry_run = await perform.dry_run(workspace, plan, "x", plan.arguments)
    await estuary_db.send(task, {"type": "shard_failed"})
    before = await estuary_db.digest()
    assert outcomes_of(await committed(workspace, dry_run)) == {estuary_db.id(task): STALE}
    again = await perform.dry_run(workspace, plan, "x", plan.arguments)
    assert outcomes_of(again) == {estuary_db.id(task): STALE}
    assert await estuary_db.digest() == before


async def test_a_task_without_a_message_says_why(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    task = await estuary_db.task(2, wake=-10, state={"x": 1})
    with pytest.raises(DatabaseError, match="inbox is empty"):
        await planned_edit(workspace, estuary_db.id(task), lambda _: "[]", LABEL)
