"""What a step of the demo's data has been through: the states with their ages, and the columns that go with them."""

from __future__ import annotations

from typing import Any, Final

from queries.model import Record

Past = tuple[tuple[str, float], ...]

CLAIM: Final = ("pending", "enqueued", "in_progress")


class StepHistory(Record):
    """A step. ``past`` are its states and seconds ago, the current one last; ``tried``, ``done`` are such too."""

    past: Past
    attempts: int = 0
    most: int | None = None  # None: as the template says
    retryable: bool = True
    at_work: bool = False
    done: float | None = None
    tried: float | None = None
    backoff: int | None = None
    error: str | None = None
    spent: int | None = None  # milliseconds
    checkpoint: dict[str, Any] | None = None
    stamped: float | None = None  # age of the checkpoint
    made: float | None = None  # age of a step that has no transition yet


def pending(age: float = 600, **more: Any) -> StepHistory:
    """Has not run."""
    return StepHistory(past=(("pending", age),), **more)


def unwritten(age: float = 600, **more: Any) -> StepHistory:
    """Made by a decision or a batch while the task ran. The engine writes its first transition when it enqueues it."""
    return StepHistory(past=(), made=age, **more)


def enqueued(ago: float = 5) -> StepHistory:
    """With the workers, not claimed."""
    return StepHistory(past=(("pending", ago + 30), ("enqueued", ago)))


def claimed(ago: float = 5, **more: Any) -> StepHistory:
    """At a worker."""
    past = (("pending", ago + 30), ("enqueued", ago + 1), ("in_progress", ago))
    return StepHistory(past=past, **{"attempts": 1, "at_work": True, "tried": ago, **more})


def handed_in(ago: float = 5, error: str | None = None) -> StepHistory:
    """Its result waits for an orchestrator."""
    to = "enqueued_for_orchestration" if error is None else "enqueued_as_error_for_orchestration"
    return StepHistory(past=(*claimed(ago + 2).past, (to, ago)), attempts=1, tried=ago + 2, error=error, spent=1500)


def complete(ago: float = 60, spent: int = 900) -> StepHistory:
    """Done."""
    past = (*claimed(ago + 1 + spent / 1000).past, ("enqueued_for_orchestration", ago + 1), ("complete", ago))
    return StepHistory(past=past, attempts=1, tried=ago + 1, done=ago, spent=spent)


def failed(ago: float = 60, attempts: int = 3, error: str = "503 from upstream", **more: Any) -> StepHistory:
    """In error."""
    past = (*claimed(ago + 3).past, ("enqueued_as_error_for_orchestration", ago + 1), ("error", ago))
    return StepHistory(past=past, **{"attempts": attempts, "tried": ago, "error": error, "spent": 2000, **more})


def waiting(
    ago: float = 5, attempts: int = 1, backoff: int = 60, error: str = "connection reset", **more: Any
) -> StepHistory:
    """In its backoff."""
    past = (*claimed(ago + 3).past, ("enqueued_as_error_for_orchestration", ago + 1), ("waiting_for_retry", ago))
    return StepHistory(
        past=past, **{"attempts": attempts, "tried": ago, "backoff": backoff, "error": error, "spent": 2000, **more}
    )


def reset(ago: float = 60, attempts: int = 3, **more: Any) -> StepHistory:
    """Back to pending by the engine's own reset, which leaves the attempts used up."""
    return StepHistory(
        past=(*failed(ago + 60).past, ("pending", ago)), **{"attempts": attempts, "tried": ago + 60, **more}
    )


def cancelled(ago: float = 60) -> StepHistory:
    return StepHistory(past=(("pending", ago + 60), ("cancelled", ago)), done=ago)


def skipped(ago: float = 60) -> StepHistory:
    return StepHistory(past=(("pending", ago + 60), ("resolved_manually", ago)), done=ago)
