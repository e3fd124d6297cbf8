"""Audit log: an append-only table in the action's transaction, or a local file."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import msgspec
import pytest

from queries.change import loop
from queries.db.errors import UnknownIdError
from queries.log import audit_log
from queries.records.action import Outcome
from queries.records.audit import AuditLogEntry
from queries.workspace import Workspace
from tests.db.eternaltwin import LABEL, EternaltwinDb
from tests.proof import proof
from tests.queries.builders import OPERATOR, do, dry_run_of, opened, outcomes_of, why
from tests.servers import PostgresServer, both_versions

CHANGED, REFUSED, DENIED = Outcome.CHANGED, Outcome.REFUSED, Outcome.DENIED
GRANTS = "GRANT SELECT ON job, task, task_timer TO {0}; GRANT UPDATE ON task TO {0}; GRANT DELETE ON task_timer TO {0}"


@pytest.fixture
def role(server: PostgresServer, eternaltwin: str) -> str:
    """Operator role whose name needs quoting, without privileges on the audit log.

    It has all other privileges.
    """
    name = server.unique('Anna "A"')
    quoted = '"' + name.replace('"', '""') + '"'
    server.sql(f"CREATE ROLE {quoted} LOGIN PASSWORD 'x'")
    server.sql(GRANTS.format(quoted), eternaltwin)
    return name


@pytest.fixture
async def operator(
    server: PostgresServer, eternaltwin: str, role: str, tmp_path: Path
) -> AsyncIterator[asyncpg.Connection]:
    """Operator's direct connection to a database with the audit log table."""
    server.sql(audit_log.ddl(), eternaltwin)
    server.sql(audit_log.grants(role), eternaltwin)
    connection = await asyncpg.connect(as_role(server, eternaltwin, role))
    yield connection
    await connection.close()


def as_role(server: PostgresServer, dsn: str, role: str) -> str:
    return server.dsn(dsn.rpartition("/")[2], user=role, password="x")


@both_versions
async def test_an_entry_is_written_in_the_actions_own_transaction(
    eternaltwin_db: EternaltwinDb,
    operator: asyncpg.Connection,
    server: PostgresServer,
    eternaltwin: str,
    role: str,
    tmp_path: Path,
) -> None:
    task, refused = await eternaltwin_db.task(status="Blocked", timer=30), await eternaltwin_db.task()
    workspace = await opened(as_role(server, eternaltwin, role), tmp_path)
    assert workspace.audit_log.place == "table"
    outcomes = await do(workspace, "wake", [eternaltwin_db.id(task)], {"untimed": True})
    both = await do(workspace, "cancel", [eternaltwin_db.id(task), eternaltwin_db.id(refused)])
    (newest, entry), cursor = await workspace.audit_log.page()
    assert cursor is None
    assert outcomes.audit_log == "table"
    assert (
        entry.xid
        == outcomes.xid
        == await eternaltwin_db.value("SELECT xmin::text FROM unstick.audit_log ORDER BY id LIMIT 1")
    )
    assert (entry.role, entry.os_user, entry.host) == (role, "anna", "laptop")
    assert (entry.engine, entry.schema, entry.action) == (LABEL, "public", "wake")
    assert (entry.reason, entry.arguments) == ("it was stuck", {"untimed": True})
    assert entry.results == outcomes.results
    assert entry.changes == tuple(change.differing() for change in outcomes.changes)
    assert abs(entry.at - time.time()) < 60
    assert newest.xid == both.xid == (await eternaltwin_db.row(task))["xmin"]
    assert outcomes_of(newest.results) == {eternaltwin_db.id(task): CHANGED, eternaltwin_db.id(refused): CHANGED}
    await workspace.close()


@both_versions
async def test_an_operator_can_neither_forge_nor_unsay(operator: asyncpg.Connection, role: str) -> None:
    columns = "os_user, host, application, engine, schema, action, reason, arguments, results, changes"
    values = "'a', 'b', 'c', 'd', 'e', 'f', 'g', '{}', '[]', '[]'"
    await operator.execute(f"INSERT INTO unstick.audit_log ({columns}) VALUES ({values})")
    row = await operator.fetchrow("SELECT role, xid::text, at FROM unstick.audit_log")
    assert row["role"] == role
    for statement in (
        "UPDATE unstick.audit_log SET reason = 'another'",
        "DELETE FROM unstick.audit_log",
        "TRUNCATE unstick.audit_log",
        "DROP TABLE unstick.audit_log",
        "ALTER TABLE unstick.audit_log DISABLE TRIGGER ALL",
        "SELECT FROM unstick.audit_log FOR UPDATE",
        *(
            f"INSERT INTO unstick.audit_log ({columns}, {column}) OVERRIDING SYSTEM VALUE VALUES ({values}, {value})"
            for column, value in (("role", "'postgres'"), ("at", "now()"), ("xid", "'7'"), ("id", "1"))
        ),
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await operator.execute(statement)
    assert await operator.fetchval("SELECT count(*) FROM unstick.audit_log") == 1
    unreasoned = values.replace("'g'", "''")
    with pytest.raises(asyncpg.CheckViolationError):
        await operator.execute(f"INSERT INTO unstick.audit_log ({columns}) VALUES ({unreasoned})")


async def test_the_role_is_who_came_in_not_who_he_plays(
    operator: asyncpg.Connection, server: PostgresServer, eternaltwin: str, role: str
) -> None:
    mask = server.unique("mask")
    quoted = '"' + role.replace('"', '""') + '"'
    server.sql(f"CREATE ROLE {mask}; GRANT {mask} TO {quoted}")
    server.sql(audit_log.grants(mask), eternaltwin)
    await operator.execute(f"SET ROLE {mask}")
    columns = "os_user, host, application, engine, schema, action, reason, arguments, results, changes"
    await operator.execute(
        f"INSERT INTO unstick.audit_log ({columns}) VALUES ('a', 'b', 'c', 'd', 'e', 'f', 'g', '{{}}', '[]', '[]')"
    )
    assert await operator.fetchval("SELECT role FROM unstick.audit_log") == role


@both_versions
async def test_making_it_twice_changes_nothing(
    eternaltwin_db: EternaltwinDb, server: PostgresServer, eternaltwin: str, role: str
) -> None:
    for _ in range(2):
        server.sql(audit_log.ddl(), eternaltwin)
        server.sql(audit_log.grants(role), eternaltwin)
    assert await eternaltwin_db.value("SELECT count(*) FROM pg_indexes WHERE schemaname = 'unstick'") == 4


@both_versions
async def test_entries_are_compressed_the_quick_way_where_the_server_has_it(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    """Compare the compression of an audit log before and after ``init``.

    The log was created without lz4. Entries with the old compression stay readable.
    """
    await eternaltwin_db.sql(audit_log.ddl())
    await eternaltwin_db.sql(
        "ALTER TABLE unstick.audit_log ALTER results SET COMPRESSION pglz, ALTER changes SET COMPRESSION pglz"
    )
    workspace = await opened(eternaltwin, tmp_path)
    methods = "SELECT enumvals FROM pg_settings WHERE name = 'default_toast_compression'"
    quick = "lz4" if "lz4" in await eternaltwin_db.value(methods) else "pglz"
    expected = []
    for method in ("pglz", quick):
        ids = [eternaltwin_db.id(task) for task in await eternaltwin_db.tasks(await eternaltwin_db.jobs(60))]
        outcomes = await do(workspace, "cancel", ids)
        expected.append(tuple(change.differing() for change in outcomes.changes))
        newest = "SELECT pg_column_compression({}) FROM unstick.audit_log ORDER BY id DESC LIMIT 1"
        assert (
            await eternaltwin_db.value(newest.format("changes"))
            == await eternaltwin_db.value(newest.format("results"))
            == method
        )
        await audit_log.create(workspace.database, [])
    entries, _ = await workspace.audit_log.page()
    assert [entry.changes for entry in reversed(entries)] == expected
    await workspace.close()


@pytest.mark.parametrize("place", ["table", "file"])
async def test_pages_of_entries_and_those_about_one_node(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path, place: str
) -> None:
    if place == "table":
        await eternaltwin_db.sql(audit_log.ddl())
    workspace = await opened(eternaltwin, tmp_path)
    tasks = await eternaltwin_db.tasks(await eternaltwin_db.jobs(5), status="Blocked", timer=30)
    for task in tasks:
        await do(workspace, "wake", [eternaltwin_db.id(task)])
    await do(workspace, "cancel", map(eternaltwin_db.id, tasks[1:3]))
    paged: list[AuditLogEntry] = []
    cursor = None
    while True:
        entries, cursor = await workspace.audit_log.page(cursor, limit=2)
        paged += entries
        if cursor is None:
            break
    assert [e.action for e in paged] == ["cancel", *["wake"] * 5]
    assert [[r.id for r in e.results] for e in paged[1:]] == [[eternaltwin_db.id(task)] for task in reversed(tasks)]
    assert len({e.id for e in paged}) == 6
    about, _ = await workspace.audit_log.page(node_id=eternaltwin_db.id(tasks[2]))
    assert [e.action for e in about] == ["cancel", "wake"]
    assert (await workspace.audit_log.page(node_id=eternaltwin_db.id(tasks[2]), limit=1))[1] == about[0].id
    with pytest.raises(UnknownIdError):
        await workspace.audit_log.page(node_id=f"{LABEL}/task:' OR 1=1")
    await workspace.close()


async def test_an_entry_has_the_columns_that_differ_and_the_rows_that_were_deleted(
    eternaltwin_db: EternaltwinDb, server: PostgresServer, eternaltwin: str, tmp_path: Path
) -> None:
    server.sql(audit_log.ddl(), eternaltwin)
    task = await eternaltwin_db.task(status="Blocked", timer=30)
    due = await eternaltwin_db.value("SELECT deadline::text FROM task_timer")
    workspace = await opened(eternaltwin, tmp_path)
    outcomes = await do(workspace, "wake", [eternaltwin_db.id(task)])
    assert all(len(c.before or {}) > 1 for c in outcomes.changes), "the result has the whole rows"
    ((entry,), _) = await workspace.audit_log.page()
    kept = {c.table: (c.before, c.after) for c in entry.changes}
    assert kept == {
        "task": ({"status": "Blocked"}, {"status": "Available"}),
        "task_timer": ({"deadline": due, "task_id": str(task)}, None),
    }
    await workspace.close()


# Without the table


async def test_the_file_has_an_intent_and_an_outcome_for_its_owner_alone(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    path = tmp_path / "state" / "unstick" / "audit_log.jsonl"
    workspace = await Workspace(eternaltwin, file=path).open()
    assert workspace.audit_log.place == str(path)
    task, refused = await eternaltwin_db.task(), await eternaltwin_db.task(status="Complete")
    dry_run = await dry_run_of(workspace, "cancel", [eternaltwin_db.id(task)])
    assert dry_run.audit_log == str(path)
    assert not path.exists(), "a dry run leaves no trace here either"
    outcomes = await loop.commit(workspace, dry_run, OPERATOR)
    assert outcomes.audit_log == str(path)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    intent, outcome = [json.loads(line) for line in path.read_text().splitlines()]
    assert (intent["intended"], outcome["intended"]) == (True, False)
    assert intent["id"] == outcome["id"]
    assert intent["xid"] == outcome["xid"] == outcomes.xid
    assert outcome["results"] == [{"id": eternaltwin_db.id(task), "outcome": "changed", "why": ""}]
    assert outcome["changes"][0]["after"]["status"] == "Complete"
    assert outcome["reason"] == "it was stuck"

    await do(workspace, "cancel", [eternaltwin_db.id(refused)])
    assert len(path.read_text().splitlines()) == 2, "nothing was changed, so nothing is recorded"
    with path.open("a") as file:
        file.write('{"id": "half a li')
    assert [e.id for e in (await workspace.audit_log.page())[0]] == [outcome["id"]]
    await workspace.close()


async def test_a_table_that_may_not_be_written_leaves_the_file_if_the_operator_asks_for_it(
    eternaltwin_db: EternaltwinDb, server: PostgresServer, eternaltwin: str, role: str, tmp_path: Path
) -> None:
    server.sql(audit_log.ddl(), eternaltwin)
    workspace = await opened(as_role(server, eternaltwin, role), tmp_path, local_log=True)
    assert workspace.audit_log.place == str(tmp_path / "audit_log.jsonl")
    task = eternaltwin_db.id(await eternaltwin_db.task())
    assert outcomes_of(await do(workspace, "cancel", [task])) == {task: CHANGED}
    server.sql(audit_log.grants(role), eternaltwin)
    await workspace.detect()
    assert workspace.audit_log.place == "table"
    server.sql("DROP SCHEMA unstick CASCADE", eternaltwin)
    await workspace.detect()
    assert workspace.audit_log.place == str(tmp_path / "audit_log.jsonl")
    await workspace.close()


async def test_a_table_that_goes_away_or_shuts_lets_nothing_be_changed(
    eternaltwin_db: EternaltwinDb,
    operator: asyncpg.Connection,
    server: PostgresServer,
    eternaltwin: str,
    role: str,
    tmp_path: Path,
) -> None:
    task = await eternaltwin_db.task()
    workspace = await opened(as_role(server, eternaltwin, role), tmp_path)
    await eternaltwin_db.sql(
        f'REVOKE INSERT (changes) ON unstick.audit_log FROM "{role.replace(chr(34), chr(34) * 2)}"'
    )
    before = await eternaltwin_db.digest()
    outcomes = await do(workspace, "cancel", [eternaltwin_db.id(task)])
    assert outcomes_of(outcomes) == {eternaltwin_db.id(task): DENIED}
    assert "audit_log" in why(outcomes, eternaltwin_db.id(task))
    await eternaltwin_db.sql("DROP TABLE unstick.audit_images, unstick.audit_log")
    outcomes = await do(workspace, "cancel", [eternaltwin_db.id(task)])
    assert outcomes_of(outcomes) == {eternaltwin_db.id(task): REFUSED}
    assert why(outcomes, eternaltwin_db.id(task)).endswith("Nothing was changed.")
    assert await eternaltwin_db.digest() == before
    await workspace.close()


async def test_two_consoles_write_whole_lines(eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path) -> None:
    consoles = [await opened(eternaltwin, tmp_path) for _ in range(2)]

    async def work(workspace: Workspace) -> None:
        for _ in range(10):
            await do(workspace, "cancel", [eternaltwin_db.id(await new())])

    lock = asyncio.Lock()

    async def new() -> object:
        async with lock:
            return await eternaltwin_db.task()

    await asyncio.gather(*map(work, consoles))
    entries, _ = await consoles[0].audit_log.page(limit=100)
    assert len(entries) == 20
    assert {r.outcome for e in entries for r in e.results} == {CHANGED}
    for console in consoles:
        await console.close()


@proof
async def test_of_an_entry_older_than_what_is_looked_at_nothing_is_claimed(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.sql(audit_log.ddl())
    workspace = await opened(eternaltwin, tmp_path)
    await do(workspace, "wake", [eternaltwin_db.id(await eternaltwin_db.task(status="Blocked", timer=60))])
    (entry,), _ = await workspace.audit_log.page()
    other = msgspec.structs.replace(entry, reason="never written")

    async def holds(asked: AuditLogEntry) -> bool | None:
        async with workspace.database.reading() as transaction:
            return await audit_log.EntryProof(entry=asked).was_committed(transaction)

    assert (await holds(entry), await holds(other)) == (True, False)
    await eternaltwin_db.sql(
        "INSERT INTO unstick.audit_log"
        " (os_user, host, application, engine, schema, action, reason, arguments, results, changes)"
        " SELECT os_user, host, application, engine, schema, action, 'later', arguments, results, changes"
        "   FROM unstick.audit_log, generate_series(1, 10000)"
    )
    assert (await holds(entry), await holds(other)) == (None, None)
    await workspace.close()
