"""Trust in the owners of tables, triggers, defaults and functions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest

from queries.change import loop, perform, run, signals
from queries.change import transaction as attempt
from queries.change.loop import Loop
from queries.change.plan import plan_entry
from queries.db.errors import DatabaseError
from queries.log import audit_log
from queries.read.grants import grants
from queries.records.action import Outcome, Result
from queries.workspace import Workspace
from tests.command import unstick
from tests.db.eternaltwin import LABEL, EternaltwinDb
from tests.queries.builders import OPERATOR, do, dry_run_of, opened, outcomes_of, reader, steps, why
from tests.servers import PostgresServer, both_versions


@pytest.fixture
def role(server: PostgresServer) -> str:
    name = server.unique("dev")
    server.sql(f"CREATE ROLE {name} LOGIN PASSWORD 'x'")
    return name


@both_versions
@pytest.mark.parametrize(
    "owned", ["TABLE task", "TYPE task_status", "DOMAIN instant", "SCHEMA public"], ids=lambda s: s.split()[0].lower()
)
async def test_what_belongs_to_a_stranger_is_not_read(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, server: PostgresServer, role: str, owned: str, tmp_path: Path
) -> None:
    await eternaltwin_db.task()
    server.sql(f"ALTER {owned} OWNER TO {role}", eternaltwin)
    workspace = await opened(eternaltwin, tmp_path)
    assert not workspace.engines
    (declined,) = [d for d in workspace.declined if d.engine == LABEL]
    assert f"--trust {role}" in declined.why
    await workspace.close()
    for trusted in ({"trusted": [role]}, {}):
        if not trusted:  # an owner of the database may do there what it likes anyway
            server.sql(f"ALTER DATABASE {urlsplit(eternaltwin).path.strip('/')} OWNER TO {role}")
        workspace = await opened(eternaltwin, tmp_path, **trusted)
        assert list(workspace.engines) == [LABEL]
        await workspace.close()


def test_the_command_line_and_a_context_name_trusted_roles(
    eternaltwin: str, server: PostgresServer, role: str, tmp_path: Path
) -> None:
    server.sql(f"ALTER TABLE job OWNER TO {role}", eternaltwin)
    refused = unstick("stuck", dsn=eternaltwin)
    assert refused.code == 1
    assert f"--trust {role}" in refused.err
    assert unstick("stuck", "--trust", role, "--trust", "other", dsn=eternaltwin).code == 0
    settings = tmp_path / "settings.toml"
    settings.write_text(f'[contexts.prod]\ndsn = "{eternaltwin}"\ntrusted_owners = ["{role}"]\n')
    assert unstick("stuck", "@prod", "--config", str(settings)).code == 0


CODE = {
    "trigger": "CREATE TRIGGER t BEFORE UPDATE ON task FOR EACH ROW EXECUTE FUNCTION theirs()",
    "check": "ALTER TABLE task ADD CONSTRAINT c CHECK (their_check())",
}


@both_versions
@pytest.mark.parametrize("code", CODE)
async def test_a_table_that_runs_a_stranger_s_function_is_read_but_not_changed(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, server: PostgresServer, role: str, code: str, tmp_path: Path
) -> None:
    task = await eternaltwin_db.task()
    await eternaltwin_db.sql(
        "CREATE FUNCTION theirs() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN new; END $$;"
        "CREATE FUNCTION their_check() RETURNS bool LANGUAGE plpgsql AS $$ BEGIN RETURN true; END $$;"
        f"{CODE[code]};"
    )
    for function in ("theirs()", "their_check()"):
        server.sql(f"ALTER FUNCTION {function} OWNER TO {role}", eternaltwin)
    workspace = await opened(eternaltwin, tmp_path)
    assert [n.id for n in (await reader(workspace).nodes.read([eternaltwin_db.id(task)])).nodes] == [
        eternaltwin_db.id(task)
    ]
    outcomes = await dry_run_of(workspace, "cancel", [eternaltwin_db.id(task)])
    assert outcomes_of(outcomes) == {eternaltwin_db.id(task): Outcome.REFUSED}
    assert role in why(outcomes, eternaltwin_db.id(task))
    await workspace.close()
    workspace = await opened(eternaltwin, tmp_path, trusted=[role])
    assert outcomes_of(await dry_run_of(workspace, "cancel", [eternaltwin_db.id(task)])) == {
        eternaltwin_db.id(task): Outcome.CHANGED
    }
    await workspace.close()


@both_versions
async def test_without_execute_for_a_constraint_the_action_is_denied_by_name(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, server: PostgresServer, role: str, tmp_path: Path
) -> None:
    task = await eternaltwin_db.task()
    await eternaltwin_db.sql(
        "CREATE FUNCTION own_check(n int8) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN RETURN true; END $$;"
        "REVOKE EXECUTE ON FUNCTION own_check FROM PUBLIC; ALTER TABLE task ADD CHECK (own_check(revision));"
    )
    workspace = await opened(eternaltwin, tmp_path)
    printed = await grants(workspace.database, reader(workspace), [], [role])
    await workspace.close()
    execute = [statement for statement in printed if "EXECUTE" in statement]
    for statement in printed:
        if statement not in execute:
            server.sql(statement, eternaltwin)
    dsn = server.dsn(urlsplit(eternaltwin).path.strip("/"), user=role, password="x")
    workspace = await opened(dsn, tmp_path)
    dry_run = await dry_run_of(workspace, "cancel", [eternaltwin_db.id(task)])
    assert outcomes_of(dry_run) == {eternaltwin_db.id(task): Outcome.DENIED}
    assert "EXECUTE on public.own_check(bigint)" in why(dry_run, eternaltwin_db.id(task))
    await workspace.close()
    for statement in execute:
        server.sql(statement, eternaltwin)
    workspace = await opened(dsn, tmp_path)
    assert outcomes_of(await dry_run_of(workspace, "cancel", [eternaltwin_db.id(task)])) == {
        eternaltwin_db.id(task): Outcome.CHANGED
    }
    await workspace.close()


async def test_a_trigger_that_is_created_while_the_console_is_open_is_noticed(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, server: PostgresServer, role: str, tmp_path: Path
) -> None:
    task = await eternaltwin_db.task()
    workspace = await opened(eternaltwin, tmp_path)
    dry_run = await dry_run_of(workspace, "cancel", [eternaltwin_db.id(task)])
    assert outcomes_of(dry_run) == {eternaltwin_db.id(task): Outcome.CHANGED}
    server.sql(f"GRANT TRIGGER ON task TO {role}; GRANT CREATE ON SCHEMA public TO {role}", eternaltwin)
    theirs = server.dsn(urlsplit(eternaltwin).path.strip("/"), user=role, password="x")
    server.sql(
        "CREATE FUNCTION theirs() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'theirs'; END $$;"
        f"{CODE['trigger']}",
        theirs,
    )
    outcomes = await loop.commit(workspace, dry_run, OPERATOR)
    assert outcomes_of(outcomes) == {eternaltwin_db.id(task): Outcome.REFUSED}
    assert role in why(outcomes, eternaltwin_db.id(task))
    await workspace.close()


async def with_operator(dsn: str, server: PostgresServer, folder: Path) -> tuple[str, str]:
    """Create an operator as `unstick grants` says. Return the role and a DSN."""
    operator = server.unique("operator")
    server.sql(f"CREATE ROLE {operator} LOGIN PASSWORD 'x'")
    workspace = await opened(dsn, folder)
    printed = await grants(workspace.database, reader(workspace), [], [operator])
    await workspace.close()
    server.sql("; ".join([*printed, audit_log.grants(operator)]), dsn)
    return operator, server.dsn(urlsplit(dsn).path.strip("/"), user=operator, password="x")


COLUMNS = """
DO $$ BEGIN
  EXECUTE (SELECT 'REVOKE INSERT, UPDATE, DELETE ON task FROM {operator}; GRANT INSERT (' || string_agg(attname, ', ')
                  || '), UPDATE (' || string_agg(attname, ', ') || ') ON task TO {operator}'
             FROM pg_attribute WHERE attrelid = 'task'::regclass AND attnum > 0 AND NOT attisdropped);
END $$"""
NOTING = (
    "CREATE TABLE noted (who name); GRANT INSERT ON noted TO PUBLIC;"
    "CREATE FUNCTION theirs() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN INSERT INTO public.noted VALUES (current_user); RETURN new; END $$;"
)


@both_versions
@pytest.mark.parametrize("columns", [False, True], ids=["tables", "columns"])
@pytest.mark.parametrize("undoes", [False, True], ids=["action", "undo"])
async def test_a_trigger_whose_creation_is_not_committed_yet_does_not_run(
    eternaltwin_db: EternaltwinDb,
    eternaltwin: str,
    server: PostgresServer,
    role: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    undoes: bool,
    columns: bool,
) -> None:
    """The console asks after it has waited for the table.

    ``columns``: the operator has privileges on columns only, and so may not run LOCK TABLE.
    """
    for limit in ("WRITE_LOCK_SECONDS", "WRITE_SECONDS", "IDLE_SECONDS"):
        monkeypatch.setattr(f"queries.db.database.{limit}", 60.0)
    task = await eternaltwin_db.task(status="Blocked", timer=60)
    node = eternaltwin_db.id(task)
    server.sql(audit_log.ddl(), eternaltwin)
    dsn = eternaltwin
    if columns:
        operator, dsn = await with_operator(eternaltwin, server, tmp_path)
        server.sql(COLUMNS.format(operator=operator), eternaltwin)
    workspace = await opened(dsn, tmp_path)
    assert reader(workspace).detected.relations["task"].lockable is not columns
    if undoes:
        done = await do(workspace, "cancel", [node])
        plan = await plan_entry(workspace, done.entries[0])
        dry_run = await perform.dry_run(workspace, plan, "wrong", {})
    else:
        dry_run = await dry_run_of(workspace, "cancel", [node])
    assert outcomes_of(dry_run) == {node: Outcome.CHANGED}
    await eternaltwin_db.sql(f"{NOTING} ALTER FUNCTION theirs() OWNER TO {role}")
    stranger = await asyncpg.connect(eternaltwin)
    async with stranger.transaction():
        await stranger.execute(CODE["trigger"])
        committing = asyncio.create_task(loop.commit(workspace, dry_run, OPERATOR))
        while not await eternaltwin_db.waiting():
            await asyncio.sleep(0.01)
    outcomes = await committing
    await stranger.close()
    assert await eternaltwin_db.value("SELECT count(*) FROM noted") == 0
    assert outcomes_of(outcomes) == {node: Outcome.REFUSED}
    assert role in why(outcomes, node)
    await workspace.close()


@pytest.mark.parametrize("grants_trigger", [True, False], ids=["granted", "not_granted"])
async def test_each_part_of_a_bulk_asks_if_strangers_may_create_triggers(
    eternaltwin_db: EternaltwinDb,
    eternaltwin: str,
    server: PostgresServer,
    role: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    grants_trigger: bool,
) -> None:
    """Without them, the answer is kept, and the gate stops what the trigger does."""
    monkeypatch.setattr("queries.change.admit.TRUST_KEPT_SECONDS", 600.0)
    monkeypatch.setattr("queries.change.plan.PART_NODES", 2)
    await eternaltwin_db.sql(audit_log.ddl())
    ids = [eternaltwin_db.id(await eternaltwin_db.task(status="Blocked", timer=60)) for _ in range(20)]
    if grants_trigger:
        server.sql(f"GRANT TRIGGER ON task TO {role}", eternaltwin)
    workspace = await opened(eternaltwin, tmp_path)
    dry_run = await dry_run_of(workspace, "cancel", ids)
    await eternaltwin_db.sql(f"{NOTING} ALTER FUNCTION theirs() OWNER TO {role}")
    results: list[Result] = []
    made = False
    async for progress in steps(workspace, dry_run):
        results += progress.results
        if results and not made:
            made = True
            await eternaltwin_db.sql(CODE["trigger"])
    found = {result.outcome for result in results}
    assert len(results) == len(ids)
    assert found == {Outcome.CHANGED, Outcome.REFUSED if grants_trigger else Outcome.CONFLICT}
    assert await eternaltwin_db.value("SELECT count(*) FROM noted") == 0
    await workspace.close()


@pytest.mark.parametrize("end", ["", "{a}"], ids=["plain", "braces"])
async def test_an_audit_log_of_a_stranger_is_not_used(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, server: PostgresServer, role: str, tmp_path: Path, end: str
) -> None:
    task = await eternaltwin_db.task()
    await eternaltwin_db.sql(audit_log.ddl())
    if end:
        server.sql(f'ALTER ROLE {role} RENAME TO "{role}{end}"')
        role += end
    server.sql(f'ALTER TABLE unstick.audit_log OWNER TO "{role}"', eternaltwin)
    workspace = await opened(eternaltwin, tmp_path)
    assert workspace.audit_log.destination is workspace.audit_log.file
    assert role in workspace.audit_log.unreadable
    outcomes = await do(workspace, "cancel", [eternaltwin_db.id(task)])
    assert outcomes_of(outcomes) == {eternaltwin_db.id(task): Outcome.REFUSED}
    assert role in why(outcomes, eternaltwin_db.id(task))
    await workspace.close()
    workspace = await opened(eternaltwin, tmp_path, local_log=True)
    outcomes = await do(workspace, "cancel", [eternaltwin_db.id(task)])
    assert outcomes_of(outcomes) == {eternaltwin_db.id(task): Outcome.CHANGED}
    assert await eternaltwin_db.value("SELECT count(*) FROM unstick.audit_log") == 0
    await workspace.close()


async def test_a_trigger_on_the_audit_log_is_noticed_while_the_console_is_open(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, server: PostgresServer, role: str, tmp_path: Path
) -> None:
    task = await eternaltwin_db.task()
    await eternaltwin_db.sql(audit_log.ddl())
    workspace = await opened(eternaltwin, tmp_path)
    assert workspace.audit_log.place == audit_log.TABLE
    await eternaltwin_db.sql(
        "CREATE FUNCTION theirs() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN new; END $$;"
        f"ALTER FUNCTION theirs() OWNER TO {role};"
        "CREATE TRIGGER t BEFORE INSERT ON unstick.audit_log FOR EACH ROW EXECUTE FUNCTION theirs()"
    )
    outcomes = await do(workspace, "cancel", [eternaltwin_db.id(task)])
    assert outcomes_of(outcomes) == {eternaltwin_db.id(task): Outcome.REFUSED}
    assert role in why(outcomes, eternaltwin_db.id(task))
    await workspace.close()


Way = Callable[[Workspace, Sequence[str]], Awaitable[Callable[[], Awaitable[Any]]]]


async def _begin(workspace: Workspace, ids: Sequence[str]) -> Callable[[], Awaitable[Any]]:
    dry_run = await dry_run_of(workspace, "cancel", ids)
    return lambda: Loop(workspace, dry_run, OPERATOR).begin()


async def _change(workspace: Workspace, ids: Sequence[str]) -> Callable[[], Awaitable[Any]]:
    dry_run = await dry_run_of(workspace, "cancel", ids[:1])
    return lambda: loop.commit(workspace, dry_run, OPERATOR)


async def _undo(workspace: Workspace, ids: Sequence[str]) -> Callable[[], Awaitable[Any]]:
    done = await do(workspace, "cancel", ids[:1])
    dry_run = await perform.dry_run(workspace, await plan_entry(workspace, done.entries[0]), "wrong", {})
    return lambda: loop.commit(workspace, dry_run, OPERATOR)


async def _part(workspace: Workspace, ids: Sequence[str]) -> Callable[[], Awaitable[Any]]:
    return (await Loop(workspace, await dry_run_of(workspace, "cancel", ids), OPERATOR).begin()).finish


async def _loaded(workspace: Workspace, ids: Sequence[str]) -> run.Run:
    begun = (await Loop(workspace, await dry_run_of(workspace, "cancel", ids), OPERATOR).begin()).run
    assert begun is not None
    return await run.load(workspace, begun.log.id)


async def _take_over(workspace: Workspace, ids: Sequence[str]) -> Callable[[], Awaitable[Any]]:
    loaded = await _loaded(workspace, ids)
    return lambda: loaded.log.take_over(run.event_entry(workspace, loaded.plan, OPERATOR))


async def _event(workspace: Workspace, ids: Sequence[str]) -> Callable[[], Awaitable[Any]]:
    loaded = await _loaded(workspace, ids)
    await loaded.log.take_over(run.event_entry(workspace, loaded.plan, OPERATOR))
    return lambda: loaded.log.record(run.event_entry(workspace, loaded.plan, OPERATOR), {"event": "skipped"})


async def _stop(workspace: Workspace, ids: Sequence[str]) -> Callable[[], Awaitable[Any]]:
    loaded = await _loaded(workspace, ids)
    return lambda: loop.stop(workspace, loaded)


async def _session(workspace: Workspace, ids: Sequence[str]) -> Callable[[], Awaitable[Any]]:
    idle = await asyncpg.connect(workspace.database.text, server_settings={"application_name": "idle"})
    session = f"server/backend:{idle.get_server_pid()}"
    dry_run = await signals.dry_run(workspace, signals.plan("end_session", [session]), "it hangs")

    async def end() -> Any:
        outcomes = await loop.commit(workspace, dry_run, OPERATOR)
        assert await idle.fetchval("SELECT 1") == 1, "no signal was sent"
        await idle.close()
        return outcomes

    return end


WAYS = {
    "begin": _begin,
    "change": _change,
    "undo": _undo,
    "part": _part,
    "take_over": _take_over,
    "event": _event,
    "stop": _stop,
    "session": _session,
}
TABLES = {"begin": ["audit_log", "audit_images"], "change": ["audit_log", "audit_images"]}


async def refusals(doing: Awaitable[Any]) -> str:
    """Return why something was refused."""
    try:
        done = await doing
    except DatabaseError as error:
        return str(error)
    results = done.results if hasattr(done, "results") else ()
    assert {result.outcome for result in results} <= {Outcome.REFUSED}
    return " ".join(result.why for result in results)


@pytest.fixture
async def audited(
    eternaltwin_db: EternaltwinDb,
    eternaltwin: str,
    server: PostgresServer,
    role: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Any:
    """Workspace of an operator with the privileges of `unstick grants`, and six tasks.

    A stranger may create triggers on the audit log.
    """
    monkeypatch.setattr("queries.change.plan.PART_NODES", 2)
    server.sql(audit_log.ddl(), eternaltwin)
    _, dsn = await with_operator(eternaltwin, server, tmp_path)
    await eternaltwin_db.sql(
        f"{NOTING} ALTER FUNCTION theirs() OWNER TO {role}; GRANT USAGE ON SCHEMA unstick TO {role};"
        f"GRANT TRIGGER ON unstick.audit_log, unstick.audit_images TO {role}"
    )
    ids = [eternaltwin_db.id(await eternaltwin_db.task(status="Blocked", timer=60)) for _ in range(6)]
    workspace = await opened(dsn, tmp_path)
    assert workspace.audit_log.place == audit_log.TABLE
    yield workspace, ids
    await workspace.close()


@pytest.mark.parametrize("may", [True, False], ids=["asked_again", "not_asked_again"])
async def test_others_may_write_the_audit_log_while_a_change_changes_its_rows(
    audited: tuple[Workspace, list[str]],
    eternaltwin_db: EternaltwinDb,
    role: str,
    monkeypatch: pytest.MonkeyPatch,
    may: bool,
) -> None:
    """A waiting CREATE INDEX would stop the entries of all others."""
    workspace, ids = audited
    if not may:
        await eternaltwin_db.sql(f"REVOKE TRIGGER ON unstick.audit_log, unstick.audit_images FROM {role}")
    real = attempt.make

    async def changing(*arguments: Any) -> Any:
        effect = await real(*arguments)
        await eternaltwin_db.sql(
            "BEGIN; LOCK TABLE unstick.audit_log, unstick.audit_images IN SHARE MODE NOWAIT; COMMIT"
        )
        return effect

    act = await _change(workspace, ids)
    monkeypatch.setattr(attempt, "make", changing)
    assert set(outcomes_of(await act()).values()) == {Outcome.CHANGED}
    assert await eternaltwin_db.value("SELECT count(*) FROM unstick.audit_log") == 1


async def test_an_entry_without_images_needs_no_table_of_images(
    audited: tuple[Workspace, list[str]], eternaltwin_db: EternaltwinDb
) -> None:
    workspace, ids = audited
    act = await _event(workspace, ids)
    await eternaltwin_db.sql("ALTER TABLE unstick.audit_images RENAME TO elsewhere")
    await act()


CASES = [
    (way, table, each) for way in WAYS for table in TABLES.get(way, ["audit_log"]) for each in ("ROW", "STATEMENT")
]


@pytest.mark.parametrize(("way", "table", "each"), CASES)
async def test_no_entry_runs_a_trigger_that_a_stranger_made_after_the_detection(
    audited: tuple[Workspace, list[str]],
    eternaltwin_db: EternaltwinDb,
    eternaltwin: str,
    server: PostgresServer,
    role: str,
    way: str,
    table: str,
    each: str,
) -> None:
    workspace, ids = audited
    act = await WAYS[way](workspace, ids)
    trigger = f"CREATE TRIGGER t BEFORE INSERT ON unstick.{table} FOR EACH {each} EXECUTE FUNCTION theirs()"
    server.sql(trigger, server.dsn(urlsplit(eternaltwin).path.strip("/"), user=role, password="x"))
    before = await eternaltwin_db.value("SELECT count(*) FROM unstick.audit_log")
    why = await refusals(act())
    assert await eternaltwin_db.value("SELECT count(*) FROM noted") == 0
    assert await eternaltwin_db.value("SELECT count(*) FROM unstick.audit_log") == before
    assert f"runs the function theirs of {role}, who is not trusted" in why


@pytest.mark.parametrize("way", ["begin", "change", "event", "session"])
async def test_no_entry_runs_a_trigger_whose_creation_is_not_committed_yet(
    audited: tuple[Workspace, list[str]],
    eternaltwin_db: EternaltwinDb,
    eternaltwin: str,
    role: str,
    monkeypatch: pytest.MonkeyPatch,
    way: str,
) -> None:
    """An operator may not run LOCK TABLE on the audit log."""
    for limit in ("WRITE_LOCK_SECONDS", "WRITE_SECONDS", "IDLE_SECONDS"):
        monkeypatch.setattr(f"queries.db.database.{limit}", 60.0)
    workspace, ids = audited
    act = await WAYS[way](workspace, ids)
    stranger = await asyncpg.connect(eternaltwin)
    async with stranger.transaction():
        await stranger.execute(
            "CREATE TRIGGER t BEFORE INSERT ON unstick.audit_log FOR EACH STATEMENT EXECUTE FUNCTION theirs()"
        )
        acting = asyncio.create_task(refusals(act()))
        while not await eternaltwin_db.waiting():
            await asyncio.sleep(0.01)
    why = await acting
    await stranger.close()
    assert await eternaltwin_db.value("SELECT count(*) FROM noted") == 0
    assert role in why
