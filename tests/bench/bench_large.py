"""Compare the console's cost on large tables with small ones and with plain SQL.

    [ROWS=1000000] [SERVER=15] python -m tests.bench.bench_large [eternaltwin ... start memory load bulk]

Both databases of an engine hold the same 10,000 unfinished tasks; the large one also has a history or a backlog. The
data is on a temporary server. Ten million rows need up to 30 GB and 15 minutes for each engine. Set TMPDIR to a folder
on a disk for that; otherwise the server's folder is in memory. The server is the demo's, which is built without lz4;
most servers in production have lz4.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import asyncpg

from queries.workspace import Workspace
from tests.bench import bench_bulk, bench_console, bench_load, bench_refresh
from tests.bench.figure import Figure, missing, table
from tests.queries import plans
from tests.servers import PostgresServer

ROWS = int(os.environ.get("ROWS", "200000"))
FEW = 10_000
WATCHED = 6.0  # seconds a key has for what it sets going
BULK = min(100_000, ROWS // 4)
ROUNDS = 7
STARTS = 21
GOAL = 1.5  # times the buffers at FEW rows
FINE = 100  # blocks: a statement that touches no more is cheap whatever its ratio; one more index level does not count
# PostgreSQL's defaults, which tests do not need; but no measurement runs beside a vacuum.
SETTINGS = {"fsync": "on", "shared_buffers": "128MB", "max_wal_size": "1GB", "autovacuum": "off"}
ROW = "▸ ".encode()  # a row that can be opened: on a large table jobs have no better name than that
ENGINE = "eternaltwin"  # on which consoles are started


class Call(NamedTuple):
    """Cost of a call: blocks, blocks above the leaves of indexes, and rows returned."""

    buffers: int = 0
    above: int = 0
    rows: int = 0

    def times(self, few: Call) -> float:
        """Return the ratio of buffers, per row if more rows were returned."""
        more = max(1.0, self.rows / max(few.rows, 1))
        return self.buffers / max(few.buffers, 1) / more

    def flat(self) -> Call:
        """The same, had indexes no depth: every walk down one begins at its leaf."""
        return self._replace(buffers=self.buffers - self.above, above=0)


async def bench_engine(server: PostgresServer, name: str, folder: Path) -> list[Figure]:
    """Buffers and time of one engine, large against small."""
    places = await _filled(server, name)
    costs, times = {}, {}
    for rows, dsn in places.items():
        workspace = await Workspace(dsn, file=folder / "audit_log").open()
        measured = await plans.automatic(workspace.engines[name], far=1000)
        await workspace.close()
        costs[rows] = _by_call(measured, await _depths(dsn))
        times[rows] = await _rounds(dsn, name, folder)
    print(f"\n{name}: buffers at {FEW:,} and {ROWS:,} rows, and how many times as many; without what is above leaves")
    worst, flat, over = 0.0, 0.0, []
    for call, many in costs[ROWS].items():
        if call not in costs[FEW]:  # a place so far into a list that a small table has none
            print(f"  {call:50}{'':9}{many.buffers:>9}        -")
            continue
        few = costs[FEW][call]
        times_ = many.times(few)
        level = many.flat().times(few.flat())
        line = f"  {call:50}{few.buffers:>9}{many.buffers:>9}{times_:9.2f}{level:9.2f}"
        print(line)
        if many.buffers > FINE:
            worst, flat = max(worst, times_), max(flat, level)
            over += [line] if times_ > GOAL else []
    print(*(["  over the goal:", *over] if over else ["  none is over the goal"]), sep="\n")
    few_s, many_s = times[FEW], times[ROWS]
    print(
        f"  open, roots, nodes, counts: {few_s * 1000:.1f} ms, {many_s * 1000:.1f} ms, {many_s / few_s:.2f}", flush=True
    )
    refreshes = await asyncio.to_thread(bench_refresh.figures, name, places, folder)
    for dsn in places.values():
        server.sql(f"DROP DATABASE {dsn.rpartition('/')[2]} WITH (FORCE)")
    known = costs[ROWS].keys() & costs[FEW].keys()
    together = {rows: sum(calls[call].buffers for call in known) for rows, calls in costs.items()}
    what = f"{name}: buffers of a statement at {ROWS:,} rows, times {FEW:,}, the worst"
    return [
        Figure(what, worst, GOAL),
        Figure(f"{name}: the same, without what is above the leaves of indexes", flat, GOAL),
        Figure(f"{name}: all its statements together, once each", together[ROWS] / together[FEW], GOAL),
        *refreshes,
    ]


async def _filled(server: PostgresServer, name: str) -> dict[int, str]:
    places = {rows: server.fresh(name) for rows in (FEW, ROWS)}
    for rows, dsn in places.items():
        await plans.fill(dsn, name, rows, live=FEW)
    return places


async def _depths(dsn: str) -> dict[str, int]:
    """Return the number of levels above the leaves of each index."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("CREATE SCHEMA pages; CREATE EXTENSION pageinspect SCHEMA pages")
        rows = await connection.fetch(
            "SELECT c.relname, (pages.bt_metap(c.oid::regclass::text)).level FROM pg_class c"
            " JOIN pg_am a ON a.oid = c.relam WHERE c.relkind = 'i' AND a.amname = 'btree'"
        )
    finally:
        await connection.close()
    return {row["relname"]: row["level"] for row in rows}


def _by_call(costs: plans.Costs, depths: Mapping[str, int]) -> dict[str, Call]:
    """Sum the statements of a call.

    Each finding is a call. The last result gives the rows.
    """
    calls: dict[str, Call] = {}
    for name, cost in costs.items():
        call, _, statement = name.partition(" [")
        call = name if call == "findings" and statement.startswith("findings/") else call
        before = calls.get(call, Call())
        above = sum(searches * depths.get(index, 0) for index, searches in cost.searches.items())
        calls[call] = Call(before.buffers + cost.buffers, before.above + above, round(cost.plan["Actual Rows"]))
    return calls


async def _rounds(dsn: str, name: str, folder: Path) -> float:
    """Seconds until the first rows could be shown: the median."""
    taken = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        workspace = await Workspace(dsn, file=folder / "audit_log").open()
        reader = workspace.engines[name]
        page = await reader.pages.roots(limit=50)
        await reader.nodes.read([node.id for node in page.nodes])
        await reader.nodes.counts()
        taken.append(time.perf_counter() - began)
        await workspace.close()
    return statistics.median(taken)


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
            for name in sorted(path.stem for path in plans.FILLS.glob("*.sql")):
                if not parts or name in parts:
                    found += await _step(name, bench_engine(server, name, Path(folder)))
            if not parts or {"start", "memory", "load"}.intersection(parts):
                found += await _step("consoles", bench_consoles(server, parts))
            if not parts or "bulk" in parts:
                found += await _step("bulk", bench_bulk.figures(server, Path(folder), BULK, ROWS))
    finally:
        server.close()
    return found


if __name__ == "__main__":
    print("", table(asyncio.run(figures(sys.argv[1:]))), sep="\n")
