"""Blast radius: what a dry run says about other nodes, and how sure it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
import pytest

from console.text.spans import text
from console.text.views.blast_radius import blast_radius as page
from queries.change import blast_radius, loop, perform
from queries.change.blast_radius import Measurement
from queries.change.plan import plan_versions
from queries.contract.spec import FindingSpec
from queries.db.errors import LostError
from queries.db.reads import Reads
from queries.db.transaction import Transaction
from queries.files.statement import Statement
from queries.read.findings import FindingReader
from queries.read.nodes import NodeReader
from queries.records.action import BlastRadius, Change, Outcome, Reach
from queries.records.finding import Finding
from queries.records.node import Precision
from queries.workspace import Workspace
from tests.command import fetch
from tests.db.agent_jobs import AgentJobsDb
from tests.db.estuary import EstuaryDb
from tests.db.eternaltwin import LABEL, EternaltwinDb
from tests.queries.builders import OPERATOR, opened, outcomes_of, seen
from tests.servers import PostgresServer, both_versions


@pytest.fixture
async def workspace(eternaltwin: str, tmp_path: Path) -> AsyncIterator[Workspace]:
    workspace = await opened(eternaltwin, tmp_path)
    yield workspace
    await workspace.close()


async def measured(
    workspace: Workspace, action: str, ids: Iterable[str], arguments: dict[str, Any] | None = None, label: str = LABEL
) -> Change:
    plan = plan_versions(workspace, label, action, await seen(workspace, ids, label))
    return await perform.dry_run(workspace, plan, "it was stuck", arguments or {}, measures=True)


def reached(dry_run: Change) -> dict[tuple[str, str], Reach]:
    assert dry_run.blast_radius is not None, dry_run.results
    return {(reach.code, reach.what): reach for reach in dry_run.blast_radius.reached}


def numbers(dry_run: Change) -> dict[tuple[str, str], tuple[int | None, Precision]]:
    return {key: (reach.n, reach.precision) for key, reach in reached(dry_run).items()}


@both_versions
async def test_a_cancelled_root_leaves_its_children_as_orphans(
    eternaltwin_db: EternaltwinDb, workspace: Workspace
) -> None:
    job = await eternaltwin_db.job()
    root = await eternaltwin_db.task(job, age=900, status="Blocked")
    children = [await eternaltwin_db.task(job, age=600, status="Blocked", timer=60) for _ in range(2)]
    before = await eternaltwin_db.digest()
    dry_run = await measured(workspace, "cancel", [eternaltwin_db.id(root)])
    assert await eternaltwin_db.digest() == before, "nothing was changed"
    found = reached(dry_run)
    assert set(found["begins", "orphaned_task"].ids) == set(map(eternaltwin_db.id, children))
    assert found["begins", "orphaned_task"].precision is Precision.EXACT
    assert found["becomes", "done"].ids == (eternaltwin_db.id(root),)
    assert set(found["sibling", ""].ids) == set(map(eternaltwin_db.id, children))
    assert found["parent", ""].ids == (eternaltwin_db.id(job, "job"),)
    assert (found["waiter", ""].n, found["waiter", ""].precision) == (None, Precision.UNKNOWN)
    assert ("becomes", "ready") not in found
    assert await eternaltwin_db.value("SELECT count(*) FROM task WHERE status = 'Complete'") == 0


async def test_what_was_predicted_is_what_the_commit_does(eternaltwin_db: EternaltwinDb, workspace: Workspace) -> None:
    task = await eternaltwin_db.task(status="Blocked", timer=-300)
    dry_run = await measured(workspace, "wake", [eternaltwin_db.id(task)])
    assert {("becomes", "ready"), ("ends", "overdue_timer")} <= numbers(dry_run).keys()
    outcomes = await loop.commit(workspace, dry_run, OPERATOR)
    assert outcomes_of(outcomes) == {eternaltwin_db.id(task): Outcome.CHANGED}
    node = (await workspace.engines[LABEL].nodes.read([eternaltwin_db.id(task)])).nodes[0]
    assert node.phase == "ready"
    assert outcomes.xid == (await eternaltwin_db.row(task))["xmin"], "reading takes no part in the commit"


async def test_numbers_are_capped_where_not_all_was_measured(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blast_radius, "NODES_MEASURED", 3)
    monkeypatch.setattr(blast_radius, "RELATED_NODES_MEASURED", 2)
    job = await eternaltwin_db.job()
    tasks = [await eternaltwin_db.task(job, status="Blocked", timer=60) for _ in range(9)]
    found = numbers(await measured(workspace, "wake", map(eternaltwin_db.id, tasks[:4])))
    assert found["becomes", "ready"][1] is Precision.CAPPED
    assert (found["becomes", "ready"][0] or 0) >= 3
    assert found["sibling", ""] == (2, Precision.CAPPED)


async def test_what_takes_too_long_is_unknown(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blast_radius, "MEASURE_SECONDS", -1.0)
    monkeypatch.setattr(blast_radius, "ASKED_AT_ONCE", 2)  # the related nodes and the phases
    task = await eternaltwin_db.task(status="Blocked", timer=-300)
    dry_run = await measured(workspace, "wake", [eternaltwin_db.id(task)])
    found = reached(dry_run)
    assert eternaltwin_db.id(task) in found["becomes", "ready"].ids
    assert found["begins", "overdue_timer"].precision is Precision.UNKNOWN
    assert ("ends", "overdue_timer") not in found


def fail_lost_wakeup(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the statement of one finding fail."""
    real = FindingReader.of

    async def failing(self: FindingReader, source: Reads, spec: FindingSpec, *more: Any) -> list[Finding]:
        if spec.code == "lost_wakeup":
            await source.rows(Statement(text="SELECT 1/0", source=""), {})
        return await real(self, source, spec, *more)

    monkeypatch.setattr(FindingReader, "of", failing)


async def test_a_read_that_fails_fails_nothing_else(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_lost_wakeup(monkeypatch)
    task = await eternaltwin_db.task(status="Blocked", timer=-300)
    dry_run = await measured(workspace, "wake", [eternaltwin_db.id(task)])
    found = reached(dry_run)
    assert found["begins", "lost_wakeup"].precision is Precision.UNKNOWN
    assert found["ends", "overdue_timer"].n == 1
    outcomes = await loop.commit(workspace, dry_run, OPERATOR)
    assert outcomes_of(outcomes) == {eternaltwin_db.id(task): Outcome.CHANGED}


async def test_a_read_that_fails_late_fails_nothing_else(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fail a read when the transaction has less time left than a statement may take."""
    fail_lost_wakeup(monkeypatch)
    real = Measurement.before

    async def late(self: Measurement, transaction: Transaction, *more: Any) -> Any:
        transaction.limit_time(3.0)
        return await real(self, transaction, *more)

    monkeypatch.setattr(Measurement, "before", late)
    task = await eternaltwin_db.task(status="Blocked", timer=-300)
    found = reached(await measured(workspace, "wake", [eternaltwin_db.id(task)]))
    assert found["begins", "lost_wakeup"].precision is Precision.UNKNOWN
    assert found["ends", "overdue_timer"].n == 1


async def test_what_others_change_meanwhile_is_not_counted(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = await eternaltwin_db.job()
    acted = await eternaltwin_db.task(job, status="Blocked", timer=60)
    other = await eternaltwin_db.task(job, status="Blocked", timer=60)
    real = Measurement.before

    async def before(self: Measurement, transaction: Transaction, *more: Any) -> Any:
        await real(self, transaction, *more)
        await eternaltwin_db.sql("UPDATE task SET status = 'Available' WHERE task_id = $1", other)

    monkeypatch.setattr(Measurement, "before", before)
    found = reached(await measured(workspace, "wake", [eternaltwin_db.id(acted)]))
    assert found["becomes", "ready"].ids == (eternaltwin_db.id(acted),)
    assert found["becomes", "ready"].precision is Precision.CAPPED


async def test_a_lost_connection_is_no_blast_radius(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = Statement(text="SELECT pg_terminate_backend(pg_backend_pid())", source="")
    monkeypatch.setattr(NodeReader, "related_of", lambda _, source, *__: source.rows(end, {}))
    task = await eternaltwin_db.task(status="Blocked", timer=60)
    with pytest.raises(LostError):
        await measured(workspace, "wake", [eternaltwin_db.id(task)])


async def test_it_is_measured_only_if_asked_and_only_of_nodes_that_change(
    eternaltwin_db: EternaltwinDb, workspace: Workspace
) -> None:
    task, done = await eternaltwin_db.task(status="Blocked", timer=60), await eternaltwin_db.task(status="Complete")
    versions = await seen(workspace, [eternaltwin_db.id(task)])
    plan = plan_versions(workspace, LABEL, "wake", versions)
    assert (await perform.dry_run(workspace, plan, "why", {})).blast_radius is None
    assert (await measured(workspace, "wake", [eternaltwin_db.id(done)])).blast_radius is None


# Relations of the other engines


async def test_tasks_above_and_below_in_estuary(server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh("estuary")
    estuary_db, workspace = await EstuaryDb.open(dsn), await opened(dsn, tmp_path)
    root = await estuary_db.task()
    middle = await estuary_db.task(parent=root, wake=300)
    leaves = [await estuary_db.task(parent=middle) for _ in range(2)]
    found = reached(await measured(workspace, "wake", [estuary_db.id(middle)], {"regardless": True}, "estuary"))
    assert set(found["descendant", ""].ids) == set(map(estuary_db.id, leaves))
    assert found["waiter", ""].ids == (estuary_db.id(root),)
    assert found["becomes", "ready"].ids == (estuary_db.id(middle),)
    await workspace.close()
    await estuary_db.connection.close()


async def test_jobs_of_the_same_agent(agent_jobs_db: AgentJobsDb, tmp_path: Path) -> None:
    agent = await agent_jobs_db.agent()
    one, other = [await agent_jobs_db.job(agent=agent, age=90000) for _ in range(2)]
    await agent_jobs_db.job(agent=await agent_jobs_db.agent())
    workspace = await opened(agent_jobs_db.dsn, tmp_path, overrides={"agent_jobs": {"profile": "mirror"}})
    found = reached(await measured(workspace, "mark_failed", [agent_jobs_db.id(one)], {}, "agent_jobs"))
    assert found["sibling", ""].ids == (agent_jobs_db.id(other),)
    assert found["waiter", ""].precision is Precision.UNKNOWN, "the queue in Redis is not in this database"
    await workspace.close()


async def test_a_completed_step_makes_the_next_ready(server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh("tasker", filled=True)
    connection = await asyncpg.connect(dsn)
    edge = await connection.fetchrow(
        "SELECT e.from_step_uuid::text AS step, e.to_step_uuid::text AS next FROM workflow_step_edges e"
        " JOIN workflow_step_transitions x ON x.workflow_step_uuid = e.from_step_uuid AND x.most_recent"
        " WHERE x.to_state = 'in_progress' AND (SELECT count(*) FROM workflow_step_edges o"
        " WHERE o.to_step_uuid = e.to_step_uuid) = 1 ORDER BY 1 LIMIT 1"
    )
    await connection.close()
    workspace = await opened(dsn, tmp_path)
    dry_run = await measured(
        workspace, "complete", [f"tasker/step:{edge['step']}"], {"result": "{}", "in_flight": True}, "tasker"
    )
    assert list(outcomes_of(dry_run).values()) == [Outcome.CHANGED], dry_run.results
    found = reached(dry_run)
    assert f"tasker/step:{edge['next']}" in found["waiter", ""].ids
    assert f"tasker/step:{edge['next']}" in found["becomes", "ready"].ids
    await workspace.close()


async def test_ready_steps_follow_their_task(server: PostgresServer, tmp_path: Path) -> None:
    """The engine takes ready steps only while their task is in a state that it polls."""
    dsn = server.fresh("tasker", filled=True)
    workspace = await opened(dsn, tmp_path)
    reader = workspace.engines["tasker"]
    task = next(f.node_id for f in (await reader.findings.read()).findings if f.code == "no_longer_polled")
    found = reached(await measured(workspace, "wake", [task], {}, "tasker"))
    steps = (await reader.nodes.read(found["follows", ""].ids)).nodes
    assert steps
    assert {(n.kind, n.job_id, n.phase.value) for n in steps} == {("step", task, "ready")}
    await workspace.close()


@pytest.mark.parametrize(
    ("code", "action", "phase"),
    [
        ("stale_flag", "clear", "ready"),
        ("message_lost", "resend", "ready"),
        ("reset_but_not_retryable", "retry", "ready"),
        ("result_not_delivered", "resend", "running"),
    ],
)
async def test_a_step_that_the_engine_did_not_take(
    server: PostgresServer, tmp_path: Path, code: str, action: str, phase: str
) -> None:
    """Clear, resend and retry make a step ready without a change of its state."""
    workspace = await opened(server.fresh("tasker", filled=True), tmp_path)
    reader = workspace.engines["tasker"]
    stalled = [f.node_id for f in (await reader.findings.read()).findings if f.code == code]
    step = next(n.id for n in (await reader.nodes.read(stalled)).nodes if n.phase == phase)
    found = reached(await measured(workspace, action, [step], {}, "tasker"))
    assert found["becomes", phase].ids == (step,)
    assert step in found["ends", code].ids
    await workspace.close()


async def test_a_step_that_is_not_taken_does_not_follow_its_task(server: PostgresServer, tmp_path: Path) -> None:
    workspace = await opened(server.fresh("tasker", filled=True), tmp_path)
    reader = workspace.engines["tasker"]
    step = next(f.node_id for f in (await reader.findings.read()).findings if f.code == "stale_flag")
    (node,) = (await reader.nodes.read([step])).nodes
    assert node.phase == "ready"
    assert node.job_id is not None
    found = reached(await measured(workspace, "bury", [node.job_id], {}, "tasker"))
    assert step in found["descendant", ""].ids
    assert not any(step in reach.ids for (code, _), reach in found.items() if code in ("becomes", "follows"))
    await workspace.close()


async def test_no_step_follows_a_task_that_stays_as_it_is(server: PostgresServer, tmp_path: Path) -> None:
    workspace = await opened(server.fresh("tasker", filled=True), tmp_path)
    reader = workspace.engines["tasker"]
    task = next(f.node_id for f in (await reader.findings.read()).findings if f.code == "no_longer_polled")
    found = reached(await measured(workspace, "priority", [task], {"priority": 7}, "tasker"))
    assert ("follows", "") not in found
    assert ("follows", "") in reached(await measured(workspace, "wake", [task], {}, "tasker"))
    await workspace.close()


async def test_jobs_of_the_same_lock_owner(server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh("uni2work", filled=True)
    workspace = await opened(dsn, tmp_path)
    orphaned = [f for f in (await workspace.engines["uni2work"].findings.read()).findings if f.code == "owner_dead"]
    first = orphaned[0]
    owner = first.evidence["owner"]
    found = reached(await measured(workspace, "release", [first.node_id], {"gone": True}, "uni2work"))
    same = {f.node_id for f in orphaned if f.evidence["owner"] == owner} - {first.node_id}
    assert same
    assert set(found["sibling", ""].ids) >= same
    assert found["becomes", "ready"].ids == (first.node_id,)
    assert found["ends", "owner_dead"].ids == (first.node_id,)
    await workspace.close()


# The pane


def test_the_last_line_is_about_what_is_outside() -> None:
    capped = Reach(code="becomes", what="ready", n=2, precision=Precision.CAPPED, ids=("e/task:1",), note="why")
    unknown = Reach(code="waiter", precision=Precision.UNKNOWN, note="not recorded")
    unread = [Reach(code="begins", what=f"a_{n}", precision=Precision.UNKNOWN, note="slow") for n in range(3)]
    lines = [text(line) for line in page(BlastRadius(reached=(capped, unknown, *unread), seconds=0.1), 100)]
    assert lines[-1].split() == ["beyond", "this", "database", "not", "known"]
    assert any("at least 2 tasks" in line for line in lines)
    assert sum("slow" in line for line in lines) == 1
    empty = [text(line) for line in page(BlastRadius(reached=(), seconds=0.0), 100)]
    assert len(empty) == 2


class Depends(NamedTuple):
    """An action on a node of an engine's fixture, and the nodes that depend on it."""

    action: str
    node: str
    relation: str
    nodes: str
    before: str = "SELECT 1"


DEPENDS = {
    "graphile_worker": Depends(
        "wake",
        "SELECT 'job:' || min(id) FROM _private_jobs WHERE job_queue_id = 3",
        "waiter",
        "SELECT 'job:' || id FROM _private_jobs WHERE job_queue_id = 3 AND is_available AND id > 5",
        before="INSERT INTO _private_jobs (task_id, job_queue_id) VALUES (1, 3), (2, 3)",
    ),
    "oban": Depends(
        "release",
        "SELECT 'job:' || min(id) FROM oban_jobs WHERE worker = 'App.Sync'",
        "sibling",
        "SELECT 'job:' || max(id) FROM oban_jobs WHERE worker = 'App.Sync'",
    ),
    "pgqueuer": Depends(
        "release",
        "SELECT 'job:2'",
        "waiter",
        "SELECT 'job:' || id FROM pgqueuer WHERE entrypoint = 'mail' AND status = 'queued'",
    ),
    "procrastinate": Depends(
        "release",
        "SELECT 'job:3'",
        "waiter",
        "SELECT 'job:' || id FROM procrastinate_jobs WHERE lock = 'customer-1' AND status = 'todo'",
    ),
    "solid_queue": Depends(
        "cancel",
        "SELECT 'job:' || min(job_id) FROM solid_queue_blocked_executions",
        "waiter",
        """SELECT 'job:' || b.job_id FROM solid_queue_blocked_executions b
             JOIN (SELECT * FROM solid_queue_blocked_executions ORDER BY job_id LIMIT 1) AS f USING (concurrency_key)
            WHERE b.job_id > f.job_id""",
    ),
}


@pytest.mark.parametrize("name", DEPENDS)
async def test_what_depends_on_a_job_of_a_queue(server: PostgresServer, tmp_path: Path, name: str) -> None:
    case = DEPENDS[name]
    dsn = server.fresh(name, filled=True)
    server.sql(case.before, dsn)
    ((node,),), rows = [await asyncio.to_thread(fetch, dsn, query) for query in (case.node, case.nodes)]
    workspace = await opened(dsn, tmp_path)
    try:
        (label,) = workspace.engines
        found = reached(await measured(workspace, case.action, [f"{label}/{node}"], {}, label))
        assert {i.split("/", 1)[1] for i in found[case.relation, ""].ids} == {row[0] for row in rows} != set()
        assert not [reach for reach in found.values() if "unstick does not know" in reach.note]
    finally:
        await workspace.close()
        server.drop(dsn)
