"""More causes below the tables, of the kinds that drills_server also has."""

from __future__ import annotations

from functools import partial

from tests.drills.controls import healthy
from tests.drills.drill import control, drill
from tests.drills.drills_locks import ENDS, LATE, begun
from tests.drills.drills_server import NOW, fail
from tests.drills.scene import Scene
from tests.drills.surroundings import MINUTE


@drill("tasker", "privilege_missing", names=("EXECUTE",), most=1)
async def worker_lost_a_function(scene: Scene) -> str:
    oid = "(SELECT oid FROM pg_proc WHERE proname = 'transition_task_state_atomic')"
    name = await scene.value(f"SELECT {oid}::regprocedure::text")
    await scene.sql(f"REVOKE EXECUTE ON FUNCTION {name} FROM PUBLIC, {scene.worker}")
    return await fail(scene, "tasker")


@drill("agent_jobs table", ("foreign_objects", "writes_refused"), names=("tenant",), most=1)
async def column_added_without_a_default(scene: Scene) -> None:
    """The application's INSERT does not know the column."""
    await LATE["agent_jobs table"](scene)
    await scene.pass_time(30 * MINUTE)
    await scene.sql("ALTER TABLE jobs ADD COLUMN tenant text NOT NULL DEFAULT 'main'")
    await scene.sql("ALTER TABLE jobs ALTER COLUMN tenant DROP DEFAULT")
    await scene.start()
    await scene.sleep(2)


@drill("eternaltwin", "table_locked", actions=ENDS, most=1)
async def index_built_without_concurrently(scene: Scene) -> str:
    """Readers go on; writers wait."""
    session, pid = await begun(scene, "migration")
    await session.execute("CREATE INDEX ours ON task (cpu_duration)")
    await scene.start()
    await scene.sleep(4)
    return pid


@drill(
    "uni2work",
    ("advisory_lock", "foreign_objects", "writes_refused"),
    names=("4711",),
    most=2,
    actions=ENDS,
    limits=NOW,
)
async def trigger_waits_for_a_lock_of_a_pool(scene: Scene) -> None:
    """A pooled session kept an advisory lock that a trigger of the company needs."""
    await scene.sql(
        "CREATE FUNCTION audit_lock() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN new; END $$"
    )
    await (await scene.session("pool of audit")).fetchval("SELECT pg_advisory_lock(4711)")
    await LATE["uni2work"](scene)
    await scene.pass_time(30 * MINUTE)
    await scene.sql("CREATE TRIGGER audit BEFORE UPDATE ON queued_job FOR EACH ROW EXECUTE FUNCTION audit_lock()")
    await scene.start()
    await scene.until("SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'advisory'")
    await scene.sleep(2.5)


@drill("estuary", ("foreign_objects", "writes_refused"), names=("slow_audit",), most=2)
async def trigger_sleeps(scene: Scene) -> None:
    """An audit trigger calls a slow service."""
    await scene.sql(
        "CREATE FUNCTION slow_audit() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN PERFORM pg_sleep(30); RETURN new; END $$"
    )
    trigger = "CREATE TRIGGER slow_audit BEFORE UPDATE ON tasks FOR EACH ROW EXECUTE FUNCTION slow_audit()"
    await fail(scene, "estuary", trigger)


@drill("agent_jobs table", ("role_setting",), names=("lock_timeout",), most=1)
async def lock_timeout_of_the_database(scene: Scene) -> None:
    """Every statement that meets a lock fails; a batch locks rows all the time."""
    await scene.sql(f"ALTER DATABASE {scene.database} SET statement_timeout = '1ms'")
    await scene.sql(f"ALTER DATABASE {scene.database} SET lock_timeout = '1ms'")
    await fail(scene, "agent_jobs table")


@drill("uni2work", "commit_waits", names=("berlin",), alone=True, most=1)
async def synchronous_standby_misspelt(scene: Scene) -> None:
    await LATE["uni2work"](scene)
    await scene.pass_time(30 * MINUTE)
    scene.server.sql("ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (berlin)'")
    await scene.sql("SET synchronous_commit = local")
    scene.server.sql("SELECT pg_reload_conf()")
    await scene.sleep(0.5)
    await scene.start()
    await scene.until("SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
    await scene.sleep(4)
    scene.at_end("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")


async def column_of_the_company(scene: Scene, table: str) -> None:
    """A column that the engine does not know, with a default."""
    await scene.sql(f"ALTER TABLE {table} ADD COLUMN tenant text NOT NULL DEFAULT 'main'")
    await healthy(scene)


for name, table in (("eternaltwin", "task"), ("agent_jobs table", "jobs"), ("uni2work", "queued_job")):
    control(name, name="column of the company")(partial(column_of_the_company, table=table))
