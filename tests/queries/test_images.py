"""Images of rows: what is kept of them, and the statements that read them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from queries.change.images import ROW_IMAGE_BYTES
from queries.files.statement import with_parts
from queries.log import audit_log
from queries.records.action import NOT_KEPT, SET, Outcome
from queries.records.images import Images, RowImage, StoredImages, TableImages
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.builders import do, opened, outcomes_of, undone
from tests.servers import PostgresServer

CHANGED = Outcome.CHANGED
LISTS = ("ids", "versions")
HOSTILE = ("{rest}", "{texts}", "{more}", "{images}", 'it\'s "odd" $1 :ids ', "back\\slash", "é\u2028", "%s")


async def waiting(db: EternaltwinDb) -> list[str]:
    return sorted([db.id(await db.task(status="Blocked", timer=3600)) for _ in range(3)])


@pytest.mark.parametrize("images", [True, False])
async def test_a_context_that_keeps_no_values(
    server: PostgresServer, eternaltwin: str, eternaltwin_db: EternaltwinDb, tmp_path: Path, images: bool
) -> None:
    """The dry run shows the rows, and the log has the names of the columns alone."""
    server.sql(audit_log.ddl(), eternaltwin)
    workspace = await opened(eternaltwin, tmp_path, images=images)
    ids = await waiting(eternaltwin_db)
    done = await do(workspace, "wake", ids)
    assert outcomes_of(done) == dict.fromkeys(ids, CHANGED)
    assert await eternaltwin_db.value("SELECT count(*) FROM unstick.audit_images") == int(images)
    ((entry, *_), _) = await workspace.audit_log.page()
    assert ({v for c in entry.changes for v in (c.before or {}).values()} == {NOT_KEPT}) is not images
    assert {v for c in entry.changes for v in (c.after or {}).values()} == ({"Available"} if images else {SET})
    await workspace.close()


async def test_names_of_columns_are_data(
    server: PostgresServer, eternaltwin: str, eternaltwin_db: EternaltwinDb, tmp_path: Path
) -> None:
    """The columns of ``task_timer`` are read whole, and those of ``task`` compared."""
    server.sql(audit_log.ddl(), eternaltwin)
    for table in ("task", "task_timer"):
        for number, name in enumerate(HOSTILE):
            quoted = '"' + name.replace('"', '""') + '"'
            await eternaltwin_db.sql(f"ALTER TABLE {table} ADD COLUMN {quoted} text DEFAULT '{number}\"''\\\n\u2028'")
    workspace = await opened(eternaltwin, tmp_path)
    ids = await waiting(eternaltwin_db)
    before = await eternaltwin_db.rows("task_timer", xmin=False)
    done = await do(workspace, "wake", ids)
    assert outcomes_of(done) == dict.fromkeys(ids, CHANGED)
    gone = [c.before or {} for c in done.changes if c.table == "task_timer"]
    assert [row[HOSTILE[0]] for row in gone] == ["0\"'\\\n\u2028"] * 3
    assert outcomes_of(await undone(workspace, done)) == dict.fromkeys(ids, CHANGED)
    assert await eternaltwin_db.rows("task_timer", xmin=False) == before
    await workspace.close()


def test_a_size_that_was_kept_as_the_value_is_not_restored() -> None:
    rows = tuple(
        RowImage(id=f"job:{n}", key=(str(n),), before={"error": text}, after="", xmin="7")
        for n, text in enumerate((f"{ROW_IMAGE_BYTES + 1} {'ab' * 16}", f"5 {'ab' * 16}", None))
    )
    table = TableImages(table="jobs", key=("id",), columns=("id", "error"), others=(), rows=rows)
    text = msgspec.json.encode(Images(tables=(table,)))
    entry = {"role": "operator", "engine": "agent_jobs", "schema": "public", "others": ""}
    kept = StoredImages.of(entry, text, intact=True)
    assert kept.images.incomplete.keys() == {"job:0"}
    assert [row.id for row in kept.images.tables[0].rows] == ["job:1", "job:2"]


def test_a_part_of_a_statement_keeps_its_braces() -> None:
    parts = {"rows": 'SELECT "{table}"', "table": "task"}
    assert with_parts("{rows} FROM {table}, {other}", parts) == 'SELECT "{table}" FROM task, {other}'
