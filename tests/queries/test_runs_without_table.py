"""Runs without the audit log table, and those of an earlier version in a file."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from queries.change import run as runs
from queries.db.errors import DatabaseError
from queries.log.choice import NO_RUNS
from queries.records.action import Outcome, Result
from queries.records.audit import AuditLogEntry
from tests.queries.builders import opened

NODES = [f"eternaltwin/task:{n}" for n in range(4)]
RUN = "18ec200025f3361d-7de2"


async def test_a_run_of_the_table_is_not_read_without_it(eternaltwin: str, tmp_path: Path) -> None:
    workspace = await opened(eternaltwin, tmp_path)
    assert (await runs.listed(workspace, 5)).runs == ()
    with pytest.raises(DatabaseError, match=NO_RUNS):
        await runs.load(workspace, "5")
    await workspace.close()


async def test_a_bulk_that_an_earlier_version_left_in_a_file_is_shown(eternaltwin: str, tmp_path: Path) -> None:
    workspace = await opened(eternaltwin, tmp_path)
    file = workspace.audit_log.file

    def entry(name: str, event: dict[str, object], *results: Result) -> AuditLogEntry:
        who = {"role": "r", "os_user": "anna", "host": "laptop", "engine": "eternaltwin", "schema": "public"}
        return AuditLogEntry(
            id=name, at=1.0, action="bulk", reason="missed", arguments={"run": event}, results=results, **who
        )

    members = msgspec.Raw(msgspec.json.encode({"members": [[i, "1", ""] for i in NODES]}))
    begun = entry(RUN, {"event": "begin", "kind": "bulk", "action": "wake", "nodes": 4})
    file.append(begun, intended=False, images=members)
    for n, intended in ((0, False), (1, True)):  # the console died before the outcome of the second one
        change = entry(f"18ec-{n}", {"id": RUN}, Result(id=NODES[n], outcome=Outcome.CHANGED))
        file.append(change, intended=intended)
    (tmp_path / "runs").mkdir()
    for name in (RUN, "b0123abcd.jsonl"):
        (tmp_path / "runs" / name).touch()
    listed = await runs.listed(workspace, 5)
    assert [(each.run, each.state, each.changed) for each in listed.runs] == [(RUN, "open", 1)]
    assert ["of version 0.2.0" in line for line in listed.unread] == [True]
    shown = runs.in_file(workspace, RUN)
    assert shown is not None
    assert [*shown.pending] == NODES[2:]
    assert {r.id: r.outcome for r in shown.results} == {NODES[0]: Outcome.CHANGED, NODES[1]: Outcome.UNKNOWN}
    assert any(RUN in line and "prints the ids" in line for line in await runs.messages(workspace))
    with pytest.raises(DatabaseError, match="is not continued"):
        await runs.load(workspace, RUN)
    file.append(entry("18ec-9", {"id": RUN, "event": "end"}), intended=False)
    assert runs.in_files(workspace) == []
    await workspace.close()
