"""A page of each kind of node in each state, for every engine of the package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from console.text import spans
from console.text.pages import detail as pages
from queries.contract.builtin import builtin
from queries.model import Node
from queries.read.reader import Reader
from tests.queries.builders import opened, reader
from tests.servers import PostgresServer

PAGE = 200


@pytest.mark.parametrize("name", [engine.name for engine in builtin()])
async def test_each_page_can_be_drawn(name: str, server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh(name, filled=True)
    workspace = await opened(dsn, tmp_path)
    engine = reader(workspace, name)
    nodes = await _nodes(engine)
    assert len(nodes) > 3
    for node in nodes:
        read = await engine.detail(node.id)
        assert read is not None
        for width in (40, 100):
            lines = pages.detail(read, width, now=read.at, engine=engine.engine, helps=lambda _: "", entries=())
            text = "\n".join(map(spans.text, lines))
            assert node.id.partition("/")[2].partition(":")[2][:8] in text.replace("\n", "")
            assert not re.search(r"\bNone\b(?! of)", text), text
    await workspace.close()
    server.drop(dsn)


async def _nodes(engine: Reader) -> list[Node]:
    """Return a node of each kind and status, with and without optional columns."""
    every = [*(await engine.roots(page=PAGE)).nodes, *(await engine.live(page=PAGE)).nodes]
    every += [each.node for each in (await engine.dead(page=PAGE)).dead_letters]
    for root in list(every)[:20]:
        if engine.engine.kind(root.kind) and engine.engine.kind(root.kind).children:  # type: ignore[union-attr]
            every += (await engine.children(root.id, page=PAGE)).nodes
    states = {(n.kind, n.status, n.phase, n.owner is None, n.error is None, n.attempts): n for n in every}
    return list(states.values())
