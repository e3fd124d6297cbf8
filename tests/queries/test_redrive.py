"""Redrives in the audit log: take-over, open transactions, answers of each engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest

from queries.change import loop as changes
from queries.change import redrive
from queries.change import run as runs
from queries.change.loop import Loop
from queries.change.run import Run
from queries.change.state import Budget, Do, Event, Kind, Reason, RedriveSettings
from queries.contract.builtin import builtin
from queries.db.errors import DatabaseError, LockedError, OvertakenError
from queries.log import audit_log, run_log
from queries.read.reader import Reader
from queries.records.action import Answer, Result
from queries.records.dead_letter import DeadLetter
from queries.workspace import Workspace
from tests.db.agent_jobs import AgentJobsDb
from tests.db.estuary import EstuaryDb
from tests.db.tasker import TaskerDb
from tests.db.uni2work import DEAD, LIVE, Uni2workDb
from tests.queries.builders import opened
from tests.servers import PostgresServer
from tests.simulators.tasker.data import Data
from tests.simulators.tasker.step_history import complete, failed

SETTINGS = RedriveSettings(budget=Budget(percent=10.0), wait=60.0)
TABLE = {"agent_jobs": {"profile": "table"}}


@pytest.fixture
async def jobs(server: PostgresServer, agent_jobs_db: AgentJobsDb, tmp_path: Path) -> AsyncIterator[Workspace]:
    """A workspace with eight failed jobs."""
    server.sql(audit_log.ddl(), agent_jobs_db.dsn)
    for n in range(8):
        await agent_jobs_db.job("failed", age=900, ended=800 - n, changed=800 - n, error=f"timeout after {n} s")
    workspace = await opened(agent_jobs_db.dsn, tmp_path, overrides=TABLE)
    yield workspace
    await workspace.close()


async def begun(workspace: Workspace, label: str, **arguments: Any) -> Run:
    reader = workspace.engines[label]
    found = (await reader.pages.dead()).dead_letters
    plan = await redrive.plan_redrive(workspace, label, found, "test", SETTINGS, "fix deployed", arguments)
    return await runs.begin(workspace, plan)


async def loop_of(workspace: Workspace, run: Run) -> Loop:
    return await Loop(workspace, run=run).begin()


async def until_watched(loop: Loop) -> None:
    """Do a redrive until it watches a cohort."""
    async for step in loop.steps():
        if step.do is Do.WATCH:
            return
    raise AssertionError("it ended")


async def take_over(workspace: Workspace, run: Run) -> list[Result]:
    """Continue a run, and return its results."""
    loop = await loop_of(workspace, run)
    await loop.read()
    return [*loop.state.results.values()]


async def answers(workspace: Workspace, run: Run) -> dict[str, Answer]:
    """Return the answers of all nodes now."""
    return await redrive.read_answers(workspace.named(run.plan.label), run.plan, run.plan.ids)


# Take-over


async def test_a_console_that_was_overtaken_revives_nothing(jobs: Workspace, agent_jobs_db: AgentJobsDb) -> None:
    run = await begun(jobs, "agent_jobs")
    loop = await loop_of(jobs, run)
    steps = loop.steps()
    assert (await anext(steps)).do is Do.CHANGE, "it is about to revive the first cohort"
    await take_over(jobs, await runs.load(jobs, run.log.id))
    with pytest.raises(OvertakenError, match="continues the run"):
        await anext(steps)
    assert await agent_jobs_db.value("SELECT count(*) FROM jobs WHERE status = 'failed'") == 8
    with pytest.raises(OvertakenError):
        await loop.record(Event(event=Kind.END, reason=Reason.STOPPED))


async def test_a_stop_of_a_colleague_ends_it(jobs: Workspace, agent_jobs_db: AgentJobsDb) -> None:
    run = await begun(jobs, "agent_jobs")
    steps = (await loop_of(jobs, run)).steps()
    assert [(await anext(steps)).do for _ in range(2)] == [Do.CHANGE, Do.WATCH]
    await changes.stop(jobs, await runs.load(jobs, run.log.id))
    job = run.plan.members[0].id.partition(":")[2]
    await agent_jobs_db.sql("UPDATE jobs SET status = 'completed', completed_at = now() WHERE id::text = $1", job)
    with pytest.raises(OvertakenError):
        await anext(step async for step in steps if step.do not in (Do.WATCH, Do.RECORD))
    assert await agent_jobs_db.value("SELECT count(*) FROM jobs WHERE status = 'failed'") == 7


async def test_a_take_over_waits_for_a_transaction_left_behind(jobs: Workspace, agent_jobs_db: AgentJobsDb) -> None:
    """A killed console may have sent COMMIT: its server process still has the lock."""
    run = await begun(jobs, "agent_jobs")
    left = await asyncpg.connect(agent_jobs_db.dsn)
    behind = left.transaction()
    await behind.start()
    lock = "SELECT pg_advisory_xact_lock(hashtextextended('unstick run ' || $1::text, 0))"
    await left.execute(lock, run.log.id)
    await left.execute("UPDATE jobs SET status = 'pending' WHERE id::text = $1", run.plan.ids[0].partition(":")[2])
    await left.execute(
        "INSERT INTO unstick.audit_log (os_user, host, application, engine, schema, action, reason, arguments, results,"
        " changes) SELECT 'anna', 'laptop', 'unstick', 'agent_jobs', 'public', 'retry', 'x',"
        " jsonb_build_object('run', jsonb_build_object('id', $1::text, 'process', $2::text, 'cohort', 0)),"
        " jsonb_build_array(jsonb_build_object('id', $3::text, 'outcome', 'changed')), '[]'",
        run.log.id,
        run.log.process,
        run.plan.ids[0],
    )
    colleague = await runs.load(jobs, run.log.id)
    reading = asyncio.create_task(take_over(jobs, colleague))
    done, _ = await asyncio.wait([reading], timeout=0.5)
    assert not done
    await behind.commit()
    assert [r.id for r in await reading] == [run.plan.ids[0]]
    await left.close()
    assert (await anext((await loop_of(jobs, colleague)).steps())).do is Do.WATCH, "it is not revived again"


async def test_a_changed_list_of_nodes_is_refused(jobs: Workspace, agent_jobs_db: AgentJobsDb) -> None:
    run = await begun(jobs, "agent_jobs")
    await agent_jobs_db.sql("""UPDATE unstick.audit_images SET images = '{"members": []}'""")
    with pytest.raises(DatabaseError, match="removed or changed"):
        await runs.load(jobs, run.log.id)


async def test_a_changed_entry_is_refused(jobs: Workspace, agent_jobs_db: AgentJobsDb) -> None:
    """Refuse an entry with other results or another reason."""
    run = await begun(jobs, "agent_jobs")
    await until_watched(await loop_of(jobs, run))
    await agent_jobs_db.sql("UPDATE unstick.audit_log SET results = '[]' WHERE id > 1")
    with pytest.raises(DatabaseError, match="was changed since it was written"):
        await run.log.entries()
    await agent_jobs_db.sql("UPDATE unstick.audit_log SET reason = 'forged' WHERE id = 1")
    with pytest.raises(DatabaseError, match="removed or changed"):
        await runs.load(jobs, run.log.id)


async def test_a_redrive_of_a_role_that_could_not_run_it_is_not_continued(
    jobs: Workspace, agent_jobs_db: AgentJobsDb, server: PostgresServer
) -> None:
    run = await runs.load(jobs, (await begun(jobs, "agent_jobs")).log.id)
    action = jobs.engines["agent_jobs"].engine.action("retry", "job")
    assert action is not None
    await runs.check_author(jobs, run, action)
    role = server.unique("mallory")
    server.sql(f"CREATE ROLE {role}")
    run.log.begun = msgspec.structs.replace(run.begun, role=role)
    with pytest.raises(DatabaseError, match=f"is not continued: {role} began it and lacks UPDATE on jobs"):
        await runs.check_author(jobs, run, action)
    schema = jobs.engines["agent_jobs"].detected.schema
    words = " ".join(f"GRANT {p.replace(' ', f' ON {schema}.')} TO {role};" for p in action.privileges)
    await agent_jobs_db.connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}; {words}")
    await runs.check_author(jobs, run, action)
    await agent_jobs_db.connection.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")
    with pytest.raises(DatabaseError, match="does not exist any more"):
        await runs.check_author(jobs, run, action)


async def test_the_entries_are_in_the_hash_chain(jobs: Workspace) -> None:
    run = await begun(jobs, "agent_jobs")
    await until_watched(await loop_of(jobs, run))
    found = await jobs.audit_log.verify()
    assert (found.entries, found.problems) == (2, ())


async def test_only_redrives_of_the_same_dead_letters_exclude_each_other(
    jobs: Workspace, agent_jobs_db: AgentJobsDb
) -> None:
    await begun(jobs, "agent_jobs")
    with pytest.raises(LockedError, match="redrive 1"):
        await begun(jobs, "agent_jobs")
    await agent_jobs_db.sql("UPDATE jobs SET error = 'another error' WHERE status = 'failed'")
    assert (await begun(jobs, "agent_jobs")).log.id == "2"


# Answers of each engine


async def test_answers_of_agent_jobs(jobs: Workspace, agent_jobs_db: AgentJobsDb) -> None:
    run = await begun(jobs, "agent_jobs")
    assert set((await answers(jobs, run)).values()) == {Answer.NO_ANSWER}, "the old death is no new one"
    keys = [i.partition(":")[2] for i in run.plan.ids]
    changes = {
        "status = 'pending'": Answer.NO_ANSWER,
        "status = 'active'": Answer.ALIVE,
        "status = 'completed'": Answer.FINISHED,
        "error = 'timeout after 77 s', updated_at = now()": Answer.SAME_DEATH,
        "error = 'disk full', updated_at = now()": Answer.OTHER_DEATH,
    }
    for key, change in zip(keys, changes, strict=False):
        await agent_jobs_db.sql(f"UPDATE jobs SET {change} WHERE id::text = $1", key)
    await agent_jobs_db.sql("DELETE FROM jobs WHERE id::text = $1", keys[5])
    found = await answers(jobs, run)
    assert [found[i] for i in run.plan.ids[:6]] == [*changes.values(), Answer.UNKNOWN]


async def test_answers_of_tasker(server: PostgresServer, tmp_path: Path) -> None:
    """Watch the task of a dead letter: its revival resolves the entry itself."""
    dsn = server.fresh("tasker")
    server.sql(audit_log.ddl(), dsn)
    tasker_db = await TaskerDb.open(dsn, tmp_path)
    data = Data(1)
    steps = {"check_return": complete(), "refund_card": failed(error="503 from upstream after 20 ms")}
    made = [data.task("refund", state="error", steps=steps) for _ in range(4)]
    for task in made:
        data.dead_letter(task, was="steps_in_process")
    await tasker_db.write(data)
    run = await begun(tasker_db.workspace, "tasker")
    assert run.plan.action == "revive"
    assert {m.target for m in run.plan.members} == {tasker_db.task(task) for task in made}
    assert set((await answers(tasker_db.workspace, run)).values()) == {Answer.NO_ANSWER}
    await tasker_db.do("revive", *run.plan.ids)
    assert set((await answers(tasker_db.workspace, run)).values()) == {Answer.NO_ANSWER}
    by_task = {member.target: member.id for member in run.plan.members}

    async def move(task: Any, state: str, step: str, message: str = "") -> None:
        key = task.steps["refund_card"]
        for table, column, id_, to in (
            ("task_transitions", "task_uuid", task.id, state),
            ("workflow_step_transitions", "workflow_step_uuid", key, step),
        ):
            await tasker_db.sql(f"UPDATE {table} SET most_recent = false WHERE {column} = $1", id_)
            await tasker_db.sql(
                f"INSERT INTO {table} ({column}, to_state, sort_key, most_recent, created_at, updated_at)"
                f" SELECT $1, $2, max(sort_key) + 10, true, now(), now() FROM {table} WHERE {column} = $1",
                id_,
                to,
            )
        if message:
            result = f'{{"error": {{"message": "{message}"}}}}'
            await tasker_db.sql("UPDATE workflow_steps SET results = $2 WHERE workflow_step_uuid = $1", key, result)

    await move(made[0], "blocked_by_failures", "error", "503 from upstream after 99 ms")
    await move(made[1], "blocked_by_failures", "error", "card stolen")
    await move(made[2], "steps_in_process", "complete")
    await move(made[3], "complete", "complete")
    found = await answers(tasker_db.workspace, run)
    assert [found[by_task[tasker_db.task(task)]] for task in made] == [
        Answer.SAME_DEATH,
        Answer.OTHER_DEATH,
        Answer.MOVED_ON,
        Answer.FINISHED,
    ]
    await tasker_db.close()
    server.drop(dsn)


async def test_answers_of_estuary(server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh("estuary")
    server.sql(audit_log.ddl(), dsn)
    db = await EstuaryDb.open(dsn)
    tasks = [await db.task(2, beat=90_000 - n) for n in range(4)]
    workspace = await opened(dsn, tmp_path)
    run = await begun(workspace, "estuary")
    assert run.plan.action == "release"
    idle = "heartbeat = '0001-01-01T00:00:00Z'"
    changes = {
        f"{idle}, wake_at = now()": Answer.NO_ANSWER,
        "heartbeat = now(), wake_at = now()": Answer.ALIVE,
        f"{idle}, wake_at = now() + interval '1 h'": Answer.MOVED_ON,
        "heartbeat = now() - interval '2 h'": Answer.SAME_DEATH,
    }
    for task, change in zip(tasks, changes, strict=True):
        await db.sql(f"UPDATE tasks SET {change} WHERE task_id = $1::text::macaddr8", task)
    found = await answers(workspace, run)
    assert [found[db.id(task)] for task in tasks] == list(changes.values())
    await db.sql("DELETE FROM tasks")
    assert set((await answers(workspace, run)).values()) == {Answer.FINISHED}
    await workspace.close()
    await db.connection.close()
    server.drop(dsn)


async def test_answers_of_uni2work(uni2work_db: Uni2workDb, server: PostgresServer, tmp_path: Path) -> None:
    server.sql(audit_log.ddl(), uni2work_db.dsn)
    rows = await uni2work_db.jobs(4, age=90_000, held_by=DEAD, held=80_000)
    workspace = await opened(uni2work_db.dsn, tmp_path)
    run = await begun(workspace, "uni2work", gone=True)
    changes = {
        "lock_instance = NULL, lock_time = NULL": Answer.NO_ANSWER,
        f"lock_instance = '{LIVE}', lock_time = now()": Answer.ALIVE,
        "lock_time = lock_time + interval '2 h'": Answer.SAME_DEATH,
    }
    for row, change in zip(rows, changes, strict=False):
        await uni2work_db.sql(f"UPDATE queued_job SET {change} WHERE id = $1", row)
    await uni2work_db.sql("DELETE FROM queued_job WHERE id = $1", rows[3])
    found = await answers(workspace, run)
    assert [found[uni2work_db.id(row)] for row in rows] == [*changes.values(), Answer.FINISHED]
    await workspace.close()


def refused(reader: Reader, dead_letters: Sequence[DeadLetter]) -> str:
    with pytest.raises(DatabaseError) as error:
        redrive.action_of(reader, dead_letters)
    return str(error.value)


async def test_what_no_action_revives_is_said(server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh("estuary")
    db = await EstuaryDb.open(dsn)
    await db.task(2, wake=-10, inbox=['"broken"'])
    workspace = await opened(dsn, tmp_path)
    reader = workspace.engines["estuary"]
    found = (await reader.pages.dead()).dead_letters
    assert "no action of this engine revives" in refused(reader, found)
    await workspace.close()
    await db.connection.close()
    server.drop(dsn)


def test_every_engine_has_an_action_or_says_why_not() -> None:
    for engine in builtin():
        assert engine.spec.revived or engine.spec.dead.startswith("none"), engine.name


async def test_there_is_no_redrive_of_that_name(jobs: Workspace) -> None:
    table = jobs.audit_log.run_table
    assert table is not None
    assert await run_log.load(table, "99") is None
    assert await run_log.load(table, "x") is None
