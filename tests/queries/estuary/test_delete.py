"""Deleting a task: what points at it, whom it reports to, what it may have under it."""

from __future__ import annotations

import json
from typing import Any

import asyncpg
import pytest
from tests.queries.estuary.test_actions import apply

from queries.model import Outcome
from queries.workspace import Workspace
from tests.queries.builders import do, dry_run_of, outcomes_of, why
from tests.queries.estuary.rows import LABEL, ZERO, Rows
from tests.servers import TestbedServer, both_versions

CHANGED, REFUSED = Outcome.CHANGED, Outcome.REFUSED
SPEC = "INSERT INTO live_specs VALUES ('01:00:00:00:00:00:00:01', 'acmeCo/orders', $1::text::macaddr8)"
PLANE = "INSERT INTO data_planes VALUES ('01:00:00:00:00:00:00:02', 'ops/dp/x', $1::text::macaddr8)"


@both_versions
@pytest.mark.parametrize("columns", [{"wake": 9}, {"wake": -9}, {"wake": None}, {"wake": -900, "beat": 301}])
async def test_delete_removes_the_row_and_keeps_a_copy(rows: Rows, workspace: Workspace, columns: Any) -> None:
    task = await rows.task(inbox=['{"a": 1}'], state={"x": 1}, **columns)
    other = await rows.row(await rows.task())
    outcomes = await do(workspace, "delete", [rows.id(task)], None, LABEL)
    assert outcomes_of(outcomes) == {rows.id(task): CHANGED}
    assert await rows.row(task) is None
    assert dict(await rows.row(other["task_id"]))["version"] == other["version"]
    change = outcomes.changes[0]
    assert change.after is None
    assert change.before is not None
    assert (change.before["inner_state"], change.before["inbox"]) == ('{"x": 1}', ['{"a": 1}'])


@pytest.mark.parametrize("beat", [0, 299, "2090-01-01"])
async def test_a_task_that_may_be_polled_is_not_deleted(rows: Rows, workspace: Workspace, beat: Any) -> None:
    """Its executor would find no row when it persists, and lose all that the poll did."""
    task = await rows.task(wake=-900, beat=beat)
    outcome, because = await apply(workspace, "delete", task)
    assert outcome is REFUSED
    assert "Fence it first" in because
    assert await rows.row(task) is not None


@both_versions
async def test_a_foreign_key_is_respected(rows: Rows, workspace: Workspace, server: TestbedServer) -> None:
    task = await rows.task()
    await rows.sql(SPEC, task)
    for arguments in ({}, {"owned": True}):
        outcome, because = await apply(workspace, "delete", task, **arguments)
        assert outcome is REFUSED
        assert (
            "live_specs.controller_task_id points at it, by the foreign key live_specs_controller_task_id_fkey"
            in because
        )
    await rows.sql("DELETE FROM live_specs")
    assert (await apply(workspace, "delete", task))[0] is CHANGED


async def test_a_cascade_takes_nothing_along(rows: Rows, workspace: Workspace) -> None:
    task = await rows.task()
    await rows.sql("CREATE TABLE log (task flowid DEFAULT NULL REFERENCES tasks ON DELETE CASCADE)")
    await rows.sql("INSERT INTO log VALUES ($1::text::macaddr8)", task)
    outcome, because = await apply(workspace, "delete", task)
    assert (outcome, "log.task" in because) == (REFUSED, True)
    assert await rows.value("SELECT count(*) FROM log") == 1


@both_versions
async def test_an_owner_without_foreign_key_asks_twice(rows: Rows, workspace: Workspace) -> None:
    task = await rows.task(1)
    await rows.sql(PLANE, task)
    outcome, because = await apply(workspace, "delete", task)
    assert (outcome, "data_planes.controller_task_id" in because) == (REFUSED, True)
    assert (await apply(workspace, "delete", task, owned=True))[0] is CHANGED


async def test_where_a_pointing_table_may_not_be_read_nothing_is_deleted(
    rows: Rows, estuary: str, server: TestbedServer, tmp_path: Any
) -> None:
    from tests.queries.builders import opened

    role = server.unique("role")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    server.sql(f"GRANT SELECT, UPDATE, DELETE ON tasks TO {role}", estuary)
    task = await rows.task()
    workspace = await opened(estuary.replace("postgres:", f"{role}:").replace(server.password, "x"), tmp_path)
    outcome, because = await apply(workspace, "delete", task)
    assert (outcome, "live_specs" in because) == (REFUSED, True)
    assert await rows.row(task) is not None
    await workspace.close()


@both_versions
@pytest.mark.parametrize("beat", [None, 5])
async def test_a_parent_is_sent_the_eof_first(rows: Rows, workspace: Workspace, beat: float | None) -> None:
    """As if the child had ended: without it, the parent would count on it for ever."""
    waiting = {"Waiting": {"partial": 1, "pending": 2}}
    parent = await rows.task(32767, state=waiting, wake=-9 if beat else None, beat=beat)
    children = [await rows.task(32767, parent=parent, state='"Init"') for _ in range(2)]
    outcomes = await do(workspace, "delete", [rows.id(c) for c in children], None, LABEL)
    assert set(outcomes_of(outcomes).values()) == {CHANGED}
    after = await rows.row(parent)
    box = "inbox_next" if beat else "inbox"
    assert sorted(json.loads(e) for e in after[box]) == sorted([c, None] for c in children)
    assert after["due"] <= 0
    assert json.loads(after["state"]) == waiting
    assert {c.key for c in outcomes.changes} == {*children, parent}, "the parent's row is shown"


async def test_parent_and_child_go_together(rows: Rows, workspace: Workspace) -> None:
    parent = await rows.task(32767)
    child = await rows.task(32767, parent=parent)
    ids = [rows.id(parent), rows.id(child)]
    assert set(outcomes_of(await do(workspace, "delete", ids, None, LABEL)).values()) == {CHANGED}
    assert await rows.value("SELECT count(*) FROM tasks") == 0


async def test_a_child_whose_parent_stays_after_all_still_tells_it(rows: Rows, workspace: Workspace) -> None:
    parent = await rows.task(32767, wake=-9, beat=3)
    child = await rows.task(32767, parent=parent)
    outcomes = await do(workspace, "delete", [rows.id(parent), rows.id(child)], None, LABEL)
    assert outcomes_of(outcomes) == {rows.id(parent): REFUSED, rows.id(child): CHANGED}
    assert (await rows.row(parent))["inbox_next"] == [f'["{child}", null]']


@pytest.mark.parametrize("parent", [None, ZERO, "19:00:00:00:00:00:00:01", "self"])
async def test_nobody_is_told_where_there_is_no_parent(rows: Rows, workspace: Workspace, parent: str | None) -> None:
    me = "16:00:00:00:00:00:00:09"
    task = await rows.task(32767, id_=me, parent=me if parent == "self" else parent)
    other = await rows.row(await rows.task(32767))
    assert (await apply(workspace, "delete", task))[0] is CHANGED
    assert (await rows.row(other["task_id"]))["version"] == other["version"]


@both_versions
async def test_children_are_not_orphaned_unasked(rows: Rows, workspace: Workspace) -> None:
    parent = await rows.task(32767)
    child = await rows.task(32767, parent=parent)
    outcome, because = await apply(workspace, "delete", parent)
    assert (outcome, "it has children" in because) == (REFUSED, True)
    assert (await apply(workspace, "delete", parent, childless=True))[0] is CHANGED
    assert await rows.row(child) is not None


async def test_a_parent_that_is_locked_makes_the_child_locked(rows: Rows, estuary: str, workspace: Workspace) -> None:
    parent = await rows.task(32767)
    child = await rows.task(32767, parent=parent)
    holder = await asyncpg.connect(estuary)
    async with holder.transaction():
        await holder.execute("SELECT FROM tasks WHERE task_id = $1::text::macaddr8 FOR UPDATE", parent)
        outcomes = await do(workspace, "delete", [rows.id(child)], None, LABEL)
    assert outcomes_of(outcomes) == {rows.id(child): Outcome.LOCKED}
    await holder.close()


async def test_a_parent_may_go_on_between_dry_run_and_commit(rows: Rows, workspace: Workspace) -> None:
    """What is decided on is the child; its parent's heartbeat may move."""
    from queries.actions import perform
    from tests.queries.builders import OPERATOR

    parent = await rows.task(32767, wake=-9, beat=3)
    child = await rows.task(32767, parent=parent)
    dry_run = await dry_run_of(workspace, "delete", [rows.id(child)], None, LABEL)
    await rows.sql("UPDATE tasks SET heartbeat = now() WHERE task_id = $1::text::macaddr8", parent)
    outcomes = await perform.commit(workspace, LABEL, "delete", dry_run, OPERATOR)
    assert outcomes_of(outcomes) == {rows.id(child): CHANGED}, why(outcomes, rows.id(child))
