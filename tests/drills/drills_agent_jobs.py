"""Causes in agent_jobs: a mirror of a queue in Redis, and a polled table."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.drills.drill import drill
from tests.drills.scene import Scene
from tests.drills.surroundings import DAY, HOUR, MINUTE
from tests.simulators.agent_jobs.executor import RedisQueue

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


@drill(NAME, "late", names=("its row was not updated",), actions=("mark_failed",), most=1)
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


@drill(TABLE, "owner_dead", actions=("release",), most=1)
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


async def number(scene: Scene) -> int:
    return 1 + int(await scene.value("SELECT max(job_id::int) FROM jobs"))


@drill(NAME, ("redis_emptied", "job_ids_restarted"), actions=(None, "mark_failed"), most=1)
async def redis_emptied_of_a_full_table(scene: Scene) -> None:
    """The new job ids belong to old rows.

    New rows are refused, and new jobs complete the old ones.
    """
    agent, user, _ = scene.engine.agents[0]
    for n in range(1, 40):
        await scene.rows.job(
            "completed", age=40 * DAY - n * HOUR, ended=40 * DAY - n * HOUR - 9, agent=agent, user=user, number=n
        )
    jobs = await queue(scene)
    await add(scene, jobs, 6)
    jobs.flush()
    await scene.pass_time(40 * MINUTE)
    await add(scene, jobs, 6)
    for _ in range(5):
        await jobs.tick()
    await scene.pass_time(3 * MINUTE)


@drill(NAME, "failed_alike", names=("mutex",), most=1)
async def mutex_of_each_user_is_held(scene: Scene) -> None:
    """A worker was killed with the mutexes of all users."""
    jobs = await queue(scene)
    for n in range(24):
        user = scene.engine.agents[n % 5][1]
        await add(scene, jobs, 1, error=f"Failed to acquire mutex for user {user} after 50 retries")
        await jobs.tick()
    await jobs.tick()


@drill(NAME, "failed_alike", names=("invalid_api_key",), most=1)
async def key_of_the_embeddings_expired(scene: Scene) -> None:
    jobs = await queue(scene)
    for n in range(24):
        request = f"req_{n * 7919 % 999_983:x}{n * 104_729:08x}f"
        await add(scene, jobs, 1, error=f"Embeddings failed: 401 invalid_api_key (request {request})")
        await jobs.tick()
    await jobs.tick()


@drill(NAME, "worker_clock_behind", names=("behind",), most=1)
async def clock_of_the_workers_somewhat_behind(scene: Scene) -> None:
    """Ends of jobs that are quicker than the difference are refused."""
    jobs = await queue(scene, skew=timedelta(seconds=-20))
    for n in range(24):
        await add(scene, jobs, 1)
        await jobs.tick()
        if n % 3:
            await scene.pass_time(40)
        await jobs.tick()
    await scene.pass_time(20 * MINUTE)
    await add(scene, jobs, 1)
    await jobs.tick()
    await scene.pass_time(30)
    await jobs.tick()


@drill(NAME, "worker_clock_ahead", names=("ahead",), most=1)
async def time_zone_of_the_workers(scene: Scene) -> None:
    """Ends are two hours in the future."""
    jobs = await queue(scene, skew=timedelta(hours=2))
    for _ in range(12):
        await add(scene, jobs, 1)
        await jobs.tick()
        await jobs.tick()
        await scene.pass_time(20)


@drill(NAME, "schedule_missed", most=1)
async def hourly_import_that_stopped(scene: Scene) -> None:
    """A program gave an agent a file each hour, and none since seven hours."""
    user = scene.engine.agents[5][1]
    agent = await scene.rows.agent(user, "import")
    for n in range(14):
        age = (20 - n) * HOUR
        await scene.rows.job(
            "completed", age=age, ended=age - 9, changed=age - 9, agent=agent, user=user, number=await number(scene)
        )
    await scene.start()


@drill(TABLE, "late", names=("agent",), most=1)
async def executors_skip_one_agent(scene: Scene) -> None:
    """No executor is configured for an agent's model."""
    agent, user, _ = scene.engine.agents[5]
    for n in range(8):
        await scene.rows.job(age=90 * MINUTE - n, agent=agent, user=user, number=await number(scene))
    agents = scene.engine.agents
    scene.engine.agents = agents[:5]
    for n in range(8):
        other, owner, _ = agents[n % 5]
        times = {
            "age": 80 * MINUTE - n,
            "started": 79 * MINUTE - n,
            "ended": 78 * MINUTE - n,
            "changed": 78 * MINUTE - n,
        }
        await scene.rows.job("completed", **times, agent=other, user=owner, number=await number(scene))
    times = {"age": MINUTE, "started": 50, "ended": 40, "changed": 40}
    await scene.rows.job("completed", **times, agent=agents[0][0], user=agents[0][1], number=await number(scene))


@drill(TABLE, ("queue_stalled", "owner_dead"), actions=(None,), most=1)
async def hanging_jobs_hold_all_executors(scene: Scene) -> None:
    """Four executors wait for an answer for two hours; nothing else is taken."""
    await scene.pass_time(3 * HOUR)
    for n in range(20):
        agent, user, _ = scene.engine.agents[n % 5]
        times = {"age": 2 * HOUR + 10 - n, "started": 2 * HOUR + 9 - n} if n < 4 else {"age": 110 * MINUTE - n}
        await scene.rows.job(
            "active" if n < 4 else "pending", **times, agent=agent, user=user, number=await number(scene)
        )
    for _ in range(4):
        await scene.session("agent_jobs worker", scene.worker)


@drill(TABLE, "delayed_too_long", most=1)
async def delays_lost_at_a_restart(scene: Scene) -> None:
    """An executor kept the due times in memory, and was restarted."""
    agent, user, _ = scene.engine.agents[3]
    for n in range(6):
        await scene.rows.job("delayed", age=3 * DAY + n, agent=agent, user=user, number=await number(scene))
    await scene.start()


@drill(TABLE, "paused_too_long", actions=("resume",), most=1)
async def jobs_paused_and_forgotten(scene: Scene) -> None:
    agent, user, _ = scene.engine.agents[3]
    for n in range(6):
        await scene.rows.job("paused", age=9 * DAY + n, agent=agent, user=user, number=await number(scene))
    await scene.start()
