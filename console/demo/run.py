"""The demo as a whole: start the server, fill it, let the engines work, and take everything away again."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from importlib.resources import files
from typing import Final, Self

import asyncpg

from console.demo.agent_jobs import AgentJobs
from console.demo.engine import Engine, Statements, connect, drive
from console.demo.estuary import Estuary
from console.demo.eternaltwin import Eternaltwin
from console.demo.server import DemoUnavailable, Server
from console.demo.tasker import Tasker
from console.demo.uni2work import Uni2work
from queries.write import audit_log

__all__ = ["ENGINES", "Demo", "DemoUnavailable", "demo", "headless"]

ENGINES: Final[tuple[type[Engine], ...]] = (AgentJobs, Eternaltwin, Estuary, Tasker, Uni2work)
SQL: Final = Statements(files("console.demo").joinpath("setup.sql"))
DATABASE: Final = "demo"
FIRST: Final = Eternaltwin.name  # whose tree is shown first: plain jobs of a few tasks, and timers that were missed

Say = Callable[[str], None]


class Demo:
    """A running demo. ``dsn`` is a superuser's; `pause` and `resume` stop and start the engines' workers."""

    def __init__(
        self, seed: int = 1, *, engines: Sequence[type[Engine]] = ENGINES, server: Server | None = None
    ) -> None:
        self.server = server or Server()
        self._seed = seed
        self._engines = [engine() for engine in engines]
        self._going = asyncio.Event()
        self._workers: list[asyncio.Task[None]] = []

    @property
    def dsn(self) -> str:
        return self.server.dsn(DATABASE)

    def role_dsn(self, role: str) -> str:
        """A connection string for ``viewer`` or ``operator``, whose password is their name."""
        return self.server.dsn(DATABASE, user=role, password=role)

    async def start(self, say: Say = lambda _: None) -> Self:
        """Server, data, workers; ``say`` hears what comes next. DemoUnavailable where it cannot be had."""
        try:
            say("starting PostgreSQL")
            await _in_thread(self.server.start)
            await self._create()
            for engine in self._engines:
                say(f"filling {engine.name}")
                await self._fill(engine)
            self.resume()
            self._workers = [
                asyncio.create_task(drive(one, self.dsn, self._seed, self._going)) for one in self._engines
            ]
        except BaseException:
            await self.stop()
            raise
        return self

    async def stop(self) -> None:
        """End the workers and the server, and remove everything."""
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        self._workers.clear()
        await _in_thread(self.server.stop)

    def pause(self) -> None:
        """Let the engines' workers fall silent after the tick they are in."""
        self._going.clear()

    def resume(self) -> None:
        """Let the engines' workers go on."""
        self._going.set()

    async def _create(self) -> None:
        connection = await asyncpg.connect(self.server.dsn())
        try:
            await connection.execute(SQL["database"])
            await connection.execute(SQL["roles"])
        finally:
            await connection.close()
        # With a table of its own: what is tried out here shall not stand in the audit log file of whoever tries it.
        connection = await asyncpg.connect(self.dsn)
        try:
            await connection.execute(audit_log.ddl() + audit_log.grants("operator"))
        finally:
            await connection.close()

    async def _fill(self, engine: Engine) -> None:
        connection = await connect(self.dsn, engine.name)
        try:
            await connection.execute(SQL["schema"])
            await engine.install(connection)
            await engine.fill(connection, self._seed)
            await connection.execute(SQL["grants"])
            await connection.execute(SQL["analyze"])
        finally:
            await connection.close()


@contextlib.asynccontextmanager
async def demo(seed: int = 1, *, pause_runner: bool = False, say: Say | None = None) -> AsyncIterator[str]:
    """The DSN of a demo that lasts as long as the context. ``pause_runner``: its engines fall silent after a second.

    Without ``say``, what it is doing is told in one line on stderr. DemoUnavailable where it cannot be had.
    """
    running = Demo(seed)
    with contextlib.nullcontext(say) if say else _one_line() as tell:
        await running.start(tell)
    try:
        pausing = asyncio.get_running_loop().call_later(1.0, running.pause) if pause_runner else None
        yield running.dsn
        if pausing:
            pausing.cancel()
    finally:
        await running.stop()


def headless(seed: int = 1, *, pause_runner: bool = False) -> int:
    """Serve until told to stop by SIGINT, SIGTERM or SIGHUP. The first line on stdout is the DSN. Returns an exit code.

    DemoUnavailable where the demo cannot be had.
    """
    return asyncio.run(_headless(seed, pause_runner))


async def _headless(seed: int, pause_runner: bool) -> int:
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # nohup means to survive it
            loop.add_signal_handler(number, told.set)
    async with demo(seed, pause_runner=pause_runner) as dsn:
        with contextlib.suppress(BrokenPipeError):
            print(dsn, flush=True)  # noqa: T201
        await told.wait()
    return 0


@contextlib.contextmanager
def _one_line() -> Iterator[Say]:
    sys.stderr.write("demo: ")

    def say(what: str) -> None:
        sys.stderr.write(f"{what} ... ")
        sys.stderr.flush()

    try:
        yield say
        sys.stderr.write("ready\n")
    except BaseException:
        sys.stderr.write("\n")
        raise


async def _in_thread(work: Callable[[], None]) -> None:
    """Run blocking work to its end: a cancellation is answered only when it is known what there is to clean up."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise
