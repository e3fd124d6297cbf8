"""Causes outside of the engines' tables, each caused for real."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest

from console.demo.engine import run_worker
from queries import snapshot
from queries.db.errors import UnreachableError, connection_error
from queries.read.grants import grants
from queries.read.server_findings import ServerFindings
from queries.records.finding import Finding
from queries.workspace import Workspace
from tests.command import unstick
from tests.console.tui_driver import run_tui
from tests.db.eternaltwin import EternaltwinDb
from tests.db.tasker import TaskerDb
from tests.queries.builders import opened
from tests.servers import PostgresServer, all_engines_database, both_versions
from tests.simulators.every import ENGINES

QUIET = "CREATE FUNCTION quiet() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE NOTICE ''x''; RETURN NEW; END'"
REFUSE = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''no''; END'"
Session = Callable[..., Awaitable["asyncpg.Connection[Any]"]]


@pytest.fixture
async def session() -> AsyncIterator[Session]:
    """Return ``session(dsn, "BEGIN; ...")``, which opens a session of ``migrator``."""
    open_: list[asyncpg.Connection[Any]] = []

    async def session(dsn: str, sql: str = "SELECT 1", name: str = "migrator") -> asyncpg.Connection[Any]:
        connection = await asyncpg.connect(dsn, server_settings={"application_name": name})
        open_.append(connection)
        await connection.execute(sql)
        return connection

    yield session
    for connection in open_:
        connection.terminate()


def server_findings(workspace: Workspace, **limits: float) -> ServerFindings:
    reader = ServerFindings(workspace.database, [reader.detected for reader in workspace.engines.values()])
    reader.settings |= limits
    return reader


async def found(workspace: Workspace, **limits: float) -> dict[str, Finding]:
    """Return the findings by code."""
    read = await server_findings(workspace, **limits).findings()
    assert read.skipped_findings == ()
    return {finding.code: finding for finding in read.findings}


@both_versions
async def test_a_healthy_database_has_no_server_findings(workspace: Workspace, eternaltwin_db: EternaltwinDb) -> None:
    await eternaltwin_db.task()
    assert await found(workspace) == {}


@both_versions
async def test_a_table_lock_names_the_session(workspace: Workspace, eternaltwin: str, session: Session) -> None:
    holder = await session(eternaltwin, "BEGIN; LOCK TABLE task IN SHARE MODE")
    assert await found(workspace, table_locked=600) == {}, "a short lock is normal"
    locked = (await found(workspace, table_locked=0))["table_locked"]
    assert locked.affects == ("eternaltwin",)
    assert f"pid {holder.get_server_pid()} (migrator, role postgres) locks task for 0" in locked.sentence
    assert "It is idle in transaction since" in locked.sentence
    assert "No session can change them" in locked.sentence
    assert locked.node_id == f"server/backend:{holder.get_server_pid()}"


@both_versions
async def test_a_migration_that_waits_names_the_session_before_it(
    workspace: Workspace, eternaltwin: str, eternaltwin_db: EternaltwinDb, session: Session
) -> None:
    first = await session(eternaltwin, "BEGIN; SELECT FROM task", "reporting")
    second = await session(eternaltwin)
    waiting = asyncio.create_task(second.execute("ALTER TABLE task ADD COLUMN note text"))
    while not await eternaltwin_db.waiting():
        await asyncio.sleep(0.01)
    queue = (await found(workspace, lock_queue=0))["lock_queue"]
    assert f"pid {second.get_server_pid()} (migrator, role postgres) waits" in queue.sentence
    assert f"behind pid {first.get_server_pid()} (reporting, role postgres, idle in transaction" in queue.sentence
    await first.execute("ROLLBACK")
    await waiting


@both_versions
async def test_a_lock_queue_names_the_root_of_its_chain(
    workspace: Workspace, eternaltwin: str, eternaltwin_db: EternaltwinDb, session: Session
) -> None:
    """Two migrations wait for a report, and the report for a colleague's row."""
    await eternaltwin_db.sql("CREATE TABLE customer AS SELECT 1 AS id")
    root = await session(eternaltwin, "BEGIN; UPDATE customer SET id = 2", "colleague")
    report = await session(eternaltwin, "BEGIN; SELECT FROM task", "reporting")
    migrations = [await session(eternaltwin) for _ in range(2)]
    waiting = []
    for client, sql in (
        (report, "UPDATE customer SET id = 3"),
        *((m, f"ALTER TABLE task ADD COLUMN note_{n} text") for n, m in enumerate(migrations)),
    ):
        waiting.append(asyncio.create_task(client.execute(sql)))
        while await eternaltwin_db.waiting() < len(waiting):
            await asyncio.sleep(0.01)
    read = await server_findings(workspace, lock_queue=0).findings()
    (incident,) = snapshot.incidents(workspace, [f for f in read.findings if f.code == "lock_queue"], ())
    assert len(incident.findings) == 2
    assert f"behind pid {root.get_server_pid()} (colleague, role postgres, idle in transaction" in incident.sentence
    assert f"through pid {report.get_server_pid()} (reporting" in incident.sentence
    await root.execute("ROLLBACK")
    await waiting[0]
    await report.execute("ROLLBACK")
    await asyncio.gather(*waiting)


@both_versions
async def test_a_table_lock_names_the_root_that_its_holder_waits_for(
    workspace: Workspace, eternaltwin: str, eternaltwin_db: EternaltwinDb, session: Session
) -> None:
    await eternaltwin_db.sql("CREATE TABLE customer AS SELECT 1 AS id")
    root = await session(eternaltwin, "BEGIN; UPDATE customer SET id = 2", "colleague")
    holder = await session(eternaltwin, "BEGIN; LOCK TABLE task IN SHARE MODE")
    waiting = asyncio.create_task(holder.execute("UPDATE customer SET id = 3"))
    while not await eternaltwin_db.waiting():
        await asyncio.sleep(0.01)
    locked = (await found(workspace, table_locked=0))["table_locked"]
    assert locked.node_id == f"server/backend:{holder.get_server_pid()}"
    assert f"It waits for pid {root.get_server_pid()} (colleague, role postgres, idle in" in locked.sentence
    await root.execute("ROLLBACK")
    await waiting


async def test_a_prepared_transaction_that_locks_a_table_is_named(own_server: PostgresServer, tmp_path: Path) -> None:
    own_server.sql("ALTER SYSTEM SET max_prepared_transactions = 2")
    own_server.halt()
    own_server.start()
    dsn = own_server.fresh("eternaltwin")
    workspace = await opened(dsn, tmp_path)
    own_server.sql("BEGIN; LOCK TABLE task IN ACCESS EXCLUSIVE MODE; PREPARE TRANSACTION 'left over'", dsn)
    locked = (await found(workspace, table_locked=0))["table_locked"]
    assert "the prepared transaction left over locks task" in locked.sentence
    assert "No session can read or change them" in locked.sentence
    own_server.sql("ROLLBACK PREPARED 'left over'", dsn)
    own_server.sql("BEGIN; SELECT FROM task; PREPARE TRANSACTION 'transfer'", dsn)
    migration = await asyncpg.connect(dsn)
    waiting = asyncio.create_task(migration.execute("ALTER TABLE task ADD COLUMN note text"))
    watcher = await EternaltwinDb.open(dsn)
    async with asyncio.timeout(60):
        while not await watcher.waiting():
            await asyncio.sleep(0.05)
    await watcher.connection.close()
    read = await found(workspace, lock_queue=0)
    assert "behind the prepared transaction transfer." in read["lock_queue"].sentence
    own_server.sql("ROLLBACK PREPARED 'transfer'", dsn)
    await waiting
    await migration.close()
    await workspace.close()


@both_versions
async def test_a_read_only_default_of_the_database(
    workspace: Workspace, server: PostgresServer, eternaltwin: str
) -> None:
    name = eternaltwin.rpartition("/")[2]
    server.sql(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    assert f"on for the database {name}" in (await found(workspace))["read_only_default"].sentence


async def test_a_read_only_default_of_the_server(own_server: PostgresServer, tmp_path: Path) -> None:
    workspace = await opened(own_server.fresh("eternaltwin"), tmp_path)
    own_server.sql("ALTER SYSTEM SET default_transaction_read_only = on")
    own_server.sql("SELECT pg_reload_conf()")
    async with asyncio.timeout(60):
        while "read_only_default" not in (read := await found(workspace)):
            await asyncio.sleep(0.05)
    assert "on for the server" in read["read_only_default"].sentence
    await workspace.close()


@both_versions
async def test_an_idle_transaction_with_row_locks(
    workspace: Workspace, eternaltwin: str, eternaltwin_db: EternaltwinDb, session: Session
) -> None:
    await eternaltwin_db.task()
    holder = await session(eternaltwin, "BEGIN; SELECT FROM task FOR UPDATE", "app")
    assert await found(workspace) == {}, "a short one is normal"
    idle = (await found(workspace, idle_suspected=0))["idle_transaction"]
    assert f"pid {holder.get_server_pid()} (app, role postgres) is idle in a transaction" in idle.sentence
    assert idle.suspected
    assert not (await found(workspace, idle_suspected=0, idle_transaction=0))["idle_transaction"].suspected


async def test_commits_that_wait_for_a_standby(own_server: PostgresServer, session: Session, tmp_path: Path) -> None:
    dsn = own_server.fresh("eternaltwin")
    workspace = await opened(dsn, tmp_path)
    writer = await session(dsn)
    own_server.sql("ALTER SYSTEM SET synchronous_standby_names = 'nowhere'")
    own_server.sql("SELECT pg_reload_conf()")
    async with asyncio.timeout(60):
        while await writer.fetchval("SHOW synchronous_standby_names") != "nowhere":
            await asyncio.sleep(0.05)
    insert = "INSERT INTO users VALUES (gen_random_uuid(), now())"
    commit = asyncio.create_task(writer.execute(insert))
    async with asyncio.timeout(60):
        while "commit_waits" not in (read := await found(workspace, commit_waits=0)):
            if commit.done():  # the checkpointer, which makes commits wait, had not read the setting yet
                commit = asyncio.create_task(writer.execute(insert))
            await asyncio.sleep(0.05)
    assert "synchronous standby (nowhere)" in read["commit_waits"].sentence
    commit.cancel()
    await workspace.close()


async def test_an_advisory_lock_that_others_wait_for(
    workspace: Workspace, eternaltwin: str, eternaltwin_db: EternaltwinDb, session: Session
) -> None:
    holder = await session(eternaltwin, "SELECT pg_advisory_lock(7)", "leader")
    assert (await found(workspace, advisory_idle=0))["advisory_lock"].suspected, "a leader holds one for ever"
    waiter = await session(eternaltwin)
    waiting = asyncio.create_task(waiter.execute("SELECT pg_advisory_lock(7)"))
    while not await eternaltwin_db.waiting():
        await asyncio.sleep(0.01)
    lock = (await found(workspace, lock_queue=0))["advisory_lock"]
    assert (
        f"pid {holder.get_server_pid()} (leader, role postgres) holds the advisory lock 7 and is idle" in lock.sentence
    )
    assert not lock.suspected
    holder.terminate()
    await waiting


@both_versions
async def test_connections_that_are_used_up(
    server: PostgresServer, workspace: Workspace, eternaltwin: str, session: Session
) -> None:
    """The holders are named, and their numbers are exact."""
    for name in (*["web"] * 9, "cron", *["mail"] * 8, ""):  # more than what tests before left to end
        await session(eternaltwin, name=name)
    used = (await found(workspace, connections=0.01))["connections_used"]
    assert not used.suspected
    assert "The limit of the server is " in used.sentence
    assert " connections, without 3 that are reserved. " in used.sentence
    assert ": 9 by role postgres (web), 8 by role postgres (mail), " in used.sentence
    shown = re.findall(r"(\d+) by (?:role \S+ \(([^)]*)\)|others)", used.sentence)
    assert sum(int(n) for n, _ in shown) == used.evidence["used"]
    assert len(shown) <= 4
    role = login(server)
    server.sql(f"ALTER ROLE {role} CONNECTION LIMIT 2")
    assert "connections_used" not in await found(workspace)
    for _ in range(2):
        await session(as_role(server, eternaltwin, role), name="worker")
    used = (await found(workspace))["connections_used"]
    assert used.sentence.startswith(
        f"The limit of the role {role} is 2 connections. 2 are in use: 2 by role {role} (worker)."
    )
    assert used.suspected, "a pool of exactly that size is healthy"


async def test_the_limit_of_a_database_counts_who_is_in_it(
    server: PostgresServer, workspace: Workspace, eternaltwin: str, session: Session, database: str
) -> None:
    name = eternaltwin.rpartition("/")[2].partition("?")[0]
    await session(eternaltwin, name="pool")
    await session(database, name="elsewhere")
    server.sql(f'ALTER DATABASE "{name}" CONNECTION LIMIT 2')
    used = (await found(workspace))["connections_used"]
    assert used.sentence.startswith(f"The limit of the database {name} is 2 connections. ")
    assert "1 by role postgres (pool)" in used.sentence
    assert "elsewhere" not in used.sentence


async def test_reserved_connections_are_no_room(own_server: PostgresServer, session: Session, tmp_path: Path) -> None:
    own_server.sql("ALTER SYSTEM SET reserved_connections = 2")
    own_server.halt()
    own_server.start()
    dsn = own_server.fresh("eternaltwin")
    most = int(await (await session(dsn)).fetchval("SHOW max_connections"))
    workspace = await opened(dsn, tmp_path)
    used = (await found(workspace, connections=0.01))["connections_used"]
    assert f"The limit of the server is {most - 5} connections, without 5 that are reserved. " in used.sentence
    await workspace.close()


def login(server: PostgresServer, dsn: str | None = None, schema: str = "public") -> str:
    """Create a role that may do everything in a schema."""
    role = server.unique("app")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    if dsn:
        server.sql(
            f"GRANT USAGE ON SCHEMA {schema} TO {role}; GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO {role}", dsn
        )
        server.sql(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {role}", dsn)
    return role


def as_role(server: PostgresServer, dsn: str, role: str) -> str:
    return server.dsn(dsn.rpartition("/")[2], user=role, password="x")


@both_versions
@pytest.mark.parametrize(
    ("revoke", "lacks"),
    [
        ("REVOKE UPDATE ON task FROM {role}", "UPDATE on task"),
        ("REVOKE DELETE ON task_timer FROM {role}", "DELETE on task_timer"),
        ("REVOKE USAGE ON SCHEMA public FROM {role}, PUBLIC", "USAGE on schema public"),
    ],
)
async def test_a_worker_that_lost_a_privilege(
    server: PostgresServer, workspace: Workspace, eternaltwin: str, session: Session, revoke: str, lacks: str
) -> None:
    role = login(server, eternaltwin)
    await session(as_role(server, eternaltwin, role), name="runner")
    assert await found(workspace) == {}
    server.sql(revoke.format(role=role), eternaltwin)
    missing = (await found(workspace))["privilege_missing"]
    assert f"The role {role} lacks {lacks} (runner of eternaltwin). It has 1 session here, idle" in missing.sentence
    assert not missing.suspected
    assert missing.proof == "assumed"


async def test_a_role_with_few_privileges_is_a_worker_only_by_its_name(
    server: PostgresServer, workspace: Workspace, eternaltwin: str, session: Session
) -> None:
    role = login(server, eternaltwin)
    server.sql(f"REVOKE UPDATE, INSERT ON task, task_timer FROM {role}", eternaltwin)
    await session(as_role(server, eternaltwin, role), name="web-1")
    assert await found(workspace) == {}, "it may be another program"
    await session(as_role(server, eternaltwin, role), name="eternaltwin runner")
    assert not (await found(workspace))["privilege_missing"].suspected


async def test_a_privilege_on_a_sequence(
    server: PostgresServer, uni2work_workspace: Workspace, session: Session
) -> None:
    dsn = uni2work_workspace.database.text
    role = login(server, dsn)
    await session(as_role(server, dsn, role), name="instance")
    assert await found(uni2work_workspace) == {}
    server.sql(f"REVOKE USAGE ON SEQUENCE queued_job_id_seq FROM {role}", dsn)
    assert (
        "lacks USAGE on sequence queued_job_id_seq" in (await found(uni2work_workspace))["privilege_missing"].sentence
    )


async def test_roles_that_are_no_workers_lack_nothing(
    server: PostgresServer, workspace: Workspace, eternaltwin: str, session: Session
) -> None:
    """An operator and a reader are healthy beside a sound worker."""
    worker, reader, operator = login(server, eternaltwin), login(server), login(server)
    server.sql(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {reader}, {operator}", eternaltwin)
    server.sql(f"GRANT UPDATE, DELETE, INSERT ON task, job TO {operator}", eternaltwin)
    for role in (worker, reader):
        await session(as_role(server, eternaltwin, role), name="")
    await session(as_role(server, eternaltwin, operator), name="psql")
    assert await found(workspace) == {}


@pytest.mark.parametrize("name", ["eternaltwin", "tasker", "estuary", "uni2work", "agent_jobs"])
async def test_the_roles_of_grants_are_no_workers(server: PostgresServer, tmp_path: Path, name: str) -> None:
    dsn = server.fresh(name)
    workspace = await opened(dsn, tmp_path)
    viewer, operator = login(server), login(server)
    for reader in workspace.engines.values():
        for statement in await grants(workspace.database, reader, [viewer], [operator]):
            server.sql(statement, dsn)
    assert await found(workspace) == {}
    server.sql(f"ALTER ROLE {operator} CONNECTION LIMIT 0")
    assert await found(workspace) == {}
    await workspace.close()
    server.drop(dsn)


async def test_a_role_without_a_session_is_no_worker_beside_one_with_all_rights(
    server: PostgresServer, workspace: Workspace, eternaltwin: str
) -> None:
    other, owner = login(server, eternaltwin), login(server, eternaltwin)
    server.sql(f"REVOKE DELETE ON task_timer FROM {other}", eternaltwin)
    assert await found(workspace) == {}
    server.sql(f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {owner}", eternaltwin)
    assert "lacks DELETE on task_timer" in (await found(workspace))["privilege_missing"].sentence


@both_versions
async def test_row_level_security_hides_the_rows(
    server: PostgresServer, workspace: Workspace, eternaltwin: str, session: Session
) -> None:
    role = login(server, eternaltwin)
    await session(as_role(server, eternaltwin, role), name="runner")
    server.sql("ALTER TABLE task ENABLE ROW LEVEL SECURITY", eternaltwin)
    hidden = (await found(workspace))["rows_hidden"]
    assert f"applies to the role {role} on task of eternaltwin (no policy admits it)" in hidden.sentence
    assert not hidden.suspected
    server.sql("CREATE POLICY mine ON task USING (revision >= 0)", eternaltwin)
    assert (await found(workspace))["rows_hidden"].suspected, "a policy may admit all rows"
    server.sql("CREATE POLICY everyone ON task USING (true)", eternaltwin)
    assert await found(workspace) == {}
    server.sql("DROP POLICY everyone ON task", eternaltwin)
    server.sql(f"ALTER ROLE {role} BYPASSRLS")
    assert await found(workspace) == {}


@pytest.mark.parametrize(
    ("setting", "effect", "suspected"),
    [
        ("statement_timeout = '5ms'", "cancels its statements", False),
        ("statement_timeout = '2s'", "cancels its statements", True),
        ("idle_in_transaction_session_timeout = 10", "ends its sessions", False),
        ("lock_timeout = 1", "fail when they wait for a lock", False),
        ("default_transaction_read_only = on", "it cannot write", False),
        ("search_path = elsewhere", "does not find tables in the schema public", True),
    ],
)
async def test_a_setting_that_stops_workers(
    server: PostgresServer,
    workspace: Workspace,
    eternaltwin: str,
    session: Session,
    setting: str,
    effect: str,
    suspected: bool,
) -> None:
    role = login(server, eternaltwin)
    await session(as_role(server, eternaltwin, role), name="runner")
    server.sql(f"ALTER ROLE {role} SET {setting}")
    stops = (await found(workspace))["role_setting"]
    assert effect in stops.sentence
    assert f"for the role {role}" in stops.sentence
    assert stops.suspected is suspected


async def test_a_setting_of_the_database(server: PostgresServer, workspace: Workspace, eternaltwin: str) -> None:
    name = eternaltwin.rpartition("/")[2]
    server.sql(f"ALTER DATABASE {name} SET statement_timeout = '1ms'; ALTER DATABASE {name} SET work_mem = '8MB'")
    stops = (await found(workspace))["role_setting"]
    assert f"statement_timeout = 1ms is set for the database {name}, so the server cancels" in stops.sentence
    server.sql(f"ALTER DATABASE {name} SET statement_timeout = '30s'")
    assert await found(workspace) == {}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("ALTER ROLE {role} CONNECTION LIMIT 0", "connection limit is 0"),
        ("ALTER ROLE {role} VALID UNTIL '2001-01-01'", "its password expired"),
        ("ALTER ROLE {role} NOLOGIN", "no LOGIN"),
        ("REVOKE CONNECT ON DATABASE {database} FROM PUBLIC", "lacks CONNECT"),
    ],
)
async def test_a_worker_that_cannot_connect(
    server: PostgresServer, workspace: Workspace, eternaltwin: str, change: str, why: str
) -> None:
    role = login(server, eternaltwin)
    assert await found(workspace) == {}
    server.sql(change.format(role=role, database=eternaltwin.rpartition("/")[2]))
    out = (await found(workspace))["role_kept_out"]
    assert why in out.sentence
    assert out.suspected


@both_versions
@pytest.mark.parametrize(
    ("ddl", "what"),
    [
        (
            f"{QUIET}; CREATE TRIGGER audit BEFORE UPDATE ON task FOR EACH ROW EXECUTE FUNCTION quiet()",
            "trigger audit on task (function quiet of postgres)",
        ),
        ("ALTER TABLE task ADD CONSTRAINT cap CHECK (revision < 5)", "check cap on task"),
        ("CREATE UNIQUE INDEX one ON task (kind)", "unique index one on task"),
        (
            "CREATE TABLE note (at timestamptz, id uuid, FOREIGN KEY (at, id) REFERENCES task_timer)",
            "of public.note, which refers to task_timer",
        ),
    ],
)
async def test_a_foreign_object_is_suspected(
    server: PostgresServer, workspace: Workspace, eternaltwin: str, session: Session, ddl: str, what: str
) -> None:
    server.sql(ddl, eternaltwin)
    assert await found(workspace) == {}, "no worker is connected that it could stop"
    await session(eternaltwin, name="eternaltwin runner")
    foreign = (await found(workspace))["foreign_objects"]
    assert what in foreign.sentence
    assert foreign.suspected, "a trigger may be a harmless audit"


@both_versions
@pytest.mark.parametrize(
    ("ddl", "what", "suspected"),
    [
        (
            f"{REFUSE}; CREATE TRIGGER guard BEFORE UPDATE ON task FOR EACH ROW EXECUTE FUNCTION refuse()",
            "make writes fail or wait: trigger guard on task (function refuse of postgres)",
            True,
        ),
        ("ALTER TABLE task ADD CONSTRAINT few CHECK (revision < 5) NOT VALID", "check few on task", True),
        (
            "CREATE RULE quiet AS ON UPDATE TO task DO INSTEAD NOTHING",
            "replaces statements of the workers: rule quiet on task",
            False,
        ),
    ],
)
async def test_a_foreign_object_that_refuses_writes(
    server: PostgresServer,
    workspace: Workspace,
    eternaltwin: str,
    session: Session,
    ddl: str,
    what: str,
    suspected: bool,
) -> None:
    server.sql(ddl, eternaltwin)
    await session(eternaltwin, name="eternaltwin runner")
    refused = (await found(workspace))["writes_refused"]
    assert what in refused.sentence
    assert refused.suspected is suspected


async def test_a_disabled_trigger_of_the_engine(tasker_db: TaskerDb, server: PostgresServer) -> None:
    workspace = tasker_db.workspace
    assert await found(workspace) == {}
    server.sql("ALTER TABLE workflow_step_transitions DISABLE TRIGGER trg_step_result_audit", workspace.database.text)
    assert "trigger trg_step_result_audit on workflow_step" in (await found(workspace))["trigger_disabled"].sentence


@both_versions
async def test_a_missing_or_invalid_index(server: PostgresServer, workspace: Workspace, eternaltwin: str) -> None:
    server.sql(
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'task__available_polled_at__idx'::regclass",
        eternaltwin,
    )
    invalid = (await found(workspace))["index_missing"]
    assert "is not valid (public.task__available_polled_at__idx)" in invalid.sentence
    server.sql("DROP INDEX task__available_polled_at__idx", eternaltwin)
    assert "does not exist" in (await found(workspace))["index_missing"].sentence
    assert "a scan of a large table" in (await found(workspace, large_pages=0))["dequeue_scan"].sentence


DEAD = {"old_transaction": 0, "dead_rows": 10}


@both_versions
async def test_a_transaction_that_holds_back_vacuum(
    workspace: Workspace, eternaltwin: str, eternaltwin_db: EternaltwinDb, session: Session
) -> None:
    holder = await session(eternaltwin, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM users", "report")
    await dead_rows(eternaltwin_db)
    held = (await found(workspace, **DEAD))["vacuum_held_back"]
    assert f"pid {holder.get_server_pid()} (report, role postgres, idle in transaction) keeps vacuum" in held.sentence
    assert "of job" in held.sentence
    assert await found(workspace) == {}, "a young transaction is normal"
    many = {"dead_rows": 10, "older_than_dead": 0}
    assert "vacuum_held_back" in await found(workspace, **many, many_dead_rows=10), "but not beside many dead rows"
    assert await found(workspace, **many) == {}


async def dead_rows(db: EternaltwinDb) -> None:
    await db.sql("INSERT INTO job SELECT gen_random_uuid(), now(), NULL, '' FROM generate_series(1, 50)")
    await db.sql("DELETE FROM job")
    async with asyncio.timeout(60):
        while not await db.value("SELECT pg_stat_get_dead_tuples('job'::regclass)"):
            await asyncio.sleep(0.1)


async def test_a_table_that_was_not_vacuumed_for_long(workspace: Workspace, eternaltwin_db: EternaltwinDb) -> None:
    await eternaltwin_db.sql("ALTER TABLE task SET (autovacuum_enabled = true)")
    await eternaltwin_db.task()
    await eternaltwin_db.sql("DELETE FROM task")
    async with asyncio.timeout(60):
        while "vacuum_late" not in (read := await found(workspace, late_rows=1)):
            await asyncio.sleep(0.1)
    assert "it was vacuumed never" in read["vacuum_late"].sentence


async def test_statistics_that_were_lost_are_not_taken_for_none(
    server: PostgresServer, uni2work_workspace: Workspace
) -> None:
    """A crash of the server does the same."""
    rows = "SELECT jsonb_build_object('job', 'a', 'n', n), now(), gen_random_uuid() FROM generate_series(1, 2000) AS n"
    dsn = uni2work_workspace.database.text
    server.sql(f'INSERT INTO cron_last_exec (job, "time", instance) {rows}; ANALYZE cron_last_exec', dsn)
    await found(uni2work_workspace)
    server.sql("SELECT pg_stat_reset()", dsn)
    read = await server_findings(uni2work_workspace).findings()
    assert [(each.code, each.failed) for each in read.skipped_findings] == [("vacuum_late", False)]
    assert "dead rows of cron_last_exec of uni2work are not counted" in read.skipped_findings[0].why
    server.sql("ANALYZE cron_last_exec", dsn)
    await found(uni2work_workspace)


async def test_a_sequence_near_its_end(server: PostgresServer, uni2work_workspace: Workspace) -> None:
    dsn = uni2work_workspace.database.text
    server.sql("SELECT setval('queued_job_id_seq', 9223372036854775806)", dsn)
    near = (await found(uni2work_workspace))["sequence_end"]
    assert "queued_job_id_seq has 1 values left" in near.sentence
    server.sql("SELECT setval('queued_job_id_seq', 9223372036854775807)", dsn)
    assert (await found(uni2work_workspace))["sequence_used_up"].affects == ("uni2work",)


async def test_a_notify_queue_that_fills(own_server: PostgresServer, session: Session, tmp_path: Path) -> None:
    own_server.sql("ALTER SYSTEM SET max_notify_queue_pages = 64")
    own_server.halt()
    own_server.start()
    dsn = own_server.fresh("tasker")
    workspace = await opened(dsn, tmp_path)
    await session(dsn, "LISTEN pgmq_message_ready")
    idle = await session(dsn, "LISTEN pgmq_message_ready")
    await idle.execute("BEGIN")
    notifier = await session(dsn)
    for n in range(45):
        await notifier.execute("SELECT pg_notify('pgmq_message_ready', repeat($1, 7900))", str(n % 10))
    full = (await found(workspace))["notify_queue"]
    assert full.affects == ("tasker",)
    assert not full.suspected
    await workspace.close()


async def deadlocks(n: int, dsn: str, db: EternaltwinDb, session: Session) -> None:
    """End ``n`` transactions of a session by deadlocks with another one."""
    one = await session(dsn, "SET deadlock_timeout = '10ms'", "eternaltwin runner")
    other = await session(dsn, "SET deadlock_timeout = '10min'", "eternaltwin runner")  # it is never the victim
    blocked = "SELECT count(*) FROM pg_locks WHERE pid = $1 AND NOT granted"
    for _ in range(n):
        await one.execute("BEGIN; SELECT pg_advisory_xact_lock(1)")
        await other.execute("BEGIN; SELECT pg_advisory_xact_lock(2)")
        waits = asyncio.create_task(other.execute("SELECT pg_advisory_xact_lock(1)"))
        while not await db.value(blocked, other.get_server_pid()):
            await asyncio.sleep(0.01)
        with pytest.raises(asyncpg.DeadlockDetectedError):
            await one.execute("SELECT pg_advisory_xact_lock(2)")
        await one.execute("ROLLBACK")
        await waits
        await other.execute("ROLLBACK")
    flush = "SELECT pg_sleep(0.1)" + ", pg_stat_force_next_flush()" * (one.get_server_version().major >= 15)
    async with asyncio.timeout(60):
        while await db.value("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") < n:
            await one.execute(flush)  # PostgreSQL 14 sends counts at the end of a statement, at most twice a second


@both_versions
async def test_deadlocks_are_the_same_for_each_look(
    workspace: Workspace, eternaltwin: str, eternaltwin_db: EternaltwinDb, session: Session
) -> None:
    """The number of looks before, their time and their rhythm make no difference."""
    before = server_findings(workspace)
    assert (await before.findings()).findings == ()
    await deadlocks(2, eternaltwin, eternaltwin_db, session)
    since_then, once, often, seldom = before, *(server_findings(workspace) for _ in range(3))
    looks = []
    for reader, pause in ((since_then, 0.0), (once, 0.0), *[(often, 0.0)] * 6, *[(seldom, 1.0)] * 2, (since_then, 0.0)):
        looks.append(await reader.findings())
        await asyncio.sleep(pause)
    lines = [[each for each in look.findings if each.code == "deadlocks"] for look in looks]
    assert all(line == lines[0] for line in lines)
    (found_,) = lines[0]
    assert re.fullmatch(
        r"2 deadlocks since \S+: 2 an hour\. The server ended one transaction for each\.", found_.sentence
    )
    assert found_.since is not None
    assert found_.since < looks[0].at
    rare = await server_findings(workspace, deadlocks_a_day=1e6).findings()
    assert rare.findings == (), "few on a day are normal"


async def test_deadlocks_are_the_same_line_for_the_command_and_the_console(
    workspace: Workspace, eternaltwin: str, eternaltwin_db: EternaltwinDb, session: Session, tmp_path: Path
) -> None:
    await deadlocks(3, eternaltwin, eternaltwin_db, session)
    lines = [
        (await asyncio.to_thread(unstick, "stuck", "--json", *options, dsn=eternaltwin)).json["incidents"][0]
        for options in ((), ("--sample", "2"), ())
    ]
    assert {(line["code"], line["sentence"], line["severity"], line["since"]) for line in lines} == {
        ("deadlocks", lines[0]["sentence"], 4, lines[0]["since"])
    }
    async with run_tui(eternaltwin, tmp_path) as tui:
        await tui.wait_for("● live")
        await tui.press("2")
        await tui.wait_for("3 deadlocks since")


async def test_transactions_that_fail_by_deadlocks_are_explained_by_them(
    workspace: Workspace, eternaltwin: str, eternaltwin_db: EternaltwinDb, session: Session
) -> None:
    reader = server_findings(workspace)
    await reader.findings()
    await deadlocks(4, eternaltwin, eternaltwin_db, session)
    async with asyncio.timeout(60):
        while "transactions_fail" not in (codes := {each.code: each for each in (await reader.findings()).findings}):
            await asyncio.sleep(0.2)
    failing = codes["transactions_fail"]
    assert ", 4 of them by deadlocks. " in failing.sentence
    (incident,) = snapshot.incidents(workspace, codes.values(), ())
    assert (incident.code, [each.code for each in incident.explained]) == ("deadlocks", ["transactions_fail"])
    other = msgspec.structs.replace(failing, evidence={**failing.evidence, "by": "errors"})
    alone = snapshot.incidents(workspace, [codes["deadlocks"], other], ())
    assert [each.explained for each in alone] == [()], "old deadlocks do not make transactions fail"


async def test_hidden_activity_is_not_checked_and_names_the_grant(
    server: PostgresServer, eternaltwin: str, session: Session, tmp_path: Path
) -> None:
    role = login(server, eternaltwin)
    workspace = await opened(as_role(server, eternaltwin, role), tmp_path)
    await session(eternaltwin)
    read = await server_findings(workspace).findings()
    assert [s.code for s in read.skipped_findings] == ["idle_transaction"]
    assert f"GRANT pg_monitor TO {role}" in read.skipped_findings[0].why
    assert read.findings == ()
    await workspace.close()


async def test_a_worker_says_what_it_does(
    server: PostgresServer, workspace: Workspace, eternaltwin: str, session: Session
) -> None:
    role = login(server, eternaltwin)
    reader = server_findings(workspace)
    assert reader.doing("eternaltwin") == "", "nothing was read yet"
    await reader.findings()
    assert reader.doing("eternaltwin") == "No session that may be a worker is connected."
    await session(as_role(server, eternaltwin, role), name="runner")
    await reader.findings()
    said = rf"A session of role {role} \(runner\) is connected; it is idle for \d+s \(inferred\)\."
    assert re.fullmatch(said, reader.doing("eternaltwin"))
    await session(as_role(server, eternaltwin, role), name="drill")
    await reader.findings()
    assert re.match(rf"2 sessions of role {role} \((runner, drill|drill, runner)\) are", reader.doing("eternaltwin"))


async def test_a_worker_that_restarts_is_not_only_idle(
    server: PostgresServer, workspace: Workspace, eternaltwin: str
) -> None:
    """Each sample sees another session."""
    role = login(server, eternaltwin)
    reader = server_findings(workspace)
    for _ in range(5):
        worker = await asyncpg.connect(
            as_role(server, eternaltwin, role), server_settings={"application_name": "runner"}
        )
        await reader.findings()
        said = reader.doing("eternaltwin")
        await worker.close()
    assert re.search(r"and began 5 times in the last \d+s: it may restart again and again \(inferred\)", said)
    steady = await asyncpg.connect(as_role(server, eternaltwin, role), server_settings={"application_name": "other"})
    await reader.findings()
    assert "restart" not in reader.doing("eternaltwin")
    await steady.close()


async def test_the_catalog_is_read_every_few_seconds(
    server: PostgresServer, workspace: Workspace, eternaltwin: str, session: Session
) -> None:
    reader = server_findings(workspace, table_locked=0)
    assert (await reader.findings()).findings == ()
    server.sql("DROP INDEX task__available_polled_at__idx", eternaltwin)
    await session(eternaltwin, "BEGIN; LOCK TABLE task IN SHARE MODE")
    assert [each.code for each in (await reader.findings()).findings] == ["table_locked"], "sessions are read each time"
    async with asyncio.timeout(60):
        while len((await reader.findings()).findings) < 2:
            await asyncio.sleep(0.5)


async def test_a_part_that_fails_costs_only_its_own_findings(
    server: PostgresServer, workspace: Workspace, eternaltwin: str, session: Session
) -> None:
    server.sql("ALTER TABLE task SET (autovacuum_enabled = false)", eternaltwin)
    await session(eternaltwin, "BEGIN; LOCK TABLE task IN SHARE MODE")
    reader = server_findings(workspace)
    reader.settings["table_locked"] = 1e308  # no interval
    read = await reader.findings()
    assert [each.code for each in read.findings] == ["autovacuum_off"]
    assert "table_locked" in {each.code for each in read.skipped_findings if each.failed}


@both_versions
async def test_all_engines_at_work_have_no_server_finding(
    server: PostgresServer, session: Session, tmp_path: Path
) -> None:
    dsn = await all_engines_database(server)
    workers = [asyncio.create_task(run_worker(engine(), dsn, 1)) for engine in ENGINES]
    workspace = await opened(dsn, tmp_path)
    reader = server_findings(workspace)
    for _ in range(12):
        assert (await reader.findings()).findings == ()
        await asyncio.sleep(0.25)
    for label in workspace.engines:
        assert "is connected" in reader.doing(label), reader.doing(label)
    for worker in workers:
        worker.cancel()
    await workspace.close()
    server.drop(dsn)


async def test_failing_transactions_are_seen_by_each_console(
    eternaltwin: str, workspace: Workspace, session: Session, tmp_path: Path
) -> None:
    """Failing transactions beside another console and many own reads."""
    other = await opened(eternaltwin, tmp_path)
    reader, second = server_findings(workspace, rollback_window=0.01), server_findings(other)
    await session(eternaltwin, name="eternaltwin runner")
    for _ in range(5):
        await reader.findings()
        await second.findings()
    failing = await session(eternaltwin)
    for _ in range(20):
        with contextlib.suppress(asyncpg.DivisionByZeroError):
            await failing.execute("SELECT 1 / 0")
    await failing.close()  # reports its counters
    async with asyncio.timeout(30):
        while True:
            await asyncio.sleep(0.02)  # longer than the window
            codes = {finding.code for finding in (await reader.findings()).findings}
            if "transactions_fail" in codes:
                break
    await other.close()


async def test_failing_transactions_are_seen_by_a_single_command(
    eternaltwin: str, eternaltwin_db: EternaltwinDb, session: Session
) -> None:
    """A runner that fails twice a second does no work."""
    await eternaltwin_db.task(age=1000, polled=900)
    failing = await session(eternaltwin, name="eternaltwin runner")

    async def fail() -> None:
        while True:
            with contextlib.suppress(asyncpg.DivisionByZeroError):
                await failing.execute("SELECT 1 / 0")
            await asyncio.sleep(0.5)

    runner = asyncio.create_task(fail())
    async with asyncio.timeout(60):  # the command may meet a moment in which the session has reported nothing
        while True:
            answer = await asyncio.to_thread(unstick, "stuck", "--json", dsn=eternaltwin)
            first = answer.json["incidents"][0]
            if first["code"] == "transactions_fail":
                break
    assert [each["code"] for each in first["symptoms"]] == ["runner_silent"]
    runner.cancel()


async def test_reads_of_consoles_are_no_rollbacks(eternaltwin: str, workspace: Workspace, session: Session) -> None:
    rolled_back = "SELECT xact_rollback FROM pg_stat_database WHERE datname = current_database()"
    asking = await session(eternaltwin)
    before = await asking.fetchval(rolled_back)
    for _ in range(10):
        await workspace.server_findings.findings()
        await next(iter(workspace.engines.values())).findings.read()
    await workspace.close()
    assert await asking.fetchval(rolled_back) == before
    assert workspace.database.load.rollbacks == 0


async def test_a_promotion_is_seen_while_the_console_runs(
    own_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The role may not list WAL files, so only the two reads show it."""
    monkeypatch.setattr("queries.read.server_findings.KEPT_SECONDS", {})
    role = own_server.unique("viewer")
    dsn = own_server.fresh("eternaltwin")
    own_server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    own_server.sql(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}", dsn)
    with closing(await asyncio.to_thread(own_server.replica)) as replica:
        workspace = await opened(replica.dsn(dsn.rpartition("/")[2], user=role, password="x"), tmp_path)
        reader = server_findings(workspace)
        (standby,) = (await reader.findings()).findings
        assert (standby.code, standby.suspected) == ("standby", True)
        await asyncio.to_thread(replica.sql, "SELECT pg_promote()")
        await workspace.database.renew()
        promoted = {each.code: each for each in (await reader.findings()).findings}
        assert "was a standby and is the primary now" in promoted["promoted"].sentence
        assert "standby" not in promoted
        await workspace.close()


@both_versions
async def test_a_promotion_is_seen_by_a_console_that_starts_later(server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh("eternaltwin")
    with closing(await asyncio.to_thread(server.replica)) as replica:
        await asyncio.to_thread(replica.sql, "SELECT pg_promote()")
        workspace = await opened(replica.dsn(dsn.rpartition("/")[2]), tmp_path)
        assert "was promoted at" in (await found(workspace))["promoted"].sentence
        await workspace.close()


@both_versions
async def test_a_refused_connection_says_what_it_means_for_workers(server: PostgresServer, tmp_path: Path) -> None:
    role = server.unique("full")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x' CONNECTION LIMIT 0")
    with pytest.raises(UnreachableError, match="workers may be refused, too") as caught:
        await opened(server.dsn("postgres", user=role, password="x"), tmp_path)
    assert caught.value.code == "53300"
    starting = connection_error("57P03", "the database system is starting up", "")
    assert "Workers cannot connect either" in starting.line
