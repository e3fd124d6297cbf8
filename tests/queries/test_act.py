"""Write path: skipped nodes and reasons, many nodes, dry runs, two consoles."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from queries.change import loop, perform
from queries.change import perform as narrow
from queries.change.plan import plan_versions
from queries.db.errors import DatabaseError
from queries.log import audit_log
from queries.records.action import Change, Outcome
from queries.workspace import Workspace
from tests.db.eternaltwin import LABEL, EternaltwinDb
from tests.proof import repeated
from tests.queries.builders import OPERATOR, do, dry_run_of, opened, outcomes_of, seen, steps, why
from tests.servers import PostgresServer, both_versions

pytestmark = pytest.mark.fast

CHANGED, STALE, GONE, LOCKED, REFUSED, DENIED, CONFLICT = (
    Outcome.CHANGED, Outcome.STALE, Outcome.GONE, Outcome.LOCKED, Outcome.REFUSED, Outcome.DENIED, Outcome.CONFLICT
)  # fmt: skip


@pytest.fixture
async def other(eternaltwin: str) -> AsyncIterator[asyncpg.Connection]:
    """Connection of another session, which holds locks."""
    connection = await asyncpg.connect(eternaltwin)
    yield connection
    await connection.close()


@pytest.fixture
def begun(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One element for each writing transaction."""
    found: list[None] = []
    writing = workspace.database.writing

    def counted(*arguments: Any, **options: Any) -> Any:
        found.append(None)
        return writing(*arguments, **options)

    monkeypatch.setattr(workspace.database, "writing", counted)
    return found


async def commit(workspace: Workspace, dry_run: Change) -> dict[str, Outcome]:
    return outcomes_of(await loop.commit(workspace, dry_run, OPERATOR))


def ids_of(eternaltwin_db: EternaltwinDb, tasks: list[uuid.UUID]) -> list[str]:
    return [eternaltwin_db.id(task) for task in tasks]


# Skipped nodes


@both_versions
async def test_each_skipped_node_is_named_and_the_others_are_changed(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, other: asyncpg.Connection
) -> None:
    tasks = await eternaltwin_db.tasks(await eternaltwin_db.jobs(7), status="Blocked", timer=30)
    fine, stale, gone, locked, complete, timed, timer_held = ids = ids_of(eternaltwin_db, tasks)
    await eternaltwin_db.sql("UPDATE task SET status = 'Complete' WHERE task_id = $1", tasks[4])
    dry_run = await dry_run_of(workspace, "cancel", ids)
    assert outcomes_of(dry_run) == {i: REFUSED if i == complete else CHANGED for i in ids}

    await eternaltwin_db.sql("UPDATE task SET revision = revision + 1 WHERE task_id = $1", tasks[1])
    await eternaltwin_db.sql("DELETE FROM task WHERE task_id = $1", tasks[2])
    await eternaltwin_db.timers([tasks[5]], 99)
    before = {task: dict(row) for task in tasks if (row := await eternaltwin_db.row(task))}
    async with other.transaction():
        await other.execute("SELECT FROM task WHERE task_id = $1 FOR NO KEY UPDATE", tasks[3])
        await other.execute("SELECT FROM task_timer WHERE task_id = $1 FOR UPDATE", tasks[6])
        outcomes = await loop.commit(workspace, dry_run, OPERATOR)

    assert outcomes_of(outcomes) == {
        fine: CHANGED,
        stale: STALE,
        gone: GONE,
        locked: LOCKED,
        complete: REFUSED,
        timed: STALE,
        timer_held: LOCKED,
    }
    assert all(why(outcomes, node) for node in outcomes_of(outcomes) if node != fine)
    for task in before:
        if task != tasks[0]:
            assert dict(await eternaltwin_db.row(task)) == before[task]
    assert {c.id for c in outcomes.changes} == {fine}


@pytest.mark.parametrize("held", ["task", "task_timer"])
async def test_a_held_table_makes_all_locked_at_once(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, other: asyncpg.Connection, begun: list[None], held: str
) -> None:
    tasks = await eternaltwin_db.tasks(await eternaltwin_db.jobs(64), status="Blocked", timer=30)
    versions = await seen(workspace, ids_of(eternaltwin_db, tasks))
    async with other.transaction():
        await other.execute(f"LOCK TABLE {held} IN ACCESS EXCLUSIVE MODE")
        dry_run = await dry_run_of(workspace, "wake", versions)
    assert set(outcomes_of(dry_run).values()) == {LOCKED}
    assert len(begun) == 1, "one lock timeout, not one for each node"


async def test_nodes_that_wait_for_a_table_are_not_tried_one_by_one_for_ever(
    eternaltwin_db: EternaltwinDb,
    workspace: Workspace,
    other: asyncpg.Connection,
    begun: list[None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Count the transactions of an action while CREATE INDEX holds the table.

    The index build lets other sessions lock rows but not write them.
    """
    monkeypatch.setattr(narrow, "PART_SECONDS", 0.0)
    versions = await seen(
        workspace,
        ids_of(eternaltwin_db, await eternaltwin_db.tasks(await eternaltwin_db.jobs(64), status="Blocked", timer=30)),
    )
    async with other.transaction():
        await other.execute("LOCK TABLE task IN SHARE MODE")
        assert set(outcomes_of(await dry_run_of(workspace, "wake", versions)).values()) == {LOCKED}
    assert len(begun) == 1


async def test_a_node_skipped_in_the_dry_run_is_skipped_in_the_commit(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, other: asyncpg.Connection
) -> None:
    """Skip a node whose changes the operator has not seen."""
    held, free = await eternaltwin_db.tasks(await eternaltwin_db.jobs(2))
    async with other.transaction():
        await other.execute("SELECT FROM task WHERE task_id = $1 FOR UPDATE", held)
        dry_run = await dry_run_of(workspace, "cancel", ids_of(eternaltwin_db, [held, free]))
    assert outcomes_of(dry_run) == {eternaltwin_db.id(held): LOCKED, eternaltwin_db.id(free): CHANGED}
    assert await commit(workspace, dry_run) == {eternaltwin_db.id(held): LOCKED, eternaltwin_db.id(free): CHANGED}
    assert (await eternaltwin_db.row(held))["status"] == "Available"


async def test_an_id_that_cannot_be_one_does_not_stop_the_others(
    eternaltwin_db: EternaltwinDb, workspace: Workspace
) -> None:
    good = eternaltwin_db.id(await eternaltwin_db.task())
    odd = f"{LABEL}/task:not-a-uuid"
    outcomes = await do(workspace, "cancel", {**await seen(workspace, [good]), odd: "1:Available:7"})
    assert outcomes_of(outcomes) == {good: CHANGED, odd: REFUSED}
    assert "not-a-uuid" in why(outcomes, odd)


@both_versions
async def test_a_missing_privilege_is_named(
    eternaltwin_db: EternaltwinDb, server: PostgresServer, eternaltwin: str, tmp_path: Path
) -> None:
    task = eternaltwin_db.id(await eternaltwin_db.task())
    role = server.unique("viewer")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    server.sql(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}", eternaltwin)
    workspace = await opened(server.dsn(eternaltwin.rpartition("/")[2], user=role, password="x"), tmp_path)
    try:
        outcomes = await do(workspace, "cancel", [task])
        assert outcomes_of(outcomes) == {task: DENIED}
        assert why(outcomes, task).endswith("UPDATE task, DELETE task_timer")

        # The right to update one column is some right to update; only the server knows that it is not enough.
        grants = f"GRANT UPDATE (output) ON task TO {role}; GRANT DELETE ON task_timer TO {role}"
        server.sql(grants, eternaltwin)
        await workspace.detect()
        outcomes = await do(workspace, "cancel", [task])
        assert outcomes_of(outcomes) == {task: DENIED}
        assert why(outcomes, task).count("UPDATE task, DELETE ")
    finally:
        await workspace.close()


async def test_a_reason_must_be_given(eternaltwin_db: EternaltwinDb, audited: Workspace) -> None:
    versions = await seen(audited, [eternaltwin_db.id(await eternaltwin_db.task())])
    with pytest.raises(DatabaseError, match="reason is required"):
        await perform.dry_run(audited, plan_versions(audited, LABEL, "cancel", versions), "  ", {})
    for reason, arguments in (("\udcff", {}), ("why\0", {}), ("why", {"untimed": "\udcff"})):
        with pytest.raises(DatabaseError, match="contains NUL"):
            await perform.dry_run(audited, plan_versions(audited, LABEL, "cancel", versions), reason, arguments)
    odd = await perform.dry_run(
        audited, plan_versions(audited, LABEL, "cancel", versions), "\x1b[31m\u202e'; -- ü🎉", {"a": "\\u0000"}
    )
    assert set((await commit(audited, odd)).values()) == {CHANGED}
    assert (await audited.audit_log.page())[0][0].reason == odd.reason


# The database breaks it off

POISON = """
CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF new.kind = 'Poisoned' THEN RAISE unique_violation USING MESSAGE = 'no two alike'; END IF;
  IF new.kind = 'Skipped' THEN RETURN NULL; END IF;
  RETURN new;
END $$;
CREATE TRIGGER poison BEFORE UPDATE ON task FOR EACH ROW EXECUTE FUNCTION poison();
"""


@both_versions
async def test_one_poisoned_node_among_many_is_found_by_halving(
    eternaltwin_db: EternaltwinDb, audited: Workspace
) -> None:
    await eternaltwin_db.sql(POISON)
    fine = ids_of(eternaltwin_db, await eternaltwin_db.tasks(await eternaltwin_db.jobs(299)))
    poisoned = eternaltwin_db.id(await eternaltwin_db.task(kind="Poisoned"))
    outcomes = await do(audited, "cancel", [*fine, poisoned])
    assert outcomes_of(outcomes) == {**dict.fromkeys(fine, CHANGED), poisoned: CONFLICT}
    assert why(outcomes, poisoned) == "No two alike. Nothing was changed."
    assert await eternaltwin_db.value("SELECT count(*) FROM task WHERE status = 'Complete'") == 299
    assert await eternaltwin_db.value("SELECT sum(json_array_length(changes)) FROM unstick.audit_log") == 299
    assert sorted(outcomes.xid.split()) == sorted(
        r["xid"] for r in await eternaltwin_db.connection.fetch("SELECT xid::text FROM unstick.audit_log")
    )


async def test_a_row_that_the_change_does_not_reach_is_reported(
    eternaltwin_db: EternaltwinDb, workspace: Workspace
) -> None:
    await eternaltwin_db.sql(POISON)
    fine, skipped = (
        eternaltwin_db.id(await eternaltwin_db.task()),
        eternaltwin_db.id(await eternaltwin_db.task(kind="Skipped")),
    )
    outcomes = await do(workspace, "cancel", [fine, skipped])
    assert outcomes_of(outcomes) == {fine: CHANGED, skipped: STALE}


@pytest.mark.parametrize("place", ["table", "file"])
async def test_a_constraint_that_fails_at_commit_is_a_conflict(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, place: str
) -> None:
    await eternaltwin_db.sql(
        "CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " IF new.kind = 'Late' THEN RAISE check_violation USING MESSAGE = 'too late'; END IF; RETURN NULL; END $$;"
        "CREATE CONSTRAINT TRIGGER late AFTER UPDATE ON task DEFERRABLE INITIALLY DEFERRED"
        " FOR EACH ROW EXECUTE FUNCTION late()"
    )
    if place == "table":
        await eternaltwin_db.sql(audit_log.ddl())
    workspace = await opened(eternaltwin, tmp_path)
    late, fine = (
        eternaltwin_db.id(await eternaltwin_db.task(kind="Late")),
        eternaltwin_db.id(await eternaltwin_db.task()),
    )
    outcomes = await do(workspace, "cancel", [late, fine])
    entries, _ = await workspace.audit_log.page()
    await workspace.close()
    assert outcomes_of(outcomes) == {late: CONFLICT, fine: CHANGED}
    assert why(outcomes, late) == "Too late. Nothing was changed."
    assert await eternaltwin_db.value("SELECT count(*) FROM task WHERE status = 'Complete'") == 1
    kept = [outcomes_of(e.results) for e in entries]
    assert {fine: CHANGED} in kept
    assert all(e.get(late) in (None, CONFLICT) for e in kept)


# Many at once


async def test_many_go_in_parts_and_stop_between_two(eternaltwin_db: EternaltwinDb, audited: Workspace) -> None:
    tasks = await eternaltwin_db.tasks(await eternaltwin_db.jobs(2000), status="Blocked", timer=60)
    dry_run = await dry_run_of(audited, "wake", await seen(audited, ids_of(eternaltwin_db, tasks)))
    assert len(dry_run.results) == 500
    done = []
    async for progress in steps(audited, dry_run):
        done.append((progress.done, len(progress.results)))
        if progress.done == 1500:
            progress.loop.leave()
    assert [each for each in done if each[1]] == [(500, 500), (1000, 500), (1500, 500)]
    assert await eternaltwin_db.value("SELECT count(*) FROM task WHERE status = 'Available'") == 1500
    assert await eternaltwin_db.value("SELECT count(*) FROM task_timer") == 500

    again = await dry_run_of(audited, "wake", await seen(audited, ids_of(eternaltwin_db, tasks)))
    outcomes = await loop.commit(audited, again, OPERATOR)
    assert sorted(outcomes_of(outcomes).values()) == [CHANGED] * 500 + [REFUSED] * 1500
    assert await eternaltwin_db.value("SELECT count(*) FROM unstick.audit_log WHERE action = 'wake'") == 4


async def test_one_action_on_jobs_and_tasks_together(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    job = await eternaltwin_db.job()
    await eternaltwin_db.task(job)
    ids = [eternaltwin_db.id(job, "job"), eternaltwin_db.id(await eternaltwin_db.task())]
    assert set(outcomes_of(await do(workspace, "cancel", ids)).values()) == {CHANGED}
    assert await eternaltwin_db.value("SELECT count(*) FROM task WHERE status = 'Complete'") == 2


# A dry run leaves no trace


@both_versions
@pytest.mark.parametrize(
    ("action", "kind", "arguments"),
    [
        ("wake", "task", {"untimed": True}),
        ("cancel", "task", {}),
        ("cancel", "job", {}),
        ("restart", "job", {"confirm": "SendEmail v1"}),
        ("delete", "job", {}),
    ],
)
async def test_a_dry_run_leaves_no_trace(
    eternaltwin_db: EternaltwinDb, audited: Workspace, action: str, kind: str, arguments: dict[str, object]
) -> None:
    job = await eternaltwin_db.job()
    task = await eternaltwin_db.task(job, age=900, status="Blocked", timer=30)
    await eternaltwin_db.task(job, age=90)
    tables = ("users", "job", "task", "task_timer", "unstick.audit_log")
    before = await eternaltwin_db.digest(tables)
    dry_run = await dry_run_of(audited, action, [eternaltwin_db.id(task if kind == "task" else job, kind)], arguments)
    assert list(outcomes_of(dry_run).values()) == [CHANGED]
    assert dry_run.changes
    assert await eternaltwin_db.digest(tables) == before
    ours = "pg_stat_activity a WHERE application_name = 'unstick' AND datname = current_database()"
    while await eternaltwin_db.value(f"SELECT count(*) FROM {ours} AND state <> 'idle'"):
        pass  # a read does not wait for the answer to its COMMIT
    held = f"SELECT array_agg(a.query || l.mode) FROM pg_locks l JOIN {ours} AND a.pid = l.pid".replace("WHERE", "ON")
    assert await eternaltwin_db.value(held) is None


async def test_times_are_the_servers(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = eternaltwin_db.id(await eternaltwin_db.task())
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: 0.0)
    dry_run = await dry_run_of(workspace, "cancel", [task])
    await commit(workspace, dry_run)
    ((entry,), _) = await workspace.audit_log.page()
    assert abs(dry_run.at - now) < 60
    assert abs(entry.at - now) < 60


async def test_a_commit_does_what_its_dry_run_showed(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    job = await eternaltwin_db.job()
    await eternaltwin_db.task(job, age=900, status="Blocked", timer=30)
    await eternaltwin_db.task(job, age=90)
    dry_run = await dry_run_of(workspace, "restart", [eternaltwin_db.id(job, "job")], {"confirm": "SendEmail v1"})
    outcomes = await loop.commit(workspace, dry_run, OPERATOR)
    assert outcomes.changes == dry_run.changes


# Two consoles


@both_versions
@repeated(few=8, many=40)
async def test_of_two_consoles_at_one_node_exactly_one_changes_it(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, times: int
) -> None:
    """Check both outcomes of two commits that run at the same time.

    The second console reports ``stale``, or ``locked`` if it came while the first held the row lock.
    """
    consoles = [await opened(eternaltwin, tmp_path / name) for name in "ab"]
    met = []
    for _ in range(times):
        task = await eternaltwin_db.task()
        dry_runs = [await dry_run_of(console, "cancel", [eternaltwin_db.id(task)]) for console in consoles]
        outcomes = await asyncio.gather(*(commit(c, r) for c, r in zip(consoles, dry_runs, strict=True)))
        met.append(sorted(o[eternaltwin_db.id(task)] for o in outcomes))
        assert (await eternaltwin_db.row(task))["revision"] == 4
    for console in consoles:
        await console.close()
    assert all(pair in ([CHANGED, STALE], [CHANGED, LOCKED]) for pair in met)
    assert len(met) == times


@repeated(few=3, many=10)
async def test_two_consoles_with_crossing_selections_never_deadlock(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, times: int
) -> None:
    consoles = [await opened(eternaltwin, tmp_path / name) for name in "ab"]
    for _ in range(times):
        ids = ids_of(eternaltwin_db, await eternaltwin_db.tasks(await eternaltwin_db.jobs(30)))
        dry_runs = [
            await dry_run_of(consoles[0], "cancel", await seen(consoles[0], ids)),
            await dry_run_of(consoles[1], "cancel", await seen(consoles[1], reversed(ids))),
        ]
        first, second = await asyncio.gather(*(commit(c, r) for c, r in zip(consoles, dry_runs, strict=True)))
        for node in ids:
            assert sorted((first[node], second[node])) in ([CHANGED, STALE], [CHANGED, LOCKED])
    for console in consoles:
        await console.close()
    assert await eternaltwin_db.value("SELECT count(*) FROM task WHERE revision <> 4") == 0
    assert await eternaltwin_db.value("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == 0
