"""How estuary is read: detection, states, trees, pages, counts, detail."""

from __future__ import annotations

import pytest

from queries.model import Phase
from queries.workspace import Workspace
from tests.queries.builders import reader
from tests.queries.estuary.rows import LABEL, Rows
from tests.servers import both_versions


@both_versions
@pytest.mark.parametrize(
    ("type_", "wake", "beat", "status", "phase"),
    [
        (2, None, None, "suspended", Phase.BLOCKED),
        (2, -1, None, "ready", Phase.READY),
        (2, 60, None, "sleeping", Phase.SCHEDULED),
        (2, -400, 0, "polling", Phase.RUNNING),
        (2, -400, 220, "polling", Phase.RUNNING),
        (2, -400, 230, "lapsed", Phase.HELD),
        (2, -400, 301, "reclaimable", Phase.HELD),
        (2, None, 301, "zombie", Phase.FAILED),
        (2, 60, 301, "zombie", Phase.FAILED),
        (1, -400, 40, "polling", Phase.RUNNING),
        (1, -400, 50, "lapsed", Phase.HELD),
        (1, -400, 61, "reclaimable", Phase.HELD),
        (2, -400, "-infinity", "reclaimable", Phase.HELD),
        (2, "infinity", "infinity", "polling", Phase.RUNNING),
        (2, "-infinity", None, "ready", Phase.READY),
    ],
)
async def test_a_state_is_told_from_heartbeat_and_wake_at(
    rows: Rows,
    workspace: Workspace,
    type_: int,
    wake: float | str | None,
    beat: float | str | None,
    status: str,
    phase: Phase,
) -> None:
    task = await rows.task(type_, wake=wake, beat=beat)
    node = (await reader(workspace, LABEL).nodes([rows.id(task)])).nodes[0]
    assert (node.status, node.phase) == (status, phase)
    assert (node.heartbeat_at is None) == (beat is None)
    assert {(s.native, s.phase) for s in reader(workspace, LABEL).system.spec.statuses} >= {(status, phase)}
