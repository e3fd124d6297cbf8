"""Private parts of asyncpg that have no public counterpart, in one place.

Checked with asyncpg 0.32. pyproject.toml pins that minor version, and tests/unit/test_asyncpg_compat.py fails with
any other. After an upgrade, compare `Connection._copy_out` and `Connection._transport` with the uses here.
"""

from __future__ import annotations

import asyncio
from asyncio import Transport
from collections.abc import Mapping
from typing import Any

import asyncpg

CHECKED = "0.32"


async def copy_out(connection: asyncpg.Connection[Any], script: str) -> bytes:
    """Send a script whose one result is a COPY TO STDOUT, and return the copied bytes.

    The public copy_from_query() sends a single COPY statement of its own making. A script also begins and ends the
    transaction, so it needs one round trip instead of three.
    """
    data = bytearray()

    async def take(part: bytes) -> None:
        data.extend(part)

    await connection._copy_out(script, take, None)
    return bytes(data)


def transport(connection: asyncpg.Connection[Any]) -> Transport:
    """Return the connection's transport, which knows its socket and TLS session."""
    found: Transport = connection._transport
    return found


def set_loop(connection: asyncpg.Connection[Any], loop: asyncio.AbstractEventLoop) -> None:
    """Replace the event loop with which a connection was made."""
    connection._loop = loop


def is_tls_refused(error: Exception) -> bool:
    """Return True if the server answered that it does not support TLS.

    The driver has no class for it.
    """
    return isinstance(error, ConnectionError) and error.errno is None and "rejected SSL upgrade" in str(error)


def ignore_abandoned_futures() -> None:
    """Keep asyncio from printing errors of the driver's own futures.

    A connection that dies while a request is cancelled gives its error to a future that has no waiter any more.
    The request itself has ended with an error that is reported.
    """
    loop = asyncio.get_running_loop()
    if loop.get_exception_handler() is None:
        loop.set_exception_handler(_on_loop_error)


def _on_loop_error(loop: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
    abandoned = type(context.get("future")) is not asyncio.Task and "task" not in context
    ours = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)
    if "future" in context and abandoned and isinstance(context.get("exception"), ours):
        return
    loop.default_exception_handler(dict(context))
