"""What the console costs on large tables: beside small ones, and beside the server's own way to do the same.

    [ROWS=1000000] python -m tests.bench.bench_large [eternaltwin ... bulk]

Both databases of a system hold the same 10,000 unfinished tasks; the large one has its history, or its backlog, on
top. The data is made on a server of our own, which is taken away again; ten million rows take some 8 GB and minutes.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncpg

from queries import act, ledger, system
from queries.database import Transaction
from queries.model import Outcome
from queries.statement import Statement
from queries.workspace import Workspace
from tests.queries import plans
from tests.servers import TestbedServer

ROWS = int(os.environ.get("ROWS", "1000000"))
FEW = 10_000
BULK = min(100_000, ROWS // 10)
ROUNDS = 7
TICK, FINDINGS = 2.0, 10.0  # seconds, what the console asks for at most that often
OPERATOR = ledger.Operator(os_user="bench", host="bench")


async def bench_system(server: TestbedServer, name: str, folder: Path) -> None:
    """Buffers and time of one system, large against small."""
    engine = next(s for s in system.builtin() if s.name == name)
    places = {rows: server.fresh(engine.name) for rows in (FEW, ROWS)}
    for rows, dsn in places.items():
        await plans.fill(dsn, name, rows, live=FEW)
    costs, times = {}, {}
    for rows, dsn in places.items():
        workspace = await Workspace.open(dsn, file=folder / "ledger")
        costs[rows] = _by_call(await plans.automatic(workspace.systems[name], far=1000))
        await workspace.close()
        times[rows] = await _rounds(dsn, name, folder)
    print(f"\n{name}: buffers at {FEW:,} and {ROWS:,} rows (goal: a ratio of at most 1.5)")
    for call in costs[ROWS]:
        few, many = costs[FEW].get(call), costs[ROWS][call]
        ratio = f"{many / max(few, 1):9.2f}" if few is not None else "        -"
        print(f"  {call:38}{few if few is not None else '-':>9}{many:>9}{ratio}")
    few, many = times[FEW], times[ROWS]
    print(f"  {'open, roots, nodes, counts':38}{few * 1000:6.1f} ms{many * 1000:6.1f} ms{many / few:9.2f} (goal: 1.1)")
    await _share(places[ROWS], name, folder)
    for dsn in places.values():
        server.sql(f"DROP DATABASE {dsn.rpartition('/')[2]} WITH (FORCE)")


def _by_call(costs: plans.Costs) -> dict[str, int]:
    """All statements of a call together; findings and samples each for itself."""
    calls: Counter[str] = Counter()
    for name, cost in costs.items():
        call, _, statement = name.partition(" [")
        alone = call == "findings" and statement.startswith("findings/")
        calls[name if alone else call] += cost.buffers
    return dict(calls)


async def _rounds(dsn: str, name: str, folder: Path) -> float:
    """Seconds until the first rows could be shown: the median."""
    taken = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        workspace = await Workspace.open(dsn, file=folder / "ledger")
        reader = workspace.systems[name]
        page = await reader.roots(page=50)
        await reader.nodes([node.id for node in page.nodes])
        await reader.counts()
        taken.append(time.perf_counter() - began)
        await workspace.close()
    return statistics.median(taken)


async def _share(dsn: str, name: str, folder: Path) -> None:
    """The server's busy time for one console, if it looked as often as it may."""
    workspace = await Workspace.open(dsn, file=folder / "ledger")
    reader = workspace.systems[name]
    ids = [node.id for node in (await reader.live(page=50)).nodes]

    async def tick() -> None:
        await reader.nodes(ids)
        await reader.live()
        await reader.counts()

    async def look() -> None:
        await reader.findings()
        await reader.sample()

    cost = {}
    for what, body in (("tick", tick), ("look", look)):
        taken = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            await body()
            taken.append(time.perf_counter() - began)
        cost[what] = statistics.median(taken)
    share = cost["tick"] / TICK + cost["look"] / FINDINGS
    print(
        f"  a tick {cost['tick'] * 1000:.1f} ms, all findings {cost['look'] * 1000:.1f} ms:"
        f" every {TICK:.0f} s and {FINDINGS:.0f} s that is {100 * share:.2f} % of one connection (goal: 1 %)"
    )
    await workspace.close()


@contextmanager
def clocked() -> Iterator[Counter[str]]:
    """Seconds spent in each statement of the body."""
    spent: Counter[str] = Counter()
    rows, control = Transaction.rows, Transaction.control

    async def timed(self: Transaction, statement: Statement, values: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        began = time.perf_counter()
        try:
            return await rows(self, statement, values)
        finally:
            word = statement.text.split(None, 1)[0].upper()
            spent[f"{Path(statement.source).stem or statement.source} {word}"] += time.perf_counter() - began

    async def told(self: Transaction, command: str) -> str:
        began = time.perf_counter()
        try:
            return await control(self, command)
        finally:
            spent[command.split(None, 1)[0]] += time.perf_counter() - began

    Transaction.rows, Transaction.control = timed, told  # type: ignore[method-assign]
    try:
        yield spent
    finally:
        Transaction.rows, Transaction.control = rows, control  # type: ignore[method-assign]


async def bench_bulk(server: TestbedServer, folder: Path) -> None:
    """Waking many through the console against one UPDATE of the same rows."""
    name = "eternaltwin"
    engine = next(s for s in system.builtin() if s.name == name)
    dsn, other = server.fresh(name), ""
    await plans.fill(dsn, name, BULK * 4)
    await plans.index(dsn, engine)
    server.sql(ledger.ddl(), dsn)
    other = server.unique("db")
    server.sql(f"CREATE DATABASE {other} TEMPLATE {dsn.rpartition('/')[2]}")

    connection = await asyncpg.connect(server.dsn(other))
    keys = await connection.fetch("SELECT DISTINCT task_id::text AS id FROM task_timer LIMIT $1", BULK)
    ids = sorted(row["id"] for row in keys)
    await connection.execute("CHECKPOINT")
    began = time.perf_counter()
    await connection.execute("UPDATE task SET status = 'Available' WHERE task_id = ANY ($1::uuid[])", ids)
    update = time.perf_counter() - began
    await connection.execute("DELETE FROM task_timer WHERE task_id = ANY ($1::uuid[])", ids)
    both = time.perf_counter() - began
    await connection.close()

    workspace = await Workspace.open(dsn, file=folder / "ledger")
    reader, seen = workspace.systems[name], {}
    for start in range(0, len(ids), 500):
        page = await reader.nodes([f"{name}/task:{i}" for i in ids[start : start + 500]])
        seen |= {node.id: node.version for node in page.nodes}
    rehearsal = await act.rehearse(workspace, name, "wake", seen, "bench", {})
    server.sql("CHECKPOINT")
    changed = 0
    with clocked() as spent:
        began = time.perf_counter()
        async for progress in act.bulk(workspace, name, "wake", rehearsal, OPERATOR, asyncio.Event()):
            changed += sum(result.outcome is Outcome.CHANGED for result in progress.chunk.results)
        bulk = time.perf_counter() - began
    await workspace.close()
    assert changed == len(ids), f"{changed} of {len(ids)} were changed"
    print(f"\nwaking {changed:,}: {bulk:.1f} s; one UPDATE {update:.1f} s, with the DELETE of the timers {both:.1f} s")
    print(f"  {bulk / update:.1f} times the UPDATE (goal: 3), {bulk / both:.1f} times both")
    for what, seconds in [*spent.most_common(8), ("beside statements", bulk - spent.total())]:
        print(f"  {what:30}{seconds:6.1f} s{100 * seconds / bulk:5.0f} %")


async def main(parts: Sequence[str]) -> None:
    """Measure and print, all or only these parts."""
    server = TestbedServer()
    server.start()
    try:
        with tempfile.TemporaryDirectory(prefix="unstick-bench-") as folder:
            for name in sorted(path.stem for path in plans.FILLS.glob("*.sql")):
                if not parts or name in parts:
                    await bench_system(server, name, Path(folder))
            if not parts or "bulk" in parts:
                await bench_bulk(server, Path(folder))
    finally:
        server.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
