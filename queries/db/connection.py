"""A connection, over the driver's public interface, and the driver's errors."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import ssl
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import asyncpg

from queries.db import errors
from queries.db.errors import DatabaseError, LostError
from queries.db.redaction import redact
from queries.files.statement import Statement, locate

T = TypeVar("T")
LAST_SECONDS = 5.0  # for the answer to a command that nothing waits for


class ServerConnection:
    """Connection, and the statements that the driver keeps prepared on it.

    ``answered``: time of the last answer. ``keeps``: later transactions know prepared statements, too; None before
    `meet`. Behind some poolers they have another backend, so there a statement has no name and is parsed at each run.
    ``named``: the driver gives names to statements, also to its own, which ask for types.
    """

    def __init__(self, connection: asyncpg.Connection[Any], *, named: bool) -> None:
        self.connection, self.named = connection, named
        self.keeps: bool | None = None  # None: not known yet
        self.kept: set[str] = set()  # texts that were prepared before they were run
        self.answered = time.monotonic()
        self._in_doubt = False  # a command was given up
        self._last: asyncio.Task[str] | None = None  # a command whose answer nothing waits for

    def meet(self, facts: Mapping[str, Any]) -> None:
        """Find out whether later transactions know prepared statements.

        A pooler that keeps them gives them other names. ``facts``: ``pid`` and ``named`` of the statement `server`,
        which was prepared under a name. Its transaction has not ended.
        """
        self.keeps = facts["pid"] == self.connection.get_server_pid() or not facts["named"]

    @property
    def is_closed(self) -> bool:
        """True if nothing can be sent any more."""
        return bool(self.connection.is_closed())

    @property
    def may_be_in_transaction(self) -> bool:
        """True also if the answer to what was sent last was given up."""
        return self._in_doubt or self.connection.is_in_transaction()

    @staticmethod
    def new_name() -> str:
        """Return a name for a statement that no other session uses."""
        return f"unstick_{secrets.token_hex(8)}"

    async def execute(self, text: str, seconds: float) -> str:
        """Run commands, separated by ``;``, and return the last tag.

        They have neither parameters nor rows. ``seconds``: longest wait for the answer. Raises errors of the driver,
        and TimeoutError; the second one in turn closes the connection. So do the other methods.
        """
        return await self._answer(partial(self.connection.execute, text), seconds)

    async def fetch(self, text: str, arguments: Sequence[Any], seconds: float, name: str = "") -> list[asyncpg.Record]:
        """Run a statement with the values of its parameters, and return its rows.

        ``name``: to prepare it under, whether or not later transactions know it.
        """
        if self.keeps and not name:
            return await self._answer(partial(self.connection.fetch, text, *arguments), seconds)
        prepared = await self._answer(partial(self.connection.prepare, text, name=name), seconds)
        return await self._answer(partial(prepared.fetch, *arguments), seconds)

    async def keep(self, text: str, seconds: float) -> None:
        """Prepare a statement for `fetch`, unless it is prepared."""
        await self._answer(partial(self.connection.fetchmany, text, []), seconds)  # for no values it is not run
        self.kept.add(text)

    async def parse(self, text: str, seconds: float) -> asyncpg.prepared_stmt.PreparedStatement[Any]:
        """Parse a statement without running it."""
        return await self._answer(partial(self.connection.prepare, text, name=""), seconds)

    async def send_last(self, text: str) -> None:
        """Send a command without waiting for its answer."""
        self._last = asyncio.ensure_future(self.connection.execute(text))
        self._last.add_done_callback(retrieve_exception)
        await asyncio.sleep(0)  # it is sent now, also if the program then waits for an editor

    async def close(self) -> None:
        """Close the connection, after the answer to what was sent last.

        It may take a second.
        """
        with contextlib.suppress(Exception):
            async with asyncio.timeout(1.0):
                await self._settle()
                await self.connection.close()
        self.terminate()

    def terminate(self) -> None:
        """Close the connection at once."""
        if self._last is not None:
            self._last.cancel()
        self.connection.terminate()

    async def _settle(self) -> None:
        """Wait for the answer that nothing has waited for.

        A connection without one is closed.
        """
        if self._last is not None:
            try:
                async with asyncio.timeout(LAST_SECONDS):
                    await asyncio.shield(self._last)
            except Exception:
                self.connection.terminate()
            self._last = None

    async def _answer(self, command: Callable[[], Awaitable[T]], seconds: float) -> T:
        await self._settle()
        in_doubt, self._in_doubt = self._in_doubt, True
        try:
            async with asyncio.timeout(seconds):
                answer = await command()
        except TimeoutError:  # the driver asks the server to cancel it, and waits for that before the next command
            if in_doubt:
                self.connection.terminate()
            raise
        except (asyncpg.PostgresError, ValueError, ArithmeticError):
            self._in_doubt = in_doubt
            raise
        self.answered, self._in_doubt = time.monotonic(), False
        return answer


def retrieve_exception(task: asyncio.Future[Any]) -> None:
    """Retrieve an abandoned task's exception, so that asyncio does not log it."""
    if not task.cancelled():
        task.exception()


FIELDS = ("message", "detail", "hint", "schema_name", "table_name", "column_name", "constraint_name", "context")

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
            raise LostError(
                "No answer came from the server in time.",
                "unstick closed the connection. A pooler in between may be paused.",
            ) from error
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
        return DatabaseError(*errors.SEQUENCE, code=code)
    result = errors.statement_error(code, reason, error.constraint_name or "")
    result.position = int(error.position or 0)
    fields = {name.removesuffix("_name"): getattr(error, name, None) for name in FIELDS}
    result.fields = {name: str(text) for name, text in fields.items() if text}
    return result
