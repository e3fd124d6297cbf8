"""Words of findings and dry runs: each reason once, nodes in their number."""

from __future__ import annotations

from pathlib import Path

import asyncpg
import pytest

from console.text.spans import text
from console.text.views.blast_radius import blast_radius as page
from queries.change.plan import count_nodes
from queries.read.nodes import NO_RELATED, RELATIONS
from queries.records.action import BlastRadius, Reach
from queries.records.node import Precision
from tests.queries.builders import opened, reader
from tests.queries.incident_groups import incidents_of
from tests.servers import PostgresServer


@pytest.mark.parametrize(("number", "shown"), [(14, "14 deliveries"), (1, "1 delivery"), (0, "0 deliveries")])
def test_kinds_have_their_plural(number: int, shown: str) -> None:
    assert count_nodes(number, ["a/delivery:1"]) == shown
    assert count_nodes(1, ()) == "1 node"


def test_what_is_not_known_for_one_reason_is_said_once() -> None:
    reached = [Reach(code=code, precision=Precision.UNKNOWN, note=NO_RELATED) for code in RELATIONS]
    lines = [text(line) for line in page(BlastRadius(reached=tuple(reached), seconds=0.0), 300)]
    (line,) = [line for line in lines if NO_RELATED in line]
    assert "parents" in line
    assert "not known, nor are descendants, waiters and siblings: " in line


async def test_dead_producers_of_a_node_are_one_incident(server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh("oban", filled=True)
    connection = await asyncpg.connect(dsn)
    await connection.execute("UPDATE oban_producers SET node = 'one', updated_at = now() - interval '1 day'")
    await connection.execute("UPDATE oban_jobs SET attempted_by[1] = 'one' WHERE state = 'executing'")
    workspace = await opened(dsn, tmp_path)
    (incident,) = (await incidents_of(workspace, "oban"))["owner_dead"]
    assert len({finding.evidence["producer"] for finding in incident.findings}) > 1
    await workspace.close()
    await connection.close()
    server.drop(dsn)


async def test_a_held_key_says_how_many_jobs_wait(server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh("solid_queue", filled=True)
    workspace = await opened(dsn, tmp_path)
    found = {f.code: f.evidence["waiting"] for f in (await reader(workspace, "solid_queue").findings.read()).findings
             if f.code in ("key_held", "slot_lost")}  # fmt: skip
    assert found == {"key_held": "2 jobs wait", "slot_lost": "2 jobs wait"}
    await workspace.close()
    server.drop(dsn)
