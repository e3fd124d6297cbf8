"""Witnesses about owners: in the dry run, at the commit, in the audit log."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from console.text.spans import UNLIMITED, Spans
from console.text.views.action import dry_run_lines
from console.text.views.audit_entry import entry_lines
from queries.change import admit as witnesses
from queries.change import loop
from queries.check.nodes import known_nodes
from queries.contract.builtin import builtin
from queries.log import audit_log
from queries.records.action import Change, Outcome, Owner, Verdict
from queries.records.node import Phase
from queries.workspace import Workspace
from tests.command import unstick
from tests.console.tui_driver import run_tui
from tests.db.agent_jobs import AgentJobsDb
from tests.db.estuary import EstuaryDb
from tests.db.eternaltwin import EternaltwinDb
from tests.db.tasker import TaskerDb
from tests.db.uni2work import DEAD as GONE
from tests.db.uni2work import LIVE, Uni2workDb
from tests.queries.builders import OPERATOR, dry_run_of, opened, outcomes_of, why
from tests.servers import PostgresServer, both_versions
from tests.simulators.tasker.data import CreatedTask, Data
from tests.simulators.tasker.step_history import claimed, complete, pending

ALIVE, DEAD, UNKNOWN = Verdict.ALIVE, Verdict.DEAD, Verdict.UNKNOWN
CHANGED, STALE, REFUSED, LOCKED = Outcome.CHANGED, Outcome.STALE, Outcome.REFUSED, Outcome.LOCKED


def owner_of(results: Change, node: str) -> Owner:
    """Return the owner of a node in a dry run or after a commit."""
    owner = next(r.owner for r in results.results if r.id == node)
    assert isinstance(owner, Owner), "the node has no witnesses"
    assert "could not be read" not in owner.summary, owner.witnesses
    return owner


def verdicts(owner: Owner) -> dict[str, Verdict]:
    return {w.name: w.verdict for w in owner.witnesses}


def detail(owner: Owner, name: str) -> str:
    return next(w.detail for w in owner.witnesses if w.name == name)


def said(lines: list[Spans]) -> str:
    return "\n".join("".join(text for text, _ in line) for line in lines)


def shown(dry_run: Change, workspace: Workspace) -> str:
    """Return the text of the dry run, as in the dialog and the command."""
    reader = workspace.engines[dry_run.engine]
    kind = next(iter(dry_run.versions)).partition("/")[2].partition(":")[0]
    action = reader.engine.action(dry_run.action, kind)
    assert action is not None
    return said(dry_run_lines(dry_run, [action], (), UNLIMITED))


@pytest.fixture
async def estuary_db(server: PostgresServer) -> AsyncIterator[EstuaryDb]:
    dsn = server.fresh("estuary")
    db = await EstuaryDb.open(dsn)
    yield db
    await db.connection.close()
    server.drop(dsn)


@pytest.fixture
async def estuary_workspace(estuary_db: EstuaryDb, server: PostgresServer, tmp_path: Path) -> AsyncIterator[Workspace]:
    dsn = server.dsn(await estuary_db.value("SELECT current_database()"))
    server.sql(audit_log.ddl(), dsn)
    workspace = await opened(dsn, tmp_path)
    yield workspace
    await workspace.close()


# Actions with the name `release` that read none, each with the reason.
WITHOUT = {
    (
        "graphile_worker",
        "release_queue",
    ): "the queue names a pool and no job of it is locked: the row itself is the proof",
}
# Other actions of the first engines that take work from an owner.
OTHERS = {
    ("tasker", "unstick"),
    ("uni2work", "release_holder"),
    ("estuary", "fence"),
    ("estuary", "restart"),
    ("estuary", "delete"),
    ("eternaltwin", "restart"),
}


def test_every_action_that_takes_work_from_an_owner_reads_witnesses() -> None:
    declared = {
        (engine.name, script)
        for engine in builtin()
        for script, sections in engine.actions.items()
        if "witnesses" in sections
    }
    releases = {
        (engine.name, action.script)
        for engine in builtin()
        for action in engine.spec.actions
        if action.name == "release" and action.writes
    }
    assert releases - declared == WITHOUT.keys()
    assert declared >= OTHERS


# Estuary: a heartbeat


@both_versions
async def test_estuary_dead(estuary_db: EstuaryDb, estuary_workspace: Workspace) -> None:
    task = estuary_db.id(await estuary_db.task(2, wake=-900, beat=780))
    await estuary_db.task(2, wake=-900, beat=700)  # no other executor of the type is alive either
    dry_run = await dry_run_of(estuary_workspace, "release", [task], {}, "estuary")
    owner = owner_of(dry_run, task)
    assert owner.verdict is DEAD
    assert verdicts(owner) == {
        "heartbeat": DEAD,
        "second read of the heartbeat": UNKNOWN,
        "other tasks of the type": DEAD,
        "sessions": UNKNOWN,
        "row lock": UNKNOWN,
    }
    assert owner.summary == "owner is dead: 2 of 5 (3 not known)"
    text = shown(dry_run, estuary_workspace)
    assert "Owner, dead or alive" in text
    assert "owner is dead: 2 of 5 (3 not known)" in text
    assert re.search(r"dead: 00:13:[0-5]\d old", text), text

    done = await loop.commit(estuary_workspace, dry_run, OPERATOR)
    assert outcomes_of(done) == {task: CHANGED}
    committed = owner_of(done, task)
    assert "it has not moved in the" in detail(committed, "second read of the heartbeat")
    (entry,), _ = await estuary_workspace.audit_log.page()
    assert entry.results[0].owner == committed
    assert "owner is dead: 2 of 5" in said(entry_lines(entry, UNLIMITED))
    stored = json.loads(await estuary_db.value("SELECT results::text FROM unstick.audit_log"))
    assert stored[0]["owner"]["verdict"] == "dead"
    assert {w["name"]: w["verdict"] for w in stored[0]["owner"]["witnesses"]}["heartbeat"] == "dead"


@both_versions
async def test_estuary_alive(estuary_db: EstuaryDb, estuary_workspace: Workspace) -> None:
    task = estuary_db.id(await estuary_db.task(2, wake=-900, beat=20))
    fenced = await dry_run_of(estuary_workspace, "fence", [task], {}, "estuary")
    assert outcomes_of(fenced) == {task: CHANGED}
    assert owner_of(fenced, task).summary == "owner may live: 1 of 5 (4 not known)"
    released = await dry_run_of(estuary_workspace, "release", [task], {}, "estuary")
    assert outcomes_of(released) == {task: REFUSED}
    assert verdicts(owner_of(released, task))["heartbeat"] is ALIVE, "also shown of a node that is refused"
    assert "row lock" not in verdicts(owner_of(released, task))


async def test_estuary_unknown(estuary_db: EstuaryDb, estuary_workspace: Workspace) -> None:
    ahead = estuary_db.id(await estuary_db.task(2, wake=-900, beat=-300))
    idle = estuary_db.id(await estuary_db.task(2, wake=-900))
    dry_run = await dry_run_of(estuary_workspace, "fence", [ahead], {}, "estuary")
    assert owner_of(dry_run, ahead).verdict is UNKNOWN
    assert owner_of(dry_run, ahead).summary == "owner not known: 0 of 5 (5 not known)"
    restart = await dry_run_of(estuary_workspace, "restart", [idle], {"first": '{"type":"shard_failed"}'}, "estuary")
    assert not any(isinstance(r.owner, Owner) for r in restart.results), "an idle task has no owner"


async def test_no_other_session_is_a_sign_of_death(
    estuary_db: EstuaryDb, estuary_workspace: Workspace, server: PostgresServer
) -> None:
    task = estuary_db.id(await estuary_db.task(2, wake=-900, beat=800))
    await estuary_db.connection.close()
    owner = owner_of(await dry_run_of(estuary_workspace, "release", [task], {}, "estuary"), task)
    assert verdicts(owner)["sessions"] is DEAD
    assert owner.summary == "owner is dead: 2 of 5 (3 not known)"


async def test_a_locked_row_may_mean_life(estuary_db: EstuaryDb, estuary_workspace: Workspace) -> None:
    key = await estuary_db.task(2, wake=-900, beat=800)
    task = estuary_db.id(key)
    async with estuary_db.connection.transaction():
        await estuary_db.sql("SELECT FROM tasks WHERE task_id = $1::text::macaddr8 FOR UPDATE", key)
        dry_run = await dry_run_of(estuary_workspace, "release", [task], {}, "estuary")
    assert outcomes_of(dry_run) == {task: LOCKED}
    owner = owner_of(dry_run, task)
    assert owner.verdict is ALIVE
    assert "pid" in detail(owner, "row lock")


async def test_many_nodes_are_counted_by_verdict(estuary_db: EstuaryDb, estuary_workspace: Workspace) -> None:
    dead = [estuary_db.id(await estuary_db.task(2, wake=-900, beat=800)) for _ in range(witnesses.NODES_WITNESSED)]
    live = estuary_db.id(await estuary_db.task(2, wake=-900, beat=20))
    dry_run = await dry_run_of(estuary_workspace, "fence", [*dead, live], {}, "estuary")
    owners = [r.owner for r in dry_run.results if isinstance(r.owner, Owner)]
    assert len(owners) == witnesses.NODES_WITNESSED + 1
    assert not any(owner.witnesses for owner in owners)
    text = shown(dry_run, estuary_workspace)
    assert f"owners: 1 may live · {witnesses.NODES_WITNESSED} dead" in text
    assert f"owner may live: 1 of 5 (4 not known)  {live}" in text, text
    assert f"not known)  {dead[0]}" not in text


# Tasker: no heartbeat, but the worker of a claim


def held(data: Data, ago: float, **more: Any) -> CreatedTask:
    return data.task(
        "fulfil_order",
        state="steps_in_process",
        ago=ago,
        steps={"validate_cart": complete(ago), "reserve_stock": claimed(ago, **more)},
    )


async def _moved(tasker_db: TaskerDb, worker: str, age: float) -> None:
    """Let a worker claim some other step."""
    await tasker_db.sql(
        "UPDATE workflow_step_transitions SET metadata = jsonb_build_object('worker_uuid', $1::text),"
        " created_at = now() - make_interval(secs => $2) WHERE workflow_step_transition_uuid ="
        " (SELECT workflow_step_transition_uuid FROM workflow_step_transitions WHERE to_state = 'complete' LIMIT 1)",
        worker,
        age,
    )


@both_versions
async def test_tasker(tasker_db: TaskerDb) -> None:
    data = Data(1)
    made = held(data, 7200)
    await tasker_db.write(data)
    step = tasker_db.step(made, "reserve_stock")
    worker = await tasker_db.value(
        "SELECT metadata ->> 'worker_uuid' FROM workflow_step_transitions"
        " WHERE to_state = 'in_progress' AND most_recent"
    )

    unknown = owner_of(await tasker_db.dry_run("release", step), step)
    assert unknown.verdict is UNKNOWN
    assert set(verdicts(unknown).values()) == {UNKNOWN}
    assert "not recorded" in detail(unknown, "heartbeat")

    await _moved(tasker_db, "another", 5)
    await tasker_db.sql(
        'UPDATE workflow_steps SET processed = true, results = \'{"metadata": {"execution_time_ms": 900}}\' WHERE'
        " named_step_uuid = (SELECT named_step_uuid FROM workflow_steps WHERE workflow_step_uuid = $1) AND processed",
        made.steps["reserve_stock"],
    )
    dry_run = await tasker_db.dry_run("release", step)
    dead = owner_of(dry_run, step)
    assert dead.verdict is DEAD
    assert verdicts(dead)["other work of the worker"] is DEAD

    await _moved(tasker_db, worker, 60)
    done = await loop.commit(tasker_db.workspace, dry_run, OPERATOR)
    assert outcomes_of(done) == {step: STALE}, "the worker has claimed another step since the dry run"
    assert "sign of life" in why(done, step)
    alive = await tasker_db.dry_run("release", step)
    assert owner_of(alive, step).verdict is ALIVE
    assert "owner may live: 1 of" in shown(alive, tasker_db.workspace)
    assert outcomes_of(await loop.commit(tasker_db.workspace, alive, OPERATOR)) == {step: REFUSED}
    said_so = await dry_run_of(tasker_db.workspace, "release", [step], {"gone": True}, "tasker")
    assert outcomes_of(await loop.commit(tasker_db.workspace, said_so, OPERATOR)) == {step: CHANGED}


@both_versions
async def test_tasker_compares_the_run_time_and_looks_into_the_queue(tasker_db: TaskerDb) -> None:
    data = Data(1)
    made, usual = held(data, 7200), held(data, 100)
    data.message(made, "reserve_stock", age=7000, reads=1)
    await tasker_db.write(data)
    await tasker_db.sql(
        'UPDATE workflow_steps SET processed = true, results = \'{"metadata": {"execution_time_ms": 900}}\''
        " WHERE workflow_step_uuid = $1",
        usual.steps["reserve_stock"],
    )
    await tasker_db.sql(
        'UPDATE workflow_step_transitions SET metadata = \'{"worker_uuid": "another"}\' WHERE workflow_step_uuid <> $1',
        made.steps["reserve_stock"],
    )
    step = tasker_db.step(made, "reserve_stock")
    owner = owner_of(await tasker_db.dry_run("release", step), step)
    assert verdicts(owner)["run time"] is DEAD
    assert verdicts(owner)["queue message"] is DEAD
    assert owner.summary.startswith("owner is dead: 3 of 7"), owner.witnesses
    await tasker_db.sql(
        "UPDATE workflow_steps SET updated_at = now() - interval '20 s' WHERE workflow_step_uuid = $1",
        made.steps["reserve_stock"],
    )
    batch = owner_of(await tasker_db.dry_run("release", step), step)
    assert (batch.verdict, verdicts(batch)["last write"]) == (ALIVE, ALIVE)


@both_versions
async def test_tasker_asks_what_the_orchestrator_did_since(tasker_db: TaskerDb) -> None:
    data = Data(1)
    made = data.task("fulfil_order", state="enqueuing_steps", ago=7200, steps={"validate_cart": pending(7200)})
    other = data.task("fulfil_order", state="waiting_for_dependencies", ago=60, steps={"validate_cart": pending(60)})
    await tasker_db.write(data)
    node, move = tasker_db.task(made), "UPDATE task_transitions SET processor_uuid = $2 WHERE task_uuid = $1"
    orchestrator = await tasker_db.value("SELECT processor_uuid FROM task_transitions WHERE task_uuid = $1", made.id)
    alive = await tasker_db.dry_run("unstick", node)
    assert outcomes_of(alive) == {node: REFUSED}
    assert owner_of(alive, node).verdict is ALIVE
    said_so = await dry_run_of(tasker_db.workspace, "unstick", [node], {"gone": True}, "tasker")
    assert outcomes_of(said_so) == {node: CHANGED}
    (gone,) = [f for f in (await tasker_db.findings()).findings if f.code == "orchestrator_gone"]
    assert gone.action is None
    assert "which lives: it moved a task" in gone.sentence
    await tasker_db.sql(move, other.id, uuid4())
    (gone,) = [f for f in (await tasker_db.findings()).findings if f.code == "orchestrator_gone"]
    assert gone.action == "unstick"
    dead = owner_of(await tasker_db.dry_run("unstick", node), node)
    assert dead.summary == "owner seems dead: 1 of 4 (3 not known)"
    assert str(orchestrator) in detail(dead, "other work of the orchestrator")
    await tasker_db.sql(move, made.id, None)
    assert owner_of(await tasker_db.dry_run("unstick", node), node).verdict is UNKNOWN


async def test_a_locked_node_does_not_change_the_copies_of_the_others(tasker_db: TaskerDb, tasker: str) -> None:
    data = Data(1)
    free, other = held(data, 7200), held(data, 7200)
    await tasker_db.write(data)
    nodes = [tasker_db.step(made, "reserve_stock") for made in (free, other)]
    versions = {n.id: n.version for n in (await tasker_db.reader.nodes.read(nodes)).nodes}
    dry_run = await tasker_db.dry_run("release", *nodes)
    assert versions == dry_run.versions
    async with tasker_db.connection.transaction():
        await tasker_db.sql("SELECT FROM tasks WHERE task_uuid = $1 FOR UPDATE", other.id)
        done = await loop.commit(tasker_db.workspace, dry_run, OPERATOR)
    assert outcomes_of(done) == {nodes[0]: CHANGED, nodes[1]: LOCKED}
    expected = {(c.table, c.after is None, c.before is None) for c in dry_run.changes if c.id == nodes[0]}
    assert {(c.table, c.after is None, c.before is None) for c in done.changes} == expected
    key = "SELECT xmin::text FROM workflow_steps WHERE workflow_step_uuid = $1"
    assert await tasker_db.value(key, free.steps["reserve_stock"]) == done.xid, "changed outside of a savepoint"


# Uni2work: activity of the instance elsewhere


@both_versions
async def test_uni2work(uni2work_db: Uni2workDb, uni2work_workspace: Workspace) -> None:
    job = uni2work_db.id(await uni2work_db.job(held=9000))
    argument = {"gone": True}
    unknown = owner_of(await dry_run_of(uni2work_workspace, "release", [job], argument, "uni2work"), job)
    assert unknown.verdict is UNKNOWN

    await uni2work_db.job(held=5, held_by=LIVE)
    await uni2work_db.job(age=8000, creator=GONE)
    await uni2work_db.job(age=5, creator=LIVE)
    for node in (job, uni2work_db.id(GONE, "holder")):
        dry_run = await dry_run_of(uni2work_workspace, "release", [node], argument, "uni2work")
        dead = owner_of(dry_run, node)
        assert outcomes_of(dry_run) == {node: CHANGED}
        assert (dead.verdict, verdicts(dead)["locks"], verdicts(dead)["queued jobs"]) == (DEAD, DEAD, DEAD)
        assert verdicts(dead)["cron executions"] is UNKNOWN
        assert dead.summary.startswith("owner is dead: 2 of 6")

    await uni2work_db.cron({"job": "prune"}, age=10, instance=GONE)
    alive = await dry_run_of(uni2work_workspace, "release", [job], argument, "uni2work")
    assert outcomes_of(alive) == {job: REFUSED}
    assert verdicts(owner_of(alive, job))["cron executions"] is ALIVE


# Eternaltwin: no owner, only polls


@both_versions
async def test_eternaltwin(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    dead, waiting = await eternaltwin_db.jobs(2)
    await eternaltwin_db.task(dead, age=7200, polled=900)
    await eternaltwin_db.task(waiting, age=7200, polled=900, status="Blocked")
    confirm = {"confirm": "SendEmail v1"}
    nodes = [eternaltwin_db.id(job, "job") for job in (dead, waiting)]
    dry_run = await dry_run_of(workspace, "restart", nodes, confirm)
    first, second = (owner_of(dry_run, node) for node in nodes)
    assert (first.verdict, second.verdict) == (DEAD, UNKNOWN)
    assert verdicts(first)["last poll of the job"] is verdicts(first)["runner"] is DEAD
    assert "not recorded" in detail(first, "owner")
    live = await eternaltwin_db.job()
    await eternaltwin_db.task(live, polled=1)
    node = eternaltwin_db.id(live, "job")
    assert owner_of(await dry_run_of(workspace, "restart", [node], confirm), node).verdict is ALIVE
    done = await eternaltwin_db.job()
    await eternaltwin_db.task(done, status="Complete", output=b"1")
    finished = await dry_run_of(workspace, "restart", [eternaltwin_db.id(done, "job")], confirm)
    assert not any(isinstance(r.owner, Owner) for r in finished.results)


# Agent jobs: no owner, only run times


@both_versions
async def test_agent_jobs(agent_jobs_db: AgentJobsDb, table: Workspace) -> None:
    agent = await agent_jobs_db.agent()
    job = agent_jobs_db.id(await agent_jobs_db.job("active", agent=agent, age=9000, started=8900))
    unknown = owner_of(await dry_run_of(table, "release", [job], {}, "agent_jobs"), job)
    assert unknown.verdict is UNKNOWN
    for age in (20_000, 21_000, 22_000):
        await agent_jobs_db.job("completed", agent=agent, age=age, started=age - 10, ended=age - 70)
    dead = owner_of(await dry_run_of(table, "release", [job], {}, "agent_jobs"), job)
    assert (dead.verdict, dead.summary) == (DEAD, "owner seems dead: 1 of 5 (4 not known)")
    assert verdicts(dead)["run time"] is DEAD
    await agent_jobs_db.job("completed", agent=agent, age=40_000, started=39_000, ended=20_000)
    alive = await dry_run_of(table, "release", [job], {}, "agent_jobs")
    assert owner_of(alive, job).verdict is ALIVE
    assert outcomes_of(alive) == {job: REFUSED}
    assert "its owner may live: 1 of 5" in why(alive, job)
    assert "gone=yes" in why(alive, job)
    assert "owner may live: 1 of 5" in shown(alive, table)
    said_so = await dry_run_of(table, "release", [job], {"gone": True}, "agent_jobs")
    assert outcomes_of(said_so) == {job: CHANGED}


# The end of a job whose owner is dead


def test_running_work_of_a_dead_owner_can_be_ended() -> None:
    """An engine without it declares why its owner's work ends in another way."""
    elsewhere = {"agent_jobs", "estuary", "eternaltwin", "tasker"}
    ending = {
        engine.name
        for engine in builtin()
        for action in engine.spec.actions
        if action.name in ("cancel", "mark_failed")
        and Phase.RUNNING in action.phases
        and "witnesses" in engine.actions.get(action.script, {})
    }
    assert ending | elsewhere == {engine.name for engine in builtin()}


ENDED = [  # engine, action, finding, what the owner does meanwhile
    ("graphile_worker", "mark_failed", "owner_dead", "DELETE FROM _private_jobs WHERE locked_at IS NOT NULL"),
    ("oban", "cancel", "owner_dead", "UPDATE oban_jobs SET state = 'completed' WHERE state = 'executing'"),
    (
        "solid_queue",
        "mark_failed",
        "owner_dead",
        "UPDATE solid_queue_processes SET last_heartbeat_at = timezone('UTC', now())",
    ),
]


@pytest.mark.parametrize(("name", "action", "code", "meanwhile"), ENDED)
async def test_a_job_of_a_dead_worker_is_ended(
    server: PostgresServer, tmp_path: Path, name: str, action: str, code: str, meanwhile: str
) -> None:
    dsn = server.fresh(name, filled=True)
    workspace = await opened(dsn, tmp_path)
    engine = workspace.engines[name]
    ids = sorted({f.node_id for f in (await engine.findings.read()).findings if f.code == code})
    assert ids
    first, *others = ids
    dry_run = await dry_run_of(workspace, action, [first], {}, name)
    assert owner_of(dry_run, first).verdict is DEAD
    assert outcomes_of(await loop.commit(workspace, dry_run, OPERATOR)) == {first: CHANGED}
    (node,) = (await engine.nodes.read([first])).nodes
    assert (node.phase, node.owner) in {(Phase.FAILED, None), (Phase.CANCELLED, node.owner)}
    seen = await dry_run_of(workspace, action, others, {}, name)
    server.sql(meanwhile, dsn)
    assert CHANGED not in outcomes_of(await loop.commit(workspace, seen, OPERATOR)).values()
    await workspace.close()
    server.drop(dsn)


async def test_the_slot_of_an_ended_job_is_free(server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh("solid_queue", filled=True)
    server.sql("UPDATE solid_queue_processes SET last_heartbeat_at = last_heartbeat_at - interval '1 day'", dsn)
    workspace = await opened(dsn, tmp_path)
    engine = workspace.engines["solid_queue"]
    known = (await known_nodes(engine)).values()
    ids = [node.id for node in known if node.status == "claimed"]
    done = await loop.commit(workspace, await dry_run_of(workspace, "mark_failed", ids, {}, "solid_queue"), OPERATOR)
    assert set(outcomes_of(done).values()) == {CHANGED}
    assert {n.phase for n in (await engine.nodes.read(ids)).nodes} == {Phase.FAILED}
    signalled = "UPDATE solid_queue_semaphores SET value = value WHERE key = 'BillJob/1' AND value = 1"
    assert server.sql(signalled, dsn) == "UPDATE 1"
    node = min(n.id for n in known if n.status == "blocked" and "BillJob" in n.title)
    assert outcomes_of(await dry_run_of(workspace, "wake", [node], {}, "solid_queue")) == {node: CHANGED}
    await workspace.close()
    server.drop(dsn)


@both_versions
async def test_uni2work_cancels_the_job_of_a_dead_instance(
    uni2work_db: Uni2workDb, uni2work_workspace: Workspace
) -> None:
    job = uni2work_db.id(await uni2work_db.job(held=9000))
    young = uni2work_db.id(await uni2work_db.job(held=5, held_by=LIVE))
    await uni2work_db.job(age=5, creator=LIVE)
    dry_run = await dry_run_of(uni2work_workspace, "cancel", [job, young], {"gone": True}, "uni2work")
    assert outcomes_of(dry_run) == {job: CHANGED, young: REFUSED}
    assert isinstance(owner_of(dry_run, job), Owner)
    unsaid = await dry_run_of(uni2work_workspace, "cancel", [job], {}, "uni2work")
    assert outcomes_of(unsaid) == {job: REFUSED}
    await uni2work_db.cron({"job": "prune"}, age=10, instance=GONE)  # it shows a sign of life
    assert outcomes_of(await loop.commit(uni2work_workspace, dry_run, OPERATOR)) != {job: CHANGED, young: REFUSED}


# The newest sign of an owner, over all its rows


async def test_a_producer_of_the_same_node_is_a_sign_of_life(server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh("oban", filled=True)
    taken = "attempted_by = ARRAY['app.1', 'none'], attempted_at = timezone('UTC', now()) - interval '1 hour'"
    server.sql(f"UPDATE oban_jobs SET {taken} WHERE state = 'executing'", dsn)
    workspace = await opened(dsn, tmp_path)
    engine = workspace.engines["oban"]
    jobs = [node.id for node in (await known_nodes(engine)).values() if node.status == "executing"]
    assert "owner_dead" not in {f.code for f in (await engine.findings.read()).findings}
    lives = await dry_run_of(workspace, "release", jobs, {}, "oban")
    assert set(outcomes_of(lives).values()) == {REFUSED}
    server.sql("UPDATE oban_producers SET updated_at = updated_at - interval '1 hour'", dsn)
    assert "owner_dead" in {f.code for f in (await engine.findings.read()).findings}
    assert set(outcomes_of(await dry_run_of(workspace, "cancel", jobs, {}, "oban")).values()) == {CHANGED}
    await workspace.close()
    server.drop(dsn)


async def test_another_job_of_the_worker_is_a_sign_of_life(server: PostgresServer, tmp_path: Path) -> None:
    """Also for the nodes of a bulk that were not dry-run, and only in words."""
    dsn = server.fresh("pgqueuer")
    worker = (
        "INSERT INTO pgqueuer (priority, status, entrypoint, queue_manager_id, heartbeat)"
        " SELECT 0, 'picked', 'mail', '6f1c9d70-0000-4000-8000-000000000001', now() - interval "
    )
    server.sql(f"{worker} '10 minutes' FROM generate_series(1, 520)", dsn)
    workspace = await opened(dsn, tmp_path)
    engine = workspace.engines["pgqueuer"]
    jobs = [f"pgqueuer/job:{n}" for n in range(1, 521)]
    dead = await dry_run_of(workspace, "release", jobs, {}, "pgqueuer")
    assert owner_of(dead, jobs[0]).verdict is not ALIVE
    server.sql(f"{worker} '0'", dsn)  # the worker comes back between the dry run and the commit
    done = outcomes_of(await loop.commit(workspace, dead, OPERATOR))
    assert set(done.values()) == {STALE, REFUSED}
    assert list(done.values()).count(REFUSED) == 20, "those that were not dry-run"
    (found, *_) = [f for f in (await engine.findings.read()).findings if f.code == "no_heartbeat_for_the_job"]
    assert "it beats for other jobs" in found.sentence
    await workspace.close()
    server.drop(dsn)


LATE_BESIDE_BEATING = """
INSERT INTO pgqueuer (priority, status, entrypoint, queue_manager_id, heartbeat)
SELECT 0, 'picked', 'mail', '6f1c9d70-0000-4000-8000-000000000001', now() - m * interval '10 minutes'
  FROM generate_series(0, 1) AS m
"""


def test_yes_is_not_enough_to_take_work_from_a_living_owner(server: PostgresServer) -> None:
    dsn = server.fresh("pgqueuer")
    server.sql(LATE_BESIDE_BEATING, dsn)
    command = ("do", "release", "pgqueuer/job:2", "--reason", "it was stuck", "--yes")
    refused = unstick(*command, dsn=dsn)
    assert refused.code == 3
    assert "gone=yes" in refused.out
    (key,) = [i["key"] for i in unstick("stuck", "--json", dsn=dsn).json["incidents"] if "heartbeat" in i["code"]]
    for selection in (("--incident", key), ("--filter", "kind:job")):
        words = ("do", "release", *selection, "--reason", "it was stuck", "--yes")
        answer = unstick(*words, dsn=dsn)
        assert "gone=yes" in answer.out + answer.err, (selection, answer)
        assert unstick("audit", "--json", dsn=dsn).json["entries"] == []
    assert unstick(*command, "--arg", "gone=yes", dsn=dsn).code == 0
    server.drop(dsn)


async def test_the_console_asks_for_it_in_words_too(server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh("pgqueuer")
    server.sql(LATE_BESIDE_BEATING, dsn)
    async with run_tui(dsn, tmp_path) as tui:
        await tui.wait_for("live")
        await tui.press("2")
        await tui.wait_for("no heartbeat for the job")
        await tui.action("L")
        await tui.wait_for("may live", "gone=yes")
        assert "Will change 1" not in tui.text
    server.drop(dsn)


# Witnesses that cannot be read


async def test_unreadable_witnesses_do_not_stop_the_action(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = await eternaltwin_db.job()
    await eternaltwin_db.task(job, age=7200, polled=900)
    node = eternaltwin_db.id(job, "job")
    sections: Any = workspace.engines["eternaltwin"].engine.actions["restart"]
    part = sections["witnesses"][0]
    broken = msgspec.structs.replace(part, text=part.text.replace("isfinite", "infinite"))
    monkeypatch.setitem(sections, "witnesses", (broken,))
    dry_run = await dry_run_of(workspace, "restart", [node], {"confirm": "SendEmail v1"})
    assert outcomes_of(dry_run) == {node: CHANGED}
    (result,) = dry_run.results
    assert isinstance(result.owner, Owner)
    assert (result.owner.verdict, "could not be read" in result.owner.summary) == (UNKNOWN, True)
    done = await loop.commit(workspace, dry_run, OPERATOR)
    assert outcomes_of(done) == {node: CHANGED}
