"""A snapshot: what is stuck now, as one value."""

from __future__ import annotations

from pathlib import Path

import msgspec

from queries.contract.server_spec import LABEL
from queries.records.snapshot import NEEDS_SAMPLES, Snapshot
from queries.snapshot import snapshot
from queries.workspace import Workspace
from tests.servers import PostgresServer


async def test_it_is_written_and_read_without_loss(every_engine: str, tmp_path: Path) -> None:
    workspace = await Workspace(every_engine, file=tmp_path / "audit.jsonl").open()
    now = await snapshot(workspace, list(workspace.engines.values()), counts=True)
    await workspace.close()
    assert {part.label for part in now.parts} == {*workspace.engines, LABEL}
    assert all(part.counts and part.findings.findings for part in now.parts if part.label != LABEL)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(now), type=Snapshot) == now


async def test_what_could_not_be_read_is_said(server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh("eternaltwin", filled=True)
    workspace = await Workspace(dsn, file=tmp_path / "audit.jsonl").open()
    readers = list(workspace.engines.values())
    first = await snapshot(workspace, readers, sampled=False)
    server.sql("ALTER TABLE task RENAME TO gone", dsn)
    second = await snapshot(workspace, readers)
    await workspace.close()
    (before, _), (after, about_server) = first.parts, second.parts
    assert NEEDS_SAMPLES in {each.why for each in first.skipped_findings}
    assert before.findings.findings
    assert not before.unread
    assert "task" in after.unread
    assert {each.code for each in after.findings.skipped_findings if each.failed} >= {"lost_wakeup", "runner_silent"}
    assert [finding.code for finding in about_server.findings.findings if "eternaltwin" in finding.affects]
