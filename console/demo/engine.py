"""Base classes of the demo's engines.

An engine consists of a schema, data, and a worker that follows the engine's real protocol.

Each engine is a package next to this module. It subclasses `Engine` and keeps its statements in a ``.sql`` file
(`Statements`); ``console.demo.run.ENGINES`` lists it. An engine works in the first schema of the connection's
``search_path``, so that a test can choose the schema.

Apart from ``queries.db``, only this package uses asyncpg. A worker plays the engine, so it must not use the
console's own way to the database.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from abc import ABC, abstractmethod
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import asyncpg

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

TICK_SECONDS: Final = 0.5
CONNECTION_ERRORS: Final = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError)

log = logging.getLogger(__name__)


class Worker(Protocol):
    """Simulated executor of an engine. Each tick does a bounded amount of work."""

    async def tick(self) -> int:
        """Do a bounded amount of work; return the number of tasks that changed."""


class Rows(ABC):
    """Tables and rows of an engine.

    ``name`` is the name of its folder in ``queries/engines`` and of its schema in the demo.
    """

    name: str

    async def install(self, connection: Connection) -> None:
        """Create the engine's tables in the current schema."""
        await connection.execute(files("queries").joinpath("engines", self.name, "schema.sql").read_text("utf-8"))

    @abstractmethod
    async def fill(self, connection: Connection, seed: int) -> None:
        """Insert the demo's data.

        A seed always gives the same rows. Ages count back from the server's ``now()``.
        """


class Engine(Rows):
    """An engine of the demo, with its executor."""

    @abstractmethod
    def worker(self, connection: Connection, seed: int) -> Worker:
        """Return the demo's executor. Its faults keep the stuck tasks stuck."""


class Statements:
    """SQL statements by name, from a file with a line ``-- name: ...`` above each."""

    def __init__(self, source: Traversable) -> None:
        _, *parts = source.read_text("utf-8").split("\n-- name: ")
        self._texts = {name.strip(): text.strip() for name, _, text in (part.partition("\n") for part in parts)}

    def __getitem__(self, name: str) -> str:
        return self._texts[name]


async def run_worker(engine: Engine, dsn: str, seed: int, running: asyncio.Event) -> None:
    """Run an engine's worker until cancelled; reconnect after each lost connection.

    The worker ticks every half second while ``running`` is set. No error of the server ends this loop: a stopped
    worker would look like a fault of the engine.
    """
    while True:
        with contextlib.suppress(*CONNECTION_ERRORS):
            connection = await connect(dsn, engine.name)
            try:
                worker = engine.worker(connection, seed)
                while True:
                    await running.wait()
                    await worker.tick()
                    await asyncio.sleep(TICK_SECONDS)
            finally:
                connection.terminate()
        log.info("%s: the worker lost its connection", engine.name)
        await asyncio.sleep(TICK_SECONDS)


async def connect(dsn: str, schema: str) -> Connection:
    """Open a connection whose ``search_path`` is ``schema``."""
    settings: dict[str, Any] = {"search_path": schema, "application_name": f"{schema} worker"}
    return await asyncpg.connect(dsn, server_settings=settings, timeout=5)
