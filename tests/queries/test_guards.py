"""Checks in each step of an action's SQL, tested without the other steps.

An action locks, refuses and changes, and each step checks the rows again. These tests run ``change`` without the
steps before it, and ``lock`` without the steps after it.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest

from queries.change import gate
from queries.change.admit import lock
from queries.change.script import Nodes, Request
from queries.db.query import Rows
from queries.files.statement import Statement
from queries.log import audit_log
from queries.records.action import Outcome
from queries.records.node import split_id
from queries.workspace import Workspace
from tests.db import uni2work
from tests.db.uni2work import DEAD, LIVE, OTHER, Uni2workDb
from tests.proof import proof
from tests.queries.builders import do, dry_run_of, opened, outcomes_of, seen
from tests.servers import PostgresServer

CHANGED, STALE, LOCKED = Outcome.CHANGED, Outcome.STALE, Outcome.LOCKED
BLIND = Statement(
    text="SELECT i AS id, v AS version FROM unnest($1::text[], $2::text[]) AS s(i, v)",
    source="test",
    parameters=("ids", "versions"),
)
# `engine check` runs the change of each action without the steps before it, on nodes of each status.
pytestmark = proof

PRUNE = {"job": "prune-invitations"}
GONE = {"gone": True}


def unguarded(workspace: Workspace, label: str, lock: Statement = BLIND) -> None:
    """Remove the lock, comparison and refusals before each action's change."""
    reader = workspace.engines[label]
    actions = {s: {**parts, "lock": (lock,), "refused": ()} for s, parts in reader.engine.actions.items()}
    reader.variant.engine = msgspec.structs.replace(reader.engine, actions=actions)


async def locked(workspace: Workspace, label: str, action: str, node: str, free: str, dsn: str) -> list[Any]:
    """Return rows of the query ``free`` that another session can lock meanwhile.

    The action runs at the same time.
    """
    reader = workspace.engines[label]
    spec = reader.engine.action(action, split_id(node)[1])
    assert spec is not None
    request = Request(
        reader=reader,
        action=spec,
        reason="x",
        arguments=GONE,
        operator=audit_log.operator(),
        versions=await seen(workspace, [node], label),
    )
    other = await asyncpg.connect(dsn)
    async with workspace.database.writing(reader.detected.action_schema) as transaction:
        await lock(transaction, request, Nodes(request))
        rows = await other.fetch(f"{free} FOR UPDATE SKIP LOCKED")
    await other.close()
    return [row[0] for row in rows]


async def uni_node(uni2work_db: Uni2workDb, action: str) -> tuple[str, dict[str, Any]]:
    """Create a node that the action accepts; return its id and arguments."""
    if action == "release":
        return uni2work_db.id(await uni2work_db.job(held=900, age=1000)), GONE
    if action in ("cancel", "skip"):
        return uni2work_db.id(await uni2work_db.job({**PRUNE, "n": 0}, cron=True)), {}
    if action == "refill":
        return await uni2work_db.bucket("inject-files", -5), {"value": 7}
    return uni2work_db.id(await uni2work_db.cron({**PRUNE, "n": 0}), "cron"), {}


@pytest.mark.parametrize("action", ["cancel", "skip"])
@pytest.mark.parametrize("half", ["lock_instance = NULL", "lock_time = NULL", "id = id"])
async def test_a_locked_row_is_not_deleted(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace, action: str, half: str
) -> None:
    unguarded(uni2work_workspace, uni2work.LABEL)
    job = await uni2work_db.job(PRUNE, held=9000, cron=True)
    await uni2work_db.sql(f"UPDATE queued_job SET {half}")
    assert outcomes_of(await do(uni2work_workspace, action, [uni2work_db.id(job)], {}, uni2work.LABEL)) == {
        uni2work_db.id(job): STALE
    }
    assert await uni2work_db.row(job)


async def test_a_job_whose_success_is_not_recorded_is_not_skipped(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace
) -> None:
    unguarded(uni2work_workspace, uni2work.LABEL)
    job = await uni2work_db.job(PRUNE)
    assert outcomes_of(await do(uni2work_workspace, "skip", [uni2work_db.id(job)], {}, uni2work.LABEL)) == {
        uni2work_db.id(job): STALE
    }
    assert await uni2work_db.entry(PRUNE) is None


@pytest.mark.parametrize("held", [None, 295.0])
async def test_a_lock_that_is_young_or_none_is_not_released(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace, held: float | None
) -> None:
    assert uni2work_workspace.engines[uni2work.LABEL].engine.settings["stale"] == 300.0
    unguarded(uni2work_workspace, uni2work.LABEL)
    job = await uni2work_db.job(held=held, age=9000)
    before = await uni2work_db.everything()
    assert outcomes_of(await do(uni2work_workspace, "release", [uni2work_db.id(job)], GONE, uni2work.LABEL)) == {
        uni2work_db.id(job): STALE
    }
    assert await uni2work_db.everything() == before


async def test_a_bucket_loses_nothing(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    unguarded(uni2work_workspace, uni2work.LABEL)
    node = await uni2work_db.bucket("inject-files", 9)
    assert outcomes_of(await do(uni2work_workspace, "refill", [node], {"value": 8}, uni2work.LABEL)) == {node: STALE}


async def test_of_the_rows_held_for_an_instance_only_its_own_old_locks_go(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace
) -> None:
    """Check that ``change`` reads each row again.

    The replaced ``lock`` also returns rows whose lock is too young or belongs to another instance.
    """
    mine, young, other = (
        await uni2work_db.job(held=900),
        await uni2work_db.job(held=10),
        await uni2work_db.job(held=900, held_by=OTHER),
    )
    stranger = await uni2work_db.job(held=900, held_by=LIVE)
    held = json.dumps({mine: str(DEAD), young: str(DEAD), other: str(DEAD), stranger: str(LIVE)})
    lock = Statement(
        text="SELECT i AS id, v AS version FROM unnest($1::text[], $2::text[]) AS s(i, v),"
        f" set_config('unstick.held', '{held}', true)",
        source="test",
        parameters=("ids", "versions"),
    )
    unguarded(uni2work_workspace, uni2work.LABEL, lock)
    node = uni2work_db.id(DEAD, "holder")
    assert outcomes_of(await do(uni2work_workspace, "release", [node], GONE, uni2work.LABEL)) == {node: CHANGED}
    holders = [(await uni2work_db.row(j))["lock_instance"] for j in (mine, young, other, stranger)]
    assert holders == [None, DEAD, OTHER, LIVE]


async def test_an_instance_of_which_a_row_is_held_holds_up_no_other(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace
) -> None:
    jobs = [await uni2work_db.job(held=900, held_by=holder, creator=LIVE) for holder in (DEAD, DEAD, OTHER)]
    held, free = uni2work_db.id(DEAD, "holder"), uni2work_db.id(OTHER, "holder")
    async with uni2work_db.connection.transaction():
        await uni2work_db.sql("SELECT FROM queued_job WHERE id = $1 FOR UPDATE", jobs[1])
        outcomes = await do(uni2work_workspace, "release", [held, free], GONE, uni2work.LABEL)
    assert outcomes_of(outcomes) == {held: LOCKED, free: CHANGED}
    assert [(await uni2work_db.row(j))["lock_instance"] for j in jobs] == [DEAD, DEAD, None]


@pytest.mark.parametrize("action", ["release", "cancel", "skip"])
async def test_a_row_that_a_worker_may_be_at_is_not_even_locked(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace, action: str
) -> None:
    """Lock no row of a worker: the worker would wait for the action to end."""
    job = await uni2work_db.job(PRUNE, held=10, cron=True)
    read = "SELECT id FROM queued_job"
    assert await locked(uni2work_workspace, uni2work.LABEL, action, uni2work_db.id(job), read, uni2work_db.dsn) == [job]


async def test_a_release_locks_nothing_that_any_worker_may_take(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace
) -> None:
    job = await uni2work_db.job(age=9000)
    read = "SELECT id FROM queued_job"
    assert await locked(uni2work_workspace, uni2work.LABEL, "release", uni2work_db.id(job), read, uni2work_db.dsn) == [
        job
    ]


async def test_of_an_instance_the_old_locks_are_locked_alone(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace
) -> None:
    await uni2work_db.job(held=900)
    young, other = await uni2work_db.job(held=10), await uni2work_db.job(held=900, held_by=OTHER)
    read = "SELECT id FROM queued_job"
    node = uni2work_db.id(DEAD, "holder")
    assert await locked(uni2work_workspace, uni2work.LABEL, "release", node, read, uni2work_db.dsn) == [young, other]


@pytest.mark.parametrize("action", ["skip", "forget"])
async def test_equal_rows_are_locked_too_but_not_those_of_workers(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace, action: str
) -> None:
    """Lock equal rows: a worker that takes one would later write the same record."""
    node, _ = await uni_node(uni2work_db, action)
    await uni2work_db.job({**PRUNE, "n": 0}, cron=True)
    at_work, other = await uni2work_db.job({**PRUNE, "n": 0}, held=10), await uni2work_db.job(PRUNE)
    read = "SELECT id FROM queued_job ORDER BY id"
    assert await locked(uni2work_workspace, uni2work.LABEL, action, node, read, uni2work_db.dsn) == [at_work, other]


@pytest.mark.parametrize("sign", ["job", "holder"])
async def test_an_instance_is_released_as_it_was_seen_alone(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace, sign: str
) -> None:
    """Treat a newer lock as activity of the instance, even if that lock is old by now."""
    job = await uni2work_db.job(held=900)
    node = uni2work_db.id(job) if sign == "job" else uni2work_db.id(DEAD, "holder")
    versions = await seen(uni2work_workspace, [node], uni2work.LABEL)
    await uni2work_db.sql("UPDATE queued_job SET lock_time = lock_time + interval '1 microsecond'")
    assert outcomes_of(await do(uni2work_workspace, "release", versions, GONE, uni2work.LABEL)) == {node: STALE}


GATE = """
CREATE FUNCTION gate() RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
  IF current_query() LIKE '%FOR UPDATE%' THEN
    PERFORM pg_advisory_lock_shared(1), pg_advisory_unlock_shared(1);
  END IF;
  RETURN true;
END $$;
ALTER TABLE queued_job ENABLE ROW LEVEL SECURITY;
CREATE POLICY gate ON queued_job USING (gate());
"""
WAITS = (
    "SELECT count(*) > 0 FROM pg_locks l JOIN pg_database d ON d.oid = l.database"
    " WHERE l.locktype = 'advisory' AND NOT l.granted AND d.datname = current_database()"
)
TAKEN = "lock_instance = '10000000-0000-4000-8000-000000000001', lock_time = now()"
LOCKED_AGAIN = "lock_time = now()"
PASSED_ON = "lock_instance = '10000000-0000-4000-8000-000000000001'"


@pytest.mark.parametrize(
    ("action", "change"),
    [
        ("cancel", TAKEN),
        ("skip", TAKEN),
        ("forget", TAKEN),
        ("release", LOCKED_AGAIN),
        ("release all", LOCKED_AGAIN),
        ("release all", PASSED_ON),
    ],
)
async def test_what_a_worker_takes_while_the_statement_looks_is_left_to_it(
    uni2work_db: Uni2workDb,
    server: PostgresServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    action: str,
    change: str,
) -> None:
    """The statement saw the row before, and gets its lock on the row as it is now."""
    monkeypatch.setattr("queries.db.database.WRITE_LOCK_SECONDS", 4.0)
    # A policy makes the statement wait here. It hides no row, so the action must not be denied.
    written_rows = gate.written_rows

    def unpoliced(rows: Rows) -> gate.WrittenRows:
        return msgspec.structs.replace(written_rows(rows), policies=())

    monkeypatch.setattr(gate, "written_rows", unpoliced)
    role = server.unique("role")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    for objects in ("TABLES", "SEQUENCES"):
        server.sql(f"GRANT ALL ON ALL {objects} IN SCHEMA public TO {role}", uni2work_db.dsn)
    server.sql(GATE, uni2work_db.dsn)
    workspace = await opened(server.dsn(uni2work_db.dsn.rpartition("/")[2], user=role, password="x"), tmp_path)
    name = action.partition(" ")[0]
    node, arguments = await uni_node(uni2work_db, name)
    if action == "release all":
        node = uni2work_db.id(DEAD, "holder")
    elif action == "forget":
        await uni2work_db.job({**PRUNE, "n": 0}, cron=True)
    await uni2work_db.sql("SELECT pg_advisory_lock(1)")
    dry_running = asyncio.create_task(dry_run_of(workspace, name, [node], arguments, uni2work.LABEL))
    async with asyncio.timeout(60):
        while not await uni2work_db.value(WAITS):
            await asyncio.sleep(0.01)
    await uni2work_db.sql(f"UPDATE queued_job SET {change}")
    await uni2work_db.sql("SELECT pg_advisory_unlock(1)")
    assert outcomes_of(await dry_running)[node] != CHANGED
    await workspace.close()
