"""Base classes of the simulated engines.

Each engine is a package next to this module: it subclasses `Engine` and keeps its statements in a ``.sql`` file. An
engine works in the first schema of the connection's ``search_path``, so that a test can choose the schema.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from console.demo.engine import Connection, FolderEngine, Statements, Worker

__all__ = ["Connection", "Engine", "FolderEngine", "Statements", "Worker"]


class Engine(ABC):
    """An engine with rows of each way to be stuck, and with its executor.

    ``name`` is the name of its folder in ``queries/engines``.
    """

    name: str

    async def install(self, connection: Connection) -> None:
        """Create the engine's tables in the current schema."""
        await FolderEngine(self.name).install(connection)

    @abstractmethod
    async def fill(self, connection: Connection, seed: int) -> None:
        """Insert the rows.

        A seed always gives the same rows. Ages count back from the server's ``now()``.
        """

    @abstractmethod
    def worker(self, connection: Connection, seed: int) -> Worker:
        """Return the executor. Its faults keep the stuck tasks stuck."""
