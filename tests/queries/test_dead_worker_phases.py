"""Phases of jobs of dead workers, and of the workers, are the same in all engines."""

from __future__ import annotations

from pathlib import Path

import pytest

from queries.check.nodes import known_nodes
from queries.records.node import Phase
from tests.queries.builders import opened, reader
from tests.servers import PostgresServer

DEAD = {  # findings of jobs with a dead worker
    "graphile_worker": "locked_by_a_dead_worker",
    "oban": "dead_worker",
    "pgqueuer": "locked_by_a_dead_worker",
    "procrastinate": "locked_by_a_dead_worker",
    "solid_queue": "dead_worker",
}


@pytest.mark.parametrize(("name", "code"), DEAD.items())
async def test_a_job_of_a_dead_worker_is_running(server: PostgresServer, tmp_path: Path, name: str, code: str) -> None:
    dsn = server.fresh(name, filled=True)
    workspace = await opened(dsn, tmp_path)
    engine = reader(workspace, name)
    ids = [finding.node_id for finding in (await engine.findings()).found if finding.code == code]
    assert {node.phase for node in (await engine.nodes(ids)).nodes} == {Phase.RUNNING}
    silent = [node for node in (await known_nodes(engine)).values() if node.status == "silent"]
    assert {node.phase for node in silent} <= {Phase.UNKNOWN}
    release = next(each for each in engine.engine.actions_here if each.name == "release")
    assert all(engine.availability(release, node).ok for node in (await engine.nodes(ids)).nodes)
    await workspace.close()
    server.drop(dsn)
