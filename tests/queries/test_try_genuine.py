"""Sections of ``unstick try`` change the columns that the engine changes."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from queries.contract.folder import TRY
from queries.db.query import Query
from queries.workspace import Workspace
from tests.servers import PostgresServer
from tests.simulators.engine import Statements

TABLES = """
SELECT c.oid::regclass::text AS name, ARRAY(SELECT attname::text FROM pg_attribute a
                                             WHERE a.attrelid = c.oid AND a.attnum = ANY (k.conkey)) AS key
  FROM pg_class c JOIN pg_constraint k ON k.conrelid = c.oid AND k.contype = 'p'
 WHERE c.relnamespace = 'public'::regnamespace
"""
POOL = """
INSERT INTO _private_tasks (id, identifier) OVERRIDING SYSTEM VALUE VALUES (1, 'mail');
INSERT INTO _private_job_queues (id, queue_name, locked_by, locked_at) OVERRIDING SYSTEM VALUE
VALUES (1, 'q', 'p', now());
INSERT INTO _private_jobs (id, task_id, payload, job_queue_id, locked_at, locked_by) OVERRIDING SYSTEM VALUE
VALUES (1, 1, '{}', 1, now() - interval '1 hour', 'p')
"""
ACTIVE = """
UPDATE jobs SET status = 'active', started_at = now(), error = NULL, completed_at = NULL
 WHERE id = (SELECT id FROM jobs WHERE created_at < now() LIMIT 1)
"""
WORKING = """
INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now());
INSERT INTO procrastinate_jobs (id, queue_name, task_name, status, worker_id) OVERRIDING SYSTEM VALUE
VALUES (1, 'mail', 'send', 'doing', 1)
"""
# completeJobs.ts and failJobs.ts of graphile-worker
COMPLETE = """
with j as (delete from _private_jobs as jobs using unnest(array[$1::bigint]) n(n) where id = n returning *)
update _private_job_queues as job_queues set locked_by = null, locked_at = null
from j where job_queues.id = j.job_queue_id and job_queues.locked_by = 'p'
"""
FAIL = """
with j as (
update _private_jobs as jobs
set last_error = 'it failed', run_at = greatest(now(), run_at) + (exp(least(attempts, 10)) * interval '1 second'),
locked_by = null, locked_at = null
where id = any(array[$1::bigint]) and locked_by = 'p'
returning *
), queues as (
update _private_job_queues as job_queues set locked_by = null, locked_at = null
from j where job_queues.id = j.job_queue_id and job_queues.locked_by = 'p'
)
select * from j
"""
STEP = """
SELECT t.workflow_step_uuid AS id, t.to_state, t.sort_key + 1 AS n
  FROM workflow_step_transitions t WHERE t.most_recent AND t.to_state = '{}' LIMIT 1
"""
TASK = "SELECT task_id::text AS id, heartbeat::text AS beat, inner_state FROM tasks WHERE {} LIMIT 1"
JOB, HELD = "SELECT * FROM queued_job WHERE {} LIMIT 1", "lock_instance IS NOT NULL AND NOT write_last_exec"
PICKED, ID = "SELECT id FROM pgqueuer WHERE status = 'picked' LIMIT 1", ("id",)
POLL = (
    "SELECT task_id AS id, revision, now() AS at, 0 AS salt, status::text, state, output, 0.0::float8 AS cpu,"
    " 0.0::float8 AS poll FROM task WHERE status = 'Available' AND output IS NULL LIMIT 1"
)
# Engine and section; query for a row; the engine's own statements, each with its values from the row.
CASES: list[tuple[str, str, str, list[tuple[str, Any]]]] = [
    ("eternaltwin", "claim", POLL, [("write", lambda r: (*r.values(),))]),
    ("estuary", "progress", TASK.format("heartbeat > '0001-01-02'"), [("beat", ("id", "beat"))]),
    (
        "estuary",
        "finish",
        TASK.format("heartbeat > '0001-01-02' AND inbox IS NULL AND inbox_next IS NULL"),
        [("persist", lambda r: (r["id"], None, r["inner_state"], 60.0))],
    ),
    (
        "agent_jobs",
        "finish",
        "SELECT id, started_at FROM jobs WHERE status = 'active' LIMIT 1",
        [("finish", lambda r: (r["id"], r["started_at"], "completed", None))],
    ),
    (
        "agent_jobs",
        "fail",
        "SELECT id, started_at FROM jobs WHERE status = 'active' LIMIT 1",
        [("finish", lambda r: (r["id"], r["started_at"], "failed", "it failed"))],
    ),
    ("uni2work", "claim", JOB.format("lock_time IS NULL"), [("lock", ("id", "creation_instance"))]),
    ("uni2work", "fail", JOB.format(HELD), [("unlock", ("id", "lock_instance"))]),
    ("uni2work", "finish", JOB.format(HELD), [("delete", ID)]),
    *(
        (
            "tasker",
            section,
            STEP.format(was),
            [
                ("step_leave", ID),
                ("step_enter", lambda r, state=state: (r["id"], r["to_state"], state, "{}", r["n"])),
                (last, lambda r, last=last: (r["id"], '{"new": 1}') if last == "handed_in" else (r["id"],)),
            ],
        )
        for section, was, state, last in (
            ("claim", "enqueued", "in_progress", "claimed"),
            ("finish", "in_progress", "enqueued_for_orchestration", "handed_in"),
            ("fail", "in_progress", "enqueued_as_error_for_orchestration", "handed_in"),
        )
    ),
    ("graphile_worker", "finish", "SELECT id FROM _private_jobs", [(COMPLETE, ID)]),
    ("graphile_worker", "fail", "SELECT id FROM _private_jobs", [(FAIL, ID)]),
    ("pgqueuer", "progress", PICKED, [("build_update_heartbeat_query", lambda r: ([r["id"]],))]),
    ("pgqueuer", "finish", PICKED, [("build_log_job_query", lambda r: ([r["id"]], ["successful"], [None]))]),
    ("pgqueuer", "fail", PICKED, [("build_log_job_query", lambda r: ([r["id"]], ["exception"], ["{}"]))]),
    ("procrastinate", "finish", "SELECT id FROM procrastinate_jobs", [("succeeded", ID)]),
    ("procrastinate", "fail", "SELECT id FROM procrastinate_jobs", [("failed", ID)]),
]


def own(engine: str, name: str) -> str:
    """Return the text of a statement of a simulator, or of the installed engine."""
    if engine == "pgqueuer":
        return str(getattr(pytest.importorskip("pgqueuer.adapters.persistence.qb").QueryQueueBuilder(), name)())
    if engine == "procrastinate":
        return f"SELECT procrastinate_finish_job_v1($1, '{name}', false)"
    if engine == "graphile_worker":
        return name
    return Statements(Path(__file__).parents[1] / "simulators" / engine / "statements.sql")[name]


async def image(connection: asyncpg.Connection[Any]) -> dict[tuple[str, ...], dict[str, Any]]:
    rows = {}
    for table in await connection.fetch(TABLES):
        for (row,) in await connection.fetch(f"SELECT to_jsonb(t) FROM {table['name']} AS t"):
            values = json.loads(row)
            rows[table["name"], *(str(values[name]) for name in table["key"])] = values
    return rows


async def changes(connection: asyncpg.Connection[Any], run: Callable[[], Awaitable[None]]) -> list[tuple[str, ...]]:
    """Return by table the columns that differ, or that a row is new or gone."""
    before, transaction = await image(connection), connection.transaction()
    await transaction.start()
    await run()
    after = await image(connection)
    await transaction.rollback()
    found = []
    for place in {place for place in (*before, *after) if before.get(place) != after.get(place)}:
        was, now = before.get(place), after.get(place)
        found.append(
            (place[0], *(["new"] if was is None else ["gone"] if now is None else [n for n in now if now[n] != was[n]]))
        )
    return sorted(found)


@pytest.mark.parametrize(("engine", "section", "query", "calls"), CASES, ids=[f"{c[0]} {c[1]}" for c in CASES])
async def test_a_section_changes_what_the_engine_changes(
    server: PostgresServer, tmp_path: Path, engine: str, section: str, query: str, calls: list[tuple[str, Any]]
) -> None:
    setup = {"agent_jobs": ACTIVE, "graphile_worker": POOL, "procrastinate": WORKING}.get(engine)
    if engine == "procrastinate":
        schema = Path(pytest.importorskip("procrastinate.sql").__file__).with_name("schema.sql").read_text()
        dsn = server.fresh()
        server.sql(schema, dsn)
    else:
        dsn = server.fresh(engine, filled=setup in (None, ACTIVE))
    if setup:
        server.sql(setup, dsn)
    settings = {"agent_jobs": {"profile": "table"}}
    workspace = await Workspace(dsn, settings, file=tmp_path / "log").open()
    connection = await asyncpg.connect(dsn)
    reader = next(iter(workspace.engines.values()))
    row = await connection.fetchrow(query)
    assert row is not None
    kind = "step" if engine == "tasker" else reader.engine.spec.claim[0].kind

    async def tried() -> None:
        for part in reader.engine.actions[TRY][section]:
            if part.is_for(kind):
                values = Query(part, reader.variant.parameters(id=f"{kind}:{row['id']}")).arguments
                assert len(await connection.fetch(part.text, *values.values())) == 1

    async def genuine() -> None:
        for name, values in calls:
            arguments = values(row) if callable(values) else [row[each] for each in values]
            await connection.execute(own(engine, name), *arguments)

    expected = await changes(connection, genuine)
    assert await changes(connection, tried) == expected
    assert expected
    await workspace.close()
    await connection.close()
    server.drop(dsn)
