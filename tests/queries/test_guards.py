"""What each layer of an action's SQL holds by itself, where the layers before it would have stopped everything already.

An action locks, refuses, changes, and each step is guarded again. Here they are taken apart: ``change`` without
what goes before it, and ``lock`` without what comes after.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest
from tests.queries.test_agent_jobs_actions import CASES, MIRROR, TABLE, of

from queries.model import Outcome, split_id
from queries.statement import Statement
from queries.workspace import Workspace
from queries.write import audit_log
from queries.write.action_transaction import ActionTransaction, Request
from tests.queries import snak as agent_jobs
from tests.queries import uni as uni2work
from tests.queries.builders import do, dry_run_of, opened, outcomes_of, seen
from tests.queries.snak import STATUSES, Snak
from tests.queries.uni import DEAD, LIVE, OTHER, Uni
from tests.servers import TestbedServer

CHANGED, STALE, LOCKED = Outcome.CHANGED, Outcome.STALE, Outcome.LOCKED
BLIND = Statement(
    text="SELECT i AS id, v AS version FROM unnest($1::text[], $2::text[]) AS s(i, v)",
    source="test",
    parameters=("ids", "versions"),
)
PRUNE = {"job": "prune-invitations"}
GONE = {"gone": True}


def unguarded(workspace: Workspace, label: str, lock: Statement = BLIND) -> None:
    """Take from every action what stands before its change: nothing is locked, compared or refused."""
    reader = workspace.engines[label]
    actions = {s: {**parts, "lock": (lock,), "refused": ()} for s, parts in reader.engine.actions.items()}
    reader.engine = msgspec.structs.replace(reader.engine, actions=actions)


async def locked(workspace: Workspace, label: str, action: str, node: str, free: str, dsn: str) -> list[Any]:
    """The rows that ``free`` can still lock while the action's own locks on the node are held."""
    reader = workspace.engines[label]
    spec = reader.engine.action(action, split_id(node)[1])
    assert spec is not None
    request = Request(reader=reader, action=spec, reason="x", arguments=GONE, operator=audit_log.operator())
    action_transaction = ActionTransaction(request, await seen(workspace, [node], label))
    other = await asyncpg.connect(dsn)
    async with workspace.database.writing(reader.found.action_schema) as transaction:
        await action_transaction._lock(transaction)
        rows = await other.fetch(f"{free} FOR UPDATE SKIP LOCKED")
    await other.close()
    return [row[0] for row in rows]


# agent_jobs


def profiles(mirror: Workspace, table: Workspace) -> Mapping[str, tuple[Workspace, dict[str, Any]]]:
    return {"mirror": (mirror, MIRROR), "table": (table, TABLE)}


@pytest.mark.parametrize(("profile", "action", "status"), CASES)
async def test_a_job_is_changed_in_its_statuses_alone(
    snak: Snak, mirror: Workspace, table: Workspace, profile: str, action: str, status: str
) -> None:
    workspace, actions = profiles(mirror, table)[profile]
    unguarded(workspace, agent_jobs.LABEL)
    job = await of(snak, status)
    before = await snak.everything()
    expected = CHANGED if status in actions[action][0] else STALE
    assert outcomes_of(await do(workspace, action, [snak.id(job)], {}, agent_jobs.LABEL)) == {snak.id(job): expected}
    assert (await snak.everything() == before) == (expected == STALE)


@pytest.mark.parametrize(("profile", "action"), sorted({(p, v) for p, v, _ in CASES}))
@pytest.mark.parametrize("change", ["updated_at = updated_at + interval '1 microsecond'", "error = error"])
async def test_a_job_is_changed_as_it_was_seen_alone(
    snak: Snak, mirror: Workspace, table: Workspace, profile: str, action: str, change: str
) -> None:
    """The same status again is not what was seen; nor is a row that somebody has written without moving its time."""
    workspace, actions = profiles(mirror, table)[profile]
    unguarded(workspace, agent_jobs.LABEL)
    job = await of(snak, actions[action][0][0])
    versions = await seen(workspace, [snak.id(job)], agent_jobs.LABEL)
    await snak.sql(f"UPDATE jobs SET {change}")
    before = await snak.everything()
    assert outcomes_of(await do(workspace, action, versions, {}, agent_jobs.LABEL)) == {snak.id(job): STALE}
    assert await snak.everything() == before


@pytest.mark.parametrize(("started", "changed"), [(60, 9000), (None, 60)])
async def test_a_young_active_job_is_not_released(
    snak: Snak, table: Workspace, started: float | None, changed: float
) -> None:
    unguarded(table, agent_jobs.LABEL)
    job = await snak.job("active", age=9000, started=started, changed=changed)
    assert outcomes_of(await do(table, "release", [snak.id(job)], {}, agent_jobs.LABEL)) == {snak.id(job): STALE}


@pytest.mark.parametrize(("profile", "action"), sorted({(p, v) for p, v, _ in CASES}))
async def test_jobs_are_locked_and_those_of_others_not_waited_for(
    snak: Snak, mirror: Workspace, table: Workspace, profile: str, action: str
) -> None:
    workspace, actions = profiles(mirror, table)[profile]
    status = actions[action][0][0]
    held, free = await of(snak, status), await of(snak, status)
    assert await locked(workspace, agent_jobs.LABEL, action, snak.id(free), "SELECT id FROM jobs", snak.dsn) == [held]
    async with snak.connection.transaction():
        await snak.sql("SELECT FROM jobs WHERE id = $1 FOR UPDATE", held)
        outcomes = await do(workspace, action, [snak.id(held), snak.id(free)], {}, agent_jobs.LABEL)
    assert outcomes_of(outcomes) == {snak.id(held): LOCKED, snak.id(free): CHANGED}


@pytest.mark.parametrize("status", STATUSES)
async def test_running_is_refused_by_the_table_itself(snak: Snak, status: str) -> None:
    job = await of(snak, status)
    with pytest.raises(asyncpg.CheckViolationError, match="jobs_status_chk"):
        await snak.sql("UPDATE jobs SET status = 'running' WHERE id = $1", job)


# uni2work


async def uni_node(uni: Uni, action: str, n: int = 0) -> tuple[str, dict[str, Any]]:
    """A node that the action is for, one for each ``n``, and its arguments."""
    if action == "release":
        return uni.id(await uni.job(held=900, age=1000)), GONE
    if action in ("cancel", "skip"):
        return uni.id(await uni.job({**PRUNE, "n": n}, cron=True)), {}
    if action == "refill":
        return await uni.bucket(f"inject-files-{n}", -5), {"value": 7}
    return uni.id(await uni.cron({**PRUNE, "n": n}), "cron"), {}


TABLES = {"refill": "token_bucket", "forget": "cron_last_exec", "run_now": "cron_last_exec"}
KEYS = {"token_bucket": "ident", "cron_last_exec": "id", "queued_job": "id"}
ACTIONS = ("release", "cancel", "skip", "run_now", "forget", "refill")


@pytest.mark.parametrize("action", ACTIONS)
async def test_a_row_is_changed_as_it_was_seen_alone(uni: Uni, uni_workspace: Workspace, action: str) -> None:
    unguarded(uni_workspace, uni2work.LABEL)
    node, arguments = await uni_node(uni, action)
    versions = await seen(uni_workspace, [node], uni2work.LABEL)
    table = TABLES.get(action, "queued_job")
    await uni.sql(f"UPDATE {table} SET {KEYS[table]} = {KEYS[table]}")  # the same values, by another's hand
    before = await uni.everything()
    assert outcomes_of(await do(uni_workspace, action, versions, arguments, uni2work.LABEL)) == {node: STALE}
    assert await uni.everything() == before


@pytest.mark.parametrize("action", ["cancel", "skip"])
@pytest.mark.parametrize("half", ["lock_instance = NULL", "lock_time = NULL", "id = id"])
async def test_a_locked_row_is_not_deleted(uni: Uni, uni_workspace: Workspace, action: str, half: str) -> None:
    unguarded(uni_workspace, uni2work.LABEL)
    job = await uni.job(PRUNE, held=9000, cron=True)
    await uni.sql(f"UPDATE queued_job SET {half}")
    assert outcomes_of(await do(uni_workspace, action, [uni.id(job)], {}, uni2work.LABEL)) == {uni.id(job): STALE}
    assert await uni.row(job)


async def test_a_job_whose_success_is_not_recorded_is_not_skipped(uni: Uni, uni_workspace: Workspace) -> None:
    unguarded(uni_workspace, uni2work.LABEL)
    job = await uni.job(PRUNE)
    assert outcomes_of(await do(uni_workspace, "skip", [uni.id(job)], {}, uni2work.LABEL)) == {uni.id(job): STALE}
    assert await uni.entry(PRUNE) is None


@pytest.mark.parametrize("held", [None, 299.0])
async def test_a_lock_that_is_young_or_none_is_not_released(
    uni: Uni, uni_workspace: Workspace, held: float | None
) -> None:
    unguarded(uni_workspace, uni2work.LABEL)
    job = await uni.job(held=held, age=9000)
    before = await uni.everything()
    assert outcomes_of(await do(uni_workspace, "release", [uni.id(job)], GONE, uni2work.LABEL)) == {uni.id(job): STALE}
    assert await uni.everything() == before


async def test_a_bucket_loses_nothing(uni: Uni, uni_workspace: Workspace) -> None:
    unguarded(uni_workspace, uni2work.LABEL)
    node = await uni.bucket("inject-files", 9)
    assert outcomes_of(await do(uni_workspace, "refill", [node], {"value": 8}, uni2work.LABEL)) == {node: STALE}


async def test_of_the_rows_held_for_an_instance_only_its_own_old_locks_go(uni: Uni, uni_workspace: Workspace) -> None:
    """As if what was held had changed hands: the change looks at each row once more."""
    mine, young, other = await uni.job(held=900), await uni.job(held=10), await uni.job(held=900, held_by=OTHER)
    stranger = await uni.job(held=900, held_by=LIVE)
    held = json.dumps({mine: str(DEAD), young: str(DEAD), other: str(DEAD), stranger: str(LIVE)})
    lock = Statement(
        text="SELECT i AS id, v AS version FROM unnest($1::text[], $2::text[]) AS s(i, v),"
        f" set_config('unstick.held', '{held}', true)",
        source="test",
        parameters=("ids", "versions"),
    )
    unguarded(uni_workspace, uni2work.LABEL, lock)
    node = uni.id(DEAD, "holder")
    assert outcomes_of(await do(uni_workspace, "release", [node], GONE, uni2work.LABEL)) == {node: CHANGED}
    holders = [(await uni.row(j))["lock_instance"] for j in (mine, young, other, stranger)]
    assert holders == [None, DEAD, OTHER, LIVE]


@pytest.mark.parametrize("action", [v for v in ACTIONS if v != "run_now"])
async def test_rows_are_locked_and_those_of_others_not_waited_for(
    uni: Uni, uni_workspace: Workspace, action: str
) -> None:
    table = TABLES.get(action, "queued_job")
    (held, arguments), (free, _) = [await uni_node(uni, action, n) for n in range(2)]
    read = f"SELECT {KEYS[table]}::text FROM {table}"
    still = await locked(uni_workspace, uni2work.LABEL, action, free, read, uni.dsn)
    assert still == [held.rpartition(":")[2]]
    async with uni.connection.transaction():
        await uni.sql(f"{read} WHERE {KEYS[table]}::text = $1 FOR UPDATE", held.rpartition(":")[2])
        outcomes = await do(uni_workspace, action, [held, free], arguments, uni2work.LABEL)
    assert outcomes_of(outcomes) == {held: LOCKED, free: CHANGED}


async def test_an_instance_of_which_a_row_is_held_holds_up_no_other(uni: Uni, uni_workspace: Workspace) -> None:
    jobs = [await uni.job(held=900, held_by=holder, creator=LIVE) for holder in (DEAD, DEAD, OTHER)]
    held, free = uni.id(DEAD, "holder"), uni.id(OTHER, "holder")
    async with uni.connection.transaction():
        await uni.sql("SELECT FROM queued_job WHERE id = $1 FOR UPDATE", jobs[1])
        outcomes = await do(uni_workspace, "release", [held, free], GONE, uni2work.LABEL)
    assert outcomes_of(outcomes) == {held: LOCKED, free: CHANGED}
    assert [(await uni.row(j))["lock_instance"] for j in jobs] == [DEAD, DEAD, None]


@pytest.mark.parametrize("action", ["release", "cancel", "skip"])
async def test_a_row_that_a_worker_may_be_at_is_not_even_locked(
    uni: Uni, uni_workspace: Workspace, action: str
) -> None:
    """It would hold the worker up for as long as the action takes."""
    job = await uni.job(PRUNE, held=10, cron=True)
    read = "SELECT id FROM queued_job"
    assert await locked(uni_workspace, uni2work.LABEL, action, uni.id(job), read, uni.dsn) == [job]


async def test_a_release_locks_nothing_that_any_worker_may_take(uni: Uni, uni_workspace: Workspace) -> None:
    job = await uni.job(age=9000)
    read = "SELECT id FROM queued_job"
    assert await locked(uni_workspace, uni2work.LABEL, "release", uni.id(job), read, uni.dsn) == [job]


async def test_of_an_instance_the_old_locks_are_locked_alone(uni: Uni, uni_workspace: Workspace) -> None:
    await uni.job(held=900)
    young, other = await uni.job(held=10), await uni.job(held=900, held_by=OTHER)
    read = "SELECT id FROM queued_job"
    node = uni.id(DEAD, "holder")
    assert await locked(uni_workspace, uni2work.LABEL, "release", node, read, uni.dsn) == [young, other]


@pytest.mark.parametrize("action", ["skip", "forget"])
async def test_equal_rows_are_locked_too_but_not_those_of_workers(
    uni: Uni, uni_workspace: Workspace, action: str
) -> None:
    """A worker that takes one of them now would in the end write the record that we write."""
    node, _ = await uni_node(uni, action)
    await uni.job({**PRUNE, "n": 0}, cron=True)
    at_work, other = await uni.job({**PRUNE, "n": 0}, held=10), await uni.job(PRUNE)
    read = "SELECT id FROM queued_job ORDER BY id"
    assert await locked(uni_workspace, uni2work.LABEL, action, node, read, uni.dsn) == [at_work, other]


@pytest.mark.parametrize("sign", ["job", "holder"])
async def test_an_instance_is_released_as_it_was_seen_alone(uni: Uni, uni_workspace: Workspace, sign: str) -> None:
    """A lock taken or given back since is a sign of life, though it be old by now."""
    job = await uni.job(held=900)
    node = uni.id(job) if sign == "job" else uni.id(DEAD, "holder")
    versions = await seen(uni_workspace, [node], uni2work.LABEL)
    await uni.sql("UPDATE queued_job SET lock_time = lock_time + interval '1 microsecond'")
    assert outcomes_of(await do(uni_workspace, "release", versions, GONE, uni2work.LABEL)) == {node: STALE}


# Between the moment that a statement looks and the moment that it locks


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
WAITS = "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
TAKEN = "lock_instance = '10000000-0000-4000-8000-000000000001', lock_time = now()"
ANEW = "lock_time = now()"
PASSED_ON = "lock_instance = '10000000-0000-4000-8000-000000000001'"


@pytest.mark.parametrize(
    ("action", "change"),
    [
        ("cancel", TAKEN),
        ("skip", TAKEN),
        ("forget", TAKEN),
        ("release", ANEW),
        ("release all", ANEW),
        ("release all", PASSED_ON),
    ],
)
async def test_what_a_worker_takes_while_the_statement_looks_is_left_to_it(
    uni: Uni, server: TestbedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str, change: str
) -> None:
    """The statement has seen the row as it was, and gets its lock on the row as it is now."""
    monkeypatch.setattr("queries.db.database.LOCK_TIMEOUT", 4.0)
    role = server.unique("role")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    for objects in ("TABLES", "SEQUENCES"):
        server.sql(f"GRANT ALL ON ALL {objects} IN SCHEMA public TO {role}", uni.dsn)
    server.sql(GATE, uni.dsn)
    workspace = await opened(server.dsn(uni.dsn.rpartition("/")[2], user=role, password="x"), tmp_path)
    name = action.partition(" ")[0]
    node, arguments = await uni_node(uni, name)
    if action == "release all":
        node = uni.id(DEAD, "holder")
    elif action == "forget":
        await uni.job({**PRUNE, "n": 0}, cron=True)
    await uni.sql("SELECT pg_advisory_lock(1)")
    dry_running = asyncio.create_task(dry_run_of(workspace, name, [node], arguments, uni2work.LABEL))
    async with asyncio.timeout(30):
        while not await uni.value(WAITS):
            await asyncio.sleep(0.01)
    await uni.sql(f"UPDATE queued_job SET {change}")
    await uni.sql("SELECT pg_advisory_unlock(1)")
    assert outcomes_of(await dry_running)[node] != CHANGED
    await workspace.close()
