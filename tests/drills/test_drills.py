"""Each drill as a test. ``make drills`` shows the same as a table."""

from __future__ import annotations

import pytest

from tests.drills.catalog import DRILLS, UNSEEN
from tests.drills.drill import Drill, run
from tests.proof import proof
from tests.servers import PostgresServer

READINGS = 15  # at most, of a drill whose cause does not show at once


def chosen() -> frozenset[str]:
    """Return the names of the drills that `make test` runs.

    These are the first control of each engine and, of the first drills of the codes, one in four.
    """
    first: dict[str, Drill] = {}
    controls: dict[str, Drill] = {}
    for drill in DRILLS:
        for code in drill.line:
            first.setdefault(code, drill)
        if not drill.line:
            controls.setdefault(drill.engine, drill)
    return frozenset(drill.key for drill in (*controls.values(), *[*first.values()][::4]))


def parameters(*, alone: bool) -> list[object]:
    here = chosen()
    return [
        pytest.param(drill, id=drill.key.replace(" ", "-"), marks=() if drill.key in here else proof)
        for drill in DRILLS
        if drill.alone == alone
    ]


@pytest.mark.parametrize("drill", parameters(alone=False))
async def test_drill(drill: Drill, server: PostgresServer) -> None:
    result = await run(drill, server, READINGS)
    assert result.wrong == (), "\n".join(f"{each.key}: {each.sentence}" for each in result.incidents)


@pytest.mark.parametrize("drill", parameters(alone=True))
async def test_drill_on_its_own_server(drill: Drill, own_server: PostgresServer) -> None:
    result = await run(drill, own_server, READINGS)
    assert result.wrong == (), "\n".join(f"{each.key}: {each.sentence}" for each in result.incidents)


@proof
@pytest.mark.parametrize(
    "drill", [pytest.param(d, id=d.key.replace(" ", "-")) for d in DRILLS if any(d.actions) and not d.alone]
)
async def test_the_printed_command_runs_as_it_is(drill: Drill, server: PostgresServer) -> None:
    result = await run(drill, server, READINGS, commands=True)
    assert [line for line in result.wrong if line.startswith("COMMAND")] == []


def test_names_are_unique() -> None:
    names = [drill.key for drill in (*DRILLS, *UNSEEN)]
    assert len(set(names)) == len(names)
