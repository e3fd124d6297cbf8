"""Executors that are connected and whose statements fail: no node may be late yet."""

from __future__ import annotations

import asyncio
from uuid import UUID

import asyncpg

from tests.drills.drill import control, drill
from tests.drills.drills_locks import ENDS
from tests.drills.scene import Connection, Scene
from tests.drills.surroundings import MINUTE
from tests.simulators.uni2work.executor import SQL, Instance, Job


async def broken(scene: Scene, *causes: str, until: str = "SELECT true") -> str:
    """Let executors work, break something, let time pass, and return their role.

    ``until``: query for work that must be left behind before time passes.
    """
    await scene.start()
    await scene.sleep(1.0)
    for cause in causes:
        await scene.sql(cause)
    await scene.sleep(0.5)
    await scene.until(until, 60)
    await scene.pass_time(25 * MINUTE)
    await scene.sleep(1.5)
    return scene.worker


@drill("tasker", "queue_closed", names=("UPDATE", "q_worker_shop_queue"), most=2)
async def worker_lost_one_queue(scene: Scene) -> str:
    revoked = f"REVOKE UPDATE ON pgmq.q_worker_shop_queue FROM {scene.worker}"
    return await broken(scene, revoked, until="SELECT EXISTS (SELECT FROM pgmq.q_worker_shop_queue)")


@drill("tasker", "privilege_missing", names=("read",), most=2)
async def function_of_the_queues_revoked(scene: Scene) -> str:
    return await broken(scene, f"REVOKE EXECUTE ON FUNCTION pgmq.read FROM PUBLIC, {scene.worker}")


@drill("uni2work", "foreign_objects", names=("trigger audit_jobs",), most=1)
async def trigger_writes_to_a_missing_table(scene: Scene) -> None:
    """Jobs are executed and never deleted."""
    scene.engine.executor = lambda connection: Unlocking(connection, scene.engine.instance)
    await broken(
        scene,
        "CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN INSERT INTO audit_of_jobs VALUES (old.id); RETURN old; END $$",
        "CREATE TRIGGER audit_jobs BEFORE DELETE ON queued_job FOR EACH ROW EXECUTE FUNCTION audit()",
    )


@drill("uni2work", "foreign_objects", names=("foreign key", "job_note"), most=1)
async def notes_refer_to_jobs(scene: Scene) -> None:
    """Another program keeps a note on each job, so no job can be deleted."""
    scene.engine.executor = lambda connection: Unlocking(connection, scene.engine.instance)
    await broken(
        scene,
        "CREATE TABLE job_note (job bigint REFERENCES queued_job (id), note text)",
        "CREATE FUNCTION annotate() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public AS"
        " $$ BEGIN INSERT INTO job_note VALUES (new.id, 'x'); RETURN NULL; END $$",
        "CREATE TRIGGER annotate AFTER INSERT ON queued_job FOR EACH ROW EXECUTE FUNCTION annotate()",
    )


class Unlocking:
    """An instance that unlocks a job if the database refuses its end, as real ones do."""

    def __init__(self, connection: Connection, uuid: UUID) -> None:
        self._instance = Instance(connection, uuid)
        self._connection = connection

    async def tick(self) -> int:
        await self._instance.queue({"job": "synchronise-ldap-user", "user": 7})
        done = 0
        for row in await self._connection.fetch(SQL["offered"]):
            job = await self._instance.lock(row["id"])
            if job is not None:
                try:
                    done += await self._instance.perform(job)
                except asyncpg.PostgresError:
                    await self._connection.execute(SQL["unlock"], job.id, self._instance.uuid)
        await asyncio.sleep(0.2)
        return done


@drill("uni2work", "writes_refused", names=("check not_now",), most=2)
async def constraint_on_the_times_of_cron(scene: Scene) -> None:
    scene.engine.executor = lambda connection: Unlocking(connection, scene.engine.instance)
    await broken(
        scene,
        "ALTER TABLE cron_last_exec ADD CONSTRAINT not_now CHECK (time < now() - interval '10 minutes') NOT VALID",
        "INSERT INTO queued_job (content, creation_instance, creation_time, write_last_exec)"
        """ VALUES ('{"job": "prune-invitations"}', gen_random_uuid(), now(), true)""",
    )


@drill("uni2work", "sequence_behind", names=("queued_job_id_seq",), most=2)
async def sequence_behind_after_a_restore(scene: Scene) -> None:
    """The rows were copied from another server, but not the value of the sequence."""
    copied = 'SELECT \'{"job": "send-password-reset", "recipient": 1}\'::jsonb, gen_random_uuid(), now()'
    await broken(
        scene,
        "INSERT INTO queued_job (content, creation_instance, creation_time) "
        + copied
        + " FROM generate_series(1, 5000)",
        "SELECT setval('queued_job_id_seq', min(id)) FROM queued_job",
    )


@drill("agent_jobs", "writes_refused", names=("check no_end",), most=2, actions=(None,))
async def constraint_on_completed_jobs(scene: Scene) -> None:
    """The application ignores the error, so rows stay pending."""
    await broken(
        scene,
        "ALTER TABLE jobs ADD CONSTRAINT no_end"
        " CHECK (status <> 'completed' OR updated_at < now() - interval '5 minutes') NOT VALID",
    )


@drill("eternaltwin", "advisory_lock", names=("backup",), actions=ENDS, most=1)
async def runner_waits_for_an_advisory_lock(scene: Scene) -> str:
    """A trigger of another program takes the lock that its idle session holds."""
    idle = await scene.session("backup")
    await idle.execute("SELECT pg_advisory_lock(42)")
    await broken(
        scene,
        "CREATE FUNCTION one_by_one() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN PERFORM pg_advisory_xact_lock(42); RETURN new; END $$",
        "CREATE TRIGGER one_by_one BEFORE UPDATE ON task FOR EACH ROW EXECUTE FUNCTION one_by_one()",
    )
    return str(idle.get_server_pid())


@drill("uni2work", ("session_waits", "row_locked"), actions=ENDS, most=1)
async def instance_has_just_begun_to_wait(scene: Scene) -> str:
    """The wait is short, but all jobs have been late for long."""
    await scene.rows.jobs(20, age=25 * MINUTE)
    session = await scene.session("application")
    await session.execute("BEGIN")
    await session.execute("UPDATE queued_job SET lock_time = lock_time")
    await session.execute("PREPARE TRANSACTION 'half-done'")
    await scene.start()
    await scene.sleep(2)
    return "half-done"


@drill("uni2work", "connections_used", names=("is 3 connections", ": 3 by role"), most=1)
async def connection_limit_of_the_database(scene: Scene) -> str:
    for _ in range(3):
        await scene.session("pool", scene.worker)
    await scene.sql(f"ALTER DATABASE {scene.database} CONNECTION LIMIT 3")
    await scene.start()
    await scene.pass_time(25 * MINUTE)
    return scene.database


@drill("eternaltwin", "index_invalid", names=("task_by_job",), most=1)
async def own_index_interrupted(scene: Scene) -> None:
    """CREATE INDEX CONCURRENTLY was interrupted. Each write still maintains the index."""
    await scene.sql("CREATE INDEX task_by_job ON task (job_id)")
    await scene.sql("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'task_by_job'::regclass")
    await scene.start()
    await scene.sleep(1)


class Overlapping:
    """An instance that ends the jobs of the tick before when it has locked the next."""

    def __init__(self, connection: Connection, uuid: UUID) -> None:
        self._instance, self._fetch = Instance(connection, uuid), connection.fetch
        self._begun: list[Job] = []

    async def tick(self) -> int:
        begun, self._begun = self._begun, []
        for row in await self._fetch(SQL["offered"]):
            if (job := await self._instance.lock(row["id"])) is not None:
                self._begun.append(job)
            if len(self._begun) == 3:
                break
        return sum([await self._instance.perform(job) for job in begun])


@control("uni2work")
async def long_backlog_that_shrinks(scene: Scene) -> None:
    """Jobs of the last 20 minutes; the instance takes the oldest first."""
    scene.engine.executor = lambda connection: Overlapping(connection, scene.engine.instance)
    await scene.sql(
        "INSERT INTO queued_job (content, creation_instance, creation_time) SELECT"
        " jsonb_build_object('job', 'send-notification', 'recipient', n), gen_random_uuid(),"
        " now() - interval '20 minutes' + n * interval '0.3 s' FROM generate_series(1, 3000) n"
    )
    await scene.start()
    await scene.sleep(1)
    await scene.until("SELECT count(*) > 0 FROM queued_job WHERE lock_time IS NOT NULL")
