"""Dead letters of every engine: conditions, order, fingerprints, pages, lookup."""

from __future__ import annotations

from pathlib import Path

from queries.workspace import Workspace
from tests.db.estuary import ZERO, EstuaryDb
from tests.db.tasker import TaskerDb
from tests.db.uni2work import LIVE, Uni2workDb
from tests.queries.builders import opened
from tests.servers import PostgresServer
from tests.simulators.tasker.data import Data
from tests.simulators.tasker.step_history import complete, failed

BLOCKED = {"check_return": complete(9000), "refund_card": failed(8000, error="503 after 512 ms")}


# tasker


async def test_a_permanently_failed_task_is_dead_until_the_operator_acts(tasker_db: TaskerDb) -> None:
    data = Data(1)
    blocked = data.task("refund", state="blocked_by_failures", ago=900, steps=BLOCKED)
    data.task("refund", state="steps_in_process")
    data.task("refund", state="cancelled")
    await tasker_db.write(data)
    (dead_letter,) = (await tasker_db.reader.pages.dead()).dead_letters
    assert dead_letter.node.id == tasker_db.task(blocked)
    assert dead_letter.fingerprint.endswith("shop/refund - refund_card: <n> after <n> ms")
    assert (dead_letter.was, dead_letter.is_now, dead_letter.error) == (None, "blocked_by_failures", "503 after 512 ms")
    await tasker_db.do("bury", tasker_db.task(blocked))
    (dead_letter,) = (await tasker_db.reader.pages.dead()).dead_letters
    assert dead_letter.node.kind == "dead_letter", "a task with a dead letter is listed once"
    assert (dead_letter.was, dead_letter.is_now) == ("blocked_by_failures", "blocked_by_failures")
    await tasker_db.do("resolve", dead_letter.node.id, status="permanently_failed")
    await tasker_db.do("give_up", tasker_db.task(blocked))
    assert (await tasker_db.reader.pages.dead()).dead_letters == ()


# the others


async def test_estuary_what_no_executor_will_bring_on(server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh("estuary")
    estuary_db = await EstuaryDb.open(dsn)
    poison = await estuary_db.task(2, wake=-900, inbox=['"text 7"', (ZERO, {"type": "shard_failed"})])
    orphaned = await estuary_db.task(2, wake=None, beat=4000)
    unread = await estuary_db.task(2, wake=None, inbox=[(ZERO, {"type": "shard_failed"})])
    await estuary_db.task(2, wake=-900, inbox=[(ZERO, {"type": "shard_failed"})])
    await estuary_db.task(2, wake=-900, beat=4000)
    await estuary_db.task(2, wake=None)
    workspace = await opened(dsn, tmp_path)
    dead_letters = (await workspace.engines["estuary"].pages.dead()).dead_letters
    assert [x.node.id for x in dead_letters] == [estuary_db.id(task) for task in (poison, orphaned, unread)]
    assert [x.fingerprint for x in dead_letters] == [
        "undecodable message - LIVE_SPEC_CONTROLLER: text <n>",
        "locked by a dead worker - LIVE_SPEC_CONTROLLER",
        "unread inbox - LIVE_SPEC_CONTROLLER",
    ]
    assert [(x.was, x.is_now) for x in dead_letters] == [(None, "ready"), (None, "orphaned"), (None, "suspended")]
    await estuary_db.connection.close()
    await workspace.close()
    server.drop(dsn)


async def test_uni2work_jobs_that_no_instance_takes(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    orphaned = await uni2work_db.job(held=9 * 3600.0, age=9 * 3600.0)
    inconsistent = await uni2work_db.job(held=60)
    await uni2work_db.sql("UPDATE queued_job SET lock_instance = NULL WHERE id = $1", inconsistent)
    nonsense = await uni2work_db.job('["not", "a", "job"]', age=60)
    await uni2work_db.job(held_by=LIVE, held=10)
    await uni2work_db.job()
    dead_letters = (await uni2work_workspace.engines["uni2work"].pages.dead()).dead_letters
    assert [x.node.id for x in dead_letters] == [uni2work_db.id(job) for job in (orphaned, inconsistent, nonsense)]
    assert [x.fingerprint for x in dead_letters] == [
        "orphaned lock - send-notification",
        "inconsistent lock - send-notification: lock_instance is missing",
        'unrecognised content: ["not", "a", "job"]',
    ]
    assert [x.is_now for x in dead_letters] == ["locked", "locked", "not locked"]
    await uni2work_db.sql("DELETE FROM queued_job WHERE id = $1", orphaned)
    assert len((await uni2work_workspace.engines["uni2work"].pages.dead()).dead_letters) == 2
