"""A database with one engine, its executors, and the other people who use it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any, Self, TypeAlias
from urllib.parse import urlsplit

import asyncpg

from console.demo.engine import CONNECTION_ERRORS
from tests import ages
from tests.drills import surroundings
from tests.servers import PostgresServer, analyze

Connection: TypeAlias = "asyncpg.Connection[Any]"

TICK = 0.05


class Scene:
    """One drill's database, to use with ``async with``.

    It ends every session that it opened.


    ``worker``: role of the executors, which is no superuser. ``rows``: the engine's writer of rows.
    """

    def __init__(self, server: PostgresServer, engine: str) -> None:
        self.server = server
        self.key = engine
        self.engine = surroundings.at_work(engine)
        self.console: dict[str, Any] = {}  # options of the workspace
        self.worker = ""
        self.rows: Any = None
        self.replicas: list[PostgresServer] = []
        self._sessions: list[Connection] = []
        self._working: asyncio.Task[None] | None = None
        self._waiting: list[asyncio.Task[Any]] = []
        self._roles: list[str] = []
        self._last: list[str] = []
        self.errors: list[str] = []  # that the executors met

    async def __aenter__(self) -> Self:
        self.dsn = self.console_dsn = self.server.fresh(self.engine.name)
        await self.connect()
        return self

    async def connect(self) -> None:
        """Open the drill's own session."""
        self.admin = await self.session("drill")
        self.sql, self.value = self.admin.execute, self.admin.fetchval

    async def leave(self) -> None:
        """End the drill's own session, which looks like a worker's to the console."""
        await self.admin.close()

    async def hang_up(self) -> None:
        """End all sessions and statements that wait."""
        await self.stop()
        for task in self._waiting:
            task.cancel()
        await asyncio.gather(*self._waiting, return_exceptions=True)
        for session in self._sessions:
            session.terminate()
        self._sessions.clear()

    def at_end(self, *statements: str) -> None:
        """Run these statements as superuser when the drill ends."""
        self._last += statements

    async def __aexit__(self, *_: object) -> None:
        for statement in self._last:
            self.server.sql(statement)
        await self.stop()
        for replica in self.replicas:
            await asyncio.to_thread(replica.close)
        with contextlib.suppress(*CONNECTION_ERRORS):
            await self.connect()
            for gid in await self.admin.fetch("SELECT gid FROM pg_prepared_xacts WHERE database = current_database()"):
                await self.sql(f"ROLLBACK PREPARED '{gid[0]}'")
        await self.hang_up()
        with contextlib.suppress(*CONNECTION_ERRORS):
            self.server.sql(f"DROP DATABASE IF EXISTS {self.database} WITH (FORCE)")
            for role in self._roles:
                self.server.sql(f"DROP ROLE IF EXISTS {role}")

    @property
    def database(self) -> str:
        return urlsplit(self.dsn).path.strip("/")

    async def fill(self) -> None:
        """Insert the healthy surroundings."""
        await self.engine.fill(self)
        self.worker = await self.role("worker")
        await analyze(self.admin)

    # People and programs

    async def role(self, prefix: str, *, grants: bool = True) -> str:
        """Create a role that may use the engine's tables."""
        name = self.server.unique(prefix)
        self.server.sql(f"CREATE ROLE {name} LOGIN PASSWORD '{name}'")
        self._roles.append(name)
        for schema in ("public", *(("pgmq",) if self.engine.name == "tasker" else ())) if grants else ():
            await self.sql(f"GRANT USAGE ON SCHEMA {schema} TO {name}")
            for what in ("TABLES", "SEQUENCES", "FUNCTIONS"):
                await self.sql(f"GRANT ALL ON ALL {what} IN SCHEMA {schema} TO {name}")
        return name

    async def session(self, application: str = "psql", role: str = "") -> Connection:
        """Open a session, which lasts until the drill ends."""
        dsn = self.server.dsn(self.database, user=role, password=role) if role else self.dsn
        settings = {"application_name": application, "search_path": "public", "TimeZone": "UTC"}
        session = await asyncpg.connect(dsn, server_settings=settings)
        self._sessions.append(session)
        return session

    def keep(self, session: Connection) -> None:
        """End another session with the drill's own."""
        self._sessions.append(session)

    async def wait_in(self, session: Connection, sql: str, *values: Any) -> None:
        """Start a statement that will wait for a lock, and return when it does."""
        pid = session.get_server_pid()
        self.meanwhile(session.execute(sql, *values))
        await self.until(f"SELECT count(*) > 0 FROM pg_locks WHERE pid = {pid} AND NOT granted")

    async def until(self, sql: str, seconds: float = 10.0) -> None:
        """Wait until a query returns true."""
        for _ in range(int(seconds / 0.05)):
            if await self.value(sql):
                return
            await asyncio.sleep(0.05)
        raise TimeoutError(sql)

    def meanwhile(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do something until the drill ends."""
        self._waiting.append(asyncio.create_task(work))

    @staticmethod
    async def sleep(seconds: float) -> None:
        """Wait, for what only real time can bring."""
        await asyncio.sleep(seconds)

    # Executors

    async def start(self) -> None:
        """Start executors that run until the drill ends.

        They survive errors, as real ones do.
        """
        if self._working is None:
            self._working = asyncio.create_task(self._run())
            await asyncio.sleep(0.4)

    async def stop(self) -> None:
        """Kill the executors. The server takes back what they had not committed."""
        working, self._working = self._working, None
        if working is not None:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            try:
                session = await self.session(f"{self.engine.name} worker", self.worker)
            except CONNECTION_ERRORS as error:
                self.errors.append(str(error))
                await asyncio.sleep(TICK)
                continue
            try:
                worker = self.engine.executor(session)
                while not session.is_closed():
                    with contextlib.suppress(asyncpg.InterfaceError):
                        try:
                            await worker.tick()
                        except (asyncpg.PostgresError, OSError) as error:
                            self.errors.append(str(error))
                    await asyncio.sleep(TICK)
            finally:
                session.terminate()

    # Time

    async def pass_time(self, seconds: float) -> None:
        """Make every row older, except locked ones, as if that time had passed."""
        await ages.make_older(self.admin, seconds)
