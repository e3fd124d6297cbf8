"""Causes in agent_jobs: a mirror of a queue in Redis, and a polled table."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from console.demo.agent_jobs.executor import RedisQueue
from tests.drills.drill import drill
from tests.drills.scene import Scene
from tests.drills.surroundings import HOUR, MINUTE

NAME, TABLE = "agent_jobs", "agent_jobs table"
GATEWAY = "Request to https://llm.example/v1 failed: 503 Service Unavailable (request {})"


async def queue(scene: Scene, **options: Any) -> RedisQueue:
    """Return a queue that continues the numbers of the surroundings."""
    first = 1 + await scene.value("SELECT max(job_id::int) FROM jobs")
    return RedisQueue(await scene.session("agent_jobs worker", scene.worker), first=first, **options)


async def add(scene: Scene, jobs: RedisQueue, number: int, **job: Any) -> None:
    for n in range(number):
        agent, user, _ = scene.engine.agents[n % 5]
        await jobs.add(agent, user, **job)


@drill(NAME, "queue_stalled", most=1)
async def queue_workers_killed(scene: Scene) -> None:
    jobs = await queue(scene)
    jobs.paused = True
    await add(scene, jobs, 30)
    await scene.pass_time(40 * MINUTE)


@drill(NAME, ("job_ids_restarted", "redis_emptied"), actions=(None, "mark_failed"), most=1)
async def redis_emptied(scene: Scene) -> None:
    jobs = await queue(scene)
    await add(scene, jobs, 12)
    jobs.flush()
    await scene.pass_time(40 * MINUTE)
    for _ in range(4):
        await add(scene, jobs, 2)
        await jobs.tick()
        await jobs.tick()
        await scene.pass_time(2 * MINUTE)


@drill(NAME, "completion_not_recorded", actions=("mark_failed",), most=1)
async def jobs_that_stalled_in_redis(scene: Scene) -> None:
    """Redis ended jobs whose workers died twice; the application does not write that."""
    jobs = await queue(scene)
    await add(scene, jobs, 10, stalls=True)
    for _ in range(6):
        await jobs.tick()
    await scene.pass_time(40 * MINUTE)
    await add(scene, jobs, 5)
    for _ in range(6):
        await jobs.tick()


@drill(NAME, "queue_stalled", most=1)
async def clock_of_the_workers_behind(scene: Scene) -> None:
    """Each end violates a constraint, because it is before the creation.

    The application ignores the error.
    """
    jobs = await queue(scene, skew=timedelta(hours=-1))
    await add(scene, jobs, 12)
    for _ in range(8):
        await jobs.tick()
    await scene.pass_time(30 * MINUTE)


@drill(NAME, "failed_alike", names=("503 Service Unavailable",), most=1)
async def gateway_down(scene: Scene) -> None:
    jobs = await queue(scene)
    for n in range(40):
        await add(scene, jobs, 1, error=GATEWAY.format(n))
        await jobs.tick()
    await jobs.tick()


@drill(NAME, "failed_alike", names=("No space left",), most=1)
async def disk_full(scene: Scene) -> None:
    jobs = await queue(scene)
    for n in range(20):
        await add(scene, jobs, 1, error=f'could not extend file "base/16384/{24_000 + n}": No space left on device')
        await jobs.tick()
    await jobs.tick()


@drill(TABLE, "active_too_long", actions=("release",), most=1)
async def executor_killed_by_the_kernel(scene: Scene) -> None:
    """One executor held four jobs; another one goes on."""
    await scene.start()
    for _ in range(4):
        agent, user, _ = scene.engine.agents[4]
        number = 1 + await scene.value("SELECT max(job_id::int) FROM jobs")
        times = {"age": 2 * HOUR, "started": 2 * HOUR - 5}
        await scene.rows.job("active", **times, agent=agent, user=user, number=number)


@drill(TABLE, "queue_stalled", most=1)
async def all_executors_killed(scene: Scene) -> None:
    for n in range(20):
        agent, user, _ = scene.engine.agents[n % 5]
        number = 1 + await scene.value("SELECT max(job_id::int) FROM jobs")
        await scene.rows.job(age=20 - n, agent=agent, user=user, number=number)
    await scene.pass_time(40 * MINUTE)
