"""Unseen incidents in the five added engines.

Their scenes are plain SQL, and workers that run the same statements in each tick.
"""

from __future__ import annotations

from tests.drills.drill import unseen
from tests.drills.scene import Scene

START = r"start (a|another|more) (worker|node|manager)"
HANGS = r"\bhangs?\b"

# graphile_worker

MAIL = """
INSERT INTO _private_tasks (identifier) VALUES ('mail'), ('bill');
INSERT INTO _private_jobs (task_id, priority, run_at, created_at, updated_at, flags)
SELECT 1, {priority}, t, t, t, '{flags}' FROM generate_series(1, {many}) AS n,
       LATERAL (SELECT now() - interval '50 minutes' + n * interval '2 s' AS t) AS x
"""
ENQUEUE = "INSERT INTO _private_jobs (task_id) SELECT 1 FROM generate_series(1, {})"
TAKE = """
UPDATE _private_jobs SET locked_at = now(), locked_by = 'worker-1', attempts = attempts + 1, updated_at = now()
 WHERE id IN (SELECT id FROM _private_jobs WHERE is_available AND run_at <= now() AND task_id = 1 AND {which}
               ORDER BY priority, run_at LIMIT 2 FOR UPDATE SKIP LOCKED)
"""
END = "DELETE FROM _private_jobs WHERE locked_by = 'worker-1' AND locked_at < now() - interval '0.2 s'"


async def pool(scene: Scene, many: int, *tick: str, priority: int = 0, flags: str = "{}") -> None:
    """Insert jobs that are late, and start a pool of workers."""
    await scene.sql(MAIL.format(many=many, priority=priority, flags=flags))
    await (await scene.session("worker", scene.worker)).execute('LISTEN "jobs:insert"')
    scene.engine.statements = tick
    if tick:
        await scene.start()
        await scene.sleep(1.5)


@unseen(
    "graphile_worker", r"customer-7", r"their flag", r"flags? \{", never=(r"start a worker that has the task", HANGS)
)
async def flag_that_all_workers_forbid(scene: Scene) -> None:
    """A rate limit's flag stayed in the code of all workers."""
    # Other jobs of the same task run.
    await pool(scene, 30, ENQUEUE.format(1), TAKE.format(which="flags IS NULL"), END, flags='{"customer-7": true}')


@unseen("graphile_worker", r"priorit", never=(r"has the task", r"if their code", HANGS), watch=4.0)
async def urgent_jobs_arrive_faster_than_they_run(scene: Scene) -> None:
    """Workers take the lower number first."""
    # Jobs of priority 10 wait for as long as that lasts.
    await pool(scene, 60, ENQUEUE.format(4), TAKE.format(which="true"), END, priority=10)


@unseen("graphile_worker", r"private_tasks_id_seq", r"sequence.{0,20}(end|used up)", never=(HANGS,))
async def numbers_of_tasks_used_up(scene: Scene) -> None:
    """Each added job takes a number of the small table of tasks."""
    # After 2^31 of them, no worker can start.
    await pool(scene, 15)
    await scene.sql("SELECT setval(pg_get_serial_sequence('_private_tasks', 'id'), 2147483647)")
    await scene.hang_up()
    await scene.connect()
    await scene.session("web", scene.worker)


@unseen("graphile_worker", r"row.level", r"polic(y|ies)", r"rows_hidden", never=(r"has the task", HANGS))
async def restored_by_another_owner(scene: Scene) -> None:
    """The engine enables row-level security without a policy."""
    # After a restore, workers do not own the tables.
    for table in ("_private_jobs", "_private_job_queues", "_private_tasks", "_private_known_crontabs"):
        await scene.sql(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    await pool(scene, 12, TAKE.format(which="true"), END)


# oban

NODE = "6f1c9d70-0000-4000-8000-000000000001"
PRODUCER = f"""
INSERT INTO oban_producers (uuid, node, queue, meta, started_at)
SELECT '{NODE}', 'app.1', 'default', '{{"limit": 2, "paused": false, "running": []}}',
       timezone('UTC', now() - interval '1 day')
"""
BEAT = "UPDATE oban_producers SET updated_at = timezone('UTC', now())"
FETCH = f"""
WITH subset AS MATERIALIZED (SELECT id FROM oban_jobs WHERE state = 'available' AND queue = 'default'
                              ORDER BY priority, scheduled_at, id LIMIT 2 FOR UPDATE SKIP LOCKED)
UPDATE oban_jobs j
   SET state = 'executing', attempt = attempt + 1, attempted_at = timezone('UTC', now()),
       attempted_by = ARRAY['app.1', '{NODE}']
  FROM subset x WHERE x.id = j.id AND j.attempt < j.max_attempts
"""
JOBS = """
INSERT INTO oban_jobs (state, queue, worker, attempt, max_attempts, attempted_by, inserted_at, scheduled_at,
                       attempted_at)
SELECT '{state}', 'default', 'App.Import', {attempt}, 5, '{by}', t, t, CASE WHEN {attempt} > 0 THEN t END
  FROM generate_series(1, {many}) AS n,
       LATERAL (SELECT timezone('UTC', now()) - interval '{age}' + n * interval '1 s' AS t) AS x
"""
COMPLETE = """
UPDATE oban_jobs SET state = 'completed', completed_at = timezone('UTC', now())
 WHERE state = 'executing' AND attempted_at > timezone('UTC', now()) - interval '1 minute'
"""


@unseen(
    "oban",
    r"attempts_used_up",
    r"attempts.{0,60}(used|head|front|first)",
    actions=(None, "retry", "cancel", "delete"),
    never=(START, r"paused, hang", HANGS),
)
async def jobs_without_attempts_at_the_head(scene: Scene) -> None:
    """Two jobs of a killed node have no attempts left, and were made available.

    The producer selects the first two of its queue, and then only those with attempts: none, for ever.
    """
    await scene.sql(PRODUCER)
    await scene.sql(JOBS.format(state="available", attempt=5, many=2, by="{}", age="3 hours"))
    await scene.sql(JOBS.format(state="available", attempt=0, many=60, by="{}", age="40 minutes"))
    scene.engine.statements = (BEAT, FETCH, COMPLETE)
    await scene.start()


@unseen(
    "oban",
    r"does not (run|list|have|hold)",
    r"not (among|in|listed)\b",
    r"no longer (runs|lists|has)",
    r"\brunning\b.{0,30}(empty|none|\[\])",
    actions=(None, "release", "retry"),
    never=(HANGS, r"\bslow", r"still run"),
)
async def jobs_that_their_producer_has_lost(scene: Scene) -> None:
    """The end of three jobs was not written."""
    # Their producer lives, and its list of running jobs is empty.
    await scene.sql(PRODUCER)
    await scene.sql(JOBS.format(state="executing", attempt=1, many=3, by=f"{{app.1,{NODE}}}", age="3 hours"))
    scene.engine.statements = (
        BEAT,
        "INSERT INTO oban_jobs (queue, worker) VALUES ('default', 'App.Import')",
        FETCH,
        COMPLETE,
    )
    await scene.start()


# pgqueuer

QUEUED = """
INSERT INTO pgqueuer (priority, entrypoint, status, created, updated, execute_after)
SELECT 0, 'mail', 'queued', t, t, t
  FROM generate_series(1, {many}) AS n, LATERAL (SELECT now() - interval '{age}' + n * interval '0.5 s' AS t) AS x
"""


@unseen("pgqueuer", r"tg_pgqueuer_changed", r"trigger", never=(START, HANGS))
async def trigger_that_notifies_is_disabled(scene: Scene) -> None:
    """An import disabled the trigger."""
    # Workers are not notified: each job waits for the next poll, up to 30 s.
    await scene.sql("ALTER TABLE pgqueuer DISABLE TRIGGER tg_pgqueuer_changed")
    await scene.sql(QUEUED.format(many=9, age="20 seconds"))
    await (await scene.session("worker", scene.worker)).execute("LISTEN ch_pgqueuer")


@unseen(
    "pgqueuer",
    r"again and again",
    r"(taken|picked|run) (again|\d+ times|repeatedly)",
    r"\d+ times",
    r"each worker",
    r"kills",
    actions=(None, "mark_failed", "cancel"),
    never=(r"\brelease", START),
)
async def job_that_kills_its_workers(scene: Scene) -> None:
    """Each worker that takes a job runs out of memory."""
    # The next one takes it after 30 s: 30 times by now.
    worker = "5f0c7c1e-0000-4000-8000-0000000000{}"
    await scene.sql(
        "INSERT INTO pgqueuer (priority, entrypoint, status, queue_manager_id, created, updated, heartbeat,"
        f" execute_after) VALUES (9, 'mail', 'picked', '{worker.format(41)}', now() - interval '41 minutes',"
        " now() - interval '50 seconds', now() - interval '50 seconds', now() - interval '41 minutes')"
    )
    await scene.sql(QUEUED.format(many=25, age="30 minutes"))
    await scene.sql(
        "INSERT INTO pgqueuer_log (job_id, status, priority, entrypoint, created) SELECT 1, 'picked', 9, 'mail',"
        " now() - interval '50 seconds' - n * interval '80 seconds' FROM generate_series(0, 29) AS n"
    )


# procrastinate

WORKERS = """
INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now());
INSERT INTO procrastinate_jobs (queue_name, task_name, lock, queueing_lock)
SELECT 'mail', '{task}', '{lock}', {queueing} FROM generate_series(1, {many});
"""
LIVE = "UPDATE procrastinate_workers SET last_heartbeat = now()"
SEEN = "UPDATE procrastinate_events SET at = now() - interval '{age}' WHERE job_id {which}"


@unseen("procrastinate", r"abort", never=(r"dead worker", r"\brelease"))
async def job_that_does_not_stop(scene: Scene) -> None:
    """An operator asked for an abort three hours ago."""
    # The task never looks, and holds its lock.
    await scene.sql(WORKERS.format(task="export", lock="customer-1", queueing="NULL", many=5))
    await scene.sql("UPDATE procrastinate_jobs SET status = 'doing', worker_id = 1 WHERE id = 1")
    await scene.sql("UPDATE procrastinate_jobs SET abort_requested = true WHERE id = 1")
    await scene.sql(SEEN.format(age="3 hours", which="= 1"))
    await scene.sql(SEEN.format(age="2 hours", which="> 1"))
    scene.engine.statements = (LIVE,)
    await scene.start()


@unseen("procrastinate", r"queueing.?lock", actions=(None, "mark_failed", "abort", "cancel"), never=(r"\brelease",))
async def retry_that_a_unique_index_refuses(scene: Scene) -> None:
    """A worker was killed and pruned."""
    # The next job has the lock for queueing, so this one cannot wait again.
    await scene.sql(WORKERS.format(task="sync", lock="sync", queueing="'sync'", many=1))
    await scene.sql("UPDATE procrastinate_jobs SET status = 'doing', worker_id = 1 WHERE id = 1")
    await scene.sql("DELETE FROM procrastinate_workers WHERE id = 1")
    await scene.sql(WORKERS.format(task="sync", lock="sync", queueing="'sync'", many=1))
    await scene.sql(SEEN.format(age="6 hours", which="= 1"))
    await scene.sql(SEEN.format(age="5 hours", which="> 1"))
    scene.engine.statements = (LIVE,)
    await scene.start()


@unseen("procrastinate")
async def export_that_runs_for_hours_each_day(scene: Scene) -> None:
    """Healthy: an export runs for five hours each day, today for one hour so far."""
    # The next one waits.
    await scene.sql(WORKERS.format(task="export", lock="export", queueing="NULL", many=12))
    for day in range(11):
        await scene.sql(f"UPDATE procrastinate_jobs SET status = 'doing', worker_id = 1 WHERE id = {day + 1}")
        if day < 10:
            await scene.sql(f"UPDATE procrastinate_jobs SET status = 'succeeded', attempts = 1 WHERE id = {day + 1}")
        hours = "CASE type WHEN 'succeeded' THEN 5 WHEN 'deferred' THEN -0.1 ELSE 0 END * interval '1 hour'"
        began = f"now() - interval '{10 - day} days 1 hour'"
        await scene.sql(f"UPDATE procrastinate_events SET at = {began} + {hours} WHERE job_id = {day + 1}")
    await scene.sql(SEEN.format(age="10 minutes", which="= 12"))
    scene.engine.statements = (LIVE,)
    await scene.start()


# solid_queue

NOW = "timezone('UTC', now())"
PROCESSES = f"""
INSERT INTO solid_queue_processes (kind, last_heartbeat_at, pid, hostname, metadata, created_at, name)
SELECT kind, {NOW} - silent, 100, 'app-1', metadata, {NOW} - interval '1 day', name
  FROM (VALUES ('Supervisor(fork)', interval '1 s', '{{{{}}}}', 'supervisor-1'),
               ('Dispatcher', interval '1 s', '{{{{"batch_size":500}}}}', 'dispatcher-1'),
               ('Worker', interval '{{silent}}', '{{{{"queues":"{{queues}}","thread_pool_size":3}}}}', 'worker-1'))
         AS p(kind, silent, metadata, name)
"""
READY = f"""
WITH made AS (INSERT INTO solid_queue_jobs (queue_name, class_name, arguments, active_job_id, created_at, updated_at)
              SELECT '{{queue}}', '{{name}}', '{{{{"executions":0}}}}', gen_random_uuid()::text, t, t
                FROM (SELECT {NOW} - interval '{{age}}') AS x(t), generate_series(1, {{many}})
              RETURNING id, queue_name, created_at)
INSERT INTO solid_queue_ready_executions (job_id, queue_name, created_at) SELECT id, queue_name, created_at FROM made
"""
CLAIM = f"""
WITH next AS (DELETE FROM solid_queue_ready_executions WHERE job_id IN (
                SELECT job_id FROM solid_queue_ready_executions WHERE queue_name = '{{queue}}'
                 ORDER BY priority, job_id LIMIT {{many}}) RETURNING job_id)
INSERT INTO solid_queue_claimed_executions (job_id, process_id, created_at)
SELECT job_id, 3, {NOW} - interval '{{off}}' FROM next
"""
FINISH = f"""
WITH ended AS (DELETE FROM solid_queue_claimed_executions WHERE process_id = 3 AND random() < 0.5 RETURNING job_id)
UPDATE solid_queue_jobs j SET finished_at = {NOW}, updated_at = {NOW} FROM ended e WHERE e.job_id = j.id
"""
BEATS = f"""
UPDATE solid_queue_processes
   SET last_heartbeat_at = {NOW} - CASE name WHEN 'worker-1' THEN interval '{{off}}' ELSE '0' END
"""


@unseen("solid_queue", r"\burgent\b", never=(HANGS, START, r"restart"), watch=4.0)
async def first_queue_of_a_worker_never_ends(scene: Scene) -> None:
    """The worker reads its queues in order."""
    # The first one gets more than it can run: the second one waits.
    await scene.sql(PROCESSES.format(silent="1 s", queues="urgent,default"))
    await scene.sql(READY.format(queue="default", name="ReportJob", age="40 minutes", many=40))
    arrive = READY.format(queue="urgent", name="AlertJob", age="0 s", many=4)
    scene.engine.statements = (BEATS.format(off="0 s"), arrive, CLAIM.format(queue="urgent", many=2, off="0 s"), FINISH)
    await scene.start()


@unseen("solid_queue", r"\bclock", r"behind", never=(r"\bdead\b", r"\brelease", r"no worker", START), watch=4.0)
async def clock_of_a_worker_behind(scene: Scene) -> None:
    """Its beats are always ten minutes old."""
    # The others prune it; it works, and claims jobs before they exist.
    await scene.sql(PROCESSES.format(silent="10 minutes", queues="*"))
    await scene.sql(READY.format(queue="default", name="ImportJob", age="30 minutes", many=12))
    error = (
        '{"exception_class":"SolidQueue::Processes::ProcessPrunedError","message":"Process was found dead and pruned"}'
    )
    await scene.sql(
        "WITH gone AS (DELETE FROM solid_queue_ready_executions RETURNING job_id) INSERT INTO"
        f" solid_queue_failed_executions (job_id, error, created_at) SELECT job_id, '{error}', {NOW} FROM gone"
    )
    arrive = READY.format(queue="default", name="ImportJob", age="0 s", many=1)
    claim = CLAIM.format(queue="default", many=2, off="10 minutes")
    scene.engine.statements = (BEATS.format(off="10 minutes"), arrive, FINISH, claim)
    await scene.start()


@unseen("solid_queue")
async def workers_replaced_a_minute_ago(scene: Scene) -> None:
    """Healthy."""
    # The old worker ends its two jobs after its last beat, and a new one works.
    await scene.sql(PROCESSES.format(silent="100 s", queues="*"))
    await scene.sql(READY.format(queue="default", name="ImportJob", age="110 s", many=2))
    await scene.sql(CLAIM.format(queue="default", many=2, off="105 s"))
    await scene.sql(
        "INSERT INTO solid_queue_processes (kind, last_heartbeat_at, pid, hostname, metadata, created_at, name) SELECT"
        " kind, last_heartbeat_at + interval '98 s', 200, 'app-2', metadata, last_heartbeat_at + interval '70 s',"
        " 'worker-2' FROM solid_queue_processes WHERE name = 'worker-1'"
    )
    await scene.sql(READY.format(queue="default", name="ImportJob", age="3 s", many=5))
