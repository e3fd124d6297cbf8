"""Runs, arrivals and failures that the newest rows show as unusual."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from queries.claim.answers import Look
from queries.contract.rows import FlowRow
from queries.evidence import usual
from queries.records.finding import Incident
from queries.snapshot import snapshot
from tests.queries.builders import opened
from tests.servers import PostgresServer

SOLID = """
INSERT INTO solid_queue_processes (kind, last_heartbeat_at, pid, hostname, created_at, name)
VALUES ('Worker', timezone('UTC', now()), 1, 'app-1', now(), 'worker-1');
WITH job AS (
  INSERT INTO solid_queue_jobs (queue_name, class_name, created_at, updated_at, finished_at)
  SELECT 'default', 'SyncJob', t.at, t.at, CASE WHEN n > 1 THEN t.at + interval '40 s' END
    FROM generate_series(1, {many}) AS n
   CROSS JOIN LATERAL (SELECT timezone('UTC', now()) - interval '{ago}' - n * interval '{step}') AS t(at)
  RETURNING id, created_at, finished_at)
INSERT INTO solid_queue_claimed_executions (job_id, process_id, created_at)
SELECT id, 1, created_at FROM job WHERE finished_at IS NULL;
"""
ENDED = "UPDATE solid_queue_jobs SET finished_at = created_at; DELETE FROM solid_queue_claimed_executions"
PICKED = """
INSERT INTO pgqueuer (priority, created, updated, heartbeat, execute_after, status, entrypoint, queue_manager_id)
SELECT 0, t.at, t.at, now(), t.at, 'picked', 'sync', gen_random_uuid() FROM (SELECT now() - interval '{runs}') AS t(at);
INSERT INTO pgqueuer_log (job_id, status, priority, entrypoint, created)
SELECT 1000 + n, s.status::pgqueuer_status, 0, 'sync', now() - interval '3 hours' + s.after + n * interval '1 min'
  FROM generate_series(1, 30) AS n,
       (VALUES ('picked', interval '0'), ('successful', interval '40 s')) AS s(status, after);
"""


async def incidents(server: PostgresServer, tmp_path: Path, engine: str, sql: str) -> dict[str, Incident]:
    """Return the incidents of a fresh database with some rows by code."""
    dsn = server.fresh(engine)
    server.sql(sql, dsn)
    workspace = await opened(dsn, tmp_path)
    try:
        shown = (await snapshot(workspace, [*workspace.engines.values()], once=False)).incidents
        return {each.code: each for each in shown}
    finally:
        await workspace.close()
        server.drop(dsn)


@pytest.mark.parametrize(
    ("engine", "sql", "code", "says"),
    [
        ("solid_queue", SOLID.format(many=100, ago="2 hours", step="1 min"), "runs_long",
         "for 2h01m. The last 99 of its name took at most 40s. Held by: worker-1 on app-1."),
        ("solid_queue", SOLID.format(many=100, ago="5 min", step="1 min"), "runs_long", ""),
        ("solid_queue", SOLID.format(many=15, ago="2 hours", step="1 min"), "runs_long", ""),
        ("solid_queue", SOLID.format(many=50, ago="5 hours", step="1 hour") + ENDED, "none_arrive",
         "at most 1h00m passed between two of them"),
        ("solid_queue", SOLID.format(many=50, ago="2 hours", step="1 hour") + ENDED, "none_arrive", ""),
        ("solid_queue", SOLID.format(many=50, ago="5 hours", step="10 min") + ENDED, "none_arrive", ""),
        ("pgqueuer", PICKED.format(runs="2 hours"), "runs_long", "The last 30 of its name took at most 40s"),
        ("pgqueuer", PICKED.format(runs="5 min"), "runs_long", ""),
    ],
)  # fmt: skip
async def test_what_the_newest_rows_show(
    server: PostgresServer, tmp_path: Path, engine: str, sql: str, code: str, says: str
) -> None:
    shown = (await incidents(server, tmp_path, engine, sql)).get(code)
    assert says in (shown.sentence if shown else "")
    assert bool(shown) == bool(says)


def a_row(part: str, name: str, **times: float) -> FlowRow:
    """Return a row of a look."""
    values: dict[str, Any] = dict.fromkeys(FlowRow.__struct_fields__)
    return FlowRow(**{**values, "part": part, "id": f"job:{random.random()}", "sort": name, **times})


def arrivals(rng: random.Random, now: float) -> Iterator[float]:
    """Yield times of arrivals: random, regular or in bursts, and some by day only."""
    rate, sort, by_day = 10 ** rng.uniform(-5, -1), rng.choice(["random", "clock", "bursts"]), rng.random() < 0.4
    at = now - rng.expovariate(rate) if sort != "clock" else now - rng.random() / rate
    for _ in range(200):
        if not (by_day and 8 < (now - at) / 3600 % 24 < 22):
            yield at
        gap = 1 / rate if sort == "clock" else rng.expovariate(rate)
        at -= gap if sort != "bursts" else rng.choice([0.1, 0.1, 0.1, 20 * gap])


def healthy(rng: random.Random) -> Look:
    """Return a look at work that ends and runs as it always does."""
    now, every = 1.8e9 + rng.random() * 86400, list[FlowRow]()
    for name in "abcdef"[: rng.randint(1, 6)]:
        middle, spread = rng.uniform(-1, 7), rng.uniform(0.2, 1.2)
        for at in arrivals(rng, now):
            took = math.exp(rng.gauss(middle, spread))
            ended = at + took if at + took < now else None
            every.append(a_row("new", name, created=at, taken=at, **({} if ended is None else {"ended": ended})))
            every += [] if ended else [a_row("open 1", name, created=at, taken=at)]
    newest = sorted((each for each in every if each.part == "new"), key=lambda each: -float(each.created or 0))[:200]
    return Look(at=now, read=0.0, rows=(*newest, *[each for each in every if each.part != "new"][:200]))


def test_healthy_states_have_no_false_words() -> None:
    """At most one state in 100 has a word that is false."""
    said = [[*usual.of_look("e", "job", healthy(random.Random(seed)), kept=True)] for seed in range(300)]
    assert len([each for each in said if each]) <= 3, [each[0].sentence for each in said if each]
