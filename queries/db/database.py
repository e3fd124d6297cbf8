"""Connections: session settings, server facts, transactions, reconnecting.

There are at most two connections: one for reads, and one for actions, opened at the first write. Every transaction
brings its settings with ``SET LOCAL``, and no statement is prepared by name. So a pooler in transaction mode may be in
between.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Any

import asyncpg

from queries.db import asyncpg_compat, blockers, connecting, dsn, errors
from queries.db.backoff import Backoff
from queries.db.batched_query import BatchedQuery, compose, decode
from queries.db.errors import (
    DatabaseError,
    DeniedError,
    LockedError,
    LostError,
    OutdatedError,
    ReadOnlyError,
    RefusedError,
    SlowError,
    UnreadableError,
    table_locks,
)
from queries.db.prepared import Prepared
from queries.db.redaction import redact
from queries.db.server_load import Load
from queries.db.shared_sql import statement
from queries.files.statement import Statement, locate, with_parts
from queries.records.record import Record
from queries.text import shell
from queries.text.safe_text import has_bytes, shown_bytes

MINIMUM = 14
BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
APPLICATION = "unstick"
READ_TIMEOUT = 2.0  # seconds, for every automatic statement
ASKED_TIMEOUT = 60.0  # seconds, for a full scan that the operator confirmed
READ_LOCK_TIMEOUT = 0.2
LOCK_TIMEOUT = 0.5
WRITE_TIMEOUT = 5.0  # seconds, for a whole writing transaction: the longest time that it may hold row locks
IDLE_TIMEOUT = 10.0
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
    "exit_on_error": "off",  # a lock that is waited for in vain would end the session
}
NO_WRITES = "0A000"  # SQLSTATE of BEGIN READ WRITE on a standby
GRACE = 5.0  # seconds after a statement's own timeout until the connection counts as dead
SHRINK = 0.5  # seconds by which a statement's timeout may exceed its transaction's: setting it costs a round trip

# Sent in one message: behind a pooler in transaction mode another backend may answer the next one.
FIRE = f"SET CONSTRAINTS ALL IMMEDIATE; {statement('advisory_unlock').text}"
ROLLBACK = f"ROLLBACK; {statement('advisory_unlock').text}"

# The driver may raise an internal error when a connection dies while idle.
_LOST = (OSError, ssl.SSLError, ValueError, asyncpg.InterfaceError, asyncpg.InternalClientError)


@contextlib.contextmanager
def driver_errors(connecting: str | None = None, statement: Statement | None = None) -> Iterator[None]:
    """Raise DatabaseError for any error of the driver.

    ``connecting`` is the target while connecting. ``statement``: the one that is run.
    """
    try:
        yield
    except (DatabaseError, GeneratorExit):
        raise
    except asyncpg.PostgresError as error:
        raise _answer(error, connecting, statement) from error
    except Exception as error:
        if connecting is not None:
            raise errors.UnreachableError(
                f"Cannot connect to {errors.server_at(redact(connecting))}: {errors.reason(error)}.", errors.CHECK
            ) from error
        # The driver raises its internal error if it reaches its own time limit in the middle of a message.
        if isinstance(error, TimeoutError | asyncpg.InternalClientError):
            raise LostError("The server stopped answering.", "The connection was closed.") from error
        if not isinstance(error, _LOST):
            raise
        raise LostError("The connection to the server was lost.", f"{errors.capital(errors.reason(error))}.") from error


def _answer(error: asyncpg.PostgresError, connecting: str | None, statement: Statement | None = None) -> DatabaseError:
    code, reason = error.sqlstate or "", errors.first_line(error)
    if statement is not None and code.startswith("42") and code != "42501":  # a mistake in the statement itself
        where = (error.context or "").partition("\n")[0]
        if " function " in where:  # in a function that the statement runs, of a trigger
            reason = f"{reason} (in the database's own code: {where})"
        else:
            fault = locate(statement, int(error.position or 1), reason)
            reason = f"{fault.message} ({fault.file}:{fault.line})"
    if connecting is not None:
        return errors.connection_error(code, reason, redact(connecting))
    if code == "23505" and (error.schema_name, error.table_name) == ("unstick", "audit_log"):
        return errors.SequenceError(*errors.SEQUENCE, code=code)
    found = errors.statement_error(code, reason, error.constraint_name or "")
    found.position = int(error.position or 0)
    return found


class Server(Record):
    """Facts about the server.

    ``lag`` is in seconds, on a standby only. ``now`` is the server's clock when it was read.
    ``encrypted`` and ``tls`` (its version, or "") describe the console's own connection, whose other end may be a
    pooler. ``local`` is True for a Unix socket. ``life`` differs after a crash, after a restart and on another server;
    ``timeline`` differs after a promotion. ``pid`` is the backend's.
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
    encrypted: bool
    tls: str
    local: bool
    life: str
    system_identifier: str
    timeline: int | None

    @property
    def history(self) -> str:
        """Identity of the data.

        A copy of the server and a promoted standby have another one.
        """
        return f"{self.system_identifier}/{self.timeline}"


Table = tuple[str, str]
"""Schema and name."""


class Description(Record):
    """Columns of a statement with their types, and the types of its parameters.

    The names of types are those of the server.
    """

    columns: tuple[tuple[str, str], ...]
    parameters: tuple[str, ...]


class Transaction:
    """A transaction that has begun. Rows are mappings."""

    def __init__(
        self,
        connection: asyncpg.Connection[Any],
        timeout: float,
        load: Load,
        begin: str,
        prepared: Prepared,
        role: str = "",
    ) -> None:
        self._connection = connection
        self._timeout = self._first_timeout = timeout
        self._schemas: tuple[str, ...] = ()  # on the search_path
        self._until: float | None = None
        self.unreplicated = False  # COMMIT returned before a synchronous standby confirmed it
        self._load = load
        self._begin = begin
        self._prepared = prepared
        self._role = role

    def limit_time(self, seconds: float) -> None:
        """Set the transaction's time limit. Statements fail with SlowError after it."""
        self._until = time.monotonic() + seconds

    async def limit_statements(self, seconds: float) -> None:
        """Limit each statement until a rollback to an earlier savepoint.

        Raises DatabaseError.
        """
        await self.control(f"SET LOCAL statement_timeout = '{round(seconds * 1000)}ms'")
        self._timeout = seconds

    async def search(self, schema: str, more: Sequence[str]) -> None:
        """Put more schemas on the search_path after ``schema``, for triggers.

        The caller must have checked that only trusted roles can create objects in them. Raises DatabaseError.
        """
        if more:
            self._schemas = tuple(dict.fromkeys((schema, *more)))
            await self.control(_search_path(*self._schemas))

    async def rows(self, statement: Statement, values: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """Run one statement with the parameters that it names. Raises DatabaseError.

        A read that timed out waiting for a lock raises LockedError with the session that holds the lock. Its
        transaction is rolled back and begun again, as is one in which a table has got other columns.
        """
        try:
            return await self._on_path(statement, values)
        except OutdatedError:
            if not self._begin.startswith(BEGIN_READ):
                raise
            await self._begin_again()
            return await self._on_path(statement, values)
        except LockedError as error:
            if self._begin.startswith(BEGIN_READ):
                raise LockedError(error.line, await self._blockers(statement), code=error.code) from error
            raise
        except DeniedError as error:
            if self._begin.startswith(BEGIN_READ) and (columns := await self._denied_columns(statement)):
                raise DeniedError(error.line, columns, code=error.code) from error
            raise

    async def _on_path(self, statement: Statement, values: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        if not statement.schema:
            return await self._rows(statement, values)
        await self.control(_search_path(statement.schema))
        rows = await self._rows(statement, values)
        await self.control(_search_path(*self._schemas))
        return rows

    async def _begin_again(self) -> None:
        self._load.ended(await self.control("ROLLBACK"))
        await self.control(self._begin)

    async def describe(self, statement: Statement) -> Description:
        """Return the columns and parameters of a statement, without running it.

        Raises DatabaseError.
        """
        with driver_errors():
            prepared = await self._connection.prepare(statement.text, name="")
            return Description(
                columns=tuple((each.name, each.type.name) for each in prepared.get_attributes()),
                parameters=tuple(each.name for each in prepared.get_parameters()),
            )

    async def batch(self, queries: Sequence[BatchedQuery]) -> list[Sequence[Mapping[str, Any]]]:
        """Run several statements. Raises DatabaseError."""
        return [await self.rows(query.statement, query.values) for query in queries]

    async def _blockers(self, blocked: Statement) -> str:
        await self._begin_again()
        return blockers.describe(await self._rows(statement("blockers"), {"query": blocked.text}), self._role)

    async def _denied_columns(self, denied: Statement) -> str:
        """Return the columns that the role may not read, or "".

        The server names only their table.
        """
        await self._begin_again()
        rows = await self._rows(statement("denied_columns"), {"query": denied.text})
        found = "; ".join(f"{row['columns']} of {row['relation']}" for row in rows)
        return f"The role may not read these columns: {found}." if found else ""

    async def _rows(self, statement: Statement, values: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        arguments = [values[name] for name in statement.parameters]
        await self._limit_statement()
        with driver_errors(statement=statement):
            async with asyncio.timeout(self._timeout + GRACE):
                try:
                    with self._load.measured():
                        prepared = await self._prepared.get(self._begin, statement.text)
                        rows: Sequence[Mapping[str, Any]] = await prepared.fetch(*arguments)
                except asyncpg.InvalidCachedStatementError as error:
                    self._prepared.forget()
                    raise OutdatedError(
                        "A table has got other columns meanwhile.", "Nothing was changed. Try again."
                    ) from error
                except (ValueError, ArithmeticError) as error:
                    # Python cannot represent some values, such as the year 294276. The connection is still usable.
                    if self._connection.is_closed():
                        raise
                    raise UnreadableError(f"A value cannot be read: {errors.first_line(error)}.") from error
                return self._as_text(rows)

    def _as_text(self, rows: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        """Return rows with bytes that are no text escaped.

        Only a database that does not check its texts has such bytes.
        Raises UnreadableError in a transaction that writes: the audit log could not hold a copy of such a row.
        """
        if not asyncpg_compat.accepts_any_bytes(self._connection):
            return rows
        if not any(isinstance(value, str) and has_bytes(value) for row in rows for value in row.values()):
            return rows
        if not self._begin.startswith(BEGIN_READ):
            raise UnreadableError(
                "A row holds bytes that are no UTF-8, so the audit log cannot hold a copy of it.",
                "Nothing was changed. The database is in SQL_ASCII: correct the text of the row with psql.",
            )
        return [{k: shown_bytes(v) if isinstance(v, str) else v for k, v in row.items()} for row in rows]

    async def control(self, command: str) -> str:
        """Run a transaction command and return its command tag. Raises DatabaseError."""
        if command.startswith("ROLLBACK"):  # SET LOCAL would fail in an aborted transaction, and is undone by this
            self._timeout = self._first_timeout
        else:
            await self._limit_statement()
        with driver_errors():
            async with asyncio.timeout(self._timeout + GRACE):
                self._connection.add_log_listener(self._on_log)
                try:
                    with self._load.measured():
                        answer: str = await self._connection.execute(command)
                finally:
                    self._connection.remove_log_listener(self._on_log)
                return answer

    def _on_log(self, _: object, message: asyncpg.PostgresLogMessage) -> None:
        """Set ``unreplicated`` if a wait for a synchronous standby was cancelled.

        Only its source function identifies it: SQLSTATE 01000 is that of any warning, and the text is localized.
        """
        self.unreplicated |= message.server_source_function == "SyncRepWaitForLSN"

    async def _limit_statement(self) -> None:
        """Limit the next statement to the transaction's remaining time.

        Raises SlowError if none remains.
        """
        if self._until is None:
            return
        left = self._until - time.monotonic()
        if left <= 0:
            raise SlowError("The transaction held row locks for too long, so it was rolled back.", code="57014")
        if left < self._timeout - SHRINK:
            self._timeout = left
            with driver_errors():
                async with asyncio.timeout(left + GRACE):
                    await self._connection.execute(f"SET LOCAL statement_timeout = '{round(left * 1000) or 1}ms'")


class Script:
    """Reads that take one round trip for each call.

    Values are as in JSON; calls share no snapshot. A batch that fails is repeated in a transaction: its error names
    the statement and the blocking session.
    """

    def __init__(self, database: Database) -> None:
        self.database = database

    async def rows(self, statement: Statement, values: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """Run one statement with the parameters it names. Raises DatabaseError."""
        return (await self.batch([BatchedQuery(statement, values)]))[0]

    async def batch(self, queries: Sequence[BatchedQuery]) -> list[Sequence[Mapping[str, Any]]]:
        """Run several statements. Raises DatabaseError."""
        try:
            return [*await self.database.batch(queries)] if queries else []
        except errors.NO_CONNECTION:
            raise
        except DatabaseError:
            async with self.database.reading(in_order=True) as transaction:
                return await transaction.batch(queries)


STANDBY = "this server is a standby: connect to the primary to change anything"
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
        self.words = tuple(words)
        self.override_read_only = override_read_only
        self.server: Server | None = None
        self.load = Load()
        self.patience = patience
        self._backoff = Backoff()
        self._refused: RefusedError | None = None  # by the last login
        self._rest_until = 0.0  # on the event loop's clock
        self._connections: dict[str, asyncpg.Connection[Any]] = {}
        self._prepared: dict[str, Prepared] = {}
        self._locks = {"read": asyncio.Lock(), "write": asyncio.Lock()}
        self._scripted: set[str] = set()  # statements that were run as a script once

    def command(self, *words: str) -> str:
        """Return the shell command of unstick with these words, for this database."""
        return shell.unstick(words, self.words)

    async def batch(self, queries: Sequence[BatchedQuery]) -> list[list[dict[str, Any]]]:
        """Run several queries in one round trip and return their rows, with JSON values.

        Raises DatabaseError.
        """
        async with self._locks["read"]:
            was_open = self._is_open("read")
            try:
                return await self._batch(queries)
            except LostError:
                if not was_open:
                    raise
                return await self._batch(queries)  # the connection had died while idle

    async def _batch(self, queries: Sequence[BatchedQuery]) -> list[list[dict[str, Any]]]:
        begin = _begin_read(READ_TIMEOUT * self.patience, in_order=True)
        new = not self._is_open("read")
        connection = self._connections["read"] if not new else await self._connect()
        try:
            first, *rows = await self._run_script(connection, begin, [BatchedQuery(statement("server")), *queries])
        except BaseException:
            connection.terminate()
            raise
        self._register("read", connection, first[0])
        return rows

    async def _run_script(
        self, connection: asyncpg.Connection[Any], begin: str, queries: Sequence[BatchedQuery]
    ) -> list[list[dict[str, Any]]]:
        with self.load.measured(), driver_errors():
            async with asyncio.timeout(READ_TIMEOUT * self.patience + GRACE):
                data = await asyncpg_compat.copy_out(connection, compose(begin, queries))
                self.load.ended("COMMIT")
        return decode(data)

    @contextlib.asynccontextmanager
    async def reading(self, limit: float = READ_TIMEOUT, *, in_order: bool = False) -> AsyncIterator[Transaction]:
        """Open a READ ONLY transaction with one snapshot.

        It ends with COMMIT: the server's count of rollbacks is that of the workers, however many consoles read.

        ``in_order`` is for statements that read the first few rows in an index's order. Without it a server that
        expects few rows reads all of them through a bitmap scan and sorts them: millions for some parents.
        """
        limit *= self.patience
        begin = _begin_read(limit, in_order=in_order)
        async with self._transaction("read", begin, limit) as transaction:
            yield transaction

    @contextlib.asynccontextmanager
    async def reading_first(self, query: Statement) -> AsyncIterator[Transaction | Script]:
        """Open a READ ONLY transaction, or a Script for the first run of ``query``.

        The first page of each engine then needs one round trip for each step instead of four. Later reads use
        transactions: pg_stat_statements would get an entry for each set of a script's values.
        """
        if query.text in self._scripted:
            async with self.reading(in_order=True) as transaction:
                yield transaction
        else:
            self._scripted.add(query.text)
            yield Script(self)

    @contextlib.asynccontextmanager
    async def writing(
        self, schema: str = "", over: str = "write", limit: float | None = None, tables: Sequence[Table] = ()
    ) -> AsyncIterator[Transaction]:
        """Open a READ COMMITTED transaction. It is rolled back unless the body commits it.

        ``schema`` goes on the search_path for an engine whose own triggers and functions use unqualified names. The
        caller must have checked that only trusted roles can create objects in that schema.
        ``over`` is the connection: "read" allows a second writing transaction at the same time. No statement runs after
        ``limit`` seconds. If this process hangs, the server ends the transaction one second later. ``tables`` are
        locked as a change locks them, in the same round trip. Raises TableLockedError if another session locks one.
        """
        most = WRITE_TIMEOUT * self.patience
        limit = max(round(min(limit or most, most), 1), 0.1)
        settings = {
            "lock_timeout": min(LOCK_TIMEOUT, limit),
            "statement_timeout": limit,
            "idle_in_transaction_session_timeout": min(IDLE_TIMEOUT, most),
        }
        if self.server is not None and self.server.version >= 17:
            settings["transaction_timeout"] = limit + 1.0
        begin = _begin("BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE", settings, schema)
        begin = f"{begin}; {statement('fire_triggers').text}"
        async with self._transaction(over, begin, limit, writes=True, first=lock_tables(tables)) as transaction:
            yield transaction

    def why_read_only(self) -> str:
        """Return why this server accepts no changes, as of its last answer, or ""."""
        if self.server is None:
            return ""
        if self.server.standby:
            return STANDBY
        return FORBIDDEN if self.server.read_only and not self.override_read_only else ""

    @property
    def sessions(self) -> int:
        """Number of open connections."""
        return len(self._connections)

    def locked(self, over: str) -> bool:
        """Return True if a transaction is using that connection."""
        return self._locks[over].locked()

    @contextlib.asynccontextmanager
    async def at_rest(self) -> AsyncIterator[None]:
        """Wait until no transaction is open, and let none begin in the body."""
        while True:
            async with self._locks["write"]:
                if not self.locked("read"):
                    async with self._locks["read"]:
                        yield
                        return
            async with self._locks["read"]:  # not while the other lock is held: two transactions may be nested
                pass

    async def close(self) -> None:
        """Close both connections. Each may take a second."""
        for connection in list(self._connections.values()):
            with contextlib.suppress(Exception):
                await connection.close(timeout=1.0)
            connection.terminate()
        self._connections.clear()

    @contextlib.asynccontextmanager
    async def _transaction(
        self, purpose: str, begin: str, limit: float, *, writes: bool = False, first: str = ""
    ) -> AsyncIterator[Transaction]:
        async with self._locks[purpose]:
            transaction = await self._begin_transaction(purpose, begin, limit, first, again=self._is_open(purpose))
            if writes:
                transaction.limit_time(limit)
            try:
                yield transaction
            finally:
                await self._end(purpose, ROLLBACK if writes else "COMMIT")

    async def _begin_transaction(
        self, purpose: str, begin: str, limit: float, first: str, *, again: bool
    ) -> Transaction:
        """Begin a transaction. ``first`` is sent with BEGIN."""
        connection = await self._connected(purpose)
        role = self.server.role if self.server else ""
        transaction = Transaction(connection, limit, self.load, begin, self._prepared[purpose], role)
        try:
            with table_locks():
                await transaction.control(f"{begin}; {first}" if first else begin)
        except LostError:
            # The connection had died while idle. Nothing was done on it, so a new one can take over.
            self._drop(purpose)
            if not again:
                raise
            return await self._begin_transaction(purpose, begin, limit, first, again=False)
        except (LockedError, DeniedError):
            await self._end(purpose, ROLLBACK)
            raise
        except DatabaseError as error:
            self._drop(purpose)
            raise (ReadOnlyError(STANDBY, code=error.code) if error.code == NO_WRITES else error) from None
        except BaseException:
            self._drop(purpose)
            raise
        return transaction

    async def _end(self, purpose: str, command: str) -> None:
        """End the transaction, or drop the connection if that fails."""
        connection = self._connections.get(purpose)
        if connection is None:
            return
        try:
            if connection.is_in_transaction():
                ending = asyncio.ensure_future(connection.execute(command))
                ending.add_done_callback(_retrieve_exception)
                async with asyncio.timeout(GRACE):
                    self.load.ended(await asyncio.shield(ending))
        except BaseException as error:
            self._drop(purpose)
            if not isinstance(error, Exception):
                raise
        if connection.is_closed():
            self._drop(purpose)

    def _is_open(self, purpose: str) -> bool:
        """Return True if there is a connection that is not known to be closed."""
        connection = self._connections.get(purpose)
        return connection is not None and not connection.is_closed()

    async def _connected(self, purpose: str) -> asyncpg.Connection[Any]:
        if not self._is_open(purpose):
            connection = await self._connect()
            begin = _begin_read(READ_TIMEOUT, in_order=False)
            try:
                rows = await self._run_script(connection, begin, [BatchedQuery(statement("server"))])
            except BaseException:
                connection.terminate()
                raise
            self._register(purpose, connection, rows[0][0])
        return self._connections[purpose]

    def _register(self, purpose: str, connection: asyncpg.Connection[Any], server: Mapping[str, Any]) -> None:
        if self._connections.get(purpose) is not connection:
            direct = server["pid"] == connection.get_server_pid()
            self._connections[purpose], self._prepared[purpose] = connection, Prepared(connection, direct=direct)
            self._backoff.reset()
            self._refused = None
        self.server = Server(**server, **_link(connection))

    async def _connect(self) -> asyncpg.Connection[Any]:
        """Connect, but raise the same error again soon after a refused login.

        Raises DatabaseError.
        """
        if self._refused is not None and self.rests > 0:
            raise self._refused.with_traceback(None)
        try:
            return await connect(self.text)
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


def _retrieve_exception(task: asyncio.Future[Any]) -> None:
    """Retrieve an abandoned task's exception, so that asyncio does not log it."""
    if not task.cancelled():
        task.exception()


async def connect(text: str) -> asyncpg.Connection[Any]:
    """Connect to the database that ``text`` names.

    Raises DatabaseError, also if the server is older than PostgreSQL 14.
    """
    try:
        target = dsn.parse(text)
    except ValueError as error:
        raise DatabaseError(str(error)) from None
    with driver_errors(connecting=text):
        connection = await connecting.connect(target, redact(text), {"application_name": APPLICATION})
    asyncpg_compat.ignore_abandoned_futures()
    major = connection.get_server_version().major
    if major < MINIMUM:
        connection.terminate()
        raise DatabaseError(
            f"This server is PostgreSQL {major}; unstick needs {MINIMUM} or newer.", "Nothing was read or changed."
        )
    with driver_errors(connecting=text):
        await asyncpg_compat.accept_any_bytes(connection)
    return connection


def _begin_read(limit: float, *, in_order: bool) -> str:
    settings = {
        "lock_timeout": READ_LOCK_TIMEOUT,
        "statement_timeout": limit,
        "idle_in_transaction_session_timeout": IDLE_TIMEOUT,
    }
    begin = _begin(BEGIN_READ, settings)
    return begin + ("; SET LOCAL enable_bitmapscan = off" if in_order else "")


def lock_tables(tables: Iterable[Table]) -> str:
    """Return the command that locks tables as an UPDATE does, or "".

    No other session can then create triggers, rules or indexes on them.
    """
    names = ", ".join(f"{quoted(schema)}.{quoted(name)}" for schema, name in tables)
    return with_parts(statement("lock_tables").text, {"tables": names}) if names else ""


def quoted(name: str) -> str:
    """Return a name as SQL."""
    return '"' + name.replace('"', '""') + '"'


def _search_path(*schemas: str) -> str:
    """Return the command for a search_path of the server's and these schemas.

    A role that may create objects in another schema on the path could have its operators and functions run by unstick.
    """
    own = "".join(f"{quoted(schema)}, " for schema in schemas if schema)
    return f"SET LOCAL search_path = pg_catalog, {own}pg_temp"


def _begin(mode: str, settings: Mapping[str, float], schema: str = "") -> str:
    # A plan that is made for any values may read a whole table.
    commands = [mode, _search_path(schema), "SET LOCAL jit = off", "SET LOCAL plan_cache_mode = force_custom_plan"]
    # Cursors, copies and images of rows hold values as text.
    commands += [f"SET LOCAL {name} = '{word}'" for name, word in SPELLING.items()]
    commands += [f"SET LOCAL {name} = '{round(seconds * 1000)}ms'" for name, seconds in settings.items()]
    return "; ".join(commands)
