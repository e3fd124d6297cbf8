"""Compare the console on a large table with a small one and with plain SQL.

    [ROWS=1000000] [SERVER=15] python -m tests.bench.bench_large [blocks start memory load bulk]

Both databases hold the same 10,000 unfinished tasks; the large one also has a history. The blocks that a refresh reads
are counted on tables just small enough for a full scan, too: a statement that large tables forbid has the best ratio.
That no statement grows with the tables is proven by ``tests/queries/test_plans.py`` and by ``unstick engine check``.
The data is on a temporary server.
Ten million rows need up to 30 GB and 15 minutes. Set TMPDIR to a folder on a disk for that; otherwise the server's
folder is in memory. The server is the demo's, which is built without lz4; most servers in production have lz4.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path

from queries.workspace import Workspace
from tests.bench import bench_bulk, bench_console, bench_load
from tests.bench.figure import Figure, missing, table
from tests.queries import plans
from tests.servers import PostgresServer

ROWS = int(os.environ.get("ROWS", "200000"))
FEW = 10_000
WATCHED = 6.0  # seconds a key has for what it sets going
BULK = min(100_000, ROWS // 4)
STARTS = 21
# PostgreSQL's defaults, which tests do not need; but no measurement runs beside a vacuum.
SETTINGS = {"fsync": "on", "shared_buffers": "128MB", "max_wal_size": "1GB", "autovacuum": "off"}
ROW = "▸ ".encode()  # a row that can be opened: on a large table jobs have no better name than that
ENGINE = "eternaltwin"  # on which consoles are started


async def _filled(server: PostgresServer, name: str) -> dict[int, str]:
    places = {rows: server.fresh(name) for rows in (FEW, ROWS)}
    for rows, dsn in places.items():
        await plans.fill(dsn, name, rows, live=FEW)
    return places


async def bench_blocks(server: PostgresServer, folder: Path) -> list[Figure]:
    """Blocks of a refresh of each engine with a script, on small and on large tables."""
    figures = []
    for name in sorted(path.stem for path in plans.FILLS.iterdir()):
        read = {}
        for rows in (plans.ALMOST[name], ROWS):
            dsn = server.fresh(name)
            await plans.fill(dsn, name, rows)
            workspace = await Workspace(dsn, file=folder / "audit_log").open()
            read[rows] = sum(cost.buffers for cost in (await plans.refresh(workspace.engines[name])).values())
            await workspace.close()
            server.drop(dsn)
        small, goal = plans.ALMOST[name], plans.REFRESHES.get(name, plans.REFRESH)
        figures.append(Figure(f"{name}: blocks of a refresh at {small:,} rows", read[small], goal))
        figures.append(Figure(f"{name}: blocks at {ROWS:,} rows, times these", read[ROWS] / read[small], 2.0))
    return figures


async def bench_consoles(server: PostgresServer, parts: Sequence[str]) -> list[Figure]:
    """Real consoles on the large table: until rows show, what they take while open."""
    places = await _filled(server, ENGINE)
    figures = []
    with bench_console.settings("tree") as environment:
        if not parts or "start" in parts:
            figures += await asyncio.to_thread(_starts, places, environment)
        if not parts or "memory" in parts:
            figures.append(await asyncio.to_thread(_memory, places, environment))
        if not parts or "load" in parts:
            figures += await asyncio.to_thread(bench_load.figures, places[ROWS], environment)
    return figures


def _memory(places: Mapping[int, str], environment: Mapping[str, str]) -> Figure:
    """Compare the console's peak memory while it reads all jobs of both tables."""
    peaks = {}
    for rows, dsn in places.items():
        with bench_console.opened(bench_console.programs(dsn)[bench_console.UNSTICK].command, environment) as console:
            console.wait_for("● live".encode())
            for key in (b"\x1b[F", b"\x1b[A", b"\x1b[H", b"\x1b[B"):  # End, up (which stops it), Home, down
                console.press(key)
                console.watch(WATCHED)
            peaks[rows] = console.peak()
    print("\npeak memory: " + ", ".join(f"{peak:.0f} MB at {rows:,} rows" for rows, peak in peaks.items()), flush=True)
    return Figure(f"peak memory at {ROWS:,} rows, times at {FEW:,}", peaks[ROWS] / peaks[FEW], 1.1)


def _starts(places: Mapping[int, str], environment: Mapping[str, str]) -> list[Figure]:
    """Measure from exec to live rows on the large table.

    The small table and other programs on the large table are measured beside it.
    """
    with bench_console.sleeping(places[ROWS]):
        chosen = bench_console.programs(places[ROWS], ROW)
        many, few = f"unstick, {ROWS:,} rows", f"unstick, {FEW:,} rows"
        chosen[many] = chosen.pop(bench_console.UNSTICK)
        chosen[few] = bench_console.programs(places[FEW], ROW)[bench_console.UNSTICK]
        times = bench_console.starts(STARTS, chosen, environment)
    print("\nfrom exec to live rows, median")
    for name, seconds in times.items():
        print(f"  {name:40}{statistics.median(seconds) * 1000:8.0f} ms", flush=True)
    goals = {few: 1.1, bench_console.OTHER: 1.0, bench_console.BASE: 1.4}
    ratio = bench_console.ratio
    return [
        Figure(f"from exec to live rows at {ROWS:,} rows, times {name}", ratio(times, many, name), goal)
        for name, goal in goals.items()
        if name in times
    ]


async def _step(name: str, work: Awaitable[list[Figure]]) -> list[Figure]:
    try:
        return await work
    except Exception as error:  # the other steps are measured all the same
        return [missing(name, error)]


async def figures(parts: Sequence[str] = ()) -> list[Figure]:
    """Measure all or only these parts, printing what each is made of."""
    server = PostgresServer(os.environ.get("SERVER", "18"), SETTINGS)
    server.start()
    found: list[Figure] = []
    try:
        with tempfile.TemporaryDirectory(prefix="unstick-bench-") as folder:
            if not parts or "blocks" in parts:
                found += await _step("blocks", bench_blocks(server, Path(folder)))
            if not parts or {"start", "memory", "load"}.intersection(parts):
                found += await _step("consoles", bench_consoles(server, parts))
            if not parts or "bulk" in parts:
                found += await _step("bulk", bench_bulk.figures(server, Path(folder), BULK, ROWS))
    finally:
        server.close()
    return found


if __name__ == "__main__":
    print("", table(asyncio.run(figures(sys.argv[1:]))), sep="\n")
