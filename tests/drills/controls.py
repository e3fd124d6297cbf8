"""Healthy situations that look like incidents.

The console may report nothing worse than a minor line.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from functools import partial
from random import Random
from uuid import UUID

from tests.drills.drill import control
from tests.drills.drills_locks import LATE, begun
from tests.drills.drills_server import bloat, standby_of
from tests.drills.scene import Scene
from tests.drills.surroundings import DAY, ENGINES, HOUR, MINUTE
from tests.simulators.agent_jobs.executor import RedisQueue
from tests.simulators.estuary import kinds
from tests.simulators.estuary.executor import Executor
from tests.simulators.tasker.step_history import claimed, complete, enqueued, pending, waiting


async def healthy(scene: Scene) -> None:
    """Let the executors work."""
    await scene.start()
    await scene.sleep(1)


async def locks_of_another_application(scene: Scene) -> None:
    """Sessions of another program wait for each other's locks."""
    await scene.sql("CREATE SCHEMA shop")
    await scene.sql("CREATE TABLE shop.customer AS SELECT generate_series(1, 3) AS id")
    holder, _ = await begun(scene, "shop")
    waiter, _ = await begun(scene, "shop")
    await holder.execute("SELECT pg_advisory_lock(1), id FROM shop.customer WHERE id = 1 FOR UPDATE")
    await scene.wait_in(waiter, "UPDATE shop.customer SET id = id WHERE id = 1")
    await healthy(scene)


async def monitoring_and_pools(scene: Scene) -> None:
    """Idle connections of a pool, a session that listens, and a short report."""
    for _ in range(8):
        await scene.session("pool", scene.worker)
    listener = await scene.session("listener", scene.worker)
    await listener.execute("LISTEN pgmq_message_ready")
    report, _ = await begun(scene, "report")
    await report.fetchval("SELECT count(*) FROM pg_class")
    await healthy(scene)


for name in ENGINES:
    control(name, watch=2.0)(healthy)
    control(name)(locks_of_another_application)
    control(name)(monitoring_and_pools)


@control("eternaltwin")
async def nothing_to_do(scene: Scene) -> None:
    """All tasks are done, or asleep for days: nothing was polled for hours."""
    await scene.sql("DELETE FROM job WHERE job_id IN (SELECT job_id FROM task WHERE status <> 'Complete')")
    tasks = await scene.rows.tasks(await scene.rows.jobs(5, age=9 * DAY), status="Blocked", age=8 * DAY, polled=DAY)
    await scene.rows.timers(tasks, 5 * DAY)


@control("eternaltwin")
async def asleep_by_design(scene: Scene) -> None:
    """Tasks of a kind that always sleeps for a year."""
    for n in range(12):
        jobs = await scene.rows.jobs(1, age=(5 + 27 * n) * DAY)
        age, yearly = (5 + 27 * n) * DAY - 1, {"kind": "YearlyDigest", "status": "Blocked"}
        await scene.rows.tasks(jobs, **yearly, age=age, polled=age - 1, timer=365 * DAY - age)
    await scene.start()


@control("eternaltwin")
async def backlog_that_shrinks(scene: Scene) -> None:
    """An import created 1,500 tasks a minute ago; the runner works on them."""
    state = b'{"phase":"Compose","to":"user@example.org"}'
    await scene.rows.tasks(await scene.rows.jobs(1500), version=2, state=state, age=60, status="Available", polled=None)
    await scene.start()
    await scene.sleep(2)


@control("eternaltwin")
async def just_deployed(scene: Scene) -> None:
    """Tasks of a kind that exists only since a minute."""
    jobs = await scene.rows.jobs(4, age=60)
    await scene.rows.tasks(jobs, kind="ArchiveNew", age=50, status="Available", polled=None, revision=0)
    await scene.start()


@control("eternaltwin")
async def long_family(scene: Scene) -> None:
    """A root that has waited for days for children that sleep and work in turn."""
    job = await scene.rows.job(age=5 * DAY)
    await scene.rows.task(job, kind="ArchiveHammerfestUser", version=3, status="Blocked", age=5 * DAY, polled=4 * DAY)
    child = {"kind": "RefreshForumThread", "version": 2, "status": "Blocked", "age": 4 * DAY}
    await scene.rows.tasks([job] * 6, **child, state=b'{"phase":"FetchPage"}', timer=40)
    await scene.start()


@control("estuary")
async def long_poll(scene: Scene) -> None:
    """A data plane whose poll runs for 40 minutes and renews its heartbeat."""
    state = {"status": "PulumiUp1", "stack": {"config": {"model": {}}}, "data_plane_id": "x", "disabled": False}
    await scene.rows.task(kinds.DATA_PLANE, state=state, parent=kinds.ZERO, wake=-90, beat=12)
    await scene.rows.task(kinds.LIVE_SPEC, state={}, wake=-14 * MINUTE, beat=100)
    await scene.start()


@control("estuary")
async def executor_replaced_a_minute_ago(scene: Scene) -> None:
    """A killed executor held three tasks; the others take them after the timeout."""
    for n in range(3):
        await scene.rows.task(kinds.LIVE_SPEC, state={}, wake=-70 - n, beat=65)
    await scene.start()


@control("estuary")
async def slots_taken_for_a_minute(scene: Scene) -> None:
    """Publications take all slots of the agent for a while. Other types wait."""
    scene.engine.executor = lambda connection: Executor(connection, Random(1), permits=3, poll_ticks=lambda _: 10**9)
    await scene.sql("DELETE FROM tasks WHERE task_type = 32767")
    for n in range(3):
        await scene.rows.task(kinds.PUBLICATIONS, wake=-100 - n, inbox=[(kinds.ZERO, {"type": "queued"})])
    await scene.start()
    for n in range(8):
        await scene.rows.task(kinds.LIVE_SPEC, state={}, wake=-90 + 4 * n)


@control("estuary")
async def application_waits_for_a_row_of_its_own(scene: Scene) -> None:
    """Two sessions of the application; neither uses the engine's tables."""
    await scene.sql("CREATE TABLE customer AS SELECT 1 AS id")
    one, _ = await begun(scene, "shop")
    other, _ = await begun(scene, "shop")
    await one.execute("UPDATE customer SET id = id")
    await scene.wait_in(other, "UPDATE customer SET id = id")
    await scene.start()
    await scene.sleep(5.5)


@control("estuary")
async def suspended_by_design(scene: Scene) -> None:
    """Tasks without a due time and without messages: they wait for a message."""
    for _ in range(12):
        await scene.rows.task(kinds.LIVE_SPEC, state={"messages_processed": 9})
    await scene.start()


@control("estuary")
async def next_poll_in_a_week(scene: Scene) -> None:
    for n in range(6):
        await scene.rows.task(kinds.TENANT_ALERTS, state={"evaluations": 9}, wake=7 * DAY + n)
    await scene.start()


@control("agent_jobs")
async def empty_queue(scene: Scene) -> None:
    """No job for two days, because users are on holiday."""
    await scene.pass_time(2 * DAY)


@control("agent_jobs")
async def some_jobs_fail(scene: Scene) -> None:
    """Users upload files that cannot be read: three different errors in a day."""
    errors = ("PDF file is too small to be valid.", "File ingestion failed", "Embeddings/chunks mismatch: 41 vs 42")
    for n, error in enumerate(errors):
        agent, user, _ = scene.engine.agents[n]
        number = 1 + await scene.value("SELECT max(job_id::int) FROM jobs")
        times = {"age": (9 - n) * HOUR, "ended": (9 - n) * HOUR - 20}
        await scene.rows.job("failed", **times, agent=agent, user=user, number=number, error=error)
    await scene.start()


@control("agent_jobs table")
async def one_long_job(scene: Scene) -> None:
    """A job runs for 25 minutes while others come and go."""
    agent, user, _ = scene.engine.agents[5]
    number = 1 + await scene.value("SELECT max(job_id::int) FROM jobs")
    times = {"age": 25 * MINUTE, "started": 25 * MINUTE - 1}
    await scene.rows.job("active", **times, agent=agent, user=user, number=number)
    await scene.start()


@control("agent_jobs")
async def upload_of_many_files(scene: Scene) -> None:
    """A user uploaded 60 files 25 minutes ago; the workers take one after the other."""
    await scene.pass_time(HOUR)
    agent, user, _ = scene.engine.agents[1]
    for n in range(60):
        age = 25 * MINUTE - n
        ended = {"ended": 25 * 60 - 60 * n, "changed": 25 * 60 - 60 * n} if n < 24 else {}
        number = 1 + await scene.value("SELECT max(job_id::int) FROM jobs")
        await scene.rows.job(
            "completed" if ended else "pending", age=age, **ended, agent=agent, user=user, number=number
        )


@control("agent_jobs")
async def files_of_one_user_are_refused(scene: Scene) -> None:
    """A user tries a file five times, while jobs of others end well."""
    for n in range(20):
        agent, user, _ = scene.engine.agents[n % 4]
        number = 1 + await scene.value("SELECT max(job_id::int) FROM jobs")
        times = {"age": 50 * MINUTE - 60 * n, "ended": 49 * MINUTE - 60 * n, "changed": 49 * MINUTE - 60 * n}
        state = {"error": "PDF file is too small to be valid."} if n % 4 == 1 else {}
        await scene.rows.job(
            "failed" if state else "completed", **times, **state, agent=agent, user=user, number=number
        )
    await scene.start()


@control("agent_jobs")
async def clock_of_the_workers_almost_right(scene: Scene) -> None:
    """The workers' clock is 1.5 seconds ahead."""
    number = 1 + await scene.value("SELECT max(job_id::int) FROM jobs")
    session = await scene.session("agent_jobs worker", scene.worker)
    jobs = RedisQueue(session, first=number, skew=timedelta(seconds=1.5))
    for n in range(12):
        agent, user, _ = scene.engine.agents[n % 5]
        await jobs.add(agent, user)
        await jobs.tick()
        await jobs.tick()
        await scene.pass_time(9)


@control("agent_jobs table")
async def backlog_of_the_executors(scene: Scene) -> None:
    """200 jobs are waiting since an hour, and are taken in order."""
    await scene.pass_time(2 * HOUR)
    agent, user, _ = scene.engine.agents[1]
    first = 1 + await scene.value("SELECT max(job_id::int) FROM jobs")
    for n in range(200):
        await scene.rows.job(age=HOUR - n, agent=agent, user=user, number=first + n)
    await scene.start()
    await scene.until("SELECT count(*) > 0 FROM jobs WHERE completed_at > now() - interval '1 minute'", 60)


@control("agent_jobs table")
async def jobs_that_always_run_for_hours(scene: Scene) -> None:
    agent, user, _ = scene.engine.agents[5]
    first = 1 + await scene.value("SELECT max(job_id::int) FROM jobs")
    for n in range(12):
        age = (70 - 3 * n) * HOUR
        times = {"age": age, "started": age - 1, "ended": age - 3 * HOUR, "changed": age - 3 * HOUR}
        await scene.rows.job("completed", **times, agent=agent, user=user, number=first + n)
    times = {"age": 2 * HOUR, "started": 2 * HOUR - 1}
    await scene.rows.job("active", **times, agent=agent, user=user, number=first + 12)
    await scene.start()


@control("agent_jobs table")
async def jobs_paused_yesterday(scene: Scene) -> None:
    agent, user, _ = scene.engine.agents[5]
    first = 1 + await scene.value("SELECT max(job_id::int) FROM jobs")
    for n in range(4):
        await scene.rows.job("paused", age=20 * HOUR, agent=agent, user=user, number=first + n)
        await scene.rows.job("delayed", age=9 * HOUR, agent=agent, user=user, number=first + 10 + n)
    await scene.start()


@control("uni2work")
async def night_without_jobs(scene: Scene) -> None:
    """An empty queue and a cron job that runs once a day."""
    await scene.sql("DELETE FROM queued_job")
    await scene.pass_time(9 * HOUR)
    await scene.rows.cron({"job": "prune-old-sent-mails"}, age=20 * HOUR)


@control("uni2work")
async def newsletter_backlog(scene: Scene) -> None:
    """2,000 mails were queued half a minute ago; the instance works on them."""
    await scene.sql(
        "INSERT INTO queued_job (content, creation_instance, creation_time) SELECT"
        " jsonb_build_object('job', 'send-notification', 'recipient', n), gen_random_uuid(), now() - interval '30 s'"
        " FROM generate_series(1, 2000) n"
    )
    await scene.start()
    await scene.sleep(2)


@control("uni2work")
async def one_long_job_of_a_living_instance(scene: Scene) -> None:
    """A job of 4 minutes, whose instance recorded a cron job half a minute ago."""
    slow = UUID("10000000-0000-4000-8000-000000000001")
    job = {"job": "synchronise-ldap", "epoch": 3, "iteration": 4}
    await scene.rows.job(job, age=4 * MINUTE, held_by=slow, held=4 * MINUTE - 2)
    await scene.rows.cron({"job": "truncate-transaction-log"}, age=30, instance=slow)
    await scene.start()


@control("uni2work")
async def jobs_of_minutes(scene: Scene) -> None:
    """The newest job was taken 40 seconds ago; others have waited for 6 minutes."""
    await scene.sql("DELETE FROM queued_job")
    await scene.sql("UPDATE cron_last_exec SET time = time - interval '1 hour'")
    slow = UUID("10000000-0000-4000-8000-000000000001")
    for n in range(18):
        taken = {"held_by": slow, "held": 40 + 20 * n} if n < 4 else {}
        await scene.rows.job({"job": "synchronise-ldap", "n": n}, age=380 - n, **taken)


@control("tasker")
async def retries_with_backoff(scene: Scene) -> None:
    """A gateway failed a few times; the steps wait for their next attempt."""
    for n in range(15):
        error = f"charge_card: 503 from http://10.0.0.{n}:8080/v1"
        steps = {"validate_cart": complete(200), "reserve_stock": complete(150)}
        steps["charge_card"] = waiting(20.0 + n, backoff=120, error=error)
        scene.rows.task("fulfil_order", state="waiting_for_retry", ago=20.0 + n, age=4 * MINUTE, steps=steps)
    await scene.rows.write(scene.admin)
    await scene.start()


@control("tasker")
async def long_report(scene: Scene) -> None:
    """A nightly report whose regions run for 20 minutes each, as they always do."""
    for _ in range(12):
        ago = scene.rows.rng.uniform(1, 20) * DAY
        scene.rows.task("nightly_report", state="complete", ago=ago, rest=complete(ago + 60, 25 * 60_000))
    regions = {f"sum_region_{region}": claimed(18 * MINUTE) for region in ("north", "east", "south", "west")}
    steps = {"open_books": complete(19 * MINUTE), **regions}
    scene.rows.task("nightly_report", ago=18 * MINUTE, age=20 * MINUTE, steps=steps)
    await scene.rows.write(scene.admin)
    await scene.start()


@control("tasker")
async def orders_of_a_sale(scene: Scene) -> None:
    """300 orders within a minute; workers and orchestrator work on them."""
    for n in range(150):
        scene.rows.task("fulfil_order", state="pending", ago=1 + n / 5)
    for n in range(150):
        made = scene.rows.task("fulfil_order", ago=2 + n / 5, rest=pending(60), steps={"validate_cart": enqueued(2)})
        scene.rows.message(made, "validate_cart", age=2)
    await scene.rows.write(scene.admin)
    await scene.start()
    await scene.sleep(1)


@control("tasker")
async def decided_dead_letters(scene: Scene) -> None:
    """Dead letters on which an operator has decided."""
    for n in range(6):
        made = scene.rows.task("refund", state="error", ago=3 * DAY + n)
        scene.rows.dead_letter(made, age=3 * DAY + n, decision="permanently_failed", note="order is void", by="anna")
    await scene.rows.write(scene.admin)
    await scene.start()


async def shared_locks_of_foreign_keys(scene: Scene, engine: str) -> None:
    """A transaction that inserted rows which refer to nodes.

    Its locks do not keep workers from updating the nodes.
    """
    rows = await LATE[engine](scene)
    session, _ = await begun(scene, "shop")
    await session.execute(f"SELECT 1 FROM {rows} FOR KEY SHARE")
    await scene.start()
    await scene.sleep(2)


@control("eternaltwin")
async def key_locks_of_another_application(scene: Scene) -> None:
    await shared_locks_of_foreign_keys(scene, "eternaltwin")


@control("uni2work", limits={"session_waits": 600.0})  # the instance waits to delete for as long as the test takes
async def key_locks_on_jobs(scene: Scene) -> None:
    await shared_locks_of_foreign_keys(scene, "uni2work")


@control("uni2work", alone=True)
async def promoted_and_at_work(scene: Scene) -> None:
    """A switchover went well."""
    await scene.hang_up()
    await asyncio.to_thread(scene.server.standby)
    scene.server.sql("SELECT pg_promote()")
    await scene.connect()
    await healthy(scene)


@control("estuary", alone=True, limits={"dead_rows": 100, "old_xids": 10_000, "old_transaction": 1.0})
async def standby_with_feedback(scene: Scene) -> None:
    """The feedback keeps rows for moments; the dead rows have another reason."""
    await standby_of(scene)
    await scene.until("SELECT count(*) > 0 FROM pg_stat_replication")
    await bloat(scene, "tasks", "wake_at")
    await scene.sleep(2)


# Other users of the same database


async def backup_running(scene: Scene, table: str) -> None:
    """A dump reads every table in one old snapshot."""
    dump = await scene.session("pg_dump")
    await dump.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    await dump.fetchval(f"SELECT count(*) FROM {table}")
    await healthy(scene)


async def vacuum_running(scene: Scene, table: str) -> None:
    """A session has the table lock of VACUUM and of CREATE INDEX CONCURRENTLY."""
    vacuum, _ = await begun(scene, "vacuum")
    await vacuum.execute(f"LOCK TABLE {table} IN SHARE UPDATE EXCLUSIVE MODE")
    await scene.start()
    await scene.sleep(3.5)


async def roles_that_only_read(scene: Scene, table: str) -> None:
    """A dashboard, a former worker without privileges, and a role of another program."""
    for prefix in ("dashboard", "former_worker", "shop"):
        role = await scene.role(prefix, grants=False)
        await scene.sql(f"GRANT SELECT ON {table} TO {role}")
        session = await scene.session(prefix, role)
        await session.fetchval(f"SELECT count(*) FROM {table}")
    await healthy(scene)


async def settings_that_do_no_harm(scene: Scene, table: str) -> None:
    """Limits that no statement of the workers reaches."""
    for setting in ("statement_timeout = '5min'", "lock_timeout = '1min'", "work_mem = '32MB'"):
        await scene.sql(f"ALTER ROLE {scene.worker} SET {setting}")
    await scene.sql(f"ALTER ROLE {scene.worker} CONNECTION LIMIT 50")
    await scene.sql(f"ALTER ROLE {scene.worker} VALID UNTIL '2099-01-01'")
    await scene.sql(f"ALTER TABLE {table} SET (autovacuum_vacuum_scale_factor = 0.01)")
    await healthy(scene)


async def audit_trigger_that_works(scene: Scene, table: str) -> None:
    """A trigger of the company writes each change to another table."""
    await scene.sql("CREATE TABLE audit (at timestamptz DEFAULT now(), row text)")
    await scene.sql(f"GRANT INSERT ON audit TO {scene.worker}")
    await scene.sql(
        "CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN INSERT INTO public.audit (row) VALUES (left(new::text, 99)); RETURN new; END $$"
    )
    await scene.sql(f"CREATE TRIGGER audit AFTER INSERT OR UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION audit()")
    await healthy(scene)


async def index_of_the_company(scene: Scene, table: str) -> None:
    """An index that the engine does not know, and one that failed to build."""
    column = await scene.value(f"SELECT attname FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attnum = 1")
    await scene.sql(f"CREATE INDEX ours ON {table} ({column})")
    await scene.sql(f"CREATE INDEX ours_ccnew ON {table} ({column})")
    await scene.sql("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'ours_ccnew'::regclass")
    await healthy(scene)


TABLES = {
    "eternaltwin": "task",
    "estuary": "tasks",
    "agent_jobs table": "jobs",
    "uni2work": "queued_job",
    "tasker": "task_transitions",
}
OTHERS = (
    backup_running,
    vacuum_running,
    roles_that_only_read,
    settings_that_do_no_harm,
    audit_trigger_that_works,
    index_of_the_company,
)

for name, table in TABLES.items():
    for other in OTHERS:
        control(name, name=other.__name__.replace("_", " "))(partial(other, table=table))
