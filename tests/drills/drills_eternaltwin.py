"""Causes in eternaltwin: a single runner, timers, and opaque states."""

from __future__ import annotations

from random import Random

from console.demo.engine import Worker
from tests.drills.drill import drill
from tests.drills.scene import Connection, Scene
from tests.drills.surroundings import HOUR, MINUTE
from tests.simulators.eternaltwin.runner import Runner

NAME = "eternaltwin"
CLOCK = ("runner_clock_ahead", "runner_clock_behind", "polls_dated_back")
SKIPPED = ("late", "overdue_cause_unknown")


class ClockedRunner:
    """A runner whose machine's clock is wrong by some seconds."""

    def __init__(self, connection: Connection, off: float) -> None:
        self._connection, self._off = connection, off
        self._runner = Runner(connection, Random(1))

    async def tick(self) -> int:
        sql = "SELECT (now() + make_interval(secs => $1))::timestamptz(3)"
        return await self._runner.tick(await self._connection.fetchval(sql, self._off))


@drill(NAME, ("runner_silent", "timers_not_taken"), most=1)
async def runner_killed(scene: Scene) -> None:
    await scene.start()
    await scene.stop()
    await scene.pass_time(10 * MINUTE)


@drill(NAME, "runner_silent", most=1)
async def runner_killed_over_night(scene: Scene) -> None:
    await scene.rows.tasks(await scene.rows.jobs(60), kind="SendEmail", version=2, status="Available", polled=None)
    await scene.pass_time(9 * HOUR)


@drill(NAME, ("runner_stalled", "runner_silent"), most=1, watch=5.0, overrides={NAME: {"runner_silent": 3.0}})
async def runner_hangs_while_connected(scene: Scene) -> None:
    """A runner that waits for an answer of a remote server and polls nothing else."""
    await scene.start()
    await scene.stop()
    await scene.session("eternaltwin worker", scene.worker)
    await scene.rows.tasks(await scene.rows.jobs(5), version=2, status="Available", polled=10)


@drill(NAME, "late", names=("ArchivePopotamoUser",), most=1)
async def deploy_without_a_kind(scene: Scene) -> None:
    jobs = await scene.rows.jobs(9)
    await scene.rows.tasks(jobs, kind="ArchivePopotamoUser", age=HOUR, status="Available", polled=None, revision=0)
    await scene.start()


@drill(NAME, "late", names=("ArchiveDinoparcUser", "v1", "Tasks of v2"), most=1)
async def deploy_without_an_old_version(scene: Scene) -> None:
    jobs = await scene.rows.jobs(8, age=5 * HOUR)
    old = {"kind": "ArchiveDinoparcUser", "version": 1, "age": 4 * HOUR, "status": "Available"}
    await scene.rows.tasks(jobs, **old, polled=3 * HOUR)
    state = b'{"phase":"FetchBank","user":{"id":"7"},"watch":true}'
    await scene.rows.tasks(
        await scene.rows.jobs(3), kind="ArchiveDinoparcUser", version=2, state=state, status="Available"
    )
    await scene.start()


@drill(NAME, SKIPPED, names=("ArchiveDinoparcUser",), most=1)
async def deploy_that_cannot_read_states(scene: Scene) -> None:
    jobs = await scene.rows.jobs(8, age=5 * HOUR)
    task = {"kind": "ArchiveDinoparcUser", "version": 2, "age": 4 * HOUR, "status": "Available", "polled": 3 * HOUR}
    await scene.rows.tasks(jobs, **task, state=b'{"step":2}')
    await scene.rows.tasks(await scene.rows.jobs(3), version=2, status="Available")
    await scene.start()


@drill(NAME, "lost_wakeup", actions=("wake",), most=1)
async def crash_lost_wakeups(scene: Scene) -> None:
    state = b'{"phase":"AwaitChildren","children":[]}'
    jobs = await scene.rows.jobs(5, age=2 * HOUR)
    await scene.rows.tasks(jobs, kind="ArchiveHammerfestUser", version=3, state=state, status="Blocked")
    await scene.pass_time(HOUR)
    await scene.start()


@drill(NAME, "lost_wakeup", actions=("wake",), most=1)
async def cleanup_script_deleted_timers(scene: Scene) -> None:
    tasks = await scene.rows.tasks(await scene.rows.jobs(12), status="Blocked", polled=HOUR, age=2 * HOUR, timer=300)
    await scene.sql("DELETE FROM task_timer WHERE task_id = ANY ($1::uuid[])", tasks)
    await scene.start()


@drill(NAME, "spinning", actions=("cancel",), most=1, watch=6.0)
async def task_that_never_changes(scene: Scene) -> None:
    state = b'{"phase":"AwaitToken","thread":7,"retries":0}'
    await scene.rows.task(kind="RefreshForumThread", version=2, state=state, status="Available")
    await scene.start()


@drill(NAME, "orphaned_task", most=1)
async def root_completed_by_hand(scene: Scene) -> None:
    job = await scene.rows.job()
    await scene.rows.task(job, kind="ArchiveHammerfestUser", version=3, status="Complete", output=b"{}", age=3600)
    await scene.rows.tasks([job] * 4, kind="RefreshForumThread", version=2, status="Blocked", polled=900, age=1800)
    await scene.start()


@drill(NAME, CLOCK, most=1)
async def runner_clock_ahead_then_killed(scene: Scene) -> None:
    """Polls dated in the future hide that the runner is down."""
    runner = ClockedRunner(await scene.session("eternaltwin worker", scene.worker), 3 * HOUR)
    for _ in range(8):
        await runner.tick()
    await scene.rows.tasks(await scene.rows.jobs(6), version=2, age=HOUR, status="Available", polled=-2 * HOUR)


@drill(NAME, CLOCK, most=1)
async def runner_clock_behind(scene: Scene) -> None:
    """A runner that works, but takes no timer because its clock is an hour behind."""
    await scene.pass_time(2 * HOUR)
    await scene.rows.tasks(await scene.rows.jobs(20), version=2, age=3 * HOUR, status="Blocked", timer=-10 * MINUTE)
    state = b'{"phase":"FetchPage","watch":true,"retries":0}'
    spinner = {"kind": "RefreshForumThread", "version": 2, "state": state, "age": 5 * HOUR, "polled": 4 * HOUR}
    await scene.rows.tasks(await scene.rows.jobs(3), **spinner, status="Available")
    scene.engine.executor = lambda connection: clocked(connection, -HOUR)
    await scene.start()


def clocked(connection: Connection, off: float) -> Worker:
    return ClockedRunner(connection, off)


@drill(NAME, "due_far_ahead", actions=("wake",), most=1)
async def overflowed_backoff(scene: Scene) -> None:
    tasks = await scene.rows.tasks(await scene.rows.jobs(6), kind="RefreshForumThread", version=2, status="Blocked")
    await scene.rows.timers(tasks, 136 * 365 * 86400.0)
    await scene.start()


@drill(NAME, "overdue_timer", actions=("wake", None), most=1)
async def runner_that_ignores_old_timers(scene: Scene) -> None:
    """The demo's fault: the runner never takes timers that were due before its start."""
    at = await scene.value("SELECT now()")
    scene.engine.executor = lambda connection: Runner(connection, Random(1), blind_before=at)
    await scene.rows.tasks(await scene.rows.jobs(7), version=2, age=3 * HOUR, status="Blocked", timer=-20 * MINUTE)
    await scene.start()


@drill(NAME, ("late", "busy_polling"), names=("RefreshForumThread",), most=1)
async def busy_tasks_starve_new_ones(scene: Scene) -> None:
    """The runner polls 200 tasks in a tick, and 400 tasks are always Available.

    New tasks never have their turn.
    """
    state = b'{"phase":"AwaitToken","thread":7,"retries":0}'
    busy = {"kind": "RefreshForumThread", "version": 2, "state": state, "age": 5 * HOUR, "polled": 3, "revision": 900}
    await scene.rows.tasks(await scene.rows.jobs(400), **busy, status="Available")
    new = {"age": HOUR, "status": "Available", "polled": None, "revision": 0}
    for kind, version in (("SendEmail", 2), ("ArchiveDinoparcUser", 2), ("ArchiveHammerfestUser", 3)):
        await scene.rows.tasks(await scene.rows.jobs(7), kind=kind, version=version, **new)
        done = {"kind": kind, "version": version, "status": "Complete", "output": b"{}", "polled": 2 * HOUR}
        await scene.rows.tasks(await scene.rows.jobs(3), age=3 * HOUR, **done)
    await scene.start()


@drill(NAME, ("impossible_times", "created_ahead"), names=("ahead",), most=1)
async def clock_of_the_api_ahead(scene: Scene) -> None:
    """Each poll of a new task violates a constraint, and ends the runner's tick."""
    jobs = await scene.rows.jobs(6, age=-2 * HOUR)
    ahead = {"age": -2 * HOUR, "status": "Available", "polled": None, "revision": 0}
    await scene.rows.tasks(jobs, kind="SendEmail", version=2, **ahead)
    await scene.start()


@drill(NAME, "compute_bound", names=("ArchiveTwinoidUser",), actions=(None, "cancel"), most=1)
async def poll_that_computes_for_minutes(scene: Scene) -> None:
    """One task takes three minutes of CPU in each poll; everything else waits."""
    await scene.start()
    await scene.stop()
    await scene.pass_time(110)
    state = b'{"phase":"Render","retries":0}'
    render = {"kind": "ArchiveTwinoidUser", "version": 1, "state": state, "age": HOUR, "revision": 12}
    await scene.rows.task(**render, polled=290, cpu=12 * 180.0, poll=12 * 181.0, status="Available")
    await scene.session("eternaltwin worker", scene.worker)
    await scene.rows.tasks(await scene.rows.jobs(9), version=2, status="Available", polled=110, age=HOUR)


@drill(NAME, "schedule_missed", names=("QuarterlyDigest",), most=1)
async def cron_that_stopped(scene: Scene) -> None:
    """A digest was made each quarter of an hour, and none since two hours."""
    for n in range(14):
        age = 2 * HOUR + n * 15 * MINUTE
        done = {"kind": "QuarterlyDigest", "status": "Complete", "output": b"{}", "polled": age - 5}
        await scene.rows.task((await scene.rows.jobs(1, age=age))[0], age=age, **done)
    await scene.start()


@drill(NAME, "deadlocked", actions=("wake",), most=1)
async def tasks_that_wait_for_each_other(scene: Scene) -> None:
    waiting = {"kind": "RefreshForumThread", "version": 2, "status": "Blocked", "state": b'{"phase":"AwaitOther"}'}
    for _ in range(3):
        job = await scene.rows.job(age=2 * HOUR)
        await scene.rows.tasks([job] * 2, **waiting, age=2 * HOUR, polled=HOUR)
    await scene.start()


@drill(NAME, "runner_silent", most=1)
async def runner_that_crashes_at_each_start(scene: Scene) -> None:
    """A poisoned task ends the runner at the begin of each tick."""
    await scene.start()
    await scene.stop()
    await scene.pass_time(25 * MINUTE)
    await scene.rows.tasks(await scene.rows.jobs(12), version=2, status="Available", polled=25 * MINUTE, age=HOUR)
    for _ in range(3):
        await (await scene.session("eternaltwin worker", scene.worker)).close()
