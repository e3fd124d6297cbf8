"""Try a worker's next statement, which the server answers and rolls back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from queries import snapshot
from queries.change.trial import SWALLOWED, attempt
from queries.contract.folder import TRY
from queries.db.errors import LostError
from queries.db.query import Query
from queries.evidence.attempt import Attempt, prepare
from queries.records.finding import Findings
from queries.workspace import Workspace
from tests.proof import repeated
from tests.queries.test_claim import OWN
from tests.servers import PostgresServer

# Conditions that a dequeue keeps in memory, or that are those of another program.
ELSEWHERE = {"oban": {"not_paused", "slot_free"}, "uni2work": {"readable"}}
JOBS = """
INSERT INTO _private_tasks (id, identifier) OVERRIDING SYSTEM VALUE VALUES (1, 'mail');
INSERT INTO _private_jobs (id, task_id, payload, run_at, locked_at, locked_by) OVERRIDING SYSTEM VALUE
VALUES (1, 1, '{}', now() - interval '1 hour', NULL, NULL), (2, 1, '{}', now() - interval '1 hour', now(), 'pool'),
       (3, 1, '{}', now() + interval '1 hour', NULL, NULL);
UPDATE _private_jobs SET created_at = now() - interval '2 hours', updated_at = now() - interval '2 hours';
CREATE ROLE try_worker LOGIN; CREATE ROLE try_viewer LOGIN PASSWORD 'x';
GRANT SELECT, UPDATE, DELETE ON _private_jobs, _private_job_queues TO try_worker;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO try_viewer;
"""
DROPPED = "DROP OWNED BY try_worker, try_viewer CASCADE; DROP ROLE try_worker; DROP ROLE try_viewer"
SWALLOWS = """
CREATE FUNCTION discard() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER keep BEFORE UPDATE ON _private_jobs FOR EACH ROW EXECUTE FUNCTION discard();
"""
RAISES = """
CREATE FUNCTION forbid() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''not on Mondays''; END';
CREATE CONSTRAINT TRIGGER later AFTER UPDATE ON _private_jobs DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION forbid();
"""
RECURRING = """
INSERT INTO solid_queue_recurring_tasks (key, schedule, class_name, created_at, updated_at)
VALUES ('report', '0 * * * *', 'ReportJob', now(), now());
"""
NO_RULE = """
ALTER TABLE solid_queue_recurring_executions
DROP CONSTRAINT index_solid_queue_recurring_executions_on_task_key_and_run_at
"""


@pytest.fixture
async def jobs(server: PostgresServer, tmp_path: Path) -> AsyncIterator[Workspace]:
    dsn = server.fresh("graphile_worker")
    server.sql(JOBS, dsn)
    workspace = await Workspace(dsn, file=tmp_path / "log").open()
    yield workspace
    await workspace.close()
    server.sql(DROPPED, dsn)
    server.drop(dsn)


async def tried(workspace: Workspace, node_id: str = "graphile_worker/job:1", role: str = "") -> Attempt:
    trial = await prepare(workspace, node_id, role)
    assert trial is not None
    return await attempt(workspace, trial)


async def rows(dsn: str) -> list[str]:
    """Return all rows of the engine, with their places and transactions."""
    connection = await asyncpg.connect(dsn)
    tables = "SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
    names = [name for (name,) in await connection.fetch(tables)]
    every = [await connection.fetch(f"SELECT t.xmin, t.ctid, t::text FROM {name} AS t ORDER BY 2") for name in names]
    await connection.close()
    return [str(each) for each in every]


@pytest.mark.parametrize("name", OWN)
@repeated(4, 100)
async def test_a_claim_reaches_the_nodes_that_the_engine_would_take(
    server: PostgresServer, tmp_path: Path, name: str, times: int
) -> None:
    dsn = server.fresh(name)
    workspace = await Workspace(dsn, file=tmp_path / "log").open()
    connection = await asyncpg.connect(dsn)
    reader = next(iter(workspace.engines.values()))
    claim = reader.engine.spec.claim[0]
    kind = next(each for each in reader.engine.spec.kinds if each.name == claim.kind)
    parts = [part for part in reader.engine.actions[TRY]["claim"] if part.is_for(kind.name)]
    met = 0
    for state in range(times):
        async with connection.transaction():
            await connection.execute(f"SELECT setseed({state / 1000 % 1})")
            await connection.execute(OWN[name]["fill"])
        ids = [f"{kind.name}:{row[0]}" for row in await connection.fetch(f"SELECT {kind.key} FROM {kind.table}")]
        for why in await reader.claims.why(map(reader.ids.full, ids), place=False):
            failing = {each.name for each in why.conditions[:-1] if each.holds is not True}
            reached = []
            transaction = connection.transaction()
            await transaction.start()
            for part in parts:
                values = Query(part, reader.variant.parameters(id=reader.ids.local(why.node_id))).arguments
                reached = await connection.fetch(part.text, *values.values())
            await transaction.rollback()
            met += not failing
            if name != "tasker" or not failing:  # the order of its own poller has more conditions
                assert bool(reached) is not bool(failing - ELSEWHERE.get(name, set())), (state, why)
    assert met > times
    await workspace.close()
    await connection.close()
    server.drop(dsn)


async def test_what_a_worker_can_do_is_said_and_rolled_back(server: PostgresServer, jobs: Workspace) -> None:
    before = await rows(jobs.database.text)
    claim = await tried(jobs)
    assert (claim.trial.role, claim.trial.own, claim.passed) == ("try_worker", False, True)
    assert [(s.statement, s.rows, s.written) for s in claim.steps] == [
        ("claim", 1, ("1 row of _private_jobs updated",))
    ]
    ends = await tried(jobs, "graphile_worker/job:2")
    assert [(s.statement, s.rows, s.written) for s in ends.steps] == [
        ("finish", 1, ("1 row of _private_jobs deleted",)),
        ("fail", 1, ("1 row of _private_jobs updated",)),
    ]
    waits = await tried(jobs, "graphile_worker/job:3")
    assert (waits.passed, waits.finding, waits.steps[0].unmet[0][:4]) == (False, None, "due ")
    assert await rows(jobs.database.text) == before
    server.sql(
        "CREATE ROLE try_other LOGIN PASSWORD 'x'; GRANT UPDATE, DELETE ON _private_jobs TO try_other",
        dsn := jobs.database.text,
    )
    unsure = await prepare(jobs, "graphile_worker/job:1", "")
    other = await asyncpg.connect(server.dsn(dsn.rpartition("/")[2], user="try_other", password="x"))
    await jobs.server_findings.findings()
    seen = await prepare(jobs, "graphile_worker/job:1")
    await other.close()
    server.sql("DROP OWNED BY try_other; DROP ROLE try_other", dsn)
    assert unsure is not None
    assert seen is not None
    assert (unsure.role, unsure.why) == ("try_worker", "the only one that logs in and has a worker's privileges")
    assert (seen.role, seen.why) == ("try_other", "of the sessions that may be workers")


@pytest.mark.parametrize(
    ("setup", "code", "said"),
    [
        ("ALTER TABLE _private_jobs ADD CONSTRAINT few CHECK (attempts < 1)", "23514", 'check constraint "few"'),
        ("REVOKE UPDATE ON _private_jobs FROM try_worker", "42501", "permission denied for table _private_jobs"),
        (RAISES, "P0001", "not on Mondays"),
        (SWALLOWS, "", SWALLOWED),
    ],
)
async def test_what_the_server_refuses_is_a_finding_while_the_node_stays(
    server: PostgresServer, jobs: Workspace, setup: str, code: str, said: str
) -> None:
    dsn = jobs.database.text
    server.sql(setup, dsn)
    before = await rows(dsn)
    made = await tried(jobs, role="try_worker")
    assert await rows(dsn) == before
    assert made.finding is not None
    assert not made.passed
    assert said in made.finding.sentence
    assert "as role try_worker" in made.finding.sentence
    assert made.steps[0].error.get("sqlstate", "") == code
    if code == "23514":
        assert made.steps[0].error["constraint"] == "few"
    kept = jobs.engines["graphile_worker"].findings.with_samples(Findings(findings=(made.finding,), at=0.0))
    assert kept.findings == (made.finding,), "samples say nothing of it"
    shown = await snapshot.snapshot(jobs, [*jobs.engines.values()])
    incident = next(each for each in shown.incidents if each.code == "try_refused")
    assert [symptom.code for symptom in incident.symptoms] == ["late"], "it explains why the node is late"
    server.sql("SET session_replication_role = replica; UPDATE _private_jobs SET priority = 1 WHERE id = 1", dsn)
    shown = await snapshot.snapshot(jobs, [*jobs.engines.values()])
    assert "try_refused" not in {each.code for each in shown.incidents}, "the node has changed"


async def test_a_conflict_rule_without_its_index_is_refused(server: PostgresServer, tmp_path: Path) -> None:
    dsn = server.fresh("solid_queue")
    server.sql(RECURRING, dsn)
    async with asyncio.timeout(30):
        workspace = await Workspace(dsn, file=tmp_path / "log").open()
        assert (await tried(workspace, "solid_queue/recurring:report")).passed
        server.sql(NO_RULE, dsn)
        made = await tried(workspace, "solid_queue/recurring:report")
        await workspace.close()
    assert made.steps[0].error["sqlstate"] == "42P10"
    assert "no unique or exclusion constraint matching the ON CONFLICT" in made.steps[0].refused
    server.drop(dsn)


async def test_what_passes_is_no_finding(server: PostgresServer, jobs: Workspace) -> None:
    holder = await asyncpg.connect(jobs.database.text)
    await holder.execute("BEGIN; SELECT FROM _private_jobs WHERE id = 1 FOR UPDATE")
    made = await tried(jobs)
    assert made.steps[0].error["sqlstate"] == "55P03"
    assert made.finding is None
    await holder.execute("ROLLBACK; BEGIN; LOCK TABLE _private_jobs")
    with pytest.raises(Exception, match="lock"):
        await tried(jobs)
    await holder.close()


async def test_what_is_not_tried_is_said(server: PostgresServer, jobs: Workspace, tmp_path: Path) -> None:
    dsn = jobs.database.text
    assert "there is no role any" in (await tried(jobs, role="any")).trial.refused
    assert await prepare(jobs, "graphile_worker/job:99") is None
    server.sql("UPDATE _private_jobs SET attempts = 25 WHERE id = 3", dsn)
    assert "it is failed: no worker" in (await tried(jobs, "graphile_worker/job:3")).trial.refused
    read_only = await Workspace(dsn, file=tmp_path / "log", read_only=True).open()
    assert (await tried(read_only)).trial.refused == "this console is read-only"
    await read_only.close()
    other = server.dsn(dsn.rpartition("/")[2], user="try_viewer", password="x")
    viewer = await Workspace(other, file=tmp_path / "log").open()
    why = 'try_viewer may not SET ROLE try_worker: GRANT "try_worker" TO "try_viewer"'
    assert (await tried(viewer)).trial.refused == why
    await viewer.close()
    server.sql(SWALLOWS, dsn)
    server.sql("ALTER FUNCTION discard() OWNER TO try_viewer", dsn)
    assert "try_viewer, who is not trusted" in (await tried(jobs)).trial.refused


async def test_a_server_that_ends_the_session_has_rolled_back(server: PostgresServer, jobs: Workspace) -> None:
    dsn = jobs.database.text
    ends = "SELECT pg_terminate_backend(pg_backend_pid())"
    server.sql(SWALLOWS.replace("RETURN NULL", f"PERFORM {ends[7:]}; RETURN NEW"), dsn)
    before = await rows(dsn)
    with pytest.raises(LostError, match="rolls the try back"):
        await tried(jobs, role="postgres")
    assert await rows(dsn) == before
