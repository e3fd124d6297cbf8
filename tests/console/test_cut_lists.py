"""A list that is cut says so, in the same words wherever it is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from queries.workspace import Workspace
from tests.command import unstick
from tests.console.tui_driver import run_tui
from tests.db.agent_jobs import AgentJobsDb
from tests.db.estuary import EstuaryDb
from tests.db.eternaltwin import EternaltwinDb
from tests.servers import PostgresServer

ONLY = "only 500 users were read"


@pytest.fixture(autouse=True)
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """No table is so small that scans of it cost nothing."""
    monkeypatch.setattr("queries.contract.detect.SMALL_TABLE_BLOCKS", -1)


@pytest.fixture
def jobs(server: PostgresServer) -> Iterator[str]:
    """An empty database of agent_jobs."""
    dsn = server.fresh("agent_jobs")
    yield dsn
    server.drop(dsn)


async def users(dsn: str, number: int) -> None:
    """Add ``number`` users, each with a waiting job and a failed one."""
    agent_jobs_db = await AgentJobsDb.open(dsn)
    await agent_jobs_db.job()
    await agent_jobs_db.job("failed", ended=1, error="boom")
    columns = "job_id, agent_id, status, error, created_at, completed_at, updated_at"
    await agent_jobs_db.sql(
        f"INSERT INTO jobs (id, user_id, {columns})"
        f" SELECT gen_random_uuid(), md5(i::text)::uuid, i || job_id, {columns.partition(', ')[2]}"
        f" FROM jobs, generate_series(2, {number}) AS i"
    )
    await agent_jobs_db.sql("ANALYZE jobs")
    await agent_jobs_db.connection.close()


@pytest.mark.parametrize("number", [499, 500])
async def test_of_more_users_than_are_looked_at(jobs: str, tmp_path: Path, number: int) -> None:
    await users(jobs, number)
    async with run_tui(jobs, tmp_path) as tui:
        await tui.wait_for("● live")
        await tui.press("l")
        await tui.wait_for(f"unfinished, {ONLY if number == 500 else 'most urgent first'}", "pending")
        await tui.press("3")
        text = await tui.wait_for("failed: boom", "dead letters in 1")
        assert (ONLY in text) == (number == 500)


def test_the_commands_say_it_too(jobs: str) -> None:
    asyncio.run(users(jobs, 500))
    answer = unstick("tree", "--live", "--limit", "1000", dsn=jobs)
    assert f"There may be more in agent_jobs: {ONLY}." in answer.err
    assert unstick("tree", "--live", "--json", dsn=jobs).json["scope"] == f"agent_jobs: {ONLY}"
    assert f"There may be more: {ONLY}." in unstick("dead", dsn=jobs).out


async def test_a_list_without_an_index_names_its_limit(
    server: PostgresServer, eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.sql(
        "INSERT INTO task (task_id, job_id, kind, kind_version, created_at, revision, status, cpu_duration,"
        " poll_duration, state) SELECT gen_random_uuid(), $1, 'Shard', 1, now(), 0, 'Available', '0', '0', ''"
        " FROM generate_series(1, 5001)",
        await eternaltwin_db.job(),
    )
    workspace = await Workspace(eternaltwin, file=tmp_path / "audit_log").open()
    page = await workspace.engines["eternaltwin"].pages.live(limit=6000)
    assert (len(page.nodes), page.scope) == (5000, "the first 5,000 tasks that were never polled")
    await workspace.close()
    dsn = server.fresh("estuary")
    estuary_db = await EstuaryDb.open(dsn)
    await estuary_db.task()
    workspace = await Workspace(dsn, file=tmp_path / "audit_log").open()
    assert (await workspace.engines["estuary"].pages.live()).scope == "tasks with a wake_at"
    await workspace.close()
    await estuary_db.connection.close()
    server.drop(dsn)
