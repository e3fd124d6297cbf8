"""Actions of estuary under triggers: each audit entry lists the changed rows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from queries.contract.builtin import builtin
from queries.db.query import statement
from queries.records.action import Outcome
from queries.workspace import Workspace
from tests.db.estuary import LABEL, ZERO, EstuaryDb, digest
from tests.queries.builders import do, dry_run_of, opened, outcomes_of
from tests.queries.estuary.test_actions import SHARD, sent
from tests.queries.row_audit import RowAudit
from tests.servers import both_versions

CHANGED = Outcome.CHANGED
PLANE = "15:00:00:00:00:00:00:01"
WAITING = {"Waiting": {"partial": 1, "pending": 2}}

# action, arguments, columns of the task
ACTIONS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("wake", {}, {"wake": 60}),
    ("wake", {}, {"wake": None, "inbox": [(ZERO, SHARD)]}),
    ("send", {"message": SHARD}, {"wake": 60}),
    ("send", {"message": SHARD}, {"wake": -9, "beat": 5}),
    ("send", {"eof": True, "sender": PLANE}, {"type_": 32767, "state": WAITING}),
    ("fence", {}, {"wake": -9, "beat": 5}),
    ("release", {}, {"wake": -900, "beat": 301, "inbox": [(ZERO, SHARD)], "inbox_next": [(ZERO, SHARD)]}),
    ("release", {"early": True}, {"wake": None, "beat": 230}),
    ("park", {}, {"wake": -9}),
    ("restart", {}, {"wake": 60, "state": {"messages_processed": 1}}),
    ("restart", {"confirm": PLANE}, {"type_": 1, "wake": 60, "state": {"status": "Idle", "data_plane_id": PLANE}}),
    ("drop", {"position": 1, "digest": digest('"poison"')}, {"wake": -9, "inbox": ['"poison"', (ZERO, SHARD)]}),
    ("drop", {"position": 1, "digest": digest(sent(SHARD)), "decodable": True}, {"wake": -9, "inbox": [sent(SHARD)]}),
    ("delete", {}, {"wake": 60, "state": {"n": 1}}),
    ("delete", {}, {"parent": "idle"}),
    ("delete", {}, {"parent": "polled"}),
    ("delete", {}, {"parent": "gone"}),
    ("delete", {"childless": True}, {"children": 2}),
    ("delete", {"owned": True}, {"type_": 9, "owned": True}),
]


@pytest.fixture
async def audit(estuary_db: EstuaryDb) -> AsyncIterator[RowAudit]:
    async with RowAudit.over(estuary_db.connection, "public") as audit:
        yield audit


async def made(estuary_db: EstuaryDb, columns: dict[str, Any]) -> str:
    """Return a task with these columns, and the rows around it that they require."""
    given = dict(columns)
    relation, children, owned = given.pop("parent", None), given.pop("children", 0), given.pop("owned", False)
    if relation:
        held = {"wake": -9, "beat": 5} if relation == "polled" else {}
        parent = await estuary_db.task(32767, state=WAITING, inbox_next=None, **held)
        given |= {"parent": PLANE if relation == "gone" else parent, "type_": 32767}
    task = await estuary_db.task(**given)
    for _ in range(children):
        await estuary_db.task(32767, parent=task)
    if owned:
        await estuary_db.sql(
            "INSERT INTO alert_history (id, catalog_name) VALUES ($1::text::macaddr8, 'acmeCo/x')", task
        )
    return task


def test_every_action_is_among_them() -> None:
    # those that edit a text have tests of their own
    (shipped,) = [s for s in builtin() if s.name == LABEL]
    assert {action for action, _, _ in ACTIONS} == {v.name for v in shipped.spec.actions if v.writes and not v.document}


@both_versions
@pytest.mark.parametrize(
    ("action", "arguments", "columns"), ACTIONS, ids=[f"{v} {' '.join(map(str, c))}" for v, _, c in ACTIONS]
)
async def test_an_entry_claims_what_was_done(
    estuary_db: EstuaryDb, workspace: Workspace, audit: RowAudit, action: str, arguments: Any, columns: Any
) -> None:
    tasks = [await made(estuary_db, columns) for _ in range(2)]
    for number in range(20):
        await estuary_db.task(wake=number, inbox=[(ZERO, SHARD)])
    await audit.made()
    ids = [estuary_db.id(task) for task in tasks]
    dry_run = await dry_run_of(workspace, action, ids, arguments, LABEL)
    assert await audit.made() == {}, "a dry run leaves nothing"
    outcomes = await do(workspace, action, ids, arguments, LABEL)
    assert outcomes_of(outcomes) == dict.fromkeys(ids, CHANGED), outcomes.results
    done = await audit.check(outcomes)
    assert {key for _, key in done} >= set(tasks)
    assert {(c.table, c.key, c.after is None) for c in dry_run.changes} == {
        (c.table, c.key, c.after is None) for c in outcomes.changes
    }, "the dry run showed the same"


@both_versions
async def test_a_skipped_task_is_in_no_entry(estuary_db: EstuaryDb, workspace: Workspace, audit: RowAudit) -> None:
    free, held = await estuary_db.task(wake=60), await estuary_db.task(wake=-9, beat=5)
    await audit.made()
    outcomes = await do(workspace, "wake", [estuary_db.id(free), estuary_db.id(held)], None, LABEL)
    assert set(await audit.check(outcomes)) == {("tasks", free)}


# The guard in the write path


async def test_a_server_that_does_not_count_is_not_asked_to_agree(
    estuary_db: EstuaryDb, estuary: str, tmp_path: Path
) -> None:
    database = estuary.rpartition("/")[2]
    await estuary_db.sql(f"ALTER DATABASE {database} SET track_counts = off")
    workspace = await opened(estuary, tmp_path)
    task = await estuary_db.task(2)
    assert outcomes_of(await do(workspace, "delete", [estuary_db.id(task)], None, LABEL)) == {
        estuary_db.id(task): CHANGED
    }
    await workspace.close()


async def test_a_partitioned_table_is_counted_by_its_partitions(estuary: str) -> None:
    connection = await asyncpg.connect(estuary)
    await connection.execute(
        "CREATE TABLE parted (n int PRIMARY KEY) PARTITION BY RANGE (n);"
        "CREATE TABLE parted_one PARTITION OF parted FOR VALUES FROM (0) TO (10);"
        "CREATE TABLE parted_two PARTITION OF parted FOR VALUES FROM (10) TO (20)"
    )
    await connection.execute("INSERT INTO parted SELECT generate_series(0, 19)")
    counted = statement("written").text
    async with connection.transaction():
        before = {row["name"]: row["deleted"] for row in await connection.fetch(counted, [], "public")}
        await connection.execute("DELETE FROM parted WHERE n % 2 = 0; DELETE FROM tasks")
        rows = {row["name"]: row["deleted"] for row in await connection.fetch(counted, [], "public")}
    assert rows["parted"] - before.get("parted", 0) == 10
    assert "parted_one" not in rows
    await connection.close()
