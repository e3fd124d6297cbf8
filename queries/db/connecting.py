"""Connect to the first host of a list that accepts, as libpq does.

The driver connects to one host. Each host has its own time limit, and without an answer the next one is tried. A
server that refuses the login, or whose TLS does not satisfy the settings, ends the search: the next host might be an
attacker's choice.
"""

from __future__ import annotations

import random
import socket
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import asyncpg

from queries.db import asyncpg_compat, errors
from queries.db.dsn import ConnectionTarget, Host
from queries.db.errors import DatabaseError, RefusedError, UnreachableError
from queries.files.state_file import open_file
from queries.text.duration import measured

APPLICATION = "unstick"
STATEMENTS_KEPT = 100  # prepared on a connection; a refresh of ten engines has ten
OUTAGE_SECONDS = 900.0  # to wait for a lost server in the middle of a change
REFUSED_SECONDS = (30.0, 300.0)  # seconds after the first refused login, at most: a few attempts may lock an account

_ROOT = "sslmode=verify-ca and verify-full need a root certificate: name its file with sslrootcert."
_FAILURES = (OSError, UnicodeError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
_FILES = ("sslrootcert", "sslcrl", "sslcert", "sslkey")
_OF_TLS = (*_FILES, "sslpassword", "ssl_min_protocol_version", "ssl_max_protocol_version")
_OF_FILES = (None, "KEY_VALUES_MISMATCH", "NO_START_LINE", "NO_CERTIFICATE_OR_CRL_FOUND")  # reasons of Python's TLS
_OTHERS = {"primary": "a standby", "read-write": "a standby or read-only"}  # of target_session_attrs


async def connect(target: ConnectionTarget) -> asyncpg.Connection[Any]:
    """Return a connection to the first host that accepts.

    Raises DatabaseError.
    """
    hosts = [*target.hosts]
    if target.words.get("load_balance_hosts") == "random":
        random.shuffle(hosts)
    attribute = target.words.get("target_session_attrs", "any")
    reasons: dict[str, None] = {}
    failures: list[Exception] = []
    for kind in ("standby", "any") if attribute == "prefer-standby" else (attribute,):
        for host in hosts:
            try:
                return await connect_once(host, target, kind)
            except _FAILURES as error:
                reason = _reason(error, host, target, kind)
                place = f"{host.name}/.s.PGSQL.{host.port}" if host.local else f"{host.name} port {host.port}"
                reasons[f"{place}: {reason}" if len(hosts) > 1 or host.local else reason] = None
                failures.append(error)
    for failure in failures:
        if isinstance(failure, asyncpg.CannotConnectNowError):
            raise errors.connection_error(failure.sqlstate, errors.first_line(failure), target.shown)
    if all(isinstance(failure, TimeoutError) for failure in failures):
        raise UnreachableError(f"No answer from {errors.server_at(target.shown)} in time.", errors.CHECK)
    raise UnreachableError(f"Cannot connect to {errors.server_at(target.shown)}: {'; '.join(reasons)}.", errors.CHECK)


async def connect_once(host: Host, target: ConnectionTarget, kind: str) -> asyncpg.Connection[Any]:
    """Connect to one host, with TLS and without, in the order of sslmode.

    The driver gets each value, so that it reads no variable. Raises its errors, and DatabaseError.
    """
    settings = {"application_name": APPLICATION}
    if target.words.get("options"):
        settings["options"] = target.words["options"]
    connection: asyncpg.Connection[Any] = await asyncpg.connect(
        host=host.name,
        port=host.port,
        user=target.user,
        password=host.password,
        database=target.database,
        **({"ssl": False, "direct_tls": False} if host.local else _tls(target)),
        server_settings=settings,
        target_session_attrs=kind,
        krbsrvname=target.words.get("krbsrvname") or "postgres",
        gsslib="gssapi",
        timeout=target.timeout,
        statement_cache_size=STATEMENTS_KEPT if target.names else 0,
        max_cacheable_statement_size=0,
        max_cached_statement_lifetime=0,
    )
    return connection


def _tls(target: ConnectionTarget) -> dict[str, Any]:
    """Return the driver's arguments for TLS.

    Raises DatabaseError if a file cannot be read.
    """
    named = {word: target.words[word] for word in _OF_TLS if word in target.words}
    system = named.get("sslrootcert") == "system"
    mode = target.words.get("sslmode", "verify-full" if system else "prefer")
    direct = target.words.get("sslnegotiation") == "direct"
    if system:
        if mode != "verify-full" or len(named) > 1:
            raise DatabaseError(
                "sslrootcert=system needs sslmode=verify-full, and no other word of certificates or TLS versions."
            )
        context = ssl.create_default_context()
        context.set_alpn_protocols(["postgresql"])
        return {"ssl": context, "direct_tls": direct}
    for word in _FILES:
        if word in named:
            try:
                open_file(Path(named[word])).close()
            except OSError as error:
                raise DatabaseError(
                    f"The file {named[word]} ({word}) cannot be read: {errors.reason(error)}."
                ) from None
    return {"dsn": f"postgresql://?{urlencode(named)}", "ssl": mode, "direct_tls": direct}


def _reason(error: Exception, host: Host, target: ConnectionTarget, kind: str) -> str:
    """Return why the next host is tried. Raises DatabaseError if it may not be."""
    if isinstance(error, asyncpg.CannotConnectNowError):
        return errors.first_line(error)
    if isinstance(error, asyncpg.TargetServerAttributeNotMatched):
        return f"it is {_OTHERS.get(kind, 'a primary that accepts changes')}, and target_session_attrs={kind}"
    if isinstance(error, asyncpg.ConnectionDoesNotExistError):  # the driver's own, although it has an SQLSTATE
        return "the server closed the connection"
    if isinstance(error, asyncpg.PostgresError):
        raise _refusal(error, host, target.shown) from error
    if isinstance(error, asyncpg.ClientConfigurationError):
        advice = (_ROOT,) if "root certificate" in str(error) else ()
        raise DatabaseError(f"{errors.capital(errors.first_line(error))}.", *advice) from error
    if isinstance(error, asyncpg.InterfaceError | asyncpg.InternalClientError):
        raise errors.login_error(errors.first_line(error), target.shown) from error
    if isinstance(error, TimeoutError):
        return f"no answer in {measured(target.timeout)}"
    if isinstance(error, socket.gaierror | UnicodeError):
        return f"the host {host.name!r} is not known ({errors.reason(error)})"
    if isinstance(error, ssl.SSLError) or asyncpg_compat.is_tls_refused(error):
        files = isinstance(error, ssl.SSLError) and error.reason in _OF_FILES
        raise UnreachableError(
            f"Cannot connect to {errors.server_at(target.shown)}: {errors.reason(error)}.",
            errors.CHECK_FILES if files else errors.CHECK,
        ) from error
    return errors.reason(error)


def _refusal(error: asyncpg.PostgresError, host: Host, shown: str) -> DatabaseError:
    code, reason = error.sqlstate or "", errors.first_line(error)
    if code == "28P01" and not host.password:
        return RefusedError(
            f"{errors.capital(errors.server_at(shown))} asks for a password, and none was found.",
            f"{errors.capital(host.password_source or 'it is not in the settings')}.",
            code=code,
        )
    if code == "28P01":
        return errors.connection_error(code, f"{reason} (the password is from {host.password_source})", shown)
    return errors.connection_error(code, reason, shown)


class Backoff:
    """Pauses between connection attempts, in seconds, doubled up to ``longest``.

    After a refused login they are those of `REFUSED_SECONDS`, and counted on their own.
    """

    def __init__(self, first: float = 0.5, longest: float = 15.0) -> None:
        self._limits = {False: (first, longest), True: REFUSED_SECONDS}
        self._failures = {False: 0, True: 0}

    def next(self, error: BaseException | None = None) -> float:
        """Return the pause after one more failure, of which ``error`` is the reason."""
        refused = isinstance(error, RefusedError)
        first, longest = self._limits[refused]
        self._failures[refused] += 1
        return random.uniform(0.5, 1.0) * min(longest, first * 2.0 ** (self._failures[refused] - 1))

    def reset(self) -> None:
        """Start again with the first pause, after a success."""
        self._failures = {False: 0, True: 0}
