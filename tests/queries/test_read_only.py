"""Servers that accept no changes: a standby, and one that is set to read-only."""

from __future__ import annotations

from pathlib import Path

import pytest

from queries.db import database
from queries.records.action import Outcome
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.builders import do, dry_run_of, opened, outcomes_of, reader, why
from tests.servers import PostgresServer, both_versions

CHANGED, REFUSED = Outcome.CHANGED, Outcome.REFUSED
FORBID = "ALTER {what} SET default_transaction_read_only = on"


@both_versions
@pytest.mark.parametrize("what", ["DATABASE {database}", "ROLE {role}", "ROLE {role} IN DATABASE {database}"])
async def test_no_changes_where_transactions_are_read_only_by_default(
    eternaltwin_db: EternaltwinDb, server: PostgresServer, eternaltwin: str, tmp_path: Path, what: str
) -> None:
    """The setting also applies to open consoles, and ends for them when it is reset."""
    task = eternaltwin_db.id(await eternaltwin_db.task(status="Blocked", timer=60))
    role, name = server.unique("role"), eternaltwin.rpartition("/")[2]
    server.sql(f"CREATE ROLE {role} LOGIN SUPERUSER PASSWORD 'x'")
    dsn = server.dsn(name, user=role, password="x")
    changed = what.format(database=name, role=role)
    workspace = await opened(dsn, tmp_path)
    overriding = await opened(dsn, tmp_path, override_read_only=True)
    (action,) = [v for v in reader(workspace).engine.actions_of("task") if v.name == "wake"]
    assert reader(workspace).availability(action).ok

    server.sql(FORBID.format(what=changed))
    for one in (workspace, overriding, late := await opened(dsn, tmp_path)):
        await one.database.renew()
        assert one.server.read_only
        assert reader(one).availability(action).ok == (one is overriding)
    outcomes = await do(late, "wake", [task])
    assert outcomes_of(outcomes) == {task: REFUSED}
    assert why(outcomes, task) == database.FORBIDDEN
    assert outcomes_of(await dry_run_of(overriding, "wake", [task])) == {task: CHANGED}

    server.sql(f"ALTER {changed} RESET default_transaction_read_only")
    assert outcomes_of(await dry_run_of(late, "wake", [task])) == {task: CHANGED}, "asked again before it is refused"
    for one in (workspace, overriding, late):
        await one.database.renew()
        assert reader(one).availability(action).ok
        await one.close()
    server.sql(f"DROP ROLE {role}")


async def test_what_another_client_of_a_pooler_has_set_is_not_the_servers(
    eternaltwin_db: EternaltwinDb, eternaltwin: str
) -> None:
    db = database.Database(eternaltwin)
    await db.renew()
    await db._connections["read"].execute("SET default_transaction_read_only = on", 60)
    await db.renew()
    assert db.server is not None
    assert not db.server.read_only
    await db.close()
