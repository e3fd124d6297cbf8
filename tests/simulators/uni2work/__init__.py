"""Demo of uni2work: its queue, a working instance, and an instance that hangs."""

from __future__ import annotations

from random import Random
from typing import Final

from tests.simulators.engine import Connection, Engine
from tests.simulators.uni2work.data import FAILING, Data, usual
from tests.simulators.uni2work.executor import SQL, Instance, Job, JobFailed

ARRIVALS: Final = 4000  # limits the growth of a demo that runs over night
MAX_JOBS: Final = 3
TICKS_BETWEEN_CRON: Final = 40


class Uni2work(Engine):
    """The engine uni2work in the demo."""

    name = "uni2work"

    def __init__(self) -> None:
        super().__init__()
        self._data = Data(0)

    def worker(self, connection: Connection, seed: int) -> Simulation:
        return Simulation(connection, self._data, self.next_random(seed))


class Simulation:
    """A working instance, new jobs, and cron records of an instance that hangs."""

    def __init__(self, connection: Connection, data: Data, rng: Random) -> None:
        self._connection = connection
        self._data = data
        self._rng = rng
        self._ticks = 0
        self._instance = Instance(connection, data.alive, work=self._work)
        self._begun: list[Job] = []

    async def tick(self) -> int:
        instance = self._instance
        self._ticks += 1
        if self._ticks < ARRIVALS:
            await instance.queue(usual(self._rng))
        if self._ticks % TICKS_BETWEEN_CRON == 1:
            await instance.queue({"job": "prune-invitations"}, cron=True)
            await self._connection.execute(SQL["record"], '{"job": "truncate-transaction-log"}', self._data.slow)
        begun, self._begun = self._begun, []
        done = sum([await instance.perform(job) for job in begun])
        for row in await self._connection.fetch(SQL["offered"]):
            # Each job stays locked for a tick, so that the console can show running jobs.
            job = await instance.lock(row["id"])
            self._begun += [job] if job else []
            if len(self._begun) >= MAX_JOBS and self._rng.random() < 0.8:
                break
        return done

    async def _work(self, job: Job) -> None:
        if FAILING in job.content:
            raise JobFailed("HTTP 503 from the mail gateway")
