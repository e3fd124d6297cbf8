"""Incidents of tasker: one line for each cause."""

from __future__ import annotations

import asyncio
import math

import asyncpg
import pytest

from queries.contract.server_spec import server_spec
from queries.snapshot import snapshot
from tests.db.tasker import LABEL, TaskerDb
from tests.queries.builders import outcomes_of, why
from tests.queries.incident_groups import incidents_of, the_only
from tests.simulators.tasker.data import Data
from tests.simulators.tasker.protocol import RESULTS
from tests.simulators.tasker.step_history import claimed, complete, enqueued, failed, handed_in, pending, waiting

MINUTE, HOUR = 60.0, 3600.0
GATEWAY = "503 from http://10.0.0.7:8080 after {} ms"


async def test_steps_that_fail_with_one_error_are_one_incident(tasker_db: TaskerDb, data: Data) -> None:
    for n in range(20):
        steps = {"check_return": complete(HOUR), "refund_card": failed(900, error=GATEWAY.format(n))}
        data.task("refund", state="blocked_by_failures", ago=890, steps=steps)
    dead = [
        data.task("refund", state="error", ago=600, steps={"refund_card": failed(900, error=GATEWAY.format(n))})
        for n in range(3)
    ]
    for made in dead:
        data.dead_letter(made, age=600)
    data.task("refund", state="blocked_by_failures", ago=890, steps={"refund_card": failed(900, error="card declined")})
    await tasker_db.write(data)
    shown = await incidents_of(tasker_db.workspace, LABEL)
    incidents = sorted(shown.pop("failing"), key=lambda i: i.n)
    assert not shown
    assert [(i.n, {s.code: s.n for s in i.symptoms}) for i in incidents] == [
        (2, {"blocked_by_failures": 1}),
        (46, {"blocked_by_failures": 20, "dead_letter": 3}),
    ]
    assert {i.action for i in incidents} == {"retry"}


@pytest.mark.parametrize(("same", "others", "shown"), [(9, 0, 0), (21, 3, 21), (21, 25, 0)])
async def test_steps_that_try_again_after_one_error_are_one_incident(
    tasker_db: TaskerDb, data: Data, same: int, others: int, shown: int
) -> None:
    """They still have attempts, so none of them has failed."""
    for n, error in enumerate([GATEWAY] * same + ["card declined: " + "x" * n for n in range(others)]):
        step = waiting(60, backoff=900, error=error.format(n))
        made = data.task("refund", state="waiting_for_retry", ago=60, steps={"check_return": step})
    await tasker_db.write(data)
    found = (await incidents_of(tasker_db.workspace, LABEL)).get("failing_alike", [])
    assert [(each.n, each.action) for each in found] == ([(shown, None)] if shown else [])
    for each in found:
        assert each.sentence.startswith(f"{shown} steps wait for another attempt. They failed with the same error")
        node = each.findings[0].node_id
        assert await tasker_db.codes(node) == {(node, "failing_alike")}, "also if it alone is asked for"
        assert await tasker_db.codes(tasker_db.step(made, "check_return")) == set()


async def test_a_result_that_was_never_saved_is_completed_and_not_sent(tasker_db: TaskerDb, data: Data) -> None:
    """The engine refuses the message of a step without a result."""
    for name, error in (("refund", None), ("refund", "503"), ("newsletter", None)):
        step = "check_return" if name == "refund" else "select_readers"
        made = data.task(name, ago=HOUR, age=2 * HOUR, steps={step: handed_in(HOUR, error)})
    await tasker_db.write(data)
    await tasker_db.sql("UPDATE workflow_steps SET results = NULL WHERE task_uuid <> $1", made.id)
    await tasker_db.sql(f"DELETE FROM pgmq.q_{RESULTS}")
    incidents = (await incidents_of(tasker_db.workspace, LABEL))["result_not_delivered"]
    (lost,), (sent,) = ([i for i in incidents if (i.action is None) == unsaved] for unsaved in (True, False))
    assert (len(lost.findings), len(sent.findings), sent.action) == (2, 1, "resend")
    assert "no result was saved" in lost.sentence
    assert "no result was saved" not in sent.sentence
    ids = [finding.node_id for finding in (*lost.findings, *sent.findings)]
    dry_run = await tasker_db.dry_run("resend", *ids)
    assert [outcomes_of(dry_run)[i] for i in ids] == ["refused", "refused", "changed"]
    assert "complete it with its result" in why(dry_run, ids[0])
    completed = await tasker_db.dry_run("complete", ids[0], result="{}", in_flight=True)
    assert set(outcomes_of(completed).values()) == {"changed"}


async def test_the_remedy_is_that_of_the_obstacle(tasker_db: TaskerDb, data: Data) -> None:
    done = {"check_return": complete(2 * HOUR)}
    made = data.task("refund", state="waiting_for_dependencies", ago=HOUR, age=3 * HOUR, steps=done)
    await tasker_db.write(data)
    step = made.steps["check_return"]
    await tasker_db.sql("UPDATE workflow_step_transitions SET most_recent = false WHERE workflow_step_uuid = $1", step)
    (incident,) = (await incidents_of(tasker_db.workspace, LABEL))["can_never_continue"]
    assert incident.action is None
    assert incident.remedy.startswith("Mark the last transition of the step as current")
    assert "do not cancel the task" in incident.remedy


async def test_the_claims_of_a_worker_are_one_incident(tasker_db: TaskerDb, data: Data) -> None:
    for _ in range(6):
        data.task("refund", ago=HOUR, age=2 * HOUR, steps={"check_return": claimed(HOUR)})
    batch = {"deliver_batch": claimed(HOUR, checkpoint={"cursor": 1}, stamped=HOUR)}
    data.task("newsletter", ago=HOUR, age=2 * HOUR, steps=batch)
    data.task("refund", ago=60, steps={"check_return": claimed(30)})
    await tasker_db.write(data)
    await the_only(
        tasker_db.workspace, LABEL, "owner_dead", action="release", symptoms={"batch_stalled": 1, "stale_soon": 7}
    )


async def test_a_missing_orchestrator_explains_what_is_late(tasker_db: TaskerDb, data: Data) -> None:
    made = data.task("refund", ago=20 * MINUTE, steps={"check_return": handed_in(20 * MINUTE)})
    data.message(made, "check_return", age=20 * MINUTE, queue=RESULTS)
    for _ in range(3):
        data.task("refund", state="pending", ago=20 * MINUTE)
        data.task("refund", state="waiting_for_dependencies", ago=HOUR + 300, steps={"check_return": pending(2 * HOUR)})
        data.task("refund", state="initializing", ago=20 * MINUTE)
    await tasker_db.write(data)
    assert (
        await the_only(
            tasker_db.workspace,
            LABEL,
            "no_orchestrator",
            action=None,
            symptoms={"not_picked_up": 3, "no_longer_polled": 3, "orchestrator_gone": 3, "stale_soon": 3},
        )
    ).remedy


async def test_a_missing_worker_explains_the_tasks_of_its_queue(tasker_db: TaskerDb, data: Data) -> None:
    for _ in range(4):
        made = data.task("refund", ago=28 * MINUTE, age=HOUR, steps={"check_return": enqueued(28 * MINUTE)})
        data.message(made, "check_return", age=28 * MINUTE)
    dead = data.task("refund", state="error", ago=10 * MINUTE, age=HOUR, steps={"check_return": enqueued(45 * MINUTE)})
    data.message(dead, "check_return", age=45 * MINUTE)
    data.dead_letter(dead, was="steps_in_process", age=600)
    await tasker_db.write(data)
    assert (
        await the_only(
            tasker_db.workspace, LABEL, "no_worker", action=None, symptoms={"stale_soon": 4, "dead_letter": 1}
        )
    ).remedy


async def test_a_locked_row_is_above_the_tasks_of_the_orchestrator_that_waits_for_it(
    tasker_db: TaskerDb, data: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The orchestrator lives and does nothing else meanwhile."""
    monkeypatch.setitem(server_spec().thresholds, "session_waits", "0s")
    monkeypatch.setattr("queries.read.incidents.OLDER_SECONDS", math.inf)  # no session can be made older
    made = [data.task("refund", state="initializing", ago=11 * MINUTE) for _ in range(12)]
    await tasker_db.write(data)
    row = f"task_transitions WHERE most_recent AND task_uuid = '{made[0].id}'"
    names = ("psql", "tasker-orchestrator")
    dsn = tasker_db.workspace.database.text
    psql, waiter = [await asyncpg.connect(dsn, server_settings={"application_name": name}) for name in names]
    await psql.execute(f"BEGIN; SELECT FROM {row} FOR UPDATE")
    waits = asyncio.create_task(waiter.execute(f"SELECT FROM {row} FOR UPDATE"))
    waited = "SELECT count(*) FROM pg_locks WHERE NOT granted AND waitstart < now() - '1.1s'::interval"
    while not await tasker_db.value(waited):
        await asyncio.sleep(0.1)
    now = await snapshot(tasker_db.workspace, [tasker_db.reader], once=False)
    symptoms = {each.code: each.n for each in now.incidents[0].symptoms}
    assert (now.incidents[0].code, symptoms.get("orchestrator_gone")) == ("row_locked", 12), now.incidents
    assert f"pid {psql.get_server_pid()} (psql, role postgres)" in now.incidents[0].sentence
    assert len(now.incidents) == 1
    await psql.close()
    await waits
    await waiter.close()
