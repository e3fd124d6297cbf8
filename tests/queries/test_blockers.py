"""Row locks: their holders, the chain to the root, and the sessions that wait."""

from __future__ import annotations

import asyncio
import shlex
import uuid
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any, TypeAlias

import asyncpg
import pytest

from queries.change import loop
from queries.contract.server_spec import LABEL, server_spec
from queries.read.blockers import ENDED, blockers, row_locked
from queries.read.incidents import incidents
from queries.read.reader import Reader
from queries.records.action import Outcome, Proof
from queries.records.finding import Finding
from queries.records.lock import Blockers, LockSession
from queries.records.node import split_id
from queries.snapshot import snapshot
from queries.workspace import Workspace
from tests.command import unstick
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.builders import OPERATOR, dry_run_of, opened, outcomes_of, reader, why
from tests.servers import PostgresServer, both_versions

Connection: TypeAlias = "asyncpg.Connection[Any]"
LOCK = "SELECT FROM task WHERE task_id = $1 FOR UPDATE"


class Sessions:
    """Sessions of other programs, which hold locks until the test ends."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.open: list[Connection] = []
        self.waits: list[asyncio.Task[Any]] = []

    async def begin(self, name: str = "psql", dsn: str = "") -> Connection:
        connection = await asyncpg.connect(dsn or self.dsn, server_settings={"application_name": name})
        self.open.append(connection)
        await connection.execute("BEGIN")
        return connection

    async def holding(self, task: Any, lock: str = LOCK, name: str = "psql") -> Connection:
        connection = await self.begin(name)
        await connection.execute(lock.replace("$1", f"'{task}'"))
        return connection

    async def wait(self, connection: Connection, task: Any, lock: str = LOCK) -> None:
        """Let a session wait for a row."""
        self.waits.append(asyncio.create_task(connection.execute(lock.replace("$1", f"'{task}'"))))
        pid = connection.get_server_pid()
        watching = await asyncpg.connect(self.dsn)
        async with asyncio.timeout(60):
            while not await watching.fetchval("SELECT count(*) FROM pg_locks WHERE pid = $1 AND NOT granted", pid):
                await asyncio.sleep(0.01)
        await watching.close()

    async def close(self) -> None:
        for wait in self.waits:
            wait.cancel()
        for connection in self.open:
            connection.terminate()
        await asyncio.gather(*self.waits, return_exceptions=True)


@pytest.fixture
async def sessions(eternaltwin: str) -> AsyncIterator[Sessions]:
    sessions = Sessions(eternaltwin)
    yield sessions
    await sessions.close()


async def read(workspace: Workspace, *ids: str) -> Blockers:
    return await blockers(workspace.database, workspace.engines, ids)


def pids(connections: Iterable[Connection]) -> list[int]:
    return sorted(c.get_server_pid() for c in connections)


def holders(found: Blockers) -> list[int | None]:
    return sorted(s.pid or 0 for h in found.holders if (s := found.session(h.session_id)))


def named(sessions: Iterable[LockSession]) -> list[int]:
    return sorted(s.pid or 0 for s in sessions)


@both_versions
@pytest.mark.parametrize("depth", range(1, 6))
async def test_the_chain_leads_to_the_root(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, sessions: Sessions, depth: int
) -> None:
    tasks = [await eternaltwin_db.task() for _ in range(depth)]
    chain = [await sessions.holding(task, name=f"link{n}") for n, task in enumerate(tasks)]
    for waiting, task in zip(chain, tasks[1:], strict=False):
        await sessions.wait(waiting, task)
    found = await read(workspace, eternaltwin_db.id(tasks[0]))
    (holder,) = found.holders
    assert (holder.table, holder.sure) == ("task", True)
    assert holders(found) == pids(chain[:1])
    assert named(found.roots(holder.session_id)) == pids(chain[-1:])
    assert [s.name for s in found.roots(holder.session_id)] == [
        f"pid {chain[-1].get_server_pid()} (link{depth - 1}, role postgres)"
    ]
    (root,) = found.roots(holder.session_id)
    assert root.state == "idle in transaction"
    assert root.backend_start is not None
    assert "FOR UPDATE" in root.query


@both_versions
async def test_a_row_is_read_at_its_place_or_where_it_moved(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, sessions: Sessions
) -> None:
    stays, moves, gone = [await eternaltwin_db.task() for _ in range(3)]
    ids = [eternaltwin_db.id(task) for task in (stays, moves, gone)]
    assert len((await reader(workspace).nodes.read(ids)).nodes) == 3
    await eternaltwin_db.sql("UPDATE task SET revision = revision + 1 WHERE task_id = $1", moves)
    await eternaltwin_db.sql("DELETE FROM task WHERE task_id = $1", gone)
    held = [await sessions.holding(task) for task in (stays, moves)]
    found = await read(workspace, *ids)
    assert holders(found) == pids(held)
    assert {h.node_id for h in found.holders} == set(ids[:2])


@both_versions
async def test_a_row_that_no_transaction_locks_has_no_holder(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, sessions: Sessions
) -> None:
    never, committed, aborted = [await eternaltwin_db.task() for _ in range(3)]
    for task, end in ((committed, "COMMIT"), (aborted, "ROLLBACK")):
        await (await sessions.holding(task)).execute(end)
    innocent = await eternaltwin_db.task()
    await sessions.holding(innocent)
    for task in (never, committed, aborted):
        found = await read(workspace, eternaltwin_db.id(task))
        assert (found.holders, found.notes) == ((), (ENDED,))


@both_versions
@pytest.mark.parametrize(("lock", "mode"), [("FOR SHARE", "sh"), ("FOR KEY SHARE", "keysh")])
async def test_all_holders_of_a_shared_lock_are_named(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, sessions: Sessions, lock: str, mode: str
) -> None:
    task = await eternaltwin_db.task()
    shared = [await sessions.holding(task, LOCK.replace("FOR UPDATE", lock)) for _ in range(2)]
    await sessions.holding(await eternaltwin_db.task())
    found = await read(workspace, eternaltwin_db.id(task))
    assert holders(found) == pids(shared)
    assert {(h.mode, h.sure) for h in found.holders} == {(mode, True)}
    await shared[0].execute("ROLLBACK")
    assert holders(await read(workspace, eternaltwin_db.id(task))) == pids(shared[1:])


@both_versions
async def test_a_number_of_a_multixact_may_be_that_of_a_transaction(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, sessions: Sessions
) -> None:
    """Both counters of a new server are low, so their numbers overlap."""
    task = await eternaltwin_db.task()
    for _ in range(20):
        shared = [await sessions.holding(task, LOCK.replace("UPDATE", "SHARE")) for _ in range(2)]
        assert holders(await read(workspace, eternaltwin_db.id(task))) == pids(shared)
        for connection in shared:
            await connection.close()


@both_versions
async def test_a_lock_of_a_released_savepoint_is_still_found(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, sessions: Sessions
) -> None:
    task, other = await eternaltwin_db.task(), await eternaltwin_db.task()
    reading = await sessions.begin("reader")
    await reading.execute("SELECT pg_current_xact_id() FROM task")
    elsewhere = await sessions.begin("elsewhere")
    await elsewhere.execute("LOCK TABLE job IN ROW EXCLUSIVE MODE; SELECT pg_current_xact_id()")
    holder = await sessions.begin("orm")
    await holder.execute(
        f"UPDATE task SET revision = revision WHERE task_id = '{other}';"
        f" SAVEPOINT a; SELECT FROM task WHERE task_id = '{task}' FOR UPDATE; RELEASE SAVEPOINT a"
    )
    found = await read(workspace, eternaltwin_db.id(task))
    assert holders(found) == pids([holder])
    assert [h.sure for h in found.holders] == [True]

    later = await sessions.holding(await eternaltwin_db.task(), name="later")
    found = await read(workspace, eternaltwin_db.id(task))
    assert holders(found) == pids([holder]), "it began after the savepoint"
    await later.execute("ROLLBACK")

    second = await sessions.begin("second")
    await second.execute("SELECT pg_current_xact_id()")
    await holder.execute("ROLLBACK; BEGIN")
    await second.execute("LOCK TABLE task IN ROW EXCLUSIVE MODE")
    await holder.execute(
        "SELECT pg_current_xact_id(); SAVEPOINT a;"
        f" SELECT FROM task WHERE task_id = '{task}' FOR UPDATE; RELEASE SAVEPOINT a"
    )
    found = await read(workspace, eternaltwin_db.id(task))
    assert holders(found) == pids([holder, second])
    assert {h.sure for h in found.holders} == {False}


@both_versions
async def test_a_rolled_back_savepoint_holds_nothing(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, sessions: Sessions
) -> None:
    task = await eternaltwin_db.task()
    holder = await sessions.holding(await eternaltwin_db.task())
    await holder.execute(f"SAVEPOINT a; SELECT FROM task WHERE task_id = '{task}' FOR UPDATE; ROLLBACK TO a")
    assert (await read(workspace, eternaltwin_db.id(task))).holders == ()


@both_versions
async def test_waiters_of_a_row_are_named(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, sessions: Sessions
) -> None:
    task, other = await eternaltwin_db.task(), await eternaltwin_db.task()
    holder = await sessions.holding(task)
    waiting = [await sessions.begin(f"worker{n}") for n in range(3)]
    for connection in waiting:
        await sessions.wait(connection, task)
    found = await read(workspace, eternaltwin_db.id(task))
    assert sorted(found.waiters) == sorted(f"server/backend:{pid}" for pid in pids(waiting))
    for session_id in found.waiters:
        assert named(found.roots(session_id)) == pids([holder])
    assert (await read(workspace, eternaltwin_db.id(other))).waiters == ()


async def test_a_prepared_transaction_is_a_holder(own_server: PostgresServer, tmp_path: Path) -> None:
    own_server.sql("ALTER SYSTEM SET max_prepared_transactions = 4")
    own_server.halt()
    own_server.start()
    dsn = own_server.fresh("eternaltwin")
    db = await EternaltwinDb.open(dsn)
    direct, shared, released, waited = [await db.task() for _ in range(4)]
    own_server.sql(f"BEGIN; {LOCK.replace('$1', repr(str(direct)))}; PREPARE TRANSACTION 'direct'", dsn)
    own_server.sql(f"BEGIN; SELECT FROM task WHERE task_id = '{shared}' FOR SHARE; PREPARE TRANSACTION 'shared'", dsn)
    sessions = Sessions(dsn)
    await sessions.holding(shared, LOCK.replace("UPDATE", "SHARE"))
    worker = await sessions.holding(waited)
    await sessions.wait(worker, direct)
    workspace = await opened(dsn, tmp_path)

    found = await read(workspace, db.id(direct))
    assert [h.session_id for h in found.holders] == ["server/prepared:direct"]
    assert [(s.gid, s.pid) for s in found.roots(found.holders[0].session_id)] == [("direct", None)]
    found = await read(workspace, db.id(shared))
    assert sorted(s.gid for h in found.holders if (s := found.session(h.session_id))) == ["", "shared"]
    found = await read(workspace, db.id(waited))
    assert [s.gid for s in found.roots(f"server/backend:{worker.get_server_pid()}")] == ["direct"]
    await worker.close()
    await sessions.close()
    own_server.sql("ROLLBACK PREPARED 'direct'", dsn)
    own_server.sql("ROLLBACK PREPARED 'shared'", dsn)

    own_server.sql(
        "BEGIN; SELECT pg_current_xact_id(); SAVEPOINT a;"
        f" {LOCK.replace('$1', repr(str(released)))}; RELEASE SAVEPOINT a; PREPARE TRANSACTION 'released'",
        dsn,
    )
    found = await read(workspace, db.id(released))
    assert [h.session_id for h in found.holders] == ["server/prepared:released"]
    await workspace.close()
    await db.connection.close()


@both_versions
async def test_a_viewer_sees_the_holder_and_the_missing_grant(
    eternaltwin_db: EternaltwinDb, server: PostgresServer, eternaltwin: str, sessions: Sessions, tmp_path: Path
) -> None:
    role = server.unique("role")
    server.sql(
        f"CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}", eternaltwin
    )
    task = await eternaltwin_db.task()
    holder, end = await sessions.holding(task), await sessions.begin("end")
    await end.execute("LOCK TABLE users IN ACCESS EXCLUSIVE MODE")
    await sessions.wait(holder, task, "SELECT FROM users WHERE 'a' <> $1")
    workspace = await opened(server.dsn(eternaltwin.rpartition("/")[2], user=role, password="x"), tmp_path)
    found = await read(workspace, eternaltwin_db.id(task))
    assert holders(found) == pids([holder])
    session = found.session(found.holders[0].session_id)
    assert session is not None
    assert session.hidden
    assert (session.application, session.backend_start, session.query) == ("psql", None, "")
    assert named(found.roots(session.id)) == pids([end]), "the chain needs no privilege"
    assert any(f"GRANT pg_monitor TO {role}" in note for note in found.notes)
    await workspace.close()


async def test_all_blocking_of_the_tables_is_listed(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, sessions: Sessions
) -> None:
    task = await eternaltwin_db.task()
    await eternaltwin_db.sql("CREATE TABLE other ()")
    holder, waiter, stranger = await sessions.holding(task), await sessions.begin(), await sessions.begin()
    await sessions.wait(waiter, task)
    await stranger.execute("LOCK TABLE other")
    found = await read(workspace)
    assert named(found.sessions) == pids([holder, waiter])
    (held,) = (s for s in found.sessions if s.pid == holder.get_server_pid())
    assert held.tables == ("task",)


async def test_a_locked_table_is_named_instead(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, sessions: Sessions
) -> None:
    task = await eternaltwin_db.task()
    holder = await sessions.holding(task, "LOCK TABLE task IN ACCESS EXCLUSIVE MODE", name="migrator")
    found = await read(workspace, eternaltwin_db.id(task))
    assert named(found.sessions) == pids([holder])
    assert any(f"pid {holder.get_server_pid()} (migrator, role postgres) locks task" in note for note in found.notes)


@both_versions
async def test_the_outcome_locked_names_the_holder(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, sessions: Sessions
) -> None:
    task = await eternaltwin_db.task(status="Blocked", timer=30)
    free = await eternaltwin_db.task(status="Blocked", timer=30)
    holder = await sessions.holding(task, name="backup")
    dry_run = await dry_run_of(workspace, "wake", [eternaltwin_db.id(task), eternaltwin_db.id(free)])
    assert outcomes_of(dry_run)[eternaltwin_db.id(task)] is Outcome.LOCKED
    assert f"pid {holder.get_server_pid()} (backup, role postgres), idle in" in why(dry_run, eternaltwin_db.id(task))
    outcomes = await loop.commit(workspace, dry_run, OPERATOR)
    assert outcomes_of(outcomes)[eternaltwin_db.id(free)] is Outcome.CHANGED


# The command and the page


async def test_the_command_prints_the_chain_from_its_root(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, sessions: Sessions
) -> None:
    first, second = await eternaltwin_db.task(), await eternaltwin_db.task()
    root = await sessions.holding(second, name="report")
    worker = await sessions.holding(first, name="worker")
    await sessions.wait(worker, second)
    answer = await asyncio.to_thread(unstick, "blockers", eternaltwin_db.id(first), dsn=eternaltwin)
    lines = [line for line in answer.out.splitlines() if f"pid {root.get_server_pid()}" in line]
    assert answer.code == 0
    assert lines[0].split()[0] == "root"
    assert answer.out.index("root  pid") < answer.out.rindex(f"pid {worker.get_server_pid()}")
    answer = await asyncio.to_thread(unstick, "blockers", "--json", dsn=eternaltwin)
    assert answer.json["root_ids"] == [f"server/backend:{root.get_server_pid()}"]
    answer = await asyncio.to_thread(unstick, "blockers", eternaltwin_db.id(uuid.uuid4()), dsn=eternaltwin)
    assert answer.code == 3


async def test_the_printed_command_ends_the_session(
    eternaltwin_db: EternaltwinDb, eternaltwin: str, sessions: Sessions, tmp_path: Path
) -> None:
    settings = tmp_path / "config.toml"
    settings.write_text(f'[contexts.lab]\ndsn = "{eternaltwin}"\n')
    root = await sessions.holding(await eternaltwin_db.task(), name="report")
    answer = await asyncio.to_thread(unstick, "blockers", "@lab", "--config", str(settings))
    (line,) = [each for each in answer.out.splitlines() if "to end it: " in each]
    program, *words = shlex.split(line.partition("to end it: ")[2])
    assert (program, words[-3:]) == ("unstick", ["@lab", "--config", str(settings)])
    planned = await asyncio.to_thread(unstick, *words, "--dry-run", "--json")
    assert [(r["id"].split("@")[0], r["outcome"]) for r in planned.json["results"]] == [
        (f"server/backend:{root.get_server_pid()}", "changed")
    ]


async def test_without_locks_the_command_says_so(eternaltwin: str) -> None:
    answer = await asyncio.to_thread(unstick, "blockers", dsn=eternaltwin)
    assert (answer.code, "No session blocks another one" in answer.out) == (0, True)


# Findings


def late(db: EternaltwinDb, *tasks: Any, code: str = "overdue_timer") -> list[Finding]:
    return [
        Finding(
            engine="eternaltwin",
            node_id=db.id(task),
            code=code,
            title=code,
            sentence="late",
            severity=8,
            proof=Proof.VERIFIED,
            since=0.0,
        )
        for task in tasks
    ]


async def old(workspace: Workspace) -> None:
    await asyncio.sleep(1.1)  # younger transactions are not reported


async def test_late_nodes_are_explained_by_the_root(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, sessions: Sessions
) -> None:
    tasks = [await eternaltwin_db.task() for _ in range(3)]
    free = await eternaltwin_db.task()
    root = await sessions.begin("report")
    for task in tasks[:2]:
        await root.execute(f"SELECT FROM task WHERE task_id = '{task}' FOR UPDATE")
    worker = await sessions.holding(tasks[2], name="worker")
    await sessions.wait(worker, tasks[0])
    await old(workspace)
    symptoms = late(eternaltwin_db, *tasks, free)
    found = [f for f in (await row_locked(workspace.database, workspace.engines, symptoms)).findings if not f.suspected]
    assert {f.node_id for f in found} == {eternaltwin_db.id(task) for task in tasks}
    (through,) = (f for f in found if f.node_id == eternaltwin_db.id(tasks[2]))
    assert f"and waits for pid {root.get_server_pid()} (report, role postgres)" in through.sentence
    specs = {
        LABEL: server_spec().codes,
        "eternaltwin": {f.code: f for f in reader(workspace).engine.spec.findings},
    }
    first, second = incidents([*symptoms, *found], specs)
    one, other = (first, second) if first.code == "row_locked" else (second, first)
    assert (one.n, [s.n for s in one.symptoms]) == (3, [3])
    assert f"pid {root.get_server_pid()} (report, role postgres) blocks 3 nodes" in one.sentence
    assert "idle in transaction" in one.sentence
    assert [f.node_id for f in other.findings] == [eternaltwin_db.id(free)]


async def test_a_session_that_waits_for_a_row_is_reported(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, other = await eternaltwin_db.task(), await eternaltwin_db.task()
    root, runner = await sessions.holding(task, name="report"), await sessions.begin("runner")
    await sessions.wait(runner, task)
    monkeypatch.setitem(server_spec().thresholds, "session_waits", "0s")
    symptoms = late(eternaltwin_db, other)
    (found,) = (await row_locked(workspace.database, workspace.engines, symptoms)).findings
    assert (found.code, found.node_id) == ("session_waits", f"server/backend:{runner.get_server_pid()}")
    assert f"behind pid {root.get_server_pid()} (report, role postgres), idle in transaction" in found.sentence
    assert found.affects == ("eternaltwin",)
    assert (await row_locked(workspace.database, workspace.engines, ())).findings == (), "nothing is late"


async def test_a_lock_of_a_moment_explains_nothing(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = await eternaltwin_db.task()
    await sessions.holding(task)
    assert server_spec().settings["row_locked"] == 1.0
    monkeypatch.setitem(server_spec().thresholds, "row_locked", "1h")  # a slow machine may take a second
    assert (await row_locked(workspace.database, workspace.engines, late(eternaltwin_db, task))).findings == ()


async def test_a_suggestion_names_who_locks_the_row_of_its_node(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, sessions: Sessions
) -> None:
    _, held = [await eternaltwin_db.task(status="Blocked", polled=3600, age=3600) for _ in range(2)]
    holder = await sessions.holding(held)
    await old(workspace)
    why = f"Pid {holder.get_server_pid()} (psql, role postgres) locks the row of {eternaltwin_db.id(held)} now, so wake"
    for locked in (True, False):
        now = await snapshot(workspace, [reader(workspace)], once=False)
        (incident,) = [each for each in now.incidents if each.engine != LABEL]
        assert (incident.code, incident.action, incident.n) == ("lost_wakeup", "wake", 2)
        assert (why in incident.remedy) == locked
        assert not [each for each in now.incidents if each.code == "row_locked"], "it explains nothing"
        await holder.execute("ROLLBACK")


async def test_nodes_without_such_a_symptom_are_not_read(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, sessions: Sessions
) -> None:
    task = await eternaltwin_db.task()
    await sessions.holding(task)
    await old(workspace)
    other = late(eternaltwin_db, task, code="leftover_timer")
    assert (await row_locked(workspace.database, workspace.engines, other)).findings == ()


async def test_a_locked_table_costs_only_its_engine(
    eternaltwin_db: EternaltwinDb, workspace: Workspace, sessions: Sessions
) -> None:
    task = await eternaltwin_db.task()
    await sessions.holding(task, "LOCK TABLE task IN ACCESS EXCLUSIVE MODE")
    found = await row_locked(workspace.database, workspace.engines, late(eternaltwin_db, task))
    assert [(s.engine, s.code, s.failed) for s in found.skipped_findings] == [("eternaltwin", "row_locked", True)]


# All engines

KINDS = {  # kinds whose nodes have rows
    "agent_jobs": {"job"},
    "estuary": {"task"},
    "eternaltwin": {"job", "task"},
    "tasker": {"task", "step", "dead_letter", "message"},
    "uni2work": {"job", "cron", "bucket"},
}


async def nodes_of(engine: Reader) -> set[str]:
    """Return the nodes of the first pages, two levels down."""
    found = {node.id: node for node in (*(await engine.pages.roots()).nodes, *(await engine.pages.live()).nodes)}
    found |= {dead.node.id: dead.node for dead in (await engine.pages.dead()).dead_letters}
    for _ in range(3):
        for parent in [i for i in found if split_id(i)[1] in engine.engine.spec.parents]:
            found |= {node.id: node for node in (await engine.pages.children(parent, limit=10, allow_scan=True)).nodes}
            if len(found) > 600:
                break
    return set(found)


KINDS_OF_QUEUES = {  # with rows, of which the fixture has some of each
    "graphile_worker": {"job", "queue", "task", "crontab"},
    "oban": {"job"},
    "pgqueuer": {"job", "schedule"},
    "procrastinate": {"job", "worker"},
    "solid_queue": {"job", "process", "queue", "recurring"},
}


@pytest.mark.parametrize(("name", "kinds"), [*KINDS.items(), *KINDS_OF_QUEUES.items()])
async def test_who_locks_rows_of_each_kind_of_node_is_found(
    server: PostgresServer, tmp_path: Path, name: str, kinds: set[str]
) -> None:
    dsn = server.fresh(name, filled=True)
    sessions = Sessions(dsn)
    holder = await sessions.begin("report")
    message = ""
    if name == "tasker":
        queue = await holder.fetchval("SELECT queue_name FROM pgmq.meta ORDER BY queue_name LIMIT 1")
        number = await holder.fetchval("SELECT * FROM pgmq.send($1, '{}')", queue)
        message = f"tasker/message:{queue}/{number}"
        await holder.execute("COMMIT; BEGIN")
    workspace = await opened(dsn, tmp_path)
    for (table,) in await holder.fetch(
        "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname IN ('public', 'pgmq')"
    ):
        await holder.execute(f"SELECT FROM {table} FOR UPDATE")
    (engine,) = workspace.engines.values()
    ids = await nodes_of(engine) | ({message} if message else set())
    found = await read(workspace, *sorted(ids))
    assert {h.session_id for h in found.holders} == {f"server/backend:{holder.get_server_pid()}"}
    held = {each.node_id for each in found.holders}
    assert {split_id(i)[1] for i in held} == kinds
    assert {i for i in ids if split_id(i)[1] == "job"} <= held or "job" not in kinds
    if name in KINDS:
        assert held == {i for i in ids if split_id(i)[1] in kinds}
        assert all(h.sure for h in found.holders)
    await sessions.close()
    await workspace.close()
    server.drop(dsn)
