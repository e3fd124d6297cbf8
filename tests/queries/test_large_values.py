"""Values that are too large to be copied: actions on their rows succeed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from queries.change import images as image_reader
from queries.log import audit_log
from queries.records.action import Outcome
from queries.workspace import Workspace
from tests.db.agent_jobs import AgentJobsDb
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.builders import committed, dry_run_of, opened, outcomes_of, seen, undone
from tests.servers import PostgresServer

LARGE = 110_000_000
TIME_FACTOR = 6.0  # the machine of a test may be busy
COLUMNS = {
    "notes": ("text", "repeat('x', {})"),
    "doc": ("jsonb", "jsonb_build_object('a', repeat('x', {}))"),
    "raw": ("bytea", "decode(repeat('ab', {}), 'hex')"),
    "list": ("text[]", "ARRAY[repeat('x', {})]"),
}


@pytest.mark.parametrize("size", [3_000_000, pytest.param(LARGE, marks=pytest.mark.proof)])
@pytest.mark.parametrize("column", COLUMNS)
async def test_a_row_with_a_large_value_is_changed_and_deleted(
    server: PostgresServer, table: Workspace, agent_jobs_db: AgentJobsDb, column: str, size: int
) -> None:
    """Only the size and a digest of the value are copied, and the dry run says so."""
    server.sql(audit_log.ddl(), agent_jobs_db.dsn)
    type_, value = COLUMNS[column]
    job = await agent_jobs_db.job("failed", age=90000, started=89990, ended=89980)
    await agent_jobs_db.connection.execute(f"ALTER TABLE jobs ADD COLUMN {column} {type_}")
    await agent_jobs_db.connection.execute(f"UPDATE jobs SET {column} = {value.format(size)}")
    await table.detect()
    table.database.patience = TIME_FACTOR
    node = agent_jobs_db.id(job)
    retried = await committed(table, await dry_run_of(table, "retry", [node], label="agent_jobs"))
    assert outcomes_of(retried) == {node: Outcome.CHANGED}
    assert outcomes_of(await undone(table, retried)) == {node: Outcome.CHANGED}
    dry_run = await dry_run_of(table, "delete", [node], label="agent_jobs")
    (change,) = [c for c in dry_run.changes if c.table == "jobs"]
    assert " bytes, md5 " in change.before[column], change.before
    assert len(msgspec.json.encode(dry_run)) < 100_000
    assert column in dry_run.irreversible[node]
    assert outcomes_of(await committed(table, dry_run)) == {node: Outcome.CHANGED}
    assert await agent_jobs_db.row(job) is None


@pytest.mark.parametrize("size", [3_000_000, pytest.param(LARGE, marks=pytest.mark.proof)])
async def test_a_task_with_a_large_state_is_woken_and_its_job_deleted(
    server: PostgresServer, eternaltwin: str, eternaltwin_db: EternaltwinDb, tmp_path: Path, size: int
) -> None:
    await eternaltwin_db.sql("CREATE INDEX ON task (job_id); CREATE INDEX ON task_timer (task_id)")
    server.sql(audit_log.ddl(), eternaltwin)
    job = await eternaltwin_db.job()
    task = await eternaltwin_db.task(job, timer=30, status="Blocked")
    await eternaltwin_db.sql(f"UPDATE task SET state = decode(repeat('ab', {size}), 'hex')")
    workspace = await opened(eternaltwin, tmp_path)
    workspace.database.patience = TIME_FACTOR
    for action, node in (("wake", eternaltwin_db.id(task)), ("delete", eternaltwin_db.id(job, "job"))):
        done = await committed(workspace, await dry_run_of(workspace, action, [node]))
        assert outcomes_of(done) == {node: Outcome.CHANGED}, done
    await workspace.close()


async def test_a_change_of_a_large_value_is_noticed(
    table: Workspace, agent_jobs_db: AgentJobsDb, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The digests of the dry run and of the commit differ, with a limit of 100 bytes."""
    monkeypatch.setattr(image_reader, "ROW_IMAGE_BYTES", 100)
    job = await agent_jobs_db.job("failed", age=90000, started=89990, ended=89980, error="a" * 200)
    node = agent_jobs_db.id(job)
    versions = await seen(table, [node], "agent_jobs")
    dry_run = await dry_run_of(table, "delete", versions, label="agent_jobs")
    (change,) = [c for c in dry_run.changes if c.table == "jobs"]
    assert change.before["error"].startswith("200 bytes, md5 ")
    await agent_jobs_db.connection.execute("UPDATE jobs SET error = repeat('b', 200)")
    assert outcomes_of(await committed(table, dry_run)) == {node: Outcome.STALE}


async def test_images_of_bytea_have_the_digest_of_its_text(table: Workspace, agent_jobs_db: AgentJobsDb) -> None:
    """Images in the audit log have it, and an undo compares them."""
    await agent_jobs_db.job("failed")
    await agent_jobs_db.connection.execute("ALTER TABLE jobs ADD COLUMN raw bytea")
    await agent_jobs_db.connection.execute("UPDATE jobs SET raw = decode(repeat('ab', 600000), 'hex')")
    place, expected, rest = await agent_jobs_db.connection.fetchrow(
        "SELECT ctid::text, '1200002 bytes, md5 ' || md5(raw::text), md5(ROW(md5(raw::text))::text) FROM jobs"
    )
    schema = table.engines["agent_jobs"].detected.schema
    async with table.database.reading() as transaction:

        async def read(columns: list[str]) -> tuple[image_reader.Layout, image_reader.RowText]:
            reader = image_reader.ImageReader(table.database, schema, columns)
            await reader.learn(transaction, ["jobs"])
            layout = reader.layouts["jobs"]
            located = image_reader.RowsRead(unknown=[("", layout.oid, place)])
            (row,) = (await reader.completed(transaction, located)).rows.values()
            return layout, row

        layout, row = await read(["jobs.*"])
        assert image_reader.read(row.texts[layout.columns.index("raw")]) == expected
        layout, row = await read([f"jobs.{c}" for c in layout.columns if c not in ("raw", "id")])
        assert layout.others == ("raw",)
        assert row.rest == rest
