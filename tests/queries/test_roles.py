"""Tables whose names differ by installation or by queue."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from queries.check import prove
from queries.check.lab import Lab
from queries.check.prove import Loaded
from queries.contract import loader, outside, roles
from queries.contract.detect import detection_queries
from queries.read import search
from queries.records.action import Outcome
from queries.workspace import Workspace
from tests.outside import HOMEMADE, change, copied
from tests.proof import proof
from tests.queries.builders import do
from tests.servers import PostgresServer

PREFIXES = ("mail", "bill")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The home-made engine, whose table may have any prefix."""
    folder = copied(tmp_path / "engines", "queue", HOMEMADE)
    change(
        folder,
        "engine.toml",
        "recognise.relations.work_items",
        'recognise.roles.work_items = "*_work_items"\nrecognise.relations.work_items',
    )
    for file in ("schema.sql", "fixture.sql"):
        text = (folder / file).read_text()
        (folder / file).write_text(text.replace("work_items", "mail_work_items"))
    return folder


@pytest.fixture
def queues(server: PostgresServer, folder: Path) -> Iterator[str]:
    """DSN of a database with a table for each of two queues."""
    dsn = server.fresh()
    for prefix in PREFIXES:
        for file in ("schema.sql", "fixture.sql"):
            server.sql((folder / file).read_text().replace("mail_", f"{prefix}_"), dsn)
    yield dsn
    server.drop(dsn)


def test_a_role_is_bound_to_each_set_of_tables(folder: Path) -> None:
    engine = loader.load(folder)
    names = {"mail_work_items", "bill_work_items", "_work_items", "work_items", "mail_other"}
    found = {each.name: each for each in roles.bound([engine], names)}
    assert found.keys() == {"queue", "queue.bill", "queue.mail"}
    mail = found["queue.mail"]
    assert mail.spec.recognise.relations.keys() == {"mail_work_items"}
    assert mail.spec.actions[0].privileges == ("UPDATE mail_work_items",)
    assert 'ON "mail_work_items" (' in mail.spec.needs["item_by_status"].ddl
    for parts in (*mail.statements.values(), *(p for run in mail.actions.values() for p in run.values())):
        assert all(':"work_items"' not in part.text for part in parts)


async def test_one_table_for_each_queue_is_an_engine_each(queues: str, folder: Path, tmp_path: Path) -> None:
    known = outside.OutsideEngines(engines=(outside.load(folder, trusted=True),))
    workspace = await Workspace(queues, {"queue": {"stale": 60.0}}, outside=known, file=tmp_path / "log").open()
    try:
        assert workspace.engines.keys() == {"queue.bill", "queue.mail"}
        mail = workspace.engines["queue.mail"]
        assert mail.engine.settings["stale"] == 60.0
        assert [f.node_id for f in (await mail.findings.read()).findings] == ["queue.mail/item:4"]
        done = await do(workspace, "release", ["queue.mail/item:4"], label="queue.mail")
        assert [each.outcome for each in done.results] == [Outcome.CHANGED]
        assert {each.table for each in done.changes} == {"mail_work_items"}
        assert [f.node_id for f in (await mail.findings.read()).findings] == []
        other = workspace.engines["queue.bill"]
        assert [f.node_id for f in (await other.findings.read()).findings] == ["queue.bill/item:4"]
    finally:
        await workspace.close()


async def test_a_flood_of_names_costs_little(queues: str, server: PostgresServer, folder: Path, tmp_path: Path) -> None:
    flood = "DO $$BEGIN FOR i IN 1..400 LOOP EXECUTE format('CREATE TABLE %I ()', i || 'z_work_items'); END LOOP; END$$"
    server.sql(flood, queues)
    known = outside.OutsideEngines(engines=(outside.load(folder, trusted=True),))
    workspace = await Workspace(queues, outside=known, file=tmp_path / "log").open()
    catalog, *_ = await workspace.database.batch(detection_queries(known.engines))
    await workspace.close()
    assert 200 <= len(catalog) < 220


async def test_a_key_may_have_all_digits_of_its_type(
    queues: str, server: PostgresServer, folder: Path, tmp_path: Path
) -> None:
    keys = ("1989234567890123456", "8999999999999999999", "-1")
    rows = ", ".join(f"({key}, 'work', 'todo')" for key in keys)
    server.sql(f"INSERT INTO mail_work_items (id, task, state) OVERRIDING SYSTEM VALUE VALUES {rows}", queues)
    known = outside.OutsideEngines(engines=(outside.load(folder, trusted=True),))
    workspace = await Workspace(queues, outside=known, file=tmp_path / "log").open()
    try:
        mail = workspace.engines["queue.mail"]
        ids = [f"queue.mail/item:{key}" for key in keys]
        assert [node.id for node in (await mail.nodes.read(ids)).nodes] == ids
        assert [hit.node.id for key in keys for hit in (await search.find(mail, key)).hits] == ids
        assert (await mail.nodes.read(["queue.mail/item:9999999999999999999"])).nodes == ()
    finally:
        await workspace.close()


@proof
async def test_a_folder_with_roles_passes(server: PostgresServer, folder: Path, tmp_path: Path) -> None:
    loaded = Loaded(folder)
    assert loaded.engine is not None
    lab = Lab(server, tmp_path, loaded.script("schema.sql"), loaded.script("fixture.sql"))
    try:
        async for check in prove.prove(loaded.engine, loaded.toml, lab, rows=250_000):
            assert [str(fault) for fault in check.faults] == []
            assert check.number
    finally:
        await lab.close()
