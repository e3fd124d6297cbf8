"""Causes in uni2work: instances that share a queue, cron jobs, and token buckets."""

from __future__ import annotations

from uuid import UUID

from tests.drills.drill import drill
from tests.drills.scene import Connection, Scene
from tests.drills.surroundings import DAY, HOUR, MINUTE
from tests.simulators.uni2work.executor import Instance, Job, JobFailed

NAME = "uni2work"
GONE = UUID("20000000-0000-4000-8000-000000000002")


class Mailing:
    """An instance whose mails fail. Other jobs succeed.

    It keeps each lock for a tick, while it waits for the gateway.
    """

    def __init__(self, connection: Connection, uuid: UUID) -> None:
        self._instance = Instance(connection, uuid, work=self._work)
        self._fetch = connection.fetch
        self._begun: list[Job] = []

    async def tick(self) -> int:
        await self._instance.queue({"job": "prune-invitations"}, cron=True)
        done = [await self._instance.perform(job) for job in self._begun]
        rows = await self._fetch("SELECT id FROM queued_job ORDER BY creation_time, id")
        self._begun = [job for row in rows if (job := await self._instance.lock(row["id"]))]
        return sum(done)

    async def _work(self, job: Job) -> None:
        if job.kind == "send-notification":
            raise JobFailed("HTTP 503 from the mail gateway")


@drill(NAME, "no_workers", most=2)
async def all_instances_killed(scene: Scene) -> None:
    await scene.rows.jobs(30, age=10)
    await scene.pass_time(40 * MINUTE)


@drill(NAME, "owner_dead", actions=("release",), most=1)
async def instance_killed_by_the_kernel(scene: Scene) -> str:
    """One instance held six jobs; another one goes on."""
    for n in range(6):
        await scene.rows.job({"job": "send-notification", "recipient": n}, age=9 * HOUR, held_by=GONE, held=8 * HOUR)
    await scene.start()
    return str(GONE)


@drill(NAME, ("flapping", "late", "failing"), names=("send-notification",), most=1, watch=7.0)
async def mail_gateway_down(scene: Scene) -> None:
    await scene.rows.jobs(25, age=30 * MINUTE)
    scene.engine.executor = lambda connection: Mailing(connection, scene.engine.instance)
    await scene.start()


@drill(NAME, "late", names=("send-lecturer-digest",), most=1)
async def deploy_without_a_kind(scene: Scene) -> None:
    for n in range(8):
        await scene.rows.job({"job": "send-lecturer-digest", "lecturer": n}, age=2 * HOUR)
    await scene.start()


PRUNE = {"prune-invitations": {"period": 1200.0}}


@drill(NAME, ("cron_overdue", "cron_silent"), names=("prune-invitations",), actions=("run_now",), most=1,
       overrides={NAME: PRUNE})  # fmt: skip
async def cron_silent(scene: Scene) -> None:
    """The cron thread of all instances has died; their workers go on."""
    await scene.pass_time(5 * HOUR)
    scene.engine.executor = lambda connection: WithoutCron(connection, scene.engine.instance)
    await scene.rows.jobs(5)
    await scene.start()


class WithoutCron:
    """An instance that gets mails, but queues no cron jobs."""

    def __init__(self, connection: Connection, uuid: UUID) -> None:
        self._instance, self._number = Instance(connection, uuid), 0

    async def tick(self) -> int:
        self._number += 1
        await self._instance.queue({"job": "send-password-reset", "recipient": self._number})
        return await self._instance.flush()


@drill(NAME, "schedule_missed", names=("distribute-corrections",), actions=(None, "run_now"), most=1)
async def cron_silent_without_a_configured_period(scene: Scene) -> None:
    """Hourly executions of one kind, then none for a day."""
    for sheet in range(30):
        await scene.rows.cron({"job": "distribute-corrections", "sheet": sheet}, age=DAY + (30 - sheet) * HOUR)
    scene.engine.executor = lambda connection: WithoutCron(connection, scene.engine.instance)
    await scene.start()


@drill(NAME, ("throttled", "late"), names=("inject-files",), actions=(None, "refill"), most=2)
async def empty_token_bucket(scene: Scene) -> None:
    await scene.rows.bucket("inject-files", -5_000_000, 95.0)
    await scene.rows.job({"job": "inject-files"}, age=HOUR)
    await scene.start()


@drill(NAME, "unrecognised", actions=("cancel",), most=1)
async def content_written_by_hand(scene: Scene) -> None:
    for n in range(3):
        await scene.rows.job(["not", "a", "job", n], age=HOUR)
    await scene.start()


@drill(NAME, "inconsistent_lock", actions=("release",), most=1)
async def lock_half_removed_by_hand(scene: Scene) -> None:
    for n in range(3):
        await scene.rows.job({"job": "send-notification", "recipient": n}, age=2 * HOUR, held_by=GONE)
    await scene.start()


@drill(NAME, "time_ahead", most=1, actions=(None, "release"))
async def clock_of_an_instance_jumped_ahead(scene: Scene) -> None:
    """Locks dated in the future hide that their instance is gone."""
    for n in range(5):
        await scene.rows.job({"job": "send-notification", "recipient": n}, age=HOUR, held_by=GONE, held=-6 * HOUR)
    await scene.start()
