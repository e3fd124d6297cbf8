"""Decided tasks have no findings, and suggested actions are not refused."""

from __future__ import annotations

from typing import Any

import pytest

from queries.read.incidents import REFUSED
from queries.records.action import Outcome
from queries.records.finding import Finding
from tests.db.tasker import TaskerDb
from tests.queries.builders import outcomes_of, why
from tests.queries.test_blast_radius import measured, reached
from tests.servers import both_versions
from tests.simulators.tasker.data import Data
from tests.simulators.tasker.step_history import cancelled, claimed, complete, failed, pending, reset, waiting

MINUTE, HOUR = 60.0, 3600.0
BLOCKED: dict[str, Any] = {"state": "blocked_by_failures", "ago": HOUR, "steps": {"refund_card": failed(HOUR)}}
DECISIONS = ("manually_resolved", "permanently_failed", "cancelled")


@both_versions
@pytest.mark.parametrize("end", ["error", "resolved_manually"])
async def test_a_task_given_up_has_no_finding(tasker_db: TaskerDb, data: Data, end: str) -> None:
    made, other = data.task("refund", **BLOCKED), data.task("refund", **BLOCKED)
    await tasker_db.write(data)
    assert (tasker_db.step(made, "refund_card"), "failing") in await tasker_db.codes()
    assert outcomes_of(await tasker_db.do("give_up", tasker_db.task(made), **{"as": end})) == {
        tasker_db.task(made): Outcome.CHANGED
    }
    left = {(tasker_db.task(other), "blocked_by_failures"), (tasker_db.step(other, "refund_card"), "failing")}
    assert await tasker_db.codes() == left
    assert await tasker_db.codes(tasker_db.step(made, "refund_card")) == set()
    assert {x.node.id for x in (await tasker_db.reader.pages.dead()).dead_letters} == {tasker_db.task(other)}


async def test_a_task_in_error_by_the_engine_keeps_its_finding(tasker_db: TaskerDb, data: Data) -> None:
    made = data.task("refund", state="error", ago=HOUR, steps={"refund_card": failed(HOUR)})
    await tasker_db.write(data)
    assert await tasker_db.codes() == {(tasker_db.step(made, "refund_card"), "failing")}


@both_versions
@pytest.mark.parametrize("decision", DECISIONS)
@pytest.mark.parametrize("state", ["error", "blocked_by_failures"])
async def test_a_task_with_a_resolved_dead_letter_has_no_finding(
    tasker_db: TaskerDb, data: Data, state: str, decision: str
) -> None:
    made = data.task("refund", **BLOCKED | {"state": state})
    dead_letter = data.dead_letter(made, age=HOUR, was="steps_in_process")
    await tasker_db.write(data)
    step = tasker_db.step(made, "refund_card")
    assert (step, "failing") in await tasker_db.codes()
    outcomes = await tasker_db.do("resolve", tasker_db.dead_letter(dead_letter), status=decision)
    assert outcomes_of(outcomes) == {tasker_db.dead_letter(dead_letter): Outcome.CHANGED}
    assert await tasker_db.codes() == set()
    assert await tasker_db.codes(step) == set()
    assert (await tasker_db.reader.pages.dead()).dead_letters == ()


@both_versions
async def test_a_decision_holds_until_the_task_fails_again(tasker_db: TaskerDb, data: Data) -> None:
    made = data.task("refund", **BLOCKED)
    data.dead_letter(made, age=5 * HOUR, decision="manually_resolved", by="anna")
    await tasker_db.write(data)
    assert await tasker_db.codes() == {
        (tasker_db.task(made), "blocked_by_failures"),
        (tasker_db.step(made, "refund_card"), "failing"),
    }
    assert {x.node.id for x in (await tasker_db.reader.pages.dead()).dead_letters} == {tasker_db.task(made)}


@pytest.mark.parametrize(
    ("shape", "code"),
    [
        (claimed(2 * HOUR), "owner_dead"),
        (pending(HOUR, at_work=True), "stale_flag"),
        (reset(HOUR), "reset_but_not_retryable"),
    ],
)
async def test_steps_of_a_decided_task_have_no_findings(tasker_db: TaskerDb, data: Data, shape: Any, code: str) -> None:
    steps = {"sum_region_north": failed(HOUR), "sum_region_east": shape}
    made = data.task("nightly_report", state="blocked_by_failures", ago=HOUR, steps=steps)
    await tasker_db.write(data)
    assert (tasker_db.step(made, "sum_region_east"), code) in await tasker_db.codes()
    await tasker_db.do("give_up", tasker_db.task(made))
    assert await tasker_db.codes() == set()


async def test_a_step_does_not_become_ready_because_its_task_is_decided(tasker_db: TaskerDb, data: Data) -> None:
    """Its finding ends, but the engine still does not take it."""
    region = pending(HOUR, at_work=True)
    steps = {"open_books": complete(HOUR), "sum_region_north": failed(HOUR), "sum_region_east": region}
    made = data.task("nightly_report", state="blocked_by_failures", ago=HOUR, steps=steps)
    await tasker_db.write(data)
    assert [n.phase for n in (await tasker_db.reader.nodes.read([tasker_db.step(made, "sum_region_east")])).nodes] == [
        "ready"
    ]
    found = reached(await measured(tasker_db.workspace, "give_up", [tasker_db.task(made)], {}, "tasker"))
    step = tasker_db.step(made, "sum_region_east")
    assert step in found["ends", "stale_flag"].ids
    assert not any(step in reach.ids for (code, _), reach in found.items() if code == "becomes")


async def test_a_retried_step_does_not_become_ready_while_another_one_is_in_error(
    tasker_db: TaskerDb, data: Data
) -> None:
    """The engine does not go on with the task."""
    steps = {"open_books": complete(HOUR), "sum_region_north": failed(HOUR), "sum_region_east": failed(HOUR)}
    made = data.task("nightly_report", state="blocked_by_failures", ago=HOUR, steps=steps)
    await tasker_db.write(data)
    regions = [tasker_db.step(made, f"sum_region_{name}") for name in ("north", "east")]
    found = reached(await measured(tasker_db.workspace, "retry", regions[:1], {}, "tasker"))
    assert found["becomes", "blocked"].ids == (regions[0],)
    found = reached(await measured(tasker_db.workspace, "retry", regions, {}, "tasker"))
    assert set(found["becomes", "ready"].ids) == set(regions)


# Suggested actions


COPY = """
WITH copy AS (
  INSERT INTO workflow_steps SELECT (jsonb_populate_record(NULL::workflow_steps,
    to_jsonb(s) || jsonb_build_object('workflow_step_uuid', gen_random_uuid(), 'processed', true))).*
    FROM workflow_steps s WHERE s.workflow_step_uuid = $1 RETURNING workflow_step_uuid
)
INSERT INTO workflow_step_transitions (workflow_step_uuid, to_state, sort_key, most_recent, created_at, updated_at)
SELECT workflow_step_uuid, 'complete', 10, true, now(), now() FROM copy RETURNING workflow_step_uuid
"""


@both_versions
async def test_a_retry_does_not_repeat_what_a_copy_of_the_step_has_done(tasker_db: TaskerDb, data: Data) -> None:
    """A database from before the unique rule may have two steps of one name in a task."""
    made = data.task("refund", **BLOCKED)
    await tasker_db.write(data)
    step, task = tasker_db.step(made, "refund_card"), tasker_db.task(made)

    async def found() -> Finding:
        return next(f for f in (await tasker_db.findings()).findings if (f.node_id, f.code) == (step, "failing"))

    assert (await found()).action == "retry"
    await tasker_db.sql("ALTER TABLE workflow_steps DROP CONSTRAINT workflow_steps_task_uuid_named_step_uuid_key")
    copy = await tasker_db.value(COPY, made.steps["refund_card"])
    refused = await found()
    assert refused.action is None
    assert f"the step {copy} is a copy of it and is done" in refused.evidence[REFUSED]
    for node, said in ((step, str(copy)), (task, "its step ")):
        dry_run = await tasker_db.dry_run("retry", node)
        assert outcomes_of(dry_run) == {node: Outcome.REFUSED}
        assert said in why(dry_run, node)
        assert "would repeat what that has done" in why(dry_run, node)


STALE: list[tuple[str, float, float, Any, bool]] = [
    ("waiting_for_dependencies", 55 * MINUTE, 2 * HOUR, {"check_return": waiting(30, backoff=9000)}, True),
    ("waiting_for_retry", 28 * MINUTE, 2 * HOUR, {"check_return": waiting(30, backoff=9000)}, True),
    ("steps_in_process", 28 * MINUTE, 2 * HOUR, {"check_return": claimed(28 * MINUTE)}, False),
    ("waiting_for_dependencies", 60, 23 * HOUR, {"check_return": waiting(30, backoff=9000)}, False),
    ("waiting_for_dependencies", 55 * MINUTE, 2 * HOUR, {"check_return": failed(HOUR)}, False),
    (
        "waiting_for_dependencies",
        55 * MINUTE,
        2 * HOUR,
        dict.fromkeys(("check_return", "refund_card", "notify_customer"), complete(HOUR)),
        False,
    ),
]


@both_versions
@pytest.mark.parametrize("case", STALE, ids=lambda c: f"{c[0]}-{c[4]}")
async def test_wake_is_suggested_only_if_it_can_help(tasker_db: TaskerDb, data: Data, case: Any) -> None:
    state, ago, age, steps, useful = case
    made = data.task("refund", state=state, ago=ago, age=age, steps=steps)
    await tasker_db.write(data)
    task = tasker_db.task(made)
    found = next(f for f in (await tasker_db.findings()).findings if f.code == "stale_soon")
    assert (found.node_id, found.action) == (task, "wake" if useful else None)
    if useful:
        assert outcomes_of(await tasker_db.do("wake", task)) == {task: Outcome.CHANGED}


# Actions that follow the engine's rules


async def test_cancel_is_refused_in_error(tasker_db: TaskerDb, data: Data) -> None:
    dead = data.task("refund", state="error", ago=HOUR, steps={"refund_card": failed(HOUR)})
    blocked = data.task("refund", **BLOCKED)
    await tasker_db.write(data)
    outcomes = await tasker_db.do("cancel", tasker_db.task(dead), tasker_db.task(blocked))
    assert outcomes_of(outcomes) == {tasker_db.task(dead): Outcome.REFUSED, tasker_db.task(blocked): Outcome.CHANGED}
    assert "in error" in why(outcomes, tasker_db.task(dead))
    assert await tasker_db.step_state(dead.steps["refund_card"]) == "error"


@both_versions
async def test_bury_fills_the_columns_of_the_engine_s_dead_letter_view(tasker_db: TaskerDb, data: Data) -> None:
    made = data.task("refund", **BLOCKED | {"ago": 90 * MINUTE + 40})
    await tasker_db.write(data)
    assert outcomes_of(await tasker_db.do("bury", tasker_db.task(made))) == {tasker_db.task(made): Outcome.CHANGED}
    row = await tasker_db.row("SELECT * FROM v_dlq_investigation_queue WHERE task_uuid = $1", made.id)
    assert (row["time_in_state_minutes"], row["namespace_name"], row["task_name"], row["current_state"]) == (
        90,
        "shop",
        "refund",
        "blocked_by_failures",
    )


async def test_steps_of_a_cancelled_task_have_no_findings(tasker_db: TaskerDb, data: Data) -> None:
    made = data.task("refund", state="cancelled", ago=HOUR, steps={"refund_card": claimed(2 * HOUR)}, rest=cancelled())
    await tasker_db.write(data)
    assert await tasker_db.codes(tasker_db.step(made, "refund_card")) == set()
