"""Database errors with messages: what happened, what it means, what to do."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

import msgspec

T = TypeVar("T")
UNCHANGED = "Nothing was changed."
LOCKED = "Another session holds a lock that is needed."


class DatabaseError(Exception):
    """A database error. str() is one or two lines for the operator.

    ``code`` is the SQLSTATE, ``constraint`` the name of the violated constraint. Either is "" if the server sent none.
    ``position``: the character of the statement that the server names, or 0. ``fields``: what the server said, by the
    names of its protocol in lower case.
    """

    def __init__(self, *lines: str, code: str = "", constraint: str = "") -> None:
        super().__init__("\n".join(lines))
        self.code = code
        self.constraint = constraint
        self.position = 0
        self.fields: dict[str, str] = {}

    @property
    def line(self) -> str:
        """The message in one line."""
        return str(self).replace("\n", " ")

    @property
    def unchanged_line(self) -> str:
        """The message in one line, which says once that nothing was changed."""
        return self.line if UNCHANGED in self.line else f"{self.line} {UNCHANGED}"


class UnreachableError(DatabaseError):
    """No connection could be made. A later attempt may succeed."""


class DeniedError(DatabaseError):
    """The role lacks a privilege."""


class RefusedError(DatabaseError):
    """The server refuses to connect: a login, a database, a privilege.

    A later attempt may succeed, but each one counts: a server may lock an account after a few.
    """


class ForbiddenError(RefusedError, DeniedError):
    """The role may not connect to the database."""


class LostError(DatabaseError):
    """The connection broke.

    The server rolls the transaction back, unless its COMMIT was already sent.
    """


NO_CONNECTION = (LostError, UnreachableError, RefusedError)  # a next statement would have to connect again


async def attempted(read: Awaitable[T]) -> T | DatabaseError:
    """Return what a read returns, or the error that costs only this read.

    Raises an error of NO_CONNECTION only.
    """
    errors: list[DatabaseError] = []
    with attempting(errors.append):
        return await read
    return errors[0]


@contextlib.contextmanager
def attempting(note: Callable[[DatabaseError], object] = lambda error: None) -> Iterator[None]:
    """End the body at an error that costs only the body, and note the error.

    Raises an error of NO_CONNECTION only.
    """
    try:
        yield
    except NO_CONNECTION:
        raise
    except DatabaseError as error:
        note(error)


class OutdatedError(DatabaseError):
    """A statement was prepared before a table got other columns."""


class SlowError(DatabaseError):
    """The server cancelled the statement because it took too long."""


class LockedError(DatabaseError):
    """Another session holds a lock that the statement needs."""


class TableLockedError(LockedError):
    """Another session locks a whole table, so fewer nodes would fail too."""


@contextlib.contextmanager
def table_locks() -> Iterator[None]:
    """Raise TableLockedError where a statement would raise LockedError."""
    try:
        yield
    except LockedError as error:
        raise TableLockedError(str(error), code=error.code) from error


class OvertakenError(DatabaseError):
    """Another console continues the same run, or has ended it."""


class UnreadableError(DatabaseError):
    """A statement returned an invalid value, such as an unknown phase."""


class UnknownIdError(DatabaseError):
    """An id that matches no engine here, or several. str() lists the known ones."""


class MissingError(UnknownIdError):
    """An id that is well formed, and names nothing here."""


class UnencodableError(DatabaseError):
    """A text has a character that the encoding of the database has not."""


class ConflictError(DatabaseError):
    """The server aborted the transaction.

    The cause is a key, a constraint, a deadlock or a serialization failure.
    """


RECOVERY = ("40001", "40P01")  # SQLSTATE of a read that hindered a standby
RECOVERY_HELP = (
    "This standby cancels reads that hinder its replay: raise its max_standby_streaming_delay, set its"
    " hot_standby_feedback = on, or read from the primary."
)
NO_WRITES = "0A000"  # SQLSTATE of BEGIN READ WRITE on a standby
STANDBY = (
    "this server is a standby: connect to the primary to change anything. A pooler may still lead to the former primary"
)

BALANCED = (
    "a pooler answers reads from several servers, so what was read may be older than what would be changed: connect to"
    " the primary itself, or switch its load balancing off (pgpool2: load_balance_mode = off)"
)


class ReadOnlyError(ConflictError):
    """The server accepts no changes because it is a standby."""


@contextlib.contextmanager
def readable(what: str) -> Iterator[None]:
    """Raise UnreadableError about ``what`` if the body fails on a bad value of a row."""
    try:
        yield
    except (TypeError, ValueError, LookupError, AttributeError, msgspec.MsgspecError) as error:
        raise UnreadableError(f"{what} cannot be read: {type(error).__name__}: {first_line(error)}.") from error


CHECK = (
    "Is the server up, and are host, port and TLS options right? psql takes the same string. A pooler may be paused, or"
    " have no server."
)
CHECK_FILES = "Are sslcert and sslkey PEM files that belong together, and does sslpassword open the key?"
_LATER = {
    "53300": "All connections of the server, the database or the role are in use, so workers may be refused, too. Close"
    " sessions that are not needed, or raise the limit. A superuser may still get in.",
    "57P03": "It is starting, recovering after a crash, or stopping. Workers cannot connect either; they continue when"
    " it is ready. The server's log shows how far it is.",
    "53100": "Its disk is full, so workers cannot write either. Free space, then check that the server has recovered.",
    "53200": "It is out of memory.",
}
_TEMPORARY = ("08", "40", "53", "57", "58", "XX")  # classes of SQLSTATE after which a later attempt may succeed
_SHORT = {
    "53100": "Its disk is full, so workers cannot write either: free space (SQLSTATE 53100).",
    "53200": "It is out of memory, or max_locks_per_transaction is too low (SQLSTATE 53200).",
}
SEQUENCE = (
    "The audit log cannot be written: its sequence was set back, and the next id is that of an old entry.",
    "The owner of the table corrects it with `unstick init`.",
)
UNENCODABLE = ("22P05", "22021")
OTHER_CHARACTERS = "Write it with other characters."
_SLOW = "It took too long, or another session cancelled it."
_AUTH = "Check user, password and pg_hba.conf."


def connection_error(code: str, reason: str, target: str) -> DatabaseError:
    """Return the error for a server that answered but refused the connection."""
    server = capital(server_at(target))
    if code in ("28P01", "28000"):
        return RefusedError(f"{server} refuses this login: {reason}.", _AUTH, code=code)
    if code == "3D000":
        return RefusedError(f"{capital(reason)}.", "psql -l lists the databases of a server.", code=code)
    if code == "42501":
        return ForbiddenError(
            f"{server} refuses this role: {reason}.",
            "It needs the privilege CONNECT. The owner of the database gives it: GRANT CONNECT ON DATABASE ... TO ...",
            code=code,
        )
    if code == "08P01" and "startup parameter" in reason:
        return DatabaseError(
            f"{server} refuses this connection: {reason}.",
            "A pooler takes few settings at the start: remove options and PGOPTIONS, or let it ignore them.",
            code=code,
        )
    if code and not code.startswith(_TEMPORARY):
        return RefusedError(f"{server} refuses this connection: {reason}.", f"SQLSTATE {code}.", code=code)
    return UnreachableError(
        f"{server} refuses connections now: {reason}.",
        _LATER.get(code, "It may be starting, stopping or full."),
        code=code,
    )


def login_error(reason: str, target: str) -> DatabaseError:
    """Return the error for a login that the driver could not make, by its reason."""
    if "gssapi module" in reason or "sspilib module" in reason:
        return DatabaseError(
            f"{capital(server_at(target))} asks for a login with Kerberos.",
            "That needs the Python package gssapi. Or use a password or a client certificate.",
        )
    match = re.search(r"unsupported (?:SASL )?[Aa]uthentication method.*: *(.+)", reason)
    if match:
        method = match[1].strip("'")
        return DatabaseError(
            f"{capital(server_at(target))} asks for a login with {method}, which unstick does not support.",
            "Use a password or a client certificate, and check pg_hba.conf.",
        )
    return UnreachableError(f"{capital(server_at(target))} does not answer as PostgreSQL does.", CHECK)


def statement_error(code: str, reason: str, constraint: str = "") -> DatabaseError:
    """Return the error for a failed statement."""
    if code in ("57014", "25P04"):
        return SlowError(f"The server cancelled the statement: {reason}.", _SLOW, code=code)
    if code == "42501":
        return DeniedError(f"{capital(reason)}.", code=code)
    if code in UNENCODABLE:
        return UnencodableError(f"The database cannot hold this text: {reason}.", OTHER_CHARACTERS, code=code)
    if code == "55P03":
        return LockedError(LOCKED, code=code)
    if code in ("57P01", "57P02", "57P03", "25P03", "57P05") or code.startswith("08"):
        return LostError(f"The server ended the connection: {reason}.", code=code)
    if code == "25006":
        return ReadOnlyError(f"{capital(reason)}.", code=code)
    if code.startswith(("23", "40")) or code == "54000":
        return ConflictError(f"{capital(reason)}.", code=code, constraint=constraint)
    return DatabaseError(f"The server reports: {reason}.", _SHORT.get(code, f"SQLSTATE {code}."), code=code)


def begin_error(error: DatabaseError) -> DatabaseError:
    """Return the error for a failed BEGIN."""
    return ReadOnlyError(STANDBY, code=error.code) if error.code == NO_WRITES else error


def capital(text: str) -> str:
    """Return ``text`` with a capital first character."""
    return text[:1].upper() + text[1:]


def server_at(target: str) -> str:
    """Return a noun phrase for the server at ``target``, a redacted connection string."""
    return f"the server ({target})" if target else "the server of the libpq environment"


def reason(error: BaseException) -> str:
    """Return the reason of a failed connection, without a full stop.

    It has no names and numbers of Python.
    """
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the server's certificate is not accepted: {error.verify_message.rstrip('.')}"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {error.reason.replace('_', ' ').lower()}" if error.reason else "TLS could not begin"
    if isinstance(error, UnicodeError):
        return "it is no valid name"
    if isinstance(error, ConnectionError) and error.errno is None:  # the driver's own
        if "rejected SSL upgrade" in str(error):
            return "the server does not support TLS"
        if "during SSL exchange" in str(error):
            return "the server answered the request for TLS with an error, which its log contains"
        return "the server closed the connection"
    if isinstance(error, OSError) and (several := re.search(r"\[Errno ([0-9]+)\]", str(error))) and error.errno is None:
        return os.strerror(int(several[1])).lower()  # of the first address of a name
    if isinstance(error, OSError):
        text = error.strerror if isinstance(error, socket.gaierror) or not error.errno else os.strerror(error.errno)
        return (text or str(error) or "it failed").rstrip(".").lower()
    return first_line(error) if str(error).strip() else "the server closed the connection"


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, without a full stop."""
    return (str(error).strip().splitlines() or ["no reason was given"])[0].rstrip(".")
