"""Connect to the first host of a list that accepts, as libpq does.

Each address has its own time limit. Without an answer the next address is tried. A server that refuses the login, or
whose TLS does not satisfy the settings, ends the search: the next host might be an attacker's choice.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import pwd
import random
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import asyncpg

from queries.db import asyncpg_compat, errors, libpq_words, tls
from queries.db.dsn import ConnectionTarget, Host
from queries.db.errors import DatabaseError, UnreachableError
from queries.db.login_methods import LoginGuard

APPLICATION = "unstick"
_STARTING = "57P03"
_READ_ONLY = {"primary": False, "read-write": False, "read-only": True, "standby": True}
STATEMENTS_KEPT = 100  # prepared on a connection; a refresh of ten engines has ten


class _NextAddress(Exception):
    """This address does not answer; the message says why."""


class _NextHost(_NextAddress):
    """This host answers, but it is not the one that is wanted; the message says why."""

    def __init__(self, reason: str, error: asyncpg.PostgresError | None = None) -> None:
        super().__init__(reason)
        self.error = error


async def connect(target: ConnectionTarget) -> asyncpg.Connection[Any]:
    """Return a connection to the first host that accepts.

    Raises DatabaseError.
    """
    try:
        tls.mode(target.words)
    except ValueError as error:
        raise DatabaseError(str(error)) from None
    hosts = [*target.hosts]
    if target.words.get("load_balance_hosts") == "random":
        random.shuffle(hosts)
    attribute = target.words.get("target_session_attrs", "any")
    reasons: dict[str, None] = {}
    starting: asyncpg.PostgresError | None = None
    silent = True
    for kind in ("standby", "any") if attribute == "prefer-standby" else (attribute,):
        for host in hosts:
            try:
                async for address in _addresses(host, target):
                    try:
                        connection = await _connect_address(host, address, target)
                        await _check_session(connection, kind)
                        return connection
                    except _NextHost:
                        raise
                    except _NextAddress as error:
                        silent &= isinstance(error.__cause__, TimeoutError)
                        reasons[_reason(host, address, error, hosts)] = None
            except _NextAddress as error:
                silent = False
                if isinstance(error, _NextHost) and error.error is not None:
                    starting = error.error
                reasons[_reason(host, "", error, hosts)] = None
    if starting is not None:
        raise errors.connection_error(_STARTING, errors.first_line(starting), target.shown)
    if silent:
        raise UnreachableError(f"No answer from {errors.server_at(target.shown)} in time.", errors.CHECK)
    raise UnreachableError(f"Cannot connect to {errors.server_at(target.shown)}: {'; '.join(reasons)}.", errors.CHECK)


async def _addresses(host: Host, target: ConnectionTarget) -> AsyncIterator[str]:
    """Yield the addresses of a host, or the path of its socket."""
    if host.local:
        yield host.socket
        return
    if _is_numeric(given := host.address or host.name):  # needs no look-up, which takes a thread
        yield given
        return
    if host.address:
        raise _NextHost(f"hostaddr {host.address!r} is not a numeric address")
    try:
        async with asyncio.timeout(target.timeout):
            results = await asyncio.get_running_loop().getaddrinfo(host.name, host.port, type=socket.SOCK_STREAM)
    except TimeoutError as error:
        raise _NextAddress("the name of the host was not looked up in time") from error
    except (OSError, UnicodeError) as error:
        raise _NextAddress(f"the host {host.name!r} is not known ({errors.reason(error)})") from error
    addresses = [*dict.fromkeys(str(each[4][0]) for each in results)]
    if target.words.get("load_balance_hosts") == "random":
        random.shuffle(addresses)
    for address in addresses:
        yield address


def _is_numeric(address: str) -> bool:
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return False
    return True


async def _connect_address(host: Host, address: str, target: ConnectionTarget) -> asyncpg.Connection[Any]:
    """Connect to one address in time.

    Raises _NextAddress, or DatabaseError if no other address may be tried.
    """
    try:
        async with asyncio.timeout(target.timeout):
            return await _connect_in_turn(host, address, target)
    except asyncpg.ConnectionDoesNotExistError as error:  # the driver's own, although it has an SQLSTATE
        raise _NextAddress("the server closed the connection") from error
    except asyncpg.PostgresError as error:
        if error.sqlstate == _STARTING:
            raise _NextHost(errors.first_line(error), error) from error
        raise _refusal(error, host, target.shown) from error
    except (asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
        raise errors.login_error(errors.first_line(error), target.shown) from error
    except TimeoutError as error:
        raise _NextAddress(f"no answer in {target.timeout:g} seconds") from error
    except OSError as error:
        if isinstance(error, ssl.SSLError) or asyncpg_compat.is_tls_refused(error):
            raise UnreachableError(
                f"Cannot connect to {errors.server_at(target.shown)}: {errors.reason(error)}.", errors.CHECK
            ) from error
        raise _NextAddress(errors.reason(error)) from error


async def _connect_in_turn(host: Host, address: str, target: ConnectionTarget) -> asyncpg.Connection[Any]:
    """Connect with TLS and without, in the order of sslmode.

    Raises the driver's error, or DatabaseError.
    """
    *ways, last = _ways(host, target)
    refused: asyncpg.InvalidPasswordError | None = None
    for encrypted in ways:
        try:
            return await connect_once(host, address, target, encrypted)
        except asyncpg.InvalidAuthorizationSpecificationError as error:  # pg_hba.conf may have another line
            refused = error if isinstance(error, asyncpg.InvalidPasswordError) else None
        except OSError as error:
            ended = isinstance(error, ConnectionResetError | ConnectionAbortedError)
            if not (encrypted and (ended or isinstance(error, ssl.SSLError) or asyncpg_compat.is_tls_refused(error))):
                raise
    try:
        return await connect_once(host, address, target, last)
    except (asyncpg.InvalidAuthorizationSpecificationError, OSError) as error:
        if refused is not None and not isinstance(error, TimeoutError):
            raise refused from error
        raise


def _ways(host: Host, target: ConnectionTarget) -> tuple[bool, ...]:
    """Return the ways of connecting, in order: True is with TLS."""
    if host.local:
        return (False,)
    return {"disable": (False,), "allow": (False, True), "prefer": (True, False)}.get(tls.mode(target.words), (True,))


async def connect_once(host: Host, address: str, target: ConnectionTarget, encrypted: bool) -> asyncpg.Connection[Any]:
    """Connect once.

    Each value is given, so that the driver reads no variable and no file.
    """
    try:
        context = tls.context(target.words, host.name) if encrypted else None
    except ValueError as error:
        raise DatabaseError(str(error)) from None
    settings = {"application_name": APPLICATION}
    if target.words.get("options"):
        settings["options"] = target.words["options"]
    loop = asyncio.get_running_loop()
    peer = target.words.get("requirepeer") if host.local else None
    guard = LoginGuard(target.words["require_auth"]) if target.words.get("require_auth") else None
    checked = _CheckedLoop(loop, peer or "", guard) if peer or guard else None
    try:
        connection: asyncpg.Connection[Any] = await asyncpg.connect(
            host=address,
            port=host.port,
            user=target.user,
            password=host.password,
            database=target.database,
            ssl=context or False,
            direct_tls=context is not None and target.words.get("sslnegotiation") == "direct",
            server_settings=settings,
            target_session_attrs="any",
            krbsrvname=target.words.get("krbsrvname") or "postgres",
            gsslib="gssapi",
            timeout=None,  # the caller limits all attempts at one address together
            statement_cache_size=STATEMENTS_KEPT if target.names else 0,
            max_cacheable_statement_size=0,
            max_cached_statement_lifetime=0,
            **({"loop": checked} if checked else {}),
        )
    except Exception as error:
        if guard and guard.refusal:
            raise guard.refusal from error
        raise
    if checked:
        asyncpg_compat.set_loop(connection, loop)
    if guard and not guard.ready:
        connection.terminate()
        raise DatabaseError("require_auth cannot be obeyed: this driver's messages are not checked.")
    if not host.local:
        _keep_alive(asyncpg_compat.transport(connection).get_extra_info("socket"), target.words)
    return connection


class _CheckedLoop:
    """Event loop with two checks that the driver lacks.

    They are of the user at a socket, and of the way to log in.

    A check after connecting would come after the password was sent. ``guard`` is read by the driver's protocol.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, user: str, guard: LoginGuard | None) -> None:
        self._loop = loop
        self._user = user
        self.guard = guard

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)

    async def create_unix_connection(self, factory: Any, path: str) -> Any:
        """Connect to a Unix socket. Raises DatabaseError if another user listens there."""
        if not self._user:
            return await self._loop.create_unix_connection(factory, path)
        opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            opened.setblocking(False)
            await self._loop.sock_connect(opened, path)
            peer = _peer(opened)
            if peer != self._user:
                raise DatabaseError(f"requirepeer names {self._user}, but the server runs as {peer}.")
            return await self._loop.create_unix_connection(factory, sock=opened)
        except BaseException:
            opened.close()
            raise


def _peer(opened: socket.socket) -> str:
    """Return the name of the user at the other end of a Unix socket.

    Raises DatabaseError.
    """
    if not hasattr(socket, "SO_PEERCRED"):
        raise DatabaseError("requirepeer cannot be obeyed: this system does not tell who runs the server. Remove it.")
    _, number, _ = struct.unpack("3i", opened.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    with contextlib.suppress(KeyError):
        return pwd.getpwuid(number).pw_name
    return f"the user {number} without a name"


def _keep_alive(opened: socket.socket, words: Mapping[str, str]) -> None:
    """Set the TCP options that libpq sets.

    A system without one of them ignores it, as libpq does.
    """
    if libpq_words.integer(words.get("keepalives") or "1") == 0:
        return
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    options = {
        "keepalives_idle": "TCP_KEEPIDLE",
        "keepalives_interval": "TCP_KEEPINTVL",
        "keepalives_count": "TCP_KEEPCNT",
        "tcp_user_timeout": "TCP_USER_TIMEOUT",
    }
    for word, name in options.items():
        value = libpq_words.integer(words.get(word) or "0") or 0
        if value > 0 and hasattr(socket, name):
            with contextlib.suppress(OSError):
                opened.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


async def _check_session(connection: asyncpg.Connection[Any], attribute: str) -> None:
    """Raise _NextHost if the session is not of the wanted kind."""
    if attribute == "any":
        return
    settings = connection.get_settings()
    try:
        standby = getattr(settings, "in_hot_standby", None)
        if standby is None:  # a pooler does not report it
            standby = await connection.fetchval("SHOW in_hot_standby")
        read_only = getattr(settings, "default_transaction_read_only", None)
        if read_only is None:
            read_only = await connection.fetchval("SHOW default_transaction_read_only")
    except BaseException:
        connection.terminate()
        raise
    only = standby == "on" or (read_only == "on" and attribute in ("read-write", "read-only"))
    if only != _READ_ONLY[attribute]:
        connection.terminate()
        state = "a standby" if standby == "on" else "read-only" if only else "a primary that accepts changes"
        raise _NextHost(f"it is {state}, and target_session_attrs={attribute}")


def _refusal(error: asyncpg.PostgresError, host: Host, shown: str) -> DatabaseError:
    code, reason = error.sqlstate or "", errors.first_line(error)
    if code == "28P01" and not host.password:
        return errors.NoPasswordError(
            f"{errors.capital(errors.server_at(shown))} asks for a password, and none was found.",
            f"{errors.capital(host.password_source or 'it is not in the settings')}.",
            code=code,
        )
    if code == "28P01":
        return errors.connection_error(code, f"{reason} (the password is from {host.password_source})", shown)
    return errors.connection_error(code, reason, shown)


def _reason(host: Host, address: str, error: Exception, hosts: Sequence[Host]) -> str:
    return f"{_place(host, address)}: {error}" if len(hosts) > 1 or host.local else str(error)


def _place(host: Host, address: str) -> str:
    if host.local:
        return host.socket
    name = host.name or host.address
    shown = f"{name} ({address})" if address and address != name else name
    return f"{shown} port {host.port}"
