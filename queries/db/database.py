"""The only importer of asyncpg: connections, session settings, server facts, reconnecting.

At most two connections: one for reading, one for writing actions, opened at the first write. Nothing relies on
session state or named prepared statements, so a pooler in transaction mode may stand between: every transaction
brings its settings along with ``SET LOCAL``.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import asyncpg

from queries import errors
from queries.db import asyncpg_compat, blockers, dsn
from queries.db.backoff import Backoff
from queries.db.batched_query import BatchedQuery, answers, compose
from queries.db.redaction import redact
from queries.db.server_load import Load
from queries.db.shared_sql import statement
from queries.errors import DatabaseError, LockedError, LostError, ReadOnlyError, SlowError, UnreadableError
from queries.model import Record
from queries.statement import Statement

if TYPE_CHECKING:
    from asyncpg.prepared_stmt import PreparedStatement

MINIMUM = 14
READ = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
APPLICATION = "unstick"
READ_TIMEOUT = 2.0  # seconds, for every statement that runs without being asked
ASKED_TIMEOUT = 60.0  # seconds, for what the operator asked for knowing its cost
READ_LOCK_TIMEOUT = 0.2
LOCK_TIMEOUT = 0.5
WRITE_TIMEOUT = 5.0  # seconds, for a whole transaction that changes something: so long it may hold row locks
IDLE_TIMEOUT = 10.0
SPELLING = {"TimeZone": "UTC", "DateStyle": "ISO", "IntervalStyle": "postgres"}
NO_WRITES = "0A000"  # to BEGIN READ WRITE, of a standby
GRACE = 5.0  # seconds after a statement's own timeout until the connection counts as dead
SHRINK = 0.5  # seconds by which a statement's timeout may go beyond its transaction's: to set it is a round trip

# Sent together: behind a pooler in transaction mode another backend may answer to the next message.
FIRE = f"SET CONSTRAINTS ALL IMMEDIATE; {statement('advisory_unlock').text}"
ROLLBACK = f"ROLLBACK; {statement('advisory_unlock').text}"


# A connection that dies while it is idle may show as an error inside the driver.
_LOST = (OSError, ssl.SSLError, ValueError, asyncpg.InterfaceError, asyncpg.InternalClientError)


@contextlib.contextmanager
def explained(connecting: str | None = None) -> Iterator[None]:
    """Turn what the driver raises into a DatabaseError. ``connecting`` is the target while connecting."""
    try:
        yield
    except (DatabaseError, GeneratorExit):
        raise
    except asyncpg.PostgresError as error:
        raise _answer(error, connecting) from error
    except TimeoutError as error:
        if connecting is not None:
            raise errors.UnreachableError(
                f"No answer from {errors.place(redact(connecting))} in time.", errors.CHECK
            ) from error
        raise LostError("The server stopped answering.", "The connection was given up.") from error
    except _LOST as error:
        if connecting is not None:
            raise errors.UnreachableError(
                f"Cannot connect to {errors.place(redact(connecting))}: {errors.first_line(error)}.", errors.CHECK
            ) from error
        raise LostError("The connection to the server was lost.", errors.first_line(error)) from error


def _answer(error: asyncpg.PostgresError, connecting: str | None) -> DatabaseError:
    code, said = error.sqlstate or "", errors.first_line(error)
    if connecting is not None:
        return errors.refused(code, said, redact(connecting))
    return errors.failed(code, said, error.constraint_name or "")


class Server(Record):
    """Facts of the server. ``lag`` in seconds, on a standby only; ``now`` is its clock when it was asked.

    ``encrypted`` and ``tls`` (its version, or "") are of the console's own connection, whose other end may be a pooler;
    ``local`` is True over a Unix socket. ``life`` differs after a crash, a restart and on another server, ``timeline``
    after a promotion.
    """

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
    encrypted: bool
    tls: str
    local: bool
    life: str
    system_identifier: str
    timeline: int | None

    @property
    def history(self) -> str:
        """Identity of the data: a copy of the server, or one that was promoted, has another one."""
        return f"{self.system_identifier}/{self.timeline}"


Described = dict[tuple[str, str], "PreparedStatement[Any]"]
"""Statements by what begins their transaction, and their text. Only the description is kept, here: each is parsed
again whenever it is run, as an unnamed one."""


class Transaction:
    """A transaction that has begun. Rows come as mappings."""

    def __init__(
        self,
        connection: asyncpg.Connection[Any],
        timeout: float,
        load: Load,
        begin: str,
        described: Described,
        role: str = "",
    ) -> None:
        self._connection = connection
        self._timeout = timeout
        self._until: float | None = None
        self.unreplicated = False  # COMMIT was answered before a synchronous standby had confirmed it
        self._load = load
        self._begin = begin
        self._described = described
        self._role = role

    def ends_in(self, seconds: float) -> None:
        """Refuse statements after so many seconds, and let none run longer than that."""
        self._until = time.monotonic() + seconds

    async def rows(self, statement: Statement, values: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """Run one statement with the parameters it names. Raises DatabaseError.

        A read that waited in vain for a lock fails with the session that holds it, and its transaction begins again.
        """
        try:
            if statement.schema:
                await self.control(_search_path(statement.schema))
                rows = await self._rows(statement, values)
                await self.control(_search_path())
                return rows
            return await self._rows(statement, values)
        except LockedError as error:
            if self._begin.startswith(READ):
                raise LockedError(error.line, await self._blockers(statement), code=error.code) from error
            raise

    async def _blockers(self, blocked: Statement) -> str:
        await self.control("ROLLBACK")
        await self.control(self._begin)
        return blockers.described(await self._rows(statement("blockers"), {"query": blocked.text}), self._role)

    async def _rows(self, statement: Statement, values: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        arguments = [values[name] for name in statement.parameters]
        key = (self._begin, statement.text)
        await self._shrink()
        with explained():
            async with asyncio.timeout(self._timeout + GRACE):
                if key not in self._described:
                    with self._load.measured():
                        self._described[key] = await self._connection.prepare(statement.text, name="")
                try:
                    with self._load.measured():
                        rows: Sequence[Mapping[str, Any]] = await self._described[key].fetch(*arguments)
                except (ValueError, ArithmeticError) as error:
                    # A value that Python has no room for, such as the year 294276: the connection is as it was.
                    if self._connection.is_closed():
                        raise
                    raise UnreadableError(f"A value cannot be read: {errors.first_line(error)}.") from error
                return rows

    async def control(self, command: str) -> str:
        """Run a transaction command and give the server's answer to it. Raises DatabaseError."""
        await self._shrink()
        with explained():
            async with asyncio.timeout(self._timeout + GRACE):
                self._connection.add_log_listener(self._heard)
                try:
                    with self._load.measured():
                        answer: str = await self._connection.execute(command)
                finally:
                    self._connection.remove_log_listener(self._heard)
                return answer

    def _heard(self, _: object, message: asyncpg.PostgresLogMessage) -> None:
        """Notice a wait for a synchronous standby that was broken off.

        Its code 01000 is that of every warning, and its text is translated.
        """
        self.unreplicated |= message.server_source_function == "SyncRepWaitForLSN"

    async def _shrink(self) -> None:
        """Let the next statement take no longer than is left of the transaction's time. Raises SlowError."""
        if self._until is None:
            return
        left = self._until - time.monotonic()
        if left <= 0:
            raise SlowError("The transaction took too long, so it was rolled back: it held row locks.", code="57014")
        if left < self._timeout - SHRINK:
            self._timeout = left
            with explained():
                async with asyncio.timeout(left + GRACE):
                    await self._connection.execute(f"SET LOCAL statement_timeout = '{round(left * 1000) or 1}ms'")


STANDBY = "this server is a standby: connect to the primary to change anything"
FORBIDDEN = (
    "default_transaction_read_only is on here: no changes are wanted. To make them all the same: --override-read-only, "
    "or override_read_only = true in the context"
)


class Database:
    """One database, by the connection string psql would take ("" is the libpq environment)."""

    def __init__(self, text: str = "", *, override_read_only: bool = False) -> None:
        self.text = text
        self.override_read_only = override_read_only
        self.server: Server | None = None
        self.load = Load()
        self.backoff = Backoff()
        self._connections: dict[str, asyncpg.Connection[Any]] = {}
        self._described: dict[str, Described] = {}
        self._locks = {"read": asyncio.Lock(), "write": asyncio.Lock()}

    async def asked(self, questions: Sequence[BatchedQuery]) -> list[list[dict[str, Any]]]:
        """The rows of several questions, as JSON has their values, in one round trip. Raises DatabaseError."""
        async with self._locks["read"]:
            known = self._known("read")
            try:
                return await self._asked(questions)
            except LostError:
                if not known:
                    raise
                return await self._asked(questions)  # it had died while it was idle

    async def _asked(self, questions: Sequence[BatchedQuery]) -> list[list[dict[str, Any]]]:
        begin = _begin_read(READ_TIMEOUT, in_order=True)
        new = not self._known("read")
        connection = self._connections["read"] if not new else await connect(self.text)
        try:
            first, *rows = await self._run(connection, begin, [BatchedQuery(statement("server")), *questions])
        except BaseException:
            connection.terminate()
            raise
        self._keep("read", connection, first[0])
        return rows

    async def _run(
        self, connection: asyncpg.Connection[Any], begin: str, questions: Sequence[BatchedQuery]
    ) -> list[list[dict[str, Any]]]:
        with self.load.measured(), explained():
            async with asyncio.timeout(READ_TIMEOUT + GRACE):
                data = await asyncpg_compat.copy_out(connection, compose(begin, questions))
        return answers(data)

    @contextlib.asynccontextmanager
    async def reading(self, limit: float = READ_TIMEOUT, *, in_order: bool = False) -> AsyncIterator[Transaction]:
        """A READ ONLY transaction with one snapshot. Always rolled back: there is nothing to keep.

        ``in_order`` is for statements that want the first few rows in an index's order: without it a server that
        expects few rows reads all there are through a bitmap and sorts them, and of some parents there are millions.
        """
        begin = _begin_read(limit, in_order=in_order)
        async with self._transaction("read", begin, limit) as transaction:
            yield transaction

    @contextlib.asynccontextmanager
    async def writing(
        self, schema: str = "", over: str = "write", limit: float | None = None
    ) -> AsyncIterator[Transaction]:
        """A READ COMMITTED transaction that is rolled back unless the body commits it. Nobody is waited for long.

        ``schema`` goes on the search_path for an engine whose own triggers and functions use unqualified names. The
        caller must have checked that only trusted roles can create objects in it.
        ``over`` is the connection it goes over: "read" to have a second one beside the first. After ``limit`` seconds
        no statement of it runs any more. Where this process stands still, the server ends it a second later.
        """
        limit = max(round(min(limit or WRITE_TIMEOUT, WRITE_TIMEOUT), 1), 0.1)
        settings = {
            "lock_timeout": min(LOCK_TIMEOUT, limit),
            "statement_timeout": limit,
            "idle_in_transaction_session_timeout": min(IDLE_TIMEOUT, WRITE_TIMEOUT),
        }
        if self.server is not None and self.server.version >= 17:
            settings["transaction_timeout"] = limit + 1.0
        begin = _begin("BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE", settings, schema)
        async with self._transaction(over, begin, limit, writes=True) as transaction:
            yield transaction

    def unchanging(self) -> str:
        """Return why nothing may be changed on this server, as of the last answer; "" where it may."""
        if self.server is None:
            return ""
        if self.server.standby:
            return STANDBY
        return FORBIDDEN if self.server.read_only and not self.override_read_only else ""

    def locked(self, over: str) -> bool:
        """Whether somebody has that connection now."""
        return self._locks[over].locked()

    async def close(self) -> None:
        """Close both connections, waiting for neither long."""
        for connection in list(self._connections.values()):
            with contextlib.suppress(Exception):
                await connection.close(timeout=1.0)
            connection.terminate()
        self._connections.clear()

    @contextlib.asynccontextmanager
    async def _transaction(
        self, purpose: str, begin: str, limit: float, *, writes: bool = False
    ) -> AsyncIterator[Transaction]:
        async with self._locks[purpose]:
            transaction = await self._begun(purpose, begin, limit, again=self._known(purpose))
            if writes:
                transaction.ends_in(limit)
            try:
                yield transaction
            finally:
                await self._end(purpose, ROLLBACK if writes else "ROLLBACK")

    async def _begun(self, purpose: str, begin: str, limit: float, *, again: bool) -> Transaction:
        connection = await self._connected(purpose)
        role = self.server.role if self.server else ""
        transaction = Transaction(connection, limit, self.load, begin, self._described[purpose], role)
        try:
            await transaction.control(begin)
        except LostError:
            # A connection that died while it was idle tells so only now, and nothing has been done on it yet.
            self._drop(purpose)
            if not again:
                raise
            return await self._begun(purpose, begin, limit, again=False)
        except DatabaseError as error:
            self._drop(purpose)
            raise (ReadOnlyError(STANDBY, code=error.code) if error.code == NO_WRITES else error) from None
        except BaseException:
            self._drop(purpose)
            raise
        return transaction

    async def _end(self, purpose: str, command: str) -> None:
        """Leave the connection outside a transaction, or leave no connection."""
        connection = self._connections.get(purpose)
        if connection is None:
            return
        try:
            if connection.is_in_transaction():
                rollback = asyncio.ensure_future(connection.execute(command))
                rollback.add_done_callback(_heard)
                async with asyncio.timeout(GRACE):
                    await asyncio.shield(rollback)
        except BaseException as error:
            self._drop(purpose)
            if not isinstance(error, Exception):
                raise
        if connection.is_closed():
            self._drop(purpose)

    def _known(self, purpose: str) -> bool:
        """Whether there is a connection, as far as can be told without asking."""
        connection = self._connections.get(purpose)
        return connection is not None and not connection.is_closed()

    async def _connected(self, purpose: str) -> asyncpg.Connection[Any]:
        if not self._known(purpose):
            connection = await connect(self.text)
            begin = _begin_read(READ_TIMEOUT, in_order=False)
            try:
                rows = await self._run(connection, begin, [BatchedQuery(statement("server"))])
            except BaseException:
                connection.terminate()
                raise
            self._keep(purpose, connection, rows[0][0])
        return self._connections[purpose]

    def _keep(self, purpose: str, connection: asyncpg.Connection[Any], server: Mapping[str, Any]) -> None:
        if self._connections.get(purpose) is not connection:
            self._connections[purpose], self._described[purpose] = connection, {}
            self.backoff.reset()
        self.server = Server(**server, **_link(connection))

    def _drop(self, purpose: str) -> None:
        connection = self._connections.pop(purpose, None)
        if connection is not None:
            connection.terminate()


def _link(connection: asyncpg.Connection[Any]) -> dict[str, Any]:
    """Return how the connection is protected, from its own socket.

    pg_stat_ssl describes the server's side only, and a pooler may be in between.
    """
    transport = asyncpg_compat.transport(connection)
    tls = transport.get_extra_info("ssl_object")
    family = transport.get_extra_info("socket").family
    return {"encrypted": tls is not None, "tls": (tls and tls.version()) or "", "local": family == socket.AF_UNIX}


def _heard(task: asyncio.Future[Any]) -> None:
    """What a task nobody waits for any more failed with is of no interest, and shall not be printed at the exit."""
    if not task.cancelled():
        task.exception()


async def connect(text: str) -> asyncpg.Connection[Any]:
    """A new connection to what ``text`` names. Raises DatabaseError, also where the server is older than 14."""
    try:
        target = dsn.parse(text)
    except ValueError as error:
        raise DatabaseError(f"The connection string cannot be used: {error}.") from None
    with explained(connecting=text):
        connection = await asyncpg.connect(
            target.uri or None,
            timeout=target.timeout,
            statement_cache_size=0,  # named statements do not survive a pooler in transaction mode
            server_settings={"application_name": APPLICATION},
        )
    major = connection.get_server_version().major
    if major < MINIMUM:
        connection.terminate()
        raise DatabaseError(
            f"This server is PostgreSQL {major}; unstick needs {MINIMUM} or newer.", "Nothing was read or changed."
        )
    return connection


def _begin_read(limit: float, *, in_order: bool) -> str:
    settings = {
        "lock_timeout": READ_LOCK_TIMEOUT,
        "statement_timeout": limit,
        "idle_in_transaction_session_timeout": IDLE_TIMEOUT,
    }
    begin = _begin(READ, settings)
    return begin + ("; SET LOCAL enable_bitmapscan = off" if in_order else "")


def _search_path(schema: str = "") -> str:
    """Command for a search_path on which nothing but the server's own objects, and those in ``schema``, can be found.

    A role that may create objects in any other schema on the path could have its operators and functions run by us.
    """
    own = '"' + schema.replace('"', '""') + '", ' if schema else ""
    return f"SET LOCAL search_path = pg_catalog, {own}pg_temp"


def _begin(mode: str, settings: Mapping[str, float], schema: str = "") -> str:
    commands = [mode, _search_path(schema), "SET LOCAL jit = off"]
    # Dates and intervals go to and fro as text in cursors and copies of rows: one spelling, whoever had the connection.
    commands += [f"SET LOCAL {name} = '{word}'" for name, word in SPELLING.items()]
    commands += [f"SET LOCAL {name} = '{round(seconds * 1000)}ms'" for name, seconds in settings.items()]
    return "; ".join(commands)
