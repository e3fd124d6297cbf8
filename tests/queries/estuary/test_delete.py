"""Delete of a task: references to it, its parent and its children."""

from __future__ import annotations

import json
from typing import Any

import asyncpg
import pytest

from queries.change import loop
from queries.records.action import Outcome
from queries.workspace import Workspace
from tests.db.estuary import LABEL, ZERO, EstuaryDb
from tests.queries.builders import do, dry_run_of, outcomes_of, why
from tests.queries.estuary.test_actions import apply
from tests.servers import PostgresServer, both_versions

CHANGED, REFUSED = Outcome.CHANGED, Outcome.REFUSED
SPEC = "INSERT INTO live_specs VALUES ('01:00:00:00:00:00:00:01', 'acmeCo/orders', $1::text::macaddr8)"
PLANE = "INSERT INTO data_planes VALUES ('01:00:00:00:00:00:00:02', 'ops/dp/x', $1::text::macaddr8)"


@both_versions
@pytest.mark.parametrize("columns", [{"wake": 9}, {"wake": -9}, {"wake": None}, {"wake": -900, "beat": 301}])
async def test_delete_removes_the_row_and_keeps_a_copy(
    estuary_db: EstuaryDb, workspace: Workspace, columns: Any
) -> None:
    task = await estuary_db.task(inbox=['{"a": 1}'], state={"x": 1}, **columns)
    other = await estuary_db.row(await estuary_db.task())
    outcomes = await do(workspace, "delete", [estuary_db.id(task)], None, LABEL)
    assert outcomes_of(outcomes) == {estuary_db.id(task): CHANGED}
    assert await estuary_db.row(task) is None
    assert dict(await estuary_db.row(other["task_id"]))["version"] == other["version"]
    change = outcomes.changes[0]
    assert change.after is None
    assert change.before is not None
    assert (change.before["inner_state"], change.before["inbox"]) == ({"x": 1}, ['{"a": 1}'])


@pytest.mark.parametrize("beat", [0, 295, "2090-01-01"])
async def test_a_task_that_may_be_polled_is_not_deleted(estuary_db: EstuaryDb, workspace: Workspace, beat: Any) -> None:
    """The executor would find no row at the end of its poll and lose the poll's work."""
    task = await estuary_db.task(wake=-900, beat=beat)
    outcome, because = await apply(workspace, "delete", task)
    assert outcome is REFUSED
    assert "Fence" in because
    assert await estuary_db.row(task) is not None


@both_versions
async def test_a_foreign_key_is_respected(estuary_db: EstuaryDb, workspace: Workspace, server: PostgresServer) -> None:
    task = await estuary_db.task()
    await estuary_db.sql(SPEC, task)
    for arguments in ({}, {"owned": True}):
        outcome, because = await apply(workspace, "delete", task, **arguments)
        assert outcome is REFUSED
        assert "live_specs_controller_task_id_fkey" in because
    await estuary_db.sql("DELETE FROM live_specs")
    assert (await apply(workspace, "delete", task))[0] is CHANGED


async def test_a_cascade_takes_nothing_along(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    task = await estuary_db.task()
    await estuary_db.sql("CREATE TABLE log (task flowid DEFAULT NULL REFERENCES tasks ON DELETE CASCADE)")
    await estuary_db.sql("INSERT INTO log VALUES ($1::text::macaddr8)", task)
    outcome, because = await apply(workspace, "delete", task)
    assert (outcome, "log.task" in because) == (REFUSED, True)
    assert await estuary_db.value("SELECT count(*) FROM log") == 1


async def test_where_a_pointing_table_may_not_be_read_nothing_is_deleted(
    estuary_db: EstuaryDb, estuary: str, server: PostgresServer, tmp_path: Any
) -> None:
    from tests.queries.builders import opened

    role = server.unique("role")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    server.sql(f"GRANT SELECT, UPDATE, DELETE ON tasks TO {role}", estuary)
    task = await estuary_db.task()
    workspace = await opened(estuary.replace("postgres:", f"{role}:").replace(server.password, "x"), tmp_path)
    outcome, because = await apply(workspace, "delete", task)
    assert (outcome, "live_specs" in because) == (REFUSED, True)
    assert await estuary_db.row(task) is not None
    await workspace.close()


@both_versions
@pytest.mark.parametrize("beat", [None, 5])
async def test_a_parent_is_sent_the_eof_first(estuary_db: EstuaryDb, workspace: Workspace, beat: float | None) -> None:
    """The parent gets an EOF; without it, the parent would wait forever."""
    waiting = {"Waiting": {"partial": 1, "pending": 2}}
    parent = await estuary_db.task(32767, state=waiting, wake=-9 if beat else None, beat=beat)
    children = [await estuary_db.task(32767, parent=parent, state='"Init"') for _ in range(2)]
    outcomes = await do(workspace, "delete", [estuary_db.id(c) for c in children], None, LABEL)
    assert set(outcomes_of(outcomes).values()) == {CHANGED}
    after = await estuary_db.row(parent)
    box = "inbox_next" if beat else "inbox"
    assert sorted(json.loads(e) for e in after[box]) == sorted([c, None] for c in children)
    assert after["due"] <= 0
    assert json.loads(after["state"]) == waiting
    assert {c.key for c in outcomes.changes} == {*children, parent}, "the parent's row is shown"


async def test_parent_and_child_go_together(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    parent = await estuary_db.task(32767)
    child = await estuary_db.task(32767, parent=parent)
    ids = [estuary_db.id(parent), estuary_db.id(child)]
    assert set(outcomes_of(await do(workspace, "delete", ids, None, LABEL)).values()) == {CHANGED}
    assert await estuary_db.value("SELECT count(*) FROM tasks") == 0


async def test_a_child_whose_parent_stays_after_all_still_notifies_it(
    estuary_db: EstuaryDb, workspace: Workspace
) -> None:
    parent = await estuary_db.task(32767, wake=-9, beat=3)
    child = await estuary_db.task(32767, parent=parent)
    outcomes = await do(workspace, "delete", [estuary_db.id(parent), estuary_db.id(child)], None, LABEL)
    assert outcomes_of(outcomes) == {estuary_db.id(parent): REFUSED, estuary_db.id(child): CHANGED}
    assert (await estuary_db.row(parent))["inbox_next"] == [f'["{child}", null]']


@pytest.mark.parametrize("parent", [None, ZERO, "19:00:00:00:00:00:00:01", "self"])
async def test_no_eof_is_sent_without_a_parent(estuary_db: EstuaryDb, workspace: Workspace, parent: str | None) -> None:
    me = "16:00:00:00:00:00:00:09"
    task = await estuary_db.task(32767, id_=me, parent=me if parent == "self" else parent)
    other = await estuary_db.row(await estuary_db.task(32767))
    assert (await apply(workspace, "delete", task))[0] is CHANGED
    assert (await estuary_db.row(other["task_id"]))["version"] == other["version"]


@both_versions
async def test_children_are_not_orphaned_unasked(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    parent = await estuary_db.task(32767)
    child = await estuary_db.task(32767, parent=parent)
    outcome, because = await apply(workspace, "delete", parent)
    assert (outcome, "childless" in because) == (REFUSED, True)
    assert (await apply(workspace, "delete", parent, childless=True))[0] is CHANGED
    assert await estuary_db.row(child) is not None


async def test_a_parent_that_is_locked_makes_the_child_locked(
    estuary_db: EstuaryDb, estuary: str, workspace: Workspace
) -> None:
    parent = await estuary_db.task(32767)
    child = await estuary_db.task(32767, parent=parent)
    holder = await asyncpg.connect(estuary)
    async with holder.transaction():
        await holder.execute("SELECT FROM tasks WHERE task_id = $1::text::macaddr8 FOR UPDATE", parent)
        outcomes = await do(workspace, "delete", [estuary_db.id(child)], None, LABEL)
    assert outcomes_of(outcomes) == {estuary_db.id(child): Outcome.LOCKED}
    await holder.close()


async def test_a_parent_may_go_on_between_dry_run_and_commit(estuary_db: EstuaryDb, workspace: Workspace) -> None:
    """The operator decides about the child; the parent's heartbeat may change."""
    from tests.queries.builders import OPERATOR

    parent = await estuary_db.task(32767, wake=-9, beat=3)
    child = await estuary_db.task(32767, parent=parent)
    dry_run = await dry_run_of(workspace, "delete", [estuary_db.id(child)], None, LABEL)
    await estuary_db.sql("UPDATE tasks SET heartbeat = now() WHERE task_id = $1::text::macaddr8", parent)
    outcomes = await loop.commit(workspace, dry_run, OPERATOR)
    assert outcomes_of(outcomes) == {estuary_db.id(child): CHANGED}, why(outcomes, estuary_db.id(child))
