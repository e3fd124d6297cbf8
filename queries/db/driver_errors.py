"""Errors of the driver, as DatabaseErrors."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Iterator

import asyncpg

from queries.db import errors
from queries.db.errors import DatabaseError, LostError
from queries.db.redaction import redact
from queries.files.statement import Statement, locate

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
        return errors.SequenceError(*errors.SEQUENCE, code=code)
    result = errors.statement_error(code, reason, error.constraint_name or "")
    result.position = int(error.position or 0)
    return result
