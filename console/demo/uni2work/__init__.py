"""uni2work in the demo: its queue, and two instances that work on it, one of which takes nothing any more."""

from __future__ import annotations

from random import Random
from typing import Final

from console.demo.engine import Connection, Engine
from console.demo.uni2work.data import FAILING, Data, make, usual
from console.demo.uni2work.executor import SQL, Instance, Job, JobFailed

ARRIVALS: Final = 4000  # so that a demo left alone over night does not grow without end
AT_ONCE: Final = 3
TICKS_BETWEEN_CRON: Final = 40


class Uni2work(Engine):
    """The engine as the demo has it."""

    name = "uni2work"

    def __init__(self) -> None:
        self._data = Data(0)
        self._workers = 0

    async def fill(self, connection: Connection, seed: int) -> None:
        self._data = make(seed)
        await self._data.insert(connection)

    def worker(self, connection: Connection, seed: int) -> Busy:
        self._workers += 1
        return Busy(connection, self._data, Random(f"{seed}/{self._workers}"))


class Busy:
    """An instance at work, the jobs that its users and its cron make, and signs of life of another that hangs."""

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
            # A row that is queued is locked for a tick, so that what is at work can be seen.
            job = await instance.lock(row["id"])
            self._begun += [job] if job else []
            if len(self._begun) >= AT_ONCE and self._rng.random() < 0.8:
                break
        return done

    async def _work(self, job: Job) -> None:
        if FAILING in job.content:
            raise JobFailed("HTTP 503 from the mail gateway")
