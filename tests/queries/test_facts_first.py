"""Facts come before guesses: what they explain, and what they refute."""

from __future__ import annotations

import math
from pathlib import Path

import asyncpg
import pytest

from queries.read import incidents as grouping
from queries.records.finding import Incident
from queries.snapshot import snapshot
from tests.queries.builders import opened
from tests.servers import PostgresServer

OBAN_NODE = """
INSERT INTO oban_producers (uuid, node, queue, meta, started_at, updated_at)
SELECT gen_random_uuid(), 'app.1', 'mail', '{"running": []}', now() - interval '1 day', now() - interval '10 min';
INSERT INTO oban_jobs (state, queue, worker, attempt, attempted_by, inserted_at, scheduled_at, attempted_at)
SELECT 'executing', 'mail', 'W', 1, ARRAY['app.1', (SELECT uuid::text FROM oban_producers)], t.made, t.made,
       now() - interval '11 min'
  FROM (SELECT timezone('UTC', now()) - interval '{ago}' AS made) AS t, generate_series(1, 3);
"""
OBAN_WAITS = """
INSERT INTO oban_jobs (queue, worker, inserted_at, scheduled_at)
SELECT 'mail', 'W', t.at, t.at FROM (SELECT now() - interval '1 hour') AS t(at);
"""
WORKER = "CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT ALL ON ALL TABLES IN SCHEMA public TO {role};"
EXECUTOR = "CREATE ROLE {role} LOGIN; GRANT SELECT, INSERT, UPDATE, DELETE ON tasks TO {role};"
DUE = """
INSERT INTO tasks (task_id, task_type, parent_id, inner_state, wake_at, heartbeat)
SELECT id_generator(), 2, '00:00:00:00:00:00:00:00', '{}', now() - interval '40 min', now() - interval '{beat}'
  FROM generate_series(1, 4);
"""
EXPORTS = """
INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now());
INSERT INTO procrastinate_jobs (queue_name, task_name, lock)
SELECT 'mail', 'export', 'export' FROM generate_series(1, 3);
UPDATE procrastinate_jobs SET status = 'doing', worker_id = 1 WHERE id = 1;
UPDATE procrastinate_jobs SET status = 'succeeded' WHERE id = 1;
UPDATE procrastinate_jobs SET status = 'doing', worker_id = 1 WHERE id = 2;
UPDATE procrastinate_events SET at = now() - CASE WHEN job_id = 1 AND type = 'succeeded' THEN interval '20 hours'
  WHEN job_id = 1 THEN interval '25 hours' WHEN job_id = 2 THEN interval '{runs}' ELSE interval '10 min' END;
"""
CRON = """
INSERT INTO cron_last_exec (job, "time", instance)
SELECT jsonb_build_object('job', 'mark', 'n', n), now() - interval '{ago}' - n * interval '1 hour', gen_random_uuid()
  FROM generate_series(1, 30) AS n;
"""


async def line(server: PostgresServer, tmp_path: Path, name: str, sql: str) -> Incident | None:
    """Return the first incident of a fresh database after some statements."""
    dsn, role = server.fresh(name), server.unique("app")
    server.sql(sql.replace("{role}", role), dsn)
    workspace = await opened(dsn, tmp_path)
    try:
        shown = (await snapshot(workspace, [*workspace.engines.values()], once=False)).incidents
        return shown[0] if shown else None
    finally:
        await workspace.close()
        server.drop(dsn)


@pytest.mark.parametrize(
    ("name", "sql", "code", "says", "action"),
    [
        ("oban", OBAN_WAITS + OBAN_NODE.replace("{ago}", "5 s"), "clock_behind", "app.1 is behind by 10m5", None),
        ("oban", OBAN_WAITS + OBAN_NODE.replace("{ago}", "12 min"), "owner_dead", "silent since", "release"),
        ("estuary", EXECUTOR + DUE.replace("{beat}", "9 min") + "ALTER ROLE {role} VALID UNTIL '2001-01-01'",
         "role_kept_out", "its password expired", None),
        ("estuary", EXECUTOR + DUE.replace("{beat}", "9 min") + "ALTER ROLE {role} NOLOGIN",
         "role_kept_out", "no LOGIN", None),
        ("procrastinate", WORKER + EXPORTS.replace("{runs}", "2 hours"), "lock_held_long", "at most 5h00m", None),
        ("procrastinate", EXPORTS.replace("{runs}", "9 hours"), "lock_held_long", "at most 5h00m", "abort"),
        ("uni2work", CRON.replace("{ago}", "40 days"), "schedule_missed", "every 1h00m", None),
        ("procrastinate", "ALTER TYPE procrastinate_job_event_type RENAME VALUE 'deferred_for_retry' TO 'put_off'",
         "not_read", "To do: Compare what the error names with the engine's migrations.", None),
        ("tasker", "ALTER TABLE tasks REPLICA IDENTITY NOTHING; CREATE PUBLICATION p FOR TABLE tasks", "schema_changed",
         "tasks of tasker differs", None),
    ],
)  # fmt: skip
async def test_the_first_line(
    server: PostgresServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    sql: str,
    code: str,
    says: str,
    action: str | None,
) -> None:
    monkeypatch.setattr(grouping, "OLDER_SECONDS", math.inf)
    first = await line(server, tmp_path, name, sql)
    assert first is not None
    assert (first.code, first.action) == (code, action)
    assert says in f"{first.sentence} To do: {first.remedy}"


@pytest.mark.parametrize(
    ("name", "usual", "unusual"),
    [
        ("procrastinate", EXPORTS.replace("{runs}", "2 hours"), EXPORTS.replace("{runs}", "9 hours")),
        ("uni2work", CRON.replace("{ago}", "40 days"), CRON.replace("{ago}", "1 day")),
    ],
)
async def test_what_is_usual_is_minor(
    server: PostgresServer, tmp_path: Path, name: str, usual: str, unusual: str
) -> None:
    first, second = [await line(server, tmp_path, name, sql) for sql in (usual, unusual)]
    assert first is not None
    assert second is not None
    assert (first.code, first.severity <= 3, second.severity <= 3) == (second.code, True, False)


async def test_a_timeout_that_polls_may_exceed_explains_polls_that_fail(server: PostgresServer, tmp_path: Path) -> None:
    """A limit that is longer than the hard one is only suspected."""
    dsn, role = server.fresh("estuary"), server.unique("app")
    server.sql(WORKER.replace("{role}", role) + DUE.replace("{beat}", "200 s"), dsn)
    server.sql(f"ALTER ROLE {role} SET transaction_timeout = '3s'")
    worker = await asyncpg.connect(server.dsn(dsn.rpartition("/")[2], user=role, password="x"))
    workspace = await opened(dsn, tmp_path)
    (first,) = (await snapshot(workspace, [*workspace.engines.values()], once=False)).incidents
    assert first.code == "role_setting"
    assert "transaction_timeout = 3s" in first.sentence
    await workspace.close()
    await worker.close()
    server.drop(dsn)
