"""Detection of engines, lookalikes, privileges and missing indexes."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import asyncpg
import pytest

from console.model.walk import Walk
from queries.contract import detect, loader
from queries.contract.builtin import builtin
from queries.records.node import Phase, split_id
from queries.workspace import Workspace
from tests.db.eternaltwin import EternaltwinDb
from tests.proof import one_in
from tests.queries import plans
from tests.queries.builders import do, opened, outcomes_of, reader
from tests.servers import PostgresServer, both_versions

SCHEMA = next(s for s in builtin() if s.name == "eternaltwin")
DDL = Path(loader.__file__).parents[1] / "engines" / "eternaltwin" / "schema.sql"
Open = Callable[..., Awaitable[Workspace]]


@pytest.fixture
async def open_with(database: str, server: PostgresServer, tmp_path: Path) -> AsyncIterator[Open]:
    """Run SQL in an empty database, then open a workspace on it.

    The call is ``await open_with("SQL", role=...)``.
    """
    open_: list[Workspace] = []

    async def open_with(sql: str = "", role: str | None = None) -> Workspace:
        if sql:
            server.sql(sql, database)
        dsn = server.dsn(database.rpartition("/")[2], user=role, password="x") if role else database
        open_.append(await opened(dsn, tmp_path))
        return open_[-1]

    yield open_with
    for workspace in open_:
        await workspace.close()


def tables(schema: str = "public", change: str = "") -> str:
    """The engine's DDL in a schema; ``change`` runs after it."""
    path = f'SET search_path = "{schema}"'
    return f'CREATE SCHEMA IF NOT EXISTS "{schema}"; {path}; {DDL.read_text()} {change}; RESET search_path'


def why(workspace: Workspace) -> list[tuple[str, str]]:
    return [(d.schema, d.why) for d in workspace.declined]


@both_versions
async def test_it_is_found_in_any_schema_and_in_two_at_once(open_with: Open, database: str) -> None:
    odd = 'Größe "x" / y:z'
    workspace = await open_with(tables("public") + ";" + tables("games") + ";" + tables(odd.replace('"', '""')))
    assert list(workspace.engines) == [
        "eternaltwin@public", 'eternaltwin@Größe "x" %2F y:z', "eternaltwin@games"
    ]  # fmt: skip
    assert [r.detected.schema for r in workspace.engines.values()] == ["public", odd, "games"]
    assert workspace.declined == ()
    for label, schema in zip(workspace.engines, ["public", odd.replace('"', '""'), "games"], strict=True):
        eternaltwin_db = await EternaltwinDb.open(database, schema)
        task = eternaltwin_db.id(await eternaltwin_db.task(), label=label)
        assert (await reader(workspace, label).nodes.read([task])).nodes[0].id == task
        assert workspace.reader(task) is workspace.engines[label]
        assert split_id(task)[0] == label
        assert set(outcomes_of(await do(workspace, "cancel", [task], label=label)).values()) == {"changed"}
        assert await eternaltwin_db.value("SELECT count(*) FROM task WHERE status = 'Complete'") == 1
        await eternaltwin_db.connection.close()


async def test_it_alone_elsewhere_has_the_plain_name(open_with: Open) -> None:
    workspace = await open_with(tables("games"))
    assert list(workspace.engines) == ["eternaltwin"]


async def test_nothing_is_no_error(open_with: Open) -> None:
    workspace = await open_with("CREATE TABLE task (id int); CREATE TABLE job (id int, name text)")
    assert workspace.engines == {}
    assert workspace.declined == ()
    assert [line.partition(":")[0] for line in workspace.expected] == [s.name for s in builtin()]
    assert "eternaltwin: a schema with job, task, task_timer" in workspace.expected


@both_versions
async def test_extra_columns_and_tables_do_not_matter(open_with: Open) -> None:
    workspace = await open_with(
        tables(change="ALTER TABLE task ADD note text; ALTER TABLE job ADD tags text[]; CREATE TABLE zzz (a int)")
    )
    assert list(workspace.engines) == ["eternaltwin"]


async def test_dropped_columns_are_not_there(open_with: Open) -> None:
    workspace = await open_with(tables(change="ALTER TABLE task DROP output"))
    assert why(workspace) == [("public", "task.output is missing")]


TO_VIEW = "ALTER TABLE task RENAME TO tasks; CREATE VIEW task AS SELECT * FROM tasks"
STATES = "workflow_step_transitions"
NO_NUMBER = "ALTER TABLE jobs DROP CONSTRAINT jobs_job_id_key"
# engine, change of its tables, a part of the reason
LOOKALIKES = [
    ("eternaltwin", "DROP TABLE task_timer", "it has job, task, but no task_timer"),
    ("eternaltwin", "ALTER TABLE task ALTER revision TYPE text", "task.revision is of type text, not int8"),
    ("eternaltwin", "ALTER TABLE task ALTER state TYPE jsonb USING '{}'", "task.state is of type jsonb, not bytea"),
    ("eternaltwin", "ALTER TABLE task RENAME revision TO step_count", "task.revision is missing"),
    ("eternaltwin", "ALTER TYPE task_status RENAME VALUE 'Blocked' TO 'Waiting'", "Complete, Available, Waiting, not"),
    ("eternaltwin", "ALTER TYPE job_tick ADD ATTRIBUTE run int", "composite type job_tick has time, salt, run, not"),
    ("eternaltwin", "ALTER TABLE task ADD parent_task_id uuid", "task has a column parent_task_id, which this"),
    ("eternaltwin", "CREATE TABLE etwin_jobs (a int); CREATE TABLE etwin_tasks (a int)", "the 2021 prototype"),
    ("eternaltwin", TO_VIEW, "task is a view"),
    ("eternaltwin", f"ALTER TABLE task DROP state; {TO_VIEW}", "task is a view"),
    ("tasker", "ALTER TABLE tasks_dlq RENAME resolution_timestamp TO at", "tasks_dlq.resolution_timestamp is missing"),
    ("tasker", "ALTER TABLE task_transitions DROP transition_metadata", "transition_metadata is missing"),
    ("tasker", "ALTER TABLE tasks ALTER created_at TYPE timestamptz", "created_at is of type timestamptz, not"),
    ("tasker", "DROP TABLE tasks_dlq CASCADE", "but no tasks_dlq"),
    ("tasker", f"ALTER TABLE {STATES} DROP CONSTRAINT chk_{STATES}_to_state, DROP CONSTRAINT chk_{STATES}_from_state",
     f"no CHECK of {STATES} names"),
    ("tasker", "DROP FUNCTION transition_task_state_atomic(uuid, varchar, varchar, uuid, jsonb)",
     "the function transition_task_state_atomic"),
    ("estuary", "ALTER TABLE tasks DROP COLUMN inbox_next", "tasks.inbox_next is missing"),
    ("estuary", "ALTER TABLE tasks ALTER inner_state TYPE jsonb", "tasks.inner_state is of type jsonb, not json"),
    ("estuary", "ALTER TABLE tasks ALTER wake_at TYPE timestamp", "wake_at is of type timestamp, not timestamptz"),
    ("estuary", "ALTER TABLE tasks ALTER task_type TYPE text", "tasks.task_type is of type text, not int2"),
    ("estuary", "DROP FUNCTION send_to_task", "the function send_to_task(macaddr8, macaddr8, json) is missing"),
    ("agent_jobs", "ALTER TABLE jobs DROP CONSTRAINT jobs_status_chk", ""),
    ("agent_jobs", NO_NUMBER, ""),
    ("agent_jobs", f"{NO_NUMBER}; CREATE UNIQUE INDEX ON jobs (job_id) WHERE status = 'pending'", ""),
    ("agent_jobs", "ALTER TABLE jobs ADD COLUMN payload jsonb", ""),
    ("agent_jobs", "ALTER TABLE jobs ADD COLUMN attempts int", ""),
    ("agent_jobs", "ALTER TABLE jobs ALTER user_id TYPE int8 USING 0", ""),
    ("agent_jobs", "ALTER TABLE jobs DROP COLUMN agent_id", ""),
    ("uni2work", "DROP TABLE cron_last_exec", ""),
    ("uni2work", "ALTER TABLE queued_job DROP COLUMN lock_instance", ""),
    ("uni2work", "ALTER TABLE queued_job ALTER content TYPE bytea USING '\\x00'", ""),
    ("uni2work", "CREATE TABLE job_meta (id int); CREATE TABLE job_data (id int)", ""),
    ("uni2work", "ALTER TABLE queued_job ALTER lock_time TYPE int8 USING 0", ""),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change", "reason"), one_in(3, LOOKALIKES))
async def test_a_lookalike_is_declined_with_the_reason(
    server: PostgresServer, tmp_path: Path, name: str, change: str, reason: str
) -> None:
    dsn = server.fresh(name)
    server.sql(change, dsn)
    workspace = await opened(dsn, tmp_path)
    assert workspace.engines == {}
    ((schema, declined),) = [(d.schema, d.why) for d in workspace.declined if d.engine == name]
    assert schema == "public"
    assert reason in declined
    await workspace.close()
    server.drop(dsn)


# Tables of other engines, of a report, of nothing: which engine of the package must not mention them
OTHERS = [
    ("agent_jobs", ("CREATE TABLE jobs (id bigserial PRIMARY KEY, queue text, payload text, attempts int2,"
     " reserved_at int, available_at int, created_at int); CREATE TABLE failed_jobs (id int)")),
    ("agent_jobs", ("CREATE TABLE jobs (id uuid PRIMARY KEY, user_id uuid, status text, created_at timestamptz,"
     " title text); CREATE INDEX idx_jobs_user_status_created_at ON jobs (user_id, status, created_at DESC)")),
    ("agent_jobs", ("CREATE TABLE jobs (job bytea, id text, job_type text, status text, attempts int,"
     " max_attempts int, run_at timestamptz, last_error text, lock_at timestamptz, lock_by text)")),
    ("agent_jobs", ("CREATE SCHEMA pgboss; CREATE TYPE pgboss.job_state AS ENUM ('created', 'active');"
     "CREATE TABLE pgboss.job (id uuid, name text, state pgboss.job_state, data jsonb, created_on timestamptz)")),
    ("agent_jobs", ("CREATE SCHEMA bullmq; CREATE TYPE bullmq.job_state AS ENUM ('waiting', 'active', 'completed',"
     " 'failed', 'delayed'); CREATE TABLE bullmq.job (queue text, id text, state bullmq.job_state, lock_token text)")),
    ("agent_jobs", ("CREATE SCHEMA graphile_worker; CREATE TABLE graphile_worker._private (id int);"
     "CREATE VIEW graphile_worker.jobs AS SELECT 1 AS id, 'x'::text AS task_identifier, now() AS run_at")),
    ("agent_jobs", "CREATE TABLE agents (id uuid, profile jsonb)"),
    ("agent_jobs", "CREATE TABLE good_jobs (id uuid PRIMARY KEY, queue_name text, serialized_params jsonb)"),
    ("agent_jobs", "CREATE TABLE oban_jobs (id bigserial PRIMARY KEY, state text, queue text, worker text, args json)"),
    ("uni2work", "CREATE TABLE jobs (id bigserial, queue text, payload text, attempts int2, reserved_at int)"),
    ("uni2work", "CREATE TABLE oban_jobs (id bigserial PRIMARY KEY, state text, queue text, worker text, args jsonb)"),
    ("uni2work", "CREATE TABLE good_jobs (id uuid PRIMARY KEY, queue_name text, locked_by_id uuid, locked_at date)"),
    ("uni2work", "CREATE TABLE queued_job (id bigserial, payload text)"),
    ("estuary", "CREATE TABLE tasks (id uuid PRIMARY KEY, status text, created_at timestamptz)"),
    ("estuary", "CREATE TABLE tasks (task_id uuid PRIMARY KEY, heartbeat timestamptz, worker text, payload jsonb)"),
    ("estuary", "CREATE TABLE tasks (id bigserial PRIMARY KEY, queue text, task_type text, data json, wake_at date)"),
    ("estuary", "CREATE VIEW tasks AS SELECT 1 AS task_id"),
    ("eternaltwin", "CREATE TABLE task (id int); CREATE TABLE job (id int, name text)"),
]  # fmt: skip


@both_versions
async def test_others_are_not_even_mentioned(server: PostgresServer, tmp_path: Path) -> None:
    for name, tables in OTHERS:
        dsn = server.fresh()
        server.sql(tables, dsn)
        workspace = await opened(dsn, tmp_path)
        assert (list(workspace.engines), [d for d in workspace.declined if d.engine == name]) == ([], []), tables
        await workspace.close()
        server.drop(dsn)


PROTOTYPE = "CREATE TABLE etwin_tasks (a int)"
OLDER = [
    (PROTOTYPE, "the 2021 prototype"),
    (f"{PROTOTYPE}; CREATE TABLE etwin_jobs (a int)", "the 2021 prototype"),
    ("CREATE TABLE tasker_tasks (task_id int8); CREATE TABLE tasker_workflow_steps (step_id int8)", "tasker_*"),
    ("CREATE TABLE jobs (a int); CREATE TABLE job_queues (a int); CREATE TABLE known_crontabs ()",
     "these are the tables of Graphile Worker before 0.14: unstick reads 0.16 to 0.18"),
]  # fmt: skip


@pytest.mark.parametrize(("older", "reason"), OLDER)
async def test_an_older_engine_is_named(open_with: Open, older: str, reason: str) -> None:
    workspace = await open_with(older)
    assert workspace.engines == {}
    ((_, declined),) = why(workspace)
    assert reason in declined


async def test_a_lookalike_beside_the_real_one(open_with: Open) -> None:
    workspace = await open_with(tables("a", "ALTER TABLE task DROP state") + ";" + tables("b"))
    assert [r.detected.schema for r in workspace.engines.values()] == ["b"]
    assert why(workspace) == [("a", "task.state is missing")]


# Privileges


@both_versions
async def test_privileges_make_actions_available_one_by_one(open_with: Open, server: PostgresServer) -> None:
    role = server.unique("role")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    workspace = await open_with(tables(change=f"GRANT SELECT ON job, task, task_timer TO {role}"), role)

    async def available(grant: str = "") -> dict[str, str]:
        await open_with(grant) if grant else None
        await workspace.detect()
        reader_ = reader(workspace)
        return {
            f"{v.name} {kind}": reader_.availability(v).why.removeprefix(f"the role {role} ")
            for kind in ("job", "task")
            for v in reader_.engine.actions_of(kind)
            if v.writes
        }

    both = "lacks UPDATE task, DELETE task_timer"
    assert await available() == {
        "cancel job": both,
        "wake task": both,
        "cancel task": both,
        "restart job": "lacks UPDATE task, DELETE task_timer, DELETE task",
        "delete job": "lacks UPDATE job, UPDATE task, DELETE job",
        "edit task": "lacks UPDATE task",
    }
    ok = {"cancel job": "", "wake task": "", "cancel task": "", "edit task": ""}
    grants = f"GRANT UPDATE (status, revision) ON task TO {role}; GRANT DELETE ON task_timer TO {role}"
    assert await available(grants) == {
        **ok, "restart job": "lacks DELETE task", "delete job": "lacks UPDATE job, DELETE job"
    }  # fmt: skip
    assert await available(f"GRANT DELETE ON task TO {role}") == {
        **ok, "restart job": "", "delete job": "lacks UPDATE job, DELETE job"
    }  # fmt: skip
    everything = await available(f"GRANT DELETE, UPDATE (job_id) ON job TO {role}")
    assert everything == {**ok, "restart job": "", "delete job": ""}


async def test_without_select_or_usage_it_is_found_and_said_to_be_closed(
    open_with: Open, server: PostgresServer
) -> None:
    role = server.unique("role")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    grants = f"GRANT SELECT ON task TO {role}; GRANT USAGE ON SCHEMA open TO {role}"
    workspace = await open_with(
        f"{tables('open', grants)}; {tables('shut', f'GRANT SELECT ON ALL TABLES IN SCHEMA shut TO {role}')}", role
    )
    denied = {r.detected.schema: r.detected.denied for r in workspace.engines.values()}
    assert denied == {"open": ("job", "task_timer"), "shut": ("job", "task", "task_timer")}
    assert reader(workspace, "eternaltwin@shut").detected.lacks(["SELECT task"])


@pytest.mark.parametrize(("name", "table"), [("oban", "oban_jobs"), ("solid_queue", "solid_queue_jobs")])
async def test_a_table_that_another_inherits_is_not_changed(
    server: PostgresServer, tmp_path: Path, name: str, table: str
) -> None:
    """Offer no action that would change the rows of both."""
    dsn = server.fresh(name, filled=True)
    workspace = await opened(dsn, tmp_path)
    actions = [
        a for a in reader(workspace, name).engine.actions_of("job") if a.writes and f"UPDATE {table}" in a.privileges
    ]
    assert actions
    assert all(reader(workspace, name).availability(action).ok for action in actions)
    server.sql(f"CREATE TABLE {table}_2025 () INHERITS ({table})", dsn)
    await workspace.detect()
    for action in actions:
        available = reader(workspace, name).availability(action)
        assert not available.ok
        assert f"the table {table}_2025 inherits from {table}" in available.why
    server.sql(f"ALTER TABLE {table}_2025 NO INHERIT {table}", dsn)
    await workspace.detect()
    assert all(reader(workspace, name).availability(action).ok for action in actions)
    await workspace.close()
    server.drop(dsn)


async def test_a_copy_of_a_table_is_no_second_engine(server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh("oban", filled=True)
    server.sql("CREATE SCHEMA archive; CREATE TABLE archive.oban_jobs (LIKE public.oban_jobs INCLUDING ALL)", dsn)
    workspace = await opened(dsn, tmp_path)
    assert list(workspace.engines) == ["oban"]
    assert [d.why for d in workspace.declined] == [
        "oban_jobs.state is of type public.oban_job_state, not oban_job_state"
    ]
    await workspace.close()
    server.drop(dsn)


@pytest.mark.parametrize(
    ("name", "table", "change", "reason"),
    [
        ("agent_jobs", "jobs", "ALTER TABLE {} ADD locked_by text, ADD lease_until timestamptz, ADD note text",
         "jobs has lease_until, locked_by, which this engine does not have"),
        ("agent_jobs", "jobs", ("ALTER TABLE {} DROP CONSTRAINT jobs_status_chk, ADD CHECK (status IN ('pending', "
         "'active', 'completed', 'failed', 'delayed', 'paused', 'leased'))"),
         "jobs may have the status 'leased', which this engine does not have"),
        ("procrastinate", "procrastinate_jobs", "ALTER TABLE {} ADD heartbeat_at timestamptz", "has heartbeat_at,"),
        ("estuary", "tasks", "ALTER TABLE {} ADD tries int", "has tries, which this engine does not have"),
    ],
)  # fmt: skip
async def test_a_table_with_more_than_the_engine_knows_is_only_read(
    server: PostgresServer, tmp_path: Path, name: str, table: str, change: str, reason: str
) -> None:
    dsn = server.fresh(name)
    server.sql(change.format(table), dsn)
    workspace = await opened(dsn, tmp_path, overrides={"agent_jobs": {"agent_jobs": {"profile": "table"}}}.get(name))
    actions = [action for action in reader(workspace, name).engine.actions_here if action.writes]
    assert actions
    assert {reason in reader(workspace, name).availability(action).why for action in actions} == {True}
    assert ("leased" in (await reader(workspace, name).pages.live()).scope) == ("leased" in reason)
    await workspace.close()
    server.drop(dsn)


# A newer release of the engine

NEWER = {
    "eternaltwin": ("task_status", "task", "task_id"),
    "procrastinate": ("procrastinate_job_status", "procrastinate_jobs", "id"),
    "pgqueuer": ("pgqueuer_status", "pgqueuer", "id"),
    "oban": ("oban_job_state", "oban_jobs", "id"),
}


@pytest.mark.parametrize("name", NEWER)
async def test_a_new_value_of_an_enum_costs_only_its_rows(server: PostgresServer, tmp_path: Path, name: str) -> None:
    type_, table, key = NEWER[name]
    dsn = server.fresh(name, filled=True)
    server.sql(f"ALTER TYPE {type_} ADD VALUE 'paused'", dsn)
    column = "state" if name == "oban" else "status"
    server.sql(f"UPDATE {table} SET {column} = 'paused' WHERE {key} = (SELECT {key} FROM {table} LIMIT 1)", dsn)
    workspace = await opened(dsn, tmp_path)
    engine = reader(workspace, name)
    assert engine.variant.notes[-1] == f"{type_} may be paused: newer than this release of unstick"
    nodes = [row.node async for rows in Walk(engine, lambda *_: None, limit=1_000).steps() for row in rows]
    (odd,) = [node for node in nodes if node.status == "paused" and node.kind != "producer"]
    assert (odd.phase, odd.error) == (Phase.UNKNOWN, None)
    writing = [action for action in engine.engine.actions_here if action.writes and odd.kind in action.kinds]
    assert {"newer than this release" in engine.availability(action, odd).why for action in writing} == {True}
    assert any(engine.availability(action, node).ok for action in writing for node in nodes if node.kind == odd.kind)
    assert not [each for each in (await engine.findings.read()).skipped_findings if each.failed]
    assert (Phase.UNKNOWN, None) in [(each.phase, each.n) for each in await engine.nodes.counts()]
    assert "newer than this release" in (await engine.pages.live()).scope
    await workspace.close()
    server.drop(dsn)


WIDER = {"int2": "int4", "int4": "int8", "varchar": "text"}
COLUMNS = """SELECT attrelid::regclass AS "table", attname, typname FROM pg_attribute JOIN pg_type t ON t.oid = atttypid
 WHERE attrelid = ANY (SELECT to_regclass(n) FROM unnest($1::text[]) n) AND attgenerated = '' AND typname = ANY ($2)"""


@pytest.mark.parametrize("name", sorted(engine.name for engine in builtin()))
async def test_wider_columns_are_read(server: PostgresServer, tmp_path: Path, name: str) -> None:
    dsn = server.fresh(name, filled=True)
    connection = await asyncpg.connect(dsn)
    (spec,) = [engine.spec for engine in builtin() if engine.name == name]
    for table, column, type_ in await connection.fetch(COLUMNS, list(spec.recognise.relations), list(WIDER)):
        with contextlib.suppress(asyncpg.PostgresError):  # views of the schema keep some
            await connection.execute(f'ALTER TABLE {table} ALTER "{column}" TYPE {WIDER[type_]}')
    await connection.execute(f"ALTER TABLE {next(iter(spec.recognise.relations))} ADD more text NOT NULL DEFAULT 1")
    await connection.close()
    workspace = await opened(dsn, tmp_path)
    engine = reader(workspace, name)
    assert [each for each in (await engine.findings.read()).skipped_findings if each.failed] == []
    assert await engine.nodes.counts()
    assert (await engine.pages.roots()).nodes
    assert all(node.error is None or node.phase is not Phase.UNKNOWN for node in (await engine.pages.live()).nodes)
    await engine.pages.dead()
    await workspace.close()
    server.drop(dsn)


# What makes questions cheap

INVALID = (
    "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'i'::regclass"  # as a failed CONCURRENTLY leaves it
)
OWN = {"available"}  # met by an index of the engine itself
NEEDS = OWN | {
    "task_by_job",
    "timer_by_task",
    "job_by_created",
    "task_by_polled",
    "task_by_status",
    "task_scan",
    "timer_scan",
}


async def test_a_small_table_meets_every_need(open_with: Open) -> None:
    detected = reader(await open_with(tables())).detected
    assert detected.met_needs == NEEDS
    assert detected.indexed == OWN
    assert {n.ddl.split()[3] for n in detected.missing()} == {
        "task__job_id__created_at__idx", "task_timer__task_id__idx", "job__created_at__idx", "task__polled_at__idx",
        "task__status__idx",
    }  # fmt: skip


@both_versions
@pytest.mark.parametrize(
    ("index", "met"),
    [
        ("", OWN),
        ("CREATE INDEX ON task (job_id)", OWN | {"task_by_job"}),
        ("CREATE INDEX ON task (job_id, created_at)", OWN | {"task_by_job"}),
        ("CREATE INDEX ON task (job_id) INCLUDE (status)", OWN | {"task_by_job"}),
        ("CREATE INDEX ON task (created_at, job_id)", OWN),
        ("CREATE INDEX ON task ((job_id::text))", OWN),
        ("CREATE INDEX ON task (created_at) INCLUDE (job_id)", OWN),
        ("CREATE INDEX ON task (job_id) WHERE status = 'Blocked'", OWN),
        ("CREATE INDEX ON task USING hash (job_id)", OWN),
        ("CREATE INDEX ON task USING brin (job_id)", OWN),
        ("CREATE INDEX ON job (created_at)", OWN | {"job_by_created"}),
        ("CREATE INDEX ON task (status, task_id)", OWN | {"task_by_status"}),
        ("CREATE INDEX ON task_timer (task_id)", OWN | {"timer_by_task"}),
        ("DROP INDEX task__available_polled_at__idx", set()),
        (f"CREATE INDEX i ON task (job_id); {INVALID}", OWN),
    ],
)
async def test_a_large_table_wants_an_index(
    open_with: Open, monkeypatch: pytest.MonkeyPatch, index: str, met: set[str]
) -> None:
    monkeypatch.setattr(detect, "SMALL_TABLE_BLOCKS", -1)
    detected = reader(await open_with(tables(change=index))).detected
    assert detected.met_needs == detected.indexed == met


@both_versions
@pytest.mark.parametrize("name", one_in(4, [s.name for s in builtin()]))
async def test_the_index_that_is_proposed_will_do_and_no_lookalike(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The server would read an index of other rows or in another order completely."""
    monkeypatch.setattr(detect, "SMALL_TABLE_BLOCKS", -1)
    dsn = server.fresh(name)
    connection = await asyncpg.connect(dsn)
    for index in await connection.fetch(plans.PLAIN):  # the engine's own
        await connection.execute(f"DROP INDEX {index['name']}")
    workspace = await opened(dsn, tmp_path)
    tried = 0
    for need, spec in reader(workspace, name).engine.spec.needs.items():
        if not spec.ddl or need in reader(workspace, name).detected.indexed:
            continue
        start, columns, _, predicate = re.fullmatch(r"([^(]*)\((.*?)\)( WHERE (.*))?", spec.ddl).groups()  # type: ignore[union-attr]
        turned = ", ".join(reversed(columns.split(", ")))
        lookalikes = [f"{start}({columns}) WHERE {columns.split(', ')[0].split(' ')[0]} IS NULL"]
        lookalikes += [f"{start}({turned})" + (f" WHERE {predicate}" if predicate else "")] * (turned != columns)
        lookalikes += [f"{start}({columns})"] * (not spec.full)
        tries = [(spec.ddl, True), *((each, False) for each in lookalikes)]
        one = re.match(r"(\w+) = '\w+'$", predicate or "")
        tries += [(f"{start}({one[1]}, {columns})", True)] if one and one[1] not in columns else []
        for ddl, serves in tries:
            await connection.execute(ddl)
            await workspace.detect()
            assert (need in reader(workspace, name).detected.indexed) == serves, ddl
            for index in await connection.fetch(plans.PLAIN):
                await connection.execute(f"DROP INDEX {index['name']}")
        tried += 1
    await workspace.close()
    await connection.close()
    assert tried


async def test_a_partitioned_table_is_as_large_as_its_partitions(open_with: Open, database: str) -> None:
    change = (
        "ALTER TABLE task_timer DROP CONSTRAINT task_timer__task__fk; ALTER TABLE task RENAME TO plain;"
        " CREATE TABLE task (LIKE plain INCLUDING DEFAULTS) PARTITION BY HASH (task_id);"
        " CREATE TABLE part PARTITION OF task FOR VALUES WITH (modulus 1, remainder 0)"
    )
    await open_with(tables(change=change))
    eternaltwin_db = await EternaltwinDb.open(database)
    await eternaltwin_db.tasks([await eternaltwin_db.job()] * 300)
    await eternaltwin_db.connection.close()
    assert reader(await open_with()).detected.relations["task"].blocks > 3


async def test_actions_say_which_index_they_miss(open_with: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detect, "SMALL_TABLE_BLOCKS", -1)
    reader_ = reader(await open_with(tables(change="CREATE INDEX ON task (job_id)")))
    # an edit reads and changes one row by its primary key
    for action in [
        v for kind in ("job", "task") for v in reader_.engine.actions_of(kind) if v.writes and not v.document
    ]:
        available = reader_.availability(action)
        assert not available.ok
        assert available.why.endswith("(CREATE INDEX CONCURRENTLY task_timer__task_id__idx ON task_timer (task_id))")
