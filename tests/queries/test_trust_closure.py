"""Code of a role without rights that a command would run.

There is a case for each kind of dependency of a table. Each function counts its calls with a sequence, whose numbers a
ROLLBACK does not give back.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import NamedTuple

import asyncpg
import pytest

from queries.change import loop
from queries.log import audit_log
from queries.records.action import Outcome
from tests.command import Answer, unstick
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.builders import OPERATOR, do, dry_run_of, opened, outcomes_of, reader, why
from tests.queries.test_trust import with_operator
from tests.servers import PostgresServer, both_versions


def function(signature: str, returns: str, value: str) -> str:
    """Return the DDL of a function that counts its calls."""
    body = f"BEGIN PERFORM nextval('public.ran'); RETURN {value}; END"
    return f"CREATE FUNCTION {signature} RETURNS {returns} LANGUAGE plpgsql IMMUTABLE AS $$ {body} $$;"


YES = function("yes(n int8)", "bool", "true")
NUMBER = function("number(n int8)", "int8", "n")
TRIGGER = function("theirs()", "trigger", "CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END")
EACH_ROW = "FOR EACH ROW EXECUTE FUNCTION theirs()"
INVOICE = "CREATE TABLE invoice (id int PRIMARY KEY, job uuid DEFAULT NULL REFERENCES job ON DELETE {effect}); "
ROWS = "INSERT INTO invoice SELECT 1, job_id FROM job WHERE created_by IS NULL LIMIT 1; "
SYMBOL = "CREATE OPERATOR {name} (FUNCTION = {function}, LEFTARG = {type}, RIGHTARG = {type}); "
CLASS = "CREATE OPERATOR CLASS theirs {kind} FOR TYPE {type} USING {method} AS {members}; "
ORDER = "OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 compared(int8, int8)"
COMPARED = function("compared(a int8, b int8)", "int4", "pg_catalog.btint8cmp(a, b)")
HASHED = function("hashed(a uuid)", "int4", "pg_catalog.uuid_hash(a)")

# Run by a read
READS = {
    "cast of an enum": function("a(x task_status)", "text", "'x'")
    + "CREATE CAST (task_status AS text) WITH FUNCTION a",
    "cast of an enum to json": function("a(x task_status)", "json", "'1'")
    + "CREATE CAST (task_status AS json) WITH FUNCTION a AS ASSIGNMENT",
    "cast to an enum": function("a(x int4)", "task_status", "'Blocked'")
    + "CREATE CAST (int4 AS task_status) WITH FUNCTION a AS IMPLICIT",
    "cast of a composite": function("a(x job_tick)", "text", "'x'") + "CREATE CAST (job_tick AS text) WITH FUNCTION a",
    "cast of a row": function("a(x task)", "text", "'x'") + "CREATE CAST (task AS text) WITH FUNCTION a",
    "cast of an array": function("a(x task_status[])", "text", "'x'")
    + "CREATE CAST (task_status[] AS text) WITH FUNCTION a",
    "cast of the server's types": function("a(x bytea)", "text", "'x'") + "CREATE CAST (bytea AS text) WITH FUNCTION a",
    "btree class": COMPARED
    + CLASS.format(kind="", type="int8", method="btree", members=ORDER)
    + "CREATE INDEX ON task (revision theirs)",
    "hash class": HASHED
    + CLASS.format(kind="", type="uuid", method="hash", members="OPERATOR 1 =, FUNCTION 1 hashed(uuid)")
    + "CREATE INDEX ON task USING hash (job_id theirs)",
    "default class of the server's type": function("same(a json, b json)", "bool", "true")
    + function("hashed(a json)", "int4", "1")
    + SYMBOL.format(name="=", function="same", type="json")
    + CLASS.format(kind="DEFAULT", type="json", method="hash", members="OPERATOR 1 =, FUNCTION 1 hashed(json)"),
    "default class of an enum": function("less(a task_status, b task_status)", "bool", "false")
    + function("compared(a task_status, b task_status)", "int4", "0")
    + "".join(SYMBOL.format(name=name, function="less", type="task_status") for name in ("<", "<=", "=", ">=", ">"))
    + CLASS.format(
        kind="DEFAULT",
        type="task_status",
        method="btree",
        members=ORDER.replace("int8, int8", "task_status, task_status"),
    ),
    "index expression": NUMBER + "CREATE INDEX ON task (number(revision))",
    "index predicate": YES + "CREATE INDEX ON task (revision) WHERE yes(1)",
    "statistics": NUMBER + "CREATE STATISTICS s ON (number(1)), (revision + 1) FROM task",
    "check of a domain": YES + "ALTER DOMAIN u32 ADD CHECK (yes(1))",
    "policy": YES + "ALTER TABLE task ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON task USING (yes(1))",
    "operator of a policy": function("more(a int8, b int8)", "bool", "true")
    + SYMBOL.format(name="##", function="more", type="int8")
    + "ALTER TABLE task ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON task USING (revision ## 1::int8)",
    "function of a trusted function": YES
    + "CREATE FUNCTION own(n int8) RETURNS bool LANGUAGE sql IMMUTABLE BEGIN ATOMIC SELECT yes(n); END;"
    + "ALTER DOMAIN u32 ADD CHECK (own(1))",
    "view of a trusted function": YES
    + "CREATE VIEW theirs AS SELECT yes(1) AS yes;"
    + "CREATE FUNCTION own(n int8) RETURNS bool LANGUAGE sql IMMUTABLE BEGIN ATOMIC SELECT yes FROM theirs; END;"
    + "ALTER DOMAIN u32 ADD CHECK (own(1))",
    "exclusion": function("same(a int8, b int8)", "bool", "a = b")
    + SYMBOL.format(name="===", function="same", type="int8").replace(")", ", COMMUTATOR = ===)")
    + "CREATE OPERATOR CLASS theirs FOR TYPE int8 USING hash AS OPERATOR 1 ===, FUNCTION 1 pg_catalog.hashint8(int8);"
    + "ALTER TABLE task ADD COLUMN made int8, ADD EXCLUDE USING hash (made theirs WITH ===)",
}
# Run by a change of a task
TASKS = {
    "trigger": f"{TRIGGER} CREATE TRIGGER t BEFORE UPDATE ON task {EACH_ROW}",
    "trigger of a statement": f"{TRIGGER} CREATE TRIGGER t AFTER UPDATE ON task EXECUTE FUNCTION theirs()",
    "condition of a trigger": YES
    + "CREATE FUNCTION own() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;"
    + "CREATE TRIGGER t BEFORE UPDATE ON task FOR EACH ROW WHEN (yes(1)) EXECUTE FUNCTION own()",
    "check": f"{YES} ALTER TABLE task ADD CHECK (yes(revision))",
    "check that a plan would call": f"{YES} ALTER TABLE task ADD CHECK (yes(1)); DO $$ BEGIN"
    " EXECUTE format('ALTER DATABASE %I SET constraint_exclusion = on', current_database()); END $$",
    "generated column": f"{NUMBER} ALTER TABLE task ADD COLUMN made int8 GENERATED ALWAYS AS (number(revision)) STORED",
    "rule": f"{YES} CREATE RULE r AS ON UPDATE TO task DO ALSO SELECT yes(1)",
    "default": f"{NUMBER} ALTER TABLE task ADD COLUMN made int8 DEFAULT number(1)",
    "trigger behind ON UPDATE CASCADE": "CREATE UNIQUE INDEX ON task (task_id, revision); CREATE TABLE invoice"
    " (id task_id, n u32, FOREIGN KEY (id, n) REFERENCES task (task_id, revision) ON UPDATE CASCADE);"
    f"{TRIGGER} CREATE TRIGGER t BEFORE UPDATE ON invoice {EACH_ROW}",
}
# Run by a DELETE of a job
JOBS = {
    "trigger behind CASCADE": INVOICE.format(effect="CASCADE")
    + ROWS
    + f"{TRIGGER} CREATE TRIGGER t BEFORE DELETE ON invoice {EACH_ROW}",
    "trigger of a statement behind CASCADE": INVOICE.format(effect="CASCADE")
    + f"{TRIGGER} CREATE TRIGGER t AFTER DELETE ON invoice EXECUTE FUNCTION theirs()",
    "check behind SET NULL": INVOICE.format(effect="SET NULL")
    + ROWS
    + f"{YES} ALTER TABLE invoice ADD CHECK (yes(id))",
    "default behind SET DEFAULT": INVOICE.format(effect="SET DEFAULT")
    + ROWS
    + function("key()", "uuid", "NULL::uuid")
    + "ALTER TABLE invoice ALTER job SET DEFAULT key()",
    "index behind SET NULL": INVOICE.format(effect="SET NULL")
    + ROWS
    + f"{NUMBER} CREATE INDEX ON invoice (number(id))",
    "trigger behind two CASCADE": INVOICE.format(effect="CASCADE")
    + ROWS
    + "CREATE TABLE line (invoice int REFERENCES invoice ON DELETE CASCADE); INSERT INTO line SELECT id FROM invoice;"
    + f"{TRIGGER} CREATE TRIGGER t BEFORE DELETE ON line {EACH_ROW}",
    "trigger of a partition behind CASCADE": "CREATE TABLE invoice (id int, job uuid REFERENCES job ON DELETE CASCADE)"
    " PARTITION BY RANGE (id); CREATE TABLE part PARTITION OF invoice DEFAULT;"
    + ROWS
    + f"{TRIGGER} CREATE TRIGGER t BEFORE DELETE ON part {EACH_ROW}",
    "rule behind the engine's CASCADE": f"{YES} CREATE RULE r AS ON DELETE TO task_timer DO ALSO SELECT yes(1)",
    "trigger behind the engine's CASCADE": f"{TRIGGER} CREATE TRIGGER t BEFORE DELETE ON task {EACH_ROW}",
    "rule behind CASCADE": INVOICE.format(effect="CASCADE")
    + ROWS
    + f"{YES} CREATE RULE r AS ON DELETE TO invoice DO ALSO SELECT yes(1)",
    "table of a rule": "CREATE TABLE gone (job uuid);"
    "CREATE RULE r AS ON DELETE TO task DO ALSO INSERT INTO gone VALUES (OLD.job_id);"
    f"{TRIGGER} CREATE TRIGGER t BEFORE INSERT ON gone {EACH_ROW}",
    "index predicate behind NO ACTION": INVOICE.format(effect="NO ACTION")
    + f"{YES} CREATE INDEX ON invoice (job) WHERE yes(1)",
    "class behind NO ACTION": HASHED
    + INVOICE.format(effect="NO ACTION")
    + CLASS.format(kind="", type="uuid", method="hash", members="OPERATOR 1 =, FUNCTION 1 hashed(uuid)")
    + "CREATE INDEX ON invoice USING hash (job theirs)",
}
# Catalogs that hold code or name a function: the case above, or why a role without rights cannot use it.
KINDS = {
    "pg_attrdef": "default",
    "pg_amproc": "btree class",
    "pg_cast": "cast of an enum",
    "pg_constraint": "check",
    "pg_index": "index predicate",
    "pg_operator": "operator of a policy",
    "pg_policy": "policy",
    "pg_proc": "function of a trusted function",
    "pg_rewrite": "rule",
    "pg_statistic_ext": "statistics",
    "pg_trigger": "condition of a trigger",
    "pg_type": "check of a domain",
    "pg_event_trigger": "",  # the test of init
    "pg_aggregate": "",  # as pg_proc: it depends on its functions
    "pg_class": "",  # bounds of partitions are constants; a table of a key by expression depends on its functions
    "pg_partitioned_table": "",
    "pg_range": "",  # as pg_type
    # Their functions take or return internal types, so that only a superuser can make them, in C.
    **dict.fromkeys(("pg_am", "pg_conversion", "pg_foreign_data_wrapper", "pg_language", "pg_transform"), ""),
    **dict.fromkeys(("pg_ts_parser", "pg_ts_template"), ""),
    "pg_publication_rel": "",  # filters of rows call functions of the server only, in another session
}
CATALOGS = """
SELECT DISTINCT fktable::text FROM pg_get_catalog_foreign_keys() WHERE pktable = 'pg_proc'::regclass
UNION
SELECT attrelid::regclass::text FROM pg_attribute
 WHERE atttypid = 'pg_node_tree'::regtype AND attrelid < 16384 AND attrelid::regclass::text ~ '^pg_'
   AND attrelid IN (SELECT oid FROM pg_class WHERE relkind = 'r')"""
OWNED = """
DO $$ DECLARE f regprocedure; BEGIN
  FOR f IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.prosrc ~ 'public.ran' LOOP
    EXECUTE format('ALTER FUNCTION %s OWNER TO {role}', f);
  END LOOP;
END $$"""
FORGET = "ALTER SEQUENCE ran RESTART"  # what the planting called


class Hostile(NamedTuple):
    """A database of which one task was cancelled, and a role without rights."""

    db: EternaltwinDb
    dsn: str
    role: str
    task: str
    job: str

    async def plant(self, code: str) -> None:
        await self.db.sql(code)
        await self.db.sql(OWNED.format(role=self.role))
        await self.db.sql(FORGET)

    async def ran(self) -> bool:
        """Return True if her code ran."""
        return bool(await self.db.value("SELECT is_called FROM ran"))

    async def asked(self, *words: str, dsn: str = "") -> Answer:
        """Run a command, which must not run her code."""
        answer = await asyncio.to_thread(unstick, *words, dsn=dsn or self.dsn)
        assert not await self.ran(), words
        return answer

    def commands(self) -> dict[str, tuple[str, ...]]:
        delete = ("do", "delete", self.job, "-r", "x")
        return {
            "stuck": ("stuck",),
            "tree": ("tree",),
            "show": ("show", self.task),
            "wake": ("do", "wake", self.task, "-r", "x", "--dry-run"),
            "undo": ("undo", "1", "-r", "x", "--yes"),
            "delete, dry run": (*delete, "--dry-run"),
            "delete": (*delete, "--yes", "--confirm", "public.invoice"),
        }


@pytest.fixture
async def hostile(eternaltwin_db: EternaltwinDb, eternaltwin: str, server: PostgresServer, tmp_path: Path) -> Hostile:
    role = server.unique("mallory")
    server.sql(f"CREATE ROLE {role}")
    server.sql(f"{audit_log.ddl()}; CREATE SEQUENCE ran; GRANT USAGE ON SEQUENCE ran TO PUBLIC", eternaltwin)
    job = await eternaltwin_db.job()
    task, done = [await eternaltwin_db.task(job, status="Blocked", timer=60) for _ in range(2)]
    workspace = await opened(eternaltwin, tmp_path)
    await do(workspace, "cancel", [eternaltwin_db.id(done)])
    await workspace.close()
    return Hostile(eternaltwin_db, eternaltwin, role, eternaltwin_db.id(task), eternaltwin_db.id(job, "job"))


@both_versions
async def test_each_catalog_that_holds_code_has_a_case(eternaltwin_db: EternaltwinDb) -> None:
    catalogs = {row["fktable"] for row in await eternaltwin_db.connection.fetch(CATALOGS)}
    assert catalogs - KINDS.keys() == set()
    assert {*KINDS.values()} <= {"", *READS, *TASKS}


@both_versions
@pytest.mark.parametrize("code", READS)
async def test_what_a_read_would_run_is_not_read(hostile: Hostile, code: str) -> None:
    await hostile.plant(READS[code])
    for words in hostile.commands().values():
        answer = await hostile.asked(*words)
        assert answer.code != 0, words
        assert hostile.role in answer.err + answer.out, words
        assert "the function" in answer.err + answer.out, words


@both_versions
@pytest.mark.parametrize("code", [*TASKS, *JOBS])
async def test_what_a_change_would_run_is_not_changed(
    hostile: Hostile, server: PostgresServer, tmp_path: Path, code: str
) -> None:
    """Neither by a superuser nor by an operator with least rights."""
    _, dsn = await with_operator(hostile.dsn, server, tmp_path)
    await hostile.plant({**TASKS, **JOBS}[code])
    refused = ("wake", "undo") if code in TASKS else ("delete, dry run", "delete")
    before = await hostile.db.digest()
    for each in (hostile.dsn, dsn):
        for name, words in hostile.commands().items():
            if name not in refused and name.startswith(("delete", "undo")):
                continue
            answer = await hostile.asked(*words, dsn=each)
            if name in refused:
                assert answer.code == 3, (words, answer)
                assert f"of {hostile.role}, who is not trusted" in answer.out + answer.err, (words, answer)
            elif name in ("stuck", "tree", "show"):
                assert answer.code == 0, (words, answer)
    assert await hostile.db.digest() == before


async def test_what_a_delete_reaches_does_not_keep_an_update_back(hostile: Hostile) -> None:
    await hostile.plant(
        JOBS["trigger of a statement behind CASCADE"].replace(
            "job uuid DEFAULT NULL REFERENCES job", "task uuid REFERENCES task"
        )
    )
    assert (await hostile.asked("do", "wake", hostile.task, "-r", "x", "--yes")).code == 0


async def test_a_table_of_a_stranger_behind_a_foreign_key(hostile: Hostile) -> None:
    await hostile.plant(INVOICE.format(effect="CASCADE") + f"ALTER TABLE invoice OWNER TO {hostile.role}")
    answer = await hostile.asked("do", "delete", hostile.job, "-r", "x", "--dry-run")
    assert answer.code == 3
    assert f"the table invoice of {hostile.role}" in answer.out + answer.err
    trusted = await hostile.asked("do", "delete", hostile.job, "-r", "x", "--dry-run", "--trust", hostile.role)
    assert trusted.code == 0


NOTED = (
    "CREATE TABLE noted (id uuid);"
    "CREATE FUNCTION own() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {insert}; RETURN NEW; END $$;"
    "CREATE TRIGGER own BEFORE UPDATE ON task FOR EACH ROW EXECUTE FUNCTION own();"
    f"{TRIGGER} CREATE TRIGGER t BEFORE INSERT ON noted {EACH_ROW}"
)


async def test_a_table_that_a_trusted_trigger_names(hostile: Hostile) -> None:
    await hostile.plant(NOTED.format(insert="INSERT INTO public.noted VALUES (NEW.task_id)"))
    answer = await hostile.asked("do", "wake", hostile.task, "-r", "x", "--yes")
    assert answer.code == 3
    assert f"runs the function theirs of {hostile.role}, who is not trusted" in answer.out + answer.err


async def test_a_table_that_a_trusted_trigger_wrote_to_is_asked_before_the_end(hostile: Hostile) -> None:
    """Its text does not name the table. What her function did is rolled back."""
    insert = "EXECUTE 'INSERT INTO public.no' || 'ted VALUES ($1)' USING NEW.task_id"
    await hostile.plant(NOTED.format(insert=insert))
    for words in (["--yes"], ["--dry-run"]):
        answer = await asyncio.to_thread(unstick, "do", "wake", hostile.task, "-r", "x", *words, dsn=hostile.dsn)
        assert answer.code == 3
        assert f"runs the function theirs of {hostile.role}, who is not trusted" in answer.out + answer.err
        assert "rolled back" in answer.out + answer.err
    assert await hostile.db.value("SELECT count(*) FROM noted") == 0


async def test_a_trigger_that_alters_objects_runs_event_triggers(hostile: Hostile) -> None:
    event = function("theirs()", "event_trigger", "NULL").replace("RETURN NULL", "RETURN")
    own = "BEGIN ALTER TABLE noted SET (fillfactor = 50); RETURN NEW; END"
    await hostile.plant(
        f"CREATE TABLE noted (id uuid); CREATE FUNCTION own() RETURNS trigger LANGUAGE plpgsql SET search_path = public"
        f" AS $$ {own} $$; CREATE TRIGGER own BEFORE UPDATE ON task FOR EACH ROW EXECUTE FUNCTION own(); {event}"
    )
    await hostile.db.sql("CREATE EVENT TRIGGER e ON ddl_command_end EXECUTE FUNCTION theirs()")
    answer = await asyncio.to_thread(unstick, "do", "wake", hostile.task, "-r", "x", "--yes", dsn=hostile.dsn)
    assert answer.code == 3
    assert f"the function theirs of the event trigger e of {hostile.role}" in answer.out + answer.err


async def test_an_engine_s_own_tables_take_no_second_question(hostile: Hostile, tmp_path: Path) -> None:
    workspace = await opened(hostile.dsn, tmp_path)
    detected = reader(workspace).detected
    reached = detected.trust.reached(detected.schema, ["DELETE job"])
    assert reached.keys() == {'"public"."task"', '"public"."task_timer"'}
    assert reached.keys() < detected.locked(["DELETE job"]).keys()
    await workspace.close()


async def test_a_table_that_is_reached_is_locked_before_the_change(
    hostile: Hostile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The foreign key is newer than the console, and its trigger is not committed."""
    for limit in ("WRITE_LOCK_SECONDS", "WRITE_SECONDS", "IDLE_SECONDS"):
        monkeypatch.setattr(f"queries.db.database.{limit}", 60.0)
    workspace = await opened(hostile.dsn, tmp_path)
    await hostile.plant(TRIGGER + INVOICE.format(effect="CASCADE") + ROWS)
    dry_run = await dry_run_of(workspace, "delete", [hostile.job])
    assert outcomes_of(dry_run) == {hostile.job: Outcome.CHANGED}
    stranger = await asyncpg.connect(hostile.dsn)
    async with stranger.transaction():
        await stranger.execute(f"CREATE TRIGGER t BEFORE DELETE ON invoice {EACH_ROW}")
        committing = asyncio.create_task(loop.commit(workspace, dry_run, OPERATOR))
        while not (committing.done() or await hostile.db.waiting()):
            await asyncio.sleep(0.01)
    await stranger.close()
    outcomes = await committing
    assert not await hostile.ran()
    assert outcomes_of(outcomes) == {hostile.job: Outcome.REFUSED}
    assert f"the function theirs of {hostile.role}" in why(outcomes, hostile.job)
    await hostile.db.sql("DROP TABLE invoice")
    assert outcomes_of(await dry_run_of(workspace, "delete", [hostile.job])) == {hostile.job: Outcome.CHANGED}
    await workspace.close()


@both_versions
def test_init_runs_no_event_trigger_of_a_stranger(database: str, server: PostgresServer) -> None:
    role = server.unique("mallory")
    event = function("theirs()", "event_trigger", "NULL").replace("RETURN NULL", "RETURN")
    server.sql(f"CREATE ROLE {role}")
    server.sql(f"CREATE SEQUENCE ran; {event} ALTER FUNCTION theirs() OWNER TO {role};", database)
    server.sql(
        "CREATE EVENT TRIGGER e ON ddl_command_start EXECUTE FUNCTION theirs(); ALTER SEQUENCE ran RESTART", database
    )
    before = server.sql("SELECT last_value FROM ran WHERE is_called", database)
    refused = unstick("init", "--yes", dsn=database)
    assert refused.code == 1
    assert f"the function theirs of the event trigger e of {role}" in refused.err
    assert server.sql("SELECT last_value FROM ran WHERE is_called", database) == before
    server.sql("ALTER EVENT TRIGGER e DISABLE", database)
    assert unstick("init", "--yes", dsn=database).code == 0
