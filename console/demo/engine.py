"""What an engine of the demo is: a schema, data, and a worker that follows the engine's real protocol.

An engine is a module or package beside this one. It subclasses `Engine`; its statements stand in a ``.sql`` file of
its own (`Statements`); ``console.demo.run.ENGINES`` lists it. Everything is created and worked on in the first schema
of the connection's ``search_path``, so that a test can put an engine wherever it likes.

This package alone, outside ``queries.db.database``, uses asyncpg: a worker is the engine's part, not the console's, and
must not share the console's habits.
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
LOST: Final = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError)

log = logging.getLogger(__name__)


class Worker(Protocol):
    """Something that works on an engine's tasks, one bounded round at a time."""

    async def tick(self) -> int:
        """Do one round; returns how many tasks it touched."""


class Engine(ABC):
    """One engine. ``name`` is that of its folder under ``queries/engines``, and of its schema in the demo."""

    name: str

    async def install(self, connection: Connection) -> None:
        """Create the engine's tables in the current schema."""
        await connection.execute(files("queries").joinpath("engines", self.name, "schema.sql").read_text("utf-8"))

    @abstractmethod
    async def fill(self, connection: Connection, seed: int) -> None:
        """Insert the demo's data: the same for the same seed, with ages counted back from the server's ``now()``."""

    @abstractmethod
    def worker(self, connection: Connection, seed: int) -> Worker:
        """The executor, as it runs in the demo: with the faults that keep what is stuck on purpose stuck."""


class Statements:
    """A file of SQL statements, each under a line ``-- name: ...``; read by that name as attributes of the text."""

    def __init__(self, source: Traversable) -> None:
        _, *parts = source.read_text("utf-8").split("\n-- name: ")
        self._texts = {name.strip(): text.strip() for name, _, text in (part.partition("\n") for part in parts)}

    def __getitem__(self, name: str) -> str:
        return self._texts[name]


async def drive(engine: Engine, dsn: str, seed: int, going: asyncio.Event) -> None:
    """Run an engine's worker for ever, a tick every half second while ``going`` is set, and again after every loss.

    A worker that stops would be taken for the engine's fault, so nothing the server does ends this.
    """
    while True:
        with contextlib.suppress(*LOST):
            connection = await connect(dsn, engine.name)
            try:
                worker = engine.worker(connection, seed)
                while True:
                    await going.wait()
                    await worker.tick()
                    await asyncio.sleep(TICK_SECONDS)
            finally:
                connection.terminate()
        log.info("%s: the worker lost its connection", engine.name)
        await asyncio.sleep(TICK_SECONDS)


async def connect(dsn: str, schema: str) -> Connection:
    """A connection of an engine's own, at home in ``schema``."""
    settings: dict[str, Any] = {"search_path": schema, "application_name": f"{schema} worker"}
    return await asyncpg.connect(dsn, server_settings=settings, timeout=5)
