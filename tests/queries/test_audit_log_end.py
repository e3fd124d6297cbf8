"""End of the audit log: sequence, late commits, policies, last line."""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from queries.db.errors import DatabaseError
from queries.records.action import Outcome, Result, RowChange
from queries.records.audit import AuditLogEntry, Origin
from queries.workspace import Workspace
from queries.write import audit_chain, audit_log
from queries.write.audit_chain import Verification
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.builders import do, opened, outcomes_of, why
from tests.queries.test_audit_chain import INSERT, write
from tests.servers import PostgresServer, both_versions

FOLLOWERS = 150  # more than a writer looks at


@pytest.fixture
async def owner(server: PostgresServer, database: str) -> AsyncIterator[asyncpg.Connection[Any]]:
    """Connection of the table's owner."""
    server.sql(audit_log.ddl(), database)
    connection = await asyncpg.connect(database)
    yield connection
    await connection.close()


@pytest.fixture
async def workspace(owner: object, database: str, tmp_path: Path) -> AsyncIterator[Workspace]:
    workspace = await opened(database, tmp_path)
    yield workspace
    await workspace.close()


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


async def test_ids_that_a_sequence_skips_at_a_crash_are_not_missing() -> None:
    async def links() -> AsyncIterator[audit_chain.ChainLink]:
        yield audit_chain.ChainLink(id="7", at=0.0, recorded="x", digest="x")

    def sequence(last: int, *, exact: bool) -> audit_chain.Sequence:
        return audit_chain.Sequence(last=last, exact=exact, writers=0)

    async def problems(last: int, *, exact: bool) -> set[tuple[str, str]]:
        return found(await audit_chain.verify("table", links(), (), sequence(last, exact=exact)))

    assert await problems(7 + audit_chain.CRASH_IDS, exact=False) == set()
    assert await problems(8 + audit_chain.CRASH_IDS, exact=False) == {("cut_end", "8")}
    assert await problems(8, exact=True) == {("cut_end", "8")}
    assert await problems(7, exact=True) == set()


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


class Reads:
    """Number of bytes that ``os.pread`` has read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bytes = 0
        self._pread = os.pread
        monkeypatch.setattr(os, "pread", self._counted)

    def _counted(self, descriptor: int, size: int, offset: int) -> bytes:
        data = self._pread(descriptor, size, offset)
        self.bytes += len(data)
        return data


def test_the_cost_of_a_line_does_not_grow_with_the_line_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: dict[int, int] = {}
    for size in (1_000, 30_000_000):
        file = audit_log.File(tmp_path / f"{size}.jsonl", lambda: ORIGIN)
        file.append(line(1, "x" * size), intended=True)
        reads = Reads(monkeypatch)
        file.append(line(2), intended=False)
        counted[size] = reads.bytes
        monkeypatch.undo()
    assert counted[30_000_000] <= audit_log.TAIL_BYTES + 1
    assert counted[30_000_000] - counted[1_000] < audit_log.TAIL_BYTES


def test_a_long_incomplete_line_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = audit_log.File(tmp_path / "log", lambda: ORIGIN)
    file.append(line(1), intended=True)
    size = file.path.stat().st_size + 20_000_000
    with file.path.open("ab") as torn:
        torn.write(b"x" * 20_000_000)
    reads = Reads(monkeypatch)
    file.append(line(2), intended=True)
    assert reads.bytes <= size + audit_log.TAIL_BYTES + 1
    reads.bytes = 0
    file.append(line(2), intended=False)
    assert reads.bytes <= audit_log.TAIL_BYTES + 1


async def test_lines_of_any_length_follow_each_other(tmp_path: Path) -> None:
    file = audit_log.File(tmp_path / "log", lambda: ORIGIN)
    for number, size in enumerate(
        (0, 10, audit_log.TAIL_BYTES, audit_log.BLOCK_BYTES, 3 * audit_log.BLOCK_BYTES + 7, 5)
    ):
        file.append(line(number, "y" * size), intended=True)
        file.append(line(number, "\n\u2028é" * size), intended=False)
    verification = await audit_chain.verify("file", file.links())
    assert (verification.entries, verification.hashed, len(verification.heads)) == (12, 12, 1)
    assert (verification.problems, verification.unreadable) == ((), 0)
    assert [entry.id async for entry in file.entries()] == [f"{number:x}-1" for number in reversed(range(6))]


async def test_a_line_follows_one_of_an_earlier_version(tmp_path: Path) -> None:
    """The id was the first field of a line."""
    path = tmp_path / "log"
    file = audit_log.File(path, lambda: ORIGIN)
    content = b'{"id":"1-1","at":1.0,"intended":true,"previous":[]}'
    path.write_bytes(content[:-1] + b',"digest":"' + hashlib.sha256(content).hexdigest().encode() + b'"}' + b"\n")
    path.chmod(0o600)
    file.append(line(2), intended=True)
    verification = await audit_chain.verify("file", file.links())
    assert (verification.entries, len(verification.heads), verification.problems) == (2, 1, ())
