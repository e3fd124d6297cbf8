"""Private parts of asyncpg that have no public counterpart, in one place.

Checked with asyncpg 0.32. pyproject.toml pins that minor version, and tests/unit/test_asyncpg_compat.py fails with
any other. After an upgrade, compare `Connection._transport` and `ENCODINGS_MAP` with the uses here.
"""

from __future__ import annotations

import asyncio
import codecs
from asyncio import Transport
from collections import deque
from collections.abc import Mapping
from typing import Any

import asyncpg
from asyncpg.protocol import protocol

CHECKED = "0.32"
BYTES = "unstick_bytes"  # name of the codec for databases in SQL_ASCII
# The driver releases a text that BYTES has encoded before it copies it, so the last one is kept.
_encoded: deque[bytes] = deque(maxlen=1)


def _codec(name: str) -> codecs.CodecInfo | None:
    """Return the codec of BYTES.

    It is UTF-8, and each other byte is a lone surrogate, which comes back as it was.
    """
    if name != BYTES:
        return None

    def encode(text: str, errors: str = "strict") -> tuple[bytes, int]:
        encoded = text.encode("utf-8", "surrogateescape")
        _encoded.append(encoded)
        return encoded, len(text)

    def decode(data: Any, errors: str = "strict") -> tuple[str, int]:
        return bytes(data).decode("utf-8", "surrogateescape"), len(data)

    return codecs.CodecInfo(encode=encode, decode=decode, name=BYTES)


codecs.register(_codec)
protocol.ENCODINGS_MAP["sql_ascii"] = BYTES  # the driver has ASCII, and would fail at each other byte


def accepts_any_bytes(connection: asyncpg.Connection[Any]) -> bool:
    """Return True if the database does not check that texts are text."""
    return bool(connection.get_settings().server_encoding == "SQL_ASCII")


async def accept_any_bytes(connection: asyncpg.Connection[Any]) -> None:
    """Read the texts of a database that does not check them.

    One text that is not UTF-8 fails no statement then.
    """
    if accepts_any_bytes(connection):
        await connection.execute("SET client_encoding = SQL_ASCII")


def transport(connection: asyncpg.Connection[Any]) -> Transport:
    """Return the connection's transport, which knows its socket and TLS session."""
    result: Transport = connection._transport
    return result


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
