"""Errors that name what is missing, without words of the driver."""

from __future__ import annotations

from pathlib import Path

import asyncpg
import pytest

from queries.db.database import Database, driver_errors
from queries.db.errors import DatabaseError, DeniedError, LostError, UnreachableError, connection_error, statement_error
from queries.records.action import Outcome
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.builders import dry_run_of, opened, outcomes_of, reader, why
from tests.servers import PostgresServer


async def test_a_role_without_connect_sees_that_it_is_missing(server: PostgresServer, eternaltwin: str) -> None:
    role, name = server.unique("role"), eternaltwin.rpartition("/")[2]
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'; REVOKE CONNECT ON DATABASE {name} FROM PUBLIC")
    refused = Database(server.dsn(name, user=role, password="x"))
    with pytest.raises(DatabaseError) as error:
        await refused.renew()
    assert not isinstance(error.value, UnreachableError), "another attempt does not help"
    assert "GRANT CONNECT" in str(error.value)
    assert "starting" not in str(error.value)


@pytest.mark.parametrize(("code", "later"), [("57P03", True), ("53300", True), ("", True), ("55000", False)])
def test_only_a_refusal_that_passes_is_tried_again(code: str, later: bool) -> None:
    assert isinstance(connection_error(code, "reason", "target"), UnreachableError) == later


async def test_a_denied_column_is_named(server: PostgresServer, eternaltwin: str, tmp_path: Path) -> None:
    role = server.unique("role")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    server.sql(
        f"GRANT SELECT ON job, task_timer TO {role}; GRANT SELECT (task_id, job_id) ON task TO {role}", eternaltwin
    )
    workspace = await opened(server.dsn(eternaltwin.rpartition("/")[2], user=role, password="x"), tmp_path)
    with pytest.raises(DeniedError, match=r"may not read these columns: .*status.* of task"):
        await reader(workspace).pages.live()
    await workspace.close()


@pytest.mark.parametrize("error", [asyncpg.InternalClientError("cannot switch to state 12; another operation (2)")])
def test_the_words_of_the_driver_are_not_shown(error: Exception) -> None:
    with pytest.raises(LostError) as lost, driver_errors():
        raise error
    assert "state 12" not in str(lost.value)
    assert str(lost.value).startswith("No answer came from the server in time.")


async def test_a_full_disk_names_the_node(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object) -> None:
        raise statement_error("53100", "could not extend file: No space left on device")

    task = eternaltwin_db.id(await eternaltwin_db.task())
    workspace = await opened(eternaltwin, tmp_path)
    monkeypatch.setattr("queries.change.transaction.make", full)
    dry_run = await dry_run_of(workspace, "cancel", [task])
    assert outcomes_of(dry_run) == {task: Outcome.REFUSED}
    assert "disk is full" in why(dry_run, task)
    await workspace.close()
