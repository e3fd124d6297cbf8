"""Engines that no check reads are named, and never called free of problems."""

from __future__ import annotations

import json
import re
from pathlib import Path

import asyncpg
import pytest
from click import UsageError

from console.cli.output import Output
from console.cli.repeat import repeat
from console.cli.stuck import read
from console.cli.target import select_readers
from queries import workspace as workspaces
from queries.records.action import Proof
from queries.records.finding import Finding, Findings
from queries.snapshot import of_engines
from tests.command import unstick
from tests.console.tui_driver import run_tui
from tests.queries.builders import opened
from tests.servers import PostgresServer, all_engines_database, install

RENAMED = "ALTER SCHEMA eternaltwin RENAME TO moved"
HIDDEN = "ALTER TABLE eternaltwin.task RENAME TO other; ALTER TABLE eternaltwin.job RENAME TO others"
BACK = "ALTER TABLE eternaltwin.other RENAME TO task; ALTER TABLE eternaltwin.others RENAME TO job"
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
    assert "eternaltwin: not checked: anything: declined in schema eternaltwin: " in metrics.err
    one = unstick("stuck", "--engine", "uni2work", dsn=two)
    assert "declined" not in one.err
    for command in ("tree", "dead"):
        answer = unstick(command, "--json", dsn=two)
        assert answer.code == 1
        assert "eternaltwin: declined in schema eternaltwin: " in answer.err
        assert "declined in schema eternaltwin" in answer.out
        assert "declined" not in unstick(command, "--engine", "uni2work", dsn=two).err
    assert "eternaltwin in schema eternaltwin" in unstick("info", "--json", dsn=two).json["declined"]
    assert "eternaltwin in schema eternaltwin: " in unstick("info", dsn=two).out
    alone = unstick("metrics", "--engine", "uni2work", dsn=two)
    assert (alone.code, "declined" in alone.err, 'engine="eternaltwin"' in alone.out) == (0, False, False)
    server.drop(two)


async def test_metrics_of_one_engine_have_no_cause_of_another(two: str, server: PostgresServer, tmp_path: Path) -> None:
    server.sql(DECLINED, two)
    workspace = await opened(two, tmp_path)
    made = [
        Finding(
            engine="server",
            node_id=f"server/session:{n}",
            code="transactions_fail",
            title="",
            sentence="",
            severity=5,
            proof=Proof.VERIFIED,
            since=None,
            affects=labels,
        )
        for n, labels in enumerate([("eternaltwin",), ("uni2work", "eternaltwin"), ()])
    ]
    problems = Findings(findings=tuple(made), at=0.0, skipped_findings=workspace.not_checked)
    alone = of_engines(workspace, problems, {"uni2work"})
    assert (alone.findings, alone.skipped_findings) == ((made[1],), ())
    assert len(problems.skipped_findings) == 1
    await workspace.close()
    server.drop(two)


async def test_watch_survives_that_its_engine_moves(
    two: str, server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspaces, "DETECTION_KEPT_SECONDS", 0.0)
    workspace = await opened(two, tmp_path)
    codes: list[str] = []
    (label,) = (each for each in workspace.engines if each.startswith("eternaltwin"))

    async def once() -> int:
        try:
            readers = list(select_readers(workspace, label))
        except UsageError:
            codes.append("gone")
            server.sql(BACK, two)
            raise
        answer, _ = await read(workspace, readers, 10, 0.0, whole=False)
        assert all(each.engine != "eternaltwin" for each in answer.skipped_findings if each.failed)
        codes.append("read")
        if codes == ["read"]:
            server.sql(HIDDEN, two)
        output.closed = codes[-2:] == ["gone", "read"]
        return 0

    output = Output(json=True)
    output.repeated = True
    assert await repeat(workspace, output, 0.01, once, clear=False) == 0
    assert codes == ["read", "gone", "read"]
    await workspace.close()
    server.drop(two)


async def test_a_running_console_shows_an_engine_that_appears(
    two: str, server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.sql(HIDDEN, two)
    async with run_tui(two, tmp_path) as tui:
        await tui.wait_for("live", "uni2work")
        assert "eternaltwin" not in tui.app.session.engines
        server.sql(BACK, two)
        monkeypatch.setattr(workspaces, "DETECTION_KEPT_SECONDS", 0.0)
        await tui.wait_for("eternaltwin")
    server.drop(two)


async def test_an_engine_that_moves_is_noticed(
    two: str, server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = await opened(two, tmp_path)
    full = {reader.detected.full for reader in workspace.engines.values()}
    server.sql(RENAMED, two)
    await workspace.detect_again()
    assert {reader.detected.full for reader in workspace.engines.values()} == full, "the last detection is recent"
    monkeypatch.setattr(workspaces, "DETECTION_KEPT_SECONDS", 0.0)
    await workspace.detect_again()
    assert {reader.detected.schema for reader in workspace.engines.values()} > {"moved"}
    server.sql("DROP SCHEMA moved CASCADE", two)
    await workspace.detect_again()
    assert list(workspace.engines) == ["uni2work"]
    await workspace.close()
    server.drop(two)


async def test_ids_stay_when_another_schema_gets_the_same_engine(
    two: str, server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspaces, "DETECTION_KEPT_SECONDS", 0.0)
    workspace = await opened(two, tmp_path)
    (node, *_) = (await workspace.engines["uni2work"].pages.live(None, 10)).nodes
    connection = await asyncpg.connect(two, server_settings={"search_path": "tenant"})
    await connection.execute("CREATE SCHEMA tenant")
    await install(connection, "uni2work")
    await connection.close()
    await workspace.detect_again()
    assert {label for label in workspace.engines if "uni2work" in label} == {"uni2work", "uni2work@tenant"}
    assert [each.id for each in (await workspace.reader(node.id).nodes.read([node.id])).nodes] == [node.id]
    server.sql(f"DROP SCHEMA {workspace.engines['uni2work'].detected.schema} CASCADE", two)
    await workspace.detect_again()
    assert [label for label in workspace.engines if "uni2work" in label] == ["uni2work@tenant"]
    await workspace.close()
    later = await opened(two, tmp_path)
    assert [label for label in later.engines if "uni2work" in label] == ["uni2work"]
    await later.close()
    server.drop(two)


async def test_no_engine_is_nothing_checked(server: PostgresServer, tmp_path: Path) -> None:
    dsn, other = server.fresh(), server.fresh()
    workspace = await opened(dsn, tmp_path)
    now, notes = await read(workspace, (), 10, 0.0)
    assert now.incidents == ()
    assert "holds no task engine" in notes[0]
    await workspace.close()
    async with run_tui(dsn, tmp_path) as tui:
        await tui.press("2")
        await tui.wait_for("contains no tables", "Is it the right one?", "● live")
        await tui.wait_for("graphile_worker, oban", "Other databases of its server: ")
    server.drop(other)
    server.sql("CREATE TABLE people (id int8 PRIMARY KEY)", dsn)
    async with run_tui(dsn, tmp_path) as tui:
        await tui.press("2")
        await tui.wait_for("contains no known task engine", "Looked for oban", "unstick engine new TABLE", "● live")
        assert [word for word in ("critical", "not checked", "show in tree") if word in tui.text] == []
    server.drop(dsn)


def test_many_schemas_that_are_declined_for_one_reason_are_one_line(server: PostgresServer) -> None:
    dsn = server.fresh("uni2work")
    table = (
        "jobs (id uuid, job_id varchar, agent_id uuid, user_id uuid, status int, error text, created_at timestamptz)"
    )
    for n in range(12):
        server.sql(f"CREATE SCHEMA copy_{n}; CREATE TABLE copy_{n}.{table}", dsn)
    for command in ("engines", "find"):
        lines = unstick(*([command] if command == "engines" else [command, "xyz"]), dsn=dsn).err.splitlines()
        named = [line for line in lines if "agent_jobs in schema copy_0, " in line]
        assert len(named) == 1
        assert re.search(r" and \d+ more: ", named[0])
        assert not [line for line in lines if "copy_11:" in line]
    assert len(unstick("engines", "--json", dsn=dsn).json["declined"]) == 12
    server.drop(dsn)


def test_a_tree_without_nodes_says_so(eternaltwin: str) -> None:
    assert unstick("tree", dsn=eternaltwin).err.splitlines() == ["There are no jobs in eternaltwin."]
    assert unstick("tree", "--live", dsn=eternaltwin).err.splitlines() == ["Nothing is unfinished in eternaltwin."]
    assert unstick("tree", "--json", dsn=eternaltwin).err == ""
