"""Cancel statements and end sessions: guard, answer of the server, audit log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, TypeAlias

import asyncpg
import msgspec
import pytest

from queries.change import loop, perform, signals
from queries.db.errors import DatabaseError, DeniedError, LostError, SlowError
from queries.db.query import statement
from queries.db.transaction import Transaction
from queries.files.statement import Statement
from queries.log.audit_log import Table
from queries.records.action import Change, Outcome
from queries.records.audit import AuditLogEntry
from queries.workspace import Workspace
from tests.command import unstick
from tests.queries.builders import OPERATOR, opened
from tests.servers import PostgresServer, both_versions

Connection: TypeAlias = "asyncpg.Connection[Any]"


@pytest.fixture
async def idle(eternaltwin: str) -> AsyncIterator[Connection]:
    """A session in an open transaction."""
    connection = await asyncpg.connect(eternaltwin, server_settings={"application_name": "report"})
    await connection.execute("BEGIN; SELECT pg_current_xact_id()")
    yield connection
    connection.terminate()


def id_of(connection: Connection) -> str:
    return f"server/backend:{connection.get_server_pid()}"


async def dry_run(workspace: Workspace, name: str, *ids: str) -> Change:
    return await perform.dry_run(workspace, signals.plan(name, ids), "it hangs", {})


async def act(workspace: Workspace, name: str, *ids: str) -> Change:
    return await loop.commit(workspace, await dry_run(workspace, name, *ids), OPERATOR)


async def alive(workspace: Workspace, connection: Connection) -> bool:
    found = await signals.targets(workspace, [id_of(connection)])
    return bool(found)


@both_versions
async def test_ending_a_session_is_recorded(audited: Workspace, idle: Connection) -> None:
    planned = await dry_run(audited, "end_session", id_of(idle))
    assert [(r.outcome, r.why) for r in planned.results] == [(Outcome.CHANGED, "")]
    assert await alive(audited, idle), "a dry run sends no signal"
    done = await loop.commit(audited, planned, OPERATOR)
    assert [(r.outcome, r.why) for r in done.results] == [(Outcome.CHANGED, "")]
    assert not await alive(audited, idle)
    ((entry,), _) = await audited.audit_log.page()
    assert (entry.action, entry.engine, entry.reason) == ("end_session", "server", "it hangs")
    assert [(r.id, r.outcome) for r in entry.results] == [(id_of(idle), Outcome.CHANGED)]
    assert entry.changes[0].read().before["application"] == "report"  # type: ignore[index]


async def test_the_local_audit_file_has_the_intent_and_the_outcome(workspace: Workspace, idle: Connection) -> None:
    await act(workspace, "end_session", id_of(idle))
    ((entry,), _) = await workspace.audit_log.page()
    assert (entry.action, entry.results[0].outcome) == ("end_session", Outcome.CHANGED)
    assert len(workspace.audit_log.file.path.read_text().splitlines()) == 2


async def test_a_disk_that_fails_after_the_signal_does_not_make_it_refused(
    workspace: Workspace, idle: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = workspace.audit_log.file.append

    def full(entry: AuditLogEntry, *, intended: bool, **more: Any) -> None:
        if not intended:
            raise DatabaseError("The disk is full.")
        append(entry, intended=True, **more)

    monkeypatch.setattr(workspace.audit_log.file, "append", full)
    (result,) = (await act(workspace, "end_session", id_of(idle))).results
    assert result.outcome is Outcome.CHANGED
    ((entry,), _) = await workspace.audit_log.page()
    assert entry.results[0].outcome is Outcome.UNKNOWN, "an intent alone proves nothing"


async def test_a_log_that_fails_after_the_signal_does_not_make_it_refused(
    audited: Workspace, idle: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, written = Table.write, list[AuditLogEntry]()

    async def slow(self: Table, transaction: Transaction, entry: AuditLogEntry, *more: Any) -> str:
        written.append(entry)
        if len(written) > 1:
            raise SlowError("The statement took too long.")
        return await write(self, transaction, entry, *more)

    monkeypatch.setattr(Table, "write", slow)
    (result,) = (await act(audited, "end_session", id_of(idle))).results
    assert (result.outcome, result.why) == (Outcome.CHANGED, signals.UNRECORDED)
    assert not await alive(audited, idle)
    assert await audited.audit_log.page() == ((), None)


@both_versions
async def test_an_error_after_the_signal_is_recorded_as_unknown(
    audited: Workspace, idle: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = await dry_run(audited, "end_session", id_of(idle))
    sent = statement("end_session")
    failing = msgspec.structs.replace(sent, text=f"SELECT id, done, 1 / (id = '')::int FROM ({sent.text}) AS s")
    monkeypatch.setattr(signals, "statement", lambda _: failing)
    (result,) = (await loop.commit(audited, planned, OPERATOR)).results
    assert (result.outcome, "division by zero" in result.why) == (Outcome.UNKNOWN, True)
    monkeypatch.undo()
    assert not await alive(audited, idle)
    ((entry,), _) = await audited.audit_log.page()
    assert entry.results[0].outcome is Outcome.UNKNOWN


def failing_signal(monkeypatch: pytest.MonkeyPatch, error: DatabaseError) -> None:
    """Send signals, and raise an error instead of their answer."""
    rows = Transaction.rows

    async def failing(self: Transaction, asked: Statement, *more: Any) -> Any:
        answer = await rows(self, asked, *more)
        if "pg_terminate_backend" in asked.text:
            raise error
        return answer

    monkeypatch.setattr(Transaction, "rows", failing)


async def test_a_connection_that_is_lost_while_the_signal_is_sent_makes_it_unknown(
    workspace: Workspace, idle: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing_signal(monkeypatch, LostError("The connection broke."))
    (result,) = (await act(workspace, "end_session", id_of(idle))).results
    assert (result.outcome, result.why) == (Outcome.UNKNOWN, signals.LOST)
    ((entry,), _) = await workspace.audit_log.page()
    assert entry.results[0].outcome is Outcome.UNKNOWN


async def test_a_privilege_that_lacks_for_one_of_two_sessions_makes_both_unknown(
    eternaltwin: str, audited: Workspace, idle: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing_signal(monkeypatch, DeniedError("Permission denied."))
    other: Connection = await asyncpg.connect(eternaltwin)
    done = await act(audited, "end_session", id_of(idle), id_of(other))
    assert {r.outcome for r in done.results} == {Outcome.UNKNOWN}
    other.terminate()
    another: Connection = await asyncpg.connect(eternaltwin)
    done = await act(audited, "end_session", id_of(another))  # the server checks before it sends the only signal
    assert {r.outcome for r in done.results} == {Outcome.DENIED}
    another.terminate()


async def test_a_connection_that_is_lost_before_the_signal_sends_none(
    audited: Workspace, idle: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lost(*_: object) -> str:
        raise LostError("The connection broke.")

    monkeypatch.setattr(Table, "write", lost)
    assert (await act(audited, "end_session", id_of(idle))).results[0].outcome is Outcome.UNSENT
    assert await alive(audited, idle)


@both_versions
async def test_another_session_with_the_same_pid_is_not_ended(audited: Workspace, idle: Connection) -> None:
    (start,) = [row["started"] for row in (await signals.targets(audited, [id_of(idle)])).values()]
    other = f"{float(start) - 60:.6f}"
    planned = await dry_run(audited, "end_session", f"{id_of(idle)}@{other}")
    assert [(r.outcome, r.why) for r in planned.results] == [(Outcome.STALE, signals.STALE)]
    # The guard is in the statement, too: as if the pid was reused after the dry run.
    right = await dry_run(audited, "end_session", id_of(idle))
    forged = Change(**{f: getattr(right, f) for f in right.__struct_fields__} | {"versions": {id_of(idle): other}})
    done = await loop.commit(audited, forged, OPERATOR)
    assert [r.outcome for r in done.results] == [Outcome.STALE]
    assert await alive(audited, idle)
    assert (await audited.audit_log.page())[0] == (), "nothing was done"
    assert [r.outcome for r in (await act(audited, "end_session", f"{id_of(idle)}@{start}")).results] == [
        Outcome.CHANGED
    ]


@both_versions
async def test_a_running_statement_is_cancelled_and_its_session_stays(audited: Workspace, idle: Connection) -> None:
    refused = await dry_run(audited, "cancel_query", id_of(idle))
    assert refused.results[0].outcome is Outcome.REFUSED
    assert "no statement is running (idle in transaction)" in refused.results[0].why
    sleeping = asyncio.create_task(idle.execute("SELECT pg_sleep(60)"))
    async with asyncio.timeout(50):
        while (await dry_run(audited, "cancel_query", id_of(idle))).results[0].outcome is not Outcome.CHANGED:
            await asyncio.sleep(0.02)
    assert (await act(audited, "cancel_query", id_of(idle))).results[0].outcome is Outcome.CHANGED
    with pytest.raises(asyncpg.QueryCanceledError):
        await sleeping
    assert await alive(audited, idle)


async def test_own_connections_and_server_processes_are_refused(
    audited: Workspace, server: PostgresServer, idle: Connection
) -> None:
    async with audited.database.writing() as transaction:
        await transaction.now()
    writer = await idle.fetchval("SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'")
    own = await idle.fetch(
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'unstick' AND datname = current_database()"
    )
    assert len(own) == 2, "one reads, one writes; consoles of other databases are not own"
    planned = await dry_run(
        audited, "end_session", *(f"server/backend:{pid}" for pid in (writer, *(pid for (pid,) in own)))
    )
    assert [r.outcome for r in planned.results] == [Outcome.REFUSED] * 3
    assert (await dry_run(audited, "end_session", "server/backend:1999999")).results[0].outcome is Outcome.GONE


async def test_a_missing_privilege_is_named(
    eternaltwin: str, server: PostgresServer, idle: Connection, tmp_path: Path
) -> None:
    role = server.unique("role")
    server.sql(
        f"CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}", eternaltwin
    )
    workspace = await opened(server.dsn(eternaltwin.rpartition("/")[2], user=role, password="x"), tmp_path)
    (result,) = (await dry_run(workspace, "end_session", id_of(idle))).results
    assert (result.outcome, f"GRANT pg_monitor TO {role}" in result.why) == (Outcome.DENIED, True)
    server.sql(f"GRANT pg_monitor TO {role}")
    (result,) = (await dry_run(workspace, "end_session", id_of(idle))).results
    assert (result.outcome, "only a superuser" in result.why) == (Outcome.DENIED, True)
    await workspace.close()


async def test_a_console_that_is_read_only_sends_no_signal(eternaltwin: str, idle: Connection, tmp_path: Path) -> None:
    workspace = await opened(eternaltwin, tmp_path, read_only=True)
    assert (await act(workspace, "end_session", id_of(idle))).results[0].outcome is Outcome.REFUSED
    assert await alive(workspace, idle)
    await workspace.close()


def test_the_command_ends_a_session(eternaltwin: str) -> None:
    """Runs in the main thread, where the command handles Ctrl-C."""
    with asyncio.Runner() as runner:
        session: Connection = runner.run(connect(eternaltwin))
        words = ("do", "end_session", id_of(session), "--reason", "hangs")
        assert unstick(*words, "--dry-run", dsn=eternaltwin).code == 0
        assert runner.run(answers(session))
        answer = unstick(*words, "--yes", dsn=eternaltwin)
        assert (answer.code, "1 changed" in answer.out) == (0, True)
        assert not runner.run(answers(session))
        assert unstick(*words, "--yes", dsn=eternaltwin).code == 3
        session.terminate()


async def connect(dsn: str) -> Connection:
    return await asyncpg.connect(dsn)


async def answers(session: Connection) -> bool:
    try:
        return bool(await session.fetchval("SELECT true"))
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
        return False
