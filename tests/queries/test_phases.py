"""Rows and counts follow the phases that ``[statuses]`` declares."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from queries.check.lab import Lab
from queries.check.nodes import known_nodes
from queries.contract import loader
from queries.contract.builtin import builtin, builtin_folder
from queries.contract.engine import Engine, in_schema
from queries.contract.folder import TOML, read
from queries.contract.roles import bound
from queries.contract.rows import phases_of
from queries.read.reader import Reader
from queries.records.node import Phase
from queries.records.record import Record
from tests.proof import most_in_proof
from tests.servers import PostgresServer

OTHER = Phase.HELD
NAMES = most_in_proof([each.name for each in builtin()], 2)
WITHOUT_STATUS = {"uni2work"}  # its rows have no status column


class Moved(Record):
    """An engine in which each status with one phase has the phase OTHER."""

    engine: Engine
    single: frozenset[str]


def moved(name: str) -> Moved:
    home = builtin_folder(name)
    folder = read(home)
    table = re.search(r"(?ms)^\[statuses\]\n.*?(?=^\[)", folder.files[TOML])
    assert table is not None
    changed = re.sub(r'(?m)^(\S.* = ")\w+(?=:)', rf"\1{OTHER}", table[0])
    files = {**folder.files, TOML: folder.files[TOML].replace(table[0], changed)}
    phases = phases_of(loader.load(home).spec.statuses)
    return Moved(
        engine=loader.parsed(msgspec.structs.replace(folder, files=files)),
        single=frozenset(native for native, of in phases.items() if len(of) == 1),
    )


@pytest.mark.parametrize("name", NAMES)
async def test_rows_follow_the_phase_that_is_declared(server: PostgresServer, tmp_path: Path, name: str) -> None:
    other = moved(name)
    assert other.single
    dsn = server.fresh(name, filled=True)
    lab = Lab(server, tmp_path, "", "", dsn.rpartition("/")[2])
    try:
        async with lab.opened(await lab.filled()) as workspace:
            (now,) = [each for each in workspace.engines.values() if each.engine.name == name]
            (engine,) = bound([other.engine], now.detected.relations)
            engine = in_schema(engine, now.detected.schema)
            then = Reader(workspace.database, msgspec.structs.replace(now.detected, engine=engine))
            nodes = await known_nodes(now)
            again = {node.id: node for node in (await then.nodes.read(nodes)).nodes}
            with_status = [node for node in nodes.values() if node.status in other.single]
            assert bool(with_status) == (name not in WITHOUT_STATUS)
            for node in nodes.values():
                phase = OTHER if node.status in other.single else node.phase
                assert (again[node.id].phase, again[node.id].error) == (phase, node.error), node
            counted = {count.phase: count.n for count in await now.nodes.counts() if count.n is not None}
            counts = {count.phase: count.n for count in await then.nodes.counts() if count.n is not None}
            if name not in WITHOUT_STATUS:
                several = {of for native, some in phases_of(now.engine.spec.statuses).items() for of in some
                           if native not in other.single}  # fmt: skip
                assert counts.keys() <= {OTHER, *several}
            assert sum(counts.values()) == sum(counted.values())
    finally:
        await lab.close()
        server.drop(dsn)
