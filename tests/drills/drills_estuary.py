"""Causes in estuary: executors with heartbeats, inboxes, and task types."""

from __future__ import annotations

from random import Random
from typing import Any

from console.demo.engine import Worker
from tests.drills.drill import drill
from tests.drills.drills_locks import ENDS, begun
from tests.drills.scene import Connection, Scene
from tests.drills.surroundings import DAY, HOUR, MINUTE
from tests.simulators.estuary import kinds
from tests.simulators.estuary.executor import Executor
from tests.simulators.estuary.kinds import ZERO

NAME = "estuary"
QUICK = {NAME: {"heartbeat_timeout": 2.0, "hot_loop": 4.0, "hot_loop_polls": 3}}
QUEUED = (ZERO, {"type": "queued"})


@drill(NAME, ("not_served", "no_executor"), most=1)
async def executors_killed(scene: Scene) -> None:
    await scene.start()
    await scene.stop()
    await scene.pass_time(HOUR)


@drill(NAME, "not_served", names=("EVOLUTIONS",), most=1)
async def deploy_without_a_type(scene: Scene) -> None:
    for n in range(7):
        await scene.rows.task(kinds.EVOLUTIONS, wake=-(25 - n) * MINUTE, inbox=[QUEUED])
    await scene.start()


@drill(NAME, "owner_dead", actions=("release",), most=1)
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


# Executors of one process, and causes that stop some of its polls


class Some:
    """Executors of some types. ``options`` are those of the simulated executor."""

    def __init__(self, *types: int, **options: Any) -> None:
        self._types, self._options = types, options

    def __call__(self, connection: Connection) -> Worker:
        return Executor(connection, Random(1), types=self._types, poll_ticks=lambda _: 1, **self._options)


@drill(NAME, "not_served", names=("2 types", "agent"), most=1)
async def deploy_without_two_types(scene: Scene) -> None:
    """A release of the agent serves two types no more. The others are polled."""
    scene.engine.executor = Some(kinds.DATA_PLANE, kinds.LIVE_SPEC, kinds.TENANT_ALERTS, kinds.FIBONACCI)
    for n in range(4):
        await scene.rows.task(kinds.PUBLICATIONS, wake=-(25 - n) * MINUTE, inbox=[QUEUED])
        await scene.rows.task(kinds.DISCOVERS, wake=-(15 - n) * MINUTE, inbox=[QUEUED])
    await scene.rows.task(kinds.LIVE_SPEC, state={}, wake=-2, beat=1)
    await scene.start()


@drill(NAME, "not_served", names=("data-plane-controller",), most=1)
async def one_of_two_processes_killed(scene: Scene) -> None:
    """The agent works on. Nothing polls the data planes, and one poll was cut off."""
    scene.engine.executor = Some(*(type_ for type_ in kinds.POLLS if type_ != kinds.DATA_PLANE))
    state = {"status": "Idle", "stack": {"config": {"model": {}}}, "disabled": False}
    for n in range(3):
        await scene.rows.task(kinds.DATA_PLANE, state=state, parent=ZERO, wake=-(20 - n) * MINUTE)
    await scene.rows.task(kinds.DATA_PLANE, state=state, parent=ZERO, wake=-30 * MINUTE, beat=25 * MINUTE)
    await scene.start()


@drill(NAME, "undecodable_message", names=("8 others",), actions=("drop",), most=1)
async def malformed_message_fails_the_dequeue(scene: Scene) -> None:
    """A message was appended without its sender.

    The engine decodes the rows of a dequeue together, so no task of the dequeue is polled, at each retry.
    """
    for n in range(9):
        inbox = ['{"type": "shard_failed"}'] if n == 4 else [(ZERO, {"type": "shard_failed"})]
        await scene.rows.task(2, state={}, wake=-40 * MINUTE + n, inbox=inbox, beat=1)
    await scene.sql("UPDATE tasks SET heartbeat = now() - interval '2 minutes' WHERE heartbeat > '1990-01-01'")
    await scene.start()


@drill(NAME, "crash_loop", names=("LIVE_SPEC_CONTROLLER",), most=1, watch=9.0, overrides=QUICK)
async def states_edited_by_hand(scene: Scene) -> None:
    """A script wrote text into the counters of some tasks. Each poll fails."""
    scene.engine.executor = Some(*kinds.POLLS, timeout=2.0)
    for n in range(4):
        await scene.rows.task(2, state={"messages_processed": "many"}, wake=-HOUR + n)
    await scene.start()


@drill(NAME, "unread_message_loop", names=("manualTrigger",), actions=("drop",), most=1, watch=8.0, overrides=QUICK)
async def message_that_no_executor_reads(scene: Scene) -> None:
    """An alert's mails are sent; until it is resolved, its executor reads no message."""
    state = {"fired_completed": "2026-11-21T21:00:00Z", "failures": 0}
    await scene.rows.task(kinds.NOTIFICATIONS, state=state, wake=-1, inbox=[(ZERO, {"event": "manualTrigger"})])
    await scene.start()


@drill(NAME, "infinite_heartbeat", actions=("release",), most=1)
async def script_reset_heartbeats(scene: Scene) -> None:
    """A script released tasks through a driver that writes the year 1 as -infinity."""
    for n in range(6):
        await scene.rows.task(
            2, state={}, wake=HOUR + n, beat="-infinity", inbox_next=[(ZERO, {"type": "config_updated"})]
        )
    await scene.start()


@drill(NAME, "late", names=("newest",), most=1)
async def executor_that_takes_the_newest_first(scene: Scene) -> None:
    """An old release takes the task that became due last.

    New tasks arrive faster than it polls.
    """
    for n in range(12):
        await scene.rows.task(2, state={}, wake=-(30 - n) * MINUTE)
    for n in range(4):
        await scene.rows.task(2, state={}, wake=-3 - n, beat=1 + n)


@drill(NAME, ("row_locked", "idle_transaction"), actions=ENDS, most=1)
async def executor_hangs_while_it_persists(scene: Scene) -> str:
    """Its session is idle in the transaction that writes an outcome.

    The others skip the row.
    """
    hanging = await scene.session("estuary worker 2", scene.worker)
    await hanging.execute("BEGIN")
    task = await scene.rows.task(2, state={}, wake=-20 * MINUTE, beat=700)
    await hanging.execute(f"UPDATE tasks SET inner_state = '{{}}', wake_at = now() WHERE task_id = '{task}'")
    await scene.start()
    await scene.sleep(1.2)
    return str(hanging.get_server_pid())


@drill(NAME, ("client_waits", "session_waits", "row_locked"), actions=ENDS, most=1)
async def application_waits_to_send(scene: Scene) -> str:
    """A colleague holds a task that sleeps. The publication that sends to it waits."""
    task = await scene.rows.task(2, state={}, wake=9 * HOUR)
    colleague, pid = await begun(scene)
    await colleague.execute(f"SELECT 1 FROM tasks WHERE task_id = '{task}' FOR UPDATE")
    shop = await scene.session("control plane")
    await scene.wait_in(shop, f"SELECT send_to_task('{task}', '{ZERO}', '{{\"type\": \"config_updated\"}}')")
    await scene.start()
    await scene.sleep(5.5)
    return pid


@drill(NAME, ("writes_refused", "foreign_objects"), names=("always_due",), most=1, watch=9.0, overrides=QUICK)
async def constraint_that_refuses_some_outcomes(scene: Scene) -> None:
    """No task may be suspended or done any more. Tasks that sleep are written as ever."""
    scene.engine.executor = Some(*kinds.POLLS, timeout=2.0)
    for n in range(5):
        await scene.rows.task(kinds.PUBLICATIONS, wake=-40 * MINUTE + n, inbox=[QUEUED])
    await scene.sql("ALTER TABLE tasks ADD CONSTRAINT always_due CHECK (wake_at IS NOT NULL) NOT VALID")
    await scene.start()


@drill(NAME, "privilege_missing", names=("create_task",), most=1)
async def worker_may_not_spawn(scene: Scene) -> str:
    """Tasks that spawn children fail. All others work."""
    await scene.sql("REVOKE EXECUTE ON FUNCTION create_task FROM PUBLIC")
    await scene.sql(f"REVOKE EXECUTE ON FUNCTION create_task FROM {scene.worker}")
    for n in range(3):
        inbox = [(ZERO, {"value": 6})]
        await scene.rows.task(kinds.FIBONACCI, state='"Init"', wake=-40 * MINUTE + n, beat=250 + n, inbox=inbox)
    await scene.start()
    return scene.worker


@drill(NAME, "not_served", names=("agent polls no type",), most=1)
async def agent_killed_four_minutes_ago(scene: Scene) -> None:
    """The tasks that it polled are not due for a retry yet."""
    scene.engine.executor = Some(kinds.DATA_PLANE)
    for n in range(3):
        await scene.rows.task(kinds.LIVE_SPEC, state={}, wake=-5 * MINUTE - n, beat=235 + n)
    for n in range(9):
        await scene.rows.task((kinds.PUBLICATIONS, kinds.LIVE_SPEC)[n % 2], wake=-220 + n, inbox=[QUEUED] * (1 - n % 2))
    await scene.sql("DELETE FROM tasks WHERE task_type = 32767")
    await scene.start()


@drill(NAME, "not_served", most=2)
async def executors_killed_beside_an_application_that_waits(scene: Scene) -> None:
    await application_waits_to_send(scene)
    await scene.stop()
    await scene.pass_time(HOUR)


@drill(NAME, ("session_waits", "row_locked"), actions=ENDS, most=1)
async def heartbeats_wait_for_a_row_lock(scene: Scene) -> str:
    """A colleague's transaction changed a task that is being polled.

    Its heartbeat waits, too short for other signs.
    """
    scene.engine.executor = Busy
    task = await scene.rows.task(kinds.PUBLICATIONS, wake=-30, inbox=[QUEUED])
    await scene.start()
    colleague, pid = await begun(scene)
    await colleague.execute(f"UPDATE tasks SET inbox_next = NULL WHERE task_id = '{task}'")
    beat = await scene.session("estuary worker 2", scene.worker)
    await scene.wait_in(beat, f"UPDATE tasks SET heartbeat = now() WHERE task_id = '{task}'")
    await scene.sleep(5.5)
    return pid
