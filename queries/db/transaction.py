"""Transactions, with settings and time limits for each statement."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import asyncpg

from queries.db import asyncpg_compat, errors
from queries.db.combined import CombinedReads
from queries.db.connection import ServerConnection, driver_errors
from queries.db.errors import (
    NO_CONNECTION,
    DatabaseError,
    DeniedError,
    LockedError,
    LostError,
    OutdatedError,
    SlowError,
    UnreadableError,
)
from queries.db.query import Query, Rows, RowsOrError, statement
from queries.db.reads import Reads
from queries.db.server_load import ServerLoad
from queries.db.transaction_settings import StatementSettings, TransactionSettings
from queries.files.statement import Statement
from queries.records.record import Record
from queries.text.duration import spelled
from queries.text.safe_text import has_bytes, shown_bytes

T = TypeVar("T")
APART, UNDO_APART, END_APART = "SAVEPOINT apart", "ROLLBACK TO SAVEPOINT apart", "RELEASE SAVEPOINT apart"
REPEATS, REPEAT_AFTER_SECONDS = 40, 0.05  # of reads that a standby cancelled, in one transaction
RELEASED = "The lock is free again: refresh."
GRACE_SECONDS = 5.0  # after a statement's own timeout until the connection counts as dead


class Description(Record):
    """Columns of a statement with their types, and the types of its parameters.

    The names of types are those of the server.
    """

    columns: tuple[tuple[str, str], ...]
    parameters: tuple[str, ...]


class Transaction(Reads):
    """A transaction. It begins with its first statement.

    In one that reads, a statement that fails costs only itself: the transaction is rolled back and begun again, with
    another snapshot. A read that timed out waiting for a lock fails with LockedError and the session that holds it. So
    do the later reads of that table, without waiting.

    ``begin``: the command that begins it, and the one for ``settings``. They are two messages: a pooler that balances
    reads takes a BEGIN in front of others for no begin. ``connected`` returns the connection, and True if it was idle
    before; with True it returns a new one. ``asks``: read all facts about the server, also on a known connection.
    ``met`` takes these facts, or none, and which server answers, and returns False if that is not the known one.
    """

    def __init__(
        self,
        connected: Callable[[bool], Awaitable[tuple[ServerConnection, bool]]],
        begin: tuple[str, str],
        settings: StatementSettings,
        load: ServerLoad,
        *,
        reads: bool,
        role: Callable[[], str],
        standby: Callable[[], bool | None],
        combined: CombinedReads,
        asks: Callable[[], bool],
        met: Callable[[ServerConnection, Mapping[str, Any] | None, Mapping[str, Any]], bool],
    ) -> None:
        self._connected = connected
        self._connection: ServerConnection | None = None
        self._begin = begin
        self.settings = TransactionSettings(settings)
        self._load = load
        self._reads = reads
        self._role = role
        self._standby = standby
        self._combined = combined
        self._repeats = REPEATS if reads else 0
        self._asks = asks
        self._met = met
        self._before: StatementSettings | None = None  # settings before the savepoint of statements that are apart
        self._aborted = False
        self._was_idle = False
        self._locked: dict[tuple[str, str], LockedError] = {}  # by schema and table
        self._queued: list[str] = []  # commands that are sent with the next one
        self.begun = False
        self.unreplicated = False  # COMMIT returned before a synchronous standby confirmed it

    def limit_time(self, seconds: float | None = None) -> None:
        """Set the time limit from now, or from its begin.

        Statements fail with SlowError after it. ``seconds`` None: as many as one statement may take.
        """
        self.settings.limit_time(seconds, begun=self.begun)

    async def each(self, queries: Sequence[Query]) -> list[RowsOrError]:
        """Run several statements.

        One that fails does not stop the others of a transaction that reads. In one that writes it is the last answer.
        Raises an error of NO_CONNECTION, or of the begin of the transaction.
        """
        seconds = self.settings.defaults.seconds
        if self._reads:
            return await self._combined.each(self._each, queries, seconds)
        return await self._combined.in_turn(self._each, queries, seconds)

    async def _each(self, queries: Sequence[Query]) -> list[RowsOrError]:
        """Run statements one after another."""
        answers: list[RowsOrError] = []
        for query in queries:
            answers.append(self._refused(query) or await self._answer(query))
            if isinstance(answers[-1], DatabaseError) and not self._reads:
                self._end_apart()
                break
        return answers

    async def _answer(self, query: Query) -> RowsOrError:
        """Return the rows of a statement, or why it failed.

        A read is run again if its table had got other columns, or if a standby cancelled it. Raises as `each`.
        """
        outdated = False
        while True:
            try:
                settings = await self._begin_if_needed(query)
            except DatabaseError as error:
                if not await self._begins_again(error):
                    raise self._advised(error) from error.__cause__
                continue
            try:
                return self._as_text(await self._rows(query, settings))
            except DatabaseError as error:
                self._aborted, self.settings.now = self._reads, None
                if await self._begins_again(error):
                    continue
                if isinstance(error, OutdatedError) and self._reads and not outdated:
                    outdated = True
                    continue
                if isinstance(error, NO_CONNECTION):
                    raise self._advised(error) from error.__cause__
                return self._advised(await self._explained(error, query.statement))

    async def _rows(self, query: Query, settings: StatementSettings) -> Rows:
        connection, seconds = await self._open(), settings.seconds + GRACE_SECONDS
        if self._reads or not query.apart:
            self._end_apart()
        elif self._before is None:
            self._before = self.settings.now
            self._queued.append(APART)
        await self._set(self.settings.commands(settings))
        text = query.statement.text
        with self._errors(query.statement), self._load.measured() as timed:
            if query.command:
                await connection.execute(text, seconds)
                return []
            if query.parsed:
                await (connection.keep if query.apart else connection.parse)(text, seconds)
                return []
            arguments = tuple(query.arguments.values())
            rows: Rows = await connection.fetch(text, arguments, seconds)
            if self._reads:
                timed.statement = hash((text, repr(arguments)))
        return rows

    def _end_apart(self) -> None:
        """Undo what was done apart, with the next command."""
        if self._before is not None:
            self._queued += [UNDO_APART, END_APART]
            self.settings.now, self._before = self._before, None

    async def control(self, command: str) -> str:
        """Run a transaction command and return its command tag. Raises DatabaseError."""
        return await self._repeated(partial(self._control, command))

    async def _control(self, command: str) -> str:
        await self._begin_if_needed()
        self._end_apart()
        settings, changed = None, list[str]()
        # SET LOCAL would fail in an aborted transaction, and is undone by ROLLBACK.
        if not command.startswith("ROLLBACK"):
            settings = self.settings.of()  # not afterwards: a COMMIT that was answered is no matter of time any more
            changed = self.settings.commands(settings)
        await self._set(changed)
        connection, seconds = await self._open(), (settings or self.settings.own).seconds + GRACE_SECONDS
        try:
            with self._errors(), self._load.measured():
                connection.connection.add_log_listener(self._on_log)  # fails if the connection is closed
                tag = await connection.execute(command, seconds)
                await asyncio.sleep(0)  # the driver passes on notices a moment later
        finally:
            connection.connection.remove_log_listener(self._on_log)
        self.settings.now = settings
        return tag

    async def prepare(self, statements: Iterable[Statement]) -> None:
        """Prepare statements: each is one message then.

        Their tables are not locked until they are run.
        """
        known = (await self._open()).kept
        new = [Query(each, parsed=True, apart=True) for each in statements if each.text not in known]
        if new and self._connection is not None and self._connection.keeps:
            await self.each(new)  # an error is that of the statement when it is run

    async def describe(self, statement: Statement) -> Description:
        """Return the columns and parameters of a statement, without running it.

        Raises DatabaseError.
        """
        return await self._repeated(partial(self._describe, statement))

    async def _describe(self, statement: Statement) -> Description:
        await self._begin_if_needed()
        connection = await self._open()
        with self._errors():
            prepared = await connection.parse(statement.text, self.settings.own.seconds + GRACE_SECONDS)
        return Description(
            columns=tuple((each.name, each.type.name) for each in prepared.get_attributes()),
            parameters=tuple(each.name for each in prepared.get_parameters()),
        )

    # Conflicts of a read with the replay of a standby

    async def _repeated(self, run: Callable[[], Awaitable[T]]) -> T:
        """Run again what such a conflict cancelled."""
        while True:
            try:
                return await run()
            except DatabaseError as error:
                if self._reads:
                    self._aborted, self.settings.now = self.begun, None
                if not await self._begins_again(error):
                    raise self._advised(error) from error.__cause__

    def _is_conflict(self, error: DatabaseError) -> bool:
        """Return True also if the standby ended the connection of an idle transaction."""
        standby = self._standby()  # None: not known yet
        ended = isinstance(error, LostError) and standby is True and self._is_closed
        return self._reads and (ended or (error.code in errors.RECOVERY and standby is not False))

    @property
    def _is_closed(self) -> bool:
        return self._connection is None or self._connection.is_closed

    async def _begins_again(self, error: DatabaseError) -> bool:
        """Prepare to run the rest again after such a conflict.

        It runs on a new connection if the old one ended. Each statement then has a snapshot of its own, which hinders
        the replay for a shorter time.
        """
        if not self._repeats or not self._is_conflict(error):
            return False
        self._repeats -= 1
        await asyncio.sleep(REPEAT_AFTER_SECONDS)
        mode, settings = self._begin
        self._begin = mode.replace("REPEATABLE READ", "READ COMMITTED"), settings
        self._aborted = not self._is_closed
        if self._is_closed:
            self._connection, self.begun, self.settings.now = None, False, self.settings.own
        return True

    def _advised(self, error: DatabaseError) -> DatabaseError:
        return type(error)(str(error), errors.RECOVERY_HELP, code=error.code) if self._is_conflict(error) else error

    # Begin

    async def _begin_if_needed(self, query: Query | None = None) -> StatementSettings:
        """Begin the transaction, or begin it again after a read that failed.

        Return the settings for the first statement. Raises DatabaseError.
        """
        if self.begun and not self._aborted:
            return self.settings.of(query, keeps=self._keeps)
        connection = await self._open()
        if self._aborted:
            with self._errors():
                await connection.execute("ROLLBACK", GRACE_SECONDS)
            self.begun = self._aborted = False
        try:
            return await self._begin_on(connection, query)
        except LostError:
            # The connection had died while idle. Nothing was done on it, so a new one can take over.
            if not self._was_idle or self.begun:
                raise
            return await self._begin_on(await self._open(again=True), query)

    async def _begin_on(self, connection: ServerConnection, query: Query | None) -> StatementSettings:
        seconds = self.settings.own.seconds + GRACE_SECONDS
        mode, settings = self._begin
        try:
            with self._errors():
                await connection.execute(mode, seconds)
                self.begun = True
                self.settings.begin()  # what it waited for a backend of a pooler is no time of its own
                first = self.settings.of(query, keeps=self._keeps)
                with self._load.measured() as timed:
                    timed.statement = "settings"
                    await connection.execute("; ".join((settings, *self.settings.commands(first))), seconds)
        except DatabaseError as error:
            self._aborted = self.begun
            raise errors.begin_error(error) from error.__cause__
        facts = None
        name = connection.new_name() if connection.keeps is None else ""
        if name or self._asks():
            with self._errors(), self._load.measured() as timed:
                timed.statement = "server"
                (facts,) = await connection.fetch(statement("server").text, (name,), seconds, name)
        if facts is not None and name:
            connection.meet(facts)
        with self._errors(), self._load.measured() as timed:
            timed.statement = "answering"
            (answering,) = await connection.fetch(statement("answering").text, (), seconds)
        if not self._met(connection, facts, answering):
            self.begun = False
            raise LostError("Another server answers now than before.", "A pooler or proxy leads elsewhere.")
        return first

    async def _set(self, commands: Sequence[str]) -> None:
        """Send commands that change settings, with those that are queued."""
        queued, self._queued = self._queued, []
        connection, seconds = await self._open(), self.settings.own.seconds + GRACE_SECONDS
        with self._errors():
            for command in queued:  # each alone: pgpool2 looks at the first command of a message only
                await connection.execute(command, seconds)
            if commands:
                await connection.execute("; ".join(commands), seconds)

    @property
    def _keeps(self) -> bool:
        """True if a plan is made once for all later reads: for any values."""
        return self._reads and self._connection is not None and bool(self._connection.keeps)

    async def _open(self, *, again: bool = False) -> ServerConnection:
        if self._connection is None or again:
            self._connection, self._was_idle = await self._connected(again)
        return self._connection

    @contextlib.contextmanager
    def _errors(self, failed: Statement | None = None) -> Iterator[None]:
        """Raise DatabaseError for any error of the driver.

        ``failed``: the statement that is run.
        """
        try:
            with driver_errors(statement=failed):
                try:
                    yield
                except (asyncpg.InvalidCachedStatementError, asyncpg.exceptions.ProtocolError) as error:
                    why = "A table has got other columns meanwhile."
                    raise OutdatedError(why, "Nothing was changed. Try again.") from error
                except (ValueError, ArithmeticError) as error:
                    if self._is_closed:
                        raise
                    # Python cannot represent some values, such as the year 294276. The connection is still usable.
                    raise UnreadableError(f"A value cannot be read: {errors.first_line(error)}.") from error
        except SlowError as slow:
            raise self.settings.late() or slow from slow.__cause__  # the limit may have been the console's

    async def _explained(self, error: DatabaseError, failed: Statement) -> DatabaseError:
        """Return an error with what the server did not say.

        It is who holds the lock, or which columns are denied.
        """
        if not self._reads or not isinstance(error, LockedError | DeniedError):
            return error
        name = "blockers" if isinstance(error, LockedError) else "denied_columns"
        query = Query(statement(name), {"query": failed.text})
        try:
            rows = self._as_text(await self._rows(query, await self._begin_if_needed(query)))
        except DatabaseError:
            self._aborted, self.settings.now = self.begun, None
            return error
        if isinstance(rows, DatabaseError):
            return error
        if isinstance(error, LockedError):
            locked = LockedError(error.line, blocked_by(rows, self._role()), code=error.code)
            self._locked.update(((row["schema"], row["asked"]), locked) for row in rows)
            return locked
        denied = "; ".join(f"{row['columns']} of {row['relation']}" for row in rows)
        why = f"The role may not read these columns: {denied}."
        return DeniedError(error.line, why, code=error.code) if denied else error

    def _refused(self, query: Query) -> LockedError | None:
        """Return why a statement would wait for the lock of a table in vain, or None."""
        text = query.statement.text
        tables = (
            each for each in self._locked if re.search(rf'"{re.escape(each[0])}"\."?{re.escape(each[1])}\b', text)
        )
        return next((self._locked[each] for each in tables), None)

    def _as_text(self, rows: Rows) -> RowsOrError:
        """Return rows with bytes that are no text escaped.

        Only a database that does not check its texts has such bytes. In a transaction that writes they are an error:
        the audit log could not hold a copy of such a row.
        """
        assert self._connection is not None
        if not asyncpg_compat.accepts_any_bytes(self._connection.connection):
            return rows
        texts = (v for row in rows for value in row.values() for v in (value if isinstance(value, list) else (value,)))
        if not any(isinstance(text, str) and has_bytes(text) for text in texts):
            return rows
        if not self._reads:
            return UnreadableError(
                "A row holds bytes that are no UTF-8, so the audit log cannot hold a copy of it.",
                "Nothing was changed. The database is in SQL_ASCII: correct the text of the row with psql.",
            )
        return [{name: _shown(value) for name, value in row.items()} for row in rows]

    def _on_log(self, _: object, message: asyncpg.PostgresLogMessage) -> None:
        """Set ``unreplicated`` if a wait for a synchronous standby was cancelled.

        Only its source function identifies it: SQLSTATE 01000 is that of any warning, and the text is localized.
        """
        self.unreplicated |= message.server_source_function == "SyncRepWaitForLSN"


def _shown(value: Any) -> Any:
    if isinstance(value, list):
        return [_shown(each) for each in value]
    return shown_bytes(value) if isinstance(value, str) else value


def blocked_by(rows: Sequence[Mapping[str, Any]], role: str) -> str:
    """Return a line about the rows of ``blockers.sql``. ``role`` is the current role."""
    if not rows:
        return RELEASED
    line = "; ".join(map(_blocker, rows)) + "."
    return line + (f" To see its activity: GRANT pg_monitor TO {role}." if any(r["hidden"] for r in rows) else "")


def _blocker(row: Mapping[str, Any]) -> str:
    if not row["granted"]:
        behind = f", behind {row['behind']}" if row["behind"] else ""
        return f"{row['who']} waits to lock {row['relation']} exclusively{behind}"
    since = "" if row["seconds"] is None else f" for {spelled(row['seconds'])}"
    state = f" and is {row['state']}" if row["state"] else ""
    return f"{row['who']} locks {row['relation']} exclusively{since}{state}"
