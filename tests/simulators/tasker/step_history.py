"""Histories of steps for the builder: states with ages, and matching columns."""

from __future__ import annotations

from typing import Any

from queries.records.record import Record

Past = tuple[tuple[str, float], ...]


class StepHistory(Record):
    """States of a step with their ages in seconds, the current state last.

    ``tried`` and ``done`` are ages as well.
    """

    past: Past
    attempts: int = 0
    most: int | None = None  # None: the template's value
    retryable: bool = True
    at_work: bool = False
    done: float | None = None
    tried: float | None = None
    backoff: int | None = None
    error: str | None = None
    spent: int | None = None  # milliseconds
    checkpoint: dict[str, Any] | None = None
    stamped: float | None = None  # age of the checkpoint
    made: float | None = None  # age of a step without a transition


def pending(age: float = 600, **more: Any) -> StepHistory:
    """Return a step that has not run."""
    return StepHistory(past=(("pending", age),), **more)


def unwritten(age: float = 600, **more: Any) -> StepHistory:
    """Return a step that a decision or a batch created.

    It has no transition until it is enqueued.
    """
    return StepHistory(past=(), made=age, **more)


def enqueued(ago: float = 5) -> StepHistory:
    """Return a step in a worker queue, not yet claimed."""
    return StepHistory(past=(("pending", ago + 30), ("enqueued", ago)))


def claimed(ago: float = 5, **more: Any) -> StepHistory:
    """Return a step that a worker has claimed."""
    past = (("pending", ago + 30), ("enqueued", ago + 1), ("in_progress", ago))
    return StepHistory(past=past, **{"attempts": 1, "at_work": True, "tried": ago, **more})


def handed_in(ago: float = 5, error: str | None = None) -> StepHistory:
    """Return a step whose result waits for an orchestrator."""
    to = "enqueued_for_orchestration" if error is None else "enqueued_as_error_for_orchestration"
    return StepHistory(past=(*claimed(ago + 2).past, (to, ago)), attempts=1, tried=ago + 2, error=error, spent=1500)


def complete(ago: float = 60, spent: int = 900) -> StepHistory:
    """Return a completed step."""
    past = (*claimed(ago + 1 + spent / 1000).past, ("enqueued_for_orchestration", ago + 1), ("complete", ago))
    return StepHistory(past=past, attempts=1, tried=ago + 1, done=ago, spent=spent)


def failed(ago: float = 60, attempts: int = 3, error: str = "503 from upstream", **more: Any) -> StepHistory:
    """Return a permanently failed step."""
    past = (*claimed(ago + 3).past, ("enqueued_as_error_for_orchestration", ago + 1), ("error", ago))
    return StepHistory(past=past, **{"attempts": attempts, "tried": ago, "error": error, "spent": 2000, **more})


def waiting(
    ago: float = 5, attempts: int = 1, backoff: int = 60, error: str = "connection reset", **more: Any
) -> StepHistory:
    """Return a failed step that waits for its backoff to end."""
    past = (*claimed(ago + 3).past, ("enqueued_as_error_for_orchestration", ago + 1), ("waiting_for_retry", ago))
    return StepHistory(
        past=past, **{"attempts": attempts, "tried": ago, "backoff": backoff, "error": error, "spent": 2000, **more}
    )


def reset(ago: float = 60, attempts: int = 3, **more: Any) -> StepHistory:
    """Return a failed step after the engine's reset to pending.

    The engine does not reset its attempts.
    """
    return StepHistory(
        past=(*failed(ago + 60).past, ("pending", ago)), **{"attempts": attempts, "tried": ago + 60, **more}
    )


def cancelled(ago: float = 60) -> StepHistory:
    return StepHistory(past=(("pending", ago + 60), ("cancelled", ago)), done=ago)


def skipped(ago: float = 60) -> StepHistory:
    return StepHistory(past=(("pending", ago + 60), ("resolved_manually", ago)), done=ago)
