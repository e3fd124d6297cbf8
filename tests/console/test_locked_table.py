"""A console that runs while a table of one engine is locked: it says so, and goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from tests.console.stage import Stage, staged
from tests.servers import TestbedServer, together


@pytest.fixture
async def two(server: TestbedServer) -> AsyncIterator[str]:
    """DSN of a database with the demo's data of agent_jobs and eternaltwin; nobody is at work."""
    dsn = await together(server, "agent_jobs", "eternaltwin")
    yield dsn
    server.drop(dsn)


def line(stage: Stage, label: str) -> str:
    """The header's line of an engine."""
    return next((each for each in stage.text.splitlines()[1:6] if each[3:].startswith(label)), "")


async def migration(dsn: str, table: str) -> asyncpg.Connection:  # type: ignore[type-arg]
    connection = await asyncpg.connect(dsn, server_settings={"application_name": "migrator"})
    await connection.execute(f"BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
    return connection


async def test_a_table_that_is_locked_while_the_console_runs(two: str, tmp_path: Path) -> None:
    async with staged(two, tmp_path, size=(160, 40)) as stage:
        await stage.until(lambda: stage.text.count(" stuck") >= 2 and "counting" not in stage.text)
        shown = line(stage, "agent_jobs")
        holder = await migration(two, "agent_jobs.jobs")
        await stage.until(lambda: "not read" in line(stage, "agent_jobs"))
        await stage.until(f"pid {holder.get_server_pid()} (migrator, role postgres)")
        assert "not read" not in line(stage, "eternaltwin")
        assert (
            line(stage, "agent_jobs").split("not read")[0].split()
            == shown.split()[: len(line(stage, "agent_jobs").split("not read")[0].split())]
        )
        await stage.until(lambda: "+ stuck" in line(stage, "agent_jobs"))
        for key in ("2", "3", "1", "tab"):
            await stage.press(key)
        await stage.until(lambda: "▸" in line(stage, "eternaltwin"))
        await holder.execute("ROLLBACK")
        await holder.close()
        await stage.until(
            lambda: "not read" not in line(stage, "agent_jobs"), lambda: "+ stuck" not in line(stage, "agent_jobs")
        )


async def test_an_engine_whose_table_was_locked_at_the_start_comes_when_it_is_free(two: str, tmp_path: Path) -> None:
    holder = await migration(two, "agent_jobs.jobs")
    async with staged(two, tmp_path, size=(160, 40)) as stage:
        await stage.until("eternaltwin", "● live", lambda: not line(stage, "agent_jobs"))
        await stage.press("question_mark")
        await stage.until("Keys everywhere")
        await stage.press("end")
        await stage.until("agent_jobs", "another session locks jobs")
        await stage.press("1")
        await holder.execute("ROLLBACK")
        await holder.close()
        await stage.press("r")
        await stage.until(lambda: "failed" in line(stage, "agent_jobs"))


@pytest.mark.parametrize("key", ["1", "2"])
async def test_nothing_is_called_healthy_that_could_not_be_read(two: str, tmp_path: Path, key: str) -> None:
    holder = await migration(two, "eternaltwin.task")
    await holder.execute("DELETE FROM agent_jobs.jobs")
    await holder.execute("COMMIT; BEGIN; LOCK TABLE eternaltwin.task IN ACCESS EXCLUSIVE MODE")
    async with staged(two, tmp_path, size=(160, 40)) as stage:
        await stage.press(key)
        await stage.until(lambda: stage.app.session.findings_loaded and "stuck" in line(stage, "eternaltwin"))
        await stage.until(lambda: "nothing stuck" in line(stage, "agent_jobs"))
        assert "0+ stuck" in line(stage, "eternaltwin")
        assert "Nothing is stuck" not in stage.text
    await holder.close()
