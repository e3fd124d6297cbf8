"""Compare waking many nodes through the console with one bare statement.

Measures each engine whose action wake is such an UPDATE. In eternaltwin, both also delete the timers. All runs are on
one table, each with nodes of its own: once neighbours in the order of the console's list, which is the best case of the
bare statement, and once nodes that are spread over the table. A bulk also locks rows, checks guards, compares every row
before and after, and writes the audit log with the images that an undo needs. A second run without images shows what
these cost.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
import psutil

from queries.change import loop, perform
from queries.change.plan import plan_versions
from queries.contract.builtin import builtin
from queries.db.query import Query, RowsOrError
from queries.db.transaction import Transaction
from queries.log import audit_log
from queries.records.action import Outcome
from queries.workspace import Workspace
from tests.bench.bench_load import backends, spent
from tests.bench.figure import Figure
from tests.queries import plans
from tests.queries.builders import OPERATOR
from tests.servers import PostgresServer

GOAL = 3.0
RUNS = 5  # of as many nodes each
ORDERS = {"neighbours": "at", "spread": "md5(id)"}


class Wake(NamedTuple):
    """SQL that finds and wakes nodes.

    ``find`` has the columns ``id`` and ``at``, which orders the list. ``rows``: number of rows in a filled table for
    each node that it finds.
    """

    kind: str
    rows: int
    find: str
    update: str
    arguments: Mapping[str, Any] = {}


WAKES = {
    "agent_jobs": Wake(
        kind="job",
        rows=8,
        find="SELECT id::text, created_at AS at FROM jobs WHERE status = 'delayed'",
        update="UPDATE jobs SET status = 'pending', updated_at = clock_timestamp() WHERE id = ANY ($1::uuid[])",
    ),
    "estuary": Wake(
        kind="task",
        rows=4,
        find="SELECT task_id::text AS id, wake_at AS at FROM tasks WHERE wake_at > now() AND heartbeat < '0002-01-01'",
        update="UPDATE tasks SET wake_at = now() WHERE task_id = ANY ($1::text[]::macaddr8[])",
        arguments={"regardless": True},
    ),
    "eternaltwin": Wake(
        kind="task",
        rows=4,
        find="SELECT task_id::text AS id, deadline AS at FROM task_timer",
        update="WITH woken AS (UPDATE task SET status = 'Available' WHERE task_id = ANY ($1::uuid[]) RETURNING task_id)"
        " DELETE FROM task_timer m USING woken w WHERE m.task_id = w.task_id",
    ),
}


async def figures(server: PostgresServer, folder: Path, bulk: int, rows: int) -> list[Figure]:
    """Wake ``bulk`` nodes of each engine, printing what the time went into.

    A table has at least ``rows`` rows.
    """
    return [
        figure
        for name in WAKES
        for order in ORDERS
        for figure in await _figures(server, folder, name, bulk, rows, order)
    ]


async def _figures(server: PostgresServer, folder: Path, name: str, bulk: int, rows: int, order: str) -> list[Figure]:
    wake = WAKES[name]
    rows = max(rows, RUNS * bulk * wake.rows)
    dsn = server.fresh(name)
    await plans.fill(dsn, name, rows)
    await plans.index(dsn, next(s for s in builtin() if s.name == name))
    connection = await asyncpg.connect(dsn)
    await connection.execute(audit_log.ddl())
    query = f"SELECT id FROM ({wake.find}) AS f ORDER BY {ORDERS[order]} LIMIT $1"
    found = await connection.fetch(query, RUNS * bulk)
    await connection.close()
    assert len(found) == RUNS * bulk, f"{len(found)} nodes can be woken"
    runs = iter([[row["id"] for row in found[n : n + bulk]] for n in range(0, RUNS * bulk, bulk)])

    updates = [await _updated(dsn, wake, next(runs))]
    took, served, own = await _woken(dsn, folder, name, wake, next(runs), images=True)
    updates.append(await _updated(dsn, wake, next(runs)))
    plain, *_ = await _woken(dsn, folder, name, wake, next(runs), images=False)
    updates.append(await _updated(dsn, wake, next(runs)))
    update, update_cpu = (statistics.median(times) for times in zip(*updates, strict=True))
    print(f"{name}: without images {plain:.1f} s, so images take {100 * (took / plain - 1):.0f} % more")
    times = ", ".join(f"{clock:.2f} s" for clock, _ in updates)
    print(f"one bare statement on as many rows: {times}, in the middle {update_cpu:.1f} s of CPU")
    sys.stdout.flush()
    server.sql(f"DROP DATABASE {dsn.rpartition('/')[2]} WITH (FORCE)")
    what = f"{name}: waking {bulk:,} of {rows:,}, {order}, times one bare statement"
    return [
        Figure(f"{what}, by the clock", took / update, GOAL),
        Figure(f"{what}, by the clock, without images", plain / update, GOAL),
        Figure(f"{what}, in CPU, console included", (served + own) / update_cpu, GOAL),
        Figure(f"{what}, in the server's CPU", served / update_cpu, GOAL),
    ]


async def _woken(
    dsn: str, folder: Path, name: str, wake: Wake, ids: Sequence[str], *, images: bool
) -> tuple[float, float, float]:
    """Return the seconds of a bulk.

    They are measured by the clock, and as CPU time of the server and of the console.
    """
    workspace = await Workspace(dsn, file=folder / "audit_log", images=images).open()
    async with workspace.database.writing() as transaction:  # both connections are there
        await transaction.control("SAVEPOINT begun")
        serving = await backends(dsn)
    reader, seen = workspace.engines[name], {}
    for start in range(0, len(ids), 500):
        asked = [f"{name}/{wake.kind}:{i}" for i in ids[start : start + 500]]
        versions = {node.id: node.version for node in (await reader.nodes.read(asked)).nodes}
        seen |= {id_: versions[id_] for id_ in asked}
    dry_run = await perform.dry_run(workspace, plan_versions(workspace, name, "wake", seen), "bench", wake.arguments)
    connection = await asyncpg.connect(dsn)
    await connection.execute("CHECKPOINT")  # as before an UPDATE: pages that change are then written to WAL whole
    await connection.close()
    console = [psutil.Process()]
    with clocked() as waited:
        began, server_before, own_before = time.perf_counter(), spent(serving), spent(console)
        outcomes = await loop.commit(workspace, dry_run, OPERATOR)
        changed = sum(result.outcome is Outcome.CHANGED for result in outcomes.results)
        took, served, own = (
            time.perf_counter() - began,
            spent(serving) - server_before,
            spent(console) - own_before,
        )
    await workspace.close()
    assert changed == len(ids), f"{changed} of {len(ids)} were changed"
    print(f"\n{name}: waking {changed:,}: {took:.1f} s (of CPU {served:.1f} s the server, {own:.1f} s the console)")
    for what, seconds in waited.most_common(8):
        print(f"  {what:30}{seconds:6.1f} s{100 * seconds / waited.total():5.0f} %")
    sys.stdout.flush()
    return took, served, own


async def _updated(dsn: str, wake: Wake, ids: Sequence[str]) -> tuple[float, float]:
    """Return the seconds of one UPDATE of all nodes, by the clock and as CPU time."""
    connection = await asyncpg.connect(dsn)
    await connection.execute("CHECKPOINT")
    backend = [psutil.Process(connection.get_server_pid())]
    began, before = time.perf_counter(), spent(backend)
    await connection.execute(wake.update, ids)
    took = time.perf_counter() - began, spent(backend) - before
    await connection.close()
    return took


@contextmanager
def clocked() -> Iterator[Counter[str]]:
    """Seconds spent in each statement of the body."""
    waited: Counter[str] = Counter()
    each, control = Transaction.each, Transaction.control

    async def timed(self: Transaction, queries: Sequence[Query], *more: Any) -> list[RowsOrError]:
        began = time.perf_counter()
        try:
            return await each(self, queries, *more)
        finally:
            sources = dict.fromkeys(Path(query.statement.source).stem for query in queries)
            waited[" + ".join(sources)] += time.perf_counter() - began

    async def outcomes_of(self: Transaction, command: str) -> str:
        began = time.perf_counter()
        try:
            return await control(self, command)
        finally:
            waited[command.split(None, 1)[0]] += time.perf_counter() - began

    Transaction.each, Transaction.control = timed, outcomes_of  # type: ignore[method-assign]
    try:
        yield waited
    finally:
        Transaction.each, Transaction.control = each, control  # type: ignore[method-assign]
