"""Demo of agent_jobs: a mirror of a queue in Redis, and a simulated queue."""

from __future__ import annotations

from random import Random
from typing import Final

from tests.simulators.agent_jobs.data import Data, error_of, make
from tests.simulators.agent_jobs.executor import RedisQueue
from tests.simulators.engine import Arrivals, Connection, Engine

ARRIVALS: Final = 2000
TICKS_BETWEEN: Final = 4
QUIET: Final = 5  # the agent of the old waiting job gets no new jobs, which would overtake it


class AgentJobs(Engine):
    """The engine agent_jobs in the demo."""

    name = "agent_jobs"

    def __init__(self) -> None:
        self._data = Data(0)
        self._bull: RedisQueue | None = None

    async def fill(self, connection: Connection, seed: int) -> None:
        self._data = make(seed)
        await self._data.insert(connection)

    def worker(self, connection: Connection, seed: int) -> Simulation:
        first = self._data.next if self._bull is None else self._bull.next
        self._bull = RedisQueue(connection, first=first)
        return Simulation(self._bull, self._data, Random(seed))


class Simulation:
    """The queue's workers, and users who sometimes upload a file."""

    def __init__(self, bull: RedisQueue, data: Data, rng: Random) -> None:
        self._bull = bull
        self._data = data
        self._rng = rng
        self._arrivals = Arrivals(ARRIVALS, TICKS_BETWEEN)

    async def tick(self) -> int:
        if self._arrivals.due():
            agent, user, _ = self._rng.choice(self._data.agents[:QUIET])
            error = error_of(self._rng, user) if self._rng.random() < 0.03 else None
            await self._bull.add(agent, user, error=error)
        return await self._bull.tick()
