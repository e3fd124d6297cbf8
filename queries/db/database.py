"""Connections: session settings, server facts, transactions, reconnecting.

There are at most two connections: one for reads, and one for actions, opened at the first write. Every transaction
brings its settings with ``SET LOCAL``, and a statement is prepared by name only where later transactions know it. So a
pooler in transaction mode may be in between.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from typing import Any

import asyncpg
import msgspec

from queries.db import asyncpg_compat, connecting, dsn
from queries.db.combined import CombinedReads
from queries.db.connecting import Backoff
from queries.db.connection import ServerConnection, driver_errors, retrieve_exception
from queries.db.errors import BALANCED, STANDBY, UNCHANGED, DatabaseError, RefusedError, capital
from queries.db.query import Query, Rows, statement
from queries.db.reads import IN_STEP, InStep, Reads, lockstep
from queries.db.server_load import ServerLoad
from queries.db.transaction import GRACE_SECONDS, Transaction
from queries.db.transaction_settings import StatementSettings
from queries.records.record import Record
from queries.text import shell

OLDEST_MAJOR = 14  # version of PostgreSQL
BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
READ_SECONDS = 2.0  # for every automatic statement
ASKED_READ_SECONDS = 60.0  # for a full scan that the operator confirmed
READ_LOCK_SECONDS = 0.2
WRITE_LOCK_SECONDS = 0.5
WRITE_SECONDS = 5.0  # for a whole writing transaction: the longest time that it may hold row locks
IDLE_SECONDS = 10.0
LINK_BYTES, LINK_KEPT_SECONDS = 16_000, 60.0  # sent to measure the link, and how long that counts
LINK_SLOW_SECONDS, LINK_SLOW_BYTES = 0.1, 250_000.0  # for an answer, and in a second
LINK = "Your link to the server is slow: {speed:.0f} kB/s, {trip:.2f} s for an answer. "
IDLE_TRIED_SECONDS = 5.0  # without an answer, after which a connection is tried before a change
TRIED_SECONDS = 3.0  # for the answer
# Settings on which the text of a value, the meaning of a text or the rows of an answer depend, as pg_dump sets them.
# A role, a database or a pooler's connection may have others. Every transaction sets all of them.
SPELLING = {
    "TimeZone": "UTC",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "extra_float_digits": "3",  # fewer digits round numbers
    "bytea_output": "hex",
    "array_nulls": "on",
    "lc_monetary": "C",
    "lc_numeric": "C",
    "lc_time": "C",
    "standard_conforming_strings": "on",
    "backslash_quote": "safe_encoding",
    "transform_null_equals": "off",
    "xmloption": "content",
    "xmlbinary": "base64",
    "quote_all_identifiers": "off",
    "gin_fuzzy_search_limit": "0",  # an index would return a random part of the rows
    "synchronize_seqscans": "off",  # a scan would begin in the middle of a table
    "row_security": "on",  # a read of a table with policies would fail instead of being said to be partial
    "client_min_messages": "notice",  # the server would not say that a standby did not confirm a commit
    "constraint_exclusion": "off",  # a plan would call functions of CHECK constraints
    "exit_on_error": "off",  # a lock that is waited for in vain would end the session
}

# Sent in one message: behind a pooler in transaction mode another backend may answer the next one.
ROLLBACK = f"ROLLBACK; {statement('advisory_unlock').text}"


class Server(Record):
    """Facts about the server.

    ``lag`` is in seconds, on a standby only. ``now`` and ``started`` (of its process) are by the server's clock.
    ``standbys``: number of sessions that stream the WAL. ``slots``: number of replication slots.
    ``encrypted`` and ``tls`` (its version, or "") describe the console's own connection, whose other end may be a
    pooler. ``local`` is True for a Unix socket. ``life`` differs after a crash, after a restart and on another server;
    ``timeline`` differs after a promotion. ``pid`` is the backend's. ``balanced``: a pooler answers reads from several
    servers, so some rows may be a standby's.
    """

    pid: int
    version: int
    version_text: str
    database: str
    role: str
    superuser: bool
    host: str
    port: int | None
    standby: bool
    read_only: bool
    lag: float | None
    now: float
    started: float
    standbys: int
    slots: int
    encrypted: bool
    tls: str
    local: bool
    life: str
    system_identifier: str
    timeline: int | None
    balanced: bool = False
    cluster_name: str = ""

    @property
    def may_lag(self) -> bool:
        """True if rows may be older than the primary's, so that no action is suggested."""
        return self.standby or self.balanced

    @property
    def data_of(self) -> float | None:
        """Time at which a standby's data was the primary's; None if that is not known."""
        return None if self.lag is None or self.balanced else self.now - self.lag

    @property
    def history(self) -> str:
        """Identity of the data.

        A copy of the server and a promoted standby have another one; any restart, if the role may not read it.
        """
        return f"{self.system_identifier}/{self.timeline or self.life}"


TableName = tuple[str, str]
"""Schema and name."""


FORBIDDEN = (
    "default_transaction_read_only is on, so this server is set to allow no changes. To change it anyway:"
    " --override-read-only, or override_read_only = true in the context"
)


class Database:
    """Database named by a psql connection string ("" is the libpq environment).

    ``patience``: factor of all time limits of statements. Only checks on a server of their own raise it.
    ``words``: words of a command line that select this database, without passwords.
    """

    def __init__(
        self, text: str = "", *, override_read_only: bool = False, patience: float = 1.0, words: Sequence[str] = ()
    ) -> None:
        self.text = text
        self.only_host: int | None = None  # number of the only host to connect to, of any kind
        self.words = tuple(words)
        self.override_read_only = override_read_only
        self.server: Server | None = None
        self._names = True  # of prepared statements; False behind a pooler that does not keep them
        self.facts_due = False  # the next transaction reads the server's facts again
        self.load = ServerLoad()
        self._combined = CombinedReads()
        self.patience = patience
        self._backoff = Backoff()
        self._refused: RefusedError | None = None  # by the last login
        self._rest_until = 0.0  # on the event loop's clock
        self._reads: Transaction | None = None  # the open one
        self._link = (-LINK_KEPT_SECONDS, "")  # when it was measured, and what is said of it
        self._connections: dict[str, ServerConnection] = {}
        self._locks = {"read": asyncio.Lock(), "write": asyncio.Lock()}

    def command(self, *words: str) -> str:
        """Return the shell command of unstick with these words, for this database."""
        return shell.unstick(words, self.words)

    async def batch(self, queries: Sequence[Query]) -> list[Rows]:
        """Run statements together in a READ ONLY transaction. Raises DatabaseError."""
        async with self.reading() as transaction:
            return await transaction.batch(queries)

    async def renew(self) -> None:
        """Read the server's facts again, alone. Raises DatabaseError."""
        self.facts_due = True
        async with self.reading_alone() as transaction:
            await transaction.now()

    async def slow_link(self) -> str:
        """Return a sentence about a slow link, or "".

        It is measured once a minute. Raises DatabaseError.
        """
        if time.monotonic() > self._link[0] + LINK_KEPT_SECONDS:
            ends = [time.monotonic()]
            async with self.reading() as transaction:
                for size in (1, 1, LINK_BYTES):  # the first also begins, and is parsed
                    await transaction.rows(statement("link"), {"bytes": size})
                    ends.append(time.monotonic())
            trip = ends[2] - ends[1]
            speed = LINK_BYTES / max(ends[3] - ends[2] - trip, 1e-6)
            slow = trip > LINK_SLOW_SECONDS or speed < LINK_SLOW_BYTES
            self._link = ends[3], LINK.format(speed=speed / 1000, trip=trip) if slow else ""
        return self._link[1]

    @contextlib.asynccontextmanager
    async def reading(self, seconds: float = READ_SECONDS, *, in_order: bool = True) -> AsyncIterator[Reads]:
        """Open a READ ONLY transaction with one snapshot.

        A read that is in lockstep with others gets theirs. It ends with COMMIT: the server's count of rollbacks is that
        of the workers, however many consoles read.

        ``in_order`` is for statements that read the first few rows in an index's order. Without it a server that
        expects few rows reads all of them through a bitmap scan and sorts them: millions for some parents.
        """
        if self._in_step:
            yield InStep(seconds * self.patience, in_order=in_order)
            return
        async with self.reading_alone(seconds, in_order=in_order) as transaction:
            yield transaction

    @contextlib.asynccontextmanager
    async def reading_alone(
        self, seconds: float = READ_SECONDS, *, in_order: bool = True
    ) -> AsyncIterator[Transaction]:
        """Open a READ ONLY transaction that no others share. See `reading`."""
        assert not self._in_step, "the transaction of the others would be waited for, which waits for this read"
        settings = StatementSettings(seconds=seconds * self.patience, in_order=in_order)
        timeouts = {"lock_timeout": READ_LOCK_SECONDS, "idle_in_transaction_session_timeout": IDLE_SECONDS}
        async with self._locks["read"]:
            transaction = self._transaction("read", _begin(BEGIN_READ, settings, timeouts), settings, reads=True)
            self._reads = transaction
            try:
                yield transaction
            finally:
                self._reads = None
                connection = self._connections.get("read")
                if transaction.begun and connection is not None:
                    await connection.send_last("COMMIT")
                    self.load.ended("COMMIT")
                if connection is not None and connection.is_closed:
                    self._drop("read")

    async def together(self, *reads: Coroutine[Any, Any, Any]) -> list[Any]:
        """Run reads in lockstep in one transaction. Return their results in order.

        All end before the first error is raised.
        """
        try:
            if self._in_step:
                return await lockstep(IN_STEP, reads, raises=True)
            async with self.reading_alone() as transaction:
                return await lockstep(transaction, reads, raises=True)
        finally:
            for read in reads:  # those that have not begun
                read.close()

    @property
    def _in_step(self) -> bool:
        """True if the caller is a read in lockstep with others."""
        return self._reads is not None and self._reads.steps

    @contextlib.asynccontextmanager
    async def writing(
        self,
        schema: str = "",
        seconds: float | None = None,
        *,
        waits: float = 0.0,
    ) -> AsyncIterator[Transaction]:
        """Open a READ COMMITTED transaction. It is rolled back unless the body commits it.

        ``schema`` goes on the search_path for an engine whose own triggers and functions use unqualified names. The
        caller must have checked that only trusted roles can create objects in that schema.
        ``seconds``: no statement runs after them. If this process hangs, the server ends the transaction one second
        later.
        ``waits``: seconds that it may last longer, because it waits for a lock before it has another one.
        """
        if self.server is not None and self.server.balanced:
            raise DatabaseError(f"{capital(BALANCED)}.", UNCHANGED)
        most, waits = WRITE_SECONDS * self.patience, waits * self.patience
        seconds = max(round(min(seconds or most, most), 1), 0.1)
        timeouts = {
            "lock_timeout": min(WRITE_LOCK_SECONDS, seconds),
            "idle_in_transaction_session_timeout": min(IDLE_SECONDS, most),
        }
        if self.server is not None and self.server.version >= 17:
            timeouts["transaction_timeout"] = seconds + waits + 1.0
        settings = StatementSettings(seconds=seconds, schemas=(schema,) if schema else ())
        begin = _begin("BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE", settings, timeouts)
        begin = (begin[0], f"{begin[1]}; {statement('fire_triggers').text}")
        async with self._locks["write"]:
            await self._try_idle("write")
            transaction = self._transaction("write", begin, settings, reads=False)
            transaction.limit_time(seconds + waits)
            try:
                yield transaction
            finally:
                self.load.wrote = time.monotonic()
                await self._roll_back("write")

    def why_read_only(self) -> str:
        """Return why this server accepts no changes, as of its last answer, or ""."""
        if self.server is None:
            return ""
        if self.server.standby:
            return STANDBY
        if self.server.balanced:
            return BALANCED
        return FORBIDDEN if self.server.read_only and not self.override_read_only else ""

    @property
    def sessions(self) -> int:
        """Number of open connections."""
        return len(self._connections)

    @property
    def pids(self) -> set[str]:
        """Pids of the sessions of the open connections, unless a pooler is between."""
        return {str(each.connection.get_server_pid()) for each in self._connections.values()}

    @contextlib.asynccontextmanager
    async def at_rest(self) -> AsyncIterator[None]:
        """Wait until no transaction is open, and let none begin in the body."""
        while True:
            async with self._locks["write"]:
                if not self._locks["read"].locked():
                    async with self._locks["read"]:
                        yield
                        return
            async with self._locks["read"]:  # not while the other lock is held: two transactions may be nested
                pass

    async def close(self) -> None:
        """Close both connections. Each may take a second."""
        for connection in list(self._connections.values()):
            await connection.close()
        self._connections.clear()

    def _transaction(
        self, purpose: str, begin: tuple[str, str], settings: StatementSettings, *, reads: bool
    ) -> Transaction:
        async def connected(again: bool) -> tuple[ServerConnection, bool]:
            return await self._connected(purpose, again=again)

        def role() -> str:
            return self.server.role if self.server else ""

        return Transaction(
            connected,
            begin,
            settings,
            self.load,
            reads=reads,
            role=role,
            standby=lambda: self.server.standby if self.server else None,
            combined=self._combined,
            asks=lambda: self.facts_due or self.server is None or self.server.standby,  # how far it is behind
            met=self._meet,
        )

    async def _roll_back(self, purpose: str) -> None:
        """Roll a transaction back, or drop the connection if that fails."""
        connection = self._connections.get(purpose)
        if connection is None:
            return
        try:
            if connection.may_be_in_transaction:
                ending = asyncio.ensure_future(connection.execute(ROLLBACK, GRACE_SECONDS))
                ending.add_done_callback(retrieve_exception)
                self.load.ended(await asyncio.shield(ending))
        except BaseException as error:
            self._drop(purpose)
            if not isinstance(error, Exception):
                raise
        if connection.is_closed:
            self._drop(purpose)

    async def _try_idle(self, over: str) -> None:
        """Drop connections that were idle and give no answer, before a change.

        A firewall may have forgotten them without a word. The one that is not ``over`` is tried unless it is in use.
        """
        for purpose, connection in list(self._connections.items()):
            lock = contextlib.nullcontext() if purpose == over else self._locks[purpose]
            in_use = isinstance(lock, asyncio.Lock) and lock.locked()
            if in_use or time.monotonic() - connection.answered < IDLE_TRIED_SECONDS:
                continue
            async with lock:
                try:
                    await connection.execute("SHOW lock_timeout", TRIED_SECONDS)
                except BaseException as error:
                    self._drop(purpose)
                    if not isinstance(error, Exception):
                        raise

    async def _connected(self, purpose: str, *, again: bool) -> tuple[ServerConnection, bool]:
        """Return the connection, and True if it was open.

        ``again``: a new one. Raises DatabaseError.
        """
        connection = self._connections.get(purpose)
        if connection is not None and connection.keeps is False:
            self._names = False
        if connection is not None and not again and not connection.is_closed and connection.named == self._names:
            return connection, True
        self._drop(purpose)
        connection = self._connections[purpose] = ServerConnection(await self._connect(), named=self._names)
        self._backoff.reset()
        self._refused = None
        return connection, False

    def _meet(
        self, connection: ServerConnection, facts: Mapping[str, Any] | None, answering: Mapping[str, Any]
    ) -> bool:
        """Note the facts about the server.

        Return False if another one than the known one answers.
        """
        known = self.server
        if facts is not None:
            balanced = facts["pid"] != answering["pid"] or (known is not None and known.balanced)
            server = {name: value for name, value in facts.items() if name != "named"}
            self.facts_due = False
            self.server = Server(**server, **_link(connection.connection), balanced=balanced)
            return True
        place = answering["standby"], answering["started"]
        return known is None or known.balanced or place == (known.standby, known.started)

    async def _connect(self) -> asyncpg.Connection[Any]:
        """Connect, but raise the same error again soon after a refused login.

        Raises DatabaseError.
        """
        if self._refused is not None and self.rests > 0:
            raise self._refused.with_traceback(None)
        try:
            return await connect(self.text, self.only_host, self._names)
        except RefusedError as error:
            self._refused = error
            self._rest_until = asyncio.get_running_loop().time() + self._backoff.next(error)
            raise

    @property
    def rests(self) -> float:
        """Seconds without a login after a refused one; 0 if there is no such pause."""
        return max(self._rest_until - asyncio.get_running_loop().time(), 0.0) if self._refused is not None else 0.0

    def log_in_now(self) -> None:
        """Let the next statement log in, because the operator wants to."""
        self._refused = None

    def _drop(self, purpose: str) -> None:
        connection = self._connections.pop(purpose, None)
        if connection is not None:
            connection.terminate()


async def execute(text: str, script: str) -> None:
    """Run a script over a connection of its own, outside of a transaction.

    Raises DatabaseError.
    """
    connection = await connect(text)
    try:
        with driver_errors():
            await connection.execute(script)
    finally:
        connection.terminate()


def _link(connection: asyncpg.Connection[Any]) -> dict[str, Any]:
    """Return how the connection is protected, from its own socket.

    pg_stat_ssl describes the server's side only, and a pooler may be in between.
    """
    transport = asyncpg_compat.transport(connection)
    tls = transport.get_extra_info("ssl_object")
    family = transport.get_extra_info("socket").family
    return {"encrypted": tls is not None, "tls": (tls and tls.version()) or "", "local": family == socket.AF_UNIX}


async def connect(text: str, host: int | None = None, names: bool = True) -> asyncpg.Connection[Any]:
    """Connect to the database that ``text`` names, or only to one ``host`` of it.

    ``names``: prepared statements may have names.
    Raises DatabaseError, also if the server is older than PostgreSQL 14.
    """
    try:
        target = dsn.parse(text)
    except ValueError as error:
        raise DatabaseError(str(error)) from None
    target = msgspec.structs.replace(target, names=names)
    if host is not None:
        words = {**target.words, "target_session_attrs": "any"}
        target = msgspec.structs.replace(target, hosts=target.hosts[host : host + 1], words=words)
    with driver_errors(connecting=text):
        connection = await connecting.connect(target)
    asyncpg_compat.ignore_abandoned_futures()
    major = connection.get_server_version().major
    if major < OLDEST_MAJOR:
        connection.terminate()
        raise DatabaseError(
            f"This server is PostgreSQL {major}; unstick needs {OLDEST_MAJOR} or newer.", "Nothing was read or changed."
        )
    with driver_errors(connecting=text):
        await asyncpg_compat.accept_any_bytes(connection)
    return connection


def _begin(mode: str, settings: StatementSettings, timeouts: Mapping[str, float]) -> tuple[str, str]:
    """Return the command that begins a transaction, and the one for its settings."""
    commands = ["SET LOCAL jit = off", *settings.commands()]
    # Cursors, copies and images of rows hold values as text.
    commands += [f"SET LOCAL {name} = '{word}'" for name, word in SPELLING.items()]
    commands += [f"SET LOCAL {name} = '{round(seconds * 1000)}ms'" for name, seconds in timeouts.items()]
    return mode, "; ".join(commands)
