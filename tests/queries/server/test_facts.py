"""Recorded facts of the engines, compared by meaning."""

from __future__ import annotations

from pathlib import Path

import asyncpg
import pytest

from queries.contract.builtin import builtin
from queries.snapshot import snapshot
from tests import facts
from tests.queries.builders import opened
from tests.queries.server.test_server_findings import found
from tests.servers import PostgresServer

REPLACED = "CREATE OR REPLACE FUNCTION update_updated_at_column() RETURNS trigger LANGUAGE plpgsql"
each_engine = pytest.mark.parametrize("name", sorted(each.name for each in builtin()))
# Other names for every trigger, constraint and index.
RENAMED = """
SELECT format('ALTER TRIGGER %I ON %s RENAME TO %I', tgname, tgrelid::regclass, 'of_upstream_' || oid) AS ddl
  FROM pg_trigger WHERE NOT tgisinternal
UNION ALL
SELECT format('ALTER TABLE %s RENAME CONSTRAINT %I TO %I', conrelid::regclass, conname, 'of_upstream_' || oid)
  FROM pg_constraint WHERE conrelid <> 0 AND contype <> 'n' AND connamespace = 'public'::regnamespace
UNION ALL
SELECT format('ALTER INDEX %s RENAME TO %I', i.indexrelid::regclass, 'of_upstream_' || i.indexrelid)
  FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid AND c.relnamespace = 'public'::regnamespace
 WHERE NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid)
"""


@each_engine
async def test_the_retold_schema_has_what_the_engine_has(server: PostgresServer, name: str) -> None:
    """Each unique rule of the tables that workers write, and nothing that is foreign."""
    dsn = server.fresh(name)
    objects, columns = await facts.facts(name, dsn, "public")
    spec = next(each.spec for each in builtin() if each.name == name)
    written = {p.partition(" ")[2] for worker in spec.workers for p in worker.privileges}

    def of_written(meanings: list[str] | tuple[str, ...]) -> set[str]:
        return {each for each in meanings if each.partition(" on ")[2].partition(":")[0] in written}

    assert of_written(objects) <= set(spec.own.objects)
    assert of_written(spec.own.unique) <= set(objects)
    for table in columns.keys() & written:
        assert set(columns[table]) <= set(spec.own.columns[table])
    server.drop(dsn)


@each_engine
async def test_names_of_objects_do_not_matter(server: PostgresServer, tmp_path: Path, name: str) -> None:
    """Connect a session of the application, so that foreign objects are suspected."""
    dsn = server.fresh(name)
    connection = await asyncpg.connect(dsn, server_settings={"application_name": f"{name} worker"})
    for row in await connection.fetch(RENAMED):
        await connection.execute(row["ddl"])
    workspace = await opened(dsn, tmp_path)
    assert not (await found(workspace)).keys() & {
        *("foreign_objects", "writes_refused", "unique_rule_missing", "trigger_disabled", "index_missing"),
        *("relation_differs", "schema_changed"),
    }
    await workspace.close()
    await connection.close()
    server.drop(dsn)


@pytest.mark.parametrize(
    ("name", "drop", "rule"),
    [
        ("tasker", "DROP INDEX idx_workflow_step_transitions_uuid_most_recent", "(workflow_step_uuid, most_recent"),
        ("procrastinate", "DROP INDEX procrastinate_jobs_lock_idx_v1", "(lock where status = 'doing')"),
        ("uni2work", "ALTER TABLE cron_last_exec DROP CONSTRAINT unique_cron_last_exec", "(job)"),
        ("pgqueuer", "DROP INDEX pgqueuer_unique_dedupe_key", "(dedupe_key where"),
    ],
)
async def test_a_unique_rule_of_the_engine_that_is_absent(
    server: PostgresServer, tmp_path: Path, name: str, drop: str, rule: str
) -> None:
    """The engine is read all the same."""
    dsn = server.fresh(name)
    server.sql(drop, dsn)
    workspace = await opened(dsn, tmp_path)
    assert list(workspace.engines) == [name]
    missing = (await found(workspace))["unique_rule_missing"]
    assert f"of {name} does not have the engine's unique rule on {rule}" in missing.sentence
    assert not missing.suspected
    await workspace.close()
    server.drop(dsn)


@pytest.mark.parametrize(
    ("name", "change", "what"),
    [
        ("uni2work", "ALTER TABLE queued_job SET UNLOGGED", "it is UNLOGGED and the engine's is not"),
        ("pgqueuer", "ALTER TABLE pgqueuer SET UNLOGGED", None),
        ("oban", "ALTER TABLE oban_jobs ALTER meta TYPE text", "meta has the type text, the engine's has jsonb"),
        ("graphile_worker", "ALTER TABLE _private_jobs ALTER task_id TYPE bigint", None),
        ("solid_queue", "ALTER TABLE solid_queue_jobs ALTER active_job_id TYPE text", None),
        ("agent_jobs", "ALTER TABLE jobs ALTER error TYPE varchar(80)", "error has the type character varying(80)"),
        ("agent_jobs", "ALTER TABLE jobs ALTER error TYPE varchar(2000)", None),
        ("agent_jobs", "ALTER TABLE jobs ALTER id DROP DEFAULT", "id has no default, the engine's has one"),
        ("procrastinate", "ALTER TABLE procrastinate_jobs ALTER args DROP DEFAULT", "args has no default"),
        (
            "eternaltwin",
            "ALTER DOMAIN u32 ADD CONSTRAINT step CHECK (VALUE < 1000)",
            "the domain u32 has CHECK (VALUE < 1000), the engine's has CHECK (VALUE >= 0 AND VALUE < '4294967296')",
        ),
        (
            "agent_jobs",
            "ALTER TABLE jobs DROP CONSTRAINT jobs_time_order_chk",
            "not have the engine's check (started_at IS NULL",
        ),
        (
            "tasker",
            "ALTER TABLE workflow_steps DROP CONSTRAINT workflow_steps_task_uuid_fkey",
            "engine's foreign key (task_uuid to tasks)",
        ),
        ("estuary", "ALTER TABLE tasks ALTER inner_state TYPE jsonb", "inner_state has the type jsonb"),
    ],
)
async def test_a_relation_that_is_not_as_the_engine_made_it(
    server: PostgresServer, tmp_path: Path, name: str, change: str, what: str | None
) -> None:
    """A wider type is no difference.

    What the engine itself may change is none either. An engine may be declined.
    """
    dsn = server.fresh(name)
    server.sql(change, dsn)
    workspace = await opened(dsn, tmp_path)
    now = await snapshot(workspace, [*workspace.engines.values()], once=False)
    differs = [each for each in now.incidents if each.code in ("relation_differs", "schema_changed")]
    assert [what in each.sentence for each in differs if what] == [True] * len(differs) == [True] * bool(what)
    await workspace.close()
    server.drop(dsn)


@pytest.mark.parametrize(
    ("rule", "codes"),
    [
        ("(workflow_step_uuid) WHERE most_recent", set()),
        ("(most_recent, workflow_step_uuid) WHERE most_recent = true", set()),
        ("(workflow_step_uuid)", {"foreign_objects"}),
        ("(workflow_step_uuid, to_state) WHERE most_recent", {"foreign_objects", "unique_rule_missing"}),
    ],
)
async def test_an_equal_unique_rule_in_another_form_is_the_engine_s(
    server: PostgresServer, tmp_path: Path, rule: str, codes: set[str]
) -> None:
    dsn = server.fresh("tasker")
    server.sql("DROP INDEX idx_workflow_step_transitions_uuid_most_recent", dsn)
    server.sql(f"CREATE UNIQUE INDEX mine ON workflow_step_transitions {rule}", dsn)
    worker = await asyncpg.connect(dsn, server_settings={"application_name": "tasker"})
    workspace = await opened(dsn, tmp_path)
    assert (await found(workspace)).keys() & {"foreign_objects", "unique_rule_missing"} == codes
    await workspace.close()
    await worker.close()
    server.drop(dsn)


async def test_objects_on_a_table_that_no_worker_writes_refuse_nothing(server: PostgresServer, tmp_path: Path) -> None:
    """Only the application writes ``agents``."""
    dsn = server.fresh("agent_jobs")
    server.sql(
        """CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
           ALTER TABLE agents ADD settings jsonb NOT NULL, ADD CHECK (settings <> '{}') NOT VALID;
           CREATE TRIGGER validate BEFORE INSERT ON agents FOR EACH ROW EXECUTE FUNCTION refuse()""",
        dsn,
    )
    connection = await asyncpg.connect(dsn, server_settings={"application_name": "agent_jobs"})
    workspace = await opened(dsn, tmp_path)
    assert await found(workspace) == {}
    await connection.execute("CREATE TRIGGER validate BEFORE UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION refuse()")
    refused = (await found(workspace))["writes_refused"]
    assert "trigger validate on jobs" in refused.sentence
    assert "agents" not in refused.sentence
    await workspace.close()
    await connection.close()
    server.drop(dsn)


@pytest.mark.parametrize(
    ("name", "ddl", "what"),
    [
        (
            "procrastinate",
            "DROP TRIGGER procrastinate_jobs_notify_queue_job_inserted_v1 ON procrastinate_jobs",
            "not have the trigger that calls procrastinate_notify_queue_job_inserted_v1",
        ),
        ("procrastinate", "DROP FUNCTION procrastinate_unlink_periodic_defers_v1 CASCADE", "it does not exist"),
        ("tasker", f"{REPLACED} AS 'BEGIN END'", "it does not use updated_at"),
        (
            "solid_queue",
            "ALTER TABLE solid_queue_jobs REPLICA IDENTITY NOTHING; CREATE PUBLICATION p FOR ALL TABLES",
            "the publication p publishes its changes, and it has no replica identity",
        ),
        (
            "eternaltwin",
            """ALTER TABLE task_timer RENAME TO old; CREATE TABLE task_timer (LIKE old) PARTITION BY RANGE (deadline);
            CREATE TABLE past PARTITION OF task_timer FOR VALUES FROM (MINVALUE) TO ('2026-01-01')""",
            "it has no partition for a deadline after 2026-01-01",
        ),
        ("tasker", "SELECT pgmq.create('a'); DROP TABLE pgmq.a_a", "a_a of tasker differs"),
        ("oban", "CREATE PUBLICATION p FOR ALL TABLES", None),
    ],
)
async def test_what_stops_statements(
    server: PostgresServer, tmp_path: Path, name: str, ddl: str, what: str | None
) -> None:
    dsn = server.fresh(name)
    server.sql(ddl, dsn)
    workspace = await opened(dsn, tmp_path)
    changed = (await found(workspace)).get("schema_changed")
    assert (changed is not None and what is not None and what in changed.sentence) == bool(changed) == bool(what)
    await workspace.close()
    server.drop(dsn)
