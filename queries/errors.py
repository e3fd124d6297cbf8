"""What went wrong with the database, in words: what happened, what it means, what to do."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import msgspec


class DatabaseError(Exception):
    """str() is one or two lines for the operator. ``code`` is the SQLSTATE, "" where the server gave none.

    ``constraint`` names what was violated, "" where nothing was.
    """

    def __init__(self, *lines: str, code: str = "", constraint: str = "") -> None:
        super().__init__("\n".join(lines))
        self.code = code
        self.constraint = constraint

    @property
    def line(self) -> str:
        """The same in one line."""
        return str(self).replace("\n", " ")


class UnreachableError(DatabaseError):
    """No connection could be made; trying again later may help."""


class LostError(DatabaseError):
    """The connection broke. What the transaction had done is undone, unless its COMMIT was under way."""


class SlowError(DatabaseError):
    """The server broke the statement off because it took too long."""


class DeniedError(DatabaseError):
    """The role lacks a privilege."""


class LockedError(DatabaseError):
    """Somebody else holds a lock that is needed."""


class UnreadableError(DatabaseError):
    """A statement gave a value that it must not give, such as a phase that does not exist."""


class ConflictError(DatabaseError):
    """The database broke the transaction off: a key, a constraint, a deadlock or a serialization failure."""


class ReadOnlyError(ConflictError):
    """The server takes no changes now: it is a standby."""


@contextlib.contextmanager
def readable(what: str) -> Iterator[None]:
    """Turn what the body raises for a bad value of a row into an UnreadableError about ``what``."""
    try:
        yield
    except (TypeError, ValueError, LookupError, AttributeError, msgspec.MsgspecError) as error:
        raise UnreadableError(f"{what} cannot be read: {type(error).__name__}: {first_line(error)}.") from error


CHECK = "Nothing was changed. Is the server up, and are host, port and TLS options right? psql takes the same string."
_LATER = "It may be starting, stopping or full."
_SLOW = "It was too slow, or somebody cancelled it."
_AUTH = "Check user, password and pg_hba.conf."


def refused(code: str, said: str, target: str) -> DatabaseError:
    """The server answered, but let us not in."""
    if code in ("28P01", "28000"):
        return DatabaseError(f"{place(target)} does not let us in: {said}.", _AUTH, code=code)
    if code == "3D000":
        return DatabaseError(f"{said[:1].upper()}{said[1:]}.", "psql -l lists the databases of a server.", code=code)
    return UnreachableError(f"{place(target)} refuses connections now: {said}.", _LATER, code=code)


def failed(code: str, said: str, constraint: str = "") -> DatabaseError:
    """A statement failed."""
    if code in ("57014", "25P04"):
        return SlowError(f"The server broke the statement off: {said}.", _SLOW, code=code)
    if code == "42501":
        return DeniedError(f"{said[:1].upper()}{said[1:]}.", code=code)
    if code == "55P03":
        return LockedError("Another session holds a lock that is needed.", code=code)
    if code in ("57P01", "57P02", "57P03", "25P03", "57P05") or code.startswith("08"):
        return LostError(f"The server ended the connection: {said}.", code=code)
    if code == "25006":
        return ReadOnlyError(f"{said[:1].upper()}{said[1:]}.", code=code)
    if code.startswith(("23", "40")) or code == "54000":
        return ConflictError(f"{said[:1].upper()}{said[1:]}.", code=code, constraint=constraint)
    return DatabaseError(f"The server reports: {said}.", f"SQLSTATE {code}.", code=code)


def place(target: str) -> str:
    return f"the server ({target})" if target else "the server of the libpq environment"


def first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
