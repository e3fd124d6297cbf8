"""Builder of rows for tasker's tables, as the engine writes them.

    made = data.task("fulfil_order", state="blocked_by_failures", steps={"charge_card": failed()}, rest=complete())
    made.id, made.steps["charge_card"]

Every random choice uses one seed. Ids are UUID v7 in the order of the ages. They count from a fixed day, so that a
seed always gives the same ids.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final
from uuid import UUID

from queries.records.record import Record
from tests.simulators.engine import Connection
from tests.simulators.tasker.protocol import SQL
from tests.simulators.tasker.step_history import Past, StepHistory, pending
from tests.simulators.tasker.templates import TEMPLATES, Template
from tests.simulators.tasker.worker import envelope

YEAR: Final = 365 * 86400.0
DEAD_AFTER: Final = 300.0  # seconds: an older claim is that of a dead worker
DAY_ONE: Final = 1_767_225_600_000  # 2026-01-01, in milliseconds
BEFORE: Final = ("pending", "initializing", "enqueuing_steps", "steps_in_process", "evaluating_results")


class CreatedTask(Record):
    """A task of the builder, with its steps by name."""

    id: UUID
    steps: dict[str, UUID]
    queue: str
    correlation: UUID


class Data:
    """Rows to insert."""

    def __init__(self, seed: int, templates: Sequence[Template] = TEMPLATES) -> None:
        self.rng = Random(f"tasker/{seed}")
        self._made = 0
        self._templates = {t.name: t for t in templates}
        self._orchestrator = UUID(int=self.rng.getrandbits(128), version=4)
        self._worker, self._dead_worker = (UUID(int=self._orchestrator.int ^ n) for n in (1, 2))
        self.rows: dict[str, list[tuple[Any, ...]]] = {
            name: []
            for name in "namespaces templates names tasks steps edges task_states step_states dead_letters".split()  # noqa: SIM905
        }
        self.messages: list[tuple[str, dict[str, str], float, int]] = []
        spaces = {t.namespace: self.id(YEAR) for t in templates}
        self.rows["namespaces"] = [(i, name, YEAR) for name, i in spaces.items()]
        self._named = {t.name: self.id(YEAR) for t in templates}
        self.rows["templates"] = [
            (self._named[t.name], spaces[t.namespace], t.name, t.version, json.dumps(t.configuration), YEAR)
            for t in templates
        ]
        names = dict.fromkeys(s.name for t in templates for s in t.steps)
        self.rows["names"] = [(self.id(YEAR), name, YEAR) for name in names]

    def id(self, age: float) -> UUID:
        """Return a UUID v7 as of ``age`` seconds ago."""
        self._made = (self._made + 1) & 0xFFF  # keeps the order of ids of the same time
        at = (DAY_ONE - round(age * 1000)) & ((1 << 48) - 1)
        bits = (at << 80) | (7 << 76) | (self._made << 64) | (2 << 62) | self.rng.getrandbits(62)
        return UUID(int=bits)

    def task(
        self,
        name: str,
        *,
        state: str = "steps_in_process",
        ago: float = 5,
        age: float | None = None,
        steps: Mapping[str, StepHistory] | None = None,
        rest: StepHistory | None = None,
        priority: int = 0,
        context: object = None,
        tags: Sequence[str] = (),
        current: bool = True,
    ) -> CreatedTask:
        """Add a task that has been in ``state`` for ``ago`` seconds.

        ``steps`` gives histories by name; the other steps get ``rest``. ``current=False`` leaves the task without a
        most recent transition.
        """
        template = self._templates[name]
        born = max(age or 0, ago + 60)
        task, correlation = self.id(born), UUID(int=self.rng.getrandbits(128), version=4)
        context_json = json.dumps(context if context is not None else {"order_id": self.rng.randint(10_000, 99_999)})
        self.rows["tasks"].append(
            (
                task,
                self._named[name],
                born,
                state == "complete",
                priority,
                correlation,
                None,
                context_json,
                json.dumps(list(tags)),
            )
        )
        before = () if state == "pending" else BEFORE[: BEFORE.index(state)] if state in BEFORE else BEFORE
        past = (*((s, ago + 1 + (born - ago - 1) * (1 - n / 10)) for n, s in enumerate(before)), (state, ago))
        self._past("task_states", task, past, current, metadata={"event": "demo"})
        ids: dict[str, UUID] = {}
        for step in template.steps:
            shape = (steps or {}).get(step.name) or (None if step.made_by else rest or pending(born))
            if shape is None:
                continue  # the decision step has not created it
            ids[step.name] = self._step(task, step.name, shape, born, step.max_attempts)
        pairs = [(up, s.name) for s in template.steps for up in s.after if s.name in ids and up in ids]
        self.rows["edges"] += [(ids[up], ids[down], born) for up, down in pairs]
        return CreatedTask(id=task, steps=ids, queue=f"worker_{template.namespace}_queue", correlation=correlation)

    def dead_letter(
        self,
        made: CreatedTask,
        *,
        was: str = "waiting_for_dependencies",
        reason: str = "staleness_timeout",
        age: float = 3600,
        decision: str = "pending",
        note: str | None = None,
        by: str | None = None,
    ) -> UUID:
        """Add a dead letter of a task."""
        dead_letter = self.id(age)
        decided = None if decision == "pending" else age / 2
        self.rows["dead_letters"].append((dead_letter, made.id, was, reason, age, decision, decided, note, by))
        return dead_letter

    def message(
        self, made: CreatedTask, step: str, *, age: float = 1, reads: int = 0, queue: str | None = None
    ) -> None:
        """Add a message about a step to its worker queue, or to ``queue``."""
        body = {"task_uuid": str(made.id), "step_uuid": str(made.steps[step]), "correlation_id": str(made.correlation)}
        self.messages.append((queue or made.queue, body, age, reads))

    def _step(self, task: UUID, name: str, shape: StepHistory, born: float, most: int) -> UUID:
        made = max(born, shape.past[0][1]) if shape.past else shape.made or born
        step = self.id(made)
        results = None
        if shape.spent is not None:
            worker = str(UUID(int=self.rng.getrandbits(128), version=4))
            results = json.dumps(envelope(step, shape.spent, worker, shape.error, retryable=shape.retryable))
        self.rows["steps"].append(
            (
                step,
                task,
                name,
                made,
                shape.attempts,
                shape.most or most,
                shape.retryable,
                shape.at_work,
                shape.done,
                shape.tried,
                shape.backoff,
                results,
                json.dumps({"step": name}),
                json.dumps(shape.checkpoint or {}),
                shape.stamped,
            )
        )
        self._past("step_states", step, shape.past, current=True, metadata={"event": '{"type":"Demo"}'})
        return step

    def _past(self, table: str, key: UUID, past: Past, current: bool, metadata: dict[str, Any]) -> None:
        was: str | None = None
        for number, (state, ago) in enumerate(past, 1):
            last = number == len(past) and current
            row: tuple[Any, ...] = (self.id(ago), key, was, state, number, last, ago)
            if table == "task_states":
                row = (*row, self._orchestrator)
            data = dict(metadata)
            if table == "step_states" and state == "in_progress":
                data["worker_uuid"] = str(self._dead_worker if last and ago >= DEAD_AFTER else self._worker)
            self.rows[table].append((*row, json.dumps(data)))
            was = state

    async def insert(self, connection: Connection) -> None:
        """Insert all rows in one transaction: all ages count from the same ``now()``."""
        async with connection.transaction():
            await connection.execute("SET LOCAL TimeZone = 'UTC'")
            for name, rows in self.rows.items():
                if rows:
                    await connection.execute(SQL[f"fill_{name}"], *(list(column) for column in zip(*rows, strict=True)))
            if not await connection.fetchval(SQL["has_queues"]):
                return
            await connection.execute(SQL["queues"])
            for queue, body, age, reads in self.messages:
                sent = await connection.fetchval(SQL["send"], queue, json.dumps(body))
                await connection.execute(SQL["aged"].replace("QUEUE", f"q_{queue.lower()}"), sent, float(age), reads)
