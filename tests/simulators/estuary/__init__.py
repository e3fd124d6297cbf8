"""Demo of estuary: its tasks, and executors that poll them."""

from __future__ import annotations

import json
from random import Random
from typing import Final

from tests.simulators.engine import Arrivals, Connection, Engine
from tests.simulators.estuary import kinds
from tests.simulators.estuary.executor import SQL, Executor

ARRIVALS: Final = 300
TICKS_BETWEEN: Final = 16


class Estuary(Engine):
    """The engine estuary in the demo."""

    name = "estuary"

    def worker(self, connection: Connection, seed: int) -> Simulation:
        return Simulation(connection, self.next_random(seed))


class Simulation:
    """The engine's two kinds of process, and users who create tasks."""

    def __init__(self, connection: Connection, rng: Random) -> None:
        self._connection = connection
        self._rng = rng
        self._arrivals = Arrivals(ARRIVALS, TICKS_BETWEEN)
        agent = [type_ for type_ in kinds.POLLS if type_ != kinds.DATA_PLANE]
        self._executors = (
            Executor(connection, rng, types=agent, timeout=300.0, permits=5),
            Executor(
                connection,
                rng,
                types=[kinds.DATA_PLANE],
                timeout=60.0,
                permits=1,
                poll_ticks=lambda rng: rng.randint(2, 9),
            ),
        )

    async def tick(self) -> int:
        if self._arrivals.due():
            await arrive(self._connection, self._rng)
        return sum([await executor.tick() for executor in self._executors])


async def arrive(connection: Connection, rng: Random) -> None:
    """Create a task: a publication, a discovery or a FIBONACCI sum."""
    type_ = rng.choice((kinds.PUBLICATIONS, kinds.DISCOVERS, kinds.FIBONACCI))
    message = {"value": rng.randint(4, 6)} if type_ == kinds.FIBONACCI else {"type": "queued"}
    async with connection.transaction():
        if type_ == kinds.FIBONACCI:
            task = await connection.fetchval(SQL["new_id"])
            await connection.execute(SQL["create"], task, type_, None)
        else:
            task = await connection.fetchval(SQL["queue"], type_)
        await connection.execute(SQL["send"], task, kinds.ZERO, json.dumps(message))
