"""Triggers of applications that name tables without a schema."""

from __future__ import annotations

from pathlib import Path

import pytest

from queries.db.errors import DatabaseError
from queries.records.action import Outcome
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.builders import committed, dry_run_of, opened, outcomes_of
from tests.servers import both_versions

NOTE = (
    "CREATE TABLE {schema}.note (at timestamptz); CREATE FUNCTION take_note() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN INSERT INTO note VALUES (now()); RETURN NEW; END $$;"
    "CREATE TRIGGER take_note AFTER UPDATE ON task FOR EACH ROW EXECUTE FUNCTION take_note()"
)


@both_versions
@pytest.mark.parametrize("schema", ["public", "app"])
async def test_a_trigger_finds_tables_on_the_path_of_its_role(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, schema: str
) -> None:
    await eternaltwin_db.sql("REVOKE CREATE ON SCHEMA public FROM PUBLIC")  # the default before PostgreSQL 15
    if schema == "app":
        database = eternaltwin.rpartition("/")[2]
        await eternaltwin_db.sql(f'CREATE SCHEMA app; ALTER DATABASE {database} SET search_path = "$user", app, public')
    await eternaltwin_db.sql(NOTE.format(schema=schema))
    node = eternaltwin_db.id(await eternaltwin_db.task(status="Blocked", timer=-600))
    workspace = await opened(eternaltwin, tmp_path)
    dry_run = await dry_run_of(workspace, "wake", [node])
    assert outcomes_of(dry_run) == {node: Outcome.CHANGED}, dry_run.results
    assert [(other.table, other.inserted) for other in dry_run.others] == [(f"{schema}.note", 1)]
    assert outcomes_of(await committed(workspace, dry_run)) == {node: Outcome.CHANGED}
    assert await eternaltwin_db.value(f"SELECT count(*) FROM {schema}.note") == 1
    await workspace.close()


async def test_the_error_names_the_function_where_strangers_could_make_the_table(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.sql("GRANT CREATE ON SCHEMA public TO PUBLIC")
    await eternaltwin_db.sql(NOTE.format(schema="public"))
    node = eternaltwin_db.id(await eternaltwin_db.task(status="Blocked", timer=-600))
    workspace = await opened(eternaltwin, tmp_path)
    with pytest.raises(DatabaseError, match=r"take_note\(\)") as error:
        await dry_run_of(workspace, "wake", [node])
    assert "wake" not in str(error.value)
    await workspace.close()
