"""A locked table degrades only the parts that read it, and the blocker is named."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from time import monotonic
from typing import Any

import asyncpg
import pytest

from queries import snapshot
from queries.db import transaction
from queries.db.database import READ_SECONDS
from queries.db.errors import LockedError
from queries.db.transaction import blocked_by
from queries.workspace import Workspace
from tests.command import Answer, unstick
from tests.db.eternaltwin import EternaltwinDb
from tests.proof import most_in_proof
from tests.queries.builders import opened, reader
from tests.servers import PostgresServer, all_engines_database, both_versions

Lock = Callable[..., Awaitable["asyncpg.Connection[Any]"]]
COMMANDS = ("engines", "tree", "stuck", "dead")


@pytest.fixture
async def lock(server: PostgresServer) -> AsyncIterator[Lock]:
    """Return ``lock(dsn, "LOCK TABLE t")``, which locks as the role ``migrator``.

    The command runs in an open transaction.
    """
    open_: list[asyncpg.Connection[Any]] = []

    async def lock(dsn: str, sql: str = "LOCK TABLE task IN ACCESS EXCLUSIVE MODE") -> asyncpg.Connection[Any]:
        connection = await asyncpg.connect(dsn, server_settings={"application_name": "migrator"})
        open_.append(connection)
        await connection.execute(f"BEGIN; {sql}")
        return connection

    yield lock
    for connection in open_:
        connection.terminate()


@pytest.fixture
async def all_engines(server: PostgresServer) -> AsyncIterator[str]:
    """DSN of a database with the demo's data of all engines, without executors."""
    dsn = await all_engines_database(server)
    yield dsn
    server.drop(dsn)


async def ask(*words: str, dsn: str) -> Answer:
    return await asyncio.to_thread(unstick, *words, dsn=dsn)


@both_versions
async def test_a_read_waits_shortly_and_names_who_is_in_its_way(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, eternaltwin: str, lock: Lock
) -> None:
    await eternaltwin_db.task()
    holder = await lock(eternaltwin)
    start = monotonic()
    with pytest.raises(LockedError) as caught:
        await reader(workspace).nodes.counts()
    assert monotonic() - start < READ_SECONDS, "statement_timeout would have ended it as well"
    pid = await holder.fetchval("SELECT pg_backend_pid()")
    assert f"pid {pid} (migrator, role postgres) locks task" in caught.value.line
    await holder.execute("ROLLBACK")
    assert (await reader(workspace).nodes.counts())[0].n == 1


@pytest.mark.parametrize("table", ["task", "task_timer"])
async def test_one_read_waits_once_for_a_locked_table(
    eternaltwin: str,
    eternaltwin_db: EternaltwinDb,
    workspace: Workspace,
    lock: Lock,
    monkeypatch: pytest.MonkeyPatch,
    table: str,
) -> None:
    await eternaltwin_db.task(status="Blocked", timer=-600)
    asked: list[object] = []
    monkeypatch.setattr(transaction, "blocked_by", lambda rows, role: asked.append(rows) or blocked_by(rows, role))
    holder = await lock(eternaltwin, f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
    part = await reader(workspace).findings.read()
    assert len(asked) == 1, "the rest is refused without a wait"
    failed = [each for each in part.skipped_findings if each.failed]
    assert len(failed) > 3
    assert all(f"pid {holder.get_server_pid()} (migrator, role postgres) locks {table}" in each.why for each in failed)


async def test_a_lock_that_is_only_waited_for_names_both(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, eternaltwin: str, lock: Lock
) -> None:
    first = await lock(eternaltwin, "SELECT FROM task")
    second = await lock(eternaltwin, "SELECT")
    waiting = asyncio.create_task(second.execute("LOCK TABLE task IN ACCESS EXCLUSIVE MODE"))
    holder, waiter = first.get_server_pid(), second.get_server_pid()
    while not await eternaltwin_db.value("SELECT count(*) FROM pg_locks WHERE pid = $1 AND NOT granted", waiter):
        await asyncio.sleep(0.01)
    with pytest.raises(LockedError) as caught:
        await reader(workspace).nodes.counts()
    assert f"pid {waiter} (migrator, role postgres) waits" in caught.value.line
    assert f"behind pid {holder} (migrator, role postgres)" in caught.value.line
    await first.execute("ROLLBACK")
    await waiting


async def test_what_a_role_may_not_see_of_the_blocker_names_the_grant(
    server: PostgresServer, eternaltwin: str, lock: Lock, tmp_path: Path
) -> None:
    role = server.unique("role")
    server.sql(
        f"CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}", eternaltwin
    )
    workspace = await opened(server.dsn(eternaltwin.rpartition("/")[2], user=role, password="x"), tmp_path)
    holder = await lock(eternaltwin)
    with pytest.raises(LockedError) as caught:
        await reader(workspace).nodes.counts()
    assert f"pid {holder.get_server_pid()} (migrator, role postgres)" in caught.value.line
    assert f"GRANT pg_monitor TO {role}" in caught.value.line
    await workspace.close()


async def test_a_prepared_transaction_is_named(own_server: PostgresServer, tmp_path: Path) -> None:
    own_server.sql("ALTER SYSTEM SET max_prepared_transactions = 2")
    own_server.halt()
    own_server.start()
    dsn = own_server.fresh("eternaltwin")
    own_server.sql("BEGIN; LOCK TABLE task IN ACCESS EXCLUSIVE MODE; PREPARE TRANSACTION 'left over'", dsn)
    workspace = await opened(dsn, tmp_path)
    with pytest.raises(LockedError, match="prepared transaction left over"):
        await reader(workspace).nodes.counts()
    await workspace.close()


@both_versions
async def test_detection_waits_for_no_lock(server: PostgresServer, lock: Lock, tmp_path: Path) -> None:
    """Functions for sizes, index predicates and constraint definitions lock the table."""
    dsn = server.fresh("agent_jobs")
    holder = await lock(dsn, "LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE")
    workspace = await opened(dsn, tmp_path)
    assert list(workspace.engines) == ["agent_jobs"]
    assert workspace.locked == {"jobs"}
    await holder.execute("ROLLBACK")
    await workspace.detect(renew=True)
    assert list(workspace.engines) == ["agent_jobs"]
    assert not workspace.locked
    await workspace.close()
    server.drop(dsn)


@both_versions
async def test_detection_reads_the_constraints_of_a_locked_table(
    server: PostgresServer, lock: Lock, tmp_path: Path
) -> None:
    """A table of another program with the same columns is no engine, locked or not."""
    dsn = server.fresh("agent_jobs")
    await lock(dsn, "ALTER TABLE jobs DROP CONSTRAINT jobs_status_chk; COMMIT; BEGIN; LOCK TABLE jobs")
    workspace = await opened(dsn, tmp_path)
    assert not workspace.engines
    assert [d.why for d in workspace.declined] == ["no CHECK of jobs names 'pending'"]
    await workspace.close()
    server.drop(dsn)


async def test_an_engine_of_which_nothing_can_be_read_is_an_incident(
    server: PostgresServer, lock: Lock, tmp_path: Path
) -> None:
    dsn = server.fresh("agent_jobs")
    workspace = await opened(dsn, tmp_path)
    workspace.server_findings.settings["table_locked"] = 60.0  # the lock is younger
    holder = await lock(dsn, "LOCK TABLE jobs, agents IN ACCESS EXCLUSIVE MODE")
    unread = (await reader(workspace, "agent_jobs").findings.read()).unread
    problems = await snapshot.server_problems(workspace, (), {"agent_jobs": unread})
    shown = snapshot.incidents(workspace, problems.findings)
    assert [i.code for i in shown] == ["not_read"]
    assert f"pid {holder.get_server_pid()} (migrator, role postgres) locks" in shown[0].sentence
    workspace.server_findings.settings["table_locked"] = 0.0
    problems = await snapshot.server_problems(workspace, (), {"agent_jobs": unread})
    shown = snapshot.incidents(workspace, problems.findings)
    assert [(i.code, [s.code for s in i.symptoms]) for i in shown] == [("table_locked", ["not_read"])]
    await workspace.close()
    server.drop(dsn)


@pytest.mark.parametrize("analyzed", [True, False])
async def test_a_table_that_was_never_analyzed_is_not_taken_for_small(
    server: PostgresServer, eternaltwin: str, tmp_path: Path, analyzed: bool
) -> None:
    server.sql("ALTER TABLE job SET (autovacuum_enabled = false)", eternaltwin)
    insert = (
        "INSERT INTO job SELECT gen_random_uuid(), now(), NULL, repeat('x', 400)::bytea FROM generate_series(1, 30000)"
    )
    server.sql(f"{insert}; SELECT pg_stat_force_next_flush()", eternaltwin)
    if analyzed:
        server.sql("ANALYZE job", eternaltwin)
    workspace = await opened(eternaltwin, tmp_path)
    relations = reader(workspace).detected.relations
    assert relations["job"].blocks > 1024
    assert relations["task"].blocks == 0
    await workspace.close()


@pytest.mark.parametrize("command", most_in_proof(COMMANDS, 2))
async def test_a_locked_table_costs_its_own_engine_alone(all_engines: str, lock: Lock, command: str) -> None:
    whole = await ask(command, "--json", dsn=all_engines)
    assert whole.code == 0
    await lock(all_engines, "LOCK TABLE estuary.tasks IN ACCESS EXCLUSIVE MODE")
    part = await ask(command, "--json", dsn=all_engines)
    assert part.code == 1
    assert "estuary" in part.err
    assert "migrator" in part.err
    assert engines(command, part) == engines(command, whole) - {"estuary"}
    assert "migrator" in (await ask(command, dsn=all_engines)).err, "as text, too"


def engines(command: str, answer: Answer) -> set[str]:
    """Return the labels of the engines in the answer, without "server"."""
    if command == "engines":
        return {s["label"] for s in answer.json["engines"] if s["counts"]}
    if command == "dead":
        return {part["engine"] for part in answer.json["dead"] if part["dead_letters"]}
    return {each["engine"] for each in (answer.json["nodes"] if command == "tree" else answer.findings)} - {"server"}
