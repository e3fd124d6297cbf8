"""Transactions, with settings and time limits for each statement."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import asyncpg

from queries.db import asyncpg_compat, blockers, errors
from queries.db.combined import CombinedReads
from queries.db.driver_errors import driver_errors
from queries.db.errors import (
    DatabaseError,
    DeniedError,
    LockedError,
    LostError,
    OutdatedError,
    SlowError,
    UnreadableError,
)
from queries.db.pipeline import Execute, Fetch, Parse, Pipeline, RepeatError, Step
from queries.db.query import Query, Rows, RowsOrError
from queries.db.server_load import ServerLoad
from queries.db.shared_sql import statement
from queries.db.transaction_settings import StatementSettings, TransactionSettings
from queries.files.statement import Statement
from queries.records.record import Record
from queries.text.safe_text import has_bytes, shown_bytes

T = TypeVar("T")
APART, UNDO_APART = "SAVEPOINT apart", ("ROLLBACK TO SAVEPOINT apart", "RELEASE SAVEPOINT apart")
REPEATS, REPEAT_AFTER_SECONDS = 40, 0.05  # of reads that a standby cancelled, in one transaction
GRACE_SECONDS = 5.0  # after a statement's own timeout until the connection counts as dead


class Description(Record):
    """Columns of a statement with their types, and the types of its parameters.

    The names of types are those of the server.
    """

    columns: tuple[tuple[str, str], ...]
    parameters: tuple[str, ...]


class Reads:
    """Source of rows."""

    async def each(self, queries: Sequence[Query]) -> list[RowsOrError]:
        """Run several statements together.

        One that fails does not stop the others. Raises an error of NO_CONNECTION only.
        """
        raise NotImplementedError

    async def rows(self, statement: Statement, values: Mapping[str, Any]) -> Rows:
        """Run one statement with the parameters that it names. Raises DatabaseError."""
        return (await self.batch([Query(statement, values)]))[0]

    async def batch(self, queries: Sequence[Query]) -> list[Rows]:
        """Run several statements together. Raises DatabaseError."""
        answers = []
        for answer in await self.each(queries) if queries else ():
            if isinstance(answer, DatabaseError):
                raise answer
            answers.append(answer)
        return answers


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
        connected: Callable[[bool], Awaitable[tuple[Pipeline, bool]]],
        begin: tuple[str, str],
        settings: StatementSettings,
        load: ServerLoad,
        *,
        reads: bool,
        role: Callable[[], str],
        standby: Callable[[], bool | None],
        combined: CombinedReads,
        asks: Callable[[], bool],
        met: Callable[[Pipeline, Mapping[str, Any] | None, Mapping[str, Any]], bool],
    ) -> None:
        self._connected = connected
        self._pipeline: Pipeline | None = None
        self._begin = tuple(map(Execute, begin))
        self.settings = TransactionSettings(settings)
        self._load = load
        self._reads = reads
        self._role = role
        self._standby = standby
        self._combined = combined
        self._repeats = REPEATS if reads else 0
        self._asks = asks
        self._met = met
        self._apart = False
        self._aborted = False
        self._was_idle = False
        self._answered = False  # something of what was sent last
        self._locked: dict[tuple[str, str], LockedError] = {}  # by schema and table
        self._queued: list[str] = []  # commands that are sent with the next statement
        self.begun = False
        self.unreplicated = False  # COMMIT returned before a synchronous standby confirmed it

    def limit_time(self, seconds: float | None = None) -> None:
        """Set the time limit from now, or from its begin.

        Statements fail with SlowError after it. ``seconds`` None: as many as one statement may take.
        """
        self.settings.limit_time(seconds, begun=self.begun)

    @contextlib.contextmanager
    def apart(self) -> Iterator[None]:
        """Undo what the statements of the body do, with a savepoint.

        So one that fails does not fail the transaction. Statements that travel together share a savepoint; its end is
        sent with the next statement.
        """
        self._apart = True
        try:
            yield
        finally:
            self._apart = False

    async def each(
        self, queries: Sequence[Query], take: Callable[[RowsOrError], None] | None = None
    ) -> list[RowsOrError]:
        """Run several statements together.

        One that fails does not stop the others of a transaction that reads. In one that writes it is the last answer.
        ``take`` is called for each answer. Raises an error of NO_CONNECTION only.
        """
        if not self._reads or sum(query.json is not None for query in queries) < 2:
            return await self._each(queries, take)
        answers = await self._combined.each(self._each, queries, self.settings.defaults.seconds)
        if take is not None:
            for answer in answers:
                take(answer)
        return answers

    async def _each(
        self, queries: Sequence[Query], take: Callable[[RowsOrError], None] | None = None
    ) -> list[RowsOrError]:
        answers: list[RowsOrError] = []

        def note(answer: RowsOrError) -> None:
            answers.append(answer)
            if take is not None:
                take(answer)

        again = self._reads
        while len(answers) < len(queries):
            refused = [self._refused(query) for query in queries[len(answers) :]]
            if refused[0] is not None:
                note(refused[0])
                continue
            free = next((n for n, each in enumerate(refused) if each is not None), len(refused))
            try:
                error = await self._until_error(queries[len(answers) :][:free], note)
            except DatabaseError as raised:
                if not await self._begins_again(raised):
                    raise self._advised(raised) from raised.__cause__
                continue
            if isinstance(error, OutdatedError) and again:
                again = False
            elif error is not None and await self._begins_again(error):
                continue
            elif error is not None:
                note(self._advised(await self._explained(error, queries[len(answers)].statement)))
                again = self._reads
                if not self._reads:
                    break
        return answers

    async def control(self, command: str) -> str:
        """Run a transaction command and return its command tag. Raises DatabaseError."""
        return await self._repeated(partial(self._control, command))

    async def _control(self, command: str) -> str:
        await self._open()
        steps = self._first()
        settings = None  # SET LOCAL would fail in an aborted transaction, and is undone by ROLLBACK
        if not command.startswith("ROLLBACK"):
            settings = self.settings.of()  # not afterwards: a COMMIT that was answered is no matter of time any more
            if changed := self.settings.commands(settings):
                steps.append(Execute("; ".join(changed)))
        *_, answer = await self._run([*steps, Execute(command)], (settings or self.settings.own).seconds)
        self.settings.now = settings
        if isinstance(answer, Exception):
            raise self._failure(answer)
        return str(answer)

    async def describe(self, statement: Statement) -> Description:
        """Return the columns and parameters of a statement, without running it.

        Raises DatabaseError.
        """
        return await self._repeated(partial(self._describe, statement))

    async def _describe(self, statement: Statement) -> Description:
        if self._aborted or not self.begun:
            await self._control("SAVEPOINT described")
        assert self._pipeline is not None
        with driver_errors():
            prepared = await self._pipeline.describe(statement.text, self.settings.own.seconds + GRACE_SECONDS)
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
        return self._pipeline is None or self._pipeline.connection.is_closed()

    async def _begins_again(self, error: DatabaseError) -> bool:
        """Prepare to run the rest again after such a conflict.

        It runs on a new connection if the old one ended. Each statement then has a snapshot of its own, which hinders
        the replay for a shorter time.
        """
        if not self._repeats or not self._is_conflict(error):
            return False
        self._repeats -= 1
        await asyncio.sleep(REPEAT_AFTER_SECONDS)
        mode, *others = self._begin
        self._begin = (Execute(mode.text.replace("REPEATABLE READ", "READ COMMITTED")), *others)
        self._aborted = not self._is_closed
        if self._is_closed:
            self._pipeline, self.begun, self.settings.now = None, False, self.settings.own
        return True

    def _advised(self, error: DatabaseError) -> DatabaseError:
        return type(error)(str(error), errors.RECOVERY_HELP, code=error.code) if self._is_conflict(error) else error

    # Steps

    def _first(self) -> list[Step]:
        """Return what is sent before the next statement: the begin, and queued commands."""
        steps: list[Step] = []
        if self._aborted:
            steps, self.settings.now = [Execute("ROLLBACK"), *self._begin], self.settings.own
        elif not self.begun:
            steps += self._begin
            self.settings.begin()
        steps += map(Execute, self._queued)
        self._queued = []
        return steps

    async def _until_error(self, queries: Sequence[Query], take: Callable[[RowsOrError], None]) -> DatabaseError | None:
        """Run statements together until the first error, and return it.

        ``take`` is called for each answer before it.
        """
        seconds, apart, before = 0.0, False, self.settings.now
        bounded = True  # each statement before has a time limit of its own
        await self._open()
        steps = self._first()
        for query in queries:
            if (query.apart or self._apart) and not (apart or self._reads):
                apart, before = True, self.settings.now
                steps.append(Execute(APART))
            settings = self.settings.of(query, keeps=self._keeps)
            changed = self.settings.commands(settings, bounded=bounded)
            bounded = bounded and query.seconds is not None
            if changed:
                steps.append(Execute("; ".join(changed)))
            seconds = max(seconds, settings.seconds)
            if query.parsed:
                steps.append(Parse(query.statement.text))
            else:
                steps.append(Fetch(query.statement.text, tuple(query.arguments.values()), settings.plan))
        taken = 0

        def note(rows: Rows) -> None:
            nonlocal taken
            taken += 1
            take(self._as_text(rows))

        answers = await self._run(steps, seconds, note)
        if apart:
            self._queued += UNDO_APART
            self.settings.now = before
        error = answers[-1]
        if not isinstance(error, Exception):
            return None
        self._aborted, self.settings.now = self._reads, None
        return (
            None if isinstance(error, RepeatError) and self._reads else self._failure(error, queries[taken].statement)
        )

    async def _run(
        self, steps: Sequence[Step], seconds: float, take: Callable[[Rows], None] = lambda _: None
    ) -> list[Any]:
        """Run steps until the first error, which is the last answer.

        ``take`` is called for the rows of each statement when they come. Raises LostError, and any error of the command
        that begins the transaction.
        """
        begins, self.begun, self._answered = not self.begun, True, False
        try:
            answers = await self._sent(steps, seconds, take, again=False)
        except LostError:
            # The connection had died while idle. Nothing was done on it, so a new one can take over.
            if not begins or not self._was_idle or self._answered:
                raise
            self.settings.begin()  # no row lock was held, however long the dead connection did not answer
            answers = await self._sent(steps, seconds, take, again=True)
        self._aborted = False
        return answers

    async def _sent(
        self, steps: Sequence[Step], seconds: float, take: Callable[[Rows], None], *, again: bool
    ) -> list[Any]:
        pipeline = await self._open(again=again)
        at = next((n for n, step in enumerate(steps[:3], 1) if step is self._begin[-1]), 0)
        name = pipeline.new_name() if pipeline.keeps is None else ""
        asked = [Fetch(statement("answering").text)] if at else []
        if at and (name or self._asks()):
            asked.insert(0, Fetch(statement("server").text, (name,), name=name))
        steps = [*steps[:at], *asked, *steps[at:]]
        facts: list[Mapping[str, Any]] = []
        elsewhere = False

        def note(step: int, answer: Any) -> None:
            nonlocal elsewhere
            self._answered = True
            if isinstance(answer, Exception):
                return
            if at and step == 0:
                timed.begin()
                self.settings.begin()  # what it waited for a backend of a pooler is no time of its own
            elif at <= step < at + len(asked):
                facts.append(answer[0])
                if name and len(facts) == 1:
                    pipeline.meet(answer[0], name)
                if len(facts) == len(asked):
                    elsewhere = not self._met(pipeline, facts[-2] if facts[1:] else None, facts[-1])
            elif not isinstance(steps[step], Execute) and not elsewhere:
                take(answer)

        try:
            with driver_errors(), self._load.measured(waits=bool(at)) as timed:
                pipeline.connection.add_log_listener(self._on_log)  # fails if the connection is closed
                answers = await pipeline.run(steps, seconds + GRACE_SECONDS, reads=self._reads, take=note)
                if self._reads and not isinstance(answers[-1], Exception):
                    values = (repr(each.arguments) if isinstance(each, Fetch) else "" for each in steps)
                    # A text keeps its hash. To print 100 statements took 2 ms of a refresh.
                    timed.statements = hash((*(each.text for each in steps), *values))
            await asyncio.sleep(0)  # the driver passes on notices a moment later
        finally:
            pipeline.connection.remove_log_listener(self._on_log)
        if elsewhere:
            self._answered = False
            raise LostError("Another server answers now than before.", "A pooler or proxy leads elsewhere.")
        if len(answers) <= at + len(asked) and isinstance(answers[-1], Exception):
            error = self._failure(answers[-1])
            raise errors.begin_error(error) if len(answers) <= at else error
        return [*answers[:at], *answers[at + len(asked) :]]

    @property
    def _keeps(self) -> bool:
        """True if a plan is made once for all later reads: for any values."""
        return self._reads and self._pipeline is not None and bool(self._pipeline.keeps)

    async def _open(self, *, again: bool = False) -> Pipeline:
        if self._pipeline is None or again:
            self._pipeline, self._was_idle = await self._connected(again)
        return self._pipeline

    def _failure(self, error: Exception, failed: Statement | None = None) -> DatabaseError:
        """Return an error of the driver as a DatabaseError."""
        assert self._pipeline is not None
        # The driver finds it out itself if the server parses the statement at each run.
        if isinstance(error, asyncpg.InvalidCachedStatementError | asyncpg.exceptions.ProtocolError):
            self._pipeline.forget()
            return OutdatedError("A table has got other columns meanwhile.", "Nothing was changed. Try again.")
        if isinstance(error, RepeatError):
            return OutdatedError("A statement has got parameters of other types.", "Nothing was changed. Try again.")
        if isinstance(error, ValueError | ArithmeticError) and not self._pipeline.connection.is_closed():
            # Python cannot represent some values, such as the year 294276. The connection is still usable.
            return UnreadableError(f"A value cannot be read: {errors.first_line(error)}.")
        try:
            with driver_errors(statement=failed):
                raise error
        except SlowError as slow:
            return self.settings.late() or slow  # the limit that the server obeyed may have been the console's
        except DatabaseError as translation:
            return translation

    async def _explained(self, error: DatabaseError, failed: Statement) -> DatabaseError:
        """Return an error with what the server did not say.

        It is who holds the lock, or which columns are denied.
        """
        if not self._reads or not isinstance(error, LockedError | DeniedError):
            return error
        name = "blockers" if isinstance(error, LockedError) else "denied_columns"
        answers: list[RowsOrError] = []
        if await self._until_error([Query(statement(name), {"query": failed.text})], answers.append) or not answers:
            return error
        (rows,) = answers
        if isinstance(rows, DatabaseError):
            return error
        if isinstance(error, LockedError):
            locked = LockedError(error.line, blockers.describe(rows, self._role()), code=error.code)
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
        assert self._pipeline is not None
        if not asyncpg_compat.accepts_any_bytes(self._pipeline.connection):
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
