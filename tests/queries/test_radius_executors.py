"""Blast radius against the demo's executors; RADIUS_ROUNDS actions of all engines."""

from __future__ import annotations

from random import Random

import pytest

from tests.bench import bench_radius
from tests.servers import PostgresServer

SMALL = 2  # actions of each engine; `make radius` runs more


@pytest.mark.slow
@pytest.mark.parametrize("engine", bench_radius.PLAYED)
async def test_executors_touch_no_node_that_was_not_named(server: PostgresServer, engine: str) -> None:
    rounds = max(SMALL, bench_radius.ROUNDS // len(bench_radius.PLAYED) if bench_radius.SCALED else SMALL)
    found = await bench_radius.score(server, engine, rounds, Random(f"{bench_radius.SEED}/{engine}"))
    assert len(found.rounds) == rounds
    assert [(each.action, each.node, each.unmarked) for each in found.unmarked] == []
