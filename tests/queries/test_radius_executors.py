"""Blast radius of random actions, compared with the demo's executors."""

from __future__ import annotations

from random import Random

import pytest

from tests.bench import bench_radius
from tests.proof import proof, repeated
from tests.servers import PostgresServer


@proof
@repeated(few=2, many=50)
@pytest.mark.parametrize("engine", bench_radius.PLAYED)
async def test_executors_touch_no_node_that_was_not_named(server: PostgresServer, engine: str, times: int) -> None:
    found = await bench_radius.score(server, engine, times, Random(f"{bench_radius.SEED}/{engine}"))
    assert len(found.rounds) == times
    assert [(each.action, each.node, each.unmarked) for each in found.unmarked] == []
