"""Tasks of the demo: ended, running, and stuck in each way, and dead letters.

The stuck tasks stay stuck while the engine works. The worker of an orphaned claim does not exist. No queue contains the
lost messages. No poller reads the states of tasks that an orchestrator left unfinished. No worker reads the queue of
the namespace `legacy`. Only the tasks from an outage of the orchestrator continue when an orchestrator runs.
"""

from __future__ import annotations

from typing import Final

from tests.simulators.tasker.data import Data
from tests.simulators.tasker.protocol import RESULTS
from tests.simulators.tasker.step_history import (
    StepHistory,
    cancelled,
    claimed,
    complete,
    enqueued,
    failed,
    handed_in,
    pending,
    reset,
    skipped,
    unwritten,
    waiting,
)
from tests.simulators.tasker.worker import message

MINUTE: Final = 60.0
HOUR: Final = 3600.0
DAY: Final = 86400.0
ODD: Final = "\x1b[31mred\x1b[0m [bold]no markup[/bold] \u202eabc\u200b 収支 تحديث \U0001f4e6"


def make(seed: int) -> Data:
    """Return all rows of the demo for a seed."""
    data = Data(seed)
    for part in (_done, _working, _resting, _failed, _lost, _outage, _left, _flags, _dead_letters, _odd):
        part(data)
    return data


def _done(data: Data) -> None:
    for name in ("fulfil_order", "fulfil_order", "refund", "nightly_report", "newsletter"):
        for _ in range(8):
            ago = data.rng.uniform(0.2, 200) * HOUR
            spent = data.rng.randint(300, 4000)
            data.task(name, state="complete", ago=ago, rest=complete(ago + 5, spent), tags=("done",))
    ago = 2 * DAY
    data.task("refund", state="resolved_manually", ago=ago, rest=skipped(ago))
    data.task("fulfil_order", state="cancelled", ago=ago, rest=cancelled(ago))


def _working(data: Data) -> None:
    for _ in range(6):
        data.task("fulfil_order", state="pending", ago=data.rng.uniform(1, 9))
    for _ in range(4):
        age = data.rng.uniform(1, 5) * MINUTE
        made = data.task(
            "fulfil_order",
            ago=4,
            age=age,
            rest=pending(age),
            priority=data.rng.choice((0, 0, 5)),
            steps={"validate_cart": complete(20), "reserve_stock": enqueued(3), "charge_card": enqueued(3)},
        )
        data.message(made, "reserve_stock", age=3)
        data.message(made, "charge_card", age=3)
    for _ in range(3):
        data.task(
            "newsletter",
            state="waiting_for_dependencies",
            ago=20,
            age=10 * MINUTE,
            steps={"select_readers": complete(90), "render": waiting(15, backoff=data.rng.randint(60, 600))},
        )
    data.task(
        "refund", state="waiting_for_retry", ago=40, age=3 * MINUTE, steps={"check_return": waiting(40, backoff=900)}
    )


def _resting(data: Data) -> None:
    """Add healthy tasks in unusual states.

    A parallel branch still runs, or a step has no transition yet.
    """
    data.task(
        "nightly_report",
        state="evaluating_results",
        ago=12 * MINUTE,
        age=HOUR,
        steps={
            "open_books": complete(25 * MINUTE),
            "sum_region_north": claimed(20 * MINUTE),
            **_regions(12 * MINUTE),
        },
    )
    data.task(
        "review_return",
        ago=10 * MINUTE,
        age=HOUR,
        steps={
            "inspect_parcel": complete(30 * MINUTE),
            "decide_return": complete(11 * MINUTE),
            "restock": claimed(10 * MINUTE),
            "credit_customer": unwritten(11 * MINUTE),
        },
    )


def _outage(data: Data) -> None:
    """Add tasks that an orchestrator has not continued because of an outage."""
    data.task("refund", state="pending", ago=7 * MINUTE)
    made = data.task("refund", ago=6 * MINUTE, steps={"check_return": handed_in(6 * MINUTE)})
    data.message(made, "check_return", age=6 * MINUTE, queue=RESULTS)


def _failed(data: Data) -> None:
    """Add permanently failed tasks, and one whose reset did not make it retryable."""
    for hours in (0.3, 2, 9, 31):
        error = message("charge_card", data.rng)
        data.task(
            "fulfil_order",
            state="blocked_by_failures",
            ago=hours * HOUR,
            steps={
                "validate_cart": complete(hours * HOUR + 90),
                "reserve_stock": complete(hours * HOUR + 60),
                "charge_card": failed(hours * HOUR + 5, error=error),
                "book_carrier": complete(hours * HOUR + 40),
            },
        )
    refused = failed(50 * MINUTE, attempts=1, retryable=False, error="card was closed by its owner")
    data.task(
        "refund",
        state="blocked_by_failures",
        ago=45 * MINUTE,
        steps={"check_return": complete(HOUR), "refund_card": refused},
    )
    regions = {
        f"sum_region_{r}": failed(3 * HOUR, error=f"region {r}: no rows, 1{n}00 expected")
        for n, r in enumerate(("east", "west"))
    }
    books = {
        "open_books": complete(4 * HOUR),
        "sum_region_north": complete(3.5 * HOUR),
        "sum_region_south": complete(3.4 * HOUR),
    }
    data.task("nightly_report", state="blocked_by_failures", ago=2.9 * HOUR, steps={**books, **regions})
    data.task(
        "fulfil_order",
        state="waiting_for_dependencies",
        ago=25 * MINUTE,
        steps={
            "validate_cart": complete(HOUR),
            "reserve_stock": complete(HOUR),
            "charge_card": reset(25 * MINUTE),
            "book_carrier": complete(HOUR),
        },
    )


def _lost(data: Data) -> None:
    """Add orphaned claims and lost messages."""
    for hours in (1.5, 20):
        data.task(
            "nightly_report",
            ago=hours * HOUR,
            steps={
                "open_books": complete(hours * HOUR + 60),
                "sum_region_north": claimed(hours * HOUR),
                **_regions(hours * HOUR + 30),
            },
        )
    batch = claimed(55 * MINUTE, checkpoint={"cursor": 4200, "items_processed": 4200}, stamped=42 * MINUTE)
    data.task(
        "newsletter",
        ago=55 * MINUTE,
        steps={"select_readers": complete(2 * HOUR), "render": complete(HOUR), "deliver_batch": batch},
    )
    data.task("fulfil_order", ago=14 * MINUTE, steps={"validate_cart": enqueued(14 * MINUTE)})
    data.task("refund", ago=11 * MINUTE, steps={"check_return": handed_in(11 * MINUTE)})
    data.task(
        "refund",
        ago=9 * MINUTE,
        steps={"check_return": complete(HOUR), "refund_card": handed_in(9 * MINUTE, error="gateway timeout")},
    )
    for minutes in (40, 25, 12):
        made = data.task("sync_erp", ago=minutes * MINUTE, steps={"pull_erp": enqueued(minutes * MINUTE)})
        data.message(made, "pull_erp", age=minutes * MINUTE)
    ended = data.task("fulfil_order", state="cancelled", ago=3 * HOUR, rest=cancelled(3 * HOUR))
    data.message(ended, "charge_card", age=3 * HOUR, reads=360)
    data.message(ended, "book_carrier", age=3 * HOUR, reads=12, queue=RESULTS)


def _regions(ago: float) -> dict[str, StepHistory]:
    return {f"sum_region_{r}": complete(ago) for r in ("east", "south", "west")}


def _left(data: Data) -> None:
    """Add tasks in states that no poller reads."""
    for minutes in (70, 95):
        data.task(
            "refund",
            state="waiting_for_dependencies",
            ago=minutes * MINUTE,
            steps={"check_return": complete(2 * HOUR), "refund_card": pending(2 * HOUR)},
        )
    data.task("newsletter", state="waiting_for_dependencies", ago=20 * MINUTE, rest=complete(30 * MINUTE))
    data.task("refund", state="initializing", ago=2 * HOUR)
    data.task("fulfil_order", state="enqueuing_steps", ago=50 * MINUTE, steps={"validate_cart": complete(HOUR)})
    data.task(
        "newsletter", state="evaluating_results", ago=16 * MINUTE, steps={"select_readers": complete(18 * MINUTE)}
    )
    data.task(
        "fulfil_order",
        ago=22 * MINUTE,
        steps={"validate_cart": complete(30 * MINUTE), "reserve_stock": complete(25 * MINUTE)},
    )
    data.task(
        "nightly_report",
        state="waiting_for_dependencies",
        ago=3.6 * HOUR,
        age=5 * HOUR,
        steps={
            "open_books": complete(4 * HOUR),
            **_regions(3.7 * HOUR),
            "sum_region_north": waiting(3.6 * HOUR, backoff=86_400),
        },
    )


def _flags(data: Data) -> None:
    data.task(
        "refund",
        state="waiting_for_dependencies",
        ago=8 * MINUTE,
        steps={"check_return": pending(8 * MINUTE, attempts=1, at_work=True, tried=8 * MINUTE)},
    )
    data.task(
        "newsletter",
        state="waiting_for_dependencies",
        ago=10 * MINUTE,
        steps={"select_readers": complete(HOUR), "render": cancelled(30 * MINUTE)},
    )


def _dead_letters(data: Data) -> None:
    """Add dead letters with every decision and every reason."""
    for hours, reason in (
        (5, "staleness_timeout"),
        (26, "staleness_timeout"),
        (7, "max_retries_exceeded"),
        (12, "worker_unavailable"),
    ):
        error = (
            failed((hours + 1) * HOUR, error=message("charge_card", data.rng))
            if "retries" in reason
            else pending(hours * HOUR)
        )
        made = data.task(
            "fulfil_order",
            state="error",
            ago=hours * HOUR,
            steps={"validate_cart": complete((hours + 2) * HOUR), "charge_card": error},
        )
        data.dead_letter(
            made,
            reason=reason,
            age=hours * HOUR,
            was="steps_in_process" if "worker" in reason else "waiting_for_dependencies",
        )
    circle = data.task("newsletter", state="error", ago=3 * HOUR)
    data.dead_letter(circle, reason="dependency_cycle_detected", age=3 * HOUR)
    alive = data.task(
        "fulfil_order",
        state="waiting_for_dependencies",
        ago=15 * MINUTE,
        age=30 * HOUR,
        steps={"validate_cart": waiting(15 * MINUTE, backoff=7200)},
    )
    data.dead_letter(alive, reason="manual_dlq", age=20 * HOUR)
    over = data.task("refund", state="complete", ago=HOUR, rest=complete(HOUR))
    data.dead_letter(over, age=6 * HOUR)
    data.dead_letter(
        over, age=30 * HOUR, decision="manually_resolved", note="gateway was down; revived", by="anna@laptop"
    )
    lost = data.task("refund", state="error", ago=3 * DAY)
    data.dead_letter(lost, age=3 * DAY, decision="permanently_failed", note="order is void", by="anna@laptop")
    dropped = data.task("newsletter", state="cancelled", ago=4 * DAY, rest=cancelled(4 * DAY))
    data.dead_letter(dropped, age=5 * DAY, decision="cancelled", note="sent twice already", by="ben@desk")


def _odd(data: Data) -> None:
    data.task("refund", state="waiting_for_dependencies", ago=5 * HOUR, age=6 * HOUR, current=False)
    data.task(
        "refund",
        state="blocked_by_failures",
        ago=DAY,
        context={"note": ODD},
        steps={"check_return": failed(DAY, error=ODD)},
        tags=("odd", "\x07bell"),
    )
