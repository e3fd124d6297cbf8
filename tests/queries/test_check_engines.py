"""The engines of the package pass what `unstick engine check` asks of any folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from queries.check import prove
from queries.check.lab import Lab
from queries.check.prove import Loaded
from queries.contract.builtin import builtin, builtin_folder
from tests.outside import HOMEMADE, IN_FULL, copied
from tests.proof import most_in_proof, proof
from tests.queries import plans
from tests.servers import VERSIONS, PostgresServer, both_versions

ROWS = int(os.environ.get("CHECK_ROWS", "150000"))  # of each large table; with a million, some engines take ten minutes
# The last one tries each action first.
PARTS = (
    (prove.COLUMNS, prove.RECOGNITION, prove.INDEXES, prove.FINDINGS),
    (prove.NODES,),
    (prove.ACTIONS, prove.UNDO, prove.PRIVILEGES),
)
MISSION = ("eternaltwin", "estuary", "agent_jobs", "uni2work", "tasker")
# Faults that stay, each with the reason.
KNOWN = {
    "solid_queue": {
        "pause: a row whose other columns": "a queue that is not paused has no row",
        "wake: it waits for rows": "a semaphore, which a job holds for a moment; lock_timeout ends the wait",
    },
    "tasker": {
        "archive: a second session is not kept": "the tables of messages have names that are known at run time only",
        "archive: the server inserted": "the archive of a queue is not a table of the engine",
        "cancel: the server inserted": "the archive of a queue is not a table of the engine",
        **{
            f"{name}: change itself does not compare the status": "the version has the transition that is the status"
            for name in ("bury", "clear", "finalize", "priority", "restart", "revive", "wake")
        },
    },
    "uni2work": {
        "release: it changes a node of another version": "an instance has no version: each lock is compared instead",
    },
}


@proof
@pytest.mark.parametrize("name", [each.name for each in builtin() if not (plans.FILLS / f"{each.name}.sql").is_file()])
async def test_large_tables_of_an_engine_without_a_script_to_fill_them(
    server: PostgresServer, tmp_path: Path, name: str
) -> None:
    await passes(server, tmp_path, name, (prove.PLANS,))


def test_every_check_is_in_a_part() -> None:
    """Each check is in a part, but for large tables, which `test_plans` fills."""
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
    """Assert that an engine has no faults but those that are known."""
    loaded = Loaded(builtin_folder(name))
    assert loaded.engine is not None
    lab = Lab(server, tmp_path, loaded.schema, loaded.script(fixture))
    known = KNOWN.get(name, {})
    try:
        async for check in prove.prove(loaded.engine, loaded.toml, lab, names, rows=ROWS):
            assert check.number
            new = [str(f) for f in check.faults if not any(f.message.startswith(text) for text in known)]
            assert new == [], check.name
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
