"""Reads and actions by a role that may not call pg_control_system() and others."""

from __future__ import annotations

from pathlib import Path

import pytest

from queries.change import loop
from queries.records.action import Durability, Outcome
from queries.workspace import Workspace
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.builders import OPERATOR, dry_run_of, outcomes_of
from tests.servers import PostgresServer, both_versions

FUNCTIONS = ["pg_control_system()", "pg_control_checkpoint()", "pg_control_recovery()"]


@both_versions
async def test_the_identifier_is_the_servers(
    server: PostgresServer, eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    workspace = await Workspace(eternaltwin, file=tmp_path / "audit_log.jsonl").open()
    ((known,),) = await eternaltwin_db.connection.fetch("SELECT system_identifier::text FROM pg_control_system()")
    assert workspace.server.system_identifier == known
    assert workspace.server.timeline == 1
    await workspace.close()


@both_versions
@pytest.mark.parametrize("function", FUNCTIONS)
async def test_revoked_control_functions(
    server: PostgresServer, eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, function: str
) -> None:
    role = server.unique("op")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    await eternaltwin_db.sql(f"REVOKE EXECUTE ON FUNCTION {function} FROM PUBLIC")
    await eternaltwin_db.sql(f"GRANT SELECT, UPDATE, DELETE ON job, task, task_timer TO {role}")
    task = await eternaltwin_db.task()
    dsn = server.dsn(eternaltwin.rpartition("/")[2], user=role, password="x")
    workspace = await Workspace(dsn, file=tmp_path / "audit_log.jsonl").open()
    try:
        assert workspace.server.system_identifier == f"at {workspace.server.host}:{workspace.server.port}"
        assert workspace.server.timeline is None
        dry_run = await dry_run_of(workspace, "cancel", [eternaltwin_db.id(task)])
        outcomes = await loop.commit(workspace, dry_run, OPERATOR)
        assert outcomes_of(outcomes) == {eternaltwin_db.id(task): Outcome.CHANGED}
        (entry,), _ = await workspace.audit_log.page()
        assert entry.origin is not None
    finally:
        await workspace.close()
        await eternaltwin_db.sql(f"DROP OWNED BY {role}")
        server.sql(f"DROP ROLE {role}")


async def test_a_revoked_function_about_standbys_stops_no_action(
    server: PostgresServer, eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    """The durability of an unknown standby: a failover may lose the change."""
    role = server.unique("op")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    await eternaltwin_db.sql("REVOKE EXECUTE ON FUNCTION pg_stat_get_wal_senders() FROM PUBLIC")
    await eternaltwin_db.sql(f"GRANT SELECT, UPDATE, DELETE ON job, task, task_timer TO {role}")
    task = await eternaltwin_db.task()
    dsn = server.dsn(eternaltwin.rpartition("/")[2], user=role, password="x")
    workspace = await Workspace(dsn, file=tmp_path / "audit_log.jsonl").open()
    try:
        dry_run = await dry_run_of(workspace, "cancel", [eternaltwin_db.id(task)])
        outcomes = await loop.commit(workspace, dry_run, OPERATOR)
        assert outcomes_of(outcomes) == {eternaltwin_db.id(task): Outcome.CHANGED}
        assert outcomes.durability is Durability.ASYNCHRONOUS
    finally:
        await workspace.close()
        await eternaltwin_db.sql(f"DROP OWNED BY {role}")
        server.sql(f"DROP ROLE {role}")
