"""Worker of tasker: claim steps, run their handlers, send the results.

Claim, flag and acknowledgement are three writes. The message is deleted before the handler starts. The worker does not
acknowledge a message whose step cannot be claimed, so the queue delivers it again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from random import Random
from typing import Any
from uuid import UUID

from tests.simulators.engine import Connection
from tests.simulators.tasker.protocol import RESULTS, SQL, Protocol
from tests.simulators.tasker.templates import STEPS, Step


class Worker(Protocol):
    """A worker. ``tick`` reads up to ``batch`` messages of each queue."""

    def __init__(self, connection: Connection, rng: Random, namespaces: Iterable[str], *, batch: int = 4) -> None:
        super().__init__(connection)
        self._rng = rng
        self._queues = [f"worker_{name}_queue" for name in namespaces]
        self._batch = batch
        self._id = UUID(int=rng.getrandbits(128), version=4)
        self.claimed: dict[UUID, int] = {}  # step -> ticks until its handler is done

    async def tick(self) -> int:
        """Do a bounded amount of work; return the number of steps claimed or ended."""
        touched = 0
        for queue in self._queues:
            for message, body in await self.read(queue, self._batch):
                touched += await self.claim(queue, message, UUID(body["step_uuid"]))
        for step in list(self.claimed):
            self.claimed[step] -= 1
            if self.claimed[step] <= 0:
                del self.claimed[step]
                touched += await self.hand_in(step)
        return touched

    async def claim(self, queue: str, message: int, step: UUID) -> bool:
        """Claim a step; return False and keep the message if its state forbids that."""
        state = await self.step_state(step)
        if state not in ("enqueued", "pending"):
            return False
        if not await self.move_step(step, state, "in_progress", {"type": "Start"}, worker_uuid=str(self._id)):
            return False
        await self._connection.execute(SQL["claimed"], step)
        await self.archive(queue, message)
        row = await self._connection.fetchrow(SQL["step"], step)
        self.claimed[step] = self._spec(row["name"]).ticks if row else 1
        return True

    async def hand_in(self, step: UUID) -> bool:
        """Write the handler's result. It is lost if the step is not in progress."""
        row = await self._connection.fetchrow(SQL["step"], step)
        if row is None or await self.step_state(step) != "in_progress":
            return False
        result = self._run(step, self._spec(row["name"]), fault(row["inputs"]))
        good = result["success"]
        to, type_ = (
            ("enqueued_for_orchestration", "EnqueueForOrchestration")
            if good
            else ("enqueued_as_error_for_orchestration", "EnqueueAsErrorForOrchestration")
        )
        metadata = {"worker_uuid": str(self._id), "correlation_id": str(row["correlation_id"])}
        if not await self.move_step(step, "in_progress", to, {"type": type_, "data": result}, **metadata):
            return False
        await self._connection.execute(SQL["handed_in"], step, json.dumps(result))
        await self.send(RESULTS, task_uuid=row["task_uuid"], step_uuid=step, correlation_id=row["correlation_id"])
        return True

    def _spec(self, name: str) -> Step:
        return STEPS.get(name) or Step(name=name)

    def _run(self, step: UUID, spec: Step, fault: str | None) -> dict[str, Any]:
        """Return a random result of the handler; with a ``fault``, a permanent failure."""
        if fault is not None:
            return envelope(step, 1, str(self._id), fault, retryable=False)
        luck = self._rng.random()
        spent = round(spec.ticks * self._rng.uniform(300, 700))
        return envelope(
            step,
            spent,
            str(self._id),
            None if luck >= spec.flaky + spec.fatal else message(spec.name, self._rng),
            retryable=luck >= spec.fatal and spec.retryable,
        )


def fault(inputs: str | None) -> str | None:
    """Return why a worker of a batch cannot read its inputs, or None."""
    batch = json.loads(inputs) if inputs is not None else None
    if not isinstance(batch, dict) or "cursor" not in batch:
        return None
    cursor = batch["cursor"]
    wanted = {"batch_id": str, "start_cursor": object, "end_cursor": object, "batch_size": int}
    good = isinstance(cursor, dict) and all(isinstance(cursor.get(name), type_) for name, type_ in wanted.items())
    return None if good else "Failed to deserialize BatchWorkerInputs from workflow_step.inputs"


def envelope(step: UUID, spent: int, worker: str, error: str | None, *, retryable: bool = True) -> dict[str, Any]:
    """Return a result in the engine's format."""
    fault: dict[str, Any] = {
        "message": error,
        "error_type": "HandlerError",
        "retryable": retryable,
        "status_code": 503,
        "backtrace": [],
    }
    return {
        "step_uuid": str(step),
        "success": error is None,
        "result": {"ok": True} if error is None else {},
        "status": "completed" if error is None else "error",
        "error": None if error is None else fault,
        "metadata": {"execution_time_ms": spent, "worker_id": worker, "retryable": retryable},
    }


def message(name: str, rng: Random) -> str:
    """Return an error message. Ids and numbers vary, to test the grouping of errors."""
    host = f"10.0.{rng.randrange(256)}.{rng.randrange(256)}"
    return rng.choice(
        (
            f"{name}: 503 from http://{host}:8080/v1 after {rng.randint(900, 30_000)} ms",
            f"{name}: connection reset by peer (request {rng.getrandbits(64):016x})",
        )
    )
