"""Bulks in the audit log: a colleague continues one, or ends it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest

from queries.change import loop
from queries.change import perform as narrow
from queries.change import plan as parts
from queries.change import run as runs
from queries.change.loop import Loop
from queries.change.run import Beginning, Run, RunPlan
from queries.change.state import Budget, Do, RedriveSettings
from queries.db import database
from queries.db.errors import DatabaseError, LockedError, OvertakenError
from queries.db.transaction import Transaction
from queries.log import audit_log, run_log, settle
from queries.records.action import Change, Outcome
from queries.records.run import BULK, REDRIVE, Member, WatchedMember
from queries.workspace import Workspace
from tests.command import ROOT
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.builders import OPERATOR, dry_run_of, opened, outcomes_of, seen, steps
from tests.servers import PostgresServer

NODES, PART = 60, 10
PARTS = 60  # of a bulk that goes on for some seconds
CHANGED = Outcome.CHANGED


@pytest.fixture
async def tasks(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Workspace, Workspace, Change]]:
    """Two operators, and the dry run of one of them."""
    monkeypatch.setattr(parts, "PART_NODES", PART)
    await eternaltwin_db.sql(audit_log.ddl())
    made = await eternaltwin_db.tasks([await eternaltwin_db.job()] * NODES, status="Blocked", timer=3600)
    anna, bert = await opened(eternaltwin, tmp_path / "anna"), await opened(eternaltwin, tmp_path / "bert")
    yield anna, bert, await dry_run_of(anna, "wake", await seen(anna, map(eternaltwin_db.id, made)))
    await anna.close()
    await bert.close()


async def left(workspace: Workspace, run: Run) -> Change:
    """Return the dry run of what is left of a run."""
    versions = {member.id: member.version for member in run.plan.members}
    pending = (await loop.look(workspace, run, settled=True)).pending
    return await dry_run_of(workspace, "wake", {i: versions[i] for i in pending})


async def test_a_colleague_continues_a_bulk_that_is_running(
    tasks: tuple[Workspace, Workspace, Change], eternaltwin_db: EternaltwinDb
) -> None:
    """The first console changes nothing more, and each node is changed once."""
    anna, bert, dry_run = tasks
    mine = steps(anna, dry_run)
    async for progress in mine:
        if progress.done >= 2 * PART:
            break
    assert progress.run is not None
    run = await runs.load(bert, progress.run.log.id)
    again = await left(bert, run)
    assert len(again.versions) <= NODES - 2 * PART
    theirs = [step async for step in steps(bert, again, run)]
    assert outcomes_of(theirs[-1].loop.state.results.values()) == dict.fromkeys(dry_run.versions, CHANGED)
    with pytest.raises(OvertakenError, match="has ended the run"):
        await anext(step async for step in mine if step.done == NODES)
    entries = [entry async for entry in bert.audit_log.stream()]
    changed = [r.id for entry in entries for r in entry.results if r.outcome is CHANGED]
    assert sorted(changed) == sorted(dry_run.versions)
    assert await eternaltwin_db.value("SELECT count(*) FROM task WHERE status = 'Available'") == NODES
    assert [entry.arguments["run"].get("event") for entry in entries if not entry.results] == ["end", "resume", "begin"]


async def test_a_colleague_ends_a_bulk(
    tasks: tuple[Workspace, Workspace, Change], eternaltwin_db: EternaltwinDb
) -> None:
    anna, bert, dry_run = tasks
    mine = steps(anna, dry_run)
    async for progress in mine:
        if progress.done >= PART:
            break
    assert progress.run is not None
    await loop.stop(bert, await runs.load(bert, progress.run.log.id))
    with pytest.raises(OvertakenError, match="has ended the run"):
        await anext(step async for step in mine if step.done == NODES)
    assert progress.run.log.ended
    woken = await eternaltwin_db.value("SELECT count(*) FROM task WHERE status = 'Available'")
    assert PART <= woken <= 3 * PART, "what was under way has ended"
    (listed,) = (await runs.listed(bert, 9)).runs
    assert (listed.state, listed.changed, listed.nodes) == ("stopped", woken, NODES)
    await loop.stop(anna, await runs.load(anna, listed.run))
    assert (await runs.listed(bert, 9)).runs == (listed,), "what has ended is not taken over"


async def test_a_colleague_ends_a_bulk_that_never_rests(
    eternaltwin_db: EternaltwinDb, pooler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some parts change nothing, which is recorded."""
    dsn = pooler
    await eternaltwin_db.sql(audit_log.ddl())
    monkeypatch.setattr(parts, "PART_NODES", PART)
    made = await eternaltwin_db.tasks([await eternaltwin_db.job()] * PARTS * PART, status="Blocked", timer=3600)
    anna = await opened(dsn, tmp_path)
    bert = await opened(dsn, tmp_path / "another machine")
    dry_run = await dry_run_of(anna, "wake", await seen(anna, map(eternaltwin_db.id, made)))
    stale = [node.partition(":")[2] for n, node in enumerate(dry_run.versions) if n // PART % 4 == 3]
    await eternaltwin_db.sql("UPDATE task SET revision = revision + 1 WHERE task_id::text = ANY ($1)", stale)
    sent = settle.send_commit

    async def slow(transaction: Transaction) -> str | None:
        await asyncio.sleep(0.1)
        return await sent(transaction)

    monkeypatch.setattr(settle, "send_commit", slow)
    woken = "SELECT count(*) FROM task WHERE status = 'Available'"

    async def stop(name: str) -> int:
        """Return how many nodes were changed when it began."""
        before: int = await eternaltwin_db.value(woken)
        await loop.stop(bert, await runs.load(bert, name))
        return before

    mine = steps(anna, dry_run)
    async for progress in mine:
        if progress.done >= 3 * PART:
            break
    assert progress.run is not None
    stopping = asyncio.create_task(stop(progress.run.log.id))
    with pytest.raises(OvertakenError, match=r"continues the run|has ended the run"):
        await anext(step async for step in mine if step.done == PARTS * PART)
    changed = await eternaltwin_db.value(woken)
    assert changed <= await stopping + 6 * PART, "what was under way, and what began before it could ask"
    assert {each.outcome for each in progress.loop.unfinished()} == {Outcome.REFUSED}, "the end of each COMMIT is known"
    shown = (await loop.look(bert, await runs.load(bert, progress.run.log.id))).run
    assert (shown.state, shown.changed) == ("stopped", changed)
    await anna.close()
    await bert.close()


WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND NOT granted"


@pytest.mark.parametrize(("transaction", "nodes"), [(1, 1), (3, PART - 1)])
async def test_what_a_part_has_committed_before_it_was_overtaken_is_reported(
    tasks: tuple[Workspace, Workspace, Change],
    eternaltwin_db: EternaltwinDb,
    monkeypatch: pytest.MonkeyPatch,
    transaction: int,
    nodes: int,
) -> None:
    """A node makes a part fail, so it has three transactions.

    A colleague ends the run between two of them, or before the skipped node is recorded.
    """
    anna, bert, dry_run = tasks
    bad = min(list(dry_run.versions)[:PART]).partition(":")[2]
    await eternaltwin_db.sql(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF new.task_id::text = "
        f" '{bad}' THEN RAISE EXCEPTION 'no' USING ERRCODE = '23514'; END IF; RETURN new; END $$;"
        " CREATE TRIGGER refuse BEFORE UPDATE ON task FOR EACH ROW EXECUTE FUNCTION refuse()"
    )
    change = await Loop(anna, dry_run, OPERATOR).begin()
    run = change.run
    assert run is not None
    sent, number, stopping = settle.send_commit, count(1), list[asyncio.Task[Any]]()

    async def overtaken(under_way: Transaction) -> str | None:
        if next(number) == transaction:
            stopping.append(asyncio.create_task(loop.stop(bert, await runs.load(bert, run.log.id))))
            while not await eternaltwin_db.value(WAITING):
                await asyncio.sleep(0.01)
        return await sent(under_way)

    monkeypatch.setattr(settle, "send_commit", overtaken)
    with pytest.raises(OvertakenError):
        await change.finish()
    await stopping[0]
    changed = {r.id for r in change.state.results.values() if r.outcome is CHANGED}
    woken = await eternaltwin_db.connection.fetch("SELECT task_id FROM task WHERE status = 'Available'")
    assert changed == {eternaltwin_db.id(row[0]) for row in woken}
    assert len(changed) == nodes
    assert changed.isdisjoint(each.id for each in change.unfinished())


async def test_a_look_stops_no_part(
    tasks: tuple[Workspace, Workspace, Change], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It needs no lock; a look before the run is continued waits for the part."""
    anna, bert, dry_run = tasks
    change = await Loop(anna, dry_run, OPERATOR).begin()
    run = change.run
    assert run is not None
    theirs = await runs.load(bert, run.log.id)
    sent, looked, waited = settle.send_commit, list[int](), list[asyncio.Task[Any]]()

    async def slow(transaction: Transaction) -> str | None:
        looked.append(len((await loop.look(bert, theirs)).pending))
        if not waited:
            waited.append(asyncio.create_task(loop.look(bert, theirs, settled=True)))
            done, _ = await asyncio.wait(waited, timeout=0.3)
            assert not done
        return await sent(transaction)

    monkeypatch.setattr(settle, "send_commit", slow)
    await change.finish()
    assert outcomes_of(change.state.results.values()) == dict.fromkeys(dry_run.versions, CHANGED)
    assert len(looked) == NODES // PART
    assert len((await waited[0]).pending) < NODES


LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('unstick run ' || $1::text, 0))"


@pytest.mark.parametrize("killed", [True, False])
async def test_a_console_that_looks_at_a_bulk_does_not_end_it(
    tasks: tuple[Workspace, Workspace, Change], eternaltwin: str, monkeypatch: pytest.MonkeyPatch, killed: bool
) -> None:
    """It is killed while it waits, or keeps the lock for long."""
    anna, _, dry_run = tasks
    monkeypatch.setattr(run_log, "GUARD_SECONDS", 0.1)
    other = await asyncpg.connect(eternaltwin)
    asked: asyncio.Task[None] | None = None
    sent = settle.send_commit

    async def slow(transaction: Transaction) -> str | None:
        await asyncio.sleep(0.1)
        return await sent(transaction)

    async def look(name: str) -> None:
        async with other.transaction():
            await other.execute(LOCK, name)
            await asyncio.sleep(1)

    monkeypatch.setattr(settle, "send_commit", slow)
    async for progress in steps(anna, dry_run):
        assert progress.run is not None
        if asked is None and progress.done >= PART:
            asked = asyncio.create_task(look(progress.run.log.id))
            await asyncio.sleep(0.05)
            if killed:
                other.terminate()
    assert outcomes_of(progress.loop.state.results.values()) == dict.fromkeys(dry_run.versions, CHANGED)
    assert asked is not None
    if killed:
        with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, OSError)):
            await asked
    else:
        await asked
    other.terminate()


async def test_a_wait_for_the_lock_of_a_run_takes_no_time_of_a_part(
    tasks: tuple[Workspace, Workspace, Change], eternaltwin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be longer than the part, whose nodes would be skipped then."""
    anna, _, dry_run = tasks
    monkeypatch.setattr(database, "WRITE_SECONDS", 1.0)
    monkeypatch.setattr(narrow, "PART_SECONDS", 0.5)
    change = await Loop(anna, dry_run, OPERATOR).begin()
    run = change.run
    assert run is not None
    other = await asyncpg.connect(eternaltwin)

    async def release() -> None:
        await asyncio.sleep(1.5)
        await other.execute("ROLLBACK")

    await other.execute("BEGIN")
    await other.execute(LOCK, run.log.id)
    releasing = asyncio.create_task(release())
    await change.finish()
    await releasing
    await other.close()
    assert outcomes_of(change.state.results.values()) == dict.fromkeys(dry_run.versions, CHANGED)
    assert len(change.state.total.entries) == NODES // PART


async def test_a_console_that_leaves_does_not_wait_for_the_lock_of_the_run(
    tasks: tuple[Workspace, Workspace, Change], eternaltwin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was sent, so nothing must be read."""
    anna, _, dry_run = tasks
    monkeypatch.setattr(run_log, "GUARD_SECONDS", 0.5)
    monkeypatch.setattr(run_log, "LOCK_SECONDS", 60.0)
    change = await Loop(anna, dry_run, OPERATOR).begin()
    run = change.run
    assert run is not None
    other = await asyncpg.connect(eternaltwin)
    await other.execute("BEGIN")
    await other.execute(LOCK, run.log.id)
    async with asyncio.timeout(30):
        async for step in change.steps():
            assert step.do is Do.CHANGE
            asyncio.get_running_loop().call_later(0.2, change.leave)
    await other.close()
    assert {each.outcome for each in change.unfinished()} == {Outcome.REFUSED}


async def test_a_locked_table_is_an_outcome_of_its_nodes(
    tasks: tuple[Workspace, Workspace, Change], eternaltwin: str
) -> None:
    """It is not taken for the lock of the run."""
    anna, _, dry_run = tasks
    other = await asyncpg.connect(eternaltwin)
    async for progress in steps(anna, dry_run):
        if progress.done >= 2 * PART and not other.is_in_transaction():
            await other.execute("BEGIN; LOCK TABLE task IN SHARE MODE")
    outcomes = outcomes_of(progress.loop.state.results.values())
    await other.close()
    assert outcomes.keys() == dry_run.versions.keys()
    assert set(outcomes.values()) == {CHANGED, Outcome.LOCKED}


async def test_what_another_operator_changed_meanwhile_is_said_by_both(
    tasks: tuple[Workspace, Workspace, Change], eternaltwin_db: EternaltwinDb
) -> None:
    """The outcomes of skipped nodes are in the log, too."""
    anna, bert, dry_run = tasks
    late = list(dry_run.versions)[-PART:]
    for node in late:
        await eternaltwin_db.sql("UPDATE task SET revision = revision + 1 WHERE task_id = $1", node.partition(":")[2])
    done = [step async for step in steps(anna, dry_run)][-1]
    expected = dict.fromkeys(dry_run.versions, CHANGED) | dict.fromkeys(late, Outcome.STALE)
    assert outcomes_of(done.loop.state.results.values()) == expected
    assert done.run is not None
    shown = await loop.look(bert, await runs.load(bert, done.run.log.id))
    assert outcomes_of(shown.results) == expected
    assert (shown.pending, shown.run.state, shown.run.changed) == ((), "done", NODES - PART)


@pytest.mark.parametrize(
    "described",
    [
        "{}",
        '{"event": "begin"}',
        '{"event": "begin", "kind": 1, "groups": 3, "nodes": "x"}',
        '{"event": "begin", "x": []}',
    ],
)
async def test_a_beginning_that_no_runner_has_written_is_said_and_stops_nothing(
    tasks: tuple[Workspace, Workspace, Change], eternaltwin_db: EternaltwinDb, described: str
) -> None:
    """A role with INSERT alone writes what it likes, also an end with odd numbers."""
    anna, bert, dry_run = tasks
    append = (
        "INSERT INTO unstick.audit_log (os_user, host, application, engine, schema, action, reason, arguments, results,"
        " changes) VALUES ('m', 'm', 'm', 'eternaltwin', 'public', 'bulk', 'x', "
        " jsonb_build_object('run', $1::jsonb), '[]', '[]')"
        " RETURNING id::text"
    )
    name = await eternaltwin_db.connection.fetchval(append, described)
    for end in ('{"event": "end", "changed": "many"}', '{"event": "end", "changed": 1e300, "reason": 4, "answers": 5}'):
        assert len((await runs.listed(bert, 9)).runs) == 1
        await runs.messages(bert)
        with pytest.raises(DatabaseError):
            await runs.load(bert, name)
        await eternaltwin_db.connection.fetchval(
            append, msgspec.json.encode({**msgspec.json.decode(end), "id": name}).decode()
        )
    assert (await runs.listed(bert, 9)).runs[0].state == "unreadable"
    done = [step async for step in steps(anna, dry_run)][-1]
    assert outcomes_of(done.loop.state.results.values()) == dict.fromkeys(dry_run.versions, CHANGED)


async def test_a_bulk_of_a_role_that_could_not_make_it_is_not_continued(
    tasks: tuple[Workspace, Workspace, Change], server: PostgresServer
) -> None:
    anna, bert, dry_run = tasks
    async for progress in steps(anna, dry_run):
        if progress.done >= PART:
            break
    assert progress.run is not None
    run = await runs.load(bert, progress.run.log.id)
    action = bert.engines["eternaltwin"].engine.action("wake", "task")
    assert action is not None
    await runs.check_author(bert, run, action)
    role = server.unique("mallory")
    server.sql(f"CREATE ROLE {role}")
    run.log.begun = msgspec.structs.replace(run.begun, role=role)
    with pytest.raises(DatabaseError, match=f"is not continued: {role} began it and lacks"):
        await runs.check_author(bert, run, action)
    server.sql(f"DROP ROLE {role}")


async def test_redrives_are_listed_however_many_bulks_came_after(
    tasks: tuple[Workspace, Workspace, Change],
) -> None:
    """A redrive that has not ended excludes another one of its dead letters, too."""
    anna, bert, dry_run = tasks
    settings, members = RedriveSettings(budget=Budget(count=1)), (WatchedMember(id="eternaltwin/task:1", version="1"),)
    redrive = RunPlan(
        label="eternaltwin",
        schema=anna.engines["eternaltwin"].detected.schema,
        reason="x",
        members=members,
        beginning=Beginning(kind=REDRIVE, action="wake", nodes=len(members), groups=("a",), settings=settings),
    )
    first = await runs.begin(anna, redrive)
    for _ in range(3):
        async for _ in steps(anna, dry_run):
            break
    assert [run.run for run in (await runs.listed(bert, 2, REDRIVE)).runs] == [first.log.id]
    assert [run.kind for run in (await runs.listed(bert, 2)).runs] == ["bulk", "bulk"]
    with pytest.raises(LockedError, match=f"redrive {first.log.id}"):
        await runs.begin(bert, redrive)


async def test_a_run_is_of_the_engine_that_it_was_begun_for(
    server: PostgresServer, eternaltwin: str, tmp_path: Path
) -> None:
    """Another engine may have its tables in the same schema."""
    server.sql((ROOT / "queries/engines/uni2work/schema.sql").read_text(), eternaltwin)
    server.sql(audit_log.ddl(), eternaltwin)
    workspace = await opened(eternaltwin, tmp_path)
    assert list(workspace.engines) == ["eternaltwin", "uni2work"]
    members = (Member(id="uni2work/job:1", version="1"),)
    beginning = Beginning(kind=BULK, action="cancel", nodes=len(members))
    plan = RunPlan(label="uni2work", schema="public", reason="x", members=members, beginning=beginning)
    begun = await runs.begin(workspace, plan)
    again = (await runs.load(workspace, begun.log.id)).plan
    assert (again.label, again.ids, again.beginning.kind) == ("uni2work", ["uni2work/job:1"], "bulk")
    await workspace.close()
