"""The engines of the package pass what `unstick engine check` asks of any folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from queries.check import prove
from queries.check.lab import Lab
from queries.check.prove import Loaded
from queries.contract.builtin import builtin, builtin_folder
from tests.outside import HOMEMADE, IN_FULL, copied
from tests.proof import most_in_proof, proof
from tests.servers import VERSIONS, PostgresServer, both_versions

# Of each large table; the command has a million. What no index bounds reads the same part of any number of rows.
ROWS = 300_000
# The last one tries each action first.
PARTS = (
    (prove.COLUMNS, prove.RECOGNITION, prove.INDEXES, prove.FINDINGS),
    (prove.NODES,),
    (prove.ACTIONS, prove.UNDO, prove.PRIVILEGES),
)
MISSION = ("eternaltwin", "estuary", "agent_jobs", "uni2work", "tasker")


@pytest.mark.parametrize("name", most_in_proof(sorted((e.name for e in builtin()), key="uni2work".__ne__)))
async def test_an_engine_reads_a_bounded_part_of_large_tables(
    server: PostgresServer, tmp_path: Path, name: str
) -> None:
    """Multiply all tables, small ones too, which the scripts of `test_plans` do not."""
    await passes(server, tmp_path, name, (prove.PLANS,))


def test_every_check_is_in_a_part() -> None:
    """Each check is in a part, but for large tables, which has a test of its own."""
    assert sorted(name for part in PARTS for name in part) == sorted({*prove.NAMES} - {prove.PLANS})


@pytest.mark.parametrize("names", [PARTS[0], *most_in_proof(PARTS[1:], 0, unpacked=False)], ids=[p[0] for p in PARTS])
@pytest.mark.parametrize("name", [each.name for each in builtin()])
async def test_an_engine_of_the_package_passes(
    server: PostgresServer, tmp_path: Path, name: str, names: tuple[str, ...]
) -> None:
    await passes(server, tmp_path, name, names)


@pytest.mark.parametrize("name", [each.name for each in builtin()])
async def test_each_action_changes_rows_and_undoes_them(server: PostgresServer, tmp_path: Path, name: str) -> None:
    """Undo those of the five engines; workers of the others run in their own tests."""
    await passes(server, tmp_path, name, (prove.ACTIONS, prove.UNDO) if name in MISSION else (prove.ACTIONS,))


async def test_the_mirror_of_a_queue_in_redis_has_an_action(server: PostgresServer, tmp_path: Path) -> None:
    await passes(server, tmp_path, "agent_jobs", (prove.ACTIONS,), "fixture.mirror.sql")


@proof
@pytest.mark.parametrize("server", VERSIONS[1:], indirect=True)
@pytest.mark.parametrize("name", [each.name for each in builtin()])
async def test_its_statements_fit_each_version_of_the_server(server: PostgresServer, tmp_path: Path, name: str) -> None:
    await passes(server, tmp_path, name, (prove.COLUMNS,))


async def passes(
    server: PostgresServer, tmp_path: Path, name: str, names: tuple[str, ...], fixture: str = "fixture.sql"
) -> None:
    """Assert that an engine has no faults."""
    loaded = Loaded(builtin_folder(name))
    assert loaded.engine is not None
    lab = Lab(server, tmp_path, loaded.schema, loaded.script(fixture))
    try:
        async for check in prove.prove(loaded.engine, loaded.toml, lab, names, rows=ROWS):
            assert check.number or check.name == prove.INDEXES  # an engine's own indexes may meet all of its needs
            assert [str(fault) for fault in check.faults] == [], check.name
    finally:
        await lab.close()


@both_versions
@pytest.mark.parametrize("folder", most_in_proof([HOMEMADE, IN_FULL]), ids=["derived", "in full"])
async def test_a_folder_without_a_demo_passes(server: PostgresServer, tmp_path: Path, folder: Path) -> None:
    loaded = Loaded(copied(tmp_path / "engines", source=folder))
    assert loaded.engine is not None
    lab = Lab(server, tmp_path, loaded.script("schema.sql"), loaded.script("fixture.sql"))
    seen = []
    try:
        async for check in prove.prove(loaded.engine, loaded.toml, lab, rows=ROWS):
            assert [str(fault) for fault in check.faults] == []
            assert check.number
            seen.append(check.name)
    finally:
        await lab.close()
    assert tuple(seen) == prove.NAMES
