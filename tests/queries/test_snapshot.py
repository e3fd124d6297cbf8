"""A snapshot: what is stuck now, as one value."""

from __future__ import annotations

from pathlib import Path

import asyncpg
import msgspec
import pytest

from queries.contract.server_spec import LABEL
from queries.db.errors import DatabaseError
from queries.read.server_findings import ServerFindings
from queries.records.finding import EVERY_CHECK, Findings
from queries.records.snapshot import Snapshot
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


async def test_causes_that_cannot_be_read_cost_no_engine(
    every_engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(_: ServerFindings) -> Findings:
        raise DatabaseError("It is broken.")

    monkeypatch.setattr(ServerFindings, "findings", fails)
    workspace = await Workspace(every_engine, file=tmp_path / "audit.jsonl").open()
    now = await snapshot(workspace, list(workspace.engines.values()), once=False)
    await workspace.close()
    assert {part.label: part.error for part in now.parts if part.error} == {LABEL: "It is broken."}


BREAKS = {
    "lock": ("BEGIN; LOCK TABLE task IN ACCESS EXCLUSIVE MODE", "ROLLBACK"),
    "hidden lock": ("BEGIN; LOCK TABLE task IN ACCESS EXCLUSIVE MODE", "ROLLBACK"),  # without pg_monitor
    "error": ("ALTER TABLE task_timer RENAME TO gone", "ALTER TABLE gone RENAME TO task_timer"),
    "privilege": ("REVOKE SELECT ON task FROM {role}", "GRANT SELECT ON task TO {role}"),
    "time limit": ("BEGIN; LOCK TABLE task IN ACCESS EXCLUSIVE MODE", "ROLLBACK"),
}


@pytest.mark.parametrize("way", BREAKS)
async def test_what_cannot_be_read_again_is_not_over(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    dsn, role = server.fresh("eternaltwin", filled=True), server.unique("role")
    admin = await asyncpg.connect(dsn)
    grants = f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}"
    grants += f"; GRANT pg_monitor TO {role}" if way != "hidden lock" else ""
    await admin.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'x'; {grants}")
    user = server.dsn(dsn.rpartition("/")[2], user=role, password="x")
    workspace = await Workspace(user, file=tmp_path / "audit.jsonl").open()
    readers = list(workspace.engines.values())

    async def looked(*before: Snapshot) -> Snapshot:
        kept = {part.label: part for each in before for part in each.parts}
        return await snapshot(workspace, readers, kept=kept, once=False)

    first = await looked()
    await admin.execute(BREAKS[way][0].format(role=role))
    if way == "time limit":
        monkeypatch.setattr("queries.contract.variant.READ_SECONDS", 0.05)
        monkeypatch.setattr("queries.db.combined.RESTS_SECONDS", 0.0)
    second = await looked(first)
    third = await looked(second)
    failed = {each.code for each in third.skipped_findings if each.failed}
    times = {each.key: each.read_at for each in third.incidents}
    assert {each.key for each in first.incidents} <= set(times)
    read = {at for at in times.values() if at is not None}
    assert read
    assert read <= {each.parts[0].findings.at for each in (first, second)}, "not the time of the failure"
    assert "task" in third.parts[0].unread or way in ("error", "time limit")
    assert all(f.read_at is None or f.code in failed or EVERY_CHECK in failed for f in third.findings)
    monkeypatch.undo()
    await admin.execute(BREAKS[way][1].format(role=role))
    assert all(each.read_at is None for each in (await looked(third)).findings)
    await workspace.close()
    await admin.close()
    server.drop(dsn)
