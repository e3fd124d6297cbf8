"""Queues with lower-cased table names, and queues that cannot be read."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from queries.read import details
from queries.read.grants import grants
from queries.records.action import Outcome
from queries.workspace import Workspace
from tests.db.tasker import TaskerDb
from tests.queries.builders import opened, outcomes_of, why
from tests.servers import PostgresServer, both_versions
from tests.simulators.tasker.data import Data
from tests.simulators.tasker.protocol import RESULTS
from tests.simulators.tasker.step_history import cancelled, claimed, enqueued, handed_in
from tests.simulators.tasker.templates import TEMPLATES, Step, Template

QUEUE = "worker_Rust_E2E_queue"
CAPITAL = Template(namespace="Rust_E2E", name="spin", version="1", steps=(Step(name="spin_up"),))


@pytest.fixture
def data() -> Data:
    return Data(1, [*TEMPLATES, CAPITAL])


async def namespace(tasker_db: TaskerDb, name: str) -> str:
    key = await tasker_db.value("SELECT task_namespace_uuid FROM task_namespaces WHERE name = $1", name)
    return f"tasker/namespace:{key}"


@both_versions
async def test_a_namespace_with_a_capital_letter_is_found_as_in_pgmq(tasker_db: TaskerDb, data: Data) -> None:
    waits = data.task("spin", ago=900, steps={"spin_up": enqueued(900)})
    data.message(waits, "spin_up", age=900)
    ended = data.task("spin", state="cancelled", rest=cancelled(900))
    data.message(ended, "spin_up", age=30, reads=9)
    lost = data.task("sync_erp", ago=900, steps={"pull_erp": enqueued(900)})
    await tasker_db.write(data)
    assert waits.queue == QUEUE
    assert await tasker_db.value("SELECT to_regclass('pgmq.q_worker_rust_e2e_queue')")
    assert not await tasker_db.value("""SELECT to_regclass('pgmq."q_worker_Rust_E2E_queue"')""")
    found = await tasker_db.findings()
    assert found.skipped_findings == ()
    message = f"tasker/message:{QUEUE}/2"
    assert {(f.node_id, f.code) for f in found.findings} == {
        (await namespace(tasker_db, "Rust_E2E"), "no_worker"),
        (message, "poison_message"),
        (tasker_db.step(lost, "pull_erp"), "message_lost"),
    }
    assert [n.id for n in (await tasker_db.reader.nodes.read([message])).nodes] == [message]
    detail = await details.read(tasker_db.reader, message)
    assert detail is not None
    assert [s.name for s in detail.sections] == ["1_message"]
    assert outcomes_of(await tasker_db.do("archive", message)) == {message: Outcome.CHANGED}
    assert outcomes_of(await tasker_db.do("cancel", tasker_db.task(waits))) == {tasker_db.task(waits): Outcome.CHANGED}
    assert await tasker_db.messages(QUEUE) == []
    again = data.task("spin", ago=900, steps={"spin_up": enqueued(900)})
    assert again.queue == QUEUE


@pytest.mark.parametrize(
    ("length", "said"),
    [(34, "the queue does not exist"), (35, "pgmq makes no queue with a name of more than 47 characters")],
)
async def test_a_queue_that_pgmq_cannot_make(tasker_db: TaskerDb, data: Data, length: int, said: str) -> None:
    """The namespace got its name later, so no queue has it."""
    made = data.task("spin", ago=900, steps={"spin_up": enqueued(900)})
    await tasker_db.write(data)
    await tasker_db.sql("UPDATE task_namespaces SET name = $1 WHERE name = 'Rust_E2E'", "x" * length)
    (lost,) = [each for each in (await tasker_db.findings()).findings if each.code == "message_lost"]
    assert lost.node_id == tasker_db.step(made, "spin_up")
    assert f"({said})" in lost.sentence
    assert lost.action is None


async def test_messages_beyond_the_first_of_a_long_queue_are_not_read(tasker_db: TaskerDb, data: Data) -> None:
    await tasker_db.write(data)
    await tasker_db.sql(
        "INSERT INTO pgmq.q_worker_rust_e2e_queue (read_ct, enqueued_at, vt, message)"
        " SELECT 0, now() + n * interval '1 ms', now(), '{}' FROM generate_series(1, 2000) AS n"
    )
    about_messages = {"hidden_message", "poison_message"}
    whole = await tasker_db.findings()
    assert about_messages <= set(whole.capped)
    assert whole.skipped_findings == ()
    one = await tasker_db.reader.findings.read([f"tasker/message:{QUEUE}/1"])
    assert about_messages <= set(one.capped)
    await tasker_db.sql("DELETE FROM pgmq.q_worker_rust_e2e_queue WHERE msg_id = 1")
    assert not about_messages & set((await tasker_db.findings()).capped)


@both_versions
async def test_a_queue_with_a_missing_table_does_not_hide_others(tasker_db: TaskerDb, data: Data) -> None:
    quiet = data.task("sync_erp", ago=900, steps={"pull_erp": enqueued(900)})
    data.message(quiet, "pull_erp", age=900)
    data.task("spin", ago=900, steps={"spin_up": enqueued(900)})
    await tasker_db.write(data)
    await tasker_db.sql("DROP TABLE pgmq.q_worker_rust_e2e_queue")
    found = await tasker_db.findings()
    assert {(f.node_id, f.code) for f in found.findings} == {(await namespace(tasker_db, "legacy"), "no_worker")}
    about_queues = {"no_worker", "workers_behind", "message_lost", "poison_message", "hidden_message"}
    assert {u.code for u in found.skipped_findings} == about_queues
    assert all(QUEUE in u.why and "q_worker_rust_e2e_queue" in u.why for u in found.skipped_findings)
    assert "no_worker" in found.capped  # at least: one queue was not read


async def test_a_view_instead_of_a_queue_table_is_not_read(tasker_db: TaskerDb, data: Data) -> None:
    data.task("spin", ago=900, steps={"spin_up": enqueued(900)})
    await tasker_db.write(data)
    await tasker_db.sql(
        "ALTER TABLE pgmq.q_worker_rust_e2e_queue RENAME TO hidden;"
        " CREATE VIEW pgmq.q_worker_rust_e2e_queue AS SELECT h.*, 1/0 AS bang FROM pgmq.hidden h"
    )
    found = await tasker_db.findings()
    assert found.findings == ()
    assert all("not a table" in u.why for u in found.skipped_findings)
    assert found.skipped_findings


@both_versions
async def test_a_queue_without_privileges_does_not_hide_others(
    server: PostgresServer, tasker_db: TaskerDb, data: Data, tmp_path: Path
) -> None:
    quiet = data.task("sync_erp", ago=900, steps={"pull_erp": enqueued(900)})
    data.message(quiet, "pull_erp", age=900)
    held = data.task("spin", ago=900, steps={"spin_up": enqueued(900)})
    working = data.task("refund", ago=900, steps={"check_return": claimed(60)})
    late = data.task("refund", ago=900, steps={"check_return": handed_in(900)})
    await tasker_db.write(data)
    role = server.unique("operator")
    dsn = tasker_db.workspace.database.text
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    for statement in await grants(tasker_db.workspace.database, tasker_db.reader, [], [role]):
        server.sql(statement, dsn)
    server.sql(f"REVOKE ALL ON pgmq.q_worker_rust_e2e_queue, pgmq.q_{RESULTS} FROM {role}", dsn)
    async with workspace_of(as_role(dsn, role), tmp_path) as workspace:
        reader = workspace.engines["tasker"]
        found = await reader.findings.read()
        assert {(f.node_id, f.code) for f in found.findings} == {(await namespace(tasker_db, "legacy"), "no_worker")}
        assert {u.code: u.why.count("no SELECT") for u in found.skipped_findings} == {
            "no_worker": 1,
            "workers_behind": 1,
            "message_lost": 1,
            "result_not_delivered": 1,
            "poison_message": 2,
            "hidden_message": 2,
            **dict.fromkeys(("no_orchestrator", "orchestrators_behind"), 1),
        }
        other = TaskerDb(tasker_db.connection, workspace)
        tasks = tasker_db.task(held), tasker_db.task(working)
        outcomes = await other.do("cancel", *tasks)
        assert outcomes_of(outcomes) == dict.fromkeys(tasks, Outcome.REFUSED)
        assert all("q_orchestration_step_results" in why(outcomes, t) or QUEUE in why(outcomes, t) for t in tasks)
        step = tasker_db.step(late, "check_return")
        outcomes = await other.do("resend", step)
        assert outcomes_of(outcomes) == {step: Outcome.REFUSED}, "it may not be lost"


@both_versions
async def test_grants_cover_queues_created_later(
    server: PostgresServer, tasker_db: TaskerDb, data: Data, tmp_path: Path
) -> None:
    late = Template(namespace="newcomer", name="arrive", version="1", steps=(Step(name="arrive_now"),))
    await tasker_db.write(Data(2, TEMPLATES))
    viewer, operator = server.unique("viewer"), server.unique("operator")
    dsn = tasker_db.workspace.database.text
    for role in (viewer, operator):
        server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    printed = await grants(tasker_db.workspace.database, tasker_db.reader, [viewer], [operator])
    server.sql("; ".join(printed), dsn)
    data = Data(3, [late])
    made = data.task("arrive", ago=900, steps={"arrive_now": enqueued(900)})
    data.message(made, "arrive_now", age=900, reads=9)
    await tasker_db.write(data)
    for role in (viewer, operator):
        async with workspace_of(as_role(dsn, role), tmp_path) as workspace:
            found = await workspace.engines["tasker"].findings.read()
            assert found.skipped_findings == (), role
            assert "poison_message" in {f.code for f in found.findings}, role
    async with workspace_of(as_role(dsn, operator), tmp_path) as workspace:
        other = TaskerDb(tasker_db.connection, workspace)
        assert outcomes_of(await other.do("cancel", tasker_db.task(made))) == {tasker_db.task(made): Outcome.CHANGED}
    assert await tasker_db.messages(made.queue) == []


@contextlib.asynccontextmanager
async def workspace_of(dsn: str, folder: Path) -> AsyncIterator[Workspace]:
    workspace = await opened(dsn, folder)
    try:
        yield workspace
    finally:
        await workspace.close()


def as_role(dsn: str, role: str) -> str:
    parts = urlsplit(dsn)
    return urlunsplit(parts._replace(netloc=f"{role}:x@{parts.netloc.rpartition('@')[2]}"))
