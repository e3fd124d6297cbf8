"""Eternaltwin in the demo: its jobs, and a runner that goes on with them."""

from __future__ import annotations

from datetime import datetime
from random import Random
from typing import Final

from console.demo.engine import Connection, Engine
from console.demo.eternaltwin.data import make
from console.demo.eternaltwin.kinds import KINDS, State, encode, new_id
from console.demo.eternaltwin.runner import SQL, Runner

ARRIVALS: Final = 300  # so that a demo left alone over night does not grow without end
TICKS_BETWEEN: Final = 24


class Eternaltwin(Engine):
    """The engine as the demo has it."""

    name = "eternaltwin"

    def __init__(self) -> None:
        self._filled_at: datetime | None = None
        self._workers = 0

    async def fill(self, connection: Connection, seed: int) -> None:
        await make(seed).insert(connection)
        self._filled_at = await connection.fetchval(SQL["clock"])

    def worker(self, connection: Connection, seed: int) -> Busy:
        self._workers += 1  # one that replaces another must not make the same ids again
        rng = Random(f"{seed}/{self._workers}")
        return Busy(connection, Runner(connection, rng, blind_before=self._filled_at), rng)


class Busy:
    """The runner, and users who ask for a new job every now and then."""

    def __init__(self, connection: Connection, runner: Runner, rng: Random) -> None:
        self._connection = connection
        self._runner = runner
        self._rng = rng
        self._ticks = 0

    async def tick(self) -> int:
        if self._ticks % TICKS_BETWEEN == 0 and self._ticks < ARRIVALS * TICKS_BETWEEN:
            await arrive(self._connection, self._rng)
        self._ticks += 1
        return await self._runner.tick()


async def arrive(connection: Connection, rng: Random) -> None:
    """A user asks for an archive: a new job with its root task, both created at one time."""
    kind = rng.choice(("ArchiveHammerfestUser", "ArchiveDinoparcUser", "ArchiveTwinoidUser"))
    user = {"server": "hammerfest.fr", "id": str(rng.randint(100, 999_999))}
    state: State = {"user": user, "phase": KINDS[kind].phases[0].name, "retries": 0, "spawn": rng.randint(1, 4)}
    job_id, task_id = new_id(rng), new_id(rng)
    async with connection.transaction():
        at = await connection.fetchval(SQL["clock"])
        await connection.execute(SQL["insert_job"], job_id, at, encode(state))
        columns = [task_id], [kind], [KINDS[kind].version], [encode(state)]
        await connection.execute(SQL["spawn"], job_id, at, *columns)
