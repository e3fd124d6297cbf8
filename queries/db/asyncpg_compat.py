"""Private parts of asyncpg that have no public counterpart, in one place.

Checked with asyncpg 0.32. pyproject.toml pins that minor version, and tests/unit/test_asyncpg_compat.py fails with
any other. After an upgrade, compare `Connection._transport` and the methods of the protocol with the uses here and in
pipeline.py.
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
GATHER_SECONDS = 0.005  # for which more answers are waited for
HEAD_BYTES = 5  # bytes of a message before its content: type and length
READY_TYPE = ord("Z")  # type of ReadyForQuery, the end of each answer
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


class Wire:
    """Transport of a connection, as the driver sees it.

    While ``kept`` is no None, what the driver writes is added to it instead of sent.
    """

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self.kept: bytearray | None = None

    def write(self, data: Any) -> None:
        """Send or keep bytes."""
        if self.kept is None:
            self._transport.write(data)
        else:
            self.kept += data

    def writelines(self, parts: Any) -> None:
        """Send or keep several parts."""
        self.write(b"".join(parts))

    def rest(self, seconds: float) -> None:
        """Read nothing for this time: the program sleeps while more comes."""
        self._transport.pause_reading()
        asyncio.get_running_loop().call_later(seconds, self._transport.resume_reading)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class Expected:
    """Answers that are expected from the server, as they come.

    ``gathered``: several at a time, a few milliseconds later.
    """

    def __init__(self, number: int, *, gathered: bool) -> None:
        self.remaining, self.gathered = number, gathered
        self._answers: deque[bytes] = deque()
        self._error: BaseException | None = None
        self._changed = asyncio.Event()

    @property
    def complete(self) -> bool:
        """True if no answer will come any more."""
        return self.remaining == 0 or self._error is not None

    def add(self, answer: bytes) -> None:
        """Add the next answer."""
        self._answers.append(answer)
        self.remaining -= 1
        self._changed.set()

    def fail(self, error: BaseException) -> None:
        """Let `next` raise this error after the answers that have come."""
        self._error = error
        self._changed.set()

    @property
    def is_there(self) -> bool:
        """True if the next answer has come."""
        return bool(self._answers)

    async def next(self) -> bytes:
        """Return the next answer.

        Raises the driver's error if the connection is lost.
        """
        while not self._answers:
            if self._error is not None:
                raise self._error
            self._changed.clear()
            await self._changed.wait()
        return self._answers.popleft()

    async def end(self) -> None:
        """Wait until no answer will come any more."""
        while not self.complete:
            self._changed.clear()
            await self._changed.wait()


class DriverProtocol(asyncpg.protocol.Protocol):  # type: ignore[misc]
    """Protocol of the driver, behind the guard of its event loop.

    It reads only the messages that the guard admits, until the session is ready. Answers that were asked for with
    `expect` do not reach the driver.
    """

    wire: Wire

    def __init__(self, address: Any, connected: Any, parameters: Any, record_class: Any, loop: Any) -> None:
        super().__init__(address, connected, parameters, record_class, loop)
        self._loop = loop
        self._expected: deque[Expected] = deque()
        self._data = bytearray()
        self._scanned = 0  # bytes of _data that are whole messages
        self._guard: Any = getattr(loop, "guard", None)
        if self._guard is not None:  # a method of the class would cost each later read
            self.data_received = self._read_guarded

    def connection_made(self, transport: Any) -> None:
        self.wire = Wire(transport)
        super().connection_made(self.wire)

    def _read_guarded(self, data: bytes) -> None:
        admitted = self._guard.admit(data)
        if self._guard.refusal:
            self.wire.abort()
            return
        if admitted:
            super().data_received(admitted)
        if self._guard.ready:
            self.__dict__.pop("data_received", None)

    # Answers that do not reach the driver

    def feed(self, answer: bytes) -> None:
        """Let the driver read an answer."""
        super().data_received(answer)

    def expect(self, number: int, *, gathered: bool = False) -> Expected:
        """Keep the next answers from the driver: each ends with ReadyForQuery."""
        expected = Expected(number, gathered=gathered)
        self._expected.append(expected)
        self.data_received = self._received
        return expected

    def _received(self, data: bytes) -> None:
        self._collect(data)
        if self._expected and self._expected[0].gathered:
            self.wire.rest(GATHER_SECONDS)

    def _collect(self, data: bytes) -> None:
        kept = self._data
        kept += data
        while len(kept) >= self._scanned + HEAD_BYTES:
            start = self._scanned
            end = start + 1 + int.from_bytes(kept[start + 1 : start + HEAD_BYTES], "big")
            if len(kept) < end:
                return
            self._scanned = end
            if kept[start] != READY_TYPE:
                continue
            self._expected[0].add(bytes(kept[:end]))
            del kept[:end]
            self._scanned = 0
            if self._expected[0].complete:
                self._expected.popleft()
            if not self._expected:
                del self.__dict__["data_received"]
                rest, self._data = bytes(kept), bytearray()
                if rest:
                    self.data_received(rest)
                return

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._expected:
            super().connection_lost(exc)
            return
        # The last words of the server are read as the answer to a command of the driver, which then has the error.
        self.__dict__.pop("data_received", None)
        self.wire.kept = bytearray()
        last = self.query("", None)
        error: BaseException = asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation")
        try:
            last.send(None)
            super().data_received(bytes(self._data[: self._scanned]))
            super().connection_lost(exc)
            last.send(None)
        except StopIteration:
            pass
        except asyncpg.InterfaceError:  # the driver was closing the connection
            super().connection_lost(exc)
        except Exception as lost:
            error = lost
        while self._expected:
            self._expected.popleft().fail(error)


asyncpg.protocol.Protocol = DriverProtocol  # the driver makes one for each connection, with TLS and without


def transport(connection: asyncpg.Connection[Any]) -> Transport:
    """Return the connection's transport, which knows its socket and TLS session."""
    result: Transport = connection._transport
    return result


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
