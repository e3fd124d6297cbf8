"""Actions of eternaltwin, compared with triggers on every table.

The audit log entry must list exactly the changed rows.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from queries.records.action import Outcome
from queries.workspace import Workspace
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.builders import do, outcomes_of
from tests.queries.row_audit import RowAudit
from tests.servers import both_versions


def key(place: str, row: Mapping[str, Any]) -> str:
    """Return the row's key as the engine's audit log writes it."""
    if place.endswith("task_timer"):
        return f"{row['deadline'].replace('T', ' ').replace('+00:00', '+00')} {row['task_id']}"
    return str(row["job_id"] if place.endswith("job") else row["task_id"])


@pytest.fixture
async def audit(eternaltwin_db: EternaltwinDb) -> AsyncIterator[RowAudit]:
    async with RowAudit.over(eternaltwin_db.connection, "public", key=key) as audit:
        yield audit


@both_versions
@pytest.mark.parametrize(
    ("action", "kind", "columns"),
    [
        ("wake", "task", {"status": "Blocked", "timer": 600}),
        ("cancel", "task", {"status": "Blocked", "timer": 600}),
        ("cancel", "job", {"status": "Blocked", "timer": 600}),
        ("delete", "job", {"status": "Complete", "output": b"{}", "timer": 600}),
    ],
)
async def test_an_entry_claims_what_was_done(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, audit: RowAudit, action: str, kind: str, columns: Any
) -> None:
    job = await eternaltwin_db.job()
    task = await eternaltwin_db.task(job, **columns)
    await eternaltwin_db.task(status="Blocked", timer=60)
    await audit.made()
    node = eternaltwin_db.id(task if kind == "task" else job, kind)
    outcomes = await do(workspace, action, [node])
    assert outcomes_of(outcomes) == {node: Outcome.CHANGED}, outcomes.results
    assert await audit.check(outcomes)
