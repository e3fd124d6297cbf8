"""Engines that no check reads are named, and never called free of problems."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from console.cli.stuck import read
from queries import workspace as workspaces
from queries.model import Stuck
from tests.command import unstick
from tests.console.tui_driver import run_tui
from tests.queries.builders import opened
from tests.servers import PostgresServer, all_engines_database

RENAMED = "ALTER SCHEMA eternaltwin RENAME TO moved"
DECLINED = "ALTER TABLE eternaltwin.task ALTER state TYPE text USING ''"


@pytest.fixture
async def two(server: PostgresServer) -> str:
    """The DSN of a database with two engines, each in its schema."""
    return await all_engines_database(server, "eternaltwin", "uni2work")


def test_a_declined_engine_is_named_everywhere(two: str, server: PostgresServer) -> None:
    server.sql(DECLINED, two)
    text = unstick("stuck", dsn=two)
    assert text.code == 1
    assert "eternaltwin: not checked: anything: declined in schema eternaltwin: " in text.err
    assert "Nothing is stuck" not in text.out
    answer = json.loads(unstick("--json", "stuck", dsn=two).out)
    assert [e["engine"] for e in answer["skipped_findings"] if e["code"] == "anything"] == ["eternaltwin"]
    metrics = unstick("metrics", dsn=two)
    assert metrics.code == 1
    assert "eternaltwin anything: declined in schema eternaltwin" in metrics.err
    one = unstick("stuck", "--engine", "uni2work", dsn=two)
    assert "declined" not in one.err
    server.drop(two)


async def test_an_engine_that_moves_is_noticed(
    two: str, server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = await opened(two, tmp_path)
    full = {reader.found.full for reader in workspace.engines.values()}
    server.sql(RENAMED, two)
    await workspace.detect_again()
    assert {reader.found.full for reader in workspace.engines.values()} == full, "the last detection is recent"
    monkeypatch.setattr(workspaces, "DETECTED", 0.0)
    await workspace.detect_again()
    assert {reader.found.schema for reader in workspace.engines.values()} > {"moved"}
    server.sql("DROP SCHEMA moved CASCADE", two)
    await workspace.detect_again()
    assert list(workspace.engines) == ["uni2work"]
    await workspace.close()
    server.drop(two)


async def test_no_engine_is_nothing_checked(server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh()
    workspace = await opened(dsn, tmp_path)
    answer, notes = await read(workspace, (), 10, 0.0)
    assert isinstance(answer, Stuck)
    assert "holds no task engine" in notes[0]
    await workspace.close()
    async with run_tui(dsn, tmp_path) as tui:
        await tui.press("2")
        await tui.wait_for("Nothing was checked.")
        assert "Nothing is stuck" not in tui.text
    server.drop(dsn)
