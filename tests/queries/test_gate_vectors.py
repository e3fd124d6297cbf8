"""Triggers between a dry run and its commit, for nodes beyond the first 500 too."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from queries.db.errors import DatabaseError
from queries.log import audit_log
from queries.records.action import Outcome
from queries.workspace import Workspace
from tests.db.agent_jobs import AgentJobsDb
from tests.db.eternaltwin import EternaltwinDb
from tests.proof import most_in_proof
from tests.queries.builders import committed, do, dry_run_of, opened, outcomes_of, reader, undone, why
from tests.servers import PostgresServer

NODES = 1300
VALUES = {  # shown, stored instead
    "text": ("'20 EUR'", "'99999 EUR'"),
    "bytea": (r"'\x61616161'", r"'\x61616162'"),
    "jsonb": ("""'{"amount": 20}'""", """'{"amount": 21}'"""),
    "numeric": ("1.10", "1.1"),
    "timestamptz": ("'2026-01-01'", "'2999-01-01'"),
    "float8": ("0.1", "0.1000000000000001"),
    "int8": ("2000000000", "9000000000000000"),
    "bool": ("true", "false"),
    "uuid": ("'6f0c1f5e-0d2b-4b57-a3cb-2d6f0f6f1a11'", "'0b7d2a34-55aa-4c1e-9a0f-7f1f9f1f2c22'"),
    "json": ("""' {"a":1,"b":2}\n'""", """'{"b":2,"a":1}'"""),
    "text[]": ("ARRAY['a']", "ARRAY['a', NULL]"),
    "interval": ("'1 hour'", "'61 minutes'"),
    "inet": ("'10.0.0.1'", "'10.0.0.2'"),
    "varchar(9000)": ("repeat('a1', 4000)", "repeat('a2', 4000)"),
    "point": ("'(1,2)'", "'(1,3)'"),
}
SET = (
    "CREATE OR REPLACE FUNCTION set_it() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.c := {value};"
    " IF NEW.task_id = ANY ({ids}) THEN NEW.c := {other}; END IF; RETURN NEW; END $$;"
    "CREATE OR REPLACE TRIGGER set_it BEFORE UPDATE ON task FOR EACH ROW EXECUTE FUNCTION set_it()"
)


async def tasks(db: EternaltwinDb, number: int) -> list[uuid.UUID]:
    """Make tasks that wait, in the order in which an action takes them."""
    return await db.tasks(await db.jobs(number), status="Blocked", timer=-60)


def ids(keys: list[uuid.UUID]) -> str:
    return f"'{{{','.join(map(str, keys))}}}'::uuid[]"


@pytest.mark.parametrize("type_", most_in_proof(list(VALUES)))
@pytest.mark.parametrize("there", [True, False], ids=["before", "between"])
async def test_each_node_of_a_bulk_is_compared(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, server: PostgresServer, tmp_path: Path, type_: str, there: bool
) -> None:
    """Nodes 1, 500, 501 and 1,300: the first two are shown."""
    server.sql(audit_log.ddl(), eternaltwin)
    shown, other = VALUES[type_]
    await eternaltwin_db.sql(f"ALTER TABLE task ADD COLUMN c {type_}")
    keys = await tasks(eternaltwin_db, NODES)
    odd = [keys[n] for n in ((500, NODES - 1) if there else (0, 499, 500, NODES - 1))]
    await eternaltwin_db.sql(SET.format(value=shown, other=other, ids=ids(odd if there else [])))
    workspace = await opened(eternaltwin, tmp_path)
    dry_run = await dry_run_of(workspace, "wake", [eternaltwin_db.id(key) for key in keys])
    assert len(dry_run.nodes) == 500
    await eternaltwin_db.sql(SET.format(value=shown, other=other, ids=ids(odd)))
    done = outcomes_of(await committed(workspace, dry_run))
    assert {i for i, outcome in done.items() if outcome is not Outcome.CHANGED} == {eternaltwin_db.id(k) for k in odd}
    assert await eternaltwin_db.value(
        f"SELECT count(*) FROM task WHERE status = 'Blocked' AND task_id = ANY ({ids(odd)})"
    ) == len(odd)
    await workspace.close()


ZED = (
    "CREATE FUNCTION zed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {do} END $$;"
    "CREATE TRIGGER zed {when} UPDATE ON task FOR EACH ROW WHEN (OLD.kind = 'Zed') EXECUTE FUNCTION zed()"
)


@pytest.mark.parametrize(
    ("when", "do_", "reason"),
    [
        ("BEFORE", "NEW.status := 'Complete'; RETURN NEW;", "set task.status to another value"),
        ("BEFORE", "NEW.cpu_duration := '1 hour'; RETURN NEW;", "changed task.cpu_duration"),
        ("AFTER", "UPDATE public.job SET initial_state = 'x' WHERE job_id = NEW.job_id; RETURN NULL;", "job"),
        (
            "BEFORE",
            "INSERT INTO public.task_timer VALUES (now(), NEW.task_id), (now() + '1 day', NEW.task_id); RETURN NEW;",
            "task_timer",
        ),
    ],
)
async def test_the_rest_of_a_run_does_what_the_shown_nodes_did(
    eternaltwin_db: EternaltwinDb,
    eternaltwin: str,
    server: PostgresServer,
    tmp_path: Path,
    when: str,
    do_: str,
    reason: str,
) -> None:
    server.sql(audit_log.ddl(), eternaltwin)
    keys = await tasks(eternaltwin_db, 800)
    await eternaltwin_db.sql("UPDATE task SET kind = 'Zed' WHERE task_id = ANY ($1)", keys[500:])
    await eternaltwin_db.sql(ZED.format(do=do_, when=when))
    workspace = await opened(eternaltwin, tmp_path)
    done = await do(workspace, "wake", [eternaltwin_db.id(key) for key in keys])
    kept = {i for i, outcome in outcomes_of(done).items() if outcome is Outcome.CHANGED}
    assert kept == {eternaltwin_db.id(key) for key in keys[:500]}
    assert all(reason in r.why for r in done.results if r.id not in kept), {r.why for r in done.results}
    assert await eternaltwin_db.value("SELECT count(*) FROM task WHERE status = 'Blocked'") == 300
    assert await eternaltwin_db.value("SELECT count(*) FROM task_timer") == 300
    await workspace.close()


ON_DELETE = (
    "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {} RETURN OLD; END $$;"
    "CREATE TRIGGER f BEFORE DELETE ON jobs FOR EACH ROW EXECUTE FUNCTION f();"
)


@pytest.mark.parametrize(
    ("effect", "code", "said"),
    [
        ("CASCADE", "", "deleted 1 row of public.child"),
        ("SET NULL", "", "updated 1 row of public.child"),
        ("NO ACTION", ON_DELETE.format("DELETE FROM public.child;"), "deleted 1 row of public.child"),
        ("NO ACTION", ON_DELETE.format("TRUNCATE public.child;"), "public.child is emptied or altered, perhaps by tri"),
    ],
)
async def test_an_undo_says_what_does_not_come_back(
    agent_jobs_db: AgentJobsDb, table: Workspace, server: PostgresServer, effect: str, code: str, said: str
) -> None:
    server.sql(audit_log.ddl(), agent_jobs_db.dsn)
    await table.detect()
    job = await agent_jobs_db.job("failed", age=90000, started=89990, ended=89980)
    await agent_jobs_db.connection.execute(
        f"CREATE TABLE child (id int PRIMARY KEY, job uuid REFERENCES jobs ON DELETE {effect});"
        f"INSERT INTO child VALUES (1, '{job}'); {code}"
    )
    node = agent_jobs_db.id(job)
    done = await committed(table, await dry_run_of(table, "delete", [node], label="agent_jobs"))
    back = await undone(table, done)
    assert outcomes_of(back) == {node: Outcome.CHANGED}
    assert said in why(back, node)


LOGS = {
    "deleted": "AFTER: DELETE FROM unstick.audit_log WHERE id = NEW.id; RETURN NULL;",
    "emptied": "BEFORE: NEW.results := '[]'; RETURN NEW;",
    "reason": "BEFORE: NEW.reason := 'other'; RETURN NEW;",
    "rows": "BEFORE: NEW.changes := '[]'; RETURN NEW;",
    "role": "BEFORE: NEW.role := 'other'; RETURN NEW;",
    "dropped": "BEFORE: RETURN NULL;",
    "deferred": "CONSTRAINT: DELETE FROM unstick.audit_log WHERE id = NEW.id; RETURN NULL;",
}


@pytest.mark.parametrize("images", [True, False], ids=["images", "none"])
@pytest.mark.parametrize("what", [*LOGS, "rule", "images dropped", "images changed", "no hash"])
async def test_a_log_that_does_not_keep_the_entry_stops_the_change(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, server: PostgresServer, tmp_path: Path, what: str, images: bool
) -> None:
    server.sql(audit_log.ddl(), eternaltwin)
    await break_log(eternaltwin_db, what)
    workspace = await opened(eternaltwin, tmp_path, images=images)
    node = eternaltwin_db.id(await eternaltwin_db.task(status="Blocked", timer=-60))
    done = await do(workspace, "wake", [node])
    if what.startswith("images") and not images:
        assert outcomes_of(done) == {node: Outcome.CHANGED}
    else:
        assert outcomes_of(done) == {node: Outcome.REFUSED}
        assert "did not keep the entry" in why(done, node) or what == "rule"
        assert await eternaltwin_db.value("SELECT count(*) FROM task WHERE status = 'Blocked'") == 1
        assert await eternaltwin_db.value("SELECT count(*) FROM unstick.audit_log") == 0
    await workspace.close()


async def break_log(db: EternaltwinDb, what: str) -> None:
    """Have the audit log drop or change what is written to it."""
    if what == "rule":
        await db.sql("CREATE RULE r AS ON INSERT TO unstick.audit_log DO ALSO DELETE FROM unstick.audit_log")
        return
    if what == "no hash":
        await db.sql("ALTER TABLE unstick.audit_log DISABLE TRIGGER audit_log_chain")
        return
    table = "audit_images" if what.startswith("images") else "audit_log"
    code = {"images dropped": "BEFORE: RETURN NULL;", "images changed": "BEFORE: NEW.images := '{}'; RETURN NEW;"}
    when, _, body = {**LOGS, **code}[what].partition(": ")
    kind = "CONSTRAINT TRIGGER z AFTER" if when == "CONSTRAINT" else f"TRIGGER z {when}"
    deferred = "DEFERRABLE INITIALLY DEFERRED" if when == "CONSTRAINT" else ""
    await db.sql(
        f"CREATE FUNCTION z() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$;"
        f"CREATE {kind} INSERT ON unstick.{table} {deferred} FOR EACH ROW EXECUTE FUNCTION z()"
    )


async def test_a_log_that_the_role_may_not_read_is_counted(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, server: PostgresServer, tmp_path: Path
) -> None:
    server.sql(audit_log.ddl(), eternaltwin)
    role = server.unique("r")
    await eternaltwin_db.sql(
        f"CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT ALL ON ALL TABLES IN SCHEMA public TO {role};"
        f"GRANT USAGE ON SCHEMA unstick TO {role}; GRANT INSERT ON unstick.audit_log TO {role}"
    )
    workspace = await opened(server.dsn(eternaltwin.rpartition("/")[2], user=role, password="x"), tmp_path)
    first, second = [eternaltwin_db.id(key) for key in await tasks(eternaltwin_db, 2)]
    assert outcomes_of(await do(workspace, "wake", [first])) == {first: Outcome.CHANGED}
    await break_log(eternaltwin_db, "dropped")
    assert outcomes_of(await do(workspace, "wake", [second])) == {second: Outcome.REFUSED}
    await workspace.close()


@pytest.mark.parametrize(
    ("engine", "action", "table", "code"),
    [
        ("oban", "wake", "oban_jobs", "scheduled_at := '2999-01-01'"),
        ("procrastinate", "retry", "procrastinate_jobs", "scheduled_at := '2999-01-01'"),
        ("agent_jobs", "mark_failed", "jobs", "updated_at := '2999-01-01'"),
        ("tasker", "retry", "workflow_step_transitions", "to_state := 'error'"),
        ("solid_queue", "retry", "solid_queue_ready_executions", "queue_name := 'evil'"),
        ("uni2work", "skip", "cron_last_exec", "time := '2999-01-01'"),
    ],
)
async def test_an_engine_s_rows_have_the_values_that_were_shown(
    server: PostgresServer, tmp_path: Path, engine: str, action: str, table: str, code: str
) -> None:
    dsn = server.fresh(engine, filled=True)
    workspace = await opened(dsn, tmp_path)
    read = reader(workspace, engine)
    found = [*(await read.pages.live()).nodes, *(roots := (await read.pages.roots()).nodes)]
    found += [node for root in roots for node in (await read.pages.children(root.id)).nodes]
    ids = [node.id for node in found if read.engine.action(action, node.kind)]
    node = next(c.id for c in (await dry_run_of(workspace, action, ids, label=engine)).changes if c.table == table)
    dry_run = await dry_run_of(workspace, action, [node], label=engine)
    body = f"BEGIN IF TG_OP = 'INSERT' OR NOT NEW = OLD THEN NEW.{code}; END IF; RETURN NEW; END"
    server.sql(f"CREATE FUNCTION evil() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$", dsn)
    server.sql(f"CREATE TRIGGER evil BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION evil()", dsn)
    assert outcomes_of(await committed(workspace, dry_run))[node] in (Outcome.CONFLICT, Outcome.STALE)
    server.sql(f"DROP TRIGGER evil ON {table}", dsn)
    assert outcomes_of(await committed(workspace, dry_run)) == {node: Outcome.CHANGED}
    await workspace.close()


async def test_rows_without_a_primary_key_are_not_changed(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    (node,) = [eternaltwin_db.id(key) for key in await tasks(eternaltwin_db, 1)]
    await eternaltwin_db.sql("ALTER TABLE task DROP CONSTRAINT task_pkey CASCADE; CREATE INDEX ON task (task_id)")
    workspace = await opened(eternaltwin, tmp_path)
    with pytest.raises(DatabaseError, match="no primary key"):
        await dry_run_of(workspace, "wake", [node])
    await workspace.close()
