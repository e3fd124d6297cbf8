"""A node has one severity, whether it is listed as stuck or as a dead letter."""

from __future__ import annotations

from pathlib import Path

import pytest

from queries.contract.builtin import builtin
from tests.queries.builders import opened, reader
from tests.servers import PostgresServer

BY_REASON = {"tasker"}  # its dead severities are ranked by the reason that the engine has recorded


@pytest.mark.parametrize("name", [each.name for each in builtin() if each.name not in BY_REASON])
async def test_a_dead_letter_is_as_severe_as_its_worst_finding(
    server: PostgresServer, tmp_path: Path, name: str
) -> None:
    dsn = server.fresh(name, filled=True)
    workspace = await opened(dsn, tmp_path)
    engine = reader(workspace, name)
    worst: dict[str, int] = {}
    for finding in (await engine.findings.read()).findings:
        worst[finding.node_id] = max(finding.severity, worst.get(finding.node_id, 0))
    severities = {each.node.id: each.severity for each in (await engine.pages.dead()).dead_letters}
    both = worst.keys() & severities.keys()
    assert {i: severities[i] for i in both} == {i: worst[i] for i in both}
    await workspace.close()
    server.drop(dsn)
