"""Causes outside of the engines' tables: roles, settings, foreign objects, server."""

from __future__ import annotations

import asyncio

import asyncpg

from console.demo.engine import connect
from console.demo.run import SQL as SETUP
from tests.db.uni2work import Uni2workDb
from tests.drills.drill import drill
from tests.drills.drills_locks import ENDS, LATE, begun
from tests.drills.scene import Scene
from tests.drills.surroundings import HOUR, MINUTE
from tests.servers import PostgresServer
from tests.simulators.uni2work import Uni2work

NOW = {"idle_transaction": 0.0, "idle_suspected": 0.0, "old_transaction": 1.0, "advisory_idle": 0.0, "dead_rows": 100.0}


async def fail(scene: Scene, engine: str, *causes: str) -> str:
    """Let executors with late nodes meet the cause, and return their role."""
    await LATE[engine](scene)
    await scene.pass_time(30 * MINUTE)
    for cause in causes:
        await scene.sql(cause)
    await scene.start()
    await scene.sleep(1.0)
    return scene.worker


# Connected, and cannot work


@drill("estuary", "privilege_missing", names=("UPDATE", "tasks"), most=1)
async def worker_lost_update(scene: Scene) -> str:
    await scene.sql(f"REVOKE UPDATE ON tasks FROM {scene.worker}")
    return await fail(scene, "estuary")


@drill("tasker", "privilege_missing", names=("pgmq",), most=1)
async def worker_lost_the_queues(scene: Scene) -> str:
    await scene.sql(f"REVOKE USAGE ON SCHEMA pgmq FROM {scene.worker}")
    return await fail(scene, "tasker")


@drill("uni2work", "rows_hidden", names=("queued_job",), most=1)
async def row_level_security_enabled(scene: Scene) -> str:
    await scene.sql("ALTER TABLE queued_job ENABLE ROW LEVEL SECURITY")
    return await fail(scene, "uni2work")


@drill("tasker", "role_setting", names=("statement_timeout",), most=1)
async def statement_timeout_of_the_role(scene: Scene) -> str:
    await scene.sql(f"ALTER ROLE {scene.worker} SET statement_timeout = '1ms'")
    return await fail(scene, "tasker")


@drill("uni2work", ("read_only_default", "role_setting"), names=("default_transaction_read_only",), most=1)
async def read_only_role(scene: Scene) -> str:
    await scene.sql(f"ALTER ROLE {scene.worker} SET default_transaction_read_only = on")
    return await fail(scene, "uni2work")


@drill("eternaltwin", "read_only_default", names=("default_transaction_read_only",), most=1)
async def read_only_database(scene: Scene) -> str:
    await scene.sql(f"ALTER DATABASE {scene.database} SET default_transaction_read_only = on")
    await scene.sql("SET default_transaction_read_only = off")
    await fail(scene, "eternaltwin")
    return scene.database


@drill("eternaltwin", "role_kept_out", most=1)
async def role_without_connect(scene: Scene) -> str:
    await scene.sql(f"REVOKE CONNECT ON DATABASE {scene.database} FROM PUBLIC")
    return await fail(scene, "eternaltwin")


@drill("estuary", ("foreign_objects", "writes_refused"), names=("audit_tasks",), most=1)
async def foreign_trigger_raises(scene: Scene) -> None:
    await scene.sql(
        "CREATE FUNCTION audit_tasks() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'audit is full'; END $$"
    )
    trigger = "CREATE TRIGGER audit_tasks BEFORE UPDATE ON tasks FOR EACH ROW EXECUTE FUNCTION audit_tasks()"
    await fail(scene, "estuary", trigger)


@drill("uni2work", ("foreign_objects", "writes_refused"), names=("only_small",), most=1)
async def constraint_added_by_hand(scene: Scene) -> None:
    constraint = "ALTER TABLE queued_job ADD CONSTRAINT only_small CHECK (lock_time IS NULL) NOT VALID"
    await fail(scene, "uni2work", constraint)


@drill("tasker", ("foreign_objects", "writes_refused"), names=("mirror",), most=1)
async def rule_on_a_table(scene: Scene) -> None:
    await fail(scene, "tasker", "CREATE RULE mirror AS ON INSERT TO task_transitions DO INSTEAD NOTHING")


@drill("tasker", ("advisory_lock", "foreign_objects"), names=("migrate",), most=2, actions=ENDS, limits=NOW)
async def trigger_waits_for_an_advisory_lock(scene: Scene) -> None:
    await scene.sql(
        "CREATE FUNCTION migrate() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN new; END $$"
    )
    idle = await scene.session("migrate tool")
    await idle.fetchval("SELECT pg_advisory_lock(4711)")
    await LATE["tasker"](scene)
    await scene.sql("CREATE TRIGGER migrate BEFORE INSERT ON task_transitions FOR EACH ROW EXECUTE FUNCTION migrate()")
    await scene.start()
    await scene.until("SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'advisory'")


@drill("uni2work", ("sequence_end", "sequence_used_up"), names=("queued_job_id_seq",), most=1)
async def sequence_exhausted(scene: Scene) -> None:
    """An old installation whose key is an integer."""
    narrow, end = "ALTER SEQUENCE queued_job_id_seq AS integer", "SELECT setval('queued_job_id_seq', 2147483647)"
    await fail(scene, "uni2work", narrow, end)


@drill("estuary", ("index_missing", "dequeue_scan"), names=("tasks",), most=1)
async def index_dropped(scene: Scene) -> None:
    await many(scene)
    await scene.sql("DROP INDEX idx_tasks_ready_at")
    await scene.start()


async def many(scene: Scene) -> None:
    """Add 40,000 idle tasks, because a scan of a small table is fast."""
    await scene.sql(
        "INSERT INTO tasks (task_id, task_type, inner_state, wake_at) SELECT id_generator(), 2,"
        " json_build_object('note', repeat('x', 300)), now() + interval '5 hours' FROM generate_series(1, 40000)"
    )
    await scene.sql("ANALYZE tasks")


# Sessions and transactions


@drill("uni2work", "idle_transaction", actions=ENDS, most=1, limits=NOW)
async def forgotten_begin_with_row_locks(scene: Scene) -> str:
    """A colleague changed rows and went to lunch. Nothing is late yet."""
    session, pid = await begun(scene)
    await session.execute("UPDATE queued_job SET content = content WHERE id IN (SELECT min(id) FROM queued_job)")
    return pid


@drill("estuary", "vacuum_held_back", actions=ENDS, most=1, limits=NOW)
async def old_transaction_and_a_bloated_table(scene: Scene) -> str:
    report = await scene.session("report")
    await report.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    await report.fetchval("SELECT count(*) FROM tenants")
    await bloat(scene, "tasks", "wake_at")
    return str(report.get_server_pid())


@drill("tasker", "vacuum_held_back", actions=ENDS, most=1, limits=NOW)
async def old_prepared_transaction_and_a_bloated_table(scene: Scene) -> str:
    session, _ = await begun(scene)
    await session.execute("CREATE TABLE transfer AS SELECT 1 AS id")
    gid = f"transfer-{scene.database}"
    await session.execute(f"PREPARE TRANSACTION '{gid}'")
    await bloat(scene, "tasks", "priority")
    return gid


async def standby_of(scene: Scene, *settings: str) -> PostgresServer:
    """Start a streaming standby with these settings.

    It runs until the drill's server ends.
    """
    replica = await asyncio.to_thread(scene.server.replica)
    scene.replicas.append(replica)
    for setting in ("wal_receiver_status_interval = 1", "hot_standby_feedback = on", *settings):
        replica.sql(f"ALTER SYSTEM SET {setting}")
    await asyncio.to_thread(replica.halt)
    await asyncio.to_thread(replica.start)
    return replica


async def report_on(scene: Scene, replica: PostgresServer, seen: str) -> None:
    """Begin a long report on a standby, and wait until the primary keeps rows for it."""
    await scene.sql("SELECT pg_switch_wal()")
    report = await asyncpg.connect(replica.dsn(scene.database))
    scene.keep(report)
    await report.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    await report.fetchval("SELECT count(*) FROM pg_class")
    await scene.until(seen)
    await bloat(scene, "tasks", "wake_at")


@drill(
    "estuary", "vacuum_held_back", names=("standby", "walreceiver"), alone=True, most=1, limits=NOW | {"old_xids": 10}
)
async def report_on_a_standby_with_feedback(scene: Scene) -> None:
    replica = await standby_of(scene)
    await report_on(scene, replica, "SELECT count(*) > 0 FROM pg_stat_replication WHERE backend_xmin IS NOT NULL")


@drill("estuary", "vacuum_held_back", names=("slot", "berlin"), alone=True, most=1, limits=NOW | {"old_xids": 10})
async def slot_of_a_lost_standby(scene: Scene) -> None:
    """A standby with a report was shut down for ever; its slot was not dropped."""
    await scene.sql("SELECT pg_create_physical_replication_slot('berlin')")
    replica = await standby_of(scene, "primary_slot_name = 'berlin'")
    await report_on(scene, replica, "SELECT count(*) > 0 FROM pg_replication_slots WHERE xmin IS NOT NULL")
    await asyncio.to_thread(replica.halt, "immediate")
    await scene.until("SELECT NOT active FROM pg_replication_slots")


async def restart(scene: Scene) -> None:
    """Restart the server, so that its settings apply."""
    await scene.hang_up()
    await asyncio.to_thread(scene.server.halt)
    await asyncio.to_thread(scene.server.start)
    await scene.connect()


@drill("uni2work", "wal_kept", names=("etl",), alone=True, most=1, limits={"wal_kept": 1e6})
async def logical_slot_without_a_reader(scene: Scene) -> None:
    """The slot keeps WAL, but no rows of the engine."""
    scene.server.sql("ALTER SYSTEM SET wal_level = logical")
    await restart(scene)
    await scene.sql("SELECT pg_create_logical_replication_slot('etl', 'test_decoding')")
    await scene.sql("CREATE TABLE load AS SELECT repeat('x', 500) FROM generate_series(1, 20000)")
    await scene.start()


@drill("tasker", "wal_kept", names=("archiving",), alone=True, most=1, limits={"not_archived": 0.0})
async def archive_command_fails(scene: Scene) -> None:
    for setting in ("archive_mode = on", "archive_command = 'false'"):
        scene.server.sql(f"ALTER SYSTEM SET {setting}")
    await restart(scene)
    await scene.sql("SELECT pg_switch_wal()")
    await scene.until("SELECT failed_count > 0 FROM pg_stat_archiver")
    await scene.start()


async def bloat(scene: Scene, table: str, column: str) -> None:
    """Make many dead rows, and let the statistics know."""
    await scene.sql(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
    for _ in range(20):
        await scene.sql(f"UPDATE {table} SET {column} = {column}")
    await scene.sql("SELECT pg_stat_force_next_flush()")
    await scene.sql(f"ALTER TABLE {table} RESET (autovacuum_enabled)")
    await scene.start()
    await scene.sleep(1.0)


@drill("estuary", "autovacuum_off", most=1)
async def autovacuum_switched_off(scene: Scene) -> None:
    await bloat(scene, "tasks", "wake_at")
    await scene.sql("ALTER TABLE tasks SET (autovacuum_enabled = off)")


@drill("agent_jobs table", "connections_used", alone=True, most=2)
async def connections_used_up(scene: Scene) -> None:
    """A pool of another program takes every connection.

    Those that are reserved for superusers remain.
    """
    role = await scene.role("web", grants=False)
    with_room = True
    while with_room:
        try:
            await scene.session("web", role)
        except asyncpg.TooManyConnectionsError:
            with_room = False
    await LATE["agent_jobs table"](scene)
    await scene.pass_time(30 * MINUTE)
    await scene.start()


@drill("tasker", "commit_waits", names=("gone",), alone=True, most=1)
async def synchronous_standby_gone(scene: Scene) -> None:
    await LATE["tasker"](scene)
    scene.server.sql("ALTER SYSTEM SET synchronous_standby_names = 'gone'")
    await scene.sql("SET synchronous_commit = local")
    scene.server.sql("SELECT pg_reload_conf()")
    await scene.sleep(0.5)
    await scene.start()
    await scene.until("SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
    await scene.sleep(4)
    # The console itself reads only. The drill's end must not wait either.
    scene.at_end("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")


@drill("estuary", "standby", alone=True, most=1)
async def console_on_a_standby(scene: Scene) -> None:
    """The context names the old primary, which is a standby now."""
    await LATE["estuary"](scene)
    await scene.pass_time(30 * MINUTE)
    await scene.hang_up()
    await asyncio.to_thread(scene.server.standby)


@drill("estuary", "promoted", alone=True, most=1)
async def standby_promoted_and_workers_left_behind(scene: Scene) -> None:
    """The workers' connection string still leads to the old primary."""
    await LATE["estuary"](scene)
    await scene.pass_time(30 * MINUTE)
    await scene.hang_up()
    await asyncio.to_thread(scene.server.standby)
    scene.server.sql("SELECT pg_promote()")
    await scene.connect()


@drill("tasker", "notify_queue", alone=True, most=2)
async def notify_queue_full(scene: Scene) -> None:
    """A listener is idle in a transaction.

    The server keeps every notification for it.
    """
    scene.server.sql("ALTER SYSTEM SET max_notify_queue_pages = 64")
    await restart(scene)
    listener = await scene.session("listener")
    await listener.execute("LISTEN pgmq_message_ready")
    await listener.execute("BEGIN")
    await listener.execute("SELECT 1")
    for _ in range(80):
        await scene.sql(
            "DO $$ BEGIN FOR n IN 1..9 LOOP PERFORM pg_notify('other', n || repeat('x', 500)); END LOOP; END $$"
        )
    await scene.start()


@drill("eternaltwin", "deadlocks", most=1, watch=7.0)
async def deadlocks_in_a_row(scene: Scene) -> None:
    """A batch of another program updates rows in another order than the runner's."""
    tasks = await scene.rows.tasks(await scene.rows.jobs(2), status="Blocked", timer=900)
    one, other = await scene.session("batch 1"), await scene.session("batch 2")

    async def batches() -> None:
        while True:
            await asyncio.gather(cross(one, tasks), cross(other, tasks[::-1]))

    scene.meanwhile(batches())
    await scene.start()


async def cross(session: asyncpg.Connection, tasks: list[object]) -> None:
    try:
        async with session.transaction():
            await session.execute("SET LOCAL deadlock_timeout = '50ms'")
            for task in tasks:
                await session.execute("UPDATE task SET cpu_duration = cpu_duration WHERE task_id = $1", task)
                await asyncio.sleep(0.15)
    except asyncpg.DeadlockDetectedError:
        pass
    await session.execute("SELECT pg_stat_force_next_flush()")


@drill("uni2work", ("idle_transaction", "row_locked", "table_locked"), actions=ENDS, most=2, limits=NOW)
async def worker_hangs_in_its_transaction(scene: Scene) -> str:
    """An instance waits for a remote server while its transaction holds a row."""
    await scene.rows.jobs(6, age=40 * MINUTE)
    hanging, pid = await begun(scene, "uni2work worker 2")
    await hanging.execute("UPDATE queued_job SET lock_time = now() WHERE id IN (SELECT id FROM queued_job ORDER BY id)")
    await scene.start()
    await scene.until("SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    return pid


# Two engines in one database


async def add_uni2work(scene: Scene) -> None:
    """Add a second engine in its own schema, with late jobs and without instances."""
    second = await connect(scene.dsn, "uni2work")
    await second.execute(SETUP["schema"])
    await Uni2work().install(second)
    await Uni2workDb(second).jobs(20, age=40 * MINUTE)
    await second.execute("ANALYZE")
    await second.close()


@drill("eternaltwin", "read_only_default", most=1)
async def read_only_database_of_two_engines(scene: Scene) -> str:
    await add_uni2work(scene)
    await scene.sql(f"ALTER DATABASE {scene.database} SET default_transaction_read_only = on")
    await scene.sql("SET default_transaction_read_only = off")
    await fail(scene, "eternaltwin")
    return scene.database


@drill("estuary", ("not_served", "no_workers"), most=3)
async def host_of_all_workers_down(scene: Scene) -> None:
    """One line for each engine: the database does not show that they share a host."""
    await add_uni2work(scene)
    await scene.start()
    await scene.stop()
    await scene.pass_time(HOUR)


# Innocent bystanders: the workers are gone, and something else looks guilty


async def killed(scene: Scene, engine: str) -> None:
    """Let executors work, kill them, and let time pass with late nodes.

    A busy server may end their sessions later. Until then their locks keep rows from becoming older.
    """
    await scene.start()
    await scene.stop()
    await scene.until(f"SELECT count(*) = 0 FROM pg_stat_activity WHERE usename = '{scene.worker}'")
    await LATE[engine](scene)
    await scene.pass_time(40 * MINUTE)


@drill("eternaltwin", "runner_silent", most=1)
async def runner_killed_beside_an_audit_trigger(scene: Scene) -> None:
    await scene.sql("CREATE TABLE audit (at timestamptz DEFAULT now(), row text)")
    await scene.sql(
        "CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN INSERT INTO public.audit (row) VALUES (left(new::text, 99)); RETURN new; END $$"
    )
    await scene.sql(f"GRANT INSERT ON audit TO {scene.worker}")
    await scene.sql("CREATE TRIGGER audit AFTER UPDATE ON task FOR EACH ROW EXECUTE FUNCTION audit()")
    await killed(scene, "eternaltwin")


@drill("estuary", "not_served", most=3)
async def executors_killed_beside_an_idle_transaction(scene: Scene) -> None:
    """A colleague holds the row of a task that is not due."""
    task = await scene.rows.task(2, state={}, wake=9 * HOUR)
    session, _ = await begun(scene)
    await session.execute(f"SELECT 1 FROM tasks WHERE task_id = '{task}' FOR UPDATE")
    await killed(scene, "estuary")


@drill("uni2work", "no_workers", most=2)
async def instances_killed_beside_a_role_without_privileges(scene: Scene) -> None:
    role = await scene.role("old_application", grants=False)
    await scene.sql(f"GRANT SELECT, INSERT ON queued_job TO {role}")
    await scene.session("uni2work exporter", role)
    await killed(scene, "uni2work")
    await scene.rows.jobs(15, age=30 * MINUTE)


@drill("tasker", ("no_orchestrator", "no_worker", "not_picked_up"), most=4)
async def workers_killed_beside_a_policy_that_shows_all_rows(scene: Scene) -> None:
    """Two kinds of programs die.

    What they had in hand is lost: the claims of a worker, and a message that an orchestrator has read.
    """
    await scene.sql("ALTER TABLE task_transitions ENABLE ROW LEVEL SECURITY")
    await scene.sql("CREATE POLICY everyone ON task_transitions USING (true) WITH CHECK (true)")
    await killed(scene, "tasker")


@drill("agent_jobs table", ("queue_stalled", "late"), most=2)
async def executors_killed_beside_a_waiting_session(scene: Scene) -> None:
    """Sessions of another program wait for each other."""
    await scene.sql("CREATE TABLE customer AS SELECT 1 AS id")
    holder, _ = await begun(scene, "shop")
    waiter, _ = await begun(scene, "shop")
    await holder.execute("UPDATE customer SET id = id")
    await scene.wait_in(waiter, "UPDATE customer SET id = id")
    await killed(scene, "agent_jobs table")
