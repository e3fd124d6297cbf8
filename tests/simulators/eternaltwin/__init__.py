"""Demo of eternaltwin: its jobs, and a runner that polls their tasks."""

from __future__ import annotations

from datetime import datetime
from random import Random
from typing import Final

from tests.simulators.engine import Arrivals, Connection, Engine
from tests.simulators.eternaltwin.data import make
from tests.simulators.eternaltwin.kinds import KINDS, State, encode, new_id
from tests.simulators.eternaltwin.runner import SQL, Runner

ARRIVALS: Final = 300
TICKS_BETWEEN: Final = 24


class Eternaltwin(Engine):
    """The engine eternaltwin in the demo."""

    name = "eternaltwin"

    def __init__(self) -> None:
        super().__init__()
        self._filled_at: datetime | None = None

    async def fill(self, connection: Connection, seed: int) -> None:
        await make(seed).insert(connection)
        self._filled_at = await connection.fetchval(SQL["clock"])

    def worker(self, connection: Connection, seed: int) -> Simulation:
        rng = self.next_random(seed)
        return Simulation(connection, Runner(connection, rng, blind_before=self._filled_at), rng)


class Simulation:
    """The runner, and users who sometimes create a job."""

    def __init__(self, connection: Connection, runner: Runner, rng: Random) -> None:
        self._connection = connection
        self._runner = runner
        self._rng = rng
        self._arrivals = Arrivals(ARRIVALS, TICKS_BETWEEN)

    async def tick(self) -> int:
        if self._arrivals.due():
            await arrive(self._connection, self._rng)
        return await self._runner.tick()


async def arrive(connection: Connection, rng: Random) -> None:
    """Create a job with its root task, as a user who asks for an archive."""
    kind = rng.choice(("ArchiveHammerfestUser", "ArchiveDinoparcUser", "ArchiveTwinoidUser"))
    user = {"server": "hammerfest.fr", "id": str(rng.randint(100, 999_999))}
    state: State = {"user": user, "phase": KINDS[kind].phases[0].name, "retries": 0, "spawn": rng.randint(1, 4)}
    job_id, task_id = new_id(rng), new_id(rng)
    async with connection.transaction():
        at = await connection.fetchval(SQL["clock"])
        await connection.execute(SQL["insert_job"], job_id, at, encode(state))
        columns = [task_id], [kind], [KINDS[kind].version], [encode(state)]
        await connection.execute(SQL["spawn"], job_id, at, *columns)
