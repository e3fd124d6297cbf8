"""Unseen incidents in the five engines of the mission.

Each was written, with the line that it expects, before its first run. See unseen.txt.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any
from uuid import UUID, uuid4

import asyncpg

from tests.drills.drill import unseen
from tests.drills.drills_agent_jobs import add, number, queue
from tests.drills.drills_locks import quoted
from tests.drills.drills_tasker import add as add_tasks
from tests.drills.scene import Connection, Scene
from tests.drills.surroundings import DAY, HOUR, MINUTE
from tests.simulators.estuary import kinds
from tests.simulators.estuary.kinds import ZERO
from tests.simulators.tasker.step_history import complete, enqueued, failed
from tests.simulators.uni2work.executor import SQL, Instance

WORDS = "chapter table picture index footnote heading margin cover glossary preface summary figure list".split()  # noqa: SIM905
NO_RUNNER = r"no runner|runner is (down|gone|not running)|start (a|the) runner"
NO_WORKER = r"no (executor|worker|orchestrator|instance)\b|start (a|an|another) (executor|worker|orchestrator|instance)"


# eternaltwin


@unseen("eternaltwin", r"\bu32\b", r"step_limit", never=(NO_RUNNER, r"\bclock"))
async def domain_narrowed_by_a_migration(scene: Scene) -> None:
    """A migration narrowed the type of `revision`."""
    # A task with many steps cannot be written, and ends each tick.
    jobs = await scene.rows.jobs(5, age=9 * DAY)
    task = {"kind": "ArchiveDinoparcUser", "version": 2, "age": 8 * DAY, "polled": HOUR, "status": "Available"}
    await scene.rows.tasks(jobs, **task, revision=999, state=b'{"phase":"FetchDinoz","retries":0}')
    await scene.sql("ALTER DOMAIN u32 ADD CONSTRAINT step_limit CHECK (VALUE < 1000)")
    await scene.pass_time(30 * MINUTE)
    await scene.start()


@unseen(
    "eternaltwin",
    r"child\w*\b.{0,60}(gone|missing|not exist|no longer|no row|deleted)",
    r"(gone|missing|deleted).{0,20}child",
    actions=(None, "wake", "cancel"),
)
async def awaited_child_deleted_by_hand(scene: Scene) -> None:
    """Parents wait for a child whose row was deleted."""
    # Another task of the job sleeps, so the job looks alive.
    for _ in range(6):
        job = await scene.rows.job(age=2 * DAY)
        state = json.dumps({"phase": "AwaitChildren", "children": [str(uuid4())]}).encode()
        blocked = {"age": 2 * DAY, "polled": 26 * HOUR, "status": "Blocked"}
        await scene.rows.task(job, kind="ArchiveHammerfestUser", version=3, state=state, **blocked)
        await scene.rows.task(job, kind="Sleep", state=b'{"phase":"Awake"}', **blocked, timer=6 * HOUR)
    await scene.start()


@unseen("eternaltwin", r"hammerfest\.es", never=(NO_RUNNER,))
async def one_game_server_is_down(scene: Scene) -> None:
    """Tasks of one server have tried 40 times, and sleep before the next try."""
    # None is late.
    for server, tries, many in (("hammerfest.es", 40, 14), ("hammerfest.fr", 0, 30)):
        for n in range(many):
            user = {"server": server, "id": str(100 + n)}
            state = json.dumps({"phase": "FetchProfile", "user": user, "retries": tries}).encode()
            task = {"kind": "ArchiveHammerfestUser", "version": 3, "status": "Blocked", "revision": tries + 2}
            await scene.rows.task(**task, age=20 * HOUR, polled=2 * MINUTE + n, state=state, timer=9 * MINUTE + 20 * n)
    await scene.start()


@unseen("eternaltwin")
async def time_limits_beside_the_next_request(scene: Scene) -> None:
    """Healthy."""
    # Each task has two timers, the next request in some seconds, and a time limit in 400 days.
    state = b'{"phase":"FetchAchievements","retries":0}'
    task = {"kind": "ArchiveTwinoidUser", "version": 1, "status": "Blocked", "age": HOUR, "polled": 20, "state": state}
    tasks = await scene.rows.tasks(await scene.rows.jobs(12), **task, timer=25)
    await scene.rows.timers(tasks, 400 * DAY)
    await scene.start()


# estuary


@unseen("estuary", r"send_to_task", actions=(None, "wake"), never=(NO_WORKER,))
async def older_function_restored(scene: Scene) -> None:
    """The restored send_to_task appends a message, but does not wake the task."""
    body = "UPDATE tasks SET inbox = inbox || json_build_array(p_from_id, p_message) WHERE task_id = p_task_id"
    await scene.sql(
        "CREATE OR REPLACE FUNCTION send_to_task(p_task_id flowid, p_from_id flowid, p_message json) RETURNS void"
        f" LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN {body}; END $$"
    )
    await scene.start()
    for n in range(9):
        state = {"messages_processed": n, "total_failures": 0, "total_successes": 40 + n}
        task = await scene.rows.task(kinds.LIVE_SPEC, state=state)
        await scene.rows.send(task, {"type": "config_updated"})


@unseen("estuary", r"\bjsonb\b", r"inner_state.{0,40}type", never=(NO_WORKER,))
async def column_changed_to_jsonb(scene: Scene) -> None:
    """A report was made faster. The executors cannot decode the column's new type."""
    for n in range(8):
        await scene.rows.task(kinds.LIVE_SPEC, state={}, wake=-(40 - n) * MINUTE, beat=200 + n)
    await scene.sql("ALTER TABLE tasks ALTER inner_state TYPE jsonb")
    await scene.session("agent", scene.worker)


@unseen("estuary", r"failures", r"NOTIFICATIONS.{0,80}fail", r"fail.{0,80}NOTIFICATIONS", never=(NO_WORKER,))
async def mails_of_alerts_fail_for_hours(scene: Scene) -> None:
    """The executor counts failed mails in its state, and sleeps longer each time."""
    # Nothing is late.
    for n in range(16):
        await scene.rows.task(kinds.NOTIFICATIONS, state={"failures": 14 + n % 3}, wake=2 * HOUR + 300 * n)
    for _ in range(30):
        await scene.rows.task(kinds.NOTIFICATIONS, state={"fired_completed": "2026-11-22T00:00:00Z", "failures": 0})
    await scene.start()


@unseen("estuary", r"heartbeat.{0,40}default", r"default.{0,40}heartbeat", never=(NO_WORKER,))
async def default_of_the_heartbeat_dropped(scene: Scene) -> None:
    """New tasks have no heartbeat, which the column refuses."""
    # No task can spawn another one.
    await scene.sql("ALTER TABLE tasks ALTER heartbeat DROP DEFAULT")
    for n in range(3):
        inbox = [(ZERO, {"value": 6})]
        await scene.rows.task(kinds.FIBONACCI, state='"Init"', wake=-40 * MINUTE + n, beat=310 + n, inbox=inbox)
    await scene.start()


@unseen("estuary")
async def messages_wait_for_the_end_of_a_poll(scene: Scene) -> None:
    """Healthy."""
    # A data plane converges for half an hour with its heartbeat, and 40 messages wait in inbox_next.
    state = {"status": "PulumiUp1", "stack": {"config": {"model": {}}}, "data_plane_id": "x", "disabled": False}
    later = [(ZERO, "refresh")] * 40
    await scene.rows.task(kinds.DATA_PLANE, state=state, parent=ZERO, wake=-1900, beat=9, inbox_next=later)
    await scene.start()


# agent_jobs


@unseen(
    "agent_jobs",
    r"missing_agent",
    r"agents? .{0,60}(gone|missing|not exist|no longer|no row)",
    actions=(None,),
    never=(r"\bretry\b", r"redis"),
)
async def agents_created_again(scene: Scene) -> None:
    """The set-up of agents ran again and emptied the table."""
    # Jobs of all earlier agents fail.
    jobs = await queue(scene)
    await scene.sql("DELETE FROM agents")
    for n in range(24):
        await add(scene, jobs, 1, error=f"Agent configuration {scene.engine.agents[n % 5][0]} not found")
        await jobs.tick()
    await jobs.tick()


@unseen("agent_jobs", r"\bcontracts\b", r"\bagent_id\b", r"one agent", r"c0ffee00", never=(r"redis", NO_WORKER))
async def one_agent_fails_with_many_errors(scene: Scene) -> None:
    """Each job of one agent fails, each with another message."""
    # Jobs of the other agents succeed.
    user = scene.engine.agents[2][1]
    agent = await scene.rows.agent(user, "contracts")
    await scene.sql(f"UPDATE agents SET id = 'c0ffee00-0000-4000-8000-000000000001' WHERE id = '{agent}'")
    for n, word in enumerate(WORDS):
        ended = 40 * MINUTE - n * 100
        times = {"age": ended + 20, "ended": ended, "changed": ended}
        other, owner, _ = scene.engine.agents[n % 5]
        await scene.rows.job("completed", **times, agent=other, user=owner, number=await number(scene))
        its = {"agent": UUID("c0ffee00-0000-4000-8000-000000000001"), "user": user, "number": await number(scene)}
        await scene.rows.job("failed", **times, error=f"Unexpected {word} in section {WORDS[-n]}", **its)
    await scene.start()


@unseen("agent_jobs", r"\bdefault\b", never=(r"redis", NO_WORKER))
async def default_of_the_key_dropped(scene: Scene) -> None:
    """An extension was dropped with CASCADE."""
    # No job can be inserted; the application ignores that.
    await scene.pass_time(3 * HOUR)
    await scene.sql("ALTER TABLE jobs ALTER id DROP DEFAULT")
    jobs = await queue(scene)
    for _ in range(12):
        await add(scene, jobs, 1)
        await jobs.tick()


# uni2work


class Unlocking:
    """An instance that unlocks a job whose end the database refuses."""

    def __init__(self, connection: Connection, uuid: UUID) -> None:
        self._connection, self._uuid, self._instance = connection, uuid, Instance(connection, uuid)

    async def tick(self) -> int:
        await self._instance.queue({"job": "send-test-email", "at": str(uuid4())})
        done = 0
        for row in await self._connection.fetch("SELECT id FROM queued_job ORDER BY creation_time, id"):
            job = await self._instance.lock(row["id"])
            try:
                done += job is not None and await self._instance.perform(job)
            except asyncpg.ProgramLimitExceededError:
                await self._connection.execute(SQL["unlock"], row["id"], self._uuid)
        return done


@unseen(
    "uni2work",
    r"index row",
    r"too (large|long|big)",
    r"\d ?(bytes|kB)",
    actions=(None, "cancel"),
    never=(NO_WORKER,),
    watch=6.0,
)
async def cron_job_too_large_for_an_index(scene: Scene) -> None:
    """The job runs for ever."""
    # Its execution cannot be recorded, because its content does not fit into an index.
    users = [f"{Random(n).getrandbits(256):x}" for n in range(700)]
    await scene.rows.job({"job": "synchronise-ldap", "users": users}, age=3 * HOUR, cron=True)
    scene.engine.executor = lambda connection: Unlocking(connection, scene.engine.instance)
    await scene.start()


@unseen(
    "uni2work",
    r"last_access",
    r"inject-files.{0,120}(ahead|future|20[3-9]\d)",
    r"bucket.{0,80}(ahead|future)",
    actions=(None, "refill"),
    never=(NO_WORKER, r"removes? the kind", r"does not know"),
)
async def bucket_used_in_the_future(scene: Scene) -> None:
    """An instance with a wrong clock used a token bucket."""
    # Until then, the bucket does not fill.
    await scene.rows.bucket("inject-files", -5_000_000, -9 * 365 * DAY)
    await scene.rows.job({"job": "inject-files"}, age=5 * HOUR)
    await scene.start()


@unseen(
    "uni2work",
    r"prune-unreferenced-files.{0,120}(ahead|future)",
    r"(ahead|future).{0,120}prune-unreferenced-files",
    r"cron.{0,80}(ahead|future)",
    actions=(None, "run_now", "forget"),
    never=(NO_WORKER,),
)
async def cron_job_executed_in_the_future(scene: Scene) -> None:
    """The same clock recorded an execution in 40 days."""
    # Cron does not queue the job before.
    await scene.rows.cron({"job": "prune-unreferenced-files"}, age=-40 * DAY)
    await scene.start()


@unseen("uni2work")
async def sheets_of_a_past_term(scene: Scene) -> None:
    """Healthy."""
    # Corrections were distributed each hour until the term ended, two months ago.
    for sheet in range(30):
        await scene.rows.cron({"job": "distribute-corrections", "sheet": sheet}, age=60 * DAY + (30 - sheet) * HOUR)
    await scene.start()


# tasker


async def copied(scene: Scene, table: str, where: str, **values: Any) -> None:
    """Insert copies of rows with some other values."""
    new = ", ".join(f"'{column}', {value}" for column, value in values.items())
    row = f"(jsonb_populate_record(t, jsonb_build_object({new}))).*"
    await scene.sql(f"INSERT INTO {table} SELECT {row} FROM {table} t WHERE {where}")


@unseen("tasker", r"2\.0\.0", r"\bversion", actions=(None, "retry"), never=(NO_WORKER,))
async def new_version_of_a_template_fails(scene: Scene) -> None:
    """All tasks of the new version fail, each with another message."""
    # Those of the old version are complete.
    where, version = "t.name = 'refund'", "'00000000-0000-7000-8000-00000000d200'"
    await copied(scene, "named_tasks", where, named_task_uuid=version, version="'2.0.0'")
    for n, word in enumerate(WORDS):
        steps = {"check_return": failed((40 - n) * MINUTE, error=f"undefined local variable '{word}'")}
        made = await add_tasks(scene, 1, "refund", state="blocked_by_failures", ago=(40 - n) * MINUTE, steps=steps)
        await scene.sql(f"UPDATE tasks SET named_task_uuid = {version} WHERE task_uuid = '{made[0].id}'")
    await add_tasks(scene, 20, "refund", state="complete", ago=20 * MINUTE, rest=complete(21 * MINUTE))
    await scene.start()


@unseen(
    "tasker",
    r"\bvt\b",
    r"visib",
    r"hidden until",
    r"not (readable|delivered|shown) (before|until)",
    never=(r"\bresend", NO_WORKER, r"lost"),
)
async def messages_hidden_for_weeks(scene: Scene) -> None:
    """A worker gave milliseconds to a function that takes seconds."""
    # The queue shows its messages in 40 days.
    for _ in range(9):
        made = scene.rows.task("refund", ago=40 * MINUTE, steps={"check_return": enqueued(40 * MINUTE)})
        scene.rows.message(made, "check_return", age=40 * MINUTE, reads=1)
    await scene.rows.write(scene.admin)
    late = "enqueued_at < now() - interval '30 minutes'"
    await scene.sql(f"UPDATE pgmq.q_worker_shop_queue SET vt = now() + interval '40 days' WHERE {late}")
    await scene.start()


@unseen(
    "tasker",
    r"(two|2|several|more than one) (current|most.recent|states)",
    r"unique.rule",
    r"most_recent",
    never=(NO_WORKER,),
)
async def steps_with_two_current_states(scene: Scene) -> None:
    """The unique index was lost in a restore."""
    # A step that is complete was taken once more: both are current.
    steps = {"check_return": complete(50 * MINUTE)}
    made = await add_tasks(scene, 4, "refund", state="waiting_for_dependencies", ago=50 * MINUTE, steps=steps)
    await scene.sql(
        "DO $$ DECLARE i text; BEGIN FOR i IN SELECT indexname FROM pg_indexes"
        " WHERE tablename = 'workflow_step_transitions' AND indexdef LIKE '%UNIQUE%most_recent%'"
        " LOOP EXECUTE 'DROP INDEX ' || i; END LOOP; END $$"
    )
    where = f"most_recent AND workflow_step_uuid IN ({quoted([task.steps['check_return'] for task in made])})"
    new = {"workflow_step_transition_uuid": "gen_random_uuid()", "sort_key": "99", "to_state": "'in_progress'"}
    await copied(scene, "workflow_step_transitions", where, **new)
    await scene.start()


@unseen("tasker", r"a_worker_shop_queue", r"archive (table|of the queue)", never=(r"\bresend", r"\brelease", NO_WORKER))
async def archive_of_a_queue_dropped(scene: Scene) -> None:
    """An archive was dropped to free space."""
    # Workers claim a step, and fail before they run it.
    await scene.sql("DROP TABLE pgmq.a_worker_shop_queue")
    for _ in range(6):
        made = scene.rows.task("fulfil_order", ago=20, steps={"validate_cart": enqueued(20)})
        scene.rows.message(made, "validate_cart", age=20)
    await scene.rows.write(scene.admin)
    await scene.start()
    await scene.sleep(2)
    await scene.pass_time(50 * MINUTE)
