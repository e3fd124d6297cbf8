"""Causes in tasker: orchestrators, workers, queues, and the graph of steps."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from tests.drills.drill import drill
from tests.drills.scene import Scene
from tests.drills.surroundings import HOUR, MINUTE
from tests.simulators.tasker.data import CreatedTask
from tests.simulators.tasker.protocol import RESULTS
from tests.simulators.tasker.step_history import (
    cancelled,
    claimed,
    complete,
    enqueued,
    failed,
    handed_in,
    pending,
    reset,
    waiting,
)

NAME = "tasker"


async def add(scene: Scene, number: int, name: str, **task: Any) -> list[CreatedTask]:
    """Insert tasks."""
    made = [scene.rows.task(name, **task) for _ in range(number)]
    await scene.rows.write(scene.admin)
    return made


@drill(NAME, ("blocked_by_failures", "failing"), names=("503 from",), actions=("retry",), most=1)
async def gateway_down(scene: Scene) -> None:
    """Many tasks of two sorts fail with one error."""
    for n in range(30):
        error = f"503 from http://10.0.{n}.7:8080/v1 after {900 + 31 * n} ms"
        ago = (40 - n) * MINUTE
        steps = {"validate_cart": complete(2 * HOUR), "charge_card": failed(ago + 5, error=error)}
        rest = complete(2 * HOUR)
        scene.rows.task("fulfil_order", state="blocked_by_failures", ago=ago, steps=steps, rest=rest)
        steps = {"check_return": complete(2 * HOUR), "refund_card": failed(ago + 9, error=error)}
        scene.rows.task("refund", state="blocked_by_failures", ago=ago, steps=steps)
    await scene.rows.write(scene.admin)
    await scene.start()


@drill(NAME, "no_worker", names=("worker_legacy_queue",), most=1)
async def deploy_without_a_worker(scene: Scene) -> None:
    """No worker reads the queue of one namespace."""
    for n in range(12):
        age = (30 - n) * MINUTE
        made = scene.rows.task("sync_erp", ago=age, steps={"pull_erp": enqueued(age)})
        scene.rows.message(made, "pull_erp", age=age)
    await scene.rows.write(scene.admin)
    await scene.start()


@drill(NAME, ("no_orchestrator", "not_picked_up"), most=1)
async def orchestrators_killed(scene: Scene) -> None:
    for n in range(10):
        ago = (20 - n) * MINUTE
        scene.rows.task("refund", state="pending", ago=ago)
        made = scene.rows.task("refund", ago=ago, steps={"check_return": handed_in(ago)})
        scene.rows.message(made, "check_return", age=ago, queue=RESULTS)
    await scene.rows.write(scene.admin)


@drill(NAME, "orchestrators_behind", most=1)
async def slow_orchestrator(scene: Scene) -> None:
    """It needs half a minute for each result."""
    for n in range(10):
        made = scene.rows.task("refund", ago=400, steps={"check_return": handed_in(360.0 - n)})
        scene.rows.message(made, "check_return", age=360.0 - n, queue=RESULTS)
    for n in range(3):
        scene.rows.task("refund", state="evaluating_results", ago=30.0 + 20 * n)
    await scene.rows.write(scene.admin)


@drill(NAME, "owner_dead", actions=("release",), most=1)
async def worker_killed_by_the_kernel(scene: Scene) -> None:
    """A worker that ran out of memory holds six claims; other workers go on."""
    books = {"open_books": complete(3 * HOUR)}
    for n in range(6):
        await add(scene, 1, "nightly_report", ago=2 * HOUR, steps={**books, "sum_region_north": claimed(2 * HOUR - n)})
    await scene.start()


@drill(NAME, "dead_letter", names=("staleness",), actions=("revive",), most=1)
async def dead_letters_of_one_outage(scene: Scene) -> None:
    for n in range(25):
        steps = {"validate_cart": complete(3 * HOUR)}
        made = scene.rows.task("fulfil_order", state="error", ago=HOUR + n, steps=steps, rest=pending(3 * HOUR))
        scene.rows.dead_letter(made, age=HOUR + n)
    await scene.rows.write(scene.admin)
    await scene.start()


@drill(NAME, "message_lost", actions=("resend",), most=1)
async def queue_purged(scene: Scene) -> None:
    await add(scene, 8, "fulfil_order", ago=30 * MINUTE, steps={"validate_cart": enqueued(30 * MINUTE)})
    await scene.start()


@drill(NAME, "result_not_delivered", actions=("resend",), most=1)
async def results_purged(scene: Scene) -> None:
    await add(scene, 8, "refund", ago=30 * MINUTE, steps={"check_return": handed_in(30 * MINUTE)})
    await scene.start()


@drill(NAME, ("queue_missing", "message_lost"), names=("worker_mail_queue",), most=1)
async def queue_dropped(scene: Scene) -> None:
    await add(scene, 5, "newsletter", ago=30 * MINUTE, steps={"select_readers": enqueued(30 * MINUTE)})
    await scene.sql("DROP TABLE pgmq.q_worker_mail_queue, pgmq.a_worker_mail_queue")
    await scene.sql("DELETE FROM pgmq.meta WHERE queue_name = 'worker_mail_queue'")
    await scene.start()


@drill(NAME, "orchestrator_gone", actions=("unstick",), most=1)
async def orchestrator_killed_between_states(scene: Scene) -> None:
    steps = {"validate_cart": complete(HOUR)}
    left = await add(scene, 4, "fulfil_order", state="enqueuing_steps", ago=50 * MINUTE, steps=steps)
    left += await add(scene, 2, "refund", state="initializing", ago=50 * MINUTE)
    # The one that was started in its place has another id.
    killed = "UPDATE task_transitions SET processor_uuid = $1 WHERE task_uuid = ANY ($2)"
    await scene.sql(killed, uuid4(), [made.id for made in left])
    await scene.start()


@drill(NAME, "can_never_continue", actions=("cancel",), most=1)
async def dependency_cycle(scene: Scene) -> str:
    (made,) = await add(scene, 1, "newsletter", state="waiting_for_dependencies", ago=40 * MINUTE)
    await scene.sql(
        "INSERT INTO workflow_step_edges (from_step_uuid, to_step_uuid, name, created_at, updated_at)"
        " VALUES ($1, $2, 'provides', now(), now())",
        *(made.steps["count_bounces"], made.steps["select_readers"]),
    )
    await scene.start()
    return "select_readers"


@drill(NAME, "cancelled_but_required", actions=("skip",), most=1)
async def cancelled_dependency(scene: Scene) -> None:
    steps = {"select_readers": complete(HOUR), "render": cancelled(30 * MINUTE)}
    await add(scene, 1, "newsletter", state="waiting_for_dependencies", ago=29 * MINUTE, age=HOUR, steps=steps)
    await scene.start()


@drill(NAME, "no_current_state", most=1)
async def state_removed_by_hand(scene: Scene) -> None:
    await add(scene, 3, "refund", state="waiting_for_dependencies", ago=HOUR, current=False)
    await scene.start()


@drill(NAME, "reset_but_not_retryable", actions=("retry",), most=1)
async def reset_without_attempts(scene: Scene) -> None:
    steps = {"validate_cart": complete(HOUR), "reserve_stock": complete(HOUR), "charge_card": reset(25 * MINUTE)}
    rest = complete(HOUR)
    await add(scene, 6, "fulfil_order", state="waiting_for_dependencies", ago=25 * MINUTE, steps=steps, rest=rest)
    await scene.start()


@drill(NAME, "poison_message", actions=("archive",), most=1)
async def redelivered_message(scene: Scene) -> None:
    made = scene.rows.task("fulfil_order", state="cancelled", ago=3 * HOUR, rest=cancelled(3 * HOUR))
    scene.rows.message(made, "charge_card", age=3 * HOUR, reads=360)
    await scene.rows.write(scene.admin)
    await scene.start()


@drill(NAME, "no_worker", names=("worker_shpo_queue",), most=1)
async def typo_in_a_namespace(scene: Scene) -> None:
    """A deploy writes the tasks of `shop` under a name that no worker serves."""
    await scene.sql("UPDATE task_namespaces SET name = 'shpo' WHERE name = 'shop'")
    await scene.sql("SELECT pgmq.create('worker_shpo_queue')")
    for n in range(10):
        age = (30 - n) * MINUTE
        made = scene.rows.task("fulfil_order", ago=age, steps={"validate_cart": enqueued(age)})
        scene.rows.message(made, "validate_cart", age=age, queue="worker_shpo_queue")
    await scene.rows.write(scene.admin)


@drill(NAME, "due_far_ahead", actions=("wake",), most=1)
async def overflowed_backoff(scene: Scene) -> None:
    steps = {"check_return": waiting(HOUR, backoff=2**31 - 1)}
    await add(scene, 3, "refund", state="waiting_for_retry", ago=HOUR, steps=steps)
    await scene.start()


@drill(NAME, ("skipped_by_poller", "not_picked_up"), most=1)
async def priority_starvation(scene: Scene) -> None:
    """Each poll takes 20 urgent tasks, so that normal ones wait for hours."""
    await add(scene, 12, "refund", state="pending", ago=3 * HOUR, priority=-5)
    for n in range(400):
        scene.rows.task("refund", state="pending", ago=float(1 + n % 9), priority=9)
    await scene.rows.write(scene.admin)
    scene.errors.clear()


@drill(NAME, ("blocked_by_failures", "failing"), names=("No space left on device",), most=1, actions=("retry", None))
async def disk_full_in_steps(scene: Scene) -> None:
    error = 'could not extend file "base/16384/{}": No space left on device'
    for n in range(12):
        steps = {"open_books": failed(20 * MINUTE + n, error=error.format(24000 + n))}
        scene.rows.task("nightly_report", state="blocked_by_failures", ago=20 * MINUTE, steps=steps)
    await scene.rows.write(scene.admin)
    await scene.start()


@drill(NAME, "no_longer_polled", actions=("wake",), most=1)
async def orchestrators_back_after_a_long_outage(scene: Scene) -> None:
    """The poller ignores tasks that waited for more than an hour."""
    steps = {"check_return": complete(2 * HOUR), "refund_card": pending(2 * HOUR)}
    await add(scene, 7, "refund", state="waiting_for_dependencies", ago=80 * MINUTE, steps=steps)
    await scene.start()


@drill(NAME, "not_finalized", actions=("finalize",), most=1)
async def orchestrator_killed_before_the_end(scene: Scene) -> None:
    await add(scene, 5, "newsletter", state="waiting_for_dependencies", ago=20 * MINUTE, rest=complete(30 * MINUTE))
    await scene.start()


@drill(NAME, ("batch_stalled", "owner_dead"), actions=("release",), most=1)
async def batch_hangs(scene: Scene) -> None:
    checkpoint = {"cursor": 4200, "items_processed": 4200}
    batch = claimed(55 * MINUTE, checkpoint=checkpoint, stamped=42 * MINUTE)
    steps = {"select_readers": complete(2 * HOUR), "render": complete(HOUR), "deliver_batch": batch}
    await add(scene, 1, "newsletter", ago=25 * MINUTE, steps=steps)
    await scene.start()


@drill(NAME, ("can_never_continue", "cancelled_but_required"), actions=("cancel", "skip"))
async def edge_to_a_step_of_another_task(scene: Scene) -> None:
    """An import wrote an edge from a step of a cancelled task, which never completes."""
    steps = {"check_return": cancelled(3 * HOUR)}
    (other,) = await add(scene, 1, "refund", state="cancelled", ago=3 * HOUR, rest=cancelled(3 * HOUR), steps=steps)
    (made,) = await add(scene, 1, "newsletter", state="waiting_for_dependencies", ago=40 * MINUTE)
    await scene.sql(
        "INSERT INTO workflow_step_edges (from_step_uuid, to_step_uuid, name, created_at, updated_at)"
        " VALUES ($1, $2, 'provides', now(), now())",
        *(other.steps["check_return"], made.steps["select_readers"]),
    )
    await scene.start()
