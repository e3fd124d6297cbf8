"""Start the demo's server, fill it, run the engines' workers, remove everything."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Final, Self

import asyncpg

from console.demo.engine import SMALL, SQL, Engine, FolderEngine, connect, folder_engines, run_worker
from console.demo.server import Server
from console.interrupts import signals_call
from queries.log import audit_log

DATABASE: Final = "demo"
FIRST: Final = "eternaltwin"  # whose tree is shown first: simple jobs of a few tasks, and missed timers

Progress = Callable[[str], None]


class Demo:
    """A demo server with its engines' workers. ``dsn`` connects as superuser."""

    def __init__(self, seed: int = 1, *, engines: Sequence[Engine] | None = None, server: Server | None = None) -> None:
        self.server = server or Server()
        self._seed = seed
        self._engines: Sequence[Engine] = folder_engines() if engines is None else engines
        self._workers: list[asyncio.Task[None]] = []

    @property
    def dsn(self) -> str:
        return self.server.dsn(DATABASE)

    async def start(self, report: Progress = lambda _: None) -> Self:
        """Start the server, insert the data, and start the workers.

        ``report`` is called before each step. Raises DemoUnavailable if the server cannot run here.
        """
        try:
            report("starting PostgreSQL")
            await _to_thread(self.server.start)
            await self._create()
            for engine in self._engines:
                report(f"filling {engine.name}")
                await self._fill(engine)
            self._workers = [asyncio.create_task(run_worker(engine, self.dsn, self._seed)) for engine in self._engines]
        except BaseException:
            await self.stop()
            raise
        return self

    async def stop(self) -> None:
        """Stop the workers and the server, and remove all files."""
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
        self._workers.clear()
        await _to_thread(self.server.stop)

    async def _create(self) -> None:
        connection = await asyncpg.connect(self.server.dsn())
        try:
            await connection.execute(SQL["database"])
            await connection.execute(SQL["roles"])
        finally:
            await connection.close()
        # The demo has its own audit log table, so that its entries do not get into the user's audit log file.
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
async def demo(seed: int = 1, *, full: bool = False) -> AsyncIterator[str]:
    """Run a demo during the context; yield its DSN. The progress goes to stderr.

    It has few rows of a few engines, or everything if ``full``. Raises DemoUnavailable if the server cannot run here.
    """
    running = Demo(seed, engines=None if full else [FolderEngine(name, small=True) for name in SMALL])
    with _one_line() as report:
        await running.start(report)
    try:
        yield running.dsn
    finally:
        await running.stop()


def headless(seed: int = 1, *, full: bool = False) -> int:
    """Serve the demo until SIGINT, SIGTERM or SIGHUP; return an exit code.

    Prints the DSN as the first line on stdout. Raises DemoUnavailable if the server cannot run here.
    """
    return asyncio.run(_headless(seed, full=full))


async def _headless(seed: int, *, full: bool) -> int:
    stopped = asyncio.Event()
    with signals_call(stopped.set):
        async with demo(seed, full=full) as dsn:
            with contextlib.suppress(BrokenPipeError):
                print(dsn, flush=True)  # noqa: T201
            await stopped.wait()
    return 0


@contextlib.contextmanager
def _one_line() -> Iterator[Progress]:
    sys.stderr.write("demo: ")

    def report(what: str) -> None:
        sys.stderr.write(f"{what} ... ")
        sys.stderr.flush()

    try:
        yield report
        sys.stderr.write("ready\n")
    except BaseException:
        sys.stderr.write("\n")
        raise


async def _to_thread(work: Callable[[], None]) -> None:
    """Run blocking work in a thread.

    A cancellation waits for its end, so that the clean-up knows what exists.
    """
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise
