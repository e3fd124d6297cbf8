"""Edited inputs of a failed step: the worker takes them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from queries.change import perform
from queries.db.errors import DatabaseError
from queries.records.action import Outcome
from tests.db.tasker import LABEL, TaskerDb
from tests.queries.builders import committed, dry_run_edit, instead, marks, outcomes_of, planned_edit, undone, why
from tests.queries.test_tasker_executor import Engine
from tests.servers import both_versions
from tests.simulators.tasker.data import CreatedTask, Data
from tests.simulators.tasker.step_history import complete

CHANGED, STALE, REFUSED = Outcome.CHANGED, Outcome.STALE, Outcome.REFUSED
INPUTS = {
    "__template_step_name": "check_return",
    "cursor": {"batch_id": "001", "start_cursor": 0, "end_cursor": 100, "batch_size": 100},
}
REPAIR = instead('"many"', "100")
SET = "UPDATE workflow_steps SET inputs = $2::text::jsonb WHERE workflow_step_uuid = $1"
KEPT = "SELECT s.* FROM workflow_steps s WHERE workflow_step_uuid = $1"


async def broken(tasker_db: TaskerDb, engine: Engine | None = None, **more: Any) -> CreatedTask:
    """Return a task whose first step failed in a worker because of its inputs."""
    data = Data(1)
    others = [data.task("refund", state="complete", ago=900, rest=complete(900)) for _ in range(3)]
    made = data.task("refund", state="pending", ago=5)
    await tasker_db.write(data)
    for other in others:
        await tasker_db.sql(SET, other.steps["check_return"], json.dumps(INPUTS))
    cursor = {**INPUTS["cursor"], "batch_size": "many"}  # type: ignore[dict-item]
    await tasker_db.sql(SET, made.steps["check_return"], json.dumps({**INPUTS, "cursor": cursor}))
    if engine is not None:
        await engine.until_quiet()
        assert await tasker_db.step_state(made.steps["check_return"]) == "error"
        assert await tasker_db.state(made) == "blocked_by_failures"
    return made


@both_versions
async def test_the_worker_takes_the_edited_inputs(tasker_db: TaskerDb, engine: Engine) -> None:
    made = await broken(tasker_db, engine)
    step, node = made.steps["check_return"], tasker_db.step(made, "check_return")
    before = dict(await tasker_db.row(KEPT, step))
    dry_run = await dry_run_edit(tasker_db.workspace, node, REPAIR, LABEL)
    assert outcomes_of(dry_run) == {node: CHANGED}
    assert dry_run.edit is not None
    assert (dry_run.edit.compared, marks(dry_run)) == (3, [])
    done = await committed(tasker_db.workspace, dry_run)
    assert outcomes_of(done) == {node: CHANGED}
    assert json.loads((await tasker_db.row(KEPT, step))["inputs"]) == INPUTS
    assert await tasker_db.step_state(step) == "pending"
    restored = await undone(tasker_db.workspace, done)
    assert outcomes_of(restored) == {node: CHANGED}
    assert dict(await tasker_db.row(KEPT, step)) == before
    assert await tasker_db.step_state(step) == "error"
    assert outcomes_of(await undone(tasker_db.workspace, restored)) == {node: CHANGED}  # a redo
    await engine.until_quiet()
    assert (await tasker_db.step_state(step), await tasker_db.state(made)) == ("complete", "complete")
    await tasker_db.sound()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [('"check_return"', '"other"', "__template_step_name"), ("{", "[{", "JSON object")],
)
async def test_inputs_that_the_engine_cannot_use_are_refused(
    tasker_db: TaskerDb, engine: Engine, old: str, new: str, said: str
) -> None:
    made = await broken(tasker_db, engine)
    node, before = tasker_db.step(made, "check_return"), await tasker_db.everything()

    def change(text: str) -> str:
        return text.replace(old, new, 1) + ("]" if new == "[{" else "")

    dry_run = await dry_run_edit(tasker_db.workspace, node, change, LABEL)
    assert outcomes_of(dry_run) == {node: REFUSED}
    assert said in why(dry_run, node)
    assert await tasker_db.everything() == before


async def test_marks_name_what_no_success_has(tasker_db: TaskerDb, engine: Engine) -> None:
    made = await broken(tasker_db, engine)
    edited = instead('"batch_size": "many"', '"batch_size": 5000, "limit": 1')
    dry_run = await dry_run_edit(tasker_db.workspace, tasker_db.step(made, "check_return"), edited, LABEL)
    assert marks(dry_run) == [("$.cursor.batch_size", "out_of_range", True), ("$.cursor.limit", "unknown_key", True)]


async def test_inputs_or_a_state_that_changed_meanwhile_are_kept(tasker_db: TaskerDb, engine: Engine) -> None:
    made = await broken(tasker_db, engine)
    step, node = made.steps["check_return"], tasker_db.step(made, "check_return")
    plan = await planned_edit(tasker_db.workspace, node, REPAIR, LABEL)
    dry_run = await perform.dry_run(tasker_db.workspace, plan, "x", plan.arguments)
    assert outcomes_of(dry_run) == {node: CHANGED}
    await tasker_db.sql("UPDATE workflow_steps SET inputs = inputs || '{\"x\": 1}' WHERE workflow_step_uuid = $1", step)
    before = await tasker_db.everything()
    assert outcomes_of(await committed(tasker_db.workspace, dry_run)) == {node: STALE}
    assert await tasker_db.everything() == before
    plan = await planned_edit(tasker_db.workspace, node, REPAIR, LABEL)
    dry_run = await perform.dry_run(tasker_db.workspace, plan, "x", plan.arguments)
    await tasker_db.do("retry", node)
    before = await tasker_db.everything()
    assert outcomes_of(await committed(tasker_db.workspace, dry_run)) == {node: REFUSED}
    assert await tasker_db.everything() == before


async def test_a_step_without_inputs_and_a_task_say_why(tasker_db: TaskerDb, engine: Engine) -> None:
    made = await broken(tasker_db, engine)
    await tasker_db.sql("UPDATE workflow_steps SET inputs = NULL")
    with pytest.raises(DatabaseError, match="identity"):
        await planned_edit(tasker_db.workspace, tasker_db.step(made, "check_return"), lambda _: "{}", LABEL)
    action = tasker_db.reader.engine.action("edit", "task")
    assert action is not None
    assert "identity" in tasker_db.reader.availability(action).why
