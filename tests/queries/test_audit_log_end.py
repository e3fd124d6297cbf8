"""End of the audit log: sequence, late commits, policies, last line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest

from queries.db.errors import DatabaseError
from queries.log import audit_log, log_file
from queries.log import chain as audit_chain
from queries.log.chain import Verification
from queries.log.log_file import LogFile
from queries.records.action import Outcome, Result, RowChange
from queries.records.audit import AuditLogEntry, Origin
from queries.workspace import Workspace
from tests.db.eternaltwin import EternaltwinDb
from tests.queries import test_audit_chain
from tests.queries.builders import do, opened, outcomes_of, why
from tests.queries.test_audit_chain import INSERT, write
from tests.servers import PostgresServer, both_versions

FOLLOWERS = 150  # more than a writer looks at


owner, workspace = test_audit_chain.owner, test_audit_chain.workspace


def found(verification: Verification) -> set[tuple[str, str]]:
    return {(problem.code, problem.id) for problem in verification.problems}


@both_versions
async def test_a_removed_end_is_named(owner: asyncpg.Connection[Any], workspace: Workspace) -> None:
    await write(owner, 5)
    assert (await workspace.audit_log.verify()).problems == ()
    await owner.execute("DELETE FROM unstick.audit_log WHERE id > 3")
    cut = await workspace.audit_log.verify()
    assert found(cut) == {("cut_end", "4")}
    assert "ids 4 to 5" in cut.problems[0].why
    await owner.execute("TRUNCATE unstick.audit_log, unstick.audit_images")
    assert found(await workspace.audit_log.verify()) == {("cut_end", "1")}


async def test_an_entry_that_is_being_written_is_not_missing(
    owner: asyncpg.Connection[Any], workspace: Workspace, database: str
) -> None:
    await write(owner, 3)
    other = await asyncpg.connect(database)
    async with other.transaction():
        await other.execute(INSERT, "not committed yet")
        assert (await workspace.audit_log.verify()).problems == ()
    assert (await workspace.audit_log.verify()).problems == ()
    await other.close()


def test_ids_that_a_sequence_skips_at_a_crash_are_not_missing() -> None:
    def problems(last: int, *, exact: bool) -> set[tuple[str, str]]:
        chain = audit_chain.Chain(())
        chain.add({"id": "7", "recorded": "x", "intact": True, "links": [], "next": "head"}, "")
        chain.compare(last, 0, exact=exact)
        return found(chain.result("table"))

    assert problems(7 + audit_chain.CRASH_IDS, exact=False) == set()
    assert problems(8 + audit_chain.CRASH_IDS, exact=False) == {("cut_end", "8")}
    assert problems(8, exact=True) == {("cut_end", "8")}
    assert problems(7, exact=True) == set()


async def test_a_role_that_may_not_read_the_sequence_verifies_the_rest(
    owner: asyncpg.Connection[Any], server: PostgresServer, database: str, tmp_path: Path
) -> None:
    role = server.unique("operator")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    server.sql(audit_log.grants(role), database)
    dsn = server.dsn(database.rpartition("/")[2], user=role, password="x")
    await write(owner, 3)
    await owner.execute("DELETE FROM unstick.audit_log WHERE id = 3")
    workspace = await opened(dsn, tmp_path)
    assert found(await workspace.audit_log.verify()) == {("cut_end", "3")}
    await owner.execute(f"REVOKE SELECT ON SEQUENCE unstick.audit_log_id_seq FROM {role}")
    assert found(await workspace.audit_log.verify()) == set()
    await workspace.close()


@both_versions
async def test_an_entry_that_is_committed_late_is_no_insertion(
    owner: asyncpg.Connection[Any], workspace: Workspace, database: str
) -> None:
    other = await asyncpg.connect(database)
    await write(owner, 3)
    async with other.transaction():
        await other.execute(INSERT, "a COMMIT that waits for a standby")
        await write(owner, FOLLOWERS)
    await write(owner, 3)
    late = await workspace.audit_log.verify()
    assert late.problems == ()
    assert sorted(int(head.partition(":")[0]) for head in late.heads) == [4, 4 + FOLLOWERS + 3]
    assert (await workspace.audit_log.verify(late.heads)).known == 2
    await owner.execute("UPDATE unstick.audit_log SET reason = 'another' WHERE id = 4")
    assert found(await workspace.audit_log.verify(late.heads)) == {("changed", "4")}
    await other.close()


async def test_a_sequence_that_was_set_back_has_a_remedy(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, tmp_path: Path
) -> None:
    await eternaltwin_db.sql(audit_log.ddl())
    workspace = await opened(eternaltwin, tmp_path)
    tasks = [eternaltwin_db.id(task) for task in await eternaltwin_db.tasks(await eternaltwin_db.jobs(3))]
    await do(workspace, "cancel", tasks[:1])
    await do(workspace, "cancel", tasks[1:2])
    await eternaltwin_db.sql("SELECT setval('unstick.audit_log_id_seq', 1)")
    assert found(await workspace.audit_log.verify()) == {("sequence", "2")}
    refused = why(await do(workspace, "cancel", tasks[2:]), tasks[2])
    assert "unstick init" in refused
    await audit_log.create(workspace.database, [])
    assert outcomes_of(await do(workspace, "cancel", tasks[2:])) == {tasks[2]: Outcome.CHANGED}
    assert (await workspace.audit_log.verify()).problems == ()
    await workspace.close()


# Policies


@both_versions
@pytest.mark.parametrize("table", ["audit_log", "audit_images"])
async def test_where_policies_hide_entries_nothing_is_said_of_them(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, server: PostgresServer, tmp_path: Path, table: str
) -> None:
    await eternaltwin_db.sql(audit_log.ddl())
    all_seen = await opened(eternaltwin, tmp_path)
    task = eternaltwin_db.id(await eternaltwin_db.task())
    done = await do(all_seen, "cancel", [task])
    await eternaltwin_db.sql(f"ALTER TABLE unstick.{table} ENABLE ROW LEVEL SECURITY")
    await all_seen.detect()
    assert all_seen.audit_log.unreadable == "", "the owner is not subject to the policies"
    role = server.unique("operator")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    server.sql(audit_log.grants(role), eternaltwin)
    server.sql(f"GRANT SELECT ON job, task, task_timer TO {role}", eternaltwin)
    workspace = await opened(server.dsn(eternaltwin.rpartition("/")[2], user=role, password="x"), tmp_path)
    assert "policies" in workspace.audit_log.unreadable
    assert role in workspace.audit_log.unreadable
    with pytest.raises(DatabaseError, match="policies"):
        await workspace.audit_log.verify()
    with pytest.raises(DatabaseError, match="policies"):
        await workspace.audit_log.find(done.entries[0])
    if table == "audit_log":
        ((entry,), _) = await all_seen.audit_log.page()
        async with workspace.database.reading() as transaction:
            assert await audit_log.EntryProof(entry=entry).was_committed(transaction) is None, "hidden is not missing"
    await workspace.close()
    await all_seen.close()


# A table that may not be written


async def test_a_change_that_cannot_be_recorded_in_the_table_is_refused(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, server: PostgresServer, tmp_path: Path
) -> None:
    await eternaltwin_db.sql(audit_log.ddl())
    role = server.unique("operator")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    server.sql(f"GRANT SELECT, UPDATE, DELETE ON job, task, task_timer TO {role}", eternaltwin)
    dsn = server.dsn(eternaltwin.rpartition("/")[2], user=role, password="x")
    task = eternaltwin_db.id(await eternaltwin_db.task())
    workspace = await opened(dsn, tmp_path)
    before = await eternaltwin_db.digest()
    outcomes = await do(workspace, "cancel", [task])
    assert outcomes_of(outcomes) == {task: Outcome.REFUSED}
    assert f"unstick init --operator {role}" in why(outcomes, task)
    assert "--local-log" in why(outcomes, task)
    assert await eternaltwin_db.digest() == before
    assert not (tmp_path / "audit_log.jsonl").exists()
    await workspace.close()
    workspace = await opened(dsn, tmp_path, local_log=True)
    assert outcomes_of(await do(workspace, "cancel", [task])) == {task: Outcome.CHANGED}
    assert (tmp_path / "audit_log.jsonl").exists()
    await workspace.close()


# The local file

ORIGIN = Origin(database="d", host="h", port=1, system_identifier="7", context="")


def line(number: int, payload: str = "") -> AuditLogEntry:
    """Return an entry whose changed row has ``payload``."""
    return AuditLogEntry(
        id=f"{number:x}-1",
        at=float(number),
        role="anna",
        os_user="anna",
        host="laptop",
        engine="e",
        schema="public",
        action="delete",
        reason='","previous":[],"digest":"' + "0" * 64 + '"}',
        arguments={},
        xid=str(number),
        results=(Result(id="e/job:1", outcome=Outcome.CHANGED),),
        changes=(RowChange(id="e/job:1", table="job", key="1", before={"payload": payload}, after=None),),
    )


async def test_lines_of_any_length_are_read(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "log", lambda: ORIGIN)
    for number, size in enumerate((0, 10, log_file.BLOCK_BYTES, 3 * log_file.BLOCK_BYTES + 7, 5)):
        file.append(line(number, "y" * size), intended=True)
        file.append(line(number, "\n\u2028é" * size), intended=False)
    assert [entry.id async for entry in file.entries()] == [f"{number:x}-1" for number in reversed(range(5))]


async def test_an_outcome_keeps_the_results_of_the_other_nodes(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "log", lambda: ORIGIN)
    one = Result(id="e/job:1", outcome=Outcome.CHANGED, title="one")
    two = Result(id="e/job:2", outcome=Outcome.STALE, why="it was changed since it was shown")
    entry = msgspec.structs.replace(line(1), results=(one, two))
    file.append(entry, intended=True)
    file.settle(entry, [Result(id="e/job:1", outcome=Outcome.UNSENT, why="rolled back")])
    (now,) = [entry async for entry in file.entries()]
    assert now.results == (msgspec.structs.replace(one, outcome=Outcome.UNSENT, why="rolled back"), two)


async def test_a_line_of_an_earlier_version_is_listed(tmp_path: Path) -> None:
    """Lines had a hash and the head of the line before."""
    path = tmp_path / "log"
    fields = {**msgspec.to_builtins(line(1)), "origin": msgspec.to_builtins(ORIGIN), "intended": False}
    path.write_bytes(
        msgspec.json.encode({**fields, "previous": ["1-1.intent:" + "0" * 64], "digest": "1" * 64}) + b"\n"
    )
    path.chmod(0o600)
    file = LogFile(path, lambda: ORIGIN)
    file.append(line(2), intended=True)
    assert [entry.id async for entry in file.entries()] == ["2-1", "1-1"]
