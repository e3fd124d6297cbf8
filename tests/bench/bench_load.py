"""Measure the load of open consoles: CPU time, and the delay of a busy executor.

The consoles are real ones, each in a pseudo-terminal. The server's time is the CPU time of their backends, so other
load does not count. The executor's delay compares its steps while a console's backend works, and just after, with the
steps around them. Runs with and without a console cannot be compared, because the executor's speed drifts by more than
a console costs.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import threading
import time
from collections.abc import Iterable, Iterator, Mapping

import asyncpg
import psutil

from queries.db.connecting import APPLICATION
from tests.bench import bench_console
from tests.bench.figure import Figure, measured

SETTLED = 8.0  # seconds after which a console has connected, looked at everything once and keeps its pace
WATCHED = 30.0
LOCKED, AROUND = 60.0, 5  # seconds, and hundreds of steps
MANY = 10

# One step of an executor: take the task that was polled longest ago, write its state, commit. A hundred at a time, so
# that next to all the time is the server's.
EXECUTOR = """
DO $$
BEGIN
  FOR n IN 1..100 LOOP
    UPDATE task SET polled_at = row(now(), 1)::job_tick, revision = revision + 1, state = state
     WHERE task_id = (SELECT task_id FROM task WHERE status = 'Available' AND polled_at IS DISTINCT FROM NULL
                       ORDER BY polled_at LIMIT 1 FOR UPDATE SKIP LOCKED);
    COMMIT;
  END LOOP;
END $$
"""


class Consoles:
    """Open consoles on a database. Their output is read, so that no console blocks."""

    def __init__(self, number: int, dsn: str, environment: Mapping[str, str]) -> None:
        self._open = [bench_console.PtyProgram([*bench_console.COMMAND, dsn], environment) for _ in range(number)]
        self._end = threading.Event()
        self._readers = [threading.Thread(target=self._read, args=(console,), daemon=True) for console in self._open]
        for reader in self._readers:
            reader.start()

    def _read(self, console: bench_console.PtyProgram) -> None:
        while not self._end.is_set():
            with contextlib.suppress(OSError, psutil.Error):
                console.watch(0.2)

    def close(self) -> None:
        """End them all."""
        self._end.set()
        for reader in self._readers:
            reader.join()
        for console in self._open:
            console.close()


@contextlib.contextmanager
def consoles(number: int, dsn: str, environment: Mapping[str, str]) -> Iterator[None]:
    """Consoles that have found their pace."""
    shown = Consoles(number, dsn, environment)
    try:
        time.sleep(SETTLED + number)
        yield
    finally:
        shown.close()


def share(dsn: str, environment: Mapping[str, str], number: int) -> float:
    """Return the per cent of a CPU that the server spends on ``number`` consoles."""
    with consoles(number, dsn, environment):
        working = asyncio.run(backends(dsn))
        assert len(working) >= number, "not every console has connected"
        before, began = spent(working), time.perf_counter()
        time.sleep(WATCHED)
        return 100 * (spent(working) - before) / (time.perf_counter() - began)


async def backends(dsn: str) -> list[psutil.Process]:
    """The server's processes that serve consoles."""
    connection = await asyncpg.connect(dsn)
    rows = await connection.fetch("SELECT pid FROM pg_stat_activity WHERE application_name = $1", APPLICATION)
    await connection.close()
    return [psutil.Process(row["pid"]) for row in rows]


def spent(processes: Iterable[psutil.Process]) -> float:
    """Seconds of CPU that these processes have taken."""
    return float(sum(sum(process.cpu_times()[:2]) for process in processes))


def slowdown(dsn: str, environment: Mapping[str, str]) -> float:
    """By how many per cent an executor gets less done because a console is open."""
    with consoles(1, dsn, environment):
        taken = asyncio.run(_hundreds(dsn))
    lost = 0.0
    for n, (seconds, beside) in enumerate(taken):
        if beside:  # its own work takes longer and longer, so that only what was just before and after compares
            around = taken[max(n - AROUND, 0) : n + AROUND + 1]
            alone = [each for each, locked in around if not locked]
            if not alone:
                raise RuntimeError(f"the console was at work in all of {len(around)} steps in a row")
            lost += seconds - statistics.fmean(alone)
    if not lost:
        raise RuntimeError("the console was never at work")
    return 100 * lost / sum(seconds for seconds, _ in taken)


async def _hundreds(dsn: str) -> list[tuple[float, bool]]:
    """Return seconds of each hundred steps, and True if a console's backend worked.

    The backend worked during or before these steps.
    """
    working = await backends(dsn)
    connection = await asyncpg.connect(dsn)
    await connection.execute("SET synchronous_commit = off")  # a console does not affect the disk
    taken, worked, end = [], False, time.perf_counter() + LOCKED
    while (began := time.perf_counter()) < end:
        before = [backend.num_ctx_switches() for backend in working]
        await connection.execute(EXECUTOR)
        works = before != [backend.num_ctx_switches() for backend in working]
        taken.append((time.perf_counter() - began, works or worked))
        worked = works
    await connection.close()
    return taken


def figures(dsn: str, environment: Mapping[str, str]) -> list[Figure]:
    """Share and slowdown on one database of eternaltwin's."""
    return [
        measured("server time for one console, % of a CPU", lambda: share(dsn, environment, 1), 1.0),
        measured(f"server time for {MANY} consoles, % of a CPU", lambda: share(dsn, environment, MANY), 10.0),
        measured("what a busy executor loses beside a console, %", lambda: slowdown(dsn, environment), 2.0),
    ]
