"""Undo: rows get their earlier values, or are reported by name."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest

from queries.change import loop, perform
from queries.change import plan as parts
from queries.change.plan import plan_entry
from queries.db.errors import DatabaseError
from queries.db.query import Query
from queries.db.transaction import Transaction
from queries.log import audit_log
from queries.log.choice import NO_IMAGES, NO_TABLE
from queries.read.grants import grants
from queries.records.action import NOT_KEPT, SET, Change, Outcome, Result
from queries.workspace import Workspace
from tests.db.eternaltwin import EternaltwinDb
from tests.db.tasker import TaskerDb
from tests.queries.builders import (
    OPERATOR,
    committed,
    detail,
    do,
    dry_run_edit,
    dry_run_of,
    instead,
    opened,
    outcomes_of,
    steps,
    why,
)
from tests.queries.proxy import Failure, Proxy
from tests.servers import PostgresServer
from tests.simulators.tasker.data import Data
from tests.simulators.tasker.step_history import complete, failed

CHANGED, STALE, GONE, REFUSED, LOCKED = (
    Outcome.CHANGED,
    Outcome.STALE,
    Outcome.GONE,
    Outcome.REFUSED,
    Outcome.LOCKED,
)


async def undo_run(workspace: Workspace, entry: str, ids: Collection[str] = ()) -> Change:
    """Dry-run the undo of an entry."""
    return await perform.dry_run(workspace, await plan_entry(workspace, entry, ids), "wrong", {"entry": entry})


async def undo(workspace: Workspace, entry: str, ids: Collection[str] = ()) -> Change:
    """Undo an entry."""
    return await loop.commit(workspace, await undo_run(workspace, entry, ids), OPERATOR)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep a busy machine from splitting an action into several entries."""
    monkeypatch.setattr("queries.db.database.WRITE_SECONDS", 60.0)


@pytest.fixture(params=["table", "file"])
async def workspace(
    request: pytest.FixtureRequest, server: PostgresServer, eternaltwin: str, tmp_path: Path
) -> Workspace:
    """Return a workspace whose audit log is the table, or the local file."""
    if request.param == "table":
        server.sql(audit_log.ddl(), eternaltwin)
    return await opened(eternaltwin, tmp_path)


async def test_cancelled_tasks_come_back_with_their_timers(workspace: Workspace, eternaltwin_db: EternaltwinDb) -> None:
    tasks = [await eternaltwin_db.task(status="Blocked", timer=30) for _ in range(3)]
    before = [await eternaltwin_db.rows(table, xmin=False) for table in ("task", "task_timer")]
    ids = [eternaltwin_db.id(task) for task in tasks]
    done = await do(workspace, "cancel", ids)
    assert len(done.entries) == 1
    dry_run = await undo_run(workspace, done.entries[0])
    assert outcomes_of(dry_run) == dict.fromkeys(ids, CHANGED)
    undone = await undo(workspace, done.entries[0])
    assert outcomes_of(undone) == dict.fromkeys(ids, CHANGED)
    assert [await eternaltwin_db.rows("task_timer", xmin=False)] == before[1:]
    assert [(await eternaltwin_db.row(task))["revision"] for task in tasks] == [5, 5, 5]  # a counter never goes back
    assert "task.revision is 5, not 3" in detail(undone, ids[0])
    again = await undo(workspace, undone.entries[0])  # a redo
    assert outcomes_of(again) == dict.fromkeys(ids, CHANGED)
    assert {(await eternaltwin_db.row(task))["status"] for task in tasks} == {"Complete"}


async def test_nodes_with_other_values_are_one_group(workspace: Workspace, eternaltwin_db: EternaltwinDb) -> None:
    tasks = [await eternaltwin_db.task(status="Blocked", timer=30) for _ in range(4)]
    for number, task in enumerate(tasks):
        await eternaltwin_db.sql("UPDATE task SET revision = $2 WHERE task_id = $1", task, 20 + number)
    done = await do(workspace, "cancel", map(eternaltwin_db.id, tasks))
    await eternaltwin_db.sql("UPDATE task SET kind = kind WHERE task_id = $1", tasks[2])
    await eternaltwin_db.sql("UPDATE task SET kind = kind WHERE task_id = $1", tasks[3])
    results = (await undo(workspace, done.entries[0])).results
    assert len({(r.outcome, r.why) for r in results}) == 2
    assert len({r.detail for r in results}) == 4
    assert "task.revision is 22, not 20" in detail(results, eternaltwin_db.id(tasks[0]))


async def test_a_node_that_the_engine_touched_is_skipped_by_name(
    workspace: Workspace, eternaltwin_db: EternaltwinDb
) -> None:
    tasks = [await eternaltwin_db.task(status="Blocked", timer=30) for _ in range(3)]
    free, polled, deleted = ids = [eternaltwin_db.id(task) for task in tasks]
    done = await do(workspace, "wake", ids)
    await eternaltwin_db.sql("UPDATE task SET revision = revision WHERE task_id = $1", tasks[1])  # the same values
    xmin = (await eternaltwin_db.row(tasks[1]))["xmin"]
    await eternaltwin_db.sql("DELETE FROM task WHERE task_id = $1", tasks[2])
    undone = await undo(workspace, done.entries[0])
    assert outcomes_of(undone) == {free: CHANGED, polled: STALE, deleted: GONE}
    assert f"by transaction {xmin}" in detail(undone, polled)
    assert (await eternaltwin_db.row(tasks[0]))["timers"] == 1
    again = await undo(workspace, done.entries[0])
    assert outcomes_of(again) == {free: STALE, polled: STALE, deleted: GONE}
    if workspace.audit_log.place == "table":
        assert f"audit log entry {undone.entries[0]}: undo" in detail(again, free)


async def test_one_node_of_an_entry_is_undone(workspace: Workspace, eternaltwin_db: EternaltwinDb) -> None:
    tasks = [await eternaltwin_db.task(status="Blocked", timer=30) for _ in range(2)]
    ids = [eternaltwin_db.id(task) for task in tasks]
    done = await do(workspace, "wake", ids)
    assert outcomes_of(await undo(workspace, done.entries[0], ids[1:])) == {ids[1]: CHANGED}
    assert [(await eternaltwin_db.row(task))["status"] for task in tasks] == ["Available", "Blocked"]


@pytest.mark.parametrize("size", [70_000, 450_000])
async def test_a_deleted_job_comes_back_with_large_values(
    workspace: Workspace, eternaltwin_db: EternaltwinDb, size: int
) -> None:
    job = await eternaltwin_db.job(state=random.Random(1).randbytes(size))
    task = await eternaltwin_db.task(job, state=random.Random(2).randbytes(size), timer=30, status="Blocked")
    await eternaltwin_db.task(job, output=b"\0\xff", state=b"")
    before = [await eternaltwin_db.rows(table, xmin=False) for table in ("job", "task", "task_timer")]
    done = await do(workspace, "delete", [eternaltwin_db.id(job, "job")])
    assert await eternaltwin_db.row(task) is None
    undone = await undo(workspace, done.entries[0])
    assert outcomes_of(undone) == {eternaltwin_db.id(job, "job"): CHANGED}
    await eternaltwin_db.sql("UPDATE task SET revision = revision - 1")  # a counter never goes back
    assert [await eternaltwin_db.rows(table, xmin=False) for table in ("job", "task", "task_timer")] == before
    assert outcomes_of(await undo(workspace, undone.entries[0])) == {eternaltwin_db.id(job, "job"): STALE}


async def test_a_generated_column_is_not_compared_with_the_image(
    workspace: Workspace, eternaltwin_db: EternaltwinDb
) -> None:
    await eternaltwin_db.sql("ALTER TABLE task ADD COLUMN double int8 GENERATED ALWAYS AS (revision * 2) STORED")
    await workspace.detect()
    job = await eternaltwin_db.job()
    await eternaltwin_db.task(job)
    done = await do(workspace, "delete", [eternaltwin_db.id(job, "job")])
    undone = await undo(workspace, done.entries[0])
    assert outcomes_of(undone) == {eternaltwin_db.id(job, "job"): CHANGED}
    assert "task.revision" in detail(undone, eternaltwin_db.id(job, "job"))
    assert "task.double" not in detail(undone, eternaltwin_db.id(job, "job"))


async def test_a_change_at_the_end_of_a_value_is_shown(workspace: Workspace, eternaltwin_db: EternaltwinDb) -> None:
    task = await eternaltwin_db.task(state=b'{"text": "%s1"}' % (b"a" * 5_000))
    done = await committed(workspace, await dry_run_edit(workspace, eternaltwin_db.id(task), instead('1"', '2"')))
    (change,) = (await undo_run(workspace, done.entries[0])).changes
    assert set(change.columns) == {"state", "revision"}


async def test_what_cannot_be_undone_is_said_before(workspace: Workspace, eternaltwin_db: EternaltwinDb) -> None:
    await eternaltwin_db.sql("CREATE INDEX ON task (job_id); CREATE INDEX ON task_timer (task_id)")
    await workspace.detect()
    large = await eternaltwin_db.job(state=b"ab" * 400_000)
    small = await eternaltwin_db.job()
    ids = [eternaltwin_db.id(job, "job") for job in (large, small)]
    dry_run = await dry_run_of(workspace, "delete", ids)
    assert dry_run.irreversible == {ids[0]: "1.6 MB of job.initial_state"}
    done = await loop.commit(workspace, dry_run, OPERATOR)
    undone = await undo(workspace, done.entries[0])
    assert outcomes_of(undone) == {ids[0]: REFUSED, ids[1]: CHANGED}
    assert "1.6 MB of job.initial_state" in why(undone, ids[0])


async def test_a_context_may_forbid_images(eternaltwin: str, eternaltwin_db: EternaltwinDb, tmp_path: Path) -> None:
    workspace = await opened(eternaltwin, tmp_path, images=False)
    task = eternaltwin_db.id(await eternaltwin_db.task())
    dry_run = await dry_run_of(workspace, "cancel", [task])
    assert dry_run.irreversible == {task: NO_IMAGES}
    await loop.commit(workspace, dry_run, OPERATOR)
    assert b"images" not in (tmp_path / "audit_log.jsonl").read_bytes()
    (entry,), _ = await workspace.audit_log.page()
    assert {name for c in entry.changes for name in c.after or ()} == {"status", "revision"}
    assert [set((row or {}).values()) for c in entry.changes for row in (c.before, c.after)] == [{NOT_KEPT}, {SET}]
    with pytest.raises(DatabaseError, match="no images"):
        await undo_run(workspace, entry.id)


async def test_an_old_audit_log_is_used_without_images(
    server: PostgresServer, eternaltwin: str, eternaltwin_db: EternaltwinDb, tmp_path: Path
) -> None:
    server.sql(audit_log.ddl() + "; DROP TABLE unstick.audit_images", eternaltwin)
    workspace = await opened(eternaltwin, tmp_path)
    task = eternaltwin_db.id(await eternaltwin_db.task())
    dry_run = await dry_run_of(workspace, "cancel", [task])
    assert dry_run.irreversible == {task: NO_TABLE}
    assert outcomes_of(await loop.commit(workspace, dry_run, OPERATOR)) == {task: CHANGED}
    with pytest.raises(DatabaseError, match="`unstick init` creates it"):
        await undo_run(workspace, "1")
    server.sql(audit_log.ddl(), eternaltwin)  # as `unstick init` does
    await workspace.detect(renew=True)
    other = eternaltwin_db.id(await eternaltwin_db.task())
    done = await do(workspace, "cancel", [other])
    assert outcomes_of(await undo(workspace, done.entries[0])) == {other: CHANGED}


async def test_a_key_that_is_taken_again_is_left_alone(workspace: Workspace, eternaltwin_db: EternaltwinDb) -> None:
    job = await eternaltwin_db.job()
    done = await do(workspace, "delete", [eternaltwin_db.id(job, "job")])
    await eternaltwin_db.sql("INSERT INTO job VALUES ($1, now(), NULL, 'another')", job)
    undone = await undo(workspace, done.entries[0])
    assert outcomes_of(undone) == {eternaltwin_db.id(job, "job"): STALE}
    assert await eternaltwin_db.value("SELECT initial_state FROM job") == b"another"


async def test_columns_that_were_added_since_stop_it(workspace: Workspace, eternaltwin_db: EternaltwinDb) -> None:
    job = await eternaltwin_db.job()
    await eternaltwin_db.task(job)
    done = await do(workspace, "delete", [eternaltwin_db.id(job, "job")])
    await eternaltwin_db.sql("ALTER TABLE task ADD note text DEFAULT 'x'")
    undone = await undo(workspace, done.entries[0])
    assert outcomes_of(undone) == {eternaltwin_db.id(job, "job"): REFUSED}
    await eternaltwin_db.sql("DELETE FROM task")
    other = await eternaltwin_db.job()
    await eternaltwin_db.task(other)
    done = await do(workspace, "delete", [eternaltwin_db.id(other, "job")])  # the new column is in its image
    assert outcomes_of(await undo(workspace, done.entries[0])) == {eternaltwin_db.id(other, "job"): CHANGED}
    assert await eternaltwin_db.value("SELECT note FROM task") == "x"


async def test_a_trigger_that_changes_other_columns_makes_the_image_incomplete(
    workspace: Workspace, eternaltwin_db: EternaltwinDb
) -> None:
    await eternaltwin_db.sql(
        "CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.kind_version := 9; RETURN NEW; END';"
        "CREATE TRIGGER touch BEFORE UPDATE ON task FOR EACH ROW EXECUTE FUNCTION touch()"
    )
    task = eternaltwin_db.id(await eternaltwin_db.task())
    dry_run = await dry_run_of(workspace, "cancel", [task])
    assert "trigger" in dry_run.irreversible[task]


@pytest.mark.parametrize("workspace", ["table"], indirect=True)
async def test_executors_take_nodes_while_a_bulk_is_undone(
    server: PostgresServer,
    workspace: Workspace,
    eternaltwin_db: EternaltwinDb,
    eternaltwin: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Poll one task before the undo, one meanwhile, and one that waits for it."""
    monkeypatch.setattr(parts, "PART_NODES", 4)
    monkeypatch.setattr("queries.db.database.IDLE_SECONDS", 60.0)
    tasks = [await eternaltwin_db.task(status="Blocked", timer=3600) for _ in range(12)]
    done = await do(workspace, "wake", map(eternaltwin_db.id, tasks))
    assert len(done.entries) == 3
    entry = (await workspace.audit_log.page(None, 1))[0][0]
    plan = await plan_entry(workspace, entry.run)
    dry_run = await perform.dry_run(workspace, plan, "wrong", plan.arguments)
    groups = [list(plan.versions)[n : n + 4] for n in (0, 4, 8)]
    keys = {eternaltwin_db.id(task): task for task in tasks}
    poll = "UPDATE task SET revision = revision + 1 WHERE task_id = $1 AND revision = $2"
    runners = [await asyncpg.connect(eternaltwin) for _ in range(2)]
    revisions = {i: (await eternaltwin_db.row(task))["revision"] for i, task in keys.items()}
    before, during, after = groups[0][1], groups[1][2], groups[2][3]

    assert await runners[0].execute(poll, keys[before], revisions[before]) == "UPDATE 1"
    held = runners[0].transaction()
    await held.start()
    assert await runners[0].execute(poll, keys[during], revisions[during]) == "UPDATE 1"
    waiting: list[asyncio.Task[str]] = []
    each = Transaction.each

    async def locking(self: Transaction, queries: Sequence[Query], *more: Any) -> Any:
        """Let a runner poll a task once the undo has locked its part."""
        answers = await each(self, queries, *more)
        locks = [q for q in queries if "images_find" in q.statement.source and "SKIP LOCKED" in q.statement.text]
        if not waiting and any(str(keys[after]) in str(query.values) for query in locks):
            waiting.append(asyncio.create_task(runners[1].execute(poll, keys[after], revisions[after])))
            pid = runners[1].get_server_pid()
            while await asyncio.to_thread(server.sql, f"SELECT FROM pg_locks WHERE pid = {pid} AND NOT granted") == (
                "SELECT 0"
            ):
                await asyncio.sleep(0.01)
        return answers

    monkeypatch.setattr(Transaction, "each", locking)
    results: list[Result] = []
    async for progress in steps(workspace, dry_run):
        results += progress.results
    await held.commit()
    assert await waiting[0] == "UPDATE 0", "the revision has gone up, so the poll is discarded"
    outcomes = outcomes_of(results)
    assert len(results) == len(outcomes) == len(tasks), "no node twice"
    skipped = {before: STALE, during: LOCKED}
    assert outcomes == dict.fromkeys(keys, CHANGED) | skipped
    for node, task in keys.items():
        row = await eternaltwin_db.row(task)
        left = ("Available", 0, revisions[node] + 1) if node in skipped else ("Blocked", 1, row["revision"])
        assert (row["status"], row["timers"], row["revision"]) == left

    again = await loop.commit(workspace, await perform.dry_run(workspace, plan, "wrong", plan.arguments), OPERATOR)
    assert outcomes_of(again) == dict.fromkeys(keys, STALE)
    for runner in runners:
        await runner.close()


async def test_an_operator_may_undo(
    server: PostgresServer, eternaltwin: str, eternaltwin_db: EternaltwinDb, tmp_path: Path
) -> None:
    role = server.unique("operator")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    server.sql(f"{audit_log.ddl()}; {audit_log.grants(role)}", eternaltwin)
    admin = await opened(eternaltwin, tmp_path)
    for statement in await grants(admin.database, admin.engines["eternaltwin"], [], [role]):
        server.sql(statement, eternaltwin)
    await admin.close()
    job = await eternaltwin_db.job()
    await eternaltwin_db.task(job, timer=30)
    workspace = await opened(server.dsn(urlsplit(eternaltwin).path.strip("/"), user=role, password="x"), tmp_path)
    done = await do(workspace, "delete", [eternaltwin_db.id(job, "job")])
    undone = await undo(workspace, done.entries[0])
    assert outcomes_of(undone) == {eternaltwin_db.id(job, "job"): CHANGED}, undone.results
    server.sql(f"REVOKE INSERT ON task FROM {role}", eternaltwin)
    done = await do(workspace, "delete", [eternaltwin_db.id(job, "job")])
    undone = await undo(workspace, done.entries[0])
    assert outcomes_of(undone) == {eternaltwin_db.id(job, "job"): Outcome.DENIED}
    assert "INSERT task" in why(undone, eternaltwin_db.id(job, "job"))


@pytest.mark.parametrize("failure", ["before", "flying", "after"])
async def test_a_lost_answer_to_its_commit_is_settled(
    server: PostgresServer, eternaltwin: str, eternaltwin_db: EternaltwinDb, tmp_path: Path, failure: Failure
) -> None:
    server.sql(audit_log.ddl(), eternaltwin)
    job = await eternaltwin_db.job()
    await eternaltwin_db.task(job, timer=30)
    node = eternaltwin_db.id(job, "job")
    async with Proxy(server.port) as proxy:
        workspace = await opened(proxy.through(eternaltwin), tmp_path)
        done = await do(workspace, "delete", [node])
        dry_run = await undo_run(workspace, done.entries[0])
        proxy.fail = failure
        undone = await loop.commit(workspace, dry_run, OPERATOR)
        back = bool(await eternaltwin_db.value("SELECT count(*) FROM job"))
        assert outcomes_of(undone) == {node: CHANGED if back else Outcome.UNSENT}
        assert back or failure != "after"
        await workspace.close()


async def test_the_transaction_ids_of_rows_prove_it_also_after_a_commit_without_an_answer(
    server: PostgresServer, eternaltwin: str, eternaltwin_db: EternaltwinDb, tmp_path: Path
) -> None:
    """Undo a line of the local file that has no outcome."""
    workspace = await opened(eternaltwin, tmp_path)
    task = await eternaltwin_db.task(status="Blocked", timer=30)
    done = await do(workspace, "wake", [eternaltwin_db.id(task)])
    path = tmp_path / "audit_log.jsonl"
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])  # the intent alone
    undone = await undo(workspace, done.entries[0])
    assert outcomes_of(undone) == {eternaltwin_db.id(task): CHANGED}
    assert (await eternaltwin_db.row(task))["status"] == "Blocked"


async def test_a_row_written_under_a_savepoint_is_recognised(
    workspace: Workspace, eternaltwin_db: EternaltwinDb
) -> None:
    """Its xmin is the id of the subtransaction, not that of the entry."""
    await eternaltwin_db.sql(
        "CREATE FUNCTION sub() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN BEGIN UPDATE public.task SET output = NULL WHERE task_id = NEW.task_id;"
        " EXCEPTION WHEN division_by_zero THEN NULL; END; RETURN NULL; END';"
        "CREATE TRIGGER sub AFTER UPDATE OF status ON task FOR EACH ROW EXECUTE FUNCTION sub()"
    )
    task = await eternaltwin_db.task(status="Blocked", timer=30)
    done = await do(workspace, "wake", [eternaltwin_db.id(task)])
    assert (await eternaltwin_db.row(task))["xmin"] != done.xid
    await eternaltwin_db.sql("VACUUM (FREEZE) task")
    undone = await undo(workspace, done.entries[0])
    assert outcomes_of(undone) == {eternaltwin_db.id(task): CHANGED}


async def test_steps_of_a_task_are_undone_together_or_not_at_all(tasker_db: TaskerDb) -> None:
    data = Data(1)
    dead = {"charge_card": failed(700), "book_carrier": failed(650)}
    steps = {"validate_cart": complete(900), "reserve_stock": complete(800), **dead}
    made = data.task("fulfil_order", state="blocked_by_failures", ago=600, steps=steps)
    await tasker_db.write(data)
    both = {tasker_db.step(made, name): CHANGED for name in dead}
    done = await tasker_db.do("retry", *both)
    assert outcomes_of(done) == both
    left = await tasker_db.everything()
    for one in both:
        refused = await undo(tasker_db.workspace, done.entries[0], [one])
        assert outcomes_of(refused) == {one: REFUSED}
        assert "which is not undone" in why(refused, one)
        assert await tasker_db.everything() == left
    undone = await undo(tasker_db.workspace, done.entries[0])
    assert outcomes_of(undone) == both
    assert [await tasker_db.step_state(made.steps[name]) for name in dead] == ["error", "error"]
    assert await tasker_db.state(made) == "blocked_by_failures"
    await tasker_db.sound()
