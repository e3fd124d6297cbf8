"""Demo of tasker: an orchestrator, a worker, queues, and customers."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random
from typing import Final
from uuid import UUID

from tests.simulators.engine import Arrivals, Connection, Engine
from tests.simulators.tasker.orchestrator import Orchestrator
from tests.simulators.tasker.protocol import REQUESTS
from tests.simulators.tasker.templates import TEMPLATES, UNSERVED
from tests.simulators.tasker.worker import Worker

ARRIVALS: Final = 300
TICKS_BETWEEN: Final = 16


class Tasker(Engine):
    """The engine tasker in the demo, with its queues in the same database."""

    name = "tasker"

    def worker(self, connection: Connection, seed: int) -> Simulation:
        return Simulation(connection, self.next_random(seed))


class Simulation:
    """The orchestrator and the worker in turn, on one connection."""

    def __init__(self, connection: Connection, rng: Random) -> None:
        served = sorted({t.namespace for t in TEMPLATES} - UNSERVED)
        self._orchestrator = Orchestrator(connection, rng)
        self._worker = Worker(connection, rng, served)
        self._rng = rng
        self._ready = False
        self._arrivals = Arrivals(ARRIVALS, TICKS_BETWEEN)

    async def tick(self) -> int:
        if not self._ready:
            await self._orchestrator.ready()
            self._ready = True
        if self._arrivals.due():
            await self._arrive()
        return await self._orchestrator.tick() + await self._worker.tick()

    async def _arrive(self) -> None:
        """Request a task, as a customer who orders or returns something."""
        asked = self._rng.choice([t for t in TEMPLATES if t.namespace == "shop"])
        await self._orchestrator.send(
            REQUESTS,
            request_id=str(UUID(int=self._rng.getrandbits(128), version=4)),
            task_request={
                "name": asked.name,
                "namespace": asked.namespace,
                "version": asked.version,
                "context": {"order_id": self._rng.randint(100_000, 999_999_999)},
                "initiator": "web",
                "source_system": "shop",
                "reason": "requested",
                "tags": [],
                "options": {},
                "priority": self._rng.choice((0, 0, 0, 5)),
                "correlation_id": UUID(int=self._rng.getrandbits(128), version=4),
                "parent_correlation_id": None,
            },
            metadata={
                "requested_at": datetime.now(UTC).isoformat(),
                "requester": "web",
                "priority": "Normal",
                "custom": {},
            },
        )
