"""A page of each kind of node in each state, for every engine of the package."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from console.model.fields.node import facts
from console.text import spans
from console.text.views import detail as views
from queries.check.nodes import known_nodes
from queries.contract.builtin import builtin
from queries.read import details
from queries.records.node import Node
from tests.proof import most_in_proof
from tests.queries.builders import opened, reader
from tests.servers import PostgresServer


@pytest.mark.parametrize("name", most_in_proof([engine.name for engine in builtin()], 4))
async def test_each_page_can_be_drawn(name: str, server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh(name, filled=True)
    workspace = await opened(dsn, tmp_path)
    engine = reader(workspace, name)
    nodes = _one_of_each((await known_nodes(engine)).values())
    assert len(nodes) > 3
    for node in nodes:
        read = await details.read(engine, node.id)
        assert read is not None
        for width in (40, 100):
            recorded = facts(read.node, read.at, engine.engine)
            lines = views.detail(
                read, width, now=read.at, engine=engine.engine, helps=lambda _: "", facts=recorded, entries=()
            )
            text = "\n".join(map(spans.text, lines))
            assert node.id.partition("/")[2].partition(":")[2][:8] in text.replace("\n", "")
            below = read.children.nodes if read.children else ()
            assert not (below and "No problems detected" in text), "those below may have some"
            assert not re.search(r"\bNone\b(?!\s+of\s+the\s+\d|\s+is\s+running,)", text), text
    await workspace.close()
    server.drop(dsn)


def _one_of_each(nodes: Iterable[Node]) -> list[Node]:
    """Return a node of each kind and status, with and without optional columns."""
    states = {(n.kind, n.status, n.phase, n.owner is None, n.error is None, n.attempts): n for n in nodes}
    return list(states.values())
