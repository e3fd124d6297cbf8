"""Undo of entries that are forged, or whose writer has fewer privileges."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest

from queries.change import loop, perform
from queries.change.plan import plan_entry
from queries.change.undo import why_foreign
from queries.db.errors import DatabaseError
from queries.log import audit_log
from queries.records.action import Change, Outcome
from queries.records.images import Images, RowImage, StoredImages, TableImages
from queries.workspace import Workspace
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.builders import OPERATOR, do, opened, outcomes_of, reader, why
from tests.servers import PostgresServer

STATUS = "SELECT status::text FROM task"


@pytest.fixture
async def workspace(server: PostgresServer, eternaltwin: str, tmp_path: Path) -> AsyncIterator[Workspace]:
    """Workspace of a superuser, with the audit log as a table."""
    server.sql(audit_log.ddl(), eternaltwin)
    opened_ = await opened(eternaltwin, tmp_path)
    yield opened_
    await opened_.close()


class Writer:
    """A role that may write audit log entries, and nothing else."""

    def __init__(self, role: str, connection: asyncpg.Connection[Any]) -> None:
        self.role, self.connection = role, connection

    async def entry(self, node: str, images: dict[str, Any], role: str | None = None) -> str:
        """Write an entry with images, as an action does. ``role``: the role that it names."""
        fields = dict(zip(("os_user", "host", "application"), ("anna", "laptop", "unstick"), strict=True))
        fields |= {"engine": "eternaltwin", "schema": "public", "action": "cancel", "reason": "wrong mails"}
        fields |= {"arguments": "{}", "results": json.dumps([{"id": node, "outcome": "changed"}]), "changes": "[]"}
        fields |= {} if role is None else {"role": role}
        text = json.dumps(images)
        values = ", ".join(f"${n}::text::{'json' if name in JSON else 'text'}" for n, name in enumerate(fields, 1))
        digest = f"encode(sha256(convert_to(${len(fields) + 1}, 'UTF8')), 'hex')"
        async with self.connection.transaction():
            entry = await self.connection.fetchval(
                f"INSERT INTO unstick.audit_log ({', '.join(fields)}, images_digest) VALUES ({values}, {digest})"
                " RETURNING id",
                *(*fields.values(), text),
            )
            await self.connection.execute("INSERT INTO unstick.audit_images VALUES ($1, $2)", entry, text)
        return str(entry)


JSON = ("arguments", "results", "changes")


@pytest.fixture
async def mallory(server: PostgresServer, eternaltwin: str) -> AsyncIterator[Writer]:
    role = server.unique("mallory")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    server.sql(f"{audit_log.ddl()}; {audit_log.grants(role)}", eternaltwin)
    connection = await asyncpg.connect(server.dsn(urlsplit(eternaltwin).path.strip("/"), user=role, password="x"))
    yield Writer(role, connection)
    await connection.close()


async def undo_run(workspace: Workspace, entry: str) -> Change:
    plan = await plan_entry(workspace, entry)
    return await perform.dry_run(workspace, plan, "wrong", plan.arguments)


async def images_of(eternaltwin_db: EternaltwinDb, entry: str) -> dict[str, Any]:
    text = await eternaltwin_db.value("SELECT images::text FROM unstick.audit_images WHERE entry = $1", int(entry))
    images: dict[str, Any] = json.loads(text)
    return images


async def image(eternaltwin_db: EternaltwinDb, table: str, node: str, before: dict[str, str]) -> dict[str, Any]:
    """Return the images of the one row of a table that an entry would have changed."""
    named = f"SELECT array_agg(attname::text ORDER BY attnum) FROM pg_attribute WHERE attrelid = '{table}'::regclass"
    columns = await eternaltwin_db.value(f"{named} AND attnum > 0")
    written = f"SELECT left(md5(ARRAY[t.id::text, t.admin::text]::text), 16) || ' ' || t.xmin FROM {table} t"
    digest, _, xmin = (await eternaltwin_db.value(written)).partition(" ")
    row = [node.partition("/")[2], ["1"], before, digest, xmin]
    return {"tables": [{"table": table, "key": ["id"], "columns": columns, "others": [], "rows": [row]}]}


@pytest.mark.parametrize("own", [True, False], ids=["own_table", "other_table"])
async def test_a_table_that_no_action_changes_is_not_restored(
    workspace: Workspace, eternaltwin_db: EternaltwinDb, mallory: Writer, *, own: bool
) -> None:
    """Its trigger would run as the role that undoes, already in the dry run."""
    node = eternaltwin_db.id(await eternaltwin_db.task())
    maker = mallory.connection if own else eternaltwin_db.connection
    await eternaltwin_db.sql(f"CREATE SEQUENCE runs; GRANT USAGE ON runs TO {mallory.role};")
    await eternaltwin_db.sql(f"GRANT CREATE ON SCHEMA public TO {mallory.role}")
    await maker.execute(
        "CREATE TABLE accounts (id int PRIMARY KEY, admin bool); INSERT INTO accounts VALUES (1, false);"
        "CREATE FUNCTION run() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN PERFORM nextval(''public.runs''); RETURN NEW; END';"
        "CREATE TRIGGER run BEFORE UPDATE ON accounts FOR EACH ROW EXECUTE FUNCTION run()"
    )
    entry = await mallory.entry(node, await image(eternaltwin_db, "accounts", node, {"admin": "t"}))
    dry_run = await undo_run(workspace, entry)
    assert outcomes_of(dry_run) == {node: Outcome.REFUSED}
    assert "accounts" in why(dry_run, node)
    done = await loop.commit(workspace, dry_run, OPERATOR)
    assert outcomes_of(done) == {node: Outcome.REFUSED}
    assert await eternaltwin_db.value("SELECT admin FROM accounts") is False
    assert await eternaltwin_db.value("SELECT is_called FROM runs") is False, "a trigger ran"


@pytest.mark.parametrize("case", ["column", "delete_row", "privileges", "named", "policies", "allowed", "member"])
async def test_an_undo_makes_only_changes_that_the_writer_could_make(
    server: PostgresServer, workspace: Workspace, eternaltwin_db: EternaltwinDb, mallory: Writer, case: str
) -> None:
    node = eternaltwin_db.id(await eternaltwin_db.task(status="Blocked"))
    done = await do(workspace, "cancel", [node])
    images = await images_of(eternaltwin_db, done.entries[0])
    (row,) = images["tables"][0]["rows"]
    if case == "column":
        row[2]["kind"] = "Other"
    if case == "delete_row":
        row[2] = None
    if case in ("policies", "allowed"):
        await eternaltwin_db.sql(f"GRANT UPDATE ON task TO {mallory.role}")
    if case == "policies":
        await eternaltwin_db.sql("ALTER TABLE task ENABLE ROW LEVEL SECURITY")
    if case == "member":  # it does not inherit the privilege, but may use it
        group = server.unique("group")
        await eternaltwin_db.sql(
            f"CREATE ROLE {group}; GRANT UPDATE ON task TO {group}; GRANT USAGE ON SCHEMA public TO {group};"
            f"GRANT {group} TO {mallory.role}; ALTER ROLE {mallory.role} NOINHERIT"
        )
    if case == "named":
        await eternaltwin_db.sql(f"GRANT INSERT ON unstick.audit_log TO {mallory.role}")
    entry = await mallory.entry(node, images, "postgres" if case == "named" else None)
    dry_run = await undo_run(workspace, entry)
    fine = case in ("allowed", "member")
    assert outcomes_of(dry_run) == {node: Outcome.CHANGED if fine else Outcome.REFUSED}, dry_run.results
    assert ("postgres" if case == "named" else mallory.role) in dry_run.undoes
    words = {"column": "task.kind", "delete_row": "DELETE on task", "policies": "policies of task"}
    words |= {"privileges": f"{mallory.role} wrote the entry", "named": f"{mallory.role} can write any role"}
    assert words.get(case, "") in why(dry_run, node)
    await loop.commit(workspace, dry_run, OPERATOR)
    assert await eternaltwin_db.value(STATUS) == ("Blocked" if fine else "Complete")


AS_IT_WAS = {"last_value": "0"}


@pytest.mark.parametrize(
    ("engine", "table", "before", "said"),
    [
        ("agent_jobs", "agents", {}, "no action of agent_jobs changes agents"),
        ("uni2work", "token_bucket", {**AS_IT_WAS, "ident": "x"}, "changes token_bucket.ident"),
        ("uni2work", "token_bucket", None, "inserts or deletes rows of token_bucket"),
        ("uni2work", "token_bucket", AS_IT_WAS, ""),
        ("tasker", "task_transitions", {"task_uuid": "x"}, ""),  # append-only: no row of it is changed
    ],
)
async def test_only_tables_and_columns_that_an_action_changes_are_restored(
    every_engine: str, tmp_path: Path, engine: str, table: str, before: dict[str, Any] | None, said: str
) -> None:
    workspace = await opened(every_engine, tmp_path)
    own = reader(workspace, engine)
    row = RowImage(id="x:1", key=("1",), before=before, after="0" * 32, xmin="1")
    images = Images(tables=(TableImages(table=table, key=("id",), columns=("id",), others=(), rows=(row,)),))
    schema = own.detected.schema
    stored = StoredImages(role="mallory", engine=engine, schema=schema, images=images, intact=True)
    why = why_foreign(own, stored)
    assert said in why if said else not why
    await workspace.close()


async def test_images_that_were_changed_are_not_restored(workspace: Workspace, eternaltwin_db: EternaltwinDb) -> None:
    node = eternaltwin_db.id(await eternaltwin_db.task(status="Blocked"))
    done = await do(workspace, "cancel", [node])
    await eternaltwin_db.sql(
        "UPDATE unstick.audit_images SET images = replace(images::text, '\"Blocked\"', '\"Available\"')::json"
    )
    dry_run = await undo_run(workspace, done.entries[0])
    assert outcomes_of(dry_run) == {node: Outcome.REFUSED}
    assert "audit --verify" in why(dry_run, node)


async def test_a_local_file_that_others_can_write_is_not_restored(
    eternaltwin: str, eternaltwin_db: EternaltwinDb, tmp_path: Path
) -> None:
    workspace = await opened(eternaltwin, tmp_path)
    node = eternaltwin_db.id(await eternaltwin_db.task(status="Blocked"))
    done = await do(workspace, "cancel", [node])
    path = tmp_path / "audit_log.jsonl"
    path.chmod(0o666)
    with pytest.raises(DatabaseError, match="can be written by other users"):
        await undo_run(workspace, done.entries[0])
    path.chmod(0o600)
    earlier = b',"previous":[],"digest":"' + b"0" * 64 + b'"}\n'  # an earlier version hashed its lines
    path.write_bytes(path.read_bytes().replace(b"}\n", earlier))
    assert outcomes_of(await undo_run(workspace, done.entries[0])) == {node: Outcome.CHANGED}
    await workspace.close()


async def test_a_writer_that_is_gone_is_named(
    workspace: Workspace, eternaltwin_db: EternaltwinDb, mallory: Writer
) -> None:
    node = eternaltwin_db.id(await eternaltwin_db.task(status="Blocked"))
    done = await do(workspace, "cancel", [node])
    entry = await mallory.entry(node, await images_of(eternaltwin_db, done.entries[0]))
    await eternaltwin_db.sql(f"DROP OWNED BY {mallory.role}; DROP ROLE {mallory.role}")
    dry_run = await undo_run(workspace, entry)
    assert outcomes_of(dry_run) == {node: Outcome.REFUSED}
    assert f"the role {mallory.role}" in why(dry_run, node)


TRIGGER = "CREATE FUNCTION t() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN {body} END'; CREATE TRIGGER t {when} ON {table} FOR EACH ROW EXECUTE FUNCTION t()"  # noqa: E501
KEPT = {
    "null": (TRIGGER.format(body="RETURN NULL;", when="BEFORE UPDATE", table="task"), "the row of task"),
    "rule": ("CREATE RULE r AS ON UPDATE TO task DO INSTEAD NOTHING", "the row of task"),
    "column": (
        TRIGGER.format(body="NEW.status := OLD.status; RETURN NEW;", when="BEFORE UPDATE", table="task"),
        "task.status",
    ),
    "insert": (TRIGGER.format(body="RETURN NULL;", when="BEFORE INSERT", table="task_timer"), "the row of task_timer"),
    "removed": (
        TRIGGER.format(
            body="DELETE FROM public.task_timer WHERE task_id = NEW.task_id; RETURN NULL;",
            when="AFTER INSERT",
            table="task_timer",
        ),
        "the row of task_timer",
    ),
}


@pytest.mark.parametrize("case", KEPT)
async def test_what_a_trigger_or_rule_kept_is_not_called_changed(
    workspace: Workspace, eternaltwin_db: EternaltwinDb, case: str
) -> None:
    node = eternaltwin_db.id(await eternaltwin_db.task(status="Blocked", timer=30))
    done = await do(workspace, "cancel", [node])
    before = [await eternaltwin_db.rows(table) for table in ("task", "task_timer")]
    await eternaltwin_db.sql(KEPT[case][0])
    dry_run = await undo_run(workspace, done.entries[0])
    assert outcomes_of(dry_run) == {node: Outcome.REFUSED}
    assert KEPT[case][1] in why(dry_run, node)
    await loop.commit(workspace, dry_run, OPERATOR)
    assert [await eternaltwin_db.rows(table) for table in ("task", "task_timer")] == before


async def test_a_row_that_a_trigger_keeps_does_not_stop_the_others(
    workspace: Workspace, eternaltwin_db: EternaltwinDb
) -> None:
    tasks = [await eternaltwin_db.task(status="Blocked", timer=30) for _ in range(2)]
    ids = [eternaltwin_db.id(task) for task in tasks]
    done = await do(workspace, "cancel", ids)
    body = f"IF NEW.task_id = ''{tasks[0]}'' THEN RETURN NULL; END IF; RETURN NEW;"
    await eternaltwin_db.sql(TRIGGER.format(body=body, when="BEFORE INSERT", table="task_timer"))
    undone = await loop.commit(workspace, await undo_run(workspace, done.entries[0]), OPERATOR)
    assert outcomes_of(undone) == {ids[0]: Outcome.REFUSED, ids[1]: Outcome.CHANGED}
    assert [(await eternaltwin_db.row(task))["timers"] for task in tasks] == [0, 1]


async def test_a_row_that_a_trigger_does_not_delete_is_named(
    workspace: Workspace, eternaltwin_db: EternaltwinDb
) -> None:
    node = eternaltwin_db.id(await eternaltwin_db.task(status="Blocked", timer=30))
    done = await do(workspace, "cancel", [node])
    undone = await loop.commit(workspace, await undo_run(workspace, done.entries[0]), OPERATOR)
    await eternaltwin_db.sql(TRIGGER.format(body="RETURN NULL;", when="BEFORE DELETE", table="task_timer"))
    redo = await undo_run(workspace, undone.entries[0])
    assert outcomes_of(redo) == {node: Outcome.REFUSED}
    assert "the row of task_timer" in why(redo, node)


@pytest.mark.parametrize("again", [False, True], ids=["dropped", "other"])
async def test_a_primary_key_that_is_gone_is_a_reason(
    workspace: Workspace, eternaltwin_db: EternaltwinDb, *, again: bool
) -> None:
    node = eternaltwin_db.id(await eternaltwin_db.job(), "job")
    done = await do(workspace, "delete", [node])
    await eternaltwin_db.sql("ALTER TABLE job DROP CONSTRAINT job_pkey CASCADE")
    if again:
        await eternaltwin_db.sql("ALTER TABLE job ADD PRIMARY KEY (job_id, created_at)")
    dry_run = await undo_run(workspace, done.entries[0])
    assert outcomes_of(dry_run) == {node: Outcome.REFUSED}
    assert "primary key of job" in why(dry_run, node)


async def test_rows_that_policies_hid_from_the_writer_are_not_said_to_be_back(
    server: PostgresServer, workspace: Workspace, eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    role = server.unique("operator")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    server.sql(f"{audit_log.grants(role)}; GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}", eternaltwin)
    job = await eternaltwin_db.job()
    dsn = server.dsn(urlsplit(eternaltwin).path.strip("/"), user=role, password="x")
    own = await opened(dsn, tmp_path)
    node = eternaltwin_db.id(job, "job")
    done = await do(own, "delete", [node])
    await eternaltwin_db.sql("ALTER TABLE task ENABLE ROW LEVEL SECURITY")
    for each in (own, workspace):
        await each.detect(renew=True)
        dry_run = await undo_run(each, done.entries[0])
        assert outcomes_of(dry_run) == {node: Outcome.CHANGED}
        assert "policies on task may hide rows" in why(dry_run, node)
    await own.close()
