"""Base classes of the simulated engines.

Each engine is a package next to this module: it subclasses `Engine` and keeps its statements in a ``.sql`` file. An
engine works in the first schema of the connection's ``search_path``, so that a test can choose the schema.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from random import Random

from console.demo.engine import Connection, FolderEngine, Statements, Worker

__all__ = ["Arrivals", "Connection", "Engine", "FolderEngine", "Statements", "Worker"]


class Engine(ABC):
    """An engine with rows of each way to be stuck, and with its executor.

    ``name`` is the name of its folder in ``queries/engines``.
    """

    name: str

    def __init__(self) -> None:
        self._workers = 0

    def next_random(self, seed: int) -> Random:
        """Return the random numbers of the next worker.

        A replacement must not generate the same ids.
        """
        self._workers += 1
        return Random(f"{seed}/{self._workers}")

    async def install(self, connection: Connection) -> None:
        """Create the engine's tables in the current schema."""
        await FolderEngine(self.name).install(connection)

    async def fill(self, connection: Connection, seed: int) -> None:
        """Insert the rows: those of the demo.

        A seed always gives the same rows. Ages count back from the server's ``now()``.
        """
        await FolderEngine(self.name).fill(connection, seed)

    @abstractmethod
    def worker(self, connection: Connection, seed: int) -> Worker:
        """Return the executor. Its faults keep the stuck tasks stuck."""


class Arrivals:
    """Ticks at which new work arrives: one in ``between``.

    ``limit``: after this number none arrives, which limits the growth of a demo that runs over night.
    """

    def __init__(self, limit: int, between: int) -> None:
        self._limit = limit
        self._between = between
        self._ticks = 0

    def due(self) -> bool:
        """Return True if work arrives at this tick."""
        number, rest = divmod(self._ticks, self._between)
        self._ticks += 1
        return not rest and number < self._limit
