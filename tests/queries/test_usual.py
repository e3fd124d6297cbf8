"""Runs, arrivals and failures that the newest rows show as unusual."""

from __future__ import annotations

import asyncio
import math
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from queries.claim.answers import Look
from queries.contract.rows import FlowRow
from queries.evidence import usual
from queries.read.counters import Arrivals
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
LOGGED = """
INSERT INTO pgqueuer_log (job_id, status, priority, entrypoint, created)
SELECT 1000 + n, s.status::pgqueuer_status, 0, 'sync', now() - interval '{ago}' - n * interval '1 hour' + s.after
  FROM generate_series(30, 0, -1) AS n,
       (VALUES ('queued', interval '0'), ('picked', interval '1 s'), ('successful', interval '2 s')) AS s(status, after)
"""
COME_AND_GO = {  # rows of finished work that are deleted by the engine, or by what prunes it
    "graphile_worker": """WITH t AS (INSERT INTO _private_tasks (identifier) VALUES ('mail') ON CONFLICT DO NOTHING)
        INSERT INTO _private_jobs (task_id) SELECT 1; DELETE FROM _private_jobs""",
    "oban": "INSERT INTO oban_jobs (worker, state) VALUES ('Mail', 'completed'); DELETE FROM oban_jobs",
    "pgqueuer": """INSERT INTO pgqueuer (priority, created, updated, heartbeat, execute_after, status, entrypoint)
        VALUES (0, now(), now(), now(), now(), 'queued', 'mail'); DELETE FROM pgqueuer""",
    "uni2work": """INSERT INTO queued_job (content, creation_instance, creation_time)
        VALUES ('{"job": "mail"}', gen_random_uuid(), now()); DELETE FROM queued_job""",
}


@pytest.mark.parametrize("engine", COME_AND_GO)
async def test_work_that_stopped_arriving_and_left_no_row(server: PostgresServer, tmp_path: Path, engine: str) -> None:
    """The server's counters show arrivals while unstick is open, as estimates."""
    dsn = server.fresh(engine)
    workspace = await opened(dsn, tmp_path)
    arrivals = workspace.server_findings.counters.arrivals

    async def said() -> str:
        now = await snapshot(workspace, [*workspace.engines.values()], once=False)
        return next((each.sentence for each in now.incidents if each.code == "none_arrive"), "")

    async def one_more() -> None:
        before = arrivals.get(engine)
        server.sql(COME_AND_GO[engine], dsn)
        async with asyncio.timeout(60):
            while arrivals.get(engine) == before:  # the counters of a session that has ended are soon there
                await said()

    await said()
    assert arrivals == {}
    await one_more()
    assert arrivals[engine].n == 1
    last = arrivals[engine].last
    arrivals[engine] = Arrivals(first=last - 2 * 86400, last=last - 3600, longest=60.0, n=500)
    sentence = re.sub(r" \d{4}-\S+[^.]Z", " TIME", await said())
    assert sentence == (
        "No job was added since about TIME. Before, from about TIME on, at most about 1m00s passed between two of "
        "them, by the server's count of new rows."
    )
    for other in ({"first": last - 80_000}, {"longest": 900.0}, {"n": 9}, {"last": last - 2 * 86400 + 60}):
        before = arrivals[engine]
        arrivals[engine] = msgspec.structs.replace(before, **other)
        assert not await said(), other
        arrivals[engine] = before
    await one_more()
    assert (arrivals[engine].n, arrivals[engine].longest > 3600) == (501, True)
    await workspace.close()
    server.drop(dsn)


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
        ("pgqueuer", LOGGED.format(ago="5 hours"), "none_arrive", "No job of sync was added since 2"),
        ("pgqueuer", LOGGED.format(ago="2 hours"), "none_arrive", ""),
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
