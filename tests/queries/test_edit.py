"""Edit and retry: executors take the text, an undo restores it.

Races and refusals change nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import asyncpg
import msgspec
import pytest

from queries.change import perform
from queries.change.plan import Plan, plan_selection, plan_versions
from queries.db.errors import DatabaseError
from queries.log import audit_log
from queries.log.choice import NO_IMAGES
from queries.records.action import NOT_KEPT, SET, Outcome
from queries.workspace import Workspace
from tests.db import uni2work
from tests.db.agent_jobs import AgentJobsDb
from tests.db.eternaltwin import EternaltwinDb
from tests.db.uni2work import LIVE, Uni2workDb
from tests.queries.builders import (
    committed,
    dry_run_edit,
    instead,
    marks,
    opened,
    outcomes_of,
    planned_edit,
    seen,
    steps,
    undone,
    why,
)
from tests.servers import PostgresServer, both_versions
from tests.simulators.eternaltwin.kinds import encode
from tests.simulators.eternaltwin.runner import SQL, Runner, Tick
from tests.simulators.uni2work.executor import Instance, Job, JobFailed

CHANGED, STALE, REFUSED, GONE = Outcome.CHANGED, Outcome.STALE, Outcome.REFUSED, Outcome.GONE

# uni2work


async def strict(job: Job) -> None:
    """Execute a job only if its recipient is a number."""
    if not isinstance(json.loads(job.content).get("recipient"), int):
        raise JobFailed("recipient: expected a number")


BAD = {"job": "send-notification", "recipient": "x4711"}
REPAIR = instead('"x4711"', "4711")


@both_versions
async def test_uni2work_runs_the_edited_content(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    job = await uni2work_db.job(BAD)
    instance = Instance(uni2work_db.connection, LIVE, work=strict)
    assert await instance.flush() == 0
    before, node = dict(await uni2work_db.row(job)), uni2work_db.id(job)
    dry_run = await dry_run_edit(uni2work_workspace, node, REPAIR, uni2work.LABEL)
    assert (outcomes_of(dry_run), dry_run.irreversible) == ({node: CHANGED}, {})
    assert dict(await uni2work_db.row(job)) == before
    assert marks(dry_run) == [("$.recipient", "type_change", True)]
    assert dry_run.edit is not None
    assert (dry_run.edit.compared, dry_run.edit.scope[:4]) == (0, "none")
    assert any("jsonb" in note for note in dry_run.edit.notes)
    done = await committed(uni2work_workspace, dry_run)
    restored = await undone(uni2work_workspace, done)
    assert outcomes_of(done) == outcomes_of(restored) == {node: CHANGED}
    assert {**dict(await uni2work_db.row(job)), "xmin": 0} == {**before, "xmin": 0}
    assert outcomes_of(await undone(uni2work_workspace, restored)) == {node: CHANGED}  # a redo
    assert await instance.flush() == 1
    assert await uni2work_db.row(job) is None


async def test_the_entry_has_digests_instead_of_the_text(
    uni2work_db: Uni2workDb, server: PostgresServer, tmp_path: Path
) -> None:
    server.sql(audit_log.ddl(), uni2work_db.dsn)
    workspace = await opened(uni2work_db.dsn, tmp_path, images=False)
    node = uni2work_db.id(await uni2work_db.job(BAD))
    dry_run = await dry_run_edit(workspace, node, REPAIR, uni2work.LABEL)
    assert dry_run.irreversible == {node: NO_IMAGES}
    await committed(workspace, dry_run)
    ((entry,), _) = await workspace.audit_log.page()
    assert entry.arguments["content"].endswith(
        "sha256 "
        + await uni2work_db.value("SELECT encode(sha256(convert_to(content::text, 'UTF8')), 'hex') FROM queued_job")
    )
    assert [(c.before, c.after) for c in entry.changes] == [({"content": NOT_KEPT}, {"content": SET})]
    await workspace.close()


async def test_a_lock_that_came_and_went_does_not_stop_the_edit(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace
) -> None:
    job = await uni2work_db.job(BAD)
    plan = await planned_edit(uni2work_workspace, uni2work_db.id(job), REPAIR, uni2work.LABEL)
    instance = Instance(uni2work_db.connection, LIVE, work=strict)
    await instance.flush()  # the version changes, the content does not
    dry_run = await perform.dry_run(uni2work_workspace, plan, "x", plan.arguments)
    await instance.flush()
    assert outcomes_of(await committed(uni2work_workspace, dry_run)) == {uni2work_db.id(job): CHANGED}
    assert await instance.flush() == 1


@pytest.mark.parametrize("when", ["before the dry run", "before the commit"])
@pytest.mark.parametrize("how", ["content", "lock", "gone"])
async def test_what_changed_meanwhile_is_not_overwritten(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace, when: str, how: str
) -> None:
    job = await uni2work_db.job(BAD)
    node = uni2work_db.id(job)
    changes = {
        "content": "UPDATE queued_job SET content = content || '{\"x\": 1}'",
        "lock": f"UPDATE queued_job SET lock_instance = '{LIVE}', lock_time = now()",
        "gone": "DELETE FROM queued_job",
    }
    plan = await planned_edit(uni2work_workspace, node, REPAIR, uni2work.LABEL)
    if when == "before the dry run":
        await uni2work_db.sql(changes[how])
    dry_run = await perform.dry_run(uni2work_workspace, plan, "x", plan.arguments)
    if when == "before the commit":
        await uni2work_db.sql(changes[how])
    before = await uni2work_db.everything()
    done = await committed(uni2work_workspace, dry_run)
    assert outcomes_of(done) == {node: {"content": STALE, "lock": REFUSED, "gone": GONE}[how]}
    assert await uni2work_db.everything() == before


async def test_a_plain_version_does_not_replace_the_digest(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace
) -> None:
    node = uni2work_db.id(await uni2work_db.job(BAD))
    plan = await planned_edit(uni2work_workspace, node, REPAIR, uni2work.LABEL)
    await uni2work_db.sql("UPDATE queued_job SET content = content || '{\"x\": 1}'")
    now = plan_versions(
        uni2work_workspace, uni2work.LABEL, "edit", await seen(uni2work_workspace, [node], uni2work.LABEL)
    )
    dry_run = await perform.dry_run(uni2work_workspace, now, "x", plan.arguments)
    assert outcomes_of(dry_run) == {node: REFUSED}
    assert outcomes_of(await perform.dry_run(uni2work_workspace, now, "x", {})) == {node: REFUSED}


async def test_a_cron_job_keeps_its_content(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    node = uni2work_db.id(await uni2work_db.job(BAD, cron=True))
    with pytest.raises(DatabaseError, match="cron records"):
        await planned_edit(uni2work_workspace, node, REPAIR, uni2work.LABEL)


# eternaltwin

KIND = {"kind": "SendEmail", "version": 2}


@pytest.fixture
async def runner(eternaltwin: str) -> AsyncIterator[Runner]:
    connection = await asyncpg.connect(eternaltwin, server_settings={"application_name": "runner"})
    yield Runner(connection, Random(1))
    await connection.close()


@both_versions
async def test_eternaltwin_polls_the_edited_state(
    eternaltwin_db: EternaltwinDb, audited: Workspace, runner: Runner
) -> None:
    state = b'{ "phase" :"Compost",\n"id":12345678901234567890.10, "id": 2}'
    task = await eternaltwin_db.task(state=state, **KIND)
    node = eternaltwin_db.id(task)
    assert await runner.tick() == 0
    polled = await runner.read(task)
    assert polled is not None
    dry_run = await dry_run_edit(audited, node, instead("Compost", "Compose"))
    assert outcomes_of(dry_run) == {node: CHANGED}
    done = await committed(audited, dry_run)
    assert (await eternaltwin_db.row(task))["state"] == state.replace(b"Compost", b"Compose")  # nothing else changed
    assert not await runner.write(polled, Tick(await eternaltwin_db.value(SQL["clock"]), 1))
    restored = await undone(audited, done)
    assert outcomes_of(restored) == {node: CHANGED}
    assert "task.revision" in why(restored, node)
    assert (await eternaltwin_db.row(task))["state"] == state
    await undone(audited, restored)
    assert await runner.tick() == 1


async def test_marks_come_from_successes_of_the_same_kind(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    for n in range(7):
        good = encode({"phase": "Done", "user": {"id": 10 * n, "name": "a"}, "tags": ["x"]})
        await eternaltwin_db.task(state=good, status="Complete", output=b"{}", **KIND)
    await eternaltwin_db.task(state=b'{"other": 1}', status="Complete", output=b"{}", kind="Sleep", version=2)
    await eternaltwin_db.task(state=b'{"other": 1}', status="Complete", output=b"{}", kind="SendEmail", version=1)
    await eternaltwin_db.task(state=b'{"cancelled": 1}', status="Complete", **KIND)
    await eternaltwin_db.task(state=b"\x00\xff", status="Complete", output=b"{}", **KIND)
    task = await eternaltwin_db.task(state=b'{"phase": 3, "user": {"id": 99}, "tags": []}', **KIND)
    text = '{"phase": 3, "user": {"id": 61.5, "nam": "b"}, "tags": ["x", 1]}'
    dry_run = await dry_run_edit(workspace, eternaltwin_db.id(task), lambda _: text)
    assert dry_run.edit is not None
    assert dry_run.edit.compared == 7
    assert marks(dry_run) == [
        ("$.user.id", "out_of_range", True),
        ("$.user.nam", "unknown_key", True),
        ("$.tags[1]", "type_change", True),
        ("$.phase", "type_change", False),
        ("$.user.name", "missing_key", False),
    ]
    (wide,) = [mark for mark in dry_run.edit.marks if mark.code == "out_of_range"]
    assert "0 to 60" in wide.what


async def test_a_state_that_is_not_json_can_be_repaired(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    cut = await eternaltwin_db.task(state=b'{"phase": "Compo', **KIND)
    dry_run = await dry_run_edit(workspace, eternaltwin_db.id(cut), lambda text: text + 'se"}')
    assert outcomes_of(dry_run) == {eternaltwin_db.id(cut): CHANGED}
    await committed(workspace, dry_run)
    assert (await eternaltwin_db.row(cut))["state"] == b'{"phase": "Compose"}'
    for state, status in (
        (b"\x00\xff", "Available"),
        (b"{}", "Complete"),
        (b'"' + b"x" * (1 << 20) + b'"', "Available"),
    ):
        task = await eternaltwin_db.task(state=state, status=status, **KIND)
        with pytest.raises(DatabaseError):
            await planned_edit(workspace, eternaltwin_db.id(task), lambda _: "[]")


# All engines


async def test_an_engine_without_the_input_says_so(mirror: Workspace, agent_jobs_db: AgentJobsDb) -> None:
    job = agent_jobs_db.id(await agent_jobs_db.job(status="failed"))
    plan = plan_versions(mirror, "agent_jobs", "edit", {job: "?"})
    assert outcomes_of(await perform.dry_run(mirror, plan, "x", {})) == {job: REFUSED}
    assert "no column for the input" in plan.refused[job].why


async def test_one_text_at_a_time(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    reader = uni2work_workspace.engines[uni2work.LABEL]
    nodes = (await reader.nodes.read([uni2work_db.id(await uni2work_db.job(BAD)) for _ in range(2)])).nodes
    assert isinstance(plan_selection(reader, nodes[:1], "J", {"edit"}), Plan)
    assert "one node at a time" in str(plan_selection(reader, nodes, "J", {"edit"}))


async def test_an_edit_waits_for_the_worker(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    job = await uni2work_db.job(BAD, held=1)
    node = uni2work_db.id(job)
    dry_run = await dry_run_edit(uni2work_workspace, node, REPAIR, uni2work.LABEL)
    assert (outcomes_of(dry_run), dry_run.for_now) == ({node: REFUSED}, (node,))

    async def released() -> None:
        await asyncio.sleep(0.2)
        await uni2work_db.sql("UPDATE queued_job SET lock_instance = NULL, lock_time = NULL")

    freeing = asyncio.create_task(released())
    results: dict[str, Outcome] = {}
    wanted = msgspec.structs.replace(dry_run, wait=60.0)
    async for progress in steps(uni2work_workspace, wanted):
        results |= outcomes_of(progress.results)
    await freeing
    assert results == {node: CHANGED}
    assert json.loads((await uni2work_db.row(job))["content"])["recipient"] == 4711


async def test_no_transaction_begins_while_the_connections_rest(uni2work_workspace: Workspace) -> None:
    database, begun = uni2work_workspace.database, asyncio.Event()
    order: list[str] = []

    async def edit() -> None:
        async with database.at_rest():
            order.append("rests")
            begun.set()
            await asyncio.sleep(0.1)
            order.append("ends")

    async def use() -> None:
        await begun.wait()
        async with database.reading(), database.writing():
            order.append("used")

    async with asyncio.timeout(60):
        async with database.reading():
            resting = asyncio.create_task(edit())
            await asyncio.sleep(0.05)
            async with database.writing():  # a transaction inside of another one
                order.append("nested")
        await asyncio.gather(resting, use())
    assert order == ["nested", "rests", "ends", "used"]
