"""The gate: only what the dry run showed is committed."""

from __future__ import annotations

from pathlib import Path

from queries.log import audit_log
from queries.records.action import Outcome
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.builders import committed, dry_run_of, opened, outcomes_of, why
from tests.servers import PostgresServer

INVOICE = "CREATE TABLE invoice (id int PRIMARY KEY, job_id uuid REFERENCES job ON DELETE CASCADE)"
MAIL = "CREATE TABLE mail (id int PRIMARY KEY, job_id uuid REFERENCES job ON DELETE SET NULL)"
JOB = (
    "CREATE FUNCTION job_too() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN UPDATE public.job SET initial_state = '\\x00' WHERE job_id = NEW.job_id; RETURN NULL; END $$;"
    "CREATE TRIGGER t AFTER UPDATE ON task FOR EACH ROW EXECUTE FUNCTION job_too()"
)


async def test_rows_that_a_foreign_key_deletes_are_named_and_counted(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    job = await eternaltwin_db.job()
    await eternaltwin_db.sql(INVOICE)
    await eternaltwin_db.sql("INSERT INTO invoice SELECT n, $1 FROM generate_series(1, 2) n", job)
    await eternaltwin_db.sql(MAIL)
    await eternaltwin_db.sql("INSERT INTO mail VALUES (1, $1)", job)
    workspace = await opened(eternaltwin, tmp_path)
    node = eternaltwin_db.id(job, "job")
    dry_run = await dry_run_of(workspace, "delete", [node])
    assert dry_run.held > 0
    invoice, mail = sorted(dry_run.others, key=lambda other: other.table)
    assert (invoice.table, invoice.counts, invoice.own) == ("public.invoice", (0, 0, 2), False)
    assert "ON DELETE CASCADE" in invoice.cause
    assert (mail.table, mail.counts, mail.own) == ("public.mail", (0, 1, 0), False)
    assert "ON DELETE SET NULL" in mail.cause
    await eternaltwin_db.sql("INSERT INTO invoice VALUES (3, $1)", job)
    stopped = await committed(workspace, dry_run)
    assert outcomes_of(stopped) == {node: Outcome.CONFLICT}
    assert "public.invoice" in why(stopped, node)
    done = await committed(workspace, await dry_run_of(workspace, "delete", [node]))
    assert outcomes_of(done) == {node: Outcome.CHANGED}
    (entry, *_), _cursor = await workspace.audit_log.page()
    assert "deleted 3 rows of public.invoice" in entry.arguments["other_rows"]
    assert "updated 1 row of public.mail" in entry.arguments["other_rows"]
    await workspace.close()


async def test_rows_of_the_engine_that_no_copy_has_are_no_part_of_an_undo(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, server: PostgresServer, tmp_path: Path
) -> None:
    server.sql(audit_log.ddl(), eternaltwin)
    node = eternaltwin_db.id(await eternaltwin_db.task(status="Blocked", timer=-60))
    await eternaltwin_db.sql(JOB)
    workspace = await opened(eternaltwin, tmp_path)
    dry_run = await dry_run_of(workspace, "wake", [node])
    assert outcomes_of(dry_run) == {node: Outcome.CHANGED}
    assert "updated 1 row of job without a copy" in dry_run.irreversible[node]
    await workspace.close()


async def test_hidden_tasks_are_not_deleted_with_their_job(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, server: PostgresServer, tmp_path: Path
) -> None:
    job = await eternaltwin_db.job()
    await eternaltwin_db.task(job)
    await eternaltwin_db.sql("CREATE INDEX ON task (job_id)")
    role = server.unique("role")
    server.sql(
        f"CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}", eternaltwin
    )
    clerk = server.dsn(eternaltwin.rpartition("/")[2], user=role, password="x")
    workspace = await opened(clerk, tmp_path)
    await eternaltwin_db.sql("ALTER TABLE task ENABLE ROW LEVEL SECURITY")  # after the engine was found
    node = eternaltwin_db.id(job, "job")
    dry_run = await dry_run_of(workspace, "delete", [node])
    assert outcomes_of(dry_run) == {node: Outcome.DENIED}
    assert "policies on task may hide rows that it needs" in why(dry_run, node)
    await workspace.close()
