"""TCP proxy to the server that can delay traffic and break connections at COMMIT.

async with Proxy(server.port) as proxy:
    workspace = await Workspace(proxy.through(dsn)).open()
    proxy.fail = "before"          # the next COMMIT; see `Failure`
    proxy.delay = 0.08             # seconds there and back
    proxy.forget()                 # a middlebox drops what is sent on the connections that are open now
    proxy.trips                    # number of round trips, connecting included
    proxy.rate = 64_000            # bytes in a second, in each direction
    proxy.mark = b"SELECT 1"       # `proxy.carried` is what travels, both ways, from a message with it to COMMIT
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Literal, Self
from urllib.parse import urlsplit

WHOLE = 1 << 20  # bytes; statements that travel together arrive as one piece, and count as one round trip
COMMIT = b"Q\x00\x00\x00\x0bCOMMIT\x00"
ENDED = b"Z\x00\x00\x00\x05I"  # last bytes of the answer that ends a transaction

Failure = Literal[
    "before",  # COMMIT is lost, and both ends see the connection break
    "silent",  # COMMIT is lost, the console sees the connection break, the server does not
    "flying",  # COMMIT arrives, and both ends see the connection break at once
    "after",  # COMMIT is answered, the answer is lost, and both ends see the connection break
    "late",  # COMMIT is answered, and the answer comes only when `answer` is set
]


class Proxy:
    """Proxy; ``fail`` applies to the next COMMIT of a change."""

    def __init__(self, port: int) -> None:
        self.fail: Failure | None = None
        self.meanwhile: Callable[[], Awaitable[None]] | None = None
        self.answer = asyncio.Event()
        self.failed = 0
        self.delay = 0.0
        self.trips = 0
        self.rate = 0.0
        self.mark = b""
        self.carried = self.carried_trips = 0
        self.open = asyncio.Event()  # while it is not set, answers stay where they are
        self.open.set()
        self.runs = asyncio.Event()  # while it is not set, transactions do not begin, as in a paused pooler
        self.runs.set()
        self.port = 0
        self._target = port
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._open: set[asyncio.StreamWriter] = set()
        self._forgotten: set[asyncio.StreamWriter] = set()
        self.connected = 0  # connections so far
        self.swallowed = bytearray()  # what was sent on forgotten connections
        self._asking: set[asyncio.StreamWriter] = set()  # consoles that have asked and were not answered yet

    def through(self, dsn: str) -> str:
        """Return ``dsn`` with the proxy's address."""
        return dsn.replace(f":{urlsplit(dsn).port}/", f":{self.port}/")

    def forget(self) -> None:
        """Drop, without a word, what is sent on the open connections."""
        self._forgotten |= self._open

    async def admin(self, command: str) -> None:
        """Do what PgBouncer does at PAUSE and RESUME."""
        self.runs.clear() if command == "PAUSE" else self.runs.set()

    async def cut(self) -> None:
        """Break all connections."""
        for writer in self._open:
            writer.transport.abort()

    async def unplug(self) -> None:
        """Break all connections, and accept none until `plug`."""
        assert self._server is not None
        self._server.close()
        await self.cut()

    async def plug(self) -> None:
        """Accept connections: at the same port as before."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port, limit=WHOLE)
        self.port = self._server.sockets[0].getsockname()[1]

    async def __aenter__(self) -> Self:
        await self.plug()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
        await self.cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        try:
            from_server, to_server = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        self._open |= {writer, to_server}
        self.connected += 1
        back = asyncio.create_task(self._pump(from_server, writer))
        try:
            await self._forward(reader, to_server, back, writer)
        finally:
            back.cancel()
            self._open -= {writer, to_server}
            writer.transport.abort()
            to_server.transport.abort()

    async def _forward(
        self,
        reader: asyncio.StreamReader,
        to_server: asyncio.StreamWriter,
        back: asyncio.Task[None],
        to_console: asyncio.StreamWriter,
    ) -> None:
        writes = False  # the transaction is no read, which ends with COMMIT, too
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            while data := await reader.read(WHOLE):
                if b"BEGIN ISOLATION" in data:
                    writes = b"READ WRITE" in data
                if to_console not in self._asking and (writes or data != COMMIT):  # the end of a read is not waited for
                    self._asking.add(to_console)
                    self.trips += 1
                if self.mark and writes and (self.carried_trips or self.mark in data):
                    self.carried += len(data)
                    self.carried_trips += 1
                    if data.endswith(COMMIT):
                        self.mark = b""
                await asyncio.sleep(self._takes(data))
                await self.runs.wait() if b"BEGIN" in data else None
                if self.fail is not None and writes and data.endswith(COMMIT):
                    fail, self.fail = self.fail, None
                    self.failed += 1
                    await self._fail(fail, data, to_server, back, to_console)
                    return
                if to_console in self._forgotten:
                    self.swallowed += data
                else:
                    to_server.write(data)
                    await to_server.drain()

    async def _fail(
        self,
        fail: Failure,
        data: bytes,
        to_server: asyncio.StreamWriter,
        back: asyncio.Task[None],
        to_console: asyncio.StreamWriter,
    ) -> None:
        if fail == "late":
            held, self._holding = asyncio.Event(), to_console
            self._held = held
            to_server.write(data)
            await self.answer.wait()
            held.set()
            await back
            return
        if fail == "after":
            self._holding, self._held, arrived = to_console, None, asyncio.Event()
            self._arrived = arrived
            to_server.write(data)
            await arrived.wait()
        if fail == "flying":
            to_server.write(data)
            await to_server.drain()
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            await meanwhile()
        if fail == "silent":
            to_console.transport.abort()
            await asyncio.shield(back)

    def _takes(self, data: bytes) -> float:
        return self.delay / 2 + (len(data) / self.rate if self.rate else 0.0)

    _holding: asyncio.StreamWriter | None = None
    _held: asyncio.Event | None = None
    _arrived: asyncio.Event | None = None

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward the server's data; lose or delay the answer to COMMIT."""
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                if self._holding is writer:
                    if self._held is None and not data.endswith(ENDED):  # answers a setting that was sent with COMMIT
                        continue
                    self._holding = None
                    if self._held is None:
                        if self._arrived is not None:
                            self._arrived.set()
                        return
                    await self._held.wait()
                if self.mark and self.carried_trips:
                    self.carried += len(data)
                await asyncio.sleep(self._takes(data))
                await self.open.wait()
                self._asking.discard(writer)
                writer.write(data)
                await writer.drain()
        writer.close()
