"""Automatic reads cost the same however large the tables are.

Each engine's tables are filled by ``large/<engine>.sql`` twice, once with four times the rows, with and without the
indexes that its needs propose, and every statement's plan is looked at as it ran.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from queries.contract import detect
from queries.contract.builtin import builtin
from queries.contract.engine import Engine
from queries.read import search
from queries.workspace import Workspace
from tests.proof import proof
from tests.queries import plans
from tests.servers import PostgresServer

ROWS = 45_000  # more than twice what any statement looks at, of each sort of row
TIMES = 4
WORSE = 1.5  # what a statement may do more of on a table of TIMES the rows
PAIRS = 5_000  # rows that joins of a finding compare in vain: a nested loop of two parts, whose direction is by chance
SLACK = 200  # blocks and rows: a deeper index, a fuller page

SMALL = {"uni2work": {"cron_whole": 0}}  # what else counts as large by a size of its own

JOBS = {  # of few names
    "oban": "oban_jobs (queue, worker, args) SELECT name, 'W', '{}'",
    "pgqueuer": "pgqueuer (entrypoint, status, priority) SELECT name, 'queued', 0",
    "procrastinate": "procrastinate_jobs (queue_name, task_name) SELECT name, 't'",
    "solid_queue": "solid_queue_jobs (queue_name, class_name, created_at, updated_at) SELECT name, 'W', now(), now()",
}

NAMES = sorted(s.name for s in builtin() if (plans.FILLS / f"{s.name}.sql").is_file())


@proof
@pytest.mark.parametrize("name", NAMES)
async def test_no_automatic_statement_grows_with_the_table(
    name: str, server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detect, "SMALL_TABLE_BLOCKS", -1)
    engine = next(s for s in builtin() if s.name == name)
    few, many = [await _costs(server, engine, rows, tmp_path) for rows in (ROWS, ROWS * TIMES)]
    # Whether a suggested action would be refused is asked only if it is suggested, and a claim only if a node waits.
    asked = {*engine.actions, "alive", *(f"claim.{claim.kind}" for claim in engine.spec.claim)}
    assert {call for call in few.keys() ^ many.keys() if call.rpartition("[")[2].rstrip("]") not in asked} == set()
    assert len(many) > 40, "the walk found next to nothing"
    wrong = [f"{x}: {c.compared} pairs" for x, c in many.items() if "[findings/" in x and c.compared > PAIRS]
    for call, cost in many.items():
        before = few.get(call, cost)
        # A finding of given nodes may compare them with others, once one of them qualifies, as for all nodes.
        whole = few.get(f"{call.partition(': ')[0]}: findings [{call.partition('[')[2]}", before)
        if cost.scanned:
            wrong.append(f"{call}: reads the whole of {', '.join(sorted(cost.scanned))}")
        elif cost.work > WORSE * max(before.work, whole.work) + SLACK:
            wrong.append(
                f"{call}: {before.buffers} blocks and {before.rows} rows at {ROWS:,} rows,"
                f" {cost.buffers} blocks and {cost.rows} rows at {ROWS * TIMES:,}"
            )
    assert not wrong, "\n" + "\n".join(wrong)


async def _costs(server: PostgresServer, engine: Engine, rows: int, tmp_path: Path) -> plans.Costs:
    """Without any index beyond the engine's own, then with all that are proposed."""
    dsn = server.fresh(engine.name)
    try:
        await plans.fill(dsn, engine.name, rows)
        costs = {}
        for indexes in ("bare", "helped"):
            if indexes == "helped":
                await plans.index(dsn, engine)
            workspace = await Workspace(dsn, SMALL, file=tmp_path / "audit_log").open()
            for call, cost in (await plans.automatic(workspace.engines[engine.name], far=500)).items():
                costs[f"{indexes}: {call}"] = cost
            await workspace.close()
    finally:
        server.drop(dsn)
    return costs


@pytest.mark.parametrize(
    ("name", "whole"),
    [
        *((each, False) for each in ("estuary", "oban", "tasker", "uni2work")),
        *(pytest.param(each, True, marks=proof) for each in plans.ALMOST),
    ],
)
async def test_no_statement_costs_a_table_because_it_is_small(
    name: str, whole: bool, server: PostgresServer, tmp_path: Path
) -> None:
    """Fill the tables to a block or two below the limit for full scans."""
    dsn = server.fresh(name)
    await plans.fill(dsn, name, plans.ALMOST[name])
    workspace = await Workspace(dsn, SMALL, file=tmp_path / "audit_log").open()
    reader = workspace.engines[name]
    blocks = max(relation.blocks for relation in reader.detected.relations.values())
    assert detect.SMALL_TABLE_BLOCKS - 10 < blocks < detect.SMALL_TABLE_BLOCKS
    refresh = await plans.refresh(reader)
    every = {**refresh, **(await plans.automatic(reader, far=500) if whole else {})}
    dear = [
        f"{call}: reads {read} blocks of {table}"
        for call, cost in every.items()
        for table, read, by_rows in plans.reads(cost.plan)
        if read > max(plans.ONE_READ, by_rows)
    ]
    assert not dear, "\n" + "\n".join(dear)
    assert sum(cost.buffers for cost in refresh.values()) <= plans.REFRESHES.get(name, plans.REFRESH)
    forbidden = {call for call, cost in refresh.items() if "[findings/" in call and "cron_last_exec" in cost.scanned}
    assert not forbidden, "cron_whole says that the table is too large for that"
    await workspace.close()
    server.drop(dsn)


@pytest.mark.parametrize("name", sorted(JOBS))
async def test_a_name_that_no_job_has_needs_no_scan(server: PostgresServer, tmp_path: Path, name: str) -> None:
    dsn = server.fresh(name)
    names = "FROM generate_series(1, 10000), unnest(ARRAY['mail', 'post']) AS name"
    server.sql(f"INSERT INTO {JOBS[name]} {names}", dsn)
    server.sql("VACUUM ANALYZE", dsn)
    workspace = await Workspace(dsn, file=tmp_path / "audit_log").open()
    for text, found in (("mail", 1), ("a", 0), ("none", 0), ("zz", 0)):
        with plans.recorded() as costs:
            assert len((await search.find(workspace.engines[name], text)).nodes) == found
        assert costs["find"].buffers < plans.LARGE
    await workspace.close()
    server.drop(dsn)
