"""Engines of the demo: tables, rows, and a worker that runs statements.

All three are files in the engine's folder: ``schema.sql``, ``fixture.sql`` and ``worker.sql``. A worker runs the
sections of its file in order, each in a transaction of its own, and keeps nothing between them: the rows tell
what it has taken. So all engines have one worker. What it does is true to the engine's protocol as far as a person
can see it; the races of tests need more (``tests/simulators``).

A further fixture, such as ``fixture.mirror.sql``, makes a schema of its name, ``mirror``. Names in these files are
unqualified: the ``search_path`` names the schema. The small demo has the engines of SMALL, without the
lines of their fixtures that end in ``--all``. Apart from ``queries.db``, only this package uses asyncpg. A worker
plays the engine, so it must not use the console's own way to the database.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import asyncpg

from queries.contract.folder import FIXTURE, schema_scripts
from queries.files.statement import SqlSection, sections
from queries.records.record import Record

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

SMALL: Final = ("eternaltwin", "estuary", "agent_jobs", "uni2work", "tasker")
TICK_SECONDS: Final = 0.5
CONNECTION_ERRORS: Final = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError)
OPTIONS: Final = r"(?: every \d+ ticks)?,?(?: at most \d+ times)?"  # of a section of ``worker.sql``

log = logging.getLogger(__name__)


class Worker(Protocol):
    """Executor of an engine. Each tick does a bounded amount of work."""

    async def tick(self) -> int:
        """Do a bounded amount of work; return the number of nodes that changed."""


class Engine(Protocol):
    """Tables and rows of an engine in a schema of its ``name``, and its worker."""

    @property
    def name(self) -> str:
        """The name of its schema."""

    async def install(self, connection: Connection) -> None:
        """Create the engine's tables in the current schema."""

    async def fill(self, connection: Connection, seed: int) -> None:
        """Insert the rows. Ages count back from the server's ``now()``."""

    def worker(self, connection: Connection, seed: int) -> Worker:
        """Return the executor. What is stuck in the rows stays stuck while it works."""


class Turn(Record):
    """A statement of a worker, run in every ``every``-th tick.

    It is run at most ``most`` times, if that is a number.
    """

    name: str
    text: str
    every: int = 1
    most: int | None = None


def turns(text: str) -> list[Turn]:
    """Return the statements of a ``worker.sql``.

    Each follows a line such as ``-- :enqueue every 16 ticks, at most 300 times``.
    """

    def number(section: SqlSection, word: str) -> int | None:
        match = re.search(rf"{word} (\d+)", section.options)
        return int(match[1]) if match else None

    return [
        Turn(
            name=each.name,
            text=text[each.start : each.end],
            every=number(each, "every") or 1,
            most=number(each, "most"),
        )
        for each in sections(text, OPTIONS)
    ]


class Statements:
    """SQL statements by name, from a file with a line ``-- :name`` above each."""

    def __init__(self, source: Traversable) -> None:
        text = source.read_text("utf-8")
        self._texts = {section.name: text[section.start : section.end].strip() for section in sections(text)}

    def __getitem__(self, name: str) -> str:
        return self._texts[name]


SQL: Final = Statements(files("console.demo").joinpath("setup.sql"))


class FolderEngine:
    """An engine whose rows and worker are files of its folder.

    ``fixture`` names the file of the rows; that of a second schema is not ``fixture.sql``. ``small``: without the rows
    of the lines that end in ``--all``.
    """

    def __init__(self, folder: str, fixture: str = FIXTURE, *, small: bool = False) -> None:
        self._folder = files("queries").joinpath("engines", folder)
        self._fixture, self._small = fixture, small
        self.engine = folder
        self.name = fixture.removeprefix("fixture.").removesuffix("sql").rstrip(".") or folder

    def file(self, name: str) -> str:
        """Return the text of a file, or ""."""
        file = self._folder.joinpath(name)
        return file.read_text("utf-8") if file.is_file() else ""

    async def install(self, connection: Connection) -> None:
        for name in schema_scripts(entry.name for entry in self._folder.iterdir()):
            await connection.execute(self.file(name))

    async def fill(self, connection: Connection, seed: int) -> None:
        await connection.execute(SQL["seed"], seed % 1000 / 1000)
        async with connection.transaction():  # all ages count from the same now()
            text = self.file(self._fixture)
            await connection.execute(re.sub(r"(?m)^.*--all\n", "", text) if self._small else text)

    def worker(self, connection: Connection, seed: int) -> FolderWorker:
        return FolderWorker(connection, turns(self.file("worker.sql")) if self.name == self.engine else [])


def folder_engines() -> list[FolderEngine]:
    """Return the engines of the package, with each of their fixtures."""
    folders = sorted(files("queries").joinpath("engines").iterdir(), key=lambda folder: folder.name)
    return [
        FolderEngine(folder.name, file.name)
        for folder in folders
        if folder.is_dir()
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.name.startswith("fixture.") and file.name.endswith(".sql")
    ]


class FolderWorker:
    """A worker that runs the statements of a file.

    ``errors`` has the last error of each section. Another session may have had the row, as in the engine itself.
    """

    def __init__(self, connection: Connection, given: list[Turn]) -> None:
        self._connection, self._sections = connection, given
        self._ticks = 0
        self._runs = dict.fromkeys((section.name for section in given), 0)
        self.errors: dict[str, str] = {}

    async def tick(self) -> int:
        changed = 0
        for section in self._sections:
            if self._ticks % section.every == 0 and (section.most is None or self._runs[section.name] < section.most):
                self._runs[section.name] += 1
                try:
                    rows = (await self._connection.execute(section.text)).rpartition(" ")[2]
                    changed += int(rows) if rows.isdigit() else 0
                except asyncpg.PostgresError as error:
                    if self._connection.is_closed():
                        raise
                    self.errors[section.name] = str(error)
                    log.info("%s: %s", section.name, error)
        self._ticks += 1
        return changed


async def run_worker(engine: Engine, dsn: str, seed: int) -> None:
    """Run an engine's worker until cancelled; reconnect after each lost connection.

    The worker ticks every half second. No error of the server ends this loop: a stopped worker would look like a fault
    of the engine.
    """
    while True:
        with contextlib.suppress(*CONNECTION_ERRORS):
            connection = await connect(dsn, engine.name)
            try:
                worker = engine.worker(connection, seed)
                while True:
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
