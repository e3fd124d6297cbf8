"""Locks on rows and tables: each kind of holder, for each engine.

Between the holder and the late nodes there may be other sessions. Line 1 must name the first of the chain.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from tests.drills.drill import drill
from tests.drills.scene import Connection, Scene
from tests.drills.surroundings import HOUR, MINUTE

NUMBER = 3  # of late nodes that one transaction locks
ROOT = "psql of a colleague"
ENDS = (None, "end_session", "cancel_query")  # suggestions that end the holder's transaction
HELD = 1.2  # seconds until a lock of a row is reported
WAITS = 5.5  # seconds until a session that waits for a row is reported
ONE_BY_ONE = ("eternaltwin", "uni2work")  # their executors wait for a locked row; others skip it


# Late nodes: each returns what to lock


async def late_eternaltwin(scene: Scene) -> str:
    jobs = await scene.rows.jobs(NUMBER, age=2 * HOUR)
    state = b'{"phase":"Deliver","to":"user@example.org"}'
    overdue = {"version": 2, "age": HOUR, "polled": 30 * MINUTE, "status": "Available", "state": state}
    tasks = await scene.rows.tasks(jobs, **overdue)
    return f"task WHERE task_id IN ({quoted(tasks)})"


async def late_estuary(scene: Scene) -> str:
    tasks = [await scene.rows.task(2, state={}, wake=-20 * MINUTE) for _ in range(NUMBER)]
    return f"tasks WHERE task_id IN ({quoted(tasks)})"


async def late_agent_jobs(scene: Scene) -> str:
    agent, user, _ = scene.engine.agents[5]
    last = await scene.value("SELECT max(job_id::int) FROM jobs")
    number = [last + 1 + n for n in range(NUMBER)]
    jobs = [await scene.rows.job(age=40 * MINUTE, agent=agent, user=user, number=n) for n in number]
    return f"jobs WHERE id IN ({quoted(jobs)})"


async def late_uni2work(scene: Scene) -> str:
    jobs = await scene.rows.jobs(NUMBER, age=30 * MINUTE)
    return f"queued_job WHERE id IN ({quoted(jobs)})"


async def late_tasker(scene: Scene) -> str:
    made = [scene.rows.task("refund", state="pending", ago=30 * MINUTE) for _ in range(NUMBER)]
    await scene.rows.write(scene.admin)
    return f"task_transitions WHERE most_recent AND task_uuid IN ({quoted([task.id for task in made])})"


LATE: dict[str, Callable[[Scene], Awaitable[str]]] = {
    "eternaltwin": late_eternaltwin,
    "estuary": late_estuary,
    "agent_jobs table": late_agent_jobs,
    "uni2work": late_uni2work,
    "tasker": late_tasker,
}


def quoted(values: list[object]) -> str:
    return ", ".join(f"'{value}'" for value in values)


# Holders: each locks the rows and returns the text that identifies the cause

Holder = Callable[[Scene, str], Awaitable[str | tuple[str, ...]]]


async def begun(scene: Scene, application: str = ROOT) -> tuple[Connection, str]:
    """Return a session in a transaction, and its pid."""
    session = await scene.session(application)
    await session.execute("BEGIN")
    return session, str(session.get_server_pid())


async def row_locked(scene: Scene, rows: str) -> str:
    session, pid = await begun(scene)
    await session.execute(f"SELECT 1 FROM {rows} FOR UPDATE")
    return pid


async def row_locked_at_depth_3(scene: Scene, rows: str) -> str:
    """A colleague blocks a report, the report a script, and the script the rows."""
    await scene.sql("CREATE TABLE customer AS SELECT generate_series(1, 2) AS id")
    colleague, pid = await begun(scene)
    report, _ = await begun(scene, "report")
    script, _ = await begun(scene, "script")
    await colleague.execute("SELECT 1 FROM customer WHERE id = 1 FOR UPDATE")
    await report.execute("SELECT 1 FROM customer WHERE id = 2 FOR UPDATE")
    await script.execute(f"SELECT 1 FROM {rows} FOR UPDATE")
    await scene.wait_in(report, "UPDATE customer SET id = id WHERE id = 1")
    await scene.wait_in(script, "UPDATE customer SET id = id WHERE id = 2")
    return pid


async def row_locked_by_two_with_shared_locks(scene: Scene, rows: str) -> tuple[str, ...]:
    pids = []
    for application in (ROOT, "report"):
        session, pid = await begun(scene, application)
        await session.execute(f"SELECT 1 FROM {rows} FOR SHARE")
        pids.append(pid)
    return tuple(pids)


async def row_locked_in_a_released_savepoint(scene: Scene, rows: str) -> str:
    """The lock of the subtransaction has left pg_locks, but the rows stay locked."""
    session, pid = await begun(scene)
    await session.execute("SAVEPOINT orm")
    await session.execute(f"SELECT 1 FROM {rows} FOR UPDATE")
    await session.execute("RELEASE SAVEPOINT orm")
    return pid


async def row_locked_by_a_prepared_transaction(scene: Scene, rows: str) -> str:
    session, _ = await begun(scene)
    await session.execute(f"SELECT 1 FROM {rows} FOR UPDATE")
    gid = f"transfer-{scene.database}"
    await session.execute(f"PREPARE TRANSACTION '{gid}'")
    return gid


HOLDERS: tuple[Holder, ...] = (
    row_locked,
    row_locked_at_depth_3,
    row_locked_by_two_with_shared_locks,
    row_locked_in_a_released_savepoint,
    row_locked_by_a_prepared_transaction,
)


async def locked(scene: Scene, engine: str, holder: Holder) -> str | tuple[str, ...]:
    """Lock late nodes; let executors meet the locks and time pass."""
    rows = await LATE[engine](scene)
    named = await holder(scene, rows)
    await scene.start()
    if engine in ONE_BY_ONE:
        await scene.until("SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
        await scene.pass_time(20 * MINUTE)
    await scene.sleep(WAITS if engine in ONE_BY_ONE else HELD)
    return named


for name in LATE:
    for way in HOLDERS:
        options = {"name": way.__name__.replace("_", " "), "actions": ENDS, "most": 1}
        codes = ("row_locked", "session_waits") if name in ONE_BY_ONE else "row_locked"
        drill(name, codes, **options)(partial(locked, engine=name, holder=way))


# Every row of a table

ALL_ROWS = {
    "eternaltwin": "UPDATE task SET cpu_duration = cpu_duration",
    "estuary": "UPDATE tasks SET wake_at = wake_at",
    "agent_jobs table": "UPDATE jobs SET updated_at = updated_at",
    "uni2work": "UPDATE queued_job SET lock_time = lock_time",
    "tasker": "UPDATE task_transitions SET metadata = metadata",
}


# Most lines where executors are stopped first: what they had in hand is orphaned. tasker's worker leaves a claimed
# step, its orchestrator a task in enqueuing_steps and a message.
LEFT = {"tasker": 4, "agent_jobs table": 2}


async def script_holds_all_rows(scene: Scene) -> str:
    """Let a script change all rows, start the workers, and return the script's pid."""
    session, pid = await begun(scene, "script")
    await session.execute(ALL_ROWS[scene.key])
    await scene.start()
    await scene.sleep(WAITS)
    return pid


async def script_updates_every_row(scene: Scene, minutes: float) -> str:
    """A script changes all rows in one transaction that does not end."""
    await scene.start()
    await scene.stop()
    for _ in range(4):
        await LATE[scene.key](scene)
    await scene.pass_time(minutes * MINUTE)
    return await script_holds_all_rows(scene)


for name in LATE:
    for minutes in (5, 90):
        options = {"name": f"script updates every row for {minutes} minutes", "actions": ENDS}
        options["most"] = LEFT.get(name, 1)
        codes = ("row_locked", "session_waits")
        drill(name, codes, **options)(partial(script_updates_every_row, minutes=minutes))


async def many_rows_locked(scene: Scene) -> str:
    """More nodes are locked than the console reads the rows of."""
    await scene.start()
    await scene.stop()
    for _ in range(150):
        rows = await LATE[scene.key](scene)
    await scene.pass_time(90 * MINUTE)
    assert rows
    return await script_holds_all_rows(scene)


async def workers_give_up_waiting(scene: Scene) -> str:
    """The workers' statements fail after a second, so none of them waits for long."""
    await scene.sql(f"ALTER ROLE {scene.worker} SET lock_timeout = '1s'")
    await scene.start()
    await scene.sleep(1)
    await scene.stop()
    for _ in range(4):
        await LATE[scene.key](scene)
    await scene.pass_time(40 * MINUTE)
    return await script_holds_all_rows(scene)


for name in LATE:
    for way in (many_rows_locked, workers_give_up_waiting):
        options = {"name": way.__name__.replace("_", " "), "actions": ENDS, "most": LEFT.get(name, 1)}
        drill(name, ("row_locked", "session_waits"), **options)(way)


@drill("eternaltwin", "runner_silent", most=2)
async def runner_killed_beside_locks_on_late_rows(scene: Scene) -> None:
    """No worker is connected, so the locks are not the reason."""
    await scene.start()
    await scene.stop()
    rows = await late_eternaltwin(scene)
    await scene.pass_time(40 * MINUTE)
    await row_locked(scene, rows)
    await scene.sleep(HELD)


@drill("uni2work", "no_workers", most=2)
async def instances_killed_beside_locks_on_late_rows(scene: Scene) -> None:
    await scene.start()
    await scene.stop()
    rows = [await late_uni2work(scene) for _ in range(6)]
    await scene.pass_time(40 * MINUTE)
    await row_locked(scene, rows[-1])
    await scene.sleep(HELD)


# Tables

TABLES = {
    "eternaltwin": "task task_timer job",
    "estuary": "tasks",
    "agent_jobs table": "jobs agents",
    "agent_jobs": "jobs",
    "uni2work": "queued_job cron_last_exec",
    "tasker": "task_transitions tasks workflow_steps",
}


async def meet(scene: Scene) -> None:
    """Let executors meet a table lock, and time pass."""
    await scene.start()
    await scene.until("SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    await scene.sleep(3.5)


@drill("uni2work", "table_locked", actions=ENDS, most=1)
async def table_locked_by_a_colleague(scene: Scene) -> str:
    await scene.rows.jobs(12, age=20 * MINUTE)
    session, pid = await begun(scene)
    await session.execute("LOCK TABLE queued_job IN EXCLUSIVE MODE")
    await meet(scene)
    return pid


async def table_locked_against_readers(scene: Scene, tables: str) -> str:
    """A migration rewrites tables. No engine's rows can be read meanwhile."""
    await LATE.get(scene.key, late_agent_jobs)(scene)
    session, pid = await begun(scene)
    for table in tables.split():
        await session.execute(f"ALTER TABLE {table} ADD COLUMN note text")
    await scene.start()
    await scene.sleep(3.5)
    return pid


async def table_just_locked_against_readers(scene: Scene, tables: str) -> str:
    """The lock is too young to be reported by itself."""
    session, pid = await begun(scene)
    await session.execute(f"LOCK TABLE {', '.join(tables.split())} IN ACCESS EXCLUSIVE MODE")
    return pid


for name, tables in TABLES.items():
    options = {"actions": ENDS, "most": 1}
    for way, codes in (
        (table_locked_against_readers, "table_locked"),
        (table_just_locked_against_readers, ("table_locked", "not_read")),
    ):
        drill(name, codes, name=way.__name__.replace("_", " "), **options)(partial(way, tables=tables))


@drill("tasker", "table_locked", actions=ENDS, most=1)
async def table_locked_by_a_prepared_transaction(scene: Scene) -> str:
    session, _ = await begun(scene)
    await session.execute("LOCK TABLE task_transitions IN EXCLUSIVE MODE")
    gid = f"migration-{scene.database}"
    await session.execute(f"PREPARE TRANSACTION '{gid}'")
    await meet(scene)
    return gid


async def migration_waits(scene: Scene, table: str) -> str:
    """A migration waits for a report, and every worker waits for the migration."""
    report, pid = await begun(scene, "report")
    await report.fetchval(f"SELECT count(*) FROM {table}")
    migration = await scene.session("migration")
    await scene.wait_in(migration, f"ALTER TABLE {table} ADD COLUMN note text")
    await meet(scene)
    return pid


for name, tables in TABLES.items():
    options = {"name": "migration waits behind a report", "actions": ENDS, "most": 1}
    drill(name, "lock_queue", **options)(partial(migration_waits, table=tables.split()[0]))


@drill("estuary", ("lock_queue", "table_locked"), actions=ENDS, most=1)
async def migration_waits_at_depth_4(scene: Scene) -> str:
    """A colleague blocks a report, the report a migration, the migration the workers."""
    await scene.sql("CREATE TABLE customer AS SELECT 1 AS id")
    colleague, pid = await begun(scene)
    await colleague.execute("SELECT 1 FROM customer FOR UPDATE")
    report, _ = await begun(scene, "report")
    await report.fetchval("SELECT count(*) FROM tasks")
    await scene.wait_in(report, "UPDATE customer SET id = id")
    migration = await scene.session("migration")
    await scene.wait_in(migration, "ALTER TABLE tasks ADD COLUMN note text")
    await meet(scene)
    return pid


@drill("estuary", "table_locked", actions=ENDS, most=1)
async def migration_holds_a_table_and_waits(scene: Scene) -> str:
    """The migration's next statement waits for a colleague's row."""
    await scene.sql("CREATE TABLE customer AS SELECT 1 AS id")
    colleague, pid = await begun(scene)
    await colleague.execute("SELECT 1 FROM customer FOR UPDATE")
    migration, _ = await begun(scene, "migration")
    await migration.execute("ALTER TABLE tasks ADD COLUMN note text")
    await scene.wait_in(migration, "UPDATE customer SET id = id")
    await meet(scene)
    return pid


@drill("uni2work", "lock_queue", actions=ENDS, most=1)
async def two_migrations_wait_behind_a_prepared_transaction(scene: Scene) -> str:
    report, _ = await begun(scene, "report")
    await report.fetchval("SELECT count(*) FROM queued_job")
    gid = f"transfer-{scene.database}"
    await report.execute(f"PREPARE TRANSACTION '{gid}'")
    for n in range(2):
        migration = await scene.session("migration")
        await scene.wait_in(migration, f"ALTER TABLE queued_job ADD COLUMN note_{n} text")
    await meet(scene)
    return gid


# Seen by other roles, and from the other side


@drill("uni2work", ("row_locked", "session_waits"), names=("pg_monitor",), actions=ENDS, most=1)
async def row_locked_seen_by_a_viewer(scene: Scene) -> str:
    """A role that may read the tables, but not the activity of other roles."""
    rows = await late_uni2work(scene)
    viewer = await scene.role("viewer", grants=False)
    await scene.sql(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {viewer}")
    pid = await row_locked(scene, rows)
    scene.console_dsn = scene.server.dsn(scene.database, user=viewer, password=viewer)
    await scene.start()
    await scene.until("SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    await scene.pass_time(20 * MINUTE)
    await scene.sleep(WAITS)
    return pid


@drill("tasker", "row_locked", actions=ENDS, most=1)
async def two_rows_locked_by_one_of_two_candidates(scene: Scene) -> tuple[str, ...]:
    """An innocent writer is a candidate too after a released savepoint."""
    rows = await late_tasker(scene)
    pid = await row_locked_in_a_released_savepoint(scene, rows)
    innocent, other = await begun(scene, "innocent")
    await innocent.execute(
        "UPDATE task_transitions SET metadata = metadata WHERE to_state = 'complete' AND most_recent"
    )
    await scene.start()
    await scene.sleep(HELD)
    return pid, other
