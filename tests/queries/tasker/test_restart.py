"""Restart requests: format, and repetition if no task came of them."""

from __future__ import annotations

import json

import pytest

from queries.records.action import Outcome
from tests.db.tasker import TaskerDb
from tests.queries.builders import outcomes_of, why
from tests.queries.tasker.test_dynamic_steps import request
from tests.queries.test_tasker_executor import Engine
from tests.servers import both_versions
from tests.simulators.tasker.data import Data
from tests.simulators.tasker.orchestrator import parses
from tests.simulators.tasker.protocol import REQUESTS
from tests.simulators.tasker.step_history import failed


@both_versions
async def test_the_request_has_a_priority_that_the_engine_accepts(
    tasker_db: TaskerDb, data: Data, engine: Engine
) -> None:
    made = data.task("refund", state="error", ago=900, steps={"check_return": failed(900)})
    await tasker_db.write(data)
    task = tasker_db.task(made)
    assert outcomes_of(await tasker_db.do("restart", task)) == {task: Outcome.CHANGED}
    (message,) = await tasker_db.messages(REQUESTS)
    body = json.loads(message["message"])
    assert body["metadata"]["priority"] == "Normal"
    assert parses(body)
    again = await tasker_db.do("restart", task)
    assert outcomes_of(again) == {task: Outcome.REFUSED}
    assert REQUESTS in why(again, task)
    await engine.until_quiet()
    assert await tasker_db.messages(REQUESTS) == []
    assert await tasker_db.value("SELECT count(*) FROM tasks WHERE parent_correlation_id = $1", made.correlation) == 1
    assert outcomes_of(await tasker_db.do("restart", task)) == {task: Outcome.REFUSED}


async def test_a_request_without_a_task_can_be_repeated(tasker_db: TaskerDb, data: Data, engine: Engine) -> None:
    made = data.task("refund", state="error", ago=900, steps={"check_return": failed(900)})
    await tasker_db.write(data)
    task = tasker_db.task(made)
    await tasker_db.do("restart", task)
    await tasker_db.sql(f"DELETE FROM pgmq.q_{REQUESTS}")
    assert outcomes_of(await tasker_db.do("restart", task)) == {task: Outcome.CHANGED}
    await engine.until_quiet()
    states = [
        await tasker_db.state(r[0]) for r in await tasker_db.connection.fetch("SELECT task_uuid FROM tasks ORDER BY 1")
    ]
    assert states == ["error", "complete"]


@pytest.mark.parametrize("priority", [None, "normal", 5])
async def test_the_demo_rejects_other_priorities(tasker_db: TaskerDb, engine: Engine, priority: object) -> None:
    await tasker_db.write(Data(1))
    await request(engine, "refund", "1.0.0", priority=priority)
    await engine.orchestrator.tick()
    assert await tasker_db.value("SELECT count(*) FROM tasks") == 0
    assert [m["read_ct"] for m in await tasker_db.messages(REQUESTS)] == [1], "it comes back"
