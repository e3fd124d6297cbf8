"""Orchestrator of tasker: create tasks, enqueue steps, process results, end tasks.

It finds work by messages and by the poller (``get_next_ready_tasks``). A late result of an ended or blocked task
changes no state. If a result arrives while another step is in flight, the task stays in ``evaluating_results`` until
the next result. Steps that a decision creates have no transition until they are enqueued. The orchestrator does not
acknowledge a request that it cannot parse, so the request is delivered again after each visibility timeout.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from random import Random
from typing import Any, Final
from uuid import UUID

import asyncpg

from tests.simulators.engine import Connection
from tests.simulators.tasker.protocol import FINALIZATIONS, REQUESTS, RESULTS, SQL, TERMINAL, Overtaken, Protocol
from tests.simulators.tasker.templates import Step, template

PRIORITIES: Final = ("Low", "Normal", "High", "Urgent")
REQUIRED: Final = ("name", "namespace", "version", "context", "initiator", "source_system", "reason")


def parses(body: dict[str, Any]) -> bool:
    """Return True if the engine can read this request.

    Its metadata has no optional field.
    """
    metadata, asked = body.get("metadata"), body.get("task_request")
    if not isinstance(metadata, dict) or not isinstance(asked, dict) or not isinstance(body.get("request_id"), str):
        return False
    required = isinstance(metadata.get("requested_at"), str) and isinstance(metadata.get("requester"), str)
    custom = isinstance(metadata.get("custom"), dict) and metadata.get("priority") in PRIORITIES
    return required and custom and all(asked.get(field) is not None for field in REQUIRED)


class Orchestrator(Protocol):
    """An orchestrator.

    ``thresholds`` belong to the staleness detector: minutes in each of three states, and hours in total.
    """

    def __init__(
        self,
        connection: Connection,
        rng: Random,
        *,
        thresholds: tuple[int, int, int, int] = (120, 60, 60, 48),
        sweep: int = 600,
    ) -> None:
        super().__init__(connection)
        self._rng = rng
        self._id = UUID(int=rng.getrandbits(128), version=4)
        self._thresholds = thresholds
        self._sweep = sweep
        self._ticks = 0

    async def tick(self) -> int:
        """Do a bounded amount of work; return the number of tasks that changed."""
        self._ticks += 1
        touched = 0
        for queue, take in ((REQUESTS, self._request), (RESULTS, self._result), (FINALIZATIONS, self._finalization)):
            for message, body in await self.read(queue):
                if await take(body):
                    await self.archive(queue, message)
                    touched += 1
        for row in await self._connection.fetch(SQL["ready_tasks"], 20):
            touched += await self.discover(row["task_uuid"], row["current_state"])
        if self._ticks % self._sweep == 0:
            touched += await self.sweep()
        return touched

    async def sweep(self) -> int:
        """Run the staleness detector; return the number of tasks that it dead-lettered."""
        return int(await self._connection.fetchval(SQL["stale"], *self._thresholds))

    async def discover(self, task: UUID, state: str) -> bool:
        """Continue a task that the poller found."""
        if state == "pending":
            if not await self._go(task, "pending", "initializing", "Start"):
                return False
            return await self._evaluate(task, "initializing")
        if state == "waiting_for_retry":
            return await self._enqueue(task, "waiting_for_retry", "RetryReady")
        if not await self._go(task, state, "evaluating_results", "DependenciesReady"):
            return False
        return await self._evaluate(task, "evaluating_results")

    async def _request(self, body: dict[str, Any]) -> bool:
        """Create a task with its steps and edges, unless its identity exists."""
        if not parses(body):
            return False
        asked = body["task_request"]
        known = template(asked["namespace"], asked["name"], asked["version"])
        async with self._connection.transaction():
            named = await self._connection.fetchval(
                SQL["template"], asked["namespace"], asked["name"], asked["version"]
            )
            if known is None or named is None:
                return False
            identity = hashlib.sha256(f"{named}{json.dumps(asked['context'], sort_keys=True)}".encode()).hexdigest()
            parent = asked.get("parent_correlation_id")
            task = await self._connection.fetchval(
                SQL["insert_task"],
                named,
                json.dumps(asked["context"]),
                identity,
                asked.get("priority") or 0,
                UUID(asked["correlation_id"]),
                UUID(parent) if parent else None,
                asked["initiator"],
                asked["source_system"],
                asked["reason"],
                json.dumps(asked.get("tags") or []),
            )
            if task is None:
                return True
            steps = await self._create(task, [s for s in known.steps if not s.made_by])
        await self.move_task(task, None, "pending", "Initial", self._id)
        for row in steps:
            await self.move_step(row[0], None, "pending", {"type": "Initial"})
        return True

    async def _create(self, task: UUID, steps: Sequence[Step]) -> list[asyncpg.Record]:
        """Insert steps with their edges, without transitions."""
        columns = ([s.name for s in steps], [s.max_attempts for s in steps], [s.retryable for s in steps])
        rows = await self._connection.fetch(SQL["insert_steps"], task, *columns)
        pairs = [(up, s.name) for s in steps for up in s.after]
        await self._connection.execute(SQL["insert_edges"], task, [p[0] for p in pairs], [p[1] for p in pairs])
        return list(rows)

    async def _decide(self, task: UUID, name: str) -> None:
        """Create the steps that a decision chooses, in one transaction."""
        row = await self._connection.fetchrow(SQL["template_of"], task)
        known = template(row["namespace"], row["name"], row["version"]) if row else None
        choices = known.choices(name) if known else ()
        if known and choices:
            async with self._connection.transaction():
                await self._create(task, known.made(name, self._rng.choice(choices)))

    async def _result(self, body: dict[str, Any]) -> bool:
        """Process the result of a step, then evaluate its task."""
        task, step = UUID(body["task_uuid"]), UUID(body["step_uuid"])
        row = await self._connection.fetchrow(SQL["step"], step)
        if row is None or row["results"] is None:
            return row is None
        state = await self.step_state(step)
        if state == "enqueued_for_orchestration":
            if not await self.move_step(step, state, "complete", {"type": "Complete"}):
                return False
            await self._connection.execute(SQL["processed"], step)
            await self._decide(task, row["name"])
        elif state == "enqueued_as_error_for_orchestration":
            await self._failure(step, row)
        now = await self.task_state(task)
        if now == "steps_in_process":
            if not await self._go(task, now, "evaluating_results", "StepCompleted"):
                return False
            now = "evaluating_results"
        if now == "evaluating_results":
            await self._evaluate(task, now)
        return now not in ("pending", "initializing")

    async def _failure(self, step: UUID, row: asyncpg.Record) -> None:
        error = (json.loads(row["results"]).get("error") or {}) if row["results"] else {}
        state = "enqueued_as_error_for_orchestration"
        if error.get("retryable", True) and row["retryable"] and (row["attempts"] or 0) < (row["max_attempts"] or 3):
            if await self.move_step(
                step, state, "waiting_for_retry", {"type": "WaitForRetry", "data": error.get("message")}
            ):
                await self._connection.execute(SQL["backoff"], step, min(2 ** (row["attempts"] or 1), 60))
        elif await self.move_step(step, state, "error", {"type": "Fail", "data": error.get("message")}):
            await self._connection.execute(SQL["failed"], step)

    async def _finalization(self, body: dict[str, Any]) -> bool:
        """Process a finalization message; return False if the task's state does not fit.

        The queue then delivers the message again. A blocked task becomes a failed one.
        """
        task = UUID(body["task_uuid"])
        state = await self.task_state(task)
        if state == "blocked_by_failures":
            return await self._go(task, state, "error", "GiveUp")
        context = await self._connection.fetchrow(SQL["context"], task)
        if context is None or state in TERMINAL:
            return True
        if context["execution_status"] == "all_complete" and state != "pending":
            return await self._complete(task, state)
        if context["execution_status"] == "processing":
            return True
        return state == "evaluating_results" and await self._evaluate(task, state)

    async def _evaluate(self, task: UUID, state: str) -> bool:
        context = await self._connection.fetchrow(SQL["context"], task)
        status = context["execution_status"] if context else ""
        if status == "blocked_by_failures":
            return await self._go(task, state, "blocked_by_failures", "PermanentFailure")
        if status == "has_ready_steps":
            return await self._enqueue(task, state, "ReadyStepsFound")
        if status == "all_complete" or state == "initializing":  # the engine takes it for a task without steps
            return await self._complete(task, state)
        if status == "processing":
            return True  # the task stays here until the next result
        return await self._go(task, state, "waiting_for_dependencies", "NoDependenciesReady")

    async def _enqueue(self, task: UUID, state: str, event: str) -> bool:
        """Enqueue the ready steps: for each, the transition and then the message."""
        if not await self._go(task, state, "enqueuing_steps", event):
            return False
        queue = await self.queue_of(task)
        correlation = await self._connection.fetchval(SQL["correlation"], task)
        for step, was in await self._connection.fetch(SQL["ready_steps"], task):
            current = was
            if current == "waiting_for_retry":
                if not await self.move_step(step, current, "pending", {"type": "Retry"}):
                    continue
                current = "pending"
            if await self.move_step(step, current, "enqueued", {"type": "Enqueue"}):
                await self.send(queue, task_uuid=task, step_uuid=step, correlation_id=correlation)
        return await self._go(task, "enqueuing_steps", "steps_in_process", "StepsEnqueued")

    async def _complete(self, task: UUID, state: str) -> bool:
        """Complete a task under its row lock, without a check of the transition rules."""
        try:
            async with self._connection.transaction():
                await self._connection.execute(SQL["complete_locks"], task)
                number = await self._connection.fetchval(SQL["task_next"], task)
                await self._connection.execute(SQL["task_leave"], task)
                metadata = json.dumps({"event": "AllStepsSuccessful"})
                await self._connection.execute(SQL["task_enter"], task, state, "complete", metadata, number, self._id)
                await self._connection.execute(SQL["complete_task"], task)
        except Overtaken:
            self.overtaken += 1
            return False
        return True

    async def _go(self, task: UUID, was: str, to: str, event: str) -> bool:
        return await self.move_task(task, was, to, event, self._id)
