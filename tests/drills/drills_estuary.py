"""Causes in estuary: executors with heartbeats, inboxes, and task types."""

from __future__ import annotations

from random import Random

from console.demo.estuary import kinds
from console.demo.estuary.executor import Executor
from console.demo.estuary.kinds import ZERO
from tests.drills.drill import drill
from tests.drills.scene import Connection, Scene
from tests.drills.surroundings import DAY, HOUR, MINUTE

NAME = "estuary"
QUEUED = (ZERO, {"type": "queued"})


@drill(NAME, ("type_not_served", "no_executor"), most=1)
async def executors_killed(scene: Scene) -> None:
    await scene.start()
    await scene.stop()
    await scene.pass_time(HOUR)


@drill(NAME, "type_not_served", names=("EVOLUTIONS",), most=1)
async def deploy_without_a_type(scene: Scene) -> None:
    for n in range(7):
        await scene.rows.task(kinds.EVOLUTIONS, wake=-(25 - n) * MINUTE, inbox=[QUEUED])
    await scene.start()


@drill(NAME, "locked_by_a_dead_worker", actions=("release",), most=1)
async def manual_update_left_heartbeats(scene: Scene) -> None:
    """A script set wake_at of held tasks to NULL; their executor has died since."""
    for n in range(6):
        await scene.rows.task(2, state={}, beat=2 * HOUR + n)
    await scene.start()


@drill(NAME, "undecodable_message", names=("spec_publishd",), actions=("drop",), most=1)
async def poison_message(scene: Scene) -> None:
    await scene.rows.task(2, state={}, wake=-HOUR, beat=140, inbox=[(ZERO, {"type": "spec_publishd"})])
    await scene.start()


@drill(NAME, "undecodable_message", names=("spec_publishd",), most=1, actions=("drop", None))
async def sender_with_a_new_message(scene: Scene) -> None:
    """A new release sends a message to many tasks, and the executors cannot read it."""
    for n in range(30):
        await scene.rows.task(2, state={}, wake=-HOUR + n, beat=250, inbox=[(ZERO, {"type": "spec_publishd", "n": n})])
    await scene.start()


@drill(NAME, ("future_heartbeat", "clock_ahead"), most=1, actions=("fence",))
async def clock_of_an_executor_jumped_ahead(scene: Scene) -> None:
    for n in range(6):
        await scene.rows.task(2, state={}, wake=-10 * MINUTE, beat=-2 * HOUR - n)
    await scene.start()


@drill(NAME, "hot_loop", actions=("park",), most=1, watch=8.0, overrides={NAME: {"hot_loop": 4.0}})
async def task_due_after_each_poll(scene: Scene) -> None:
    state = {"messages_processed": 7, "total_failures": 0, "total_successes": 51_233, "next_at": "now"}
    await scene.rows.task(2, state=state, wake=-1)
    await scene.start()


@drill(NAME, "unread_inbox", actions=("wake",), most=1)
async def inbox_written_without_waking(scene: Scene) -> None:
    for _ in range(5):
        await scene.rows.task(2, state={}, inbox=[(ZERO, {"type": "config_updated"})])
    await scene.start()


@drill(NAME, "missing_child", actions=("send",), most=1)
async def child_deleted_by_hand(scene: Scene) -> None:
    await scene.rows.task(kinds.FIBONACCI, state={"Waiting": {"partial": 8, "pending": 1}})
    await scene.start()


@drill(NAME, "due_far_ahead", actions=("wake",), most=1)
async def overflowed_backoff(scene: Scene) -> None:
    for n in range(5):
        await scene.rows.task(kinds.LIVE_SPEC, state={"failures": 63}, wake=292 * 365 * DAY + n)
    await scene.start()


@drill(NAME, "due_far_ahead", names=("infinity",), actions=("wake",), most=1)
async def due_at_infinity(scene: Scene) -> None:
    await scene.rows.task(kinds.TENANT_ALERTS, state={"evaluations": 3}, wake="infinity")
    await scene.start()


@drill(NAME, "slots_in_use", names=("5 of PUBLICATIONS",), most=1)
async def long_polls_take_all_permits(scene: Scene) -> None:
    """Five hour-long polls leave no permit for tasks that are due."""
    scene.engine.executor = Busy
    for _ in range(5):
        await scene.rows.task(kinds.PUBLICATIONS, wake=-2 * HOUR, inbox=[QUEUED])
    await scene.start()
    for n in range(20):
        await scene.rows.task(kinds.LIVE_SPEC, state={}, wake=-(50 - n) * MINUTE)


class Busy:
    """Executors whose polls never end, but renew their heartbeats."""

    def __init__(self, connection: Connection) -> None:
        self._executor = Executor(connection, Random(1), permits=5, timeout=300.0, poll_ticks=lambda _: 10**9)

    async def tick(self) -> int:
        return await self._executor.tick()


@drill(NAME, ("crash_loop", "overdue_and_still_locked"), most=1)
async def poll_that_always_fails(scene: Scene) -> None:
    """A data plane without configuration: each poll fails.

    The task is taken again after the timeout.
    """
    state = {
        "status": "PulumiUp1",
        "stack_name": "aws-us-east-1-c9",
        "stack": {"config": None},
        "deploy_branch": "main",
    }
    await scene.rows.task(kinds.DATA_PLANE, state=state, parent=ZERO, wake=-47 * MINUTE, beat=31)
    await scene.start()


@drill(NAME, ("stray_messages",), actions=("wake",), most=1)
async def manual_release_left_messages(scene: Scene) -> None:
    for _ in range(4):
        await scene.rows.task(2, state={}, wake=3600, inbox_next=[(ZERO, {"type": "config_updated"})])
    await scene.start()
