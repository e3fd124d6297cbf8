"""Each drill as a test. ``make drills`` shows the same as a table."""

from __future__ import annotations

import pytest

from tests.drills.catalog import DRILLS
from tests.drills.drill import Drill, run
from tests.servers import PostgresServer


def parameter(drill: Drill) -> object:
    return pytest.param(drill, id=drill.key.replace(" ", "-"))


@pytest.mark.slow
@pytest.mark.parametrize("drill", [parameter(d) for d in DRILLS if not d.alone])
async def test_drill(drill: Drill, server: PostgresServer) -> None:
    result = await run(drill, server, readings=15)
    assert result.wrong == (), "\n".join(f"{each.key}: {each.sentence}" for each in result.incidents)


@pytest.mark.slow
@pytest.mark.parametrize("drill", [parameter(d) for d in DRILLS if d.alone])
async def test_drill_on_its_own_server(drill: Drill, own_server: PostgresServer) -> None:
    result = await run(drill, own_server, readings=15)
    assert result.wrong == (), "\n".join(f"{each.key}: {each.sentence}" for each in result.incidents)


def test_names_are_unique() -> None:
    names = [drill.key for drill in DRILLS]
    assert len(set(names)) == len(names)
