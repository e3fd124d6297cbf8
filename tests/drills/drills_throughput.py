"""Causes that only what comes and goes shows, each with a healthy twin."""

from __future__ import annotations

import asyncio
from random import Random

from tests.drills import unseen_added as added
from tests.drills.drill import control, drill
from tests.drills.scene import Connection, Scene
from tests.drills.surroundings import MINUTE
from tests.drills.unseen_added import BEATS, CLAIM, FINISH, PROCESSES, QUEUED, READY
from tests.simulators.estuary import kinds
from tests.simulators.estuary.executor import Executor
from tests.simulators.tasker.protocol import RESULTS
from tests.simulators.tasker.step_history import handed_in

THUMBNAILS = """
INSERT INTO queued_job (content, creation_instance, creation_time)
SELECT jsonb_build_object('job', CASE WHEN n % 50 = 0 THEN 'send-notification' ELSE 'thumbnail' END, 'n', random()),
       gen_random_uuid(), now() - ({many} - n) * interval '{step} s' FROM generate_series(0, {many}) AS n
"""
LEAVE = "DELETE FROM queued_job WHERE id IN (SELECT id FROM queued_job ORDER BY creation_time LIMIT {})"


class Jobs:
    """An instance that takes some of the oldest jobs in each tick, while others come."""

    def __init__(self, connection: Connection, come: int, leave: int) -> None:
        self._connection, self._come, self._leave = connection, come, leave

    async def tick(self) -> int:
        lock = "UPDATE queued_job SET lock_instance = gen_random_uuid(), lock_time = now() WHERE id IN"
        await self._connection.execute(f"{lock} (SELECT id FROM queued_job ORDER BY creation_time LIMIT 1)")
        await self._connection.execute(THUMBNAILS.format(step=0, many=self._come))
        await self._connection.execute(LEAVE.format(self._leave))
        return 1


@drill("uni2work", "more_comes_than_goes", names=("98 % are thumbnail", "come and"), most=1)
async def one_kind_floods_the_queue(scene: Scene) -> None:
    """A script queues more thumbnails than the instance can make."""
    await scene.sql(THUMBNAILS.format(step=0.5, many=5000))
    scene.engine.executor = lambda connection: Jobs(connection, 12, 4)
    await scene.start()


@control("uni2work")
async def queue_that_shrinks(scene: Scene) -> None:
    """The same queue, but more goes than comes."""
    await scene.sql(THUMBNAILS.format(step=0.5, many=5000))
    scene.engine.executor = lambda connection: Jobs(connection, 2, 20)
    await scene.start()


@drill("oban", "more_comes_than_goes", names=("% are App.Import", "come and"), most=1)
async def imports_that_are_pruned_at_once(scene: Scene) -> None:
    """Rows of jobs that ended are gone. The server's counters show their number."""
    await scene.sql(added.PRODUCER)
    await scene.sql(added.JOBS.format(state="available", attempt=0, many=60, by="{}", age="40 minutes"))
    arrive = added.JOBS.format(state="available", attempt=0, many=6, by="{}", age="0 s")
    scene.engine.statements = (
        added.BEAT,
        arrive,
        added.FETCH,
        added.COMPLETE,
        "DELETE FROM oban_jobs WHERE state = 'completed'",
    )
    await scene.start()
    await scene.sleep(1.5)


@drill("graphile_worker", "more_comes_than_goes", names=("% are mail", "come and"), most=1)
async def mails_faster_than_they_are_sent(scene: Scene) -> None:
    """The engine deletes a job when it has ended."""
    await added.pool(scene, 400, added.ENQUEUE.format(6), added.TAKE.format(which="true"), added.END)


MAILS = QUEUED.replace("n * interval '0.5 s'", "n * interval '0.01 s'")
DEBOUNCED = """
WITH t AS (INSERT INTO _private_tasks (identifier) VALUES ('index') RETURNING id)
INSERT INTO _private_jobs (task_id, key, run_at, created_at, updated_at, revision)
SELECT t.id, 'index', now() + interval '5 s', now() - interval '{age}', now(), {revision} FROM t
"""
AGAIN = "UPDATE _private_jobs SET run_at = now() + interval '5 s', revision = revision + 1 WHERE key = 'index'"


@drill("graphile_worker", "put_off", names=("was put off",), most=1)
async def job_that_is_put_off_for_hours(scene: Scene) -> None:
    """A script changes a document all the time, and each change puts its job off."""
    await scene.sql(DEBOUNCED.format(age="9 hours", revision=64_800))
    scene.engine.statements = (AGAIN,)
    await scene.start()


@control("graphile_worker")
async def job_that_was_put_off_for_a_minute(scene: Scene) -> None:
    """The same, for a minute."""
    await scene.sql(DEBOUNCED.format(age="1 minute", revision=20))
    scene.engine.statements = (AGAIN,)
    await scene.start()


@drill("pgqueuer", "nothing_ends", names=("hold 4 jobs",), most=1)
async def calls_that_never_return(scene: Scene) -> None:
    """All four slots of a worker wait for a service that does not answer."""
    await scene.sql(MAILS.format(many=30, age="45 minutes"))
    await scene.sql(
        "UPDATE pgqueuer SET status = 'picked', queue_manager_id = '5f0c7c1e-0000-4000-8000-000000000041',"
        " updated = now() - interval '40 minutes' WHERE id IN (SELECT id FROM pgqueuer ORDER BY id LIMIT 4)"
    )
    scene.engine.statements = ("UPDATE pgqueuer SET heartbeat = now() WHERE status = 'picked'",)
    await scene.start()


@drill("pgqueuer", "outranked", names=("priority of 9",), most=1)
async def urgent_jobs_take_all_workers(scene: Scene) -> None:
    """More of them come than the workers can run."""
    await scene.sql(MAILS.format(many=30, age="40 minutes"))
    scene.engine.statements = (
        MAILS.format(many=4, age="0 s").replace("SELECT 0,", "SELECT 9,"),
        "DELETE FROM pgqueuer WHERE id IN (SELECT id FROM pgqueuer ORDER BY priority DESC, id LIMIT 2)",
    )
    await scene.start()
    await scene.sleep(1.5)


@control("solid_queue")
async def first_queue_of_a_worker_ends(scene: Scene) -> None:
    """The worker reads its queues in order, and has taken all of the first."""
    await scene.sql(PROCESSES.format(silent="1 s", queues="urgent,default"))
    await scene.sql(READY.format(queue="default", name="ReportJob", age="3 minutes", many=40))
    arrive = READY.format(queue="urgent", name="AlertJob", age="0 s", many=1)
    claims = (CLAIM.format(queue=queue, many=2, off="0 s") for queue in ("urgent", "default"))
    scene.engine.statements = (BEATS.format(off="0 s"), arrive, *claims, FINISH)
    await scene.start()


@drill("estuary", ("work_goes_on", "more_comes_than_goes"), most=1)
async def thousands_of_tasks_woken_at_once(scene: Scene) -> None:
    """A script woke all controllers. Publications wait behind them; polls are short."""
    scene.engine.executor = lambda connection: Executor(connection, Random(1), permits=5, poll_ticks=lambda _: 8)
    for n in range(150):
        await scene.rows.task(kinds.LIVE_SPEC, state={}, wake=-50 * MINUTE + n)
    for _ in range(2):
        await scene.rows.task(kinds.PUBLICATIONS, wake=-20 * MINUTE, inbox=[(kinds.ZERO, {"type": "queued"})])
    await scene.start()


@drill("tasker", ("work_goes_on", "more_comes_than_goes"), most=2)
async def results_leave_slowly(scene: Scene) -> None:
    """One orchestrator is left. It writes the results of two steps a second."""
    for n in range(40):
        made = scene.rows.task("refund", ago=30 * MINUTE - n, steps={"check_return": handed_in(20 * MINUTE)})
        scene.rows.message(made, "check_return", age=20 * MINUTE, queue=RESULTS)
    await scene.rows.write(scene.admin)
    scene.meanwhile(results(await scene.session("orchestrator", scene.worker)))
    await scene.sleep(1.5)


RESULT = """
WITH left_behind AS (
  UPDATE workflow_step_transitions SET most_recent = false WHERE workflow_step_transition_uuid = (
    SELECT workflow_step_transition_uuid FROM workflow_step_transitions
     WHERE most_recent AND to_state = 'enqueued_for_orchestration' LIMIT 1)
  RETURNING workflow_step_uuid AS step, sort_key
), read AS (
  DELETE FROM pgmq.q_orchestration_step_results q USING left_behind l WHERE q.message ->> 'step_uuid' = l.step::text)
SELECT step, sort_key + 1 FROM left_behind
"""
COMPLETE = """
INSERT INTO workflow_step_transitions (workflow_step_uuid, to_state, sort_key, most_recent, created_at, updated_at)
VALUES ($1, 'complete', $2, true, now(), now())
"""


async def results(session: Connection) -> None:
    while True:
        for step in await session.fetch(RESULT):
            await session.execute(COMPLETE, *step)
        await asyncio.sleep(0.5)
