"""Workers are not blamed for the time before a repair."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from queries.contract.builtin import builtin
from queries.read.findings import FINDING_NODES
from queries.records.action import Outcome
from tests.queries.builders import do, opened, outcomes_of
from tests.servers import PostgresServer

# Since when a node could be taken is not recorded of a paused queue; an abandoned task could be taken before.
UNKNOWN = {("solid_queue", "resume"), ("estuary", "release")}


@pytest.mark.parametrize("engine", [engine.name for engine in builtin()])
async def test_a_node_that_was_repaired_is_not_late_at_once(
    server: PostgresServer, tmp_path: Path, engine: str
) -> None:
    began = time.time()
    workspace = await opened(server.fresh(engine, filled=True), tmp_path)
    (reader,) = workspace.engines.values()
    late = {spec.code for spec in reader.engine.spec.findings if spec.symptom == "late"}
    found = (await reader.findings.read()).findings
    for action in dict.fromkeys(each.action for each in found if each.action in ("wake", "release", "retry", "resume")):
        ids = list(dict.fromkeys(each.node_id for each in found if each.action == action))
        outcomes = outcomes_of(await do(workspace, action, ids[:FINDING_NODES], label=reader.label))
        changed = {node for node, outcome in outcomes.items() if outcome is Outcome.CHANGED}
        after = (await reader.findings.read(changed)).findings
        before = {(each.node_id, each.code) for each in found}
        blamed = {(f.node_id, f.code) for f in after if f.code in late and f.since is not None and f.since < began}
        assert blamed <= before or (engine, action) in UNKNOWN, (action, blamed)
    await workspace.close()
