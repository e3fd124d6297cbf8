"""Connections: transactions, timeouts, limits, reconnecting, poolers, errors."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import asyncpg
import pytest

from queries.change import loop
from queries.db import connecting, database, dsn
from queries.db.connecting import Backoff
from queries.db.database import Database
from queries.db.errors import (
    ConflictError,
    DatabaseError,
    DeniedError,
    LostError,
    OutdatedError,
    SlowError,
    UnreachableError,
)
from queries.db.query import Query
from queries.db.server_load import DURATIONS_KEPT, STATEMENTS_KEPT, ServerLoad
from queries.files.statement import Statement
from queries.records.action import Outcome
from queries.workspace import Workspace
from tests.db.eternaltwin import EternaltwinDb
from tests.queries.builders import OPERATOR, do, dry_run_of, opened, outcomes_of, reader
from tests.servers import PostgresServer, both_versions

ACTIVITY = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'unstick'"


def sql(text: str) -> Statement:
    return Statement(text=text, source="")


# What a transaction is like


@both_versions
async def test_a_read_cannot_write_and_a_write_can(db: Database, eternaltwin_db: EternaltwinDb) -> None:
    with pytest.raises(ConflictError, match="read-only transaction"):
        async with db.reading() as transaction:
            await transaction.rows(sql("DELETE FROM public.job"), {})
    with pytest.raises(ConflictError):
        async with db.reading() as transaction:
            await transaction.rows(sql("SELECT 1 FROM public.job FOR UPDATE"), {})
    async with db.writing() as transaction:
        await transaction.rows(sql("INSERT INTO public.users VALUES (gen_random_uuid(), now())"), {})
    assert await eternaltwin_db.value("SELECT count(*) FROM users") == 0, "rolled back unless committed"
    async with db.writing() as transaction:
        await transaction.rows(sql("INSERT INTO public.users VALUES (gen_random_uuid(), now())"), {})
        assert await transaction.control("COMMIT") == "COMMIT"
    assert await eternaltwin_db.value("SELECT count(*) FROM users") == 1


@both_versions
async def test_every_transaction_brings_its_settings(db: Database) -> None:
    names = ("application_name", "search_path", "statement_timeout", "lock_timeout", "TimeZone", "jit",
             "idle_in_transaction_session_timeout", "transaction_isolation", "transaction_read_only")  # fmt: skip
    columns = ", ".join(f"current_setting('{name}') AS \"{name}\"" for name in names)
    async with db.reading(1.5) as transaction:
        (row,) = await transaction.rows(sql(f"SELECT {columns}"), {})
    assert tuple(row.values()) == (
        "unstick", "pg_catalog, pg_temp", "1500ms", "200ms", "UTC", "off", "10s", "repeatable read", "on"
    )  # fmt: skip
    async with db.writing('odd "name') as transaction:
        (row,) = await transaction.rows(sql(f"SELECT {columns}"), {})
    assert tuple(row.values()) == (
        "unstick", 'pg_catalog, "odd ""name", pg_temp', "5s", "500ms", "UTC", "off", "5s", "read committed", "off"
    )  # fmt: skip
    assert db.server is not None
    assert (db.server.superuser, db.server.standby, db.server.lag) == (True, False, None)


async def test_a_list_in_order_uses_no_bitmaps_and_no_parallel_workers(db: Database) -> None:
    settings = sql(
        "SELECT current_setting('enable_bitmapscan') AS bitmaps,"
        " current_setting('max_parallel_workers_per_gather') AS workers"
    )
    read = []
    for in_order in (True, False):
        async with db.reading(in_order=in_order) as transaction:
            (row,) = await transaction.rows(settings, {})
            read.append(tuple(row.values()))
    assert read == [("off", "0"), ("on", "2")]


PREPARED = sql("SELECT count(*) AS n FROM pg_catalog.pg_prepared_statements")


async def test_the_statements_that_are_kept_prepared_are_not_more_and_more(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Suggestions for ever other nodes make ever other texts."""
    monkeypatch.setattr(connecting, "STATEMENTS_KEPT", 10)
    counts = []
    for number in range(30):
        async with db.reading() as transaction:
            await transaction.rows(sql(f"SELECT {number}"), {})
            counts.append((await transaction.rows(PREPARED, {}))[0]["n"])
    assert counts[0] < counts[8] == max(counts) <= 11


async def test_a_table_that_gets_a_column_is_read_again(db: Database, eternaltwin_db: EternaltwinDb) -> None:
    """A change fails once instead: what it has done would be lost."""
    await eternaltwin_db.sql("INSERT INTO users VALUES (gen_random_uuid(), now())")
    everything = sql("SELECT * FROM public.users")
    for column in ("a", "b"):
        async with db.reading() as transaction:
            await transaction.rows(everything, {})
        async with db.writing() as transaction:
            await transaction.rows(everything, {})
        await eternaltwin_db.sql(f"ALTER TABLE users ADD COLUMN {column} int DEFAULT 7")
        with pytest.raises(OutdatedError, match="other columns"):
            async with db.writing() as transaction:
                await transaction.rows(everything, {})
        for open_ in (db.reading, db.writing):
            async with open_() as transaction:
                (row,) = await transaction.rows(everything, {})
                assert row[column] == 7


@both_versions
async def test_the_statements_of_a_writing_transaction_share_one_time_limit(db: Database) -> None:
    """Each of them alone is within the time limit."""
    async with db.writing(seconds=1.2) as transaction:
        await transaction.control("SELECT pg_sleep(0.8)")
        with pytest.raises(SlowError, match="was rolled back: it did not end"):
            await transaction.control("SELECT pg_sleep(0.8)")


@both_versions
async def test_so_do_those_that_are_asked_together(db: Database) -> None:
    """A time limit of their own makes it shorter only."""
    nap = sql("SELECT pg_sleep(0.8)")
    for seconds in (None, 5.0):
        async with db.writing(seconds=1.2) as transaction:
            *_, late = await transaction.each([Query(nap), Query(nap, seconds=seconds)])
            assert isinstance(late, SlowError)
            assert "If the network is slow" in str(late)
    async with db.writing(seconds=5.0) as transaction:
        rows, late = await transaction.each([Query(nap), Query(nap, seconds=0.1)])
        assert not isinstance(rows, SlowError)
        assert isinstance(late, SlowError)
        assert "The server cancelled the statement" in str(late)


async def test_a_slow_statement_is_broken_off_and_the_connection_goes_on(db: Database) -> None:
    began = time.monotonic()
    with pytest.raises(SlowError, match="cancelled the statement"):
        async with db.reading(seconds=0.1) as transaction:
            await transaction.rows(sql("SELECT pg_sleep(60)"), {})
    assert time.monotonic() - began < 20
    async with db.reading() as transaction:
        assert (await transaction.rows(sql("SELECT 1 AS one"), {}))[0]["one"] == 1


async def test_a_read_that_is_given_up_leaves_the_connection_usable(
    db: Database, eternaltwin_db: EternaltwinDb
) -> None:
    """The screen cancels reads whose result it no longer needs."""

    async def slow() -> None:
        async with db.reading(60) as transaction:
            await transaction.rows(sql("SELECT pg_sleep(60)"), {})

    for _ in range(5):
        task = asyncio.create_task(slow())
        while await eternaltwin_db.value(f"{ACTIVITY} AND wait_event = 'PgSleep'") == 0:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with db.reading() as transaction:
            assert (await transaction.rows(sql("SELECT 1 AS one"), {}))[0]["one"] == 1
    async with asyncio.timeout(60):  # the end of a read is not waited for
        while await eternaltwin_db.value(f"{ACTIVITY} AND state <> 'idle'"):
            pass


async def test_two_connections_at_most(eternaltwin_db: EternaltwinDb, workspace: Workspace, eternaltwin: str) -> None:
    tasks = await eternaltwin_db.tasks(await eternaltwin_db.jobs(12))
    most = 0
    over = asyncio.Event()

    async def watch() -> None:
        nonlocal most
        watcher = await EternaltwinDb.open(eternaltwin)
        while not over.is_set():
            most = max(most, await watcher.value(ACTIVITY))
        await watcher.connection.close()

    watching = asyncio.create_task(watch())
    looks = reader(workspace)
    await asyncio.gather(
        *(looks.pages.live() for _ in range(8)),
        *(looks.findings.read() for _ in range(8)),
        *(do(workspace, "cancel", [eternaltwin_db.id(task)]) for task in tasks),
        *(workspace.audit_log.page() for _ in range(8)),
    )
    over.set()
    await watching
    assert most == 2
    assert await eternaltwin_db.value("SELECT count(*) FROM task WHERE status = 'Complete'") == 12
    await workspace.close()
    async with asyncio.timeout(60):
        while await eternaltwin_db.value(ACTIVITY):
            pass


# Lost and found again


@both_versions
async def test_a_connection_that_died_while_idle_is_replaced_unnoticed(
    eternaltwin_db: EternaltwinDb, workspace: Workspace
) -> None:
    task = await eternaltwin_db.task(status="Blocked", timer=9)
    await do(workspace, "wake", [eternaltwin_db.id(task)])
    await eternaltwin_db.sql(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'unstick'"
    )
    assert len((await reader(workspace).pages.live()).nodes) == 1
    assert set(outcomes_of(await do(workspace, "cancel", [eternaltwin_db.id(task)])).values()) == {Outcome.CHANGED}


async def test_a_connection_that_dies_at_work_is_reported_and_replaced(
    eternaltwin_db: EternaltwinDb, db: Database
) -> None:
    async def slow() -> None:
        async with db.reading(60) as transaction:
            await transaction.rows(sql("SELECT pg_sleep(60)"), {})

    task = asyncio.create_task(slow())
    end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    while not await eternaltwin_db.value(end):
        await asyncio.sleep(0)
    with pytest.raises(LostError, match="The server ended the connection"):
        await task
    async with db.reading() as transaction:
        assert (await transaction.rows(sql("SELECT 1 AS one"), {}))[0]["one"] == 1


async def test_a_server_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    listening = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    monkeypatch.setattr(dsn, "CONNECT_SECONDS", 0.1)
    began = time.monotonic()
    with pytest.raises(UnreachableError, match=r"No answer from the server .* in time"):
        await Database(f"host=127.0.0.1 port={port} user=x sslmode=disable").renew()
    assert time.monotonic() - began < 3
    listening.close()


async def test_pauses_between_attempts_grow_to_a_limit_and_differ() -> None:
    backoff = Backoff(first=0.5, longest=15)
    pauses = [backoff.next() for _ in range(10)]
    assert all(min(15, 0.5 * 2**n) / 2 <= pause <= min(15, 0.5 * 2**n) for n, pause in enumerate(pauses))
    backoff.reset()
    assert backoff.next() <= 0.5
    assert len({Backoff().next() for _ in range(20)}) == 20


async def test_the_share_of_time_spent_in_statements() -> None:
    now = 1000.0
    load = ServerLoad(lambda: now)
    with load.measured():
        now += 0.1  # the shortest answer, which is taken as the round trip
    with load.measured():
        now += 3.1
    now += 26.8
    assert load.share() == pytest.approx(0.1)
    assert load.worked == pytest.approx(3.0)
    now += 60
    assert load.share() == 0
    with load.measured():
        now += 2
        with load.measured():  # over the other connection
            now += 1
        now += 0.1
    assert load.share() == pytest.approx(0.05), "not the sum of the two"
    now += 60
    for _ in range(10):  # where all answers take long it is no longer distance
        with load.measured():
            now += 2
    assert load.worked > 20


async def test_a_statement_counts_as_the_shortest_of_its_last_runs() -> None:
    now, cpu = 1000.0, 7.0
    load = ServerLoad(lambda: now, lambda: cpu)

    def run(statements: str | None, seconds: float) -> float:
        """Return what a run of ``seconds`` counts."""
        nonlocal now
        before = load.cost
        with load.measured() as timed:
            now += seconds
            timed.statement = statements
        return round(load.cost - before, 6)

    run("SELECT", 0.0)  # the round trip
    assert run("page 1", 0.5) == 0.5, "a new one counts in full"
    assert run("page 1", 0.1) == 0.1
    assert run("page 2", 0.5) == 0.5, "other values are another statement"
    assert run("page 1", 0.3) == 0.1, "the rest may have been a wait"
    assert run("page 3", 0.5) == 0.4, "without what the known ones waited: 0 and 0.2 s"
    assert [run(None, 0.5) for _ in range(2)] == [0.4, 0.4], "what an error stopped is not known next time"
    assert run("page 1", 1.0) == 0.75, "a wait that long is none"
    assert [run("page 1", 0.3) for _ in range(DURATIONS_KEPT)][-1] == 0.3, "it has always taken as long since"
    before, cpu = load.cost, 9.0
    assert load.cost - before == 2.0, "CPU time of the console"


async def test_the_load_keeps_the_last_statements_only() -> None:
    now = before = 0.0
    load = ServerLoad(lambda: now)
    for n, seconds in ((0, 0.0), *((n, 0.1) for n in range(1, STATEMENTS_KEPT + 1)), (0, 0.1)):
        before = load.worked
        with load.measured() as timed:
            now += seconds
            timed.statement = n
    assert load.worked - before == pytest.approx(0.1), "the first one is new again"


# What is refused, in a line or two


async def refusal(text: str) -> str:
    with pytest.raises(DatabaseError) as caught:
        await Database(text).renew()
    assert 1 <= len(str(caught.value).splitlines()) <= 2
    return str(caught.value)


@both_versions
async def test_a_refused_login_is_explained(server: PostgresServer, eternaltwin: str) -> None:
    role = server.unique("role")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'right' CONNECTION LIMIT 0")
    name = eternaltwin.rpartition("/")[2]
    wrong = await refusal(server.dsn(name, user=role, password="wr0ng"))
    assert "refuses this login: password authentication failed" in wrong
    assert "wr0ng" not in wrong
    assert await refusal(server.dsn("nowhere")) == (
        'Database "nowhere" does not exist.\npsql -l lists the databases of a server.'
    )
    assert "too many connections for role" in await refusal(server.dsn(name, user=role, password="right"))
    message = await refusal("postgresql://u:s3cret@127.0.0.1:1/db")
    assert message.startswith("Cannot connect to the server (postgresql://u:***@127.0.0.1:1/db)")
    assert "s3cret" not in message
    assert "cannot be used: it must begin with postgresql://" in await refusal("mysql://u:p@h/db")
    assert "the server does not support TLS" in (await refusal(f"{eternaltwin}?sslmode=require"))


async def test_an_old_server_is_refused(eternaltwin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "OLDEST_MAJOR", 99)
    said = await refusal(eternaltwin)
    assert said == "This server is PostgreSQL 18; unstick needs 99 or newer.\nNothing was read or changed."


async def test_a_role_without_select_is_denied_in_words(
    server: PostgresServer, eternaltwin: str, tmp_path: Path
) -> None:
    role = server.unique("role")
    server.sql(f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
    workspace = await opened(server.dsn(eternaltwin.rpartition("/")[2], user=role, password="x"), tmp_path)
    assert reader(workspace).detected.denied == ("job", "task", "task_timer")
    with pytest.raises(DeniedError, match="Permission denied for table"):
        await reader(workspace).pages.live()
    await workspace.close()


async def test_several_hosts_and_a_password_file(
    own_server: PostgresServer, server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first host that answers or accepts writes is used, with its own password."""
    name = server.unique("twins")
    for one in (own_server, server):
        one.sql(f"CREATE ROLE {name} SUPERUSER LOGIN PASSWORD 'from the file'")
        one.sql(f"CREATE DATABASE {name}")
    own_server.standby()
    passfile = tmp_path / "pgpass"
    passfile.write_text(f"# comment\n127.0.0.1:*:*:other:wrong\n127.0.0.1:*:{name}:{name}:from the file\n")
    passfile.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passfile))
    hosts = f"host=127.0.0.1,127.0.0.1,127.0.0.1 port=1,{own_server.port},{server.port} user={name} dbname={name}"

    first = Database(hosts)
    await first.renew()
    assert first.server is not None
    assert first.server.port == own_server.port
    await first.close()
    uri = f"postgresql://{name}@127.0.0.1:1,127.0.0.1:{own_server.port},127.0.0.1:{server.port}/{name}"
    writable = Database(f"{uri}?target_session_attrs=read-write")
    await writable.renew()
    assert writable.server is not None
    assert writable.server.port == server.port
    await writable.close()
    server.sql(f"DROP DATABASE {name} WITH (FORCE)")
    server.sql(f"DROP ROLE {name}")


# Behind a pooler in transaction mode


async def test_behind_a_pooler_each_transaction_may_have_another_backend(
    eternaltwin_db: EternaltwinDb, pooler: str, eternaltwin: str, tmp_path: Path
) -> None:
    """The backends keep the settings of their previous clients."""
    rude = [await asyncpg.connect(pooler, statement_cache_size=0) for _ in range(2)]
    for connection in rude:
        await connection.execute("BEGIN")
    for connection in rude:
        await connection.execute(
            "SET search_path = nowhere; SET DateStyle = 'SQL, DMY'; SET IntervalStyle = 'iso_8601';"
            "SET TimeZone = 'Asia/Tokyo'; SET default_transaction_read_only = on; SET statement_timeout = 1500; COMMIT"
        )
    going = True

    async def crowd(connection: asyncpg.Connection) -> None:
        while going:
            await connection.execute("BEGIN; SET LOCAL statement_timeout = 0; COMMIT")

    crowds = [asyncio.create_task(crowd(connection)) for connection in rude]
    workspace = await opened(pooler, tmp_path)
    pids = set()
    for n in range(12):
        async with workspace.database.reading() as transaction:
            pids.add((await transaction.rows(sql("SELECT pg_backend_pid() AS pid"), {}))[0]["pid"])
        task = await eternaltwin_db.task(status="Blocked", timer=60, cpu=99.5)
        dry_run = await dry_run_of(workspace, "wake", [eternaltwin_db.id(task)])
        outcomes = await loop.commit(workspace, dry_run, OPERATOR)
        assert outcomes_of(outcomes) == {eternaltwin_db.id(task): Outcome.CHANGED}
        assert outcomes.changes == dry_run.changes
        pages, cursor = [], None
        while True:
            page = await reader(workspace).pages.live(cursor, limit=7)
            pages += [node.id for node in page.nodes]
            cursor = page.cursor
            if cursor is None:
                break
        assert len(pages) == len(set(pages)) == n + 1
        assert (await reader(workspace).findings.read()).skipped_findings == ()
        assert len((await reader(workspace).pages.roots(limit=5)).nodes) == min(n + 1, 5)
    going = False
    await asyncio.gather(*crowds)
    await workspace.close()
    for connection in rude:
        await connection.close()
    assert len(pids) == 2


async def test_behind_it_the_driver_has_no_statements_of_its_own(
    server: PostgresServer, pooler: str, eternaltwin: str
) -> None:
    """It asks for types, and one backend only would know that statement."""
    db, busy, pids = Database(pooler), await asyncpg.connect(pooler, statement_cache_size=0), set()
    for number in range(12):
        server.sql(f"CREATE TYPE kind{number} AS ENUM ('a')", eternaltwin)
        if number % 2:
            await busy.execute("BEGIN")  # takes a backend
        async with db.reading() as transaction:
            (row,) = await transaction.rows(
                sql(f"SELECT 'a'::public.kind{number} AS kind, pg_backend_pid() AS pid"), {}
            )
            pids.add(row["pid"])
        if number % 2:
            await busy.execute("COMMIT")
    assert (row["kind"], len(pids)) == ("a", 2)
    await busy.close()
    await db.close()
