"""Numbers in sentences of findings, and the jobs that they name.

A number of rows that were not read to their end is not said as exact.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import asyncpg
import pytest

from queries.records.finding import Finding, Incident
from tests.db.agent_jobs import ANNA, BERT, LABEL, AgentJobsDb
from tests.queries.builders import opened, reader
from tests.queries.incident_groups import incidents_of
from tests.servers import PostgresServer

Read = Callable[..., Awaitable[dict[str, Finding]]]

PENDING = """
WITH agent AS (
  INSERT INTO agents (user_id, profile)
  SELECT u, ROW('clerk', 'g', 'd', '{{}}')::agent_profile FROM unnest('{users}'::uuid[]) AS u RETURNING id, user_id
)
INSERT INTO jobs (id, job_id, agent_id, user_id, status, created_at, updated_at)
SELECT gen_random_uuid(), n || '-' || user_id, id, user_id, 'pending', t.at, t.at
  FROM agent, generate_series(1, {each}) AS n, (SELECT now() - interval '1 hour') AS t(at)
"""

LOCKED = """
INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '20 minutes');
INSERT INTO procrastinate_jobs (queue_name, task_name, lock, args)
SELECT 'mail', 'send', 'customer-1', '{}' FROM generate_series(0, 1200);
UPDATE procrastinate_jobs SET status = 'doing', worker_id = (SELECT max(id) FROM procrastinate_workers)
 WHERE id = (SELECT min(id) FROM procrastinate_jobs);
"""

MESSAGES = """
SELECT pgmq.create('orchestration_step_results');
INSERT INTO pgmq.q_orchestration_step_results (vt, message)
SELECT now() - interval '1 hour', '{}' FROM generate_series(1, 2100);
UPDATE pgmq.q_orchestration_step_results SET enqueued_at = now() - interval '1 hour';
"""

DUE = """
INSERT INTO tasks (task_id, task_type, wake_at)
SELECT ('02' || lpad(to_hex(n), 14, '0'))::macaddr8, 1, now() - interval '2 hours'
  FROM generate_series(1, 10100) AS n
"""

UNIQUE = """
ALTER TABLE oban_jobs ADD COLUMN uniq_key text
  GENERATED ALWAYS AS (CASE WHEN state = 'available' THEN meta ->> 'uniq_key' END) STORED;
CREATE UNIQUE INDEX oban_jobs_unique_index ON oban_jobs (uniq_key) WHERE uniq_key IS NOT NULL;
INSERT INTO oban_producers (uuid, name, node, queue, started_at, updated_at)
SELECT gen_random_uuid(), 'Oban', 'web@1', 'mail', t.at, t.at FROM (SELECT timezone('UTC', now()) AS at) AS t;
"""

JOB = """
INSERT INTO oban_jobs (state, queue, worker, meta, scheduled_at)
VALUES ($1::oban_job_state, 'mail', 'Mailer', '{"uniq_key": "a"}', timezone('UTC', now()) - interval '20 minutes')
RETURNING id
"""
STAGE = "UPDATE oban_jobs SET state = 'available' WHERE state IN ('scheduled', 'retryable')"


@pytest.fixture
async def read(server: PostgresServer, tmp_path: Path) -> AsyncIterator[Read]:
    """Return ``read(engine, sql)``, which returns a finding of each code."""
    made: list[str] = []

    async def findings(engine: str, sql: str) -> dict[str, Finding]:
        made.append(dsn := server.fresh(engine))
        server.sql(sql, dsn)
        server.sql("ANALYZE", dsn)
        workspace = await opened(dsn, tmp_path)
        found = await reader(workspace, engine).findings.read()
        await workspace.close()
        assert [each for each in found.skipped_findings if each.failed] == []
        return {finding.code: finding for finding in found.findings}

    yield findings
    for dsn in made:
        server.drop(dsn)


@pytest.mark.parametrize(
    ("users", "each", "said"),
    [([ANNA], 300, "and 300 jobs are pending"), ([ANNA, BERT], 1200, "and at least 2000 jobs are pending")],
)
async def test_of_pending_jobs(read: Read, users: list[object], each: int, said: str) -> None:
    found = await read("agent_jobs", PENDING.format(users="{" + ",".join(map(str, users)) + "}", each=each))
    assert said in found["queue_stalled"].sentence


async def test_of_jobs_behind_a_lock(read: Read) -> None:
    found = await read("procrastinate", LOCKED)
    assert found["owner_dead"].evidence["waiting"] == "1,000 or more jobs"


async def test_of_unread_messages(read: Read) -> None:
    found = await read("tasker", MESSAGES)
    assert "The oldest of 2000+ unread messages" in found["no_orchestrator"].sentence


async def test_of_due_tasks(read: Read) -> None:
    found = await read("estuary", DUE)
    assert ": 10000+, the first since" in found["not_served"].sentence


@pytest.mark.parametrize("other", ["available", "scheduled"])
async def test_two_jobs_that_share_a_unique_key_are_named(server: PostgresServer, tmp_path: Path, other: str) -> None:
    """The stager of Oban fails at them each second, although nodes run."""
    dsn = server.fresh("oban")
    server.sql(UNIQUE, dsn)
    connection = await asyncpg.connect(dsn)
    one, two = [await connection.fetchval(JOB, state) for state in (other, "retryable")]
    with pytest.raises(asyncpg.UniqueViolationError):
        await connection.execute(STAGE)
    workspace = await opened(dsn, tmp_path)
    (incident,) = (await incidents_of(workspace, "oban"))["late"]
    pair = " and ".join(map(str, sorted((one, two)) if other == "scheduled" else (two, one)))
    assert f"The jobs {pair} have the same unique key" in incident.sentence
    assert "No node" not in incident.sentence
    assert "keep the index" in incident.remedy
    await connection.execute("DELETE FROM oban_jobs WHERE id = $1", one)
    (alone,) = (await incidents_of(workspace, "oban"))["late"]
    assert "unique key" not in alone.sentence
    await workspace.close()
    await connection.close()
    server.drop(dsn)


async def test_jobs_that_others_have_passed_have_one_cause(server: PostgresServer, tmp_path: Path) -> None:
    """The queue is first in, first out, also for jobs of different agents."""
    dsn = server.fresh("agent_jobs")
    agent_jobs_db = await AgentJobsDb.open(dsn)
    lost = await agent_jobs_db.job(age=3600)
    other = await agent_jobs_db.job(age=3500, user=BERT)
    await agent_jobs_db.job("completed", age=1800, ended=1780)
    workspace = await opened(dsn, tmp_path)
    shown: dict[str, list[Incident]] = await incidents_of(workspace, LABEL)
    (incident,) = shown.pop("late")
    assert shown == {}
    assert [f.node_id for f in incident.findings] == [agent_jobs_db.id(lost), agent_jobs_db.id(other)]
    assert incident.action == "mark_failed"
    await workspace.close()
    await agent_jobs_db.connection.close()
    server.drop(dsn)
